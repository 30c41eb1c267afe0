; HCL and Terraform: the blocks of the top level by their last label, owned by the label before it.

(config_file (body (block
  . (identifier) @_type
  . (string_lit (template_literal) @name)
  . (block_start)
  (body)? @body
  (#eq? @_type "variable")) @definition.variable))
(config_file (body (block
  . (identifier) @_type
  . (string_lit (template_literal) @name)
  . (block_start)
  (body)? @body
  (#eq? @_type "output")) @definition.output))
(config_file (body (block
  . (identifier) @_type
  . (string_lit (template_literal) @name)
  . (block_start)
  (body)? @body
  (#eq? @_type "module")) @definition.module))
(config_file (body (block
  . (identifier)
  . (string_lit (template_literal) @scope)
  . (string_lit (template_literal) @name)
  . (block_start)
  (body)? @body) @definition.resource))
(config_file (body (block
  . (identifier)
  . (string_lit (template_literal) @name)
  . (block_start)
  (body)? @body) @definition.resource))

; locals { a = 1 }
(config_file (body (block
  . (identifier) @_type
  (body (attribute . (identifier) @name) @definition.constant)
  (#eq? @_type "locals"))))
(config_file (body (attribute . (identifier) @name) @definition.key))
