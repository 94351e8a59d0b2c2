"""What a project offers to others under names: the packages that its manifests declare, and their files.

A package of Python is known by the folder that is imported, one of JavaScript by the name in package.json, one of Go by
the module of go.mod, a crate by Cargo.toml. Packages of Java and Kotlin and namespaces of C# and PHP are known by what
their sources say, where a build file is there; a gem by what lies below `lib` beside its gemspec; headers of C and C++
by their paths below `include`.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from posixpath import dirname, join, normpath
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.facts import GoModule, PackageDeclaration, SourceInterface
from deltos.domains.graph.declared.manifest import CARGO
from deltos.domains.graph.languages import FAMILIES, codec_of
from deltos.domains.graph.typescript.facts import PackageManifest
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltos.store.graph import FactReader, StoredFacts

PYTHON_FAMILY, JAVASCRIPT_FAMILY, DECLARED_FAMILY = range(3)  # positions in FAMILIES
_MANIFESTS = frozenset({"package.json", "go.mod", "Cargo.toml", "pyproject.toml"})
_MANIFESTS_OF = {PYTHON_FAMILY: ("pyproject.toml",), DECLARED_FAMILY: ("go.mod", "Cargo.toml")}
_SUFFIXES = (".py", ".pyi")
# Languages whose sources name their packages, and how the files end that say that these are built for others.
_NAMED_IN_SOURCES = (
    (
        frozenset({"java", "kotlin"}),
        ("pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
    ),
    (frozenset({"csharp"}), (".csproj",)),
    (frozenset({"php"}), ("composer.json",)),
)
_MOST_FILES = 5_000
_GEMSPEC, _GEM_SOURCES = ".gemspec", "lib"
_HEADERS, _HEADER_FOLDER = (".h", ".hh", ".hpp", ".hxx"), "include/"
# Folders beside a package that no build puts into it.
_NOT_PACKAGED = frozenset(
    "test tests testing doc docs example examples sample samples script scripts tool tools bench benchmark benchmarks "
    "fixtures build dist node_modules venv env ci bin".split()
)


@dataclass(frozen=True, slots=True)
class Package:
    """A package that others import as `name`. `distribution` is what they require it as; `is_named_alike`: who imports
    the one surely means the other."""

    name: str
    family: int
    distribution: str = ""
    is_named_alike: bool = True


@dataclass(frozen=True, slots=True)
class Offer:
    """The packages of a project by name, the files of them that code of each family of languages can see, and what the
    project requires of others."""

    packages: Mapping[str, Package]
    files: Mapping[int, Mapping[str, str]]
    requires: frozenset[str]
    languages: Mapping[str, str]


def normalised(name: str) -> str:
    """A name of a Python package as all its spellings are compared."""
    return name.lower().replace("-", "_").replace(".", "_")


def offer_of(graph: StoredFacts) -> Offer:
    """What a project offers, read from its facts."""
    languages, facts = graph.languages(), graph.facts()
    packages: dict[str, Package] = {}
    requires: set[str] = set()
    places: list[str] = []
    manifests = [path for path in languages if path.rpartition("/")[2] in _MANIFESTS]
    for path in sorted(manifests, key=lambda path: (path.count("/"), path)):
        match _interface(facts, path, languages[path]):
            case PackageManifest(name=name) if name:
                packages.setdefault(name, Package(name, JAVASCRIPT_FAMILY))
            case GoModule(name=name) if name:
                packages.setdefault(name, Package(name, DECLARED_FAMILY))
            case PackageDeclaration(ecosystem=ecosystem, name=name) if ecosystem == CARGO:
                packages.setdefault(name, Package(name, DECLARED_FAMILY))
            case PackageDeclaration() as declared:
                requires.update(map(normalised, declared.requires))
                for place in _python_places(dirname(path), declared, languages) if declared.name else ():
                    places.append(place)
                    package = _python_package(place, declared.name)
                    packages.setdefault(package.name, package)
    for name in (*_named_in_sources(facts, languages), *_required_as(languages), *_included_as(languages)):
        packages.setdefault(name, Package(name, DECLARED_FAMILY))
    offered = {package.family for package in packages.values()}
    files = {family: dict(_files(family, languages, tuple(places))) for family in offered}
    return Offer(packages, files, frozenset(requires), languages)


def _files(family: int, languages: Mapping[str, str], python_places: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for path, language in languages.items():
        if path.rpartition("/")[2] in _MANIFESTS_OF.get(family, ()) or (
            language in FAMILIES[family].languages and (family != PYTHON_FAMILY or path.startswith(python_places))
        ):
            yield path, language


def _python_package(place: str, distribution: str) -> Package:
    name = place.rstrip("/").rpartition("/")[2].removesuffix(".pyi").removesuffix(".py")
    is_alike = normalised(name) == normalised(distribution)
    return Package(name, PYTHON_FAMILY, normalised(distribution), is_alike)


def _python_places(folder: str, declared: PackageDeclaration, languages: Mapping[str, str]) -> Iterator[str]:
    """The folders (with a slash) and single modules that a Python distribution installs."""
    python = [path for path in languages if path.endswith(_SUFFIXES)]
    roots = [_below(folder, source[:-2]) for source in declared.sources if source.endswith("/*")]
    for source in declared.sources:
        if not source.endswith("/*") and _has_some(python, _below(folder, source)):
            yield f"{_below(folder, source)}/"
    if not declared.sources:
        inside = _below(folder, "src")
        roots = [inside if _has_some(python, inside) else folder]
    for root in roots:
        yield from _tops(f"{root}/" if root else "", normalised(declared.name), python, languages)


def _tops(prefix: str, name: str, python: Sequence[str], languages: Mapping[str, str]) -> Iterator[str]:
    """The packages right below a folder, and what is called as the distribution is. An `__init__.py` without a line is
    not indexed: below `src` every folder is a package."""
    for top in sorted({path[len(prefix) :].partition("/")[0] for path in python if path.startswith(prefix)}):
        is_alike = normalised(top.partition(".")[0]) == name
        if top.endswith(_SUFFIXES):
            if is_alike:
                yield f"{prefix}{top}"
        elif is_alike or (
            top not in _NOT_PACKAGED and (_is_package(prefix + top, languages) or prefix.endswith("src/"))
        ):
            yield f"{prefix}{top}/"


def _is_package(folder: str, languages: Mapping[str, str]) -> bool:
    return any(f"{folder}/__init__{suffix}" in languages for suffix in _SUFFIXES)


def _has_some(paths: Sequence[str], folder: str) -> bool:
    return any(path.startswith(f"{folder}/") for path in paths)


def _below(folder: str, path: str) -> str:
    found = normpath(join(folder, path.strip("/")))
    return "" if found == "." else found


def _named_in_sources(facts: FactReader, languages: Mapping[str, str]) -> Iterator[str]:
    """The packages and namespaces that sources say they belong to, where a build file says that they are built."""
    for named, builds in _NAMED_IN_SOURCES:
        if any(path.rpartition("/")[2].endswith(builds) for path in languages):
            sources = [path for path, language in languages.items() if language in named and not is_test(path)]
            interfaces = (_interface(facts, path, languages[path]) for path in sources[:_MOST_FILES])
            yield from dict.fromkeys(each.package for each in interfaces if isinstance(each, SourceInterface))


def _required_as(languages: Mapping[str, str]) -> Iterator[str]:
    """What others begin with when they require a file of a gem: `shop.rb` for `shop` and `shop/cart`."""
    gems = [dirname(path) for path in languages if path.endswith(_GEMSPEC)]
    for prefix in (f"{_below(folder, _GEM_SOURCES)}/" for folder in gems):
        inside = [path[len(prefix) :] for path in languages if path.startswith(prefix) and path.endswith(".rb")]
        yield from dict.fromkeys(f"{path.partition('/')[0].removesuffix('.rb')}.rb" for path in inside)


def _included_as(languages: Mapping[str, str]) -> Iterator[str]:
    """The headers of C and C++ that others can include: those below a folder `include`, by their paths from there."""
    for path in languages:
        before, folder, inside = f"/{path}".rpartition(f"/{_HEADER_FOLDER}")
        if folder and path.endswith(_HEADERS) and not is_test(before):
            yield inside


def _interface(facts: FactReader, path: str, language: str) -> object:
    blob = facts.interface(path)
    return None if blob is None else codec_of(language).interface(zlib.decompress(blob))
