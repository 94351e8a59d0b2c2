"""Search for the packages that a project provides to other projects, and for the files of these packages.

A Python package is identified by the imported folder, a JavaScript package by the name in package.json, a Go module by
go.mod, and a crate by Cargo.toml. Packages of Java and Kotlin and namespaces of C# and PHP are read from the sources if
there is a build file. A gem consists of the files below `lib` next to its gemspec. C and C++ headers are identified by
their path below `include`.
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
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deltos.store.graph import FactReader, Graph

PYTHON_FAMILY, JAVASCRIPT_FAMILY, DECLARED_FAMILY = range(3)  # indexes of the language families in FAMILIES
_MANIFESTS = frozenset({"package.json", "go.mod", "Cargo.toml", "pyproject.toml"})
_MANIFESTS_BY_FAMILY = {PYTHON_FAMILY: ("pyproject.toml",), DECLARED_FAMILY: ("go.mod", "Cargo.toml")}
_PYTHON_SUFFIXES = (".py", ".pyi")
# Languages whose source files declare the package that contains them, with the build files of published packages.
_SOURCE_NAMED_LANGUAGES = (
    (
        frozenset({"java", "kotlin"}),
        ("pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
    ),
    (frozenset({"csharp"}), (".csproj",)),
    (frozenset({"php"}), ("composer.json",)),
)
_MAX_SOURCE_FILES = 5_000
_GEMSPEC, _GEM_SOURCES = ".gemspec", "lib"
_HEADER_SUFFIXES, _HEADER_FOLDER = (".h", ".hh", ".hpp", ".hxx"), "include/"
# Names of folders next to a package that are not part of the package.
_UNPACKAGED_FOLDERS = frozenset(
    "test tests testing doc docs example examples sample samples script scripts tool tools bench benchmark benchmarks "
    "fixtures build dist node_modules venv env ci bin".split()
)


@dataclass(frozen=True, slots=True)
class Package:
    """A package that other projects import as `name` and install as `distribution`."""

    name: str
    family: int
    distribution: str = ""
    matches_distribution: bool = True  # whether `name` and `distribution` are equal


@dataclass(frozen=True, slots=True)
class ProvidedPackages:
    """The packages that a project provides to other projects."""

    packages: Mapping[str, Package]  # by name
    files: Mapping[int, Mapping[str, str]]  # language of each file in a package, by language family and path
    requires: frozenset[str]  # names of the distributions that the project requires
    languages: Mapping[str, str]  # language of every file in the project


def normalise_package_name(name: str) -> str:
    """Return the normalised form of a Python package name, which is the same for equivalent spellings."""
    return name.lower().replace("-", "_").replace(".", "_")


def provided_packages(graph: Graph) -> ProvidedPackages:
    """Return the packages that a project provides, read from the stored facts of the project."""
    languages, facts = graph.languages(), graph.facts()
    packages: dict[str, Package] = {}
    requires: set[str] = set()
    places: list[str] = []
    manifests = [path for path in languages if path.rpartition("/")[2] in _MANIFESTS]
    for path in sorted(manifests, key=lambda path: (path.count("/"), path)):
        match _decoded_interface(facts, path, languages[path]):
            case PackageManifest(name=name) if name:
                packages.setdefault(name, Package(name, JAVASCRIPT_FAMILY))
            case GoModule(name=name) if name:
                packages.setdefault(name, Package(name, DECLARED_FAMILY))
            case PackageDeclaration(ecosystem=ecosystem, name=name) if ecosystem == CARGO:
                packages.setdefault(name, Package(name, DECLARED_FAMILY))
            case PackageDeclaration() as declared:
                requires.update(map(normalise_package_name, declared.requires))
                for place in _python_package_paths(dirname(path), declared, languages) if declared.name else ():
                    places.append(place)
                    package = _python_package(place, declared.name)
                    packages.setdefault(package.name, package)
    for name in (
        *_packages_named_in_sources(facts, languages),
        *_ruby_requires(languages),
        *_public_headers(languages),
    ):
        packages.setdefault(name, Package(name, DECLARED_FAMILY))
    offered = {package.family for package in packages.values()}
    files = {family: dict(_provided_files(family, languages, tuple(places))) for family in offered}
    return ProvidedPackages(packages, files, frozenset(requires), languages)


def _provided_files(
    family: int, languages: Mapping[str, str], python_paths: tuple[str, ...]
) -> Iterator[tuple[str, str]]:
    """Yield the path and language of each file of a language family that a project provides to other projects."""
    for path, language in languages.items():
        if path.rpartition("/")[2] in _MANIFESTS_BY_FAMILY.get(family, ()) or (
            language in FAMILIES[family].languages and (family != PYTHON_FAMILY or path.startswith(python_paths))
        ):
            yield path, language


def _python_package(place: str, distribution: str) -> Package:
    """Return the Python package or module at `place`, which belongs to a distribution."""
    name = place.rstrip("/").rpartition("/")[2].removesuffix(".pyi").removesuffix(".py")
    is_alike = normalise_package_name(name) == normalise_package_name(distribution)
    return Package(name, PYTHON_FAMILY, normalise_package_name(distribution), is_alike)


def _python_package_paths(folder: str, declared: PackageDeclaration, languages: Mapping[str, str]) -> Iterator[str]:
    """Yield the folders (with a trailing slash) and single modules that a Python distribution installs."""
    python = [path for path in languages if path.endswith(_PYTHON_SUFFIXES)]
    roots = [_join_below(folder, source[:-2]) for source in declared.sources if source.endswith("/*")]
    for source in declared.sources:
        if not source.endswith("/*") and _has_files_below(python, _join_below(folder, source)):
            yield f"{_join_below(folder, source)}/"
    if not declared.sources:
        inside = _join_below(folder, "src")
        roots = [inside if _has_files_below(python, inside) else folder]
    for root in roots:
        yield from _packages_below(f"{root}/" if root else "", normalise_package_name(declared.name), python, languages)


def _packages_below(prefix: str, name: str, python: Sequence[str], languages: Mapping[str, str]) -> Iterator[str]:
    """Yield the packages in a folder, and modules with the same name as the distribution.

    An empty `__init__.py` is not indexed, so every folder below `src` counts as a package.
    """
    for top in sorted({path[len(prefix) :].partition("/")[0] for path in python if path.startswith(prefix)}):
        is_alike = normalise_package_name(top.partition(".")[0]) == name
        if top.endswith(_PYTHON_SUFFIXES):
            if is_alike:
                yield f"{prefix}{top}"
        elif is_alike or (
            top not in _UNPACKAGED_FOLDERS and (_is_package(prefix + top, languages) or prefix.endswith("src/"))
        ):
            yield f"{prefix}{top}/"


def _is_package(folder: str, languages: Mapping[str, str]) -> bool:
    return any(f"{folder}/__init__{suffix}" in languages for suffix in _PYTHON_SUFFIXES)


def _has_files_below(paths: Sequence[str], folder: str) -> bool:
    return any(path.startswith(f"{folder}/") for path in paths)


def _join_below(folder: str, path: str) -> str:
    """Return a folder joined with a relative path, in normalised form."""
    found = normpath(join(folder, path.strip("/")))
    return "" if found == "." else found


def _packages_named_in_sources(facts: FactReader, languages: Mapping[str, str]) -> Iterator[str]:
    """Yield the packages and namespaces that sources declare, if there is a build file."""
    for named, builds in _SOURCE_NAMED_LANGUAGES:
        if any(path.rpartition("/")[2].endswith(builds) for path in languages):
            sources = [path for path, language in languages.items() if language in named and not is_test(path)]
            interfaces = (_decoded_interface(facts, path, languages[path]) for path in sources[:_MAX_SOURCE_FILES])
            yield from dict.fromkeys(each.package for each in interfaces if isinstance(each, SourceInterface))


def _ruby_requires(languages: Mapping[str, str]) -> Iterator[str]:
    """Yield the top-level files that other projects can `require` from a gem: `shop.rb` for `shop` and `shop/cart`."""
    gems = [dirname(path) for path in languages if path.endswith(_GEMSPEC)]
    for prefix in (f"{_join_below(folder, _GEM_SOURCES)}/" for folder in gems):
        inside = [path[len(prefix) :] for path in languages if path.startswith(prefix) and path.endswith(".rb")]
        yield from dict.fromkeys(f"{path.partition('/')[0].removesuffix('.rb')}.rb" for path in inside)


def _public_headers(languages: Mapping[str, str]) -> Iterator[str]:
    """Yield the C and C++ headers that other projects can include, as paths below an `include` folder."""
    for path in languages:
        before, folder, inside = f"/{path}".rpartition(f"/{_HEADER_FOLDER}")
        if folder and path.endswith(_HEADER_SUFFIXES) and not is_test(before):
            yield inside


def _decoded_interface(facts: FactReader, path: str, language: str) -> object:
    """Return the interface of a file (the facts on which other files may depend), or None if it has none."""
    blob = facts.interface(path)
    return None if blob is None else codec_of(language).interface(zlib.decompress(blob))
