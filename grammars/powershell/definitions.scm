; PowerShell. The row of the language takes `$`, `script:` and the like out of names.

(function_statement (function_name) @name (script_block)? @body) @definition.function

(class_statement . (simple_name) @name) @definition.class
(class_property_definition (variable) @name) @definition.field
(class_method_definition (simple_name) @name (script_block)? @body) @definition.method
(enum_statement . (simple_name) @name) @definition.enum
(enum_member . (simple_name) @name) @definition.constant

(program
  (statement_list
    (pipeline
      (assignment_expression
        (left_assignment_expression
          (logical_expression
            (bitwise_expression
              (comparison_expression
                (additive_expression
                  (multiplicative_expression
                    (format_expression
                      (range_expression
                        (array_literal_expression
                          (unary_expression
                            [
                              (variable) @name
                              (expression_with_unary_operator (cast_expression (unary_expression (variable) @name)))
                            ]))))))))))) @definition.variable)))

(script_block_expression) @local
