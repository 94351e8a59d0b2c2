"""Which names of Python modules users can import, and what they call them, told by the sources alone."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.docs.python_source import imports, listed, parsed
from deltos.errors import SourceError

if TYPE_CHECKING:
    import ast
    from collections.abc import Container, Iterable, Mapping, Sequence

_SKIPPED_PARTS = frozenset(("tests", "_vendor", "vendored", "vendor", "conftest", "__pycache__", "benchmarks"))
_LONGEST_CHAIN = 4  # private packages that a re-exported name passes through


class Reexport(NamedTuple):
    """A name that a module takes from another one, `origin`, and passes on as `public`. `is_meant`: it says so by
    `__all__` or `import name as name`, instead of only importing it."""

    origin: str
    name: str
    public: str
    is_meant: bool


@dataclass(frozen=True, slots=True)
class DocumentedModule:
    """One module file of a package. `exports` maps names in it to the public names they are known by.

    `stub` is the file of types beside it; `elsewhere` has the names that it takes from other sources of the package,
    `*` where it takes all of one.
    """

    path: str
    name: str
    is_public: bool
    exports: Mapping[str, str]
    stub: str = ""
    elsewhere: frozenset[str] = frozenset()

    @property
    def title(self) -> str:
        """The name under which users import from it."""
        return self.name if self.is_public else min(self.exports.values(), key=_distance).rpartition(".")[0]


def public_modules(files: Iterable[str], taken: Mapping[str, Sequence[Reexport]]) -> list[DocumentedModule]:
    """The modules among `files` that have public names: public ones, and private ones that are re-exported from.

    `taken` has, for each module, the names that it takes from other modules and passes on.
    """
    every = set(files)
    sources = {name: path for path in sources_first(every) if (name := module_name(path))}
    exports = _nearest_names({package: names for package, names in taken.items() if _is_public(package)}, sources)
    _pass_on(exports, {package: names for package, names in taken.items() if not _is_public(package)})
    found = []
    for name, path in sorted(sources.items()):
        known_as = exports.get(name, {})
        if _is_public(name) or known_as:
            stub = f"{path}i" if f"{path}i" in every else ""
            taken_here = taken.get(name, ()) if stub else ()
            elsewhere = frozenset(_last(each.public) for each in taken_here if each.origin in sources)
            found.append(DocumentedModule(path, name, _is_public(name), known_as, stub, elsewhere))
    return found


def _nearest_names(public: Mapping[str, Sequence[Reexport]], sources: Container[str]) -> dict[str, dict[str, str]]:
    """By module and name in it, the nearest of the names under which public modules pass it on; none where the module
    itself is as near: `sqlalchemy.select`, not `sqlalchemy.sql.expression.select`."""
    exports: dict[str, dict[str, str]] = {}
    for own, known_as in _nearest(each for names in public.values() for each in names).items():
        origin, _, name = own.rpartition(".")
        if not _is_public(origin) or origin not in sources or known_as.count(".") < own.count("."):
            exports.setdefault(origin, {})[name] = known_as
    return exports


def _nearest(passed_on: Iterable[Reexport]) -> dict[str, str]:
    """For each name where it is taken from, the nearest under which it is passed on, by whatever modules between."""
    every = [(f"{each.origin}.{each.name}", each.public) for each in passed_on]
    nearest: dict[str, str] = {}
    for _ in range(_LONGEST_CHAIN):
        for own, known_as in every:
            choices = (known_as, nearest.get(known_as, known_as), nearest.get(own, known_as))
            nearest[own] = min(choices, key=_distance)
    return nearest


def sources_first(files: Iterable[str]) -> list[str]:
    """The modules among files; of two files of a module its source, which has the docstrings, not its stub."""
    every = set(files)
    return [
        each for each in sorted(every) if each.endswith(".py") or (each.endswith(".pyi") and each[:-1] not in every)
    ]


def _pass_on(exports: dict[str, dict[str, str]], private: Mapping[str, Sequence[Reexport]]) -> None:
    """Names that public packages take from private ones, handed on to the modules where those took them from."""
    for _ in range(_LONGEST_CHAIN):
        for package, names in private.items():
            known_as = exports.get(package, {})
            for origin, name, own, _ in names:
                wanted = _last(own)
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
    `import name as name`; a private one also all that it takes whole.
    """
    try:
        tree = parsed(source)
    except SourceError:
        return []
    package = module if is_package else module.rpartition(".")[0]
    own = listed(tree)
    found = []
    for node, alias, is_for_checkers in imports(tree):
        name = alias.asname or alias.name
        is_meant = name in own or (alias.asname == alias.name and not is_for_checkers)
        is_passed_on = is_package or (alias.name == "*" and not _is_public(module))
        if is_meant or (is_passed_on and not is_for_checkers):
            found.append(Reexport(_origin(node, package), alias.name, f"{module}.{name}", is_meant))
    return found


def passed_on_of_others(taken: Mapping[str, Sequence[Reexport]]) -> dict[str, dict[str, str]]:
    """By module of other packages, the names in it that public modules here mean to pass on, as users know them: the
    nearest, where several modules pass it on."""
    own = {module.partition(".")[0] for module in taken}
    passed_on = [each for module, names in taken.items() if _is_public(module) for each in names]
    nearest = _nearest(passed_on)
    found: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for each in passed_on:
        if each.is_meant and each.name != "*" and each.origin.partition(".")[0] not in own:
            found[each.origin][each.name] = nearest[f"{each.origin}.{each.name}"]
    return dict(found)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


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


def _origin(node: ast.ImportFrom, package: str) -> str:
    """The full name of the module that is imported from."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])
