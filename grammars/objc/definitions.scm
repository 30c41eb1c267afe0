; Objective-C, beyond what it shares with C. A category or extension lends its class's name to what it holds. Of a
; selector, `tableView:didSelectRow:`, the first part is the name.

(class_interface "@interface" . (identifier) @name . "(") @ignore
(class_interface "@interface" . (identifier) @name . "(") @container
(class_implementation "@implementation" . (identifier) @name . "(") @ignore
(class_implementation "@implementation" . (identifier) @name . "(") @container
(class_interface "@interface" . (identifier) @name) @definition.class
(class_implementation "@implementation" . (identifier) @name) @definition.class
(protocol_declaration "@protocol" . (identifier) @name) @definition.interface

(method_declaration (method_type) . (identifier) @name) @definition.method
(method_definition (method_type) . (identifier) @name (compound_statement) @body) @definition.method
(property_declaration (struct_declaration (struct_declarator (_) @declarator))) @definition.property
(instance_variable (struct_declaration (struct_declarator (_) @declarator))) @definition.field

(block_literal) @local
