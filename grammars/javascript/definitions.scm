; JavaScript, beyond what it shares with TypeScript.

(field_definition
  property: [(property_identifier) (private_property_identifier)] @name
  value: [
    (arrow_function body: (_) @body)
    (function_expression body: (_) @body)
  ]) @definition.method
(field_definition
  property: [(property_identifier) (private_property_identifier)] @name
  value: [(object) (call_expression) (new_expression)] @owner) @definition.property
(field_definition
  property: [(property_identifier) (private_property_identifier)] @name) @definition.property
