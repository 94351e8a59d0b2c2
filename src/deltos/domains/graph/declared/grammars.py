"""Node types of each language's grammar: one table per language for members, calls, bases and declarations."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class GrammarTable:
    """Node types of one grammar.

    `members` maps a node type to the fields of its object and its name; an empty field means the first or last named
    child.
    """

    names: frozenset[str]
    members: dict[str, tuple[str, str]]
    calls: dict[str, str] = field(default_factory=dict)
    creations: frozenset[str] = frozenset()
    inherits: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    decorates: frozenset[str] = frozenset()
    locals: frozenset[str] = frozenset()
    fields: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    packages: frozenset[str] = frozenset()
    skipped: frozenset[str] = frozenset()
    scopes: frozenset[str] = frozenset()
    """Nodes that open a scope for the variables declared inside them."""
    type_parameters: frozenset[str] = frozenset()
    receivers: frozenset[str] = frozenset({"this", "super"})
    implicit_receiver: bool = True
    """Whether an unqualified name may be a member of the enclosing type."""
    has_function_names: bool = False
    """Whether the syntax distinguishes functions from variables of the same name."""


def _kinds(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TEXTS = "comment line_comment block_comment multiline_comment string_literal string raw_string_literal char_literal"

GO = GrammarTable(
    names=_kinds("identifier type_identifier"),
    members={"selector_expression": ("operand", "field"), "qualified_type": ("package", "name")},
    calls={"call_expression": "function"},
    creations=_kinds("composite_literal"),
    types=_kinds("type_identifier pointer_type qualified_type slice_type generic_type"),
    locals=_kinds(
        "parameter_declaration variadic_parameter_declaration var_spec const_spec short_var_declaration range_clause "
        "type_case type_switch_statement receive_statement"
    ),
    scopes=_kinds(
        "function_declaration method_declaration func_literal function_type method_elem block if_statement "
        "for_statement expression_switch_statement type_switch_statement expression_case default_case type_case "
        "communication_case type_spec"
    ),
    type_parameters=_kinds("type_parameter_declaration"),
    fields=_kinds("field_declaration"),
    functions=_kinds("function_declaration method_declaration method_elem"),
    imports=_kinds("import_spec"),
    packages=_kinds("package_clause"),
    skipped=_kinds("comment interpreted_string_literal raw_string_literal rune_literal"),
    receivers=frozenset(),
    implicit_receiver=False,
)
JAVA = GrammarTable(
    names=_kinds("identifier type_identifier"),
    members={
        "method_invocation": ("object", "name"),
        "field_access": ("object", "field"),
        "scoped_type_identifier": ("", ""),
        "method_reference": ("", ""),
    },
    calls={"method_invocation": "name"},
    creations=_kinds("object_creation_expression"),
    inherits=_kinds("superclass super_interfaces extends_interfaces"),
    types=_kinds("type_identifier generic_type array_type scoped_type_identifier"),
    decorates=_kinds("marker_annotation annotation"),
    locals=_kinds(
        "formal_parameter spread_parameter local_variable_declaration enhanced_for_statement catch_formal_parameter "
        "resource instanceof_expression type_pattern record_pattern_component inferred_parameters lambda_expression"
    ),
    scopes=_kinds(
        "class_declaration interface_declaration record_declaration enum_declaration method_declaration "
        "constructor_declaration compact_constructor_declaration lambda_expression block constructor_body "
        "for_statement enhanced_for_statement catch_clause try_with_resources_statement switch_block_statement_group "
        "switch_rule"
    ),
    type_parameters=_kinds("type_parameter"),
    has_function_names=True,
    fields=_kinds("field_declaration"),
    functions=_kinds("method_declaration"),
    imports=_kinds("import_declaration"),
    packages=_kinds("package_declaration"),
    skipped=_kinds(_TEXTS),
)
KOTLIN = GrammarTable(
    names=_kinds("identifier simple_identifier type_identifier"),
    members={"navigation_expression": ("", "")},
    calls={"call_expression": ""},
    inherits=_kinds("delegation_specifiers"),
    types=_kinds("user_type nullable_type"),
    decorates=_kinds("annotation"),
    locals=_kinds("parameter class_parameter variable_declaration property_declaration lambda_parameters"),
    scopes=_kinds(
        "class_declaration object_declaration function_declaration function_body block control_structure_body "
        "lambda_literal for_statement when_entry catch_block secondary_constructor anonymous_function"
    ),
    type_parameters=_kinds("type_parameter"),
    fields=_kinds("class_parameter property_declaration"),
    functions=_kinds("function_declaration"),
    imports=_kinds("import import_header"),
    packages=_kinds("package_header"),
    skipped=_kinds(_TEXTS),
    receivers=frozenset({"this", "super", "this_expression", "super_expression"}),
)
CSHARP = GrammarTable(
    names=_kinds("identifier"),
    members={
        "member_access_expression": ("expression", "name"),
        "qualified_name": ("qualifier", "name"),
        "conditional_access_expression": ("", ""),
        "member_binding_expression": ("", "name"),
    },
    calls={"invocation_expression": "function"},
    creations=_kinds("object_creation_expression"),
    inherits=_kinds("base_list"),
    types=_kinds("identifier generic_name nullable_type array_type qualified_name"),
    decorates=_kinds("attribute"),
    locals=_kinds(
        "parameter variable_declaration foreach_statement catch_declaration declaration_expression "
        "declaration_pattern implicit_parameter"
    ),
    scopes=_kinds(
        "class_declaration struct_declaration interface_declaration record_declaration method_declaration "
        "constructor_declaration local_function_statement block lambda_expression anonymous_method_expression "
        "for_statement foreach_statement using_statement catch_clause switch_section accessor_declaration"
    ),
    type_parameters=_kinds("type_parameter"),
    fields=_kinds("field_declaration property_declaration"),
    functions=_kinds("method_declaration local_function_statement"),
    imports=_kinds("using_directive"),
    packages=_kinds("namespace_declaration file_scoped_namespace_declaration"),
    skipped=_kinds(_TEXTS + " interpolated_string_text verbatim_string_literal"),
    receivers=frozenset({"this", "base"}),
)
RUST = GrammarTable(
    names=_kinds("identifier type_identifier"),
    members={
        "field_expression": ("value", "field"),
        "scoped_identifier": ("path", "name"),
        "scoped_type_identifier": ("path", "name"),
    },
    calls={"call_expression": "function"},
    creations=_kinds("struct_expression"),
    types=_kinds("type_identifier generic_type reference_type scoped_type_identifier"),
    locals=_kinds("parameter let_declaration closure_parameters for_expression let_condition match_arm"),
    scopes=_kinds(
        "function_item function_signature_item impl_item trait_item struct_item enum_item block closure_expression "
        "match_arm for_expression if_expression while_expression function_type type_item"
    ),
    type_parameters=_kinds("type_parameter const_parameter"),
    fields=_kinds("field_declaration const_item static_item"),
    functions=_kinds("function_item function_signature_item"),
    imports=_kinds("use_declaration mod_item"),
    skipped=_kinds(_TEXTS + " attribute_item inner_attribute_item"),
    receivers=frozenset({"self", "Self"}),
    implicit_receiver=False,
)
C = GrammarTable(
    names=_kinds("identifier type_identifier"),
    members={"field_expression": ("argument", "field")},
    calls={"call_expression": "function"},
    types=_kinds("type_identifier struct_specifier union_specifier enum_specifier"),
    locals=_kinds("parameter_declaration declaration"),
    scopes=_kinds("function_definition compound_statement for_statement struct_specifier union_specifier"),
    fields=_kinds("field_declaration"),
    functions=_kinds("function_definition"),
    imports=_kinds("preproc_include"),
    skipped=_kinds(_TEXTS + " system_lib_string"),
    receivers=frozenset(),
    implicit_receiver=False,
)
CPP = GrammarTable(
    names=_kinds("identifier type_identifier namespace_identifier"),
    members={"field_expression": ("argument", "field"), "qualified_identifier": ("scope", "name")},
    calls={"call_expression": "function"},
    creations=_kinds("new_expression"),
    inherits=_kinds("base_class_clause"),
    types=_kinds("type_identifier qualified_identifier template_type"),
    locals=_kinds("parameter_declaration optional_parameter_declaration declaration for_range_loop"),
    scopes=_kinds(
        "function_definition compound_statement for_statement for_range_loop lambda_expression "
        "catch_clause template_declaration class_specifier struct_specifier if_statement while_statement"
    ),
    type_parameters=_kinds(
        "type_parameter_declaration optional_type_parameter_declaration variadic_type_parameter_declaration"
    ),
    fields=_kinds("field_declaration"),
    functions=_kinds("function_definition"),
    imports=_kinds("preproc_include using_declaration"),
    skipped=_kinds(_TEXTS + " system_lib_string"),
    receivers=frozenset({"this"}),
)
PHP = GrammarTable(
    names=_kinds("name"),
    members={
        "member_call_expression": ("object", "name"),
        "nullsafe_member_call_expression": ("object", "name"),
        "scoped_call_expression": ("scope", "name"),
        "member_access_expression": ("object", "name"),
        "class_constant_access_expression": ("", ""),
        "qualified_name": ("prefix", ""),
    },
    calls={
        "function_call_expression": "function",
        "member_call_expression": "name",
        "nullsafe_member_call_expression": "name",
        "scoped_call_expression": "name",
    },
    creations=_kinds("object_creation_expression"),
    inherits=_kinds("base_clause class_interface_clause use_declaration"),
    types=_kinds("named_type optional_type union_type"),
    decorates=_kinds("attribute"),
    locals=_kinds(
        "simple_parameter variadic_parameter property_promotion_parameter assignment_expression catch_clause "
        "foreach_statement"
    ),
    scopes=_kinds(
        "function_definition method_declaration anonymous_function anonymous_function_creation_expression "
        "arrow_function catch_clause foreach_statement"
    ),
    has_function_names=True,
    fields=_kinds("property_declaration property_promotion_parameter"),
    functions=_kinds("function_definition method_declaration"),
    imports=_kinds("namespace_use_declaration"),
    packages=_kinds("namespace_definition"),
    skipped=_kinds(_TEXTS + " encapsed_string heredoc nowdoc"),
    receivers=frozenset({"$this", "this", "self", "static", "parent"}),
    implicit_receiver=False,
)
RUBY = GrammarTable(
    names=_kinds("identifier constant"),
    members={"call": ("receiver", "method"), "scope_resolution": ("scope", "name")},
    calls={"call": "method"},
    inherits=_kinds("superclass"),
    locals=_kinds("assignment method_parameters block_parameters"),
    scopes=_kinds("method singleton_method block do_block lambda class module"),
    functions=_kinds("method singleton_method"),
    imports=_kinds("call"),
    skipped=_kinds(_TEXTS + " string_content simple_symbol hash_key_symbol heredoc_body regex"),
    receivers=frozenset({"self", "super"}),
)

GRAMMARS: dict[str, GrammarTable] = {
    "go": GO,
    "java": JAVA,
    "kotlin": KOTLIN,
    "csharp": CSHARP,
    "rust": RUST,
    "c": C,
    "cpp": CPP,
    "php": PHP,
    "ruby": RUBY,
}
FAMILIES: dict[str, str] = {"java": "jvm", "kotlin": "jvm", "c": "c", "cpp": "c"}
"""Families of languages that can use each other's definitions; every other language is its own family."""
