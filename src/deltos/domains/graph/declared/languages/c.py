"""C and C++: files include other files, and the linker connects declarations with definitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.graph.declared.declarations import INFERRED_TYPE_KEYWORDS, UNKNOWN_PATH, Binding
from deltos.domains.graph.declared.facts import ELEMENT, TYPE_SIGN, ImportClause, MacroName, Occurrence
from deltos.domains.graph.declared.languages.traits import TEXT_NODE_TYPES, LanguageTraits, node_types
from deltos.domains.graph.declared.macros import names_in_macro
from deltos.domains.graph.declared.node_text import first_child

if TYPE_CHECKING:
    from collections.abc import Iterator

    import tree_sitter

    from deltos.domains.graph.declared.declarations import Declarations
    from deltos.domains.graph.declared.extract import FactCollector
    from deltos.domains.graph.declared.languages.traits import Text

_DECLARATOR_NODE_TYPES = frozenset(
    "pointer_declarator reference_declarator array_declarator parenthesized_declarator init_declarator "
    "attributed_declarator variadic_declarator".split()
)
_FIXTURE_TEST_MACROS = frozenset({"TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"})
_PRIMITIVE_NODE_TYPES = frozenset({"primitive_type", "sized_type_specifier"})
# Standard headers of C, POSIX and C++. In angle brackets, these names never refer to project files.
_SYSTEM_HEADERS = frozenset(
    """assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h setjmp.h signal.h
    stdalign.h stdarg.h stdatomic.h stdbool.h stddef.h stdint.h stdio.h stdlib.h stdnoreturn.h string.h tgmath.h
    threads.h time.h uchar.h wchar.h wctype.h aio.h cpio.h dirent.h dlfcn.h fcntl.h fmtmsg.h fnmatch.h ftw.h glob.h
    grp.h iconv.h langinfo.h libgen.h monetary.h mqueue.h ndbm.h netdb.h nl_types.h poll.h pthread.h pwd.h regex.h
    sched.h search.h semaphore.h spawn.h strings.h stropts.h syslog.h tar.h termios.h trace.h ulimit.h unistd.h utime.h
    utmpx.h wordexp.h alloca.h endian.h err.h execinfo.h features.h getopt.h ifaddrs.h malloc.h memory.h mntent.h
    paths.h pty.h resolv.h stdio_ext.h sysexits.h ucontext.h utmp.h values.h byteswap.h crypt.h link.h elf.h
    windows.h winsock2.h ws2tcpip.h io.h process.h direct.h conio.h tchar.h intrin.h""".split()
)


def _read_imports(node: tree_sitter.Node, text: Text) -> Iterator[tuple[ImportClause, tree_sitter.Node]]:
    """Yield the import of an `#include` directive or of C++'s `using namespace`."""
    path = node.child_by_field_name("path")
    if path is not None:
        name = text(path)
        form = "outside" if name.startswith("<") and name.strip("<>") in _SYSTEM_HEADERS else "file"
        yield ImportClause(form, name.strip('"<>'), "system" if name.startswith("<") else ""), node
    elif node.type == "using_declaration":
        name = text(node).removeprefix("using").strip().rstrip(";").strip()
        if name.startswith("namespace "):
            yield ImportClause("all", name.removeprefix("namespace ").strip().replace("::", ".")), node


def _bindings(declarations: Declarations, node: tree_sitter.Node) -> Iterator[Binding]:
    """Yield the bindings of a C or C++ declaration."""
    text = declarations.node_text.type_text(node.child_by_field_name("type"))
    for declarator in node.children_by_field_name("declarator"):
        leaf, dimensions = _declared_variable(declarations, node, declarator)
        if leaf is None:
            continue
        if _is_function_pointer(declarator):
            yield Binding(leaf, UNKNOWN_PATH)
            continue
        if text not in INFERRED_TYPE_KEYWORDS:
            yield Binding(leaf, (TYPE_SIGN + "[]<" * dimensions + text + ">" * dimensions,))
            continue
        value = declarator.child_by_field_name("value")
        loop = node.child_by_field_name("right") if node.type == "for_range_loop" else None
        path = (*declarations.node_text.path(loop), ELEMENT) if loop is not None else declarations.path_of_value(value)
        yield Binding(leaf, path)


def _declared_variable(
    declarations: Declarations, node: tree_sitter.Node, declarator: tree_sitter.Node
) -> tuple[tree_sitter.Node | None, int]:
    """Return a declared variable's name node and number of array dimensions; the node is None for a function."""
    if _may_call_constructor(declarations, node) and _is_constructor_call(declarator):
        return _c_name_node(declarator.child_by_field_name("declarator") or declarator)
    # A function pointer in a struct is treated as a method: a call of it has the function's return type.
    if node.type != "field_declaration" and _is_function_pointer(declarator):
        return _c_name_node(declarator.child_by_field_name("declarator") or declarator)
    return _c_name_node(declarator)


def _may_call_constructor(declarations: Declarations, node: tree_sitter.Node) -> bool:
    """Whether a declaration is in a C++ function and has a type that may have a constructor."""
    if (
        not declarations.traits.has_constructors
        or node.type != "declaration"
        or not declarations.node_text.is_in_local_scope
    ):
        return False
    declared = node.child_by_field_name("type")  # None for a declaration of a constructor, which has no type
    return declared is not None and declared.type not in _PRIMITIVE_NODE_TYPES


def _is_prototype(declarations: Declarations, node: tree_sitter.Node) -> bool:
    """Whether a C or C++ declaration declares a function, so that the names of the parameters are not bound."""
    declarators = node.children_by_field_name("declarator")
    return bool(declarators) and all(
        _declared_variable(declarations, node, declarator)[0] is None for declarator in declarators
    )


def _prototype_name(declarations: Declarations, node: tree_sitter.Node) -> str:
    """Return the name of a declared C++ function, or an empty string if the name is not a plain identifier."""
    current = node.child_by_field_name("declarator")
    while current is not None and current.type in _DECLARATOR_NODE_TYPES:
        current = current.child_by_field_name("declarator") or _declarator_child(current)
    name = current.child_by_field_name("declarator") if current is not None else None
    is_plain = name is not None and name.type in ("identifier", "field_identifier")
    return declarations.node_text.text(name) if name is not None and is_plain else ""


def _is_function_pointer(declarator: tree_sitter.Node) -> bool:
    """Whether a C declarator declares a pointer to a function: `(*read)(int)`."""
    inner = declarator.child_by_field_name("declarator") if declarator.type == "function_declarator" else None
    named = first_child(inner) if inner is not None and inner.type == "parenthesized_declarator" else None
    return named is not None and named.type == "pointer_declarator"


def _c_name_node(node: tree_sitter.Node) -> tuple[tree_sitter.Node | None, int]:
    """Return the name node of a C declarator and the number of array dimensions; the node is None for a function."""
    dimensions = 0
    current: tree_sitter.Node | None = node
    while current is not None and current.type in _DECLARATOR_NODE_TYPES:
        dimensions += current.type == "array_declarator"
        current = current.child_by_field_name("declarator") or _declarator_child(current)
    is_name = current is not None and current.type in ("identifier", "field_identifier")
    return (current if is_name else None), dimensions


def _is_constructor_call(declarator: tree_sitter.Node) -> bool:
    """Whether a declarator in a function is a constructor call, not a prototype: `Parser parser(input());`.

    All arguments of a constructor call are expressions, unlike the parameters of a prototype.
    """
    if declarator.type != "function_declarator":
        return False
    parameters = declarator.child_by_field_name("parameters")
    return (
        parameters is not None
        and bool(parameters.named_child_count)
        and not any(map(_is_parameter, parameters.named_children))
    )


def _is_parameter(node: tree_sitter.Node) -> bool:
    """Whether a node is definitely a parameter and not an expression: `int`, `const Item`, `Item item`."""
    declared, declarator = node.child_by_field_name("type"), node.child_by_field_name("declarator")
    if declared is not None and declared.type in _PRIMITIVE_NODE_TYPES:
        return True
    is_named = declarator is not None and declarator.type == "identifier"
    return is_named or any(child.type == "type_qualifier" for child in node.named_children)


def _read_function(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record the facts of a C++ method that is defined outside its class, or of a GoogleTest test.

    For a method, the name is recorded as a definition. For a test, the fixture class becomes its base class.
    """
    name_defined = _qualified_name_node(node)
    if name_defined is not None:
        reader.defined.add(name_defined.start_byte)
    fixture = _fixture_class(reader.declarations, node)
    if fixture:
        reader.scope(reader.spans.key_at(node.start_point[0] + 1)).bases.append(fixture)
    reader.bound.update(name.start_byte for name in _test_name_nodes(reader.declarations, node))


def _fixture_class(declarations: Declarations, node: tree_sitter.Node) -> str:
    """Return the fixture class of a GoogleTest test, `TEST_F(Fixture, Name) {…}`, or an empty string for other
    nodes."""
    macro, parameters = _test_macro(declarations, node)
    if macro not in _FIXTURE_TEST_MACROS or not parameters:
        return ""
    return declarations.node_text.type_text(parameters[0].child_by_field_name("type"))


def _test_name_nodes(declarations: Declarations, node: tree_sitter.Node) -> list[tree_sitter.Node]:
    """Return the name nodes of a GoogleTest test and its test suite, which are not references."""
    macro, parameters = _test_macro(declarations, node)
    named = parameters[1:] if macro in _FIXTURE_TEST_MACROS else parameters if macro == "TEST" else []
    return [declared for each in named if (declared := each.child_by_field_name("type")) is not None]


def _test_macro(declarations: Declarations, node: tree_sitter.Node) -> tuple[str, list[tree_sitter.Node]]:
    """Return the macro name and the first two arguments of a C++ function node that may be a GoogleTest macro."""
    declarator = node.child_by_field_name("declarator")
    name = declarator.child_by_field_name("declarator") if declarator is not None else None
    parameters = declarator.child_by_field_name("parameters") if declarator is not None else None
    if name is None or parameters is None:
        return "", []
    return declarations.node_text.text(name), parameters.named_children[:2]


def _qualified_name_node(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the last name node of a C++ function that is defined outside its class: `run` in `void Job::run() {…}`."""
    current = node.child_by_field_name("declarator")
    while current is not None and current.type in (*_DECLARATOR_NODE_TYPES, "function_declarator"):
        current = current.child_by_field_name("declarator") or _declarator_child(current)
    if current is None or current.type != "qualified_identifier":
        return None
    while current is not None and current.child_count:
        current = current.child_by_field_name("name") or first_child(current)
    return current


def _read_typedef(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Mark the names that a C `typedef` declares as bound names, not as uses."""
    reader.bound.update(d.start_byte for d in node.children_by_field_name("declarator"))


def _read_macro(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record the names in the body of a C macro as uses, and store them for files that use the macro."""
    value, parameters = node.child_by_field_name("value"), node.child_by_field_name("parameters")
    named = node.child_by_field_name("name")
    if value is None or named is None:
        return
    own = {reader.node_text.text(each) for each in parameters.named_children} if parameters is not None else set()
    found = names_in_macro(reader.node_text.text(value), own)
    key, first = reader.node_text.text(named), value.start_point[0] + 1
    if key in reader.keys and found:
        reader.uses += [Occurrence(first + each.line, key, each.name, each.role, None) for each in found]
        reader.macros[key] = tuple(dict.fromkeys(MacroName(each.name, each.role) for each in found))


def _declare_method(reader: FactCollector, node: tree_sitter.Node) -> None:
    """Record the return type of a method that a C++ class declares."""
    name, line = _prototype_name(reader.declarations, node), node.start_point[0] + 1
    returned = reader.node_text.type_text(node.child_by_field_name("type"))
    key = reader.spans.key_at(line)
    # The condition is true for a pure virtual method, which has its own symbol.
    if name and returned and key.partition("#")[0].rpartition(".")[2] == name:
        reader.scope(key).returns = returned
    elif name and returned and not reader.spans.is_in_function(line):
        reader.scope(reader.spans.type_at(line)).types.setdefault(f"{name}()", (TYPE_SIGN + returned,))


def _declarator_child(node: tree_sitter.Node) -> tree_sitter.Node | None:
    """Return the inner declarator or name of a C declarator without a `declarator` field."""
    return next((c for c in node.named_children if c.type.endswith(("declarator", "identifier"))), None)


C = LanguageTraits(
    name="c",
    name_nodes=node_types("identifier type_identifier"),
    member_nodes={"field_expression": ("argument", "field")},
    call_nodes={"call_expression": "function"},
    type_nodes=node_types("type_identifier struct_specifier union_specifier enum_specifier"),
    local_declaration_nodes=node_types("parameter_declaration declaration"),
    scope_nodes=node_types("function_definition compound_statement for_statement struct_specifier union_specifier"),
    field_declaration_nodes=node_types("field_declaration"),
    function_nodes=node_types("function_definition"),
    import_nodes=node_types("preproc_include"),
    skipped_nodes=node_types(TEXT_NODE_TYPES + " system_lib_string"),
    receivers=frozenset(),
    has_implicit_receiver=False,
    family="c",
    read_imports=_read_imports,
    bindings=_bindings,
    readers={"type_definition": _read_typedef, "preproc_def": _read_macro, "preproc_function_def": _read_macro},
    is_prototype=_is_prototype,
    prototype_name=_prototype_name,
    declare_method=_declare_method,
    links_by_name=True,
    has_separate_tags=True,
    has_methods_outside_types=True,  # for `.h` files, which may contain C++ code
    imports_name_definitions_only=False,
    has_exact_arity=True,
)


CPP = LanguageTraits(
    name="cpp",
    name_nodes=node_types("identifier type_identifier namespace_identifier"),
    member_nodes={"field_expression": ("argument", "field"), "qualified_identifier": ("scope", "name")},
    call_nodes={"call_expression": "function"},
    creation_nodes=node_types("new_expression"),
    base_nodes=node_types("base_class_clause"),
    type_nodes=node_types("type_identifier qualified_identifier template_type"),
    local_declaration_nodes=node_types(
        "parameter_declaration optional_parameter_declaration declaration for_range_loop"
    ),
    scope_nodes=node_types(
        "function_definition compound_statement for_statement for_range_loop lambda_expression "
        "catch_clause template_declaration class_specifier struct_specifier if_statement while_statement"
    ),
    type_parameter_nodes=node_types(
        "type_parameter_declaration optional_type_parameter_declaration variadic_type_parameter_declaration"
    ),
    field_declaration_nodes=node_types("field_declaration"),
    function_nodes=node_types("function_definition"),
    import_nodes=node_types("preproc_include using_declaration"),
    skipped_nodes=node_types(TEXT_NODE_TYPES + " system_lib_string"),
    receivers=frozenset({"this"}),
    family="c",
    read_imports=_read_imports,
    bindings=_bindings,
    readers={
        "function_definition": _read_function,
        "type_definition": _read_typedef,
        "preproc_def": _read_macro,
        "preproc_function_def": _read_macro,
    },
    is_prototype=_is_prototype,
    prototype_name=_prototype_name,
    declare_method=_declare_method,
    links_by_name=True,
    has_constructors=True,
    functions_have_bases=True,
    imports_name_definitions_only=False,
    has_methods_outside_types=True,
)
