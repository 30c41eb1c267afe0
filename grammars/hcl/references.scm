; `var.region`, `local.tags`, `module.network`, `aws_instance.web`: what is defined is named by the second part.
(expression . (variable_expr) . (get_attr (identifier) @use))
(expression
  . (variable_expr (identifier) @_owner)
  . (get_attr (identifier) @call)
  (#match? @_owner "^(var|local|module)$"))
; `data.aws_ami.ubuntu` by the third, `aws_instance.web.id` by the second
(expression
  . (variable_expr (identifier) @_owner)
  . (get_attr)
  . (get_attr (identifier) @call)
  (#eq? @_owner "data"))
(expression
  . (variable_expr (identifier) @_owner)
  . (get_attr (identifier) @call)
  . (get_attr)
  (#not-match? @_owner "^(var|local|module|data|each|count|self|path|terraform)$"))
(function_call . (identifier) @call)
