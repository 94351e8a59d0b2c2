"""Determine the names under which users import the definitions of a Python package."""

from __future__ import annotations

import ast
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from deltos.errors import SourceError
from deltos.languages.parser_limits import bounded_memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef

# Names of folders and modules that do not belong to the public API, such as tests.
_SKIPPED_PARTS = frozenset(("tests", "_vendor", "vendored", "vendor", "conftest", "__pycache__", "benchmarks"))
_MAX_REEXPORT_DEPTH = 8  # maximum number of modules through which a re-exported name is followed
_ALL_NAMES = "*"


class ModuleImport(NamedTuple):
    """A name that a module imports with `from origin import name as alias`; `is_explicit` marks a re-export."""

    origin: str
    name: str
    alias: str
    is_explicit: bool


class ModuleNames(NamedTuple):
    """The names that a module defines and imports; `star_names` are the names that `import *` imports from it."""

    name: str
    path: str
    defined: frozenset[str]
    imported: tuple[ModuleImport, ...]
    listed: frozenset[str] | None  # the names in `__all__`, or None if it is missing or not a literal list

    @property
    def is_public(self) -> bool:
        """Whether no part of the module's name starts with an underscore; `__main__` counts as public."""
        return not any(part.startswith("_") and part != "__main__" for part in self.name.split("."))

    @property
    def reexports(self) -> tuple[ModuleImport, ...]:
        """The imported names that users may import from this module: in a package all, in a module explicit ones."""
        is_package = PurePosixPath(self.path).stem == "__init__"
        return tuple(each for each in self.imported if each.is_explicit or is_package)


def module_name(path: str) -> str:
    """Return the dotted name of a module file, such as `httpx._client`.

    Returns an empty string for tests, vendored code and other files outside the public API.
    """
    pure = PurePosixPath(path)
    parts = pure.with_suffix("").parts if pure.suffix in (".py", ".pyi") else ()
    if not _SKIPPED_PARTS.isdisjoint(parts):
        return ""
    parts = parts[:-1] if parts[-1:] == ("__init__",) else parts
    is_valid = all(part.isidentifier() and not part.startswith("test_") for part in parts)
    return ".".join(parts) if is_valid else ""


def parse_module(source: str) -> ast.Module:
    """Return the syntax tree of a module; raise SourceError if it cannot be parsed."""
    try:
        with bounded_memory(len(source)):
            return ast.parse(source)
    except MemoryError as exc:
        raise SourceError("Cannot parse the module (it needs too much memory)") from exc
    except (SyntaxError, ValueError, RecursionError) as exc:
        raise SourceError(f"Cannot parse the module ({exc})") from exc


def read_names(name: str, path: str, source: str) -> ModuleNames:
    """Return the names that a module defines and imports."""
    tree = parse_module(source)
    listed = _names_in_all(tree)
    package = name if PurePosixPath(path).stem == "__init__" else name.rpartition(".")[0]
    defined: set[str] = set()
    imported = []
    for node, is_for_type_checking in statements(tree.body):
        defined.update(defined_names(node))
        if not isinstance(node, ast.ImportFrom):
            continue
        origin = _imported_module(node, package)
        for alias in node.names:
            bound = alias.asname or alias.name
            is_listed = bound in (listed or ())
            if is_listed or not is_for_type_checking:
                is_explicit = is_listed or alias.asname == alias.name
                imported.append(ModuleImport(origin, alias.name, bound, is_explicit))
    return ModuleNames(name, path, frozenset(defined), tuple(imported), listed)


def statements(body: Iterable[ast.stmt], *, is_for_type_checking: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield the statements of a module, also those inside `if` and `try`, and whether they are for type checking."""
    for node in body:
        if isinstance(node, ast.If):
            is_guard = last_dotted_part(node.test) == "TYPE_CHECKING"
            yield from statements(node.body, is_for_type_checking=is_for_type_checking or is_guard)
            yield from statements(node.orelse, is_for_type_checking=is_for_type_checking)
        elif isinstance(node, ast.Try):
            handled = (each for handler in node.handlers for each in handler.body)
            yield from statements([*node.body, *handled, *node.orelse], is_for_type_checking=is_for_type_checking)
        else:
            yield node, is_for_type_checking


def defined_names(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(node, Definition):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [target.id for target in targets if isinstance(target, ast.Name)]
    return []


def last_dotted_part(node: ast.expr) -> str:
    """Return the last part of a dotted expression: `Field` for `pydantic.Field`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _names_in_all(tree: ast.Module) -> frozenset[str] | None:
    """Return the names in `__all__`, or None if it is missing or is not a single literal list."""
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "__all__"]
    nodes = [node for node, _ in statements(tree.body) if "__all__" in defined_names(node)]
    value = getattr(nodes[0], "value", None) if len(nodes) == len(uses) == 1 else None
    if not isinstance(value, ast.List | ast.Tuple):
        return None
    names = (each.value for each in value.elts if isinstance(each, ast.Constant))
    return frozenset(name for name in names if isinstance(name, str))


def _imported_module(node: ast.ImportFrom, package: str) -> str:
    """Return the absolute name of the module from which an import statement imports."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


class PackageNames:
    """Finds the definitions behind the names that the public modules of a package export."""

    def __init__(self, modules: Iterable[ModuleNames]) -> None:
        self._modules: dict[str, ModuleNames] = {}
        for module in modules:  # of each module, the stub file comes before the source file
            stub = self._modules.get(module.name, module)
            self._modules[module.name] = module._replace(defined=module.defined | stub.defined)

    def exports(self) -> dict[str, dict[str, str]]:
        """Return the shortest public name of each definition, by the defining module and the name in this module.

        A definition is omitted if users can import it from its own module by an equally short or shorter name.
        """
        found: dict[tuple[str, str], str] = {}
        for module in filter(lambda each: each.is_public, self._modules.values()):
            for name in self._reexported_names(module):
                if origin := self._definition(module.name, name):
                    names = [f"{module.name}.{name}", *filter(None, (found.get(origin),))]
                    found[origin] = min(names, key=lambda each: (each.count("."), each))
        exports: dict[str, dict[str, str]] = {}
        for (origin_module, name), public in found.items():
            is_shorter = public.count(".") <= origin_module.count(".")
            if is_shorter or not self._modules[origin_module].is_public:
                exports.setdefault(origin_module, {})[name] = public
        return exports

    def _reexported_names(self, module: ModuleNames, depth: int = 0) -> Iterator[str]:
        """Yield the names that users can import from a module and that another module defines."""
        for each in module.reexports:
            if each.name != _ALL_NAMES:
                yield each.alias
            elif (origin := self._modules.get(each.origin)) and depth < _MAX_REEXPORT_DEPTH:
                yield from self._star_names(origin, depth + 1)

    def _star_names(self, module: ModuleNames, depth: int = 0) -> Iterator[str]:
        """Yield the names that `from module import *` imports."""
        if module.listed is not None:
            yield from module.listed
            return
        for name in (*module.defined, *self._reexported_names(module, depth)):
            if not name.startswith("_"):
                yield name

    def _definition(self, module_name: str, name: str, depth: int = 0) -> tuple[str, str] | None:
        """Return the module and name of the definition to which an imported name refers, or None."""
        module = self._modules.get(module_name)
        if module is None or depth > _MAX_REEXPORT_DEPTH:
            return None
        if name in module.defined:
            return module_name, name
        for each in module.imported:
            inner = each.name if each.alias == name else name if each.name == _ALL_NAMES else ""
            if inner and (found := self._definition(each.origin, inner, depth + 1)):
                return found
        return None


def public_name(module: ModuleNames, exports: Mapping[str, str], name: str) -> str:
    """Return the public name of a definition in a module, or "" if the definition is internal."""
    if name in exports:
        return exports[name]
    return f"{module.name}.{name}" if module.is_public and not name.startswith("_") else ""
