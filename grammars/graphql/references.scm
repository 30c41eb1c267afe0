(implements_interfaces (named_type (name) @inherit))
(named_type (name) @type)
(fragment_spread (fragment_name (name) @call))
(directive (name) @call)
