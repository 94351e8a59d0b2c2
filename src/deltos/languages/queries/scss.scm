(comment) @comment
(js_comment) @comment

(mixin_statement name: (_) @name) @definition.function
(function_statement name: (_) @name) @definition.function
(stylesheet (declaration (property_name) @name) @definition.variable)
(keyframes_statement (keyframes_name) @name) @definition.function
