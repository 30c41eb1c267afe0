(class_heritage [(identifier) @inherit (member_expression property: (_) @inherit)])
(jsx_opening_element name: [(identifier) @call (member_expression property: (_) @call)])
(jsx_self_closing_element name: [(identifier) @call (member_expression property: (_) @call)])
(field_definition value: (new_expression)) @bind
