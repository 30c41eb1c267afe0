(invocation_expression function: [
  (identifier) @call
  (generic_name (identifier) @call)
  (member_access_expression name: [(identifier) @call (generic_name (identifier) @call)])
  (conditional_access_expression (member_binding_expression name: (identifier) @call))])
(object_creation_expression type: [(identifier) @call (generic_name (identifier) @call)])
(base_list [(identifier) @inherit (generic_name (identifier) @inherit)])
(parameter type: [(identifier) @type (generic_name (identifier) @type)])
(variable_declaration type: [(identifier) @type (generic_name (identifier) @type)])
(attribute name: (identifier) @type)
(argument (identifier) @use)
(using_directive) @import
