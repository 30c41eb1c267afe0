(call expr: [(atom) @call (remote fun: (atom) @call)])
(macro_call_expr name: (_) @call)
; fun name/1
(internal_fun fun: (atom) @call)
(external_fun fun: (atom) @call)

(record_name name: (atom) @type)
(behaviour_attribute name: (atom) @inherit)

(pp_include) @import
(pp_include_lib) @import
(import_attribute) @import
