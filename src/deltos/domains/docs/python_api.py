"""The public API of Python modules: signatures and docstrings, read from source without importing anything."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.docs.python_signature import Function, is_overload, last_name, maker_of, show_class, show_function
from deltos.errors import SourceError
from deltos.languages.bounds import bounded_memory
from deltos.markup.model import NO_TRAITS, Document, Trait
from deltos.markup.outline import Outline
from deltos.markup.text import fenced

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_SKIPPED_PARTS = frozenset(("tests", "_vendor", "vendored", "vendor", "conftest", "__pycache__", "benchmarks"))
_DEFINITION_RANK = 5
_LONGEST_VALUE = 300
_LONGEST_CHAIN = 4  # private packages that a re-exported name passes through
_USUAL_DEPTH = 3  # dots: `sqlalchemy.dialects.postgresql.JSONB`
_LONGEST_OPENING = 400  # of a docstring, where it would say that something is deprecated
_EXAMPLE = re.compile(r"^\s*>>> ", re.MULTILINE)

Definition = Function | ast.ClassDef


class Reexport(NamedTuple):
    """A name that a module takes from another one, `origin`, and passes on as `public`. `is_meant`: it says so by
    `__all__` or `import name as name`, instead of only importing it."""

    origin: str
    name: str
    public: str
    is_meant: bool


@dataclass(frozen=True, slots=True)
class DocumentedModule:
    """One module file of a package. `exports` maps names in it to the public names they are known by."""

    path: str
    name: str
    is_public: bool
    exports: Mapping[str, str]

    @property
    def title(self) -> str:
        """The name under which users import from it."""
        return self.name if self.is_public else next(iter(self.exports.values())).rpartition(".")[0]


def public_modules(files: Iterable[str], taken: Mapping[str, Sequence[Reexport]]) -> list[DocumentedModule]:
    """The modules among `files` that have public names: public ones, and private ones that are re-exported from.

    `taken` has, for each package, the names that it takes from other modules.
    """
    modules = {name: path for path in files if (name := module_name(path))}
    exports: dict[str, dict[str, str]] = {}
    for package, names in taken.items():
        if _is_public(package):
            for origin, name, public, _ in names:
                exports.setdefault(origin, {}).setdefault(name, public)
    _pass_on(exports, {package: names for package, names in taken.items() if not _is_public(package)})
    found = []
    for name, path in sorted(modules.items()):
        known_as = exports.get(name, {})
        if _is_public(name) or known_as:
            found.append(DocumentedModule(path, name, _is_public(name), known_as))
    return found


def _pass_on(exports: dict[str, dict[str, str]], private: Mapping[str, Sequence[Reexport]]) -> None:
    """Names that public packages take from private ones, handed on to the modules where those took them from."""
    for _ in range(_LONGEST_CHAIN):
        for package, names in private.items():
            known_as = exports.get(package, {})
            for origin, name, own, _ in names:
                wanted = own.rpartition(".")[2]
                # `import *` may be where any of them comes from: a module describes only what it defines
                handed_on = known_as.items() if name == "*" else [(name, known_as.get(wanted, ""))]
                for one, public in list(handed_on):
                    if public:
                        exports.setdefault(origin, {}).setdefault(one, public)


def module_name(path: str) -> str:
    """`httpx/_client.py` as `httpx._client`; empty for what is no module of the API."""
    pure = PurePosixPath(path)
    if pure.suffix not in (".py", ".pyi") or not _SKIPPED_PARTS.isdisjoint(pure.with_suffix("").parts):
        return ""
    parts = pure.with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    if not parts or any(not part.isidentifier() or part.startswith("test_") for part in parts):
        return ""
    return ".".join(parts)


def _is_public(name: str) -> bool:
    return not any(part.startswith("_") and part != "__main__" for part in name.split("."))


def reexports(module: str, source: str, *, is_package: bool = True) -> list[Reexport]:
    """The names that a module takes from other ones and passes on.

    The `__init__` of a package passes on all that it imports; any other module what it says in `__all__`, or by
    `import name as name`.
    """
    try:
        tree = _parsed(source)
    except SourceError:
        return []
    package = module if is_package else module.rpartition(".")[0]
    listed = _listed(tree)
    return [
        Reexport(_origin(node, package), alias.name, f"{module}.{alias.asname or alias.name}", is_meant)
        for node in _statements(tree.body)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (is_meant := alias.asname == alias.name or (alias.asname or alias.name) in listed) or is_package
    ]


def passed_on_of_others(taken: Mapping[str, Sequence[Reexport]]) -> dict[str, dict[str, str]]:
    """By module of other packages, the names in it that public modules here mean to pass on, as users know them: the
    nearest, where several modules pass it on."""
    own = {module.partition(".")[0] for module in taken}
    passed_on = [each for module, names in taken.items() if _is_public(module) for each in names]
    nearer: dict[str, str] = {}
    for origin, name, public, _ in passed_on:
        nearer[f"{origin}.{name}"] = min(public, nearer.get(f"{origin}.{name}", public), key=_distance)
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for origin, name, public, is_meant in passed_on:
        if is_meant and name != "*" and origin.partition(".")[0] not in own:
            known_as = min(public, nearer.get(public, public), found[origin].get(name, public), key=_distance)
            found[origin][name] = known_as
    return dict(found)


def _distance(name: str) -> tuple[int, str]:
    return name.count("."), name


def known_elsewhere(
    modules: Sequence[DocumentedModule], wanted: Mapping[str, Mapping[str, str]]
) -> list[DocumentedModule]:
    """The modules of a package that define what another one passes on, with the names that these have there alone."""
    exports: defaultdict[str, dict[str, str]] = defaultdict(dict)
    defining: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for module in modules:
        for own, known_as in module.exports.items():
            defining[known_as].append((module.name, own))
    names = {module.name for module in modules}
    for origin, passed_on in wanted.items():
        for name, public in passed_on.items():
            if f"{origin}.{name}" in names:
                exports[f"{origin}.{name}"]["*"] = f"{public}.*"
                continue
            places = [*defining[f"{origin}.{name}"], *((module, name) for module, _ in defining[f"{origin}.*"])]
            for module_of_it, own in [(origin, name), *places]:
                exports[module_of_it][own] = public
    return [replace(each, is_public=False, exports=exports[each.name]) for each in modules if exports.get(each.name)]


def _parsed(source: str) -> ast.Module:
    """The syntax tree; SourceError where there is none, or it takes far too much memory, as deep nesting can."""
    try:
        with bounded_memory(len(source)):
            return ast.parse(source)
    except MemoryError as exc:
        raise SourceError("Cannot parse the module (it takes too much memory)") from exc
    except (SyntaxError, ValueError, RecursionError) as exc:
        raise SourceError(f"Cannot parse the module ({exc})") from exc


def _listed(tree: ast.Module) -> set[str]:
    """The names that a module lists in `__all__`, as far as they are written there."""
    found: set[str] = set()
    for node in _statements(tree.body):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            value = getattr(node, "value", None)
            for element in value.elts if isinstance(value, ast.List | ast.Tuple | ast.Set) else ():
                if isinstance(element, ast.Constant) and isinstance(element.value, str):
                    found.add(element.value)
    return found


def _wholly_listed(tree: ast.Module) -> set[str] | None:
    """All names of `__all__`; None where there is none, or not all of it is written there."""
    mentions = sum(_is_list_of_names(node) for node in ast.walk(tree))
    given = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and _is_list_of_names(node.targets[0] if isinstance(node, ast.Assign) else node.target)
    ]
    value = given[0] if len(given) == mentions == 1 else None
    if not isinstance(value, ast.List | ast.Tuple):
        return None
    names = {each.value for each in value.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return names if len(names) == len(value.elts) else None


def _is_list_of_names(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "__all__"


def _origin(node: ast.ImportFrom, package: str) -> str:
    """The full name of the module that is imported from."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


def _statements(body: list[ast.stmt]) -> Iterable[ast.stmt]:
    """Statements of a module, those under conditions included."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _statements([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _statements([*node.body, *(s for handler in node.handlers for s in handler.body), *node.orelse])
        else:
            yield node


def describe_module(module: DocumentedModule, source: str) -> Document:
    """The module's docstring and every public function, class and method with its signature."""
    tree = _parsed(source)
    writer = _Writer(module, _lines(source))
    writer.module(tree)
    return Document(title=module.title, sections=writer.outline.sections())


def _lines(source: str) -> list[str]:
    """As the parser counts them: a form feed ends none."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


class _Writer:
    """Writes definitions into an outline, outermost first."""

    def __init__(self, module: DocumentedModule, lines: list[str]) -> None:
        self.outline = Outline()
        self._module = module
        self._lines = lines
        self._overloads: defaultdict[Function, list[Function]] = defaultdict(list)
        self._starred: set[str] | None = None  # what `import *` takes; all names where the module does not say

    def module(self, tree: ast.Module) -> None:
        """The module itself, then what it defines."""
        self._starred = _wholly_listed(tree)
        self.outline.heading(1, self._module.title, [self._module.name])
        self._docstring(tree)
        written: set[str] = set()
        for node in self._without_overloads(_statements(tree.body)):
            for name in _names(node):
                known_as = "" if name in written else self._public_name(name)
                if not known_as:
                    continue
                written.add(name)
                if isinstance(node, Definition):
                    self._definition(node, known_as, 0)
                else:
                    self._assignment(node, known_as)

    def _public_name(self, name: str) -> str:
        """What users call a name of this module; empty when it is not meant for them."""
        exports = self._module.exports
        if name in exports:
            return exports[name]
        if "*" in exports and (self._starred is None or name in self._starred):
            return exports["*"].removesuffix("*") + name
        return f"{self._module.name}.{name}" if self._module.is_public else ""

    def _without_overloads(self, body: Iterable[ast.stmt]) -> list[ast.stmt]:
        """Statements without the overloads of functions that follow, which are shown with them."""
        statements = list(body)
        defined = {node.name: node for node in statements if isinstance(node, Function) and not is_overload(node)}
        kept: list[ast.stmt] = []
        for node in statements:
            if isinstance(node, Function) and is_overload(node) and node.name in defined:
                self._overloads[defined[node.name]].append(node)
            else:
                kept.append(node)
        return kept

    def _definition(self, node: Definition, name: str, depth: int) -> None:
        if isinstance(node, ast.ClassDef):
            shown = show_class(node, self._lines)
        else:
            shown = show_function(node, self._lines, self._overloads.get(node, ()))
        traits = _traits(node, name) if not depth else _deprecated(node)
        if shown.is_bare:
            traits |= Trait.BARE
        self.outline.heading(_DEFINITION_RANK + depth, name, [name], is_definition=True, traits=traits)
        self.outline.block(fenced(shown.code, "python"), "code")
        self._docstring(node)
        for each in shown.told:
            self.outline.block(each)
        if isinstance(node, ast.ClassDef):
            shown_with_class = maker_of(node)
            for inner in self._without_overloads(node.body):
                if not isinstance(inner, Definition) or inner is shown_with_class:
                    continue
                if _is_member(inner.name) and depth < 3:
                    self._definition(inner, f"{name}.{inner.name}", depth + 1)
        self.outline.leave(_DEFINITION_RANK + depth)

    def _assignment(self, node: ast.stmt, name: str) -> None:
        """A constant, a type or another name for something."""
        text = "\n".join(self._lines[node.lineno - 1 : node.end_lineno])
        # A name like a class's is a type or another name for one.
        last = name.rpartition(".")[2]
        traits = _place(name) | (Trait.TYPE if last[:1].isupper() and not last.isupper() else NO_TRAITS)
        self.outline.heading(_DEFINITION_RANK, name, [name], is_definition=True, traits=traits)
        self.outline.block(fenced(_cut(text, _LONGEST_VALUE), "python"), "code")
        self.outline.leave(_DEFINITION_RANK)

    def _docstring(self, node: ast.Module | Definition) -> None:
        text = ast.get_docstring(node)
        for paragraph in (text or "").split("\n\n"):
            self.outline.block(fenced(paragraph) if _EXAMPLE.match(paragraph) else paragraph)


def _names(node: ast.stmt) -> list[str]:
    """The public names that a statement of a module defines."""
    if isinstance(node, Definition):
        names = [node.name]
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name)]
    else:
        names = []
    return [name for name in names if not name.startswith("_")]


def _traits(node: Definition, name: str) -> Trait:
    """What puts a function or class behind others."""
    traits = _place(name) | _deprecated(node)
    if isinstance(node, ast.ClassDef):
        bases = [each for base in node.bases if (each := last_name(base))]
        if any(each.endswith(("Error", "Exception", "Warning")) for each in (node.name, *bases)):
            traits |= Trait.ERROR
        if any(each in ("TypedDict", "Protocol") for each in bases):
            traits |= Trait.TYPE
    return traits


def _place(name: str) -> Trait:
    return Trait.ELSEWHERE if name.count(".") > _USUAL_DEPTH else NO_TRAITS


def _deprecated(node: Definition) -> Trait:
    decorators = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
    is_marked = any(last_name(each) == "deprecated" for each in decorators)
    told = (ast.get_docstring(node) or "")[:_LONGEST_OPENING].lower()
    return Trait.DEPRECATED if is_marked or ".. deprecated::" in told or told.startswith("deprecated") else NO_TRAITS


def _cut(text: str, most_characters: int) -> str:
    return text if len(text) <= most_characters else f"{text[:most_characters]} …"


def _is_member(name: str) -> bool:
    return not name.startswith("_") or name in ("__init__", "__call__", "__enter__", "__aenter__")
