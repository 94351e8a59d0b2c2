((element
  (start_tag
    (attribute
      (attribute_name) @_attribute
      [(attribute_value) @name (quoted_attribute_value (attribute_value) @name)]))) @definition.section
  (#eq? @_attribute "id"))
