(function_call_expr target: (value_expr name: (value_qid (lower_case_identifier) @call .)))
(function_call_expr arg: (value_expr name: (value_qid (lower_case_identifier) @use .)))
(bin_op_expr part: (value_expr name: (value_qid (lower_case_identifier) @use .)))
(value_expr name: (upper_case_qid (upper_case_identifier) @use .))

(type_ref (upper_case_qid (upper_case_identifier) @type .))

(import_clause) @import
