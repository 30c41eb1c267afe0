; CSS: a class or an id by the rule that styles it, custom properties, animations. A rule for `.a:hover` or
; `.a.active` refines what another rule is for, and is found through that one.

(rule_set
  (selectors [
    (class_selector . (class_name) @name .)
    (id_selector . (id_name) @name .)
    (tag_name) @name
    (descendant_selector [(class_selector . (class_name) @name .) (id_selector . (id_name) @name .)] .)
    (child_selector [(class_selector . (class_name) @name .) (id_selector . (id_name) @name .)] .)
  ])
  (block) @body) @definition.rule

(declaration (property_name) @name (#match? @name "^--")) @definition.variable

(keyframes_statement (keyframes_name) @name (keyframe_block_list) @body) @definition.keyframes
