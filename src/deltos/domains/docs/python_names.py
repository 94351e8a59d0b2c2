"""Determine the public names of Python modules from their source code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.docs.python_source import imports, is_explicit_reexport, names_in_all, parse_module
from deltos.errors import SourceError

if TYPE_CHECKING:
    import ast
    from collections.abc import Container, Iterable, Mapping, Sequence

# Names of folders and modules that do not belong to the public API, such as tests.
_SKIPPED_PARTS = frozenset(("tests", "_vendor", "vendored", "vendor", "conftest", "__pycache__", "benchmarks"))
_MAX_CHAIN_LENGTH = 4  # maximum number of re-exports followed to find a public name


class Reexport(NamedTuple):
    """A name imported from the module `origin` and re-exported under the qualified name `public_name`."""

    origin: str
    name: str
    public_name: str


@dataclass(frozen=True, slots=True)
class DocumentedModule:
    """A module of a package; `exports` maps names in the module to public names.

    `stub` is the path of the module's stub file. `imported_from_package` contains the names that the module imports
    from other modules of the package, or `*` for a star import.
    """

    path: str
    name: str
    is_public: bool
    exports: Mapping[str, str]
    stub: str = ""
    imported_from_package: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """The name of the module from which users import."""
        return self.name if self.is_public else min(self.exports.values(), key=_name_sort_key).rpartition(".")[0]


def public_modules(files: Iterable[str], reexported: Mapping[str, Sequence[Reexport]]) -> list[DocumentedModule]:
    """Return the public modules in `files`, and the private modules whose names are re-exported.

    `reexported` contains the re-exports of each module, by name of the module.
    """
    every = set(files)
    sources = {name: path for path in sources_without_stubs(every) if (name := module_name(path))}
    exports = _shortest_public_names(
        {package: names for package, names in reexported.items() if _is_public(package)}, sources
    )
    _propagate(exports, {package: names for package, names in reexported.items() if not _is_public(package)})
    found = []
    for name, path in sorted(sources.items()):
        public_name = exports.get(name, {})
        if _is_public(name) or public_name:
            stub = f"{path}i" if f"{path}i" in every else ""
            own_reexports = reexported.get(name, ()) if stub else ()
            imported_from_package = frozenset(
                _last_part(each.public_name) for each in own_reexports if each.origin in sources
            )
            found.append(DocumentedModule(path, name, _is_public(name), public_name, stub, imported_from_package))
    return found


def _shortest_public_names(
    public: Mapping[str, Sequence[Reexport]], sources: Container[str]
) -> dict[str, dict[str, str]]:
    """Return the shortest public names, such as `sqlalchemy.select`, by defining module and name.

    A name is omitted if users can import it from its defining module by an equally short or shorter path.
    """
    exports: dict[str, dict[str, str]] = {}
    for own, public_name in _shortest_names(each for names in public.values() for each in names).items():
        origin, _, name = own.rpartition(".")
        if not _is_public(origin) or origin not in sources or public_name.count(".") < own.count("."):
            exports.setdefault(origin, {})[name] = public_name
    return exports


def _shortest_names(reexports_found: Iterable[Reexport]) -> dict[str, str]:
    """Return the shortest public name of every re-exported qualified name, following chains of re-exports."""
    every = [(f"{each.origin}.{each.name}", each.public_name) for each in reexports_found]
    nearest: dict[str, str] = {}
    for _ in range(_MAX_CHAIN_LENGTH):
        for own, public_name in every:
            choices = (public_name, nearest.get(public_name, public_name), nearest.get(own, public_name))
            nearest[own] = min(choices, key=_name_sort_key)
    return nearest


def sources_without_stubs(files: Iterable[str]) -> list[str]:
    """Return the source files, and the stub files of modules without a source file."""
    every = set(files)
    return [
        each for each in sorted(every) if each.endswith(".py") or (each.endswith(".pyi") and each[:-1] not in every)
    ]


def _propagate(exports: dict[str, dict[str, str]], private: Mapping[str, Sequence[Reexport]]) -> None:
    """Add names that are re-exported through private packages to the entries of the defining modules in `exports`."""
    for _ in range(_MAX_CHAIN_LENGTH):
        for package, names in private.items():
            public_name = exports.get(package, {})
            for origin, name, own in names:
                wanted = _last_part(own)
                # A star import may provide any public name; names that the module does not define are ignored later.
                propagated = public_name.items() if name == "*" else [(name, public_name.get(wanted, ""))]
                for defined_name, public in list(propagated):
                    if public:
                        exports.setdefault(origin, {}).setdefault(defined_name, public)


def module_name(path: str) -> str:
    """Return the dotted name of a module file, such as `httpx._client`.

    Returns an empty string for tests, vendored code and other files outside the public API.
    """
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
    """Whether no part of a dotted name starts with an underscore; `__main__` counts as public."""
    return not any(part.startswith("_") and part != "__main__" for part in name.split("."))


def reexports(module: str, source: str, *, is_package: bool = True) -> list[Reexport]:
    """Return the names that a module imports and re-exports.

    An `__init__` module re-exports all imported names, any other module only names in `__all__` or names in `import
    name as name`. Private modules also re-export star imports.
    """
    try:
        tree = parse_module(source)
    except SourceError:
        return []
    package = module if is_package else module.rpartition(".")[0]
    own = names_in_all(tree)
    found = []
    for node, alias, is_for_type_checking in imports(tree):
        is_explicit = is_explicit_reexport(alias, own, is_for_type_checking=is_for_type_checking)
        is_implicit = is_package or (alias.name == "*" and not _is_public(module))
        if is_explicit or (is_implicit and not is_for_type_checking):
            found.append(
                Reexport(_imported_module(node, package), alias.name, f"{module}.{alias.asname or alias.name}")
            )
    return found


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]


def _name_sort_key(name: str) -> tuple[int, str]:
    """Return a sort key that puts names with few dots first."""
    return name.count("."), name


def _imported_module(node: ast.ImportFrom, package: str) -> str:
    """Return the absolute name of the module from which an import statement imports."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])
