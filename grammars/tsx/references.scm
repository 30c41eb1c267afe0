(jsx_opening_element name: [(identifier) @call (member_expression property: (_) @call)])
(jsx_self_closing_element name: [(identifier) @call (member_expression property: (_) @call)])
