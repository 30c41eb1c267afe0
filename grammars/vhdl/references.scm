(component_instantiation component: (simple_name) @call)
(entity_instantiation entity: [(simple_name) @call (selected_name suffix: (simple_name) @call)])
(procedure_call_statement procedure: (simple_name) @call)
(ambiguous_name prefix: (simple_name) @call)

(type_mark [(simple_name) @type (selected_name suffix: (simple_name) @type)])
(architecture_body entity: (simple_name) @inherit)

(use_clause) @import
