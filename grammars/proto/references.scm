; Types of fields and of what an rpc takes and gives; of `foo.Bar` the last part.
(message_or_enum_type (identifier) @type .)
(import) @import
