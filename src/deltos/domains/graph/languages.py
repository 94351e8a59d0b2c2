"""Which resolver serves which language: one line per family. A resolver is imported when a file first needs it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from deltos.domains.graph.definitions import DefinitionsOnly
from deltos.languages.table import detect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deltos.domains.graph.kernel.codec import Codec
    from deltos.domains.graph.kernel.resolver import Resolver


@dataclass(frozen=True, slots=True)
class Family:
    """Languages that one resolver serves."""

    languages: frozenset[str]
    resolver: Callable[[], Resolver]


@cache
def _python() -> Resolver:
    from deltos.domains.graph.python.resolver import PythonResolver

    return PythonResolver()


@cache
def _typescript() -> Resolver:
    from deltos.domains.graph.typescript.resolver import TypeScriptResolver

    return TypeScriptResolver()


@cache
def _declared() -> Resolver:
    from deltos.domains.graph.declared.resolver import DeclaredTypesResolver

    return DeclaredTypesResolver()


LOOKED_UP_BY_NAME = frozenset("go java kotlin csharp rust c cpp php ruby".split())
"""Languages whose resolution depends on all definitions of a name, wherever they are."""
_GROUPS = {
    "javascript": frozenset({"typescript", "tsx", "javascript", "jsx", "vue", "svelte", "astro"}),
    "jvm": frozenset({"java", "kotlin", "scala", "groovy"}),
    "c": frozenset({"c", "cpp", "objc", "cuda"}),
}
"""Languages that see each other's definitions."""
_BUILD_SCRIPTS = (".gradle", ".sbt", "Jenkinsfile")  # use plugins, not the project's own definitions
FAMILIES = (
    Family(frozenset({"python"}), _python),
    Family(frozenset({"typescript", "tsx", "javascript", "jsx", "json"}), _typescript),
    Family(LOOKED_UP_BY_NAME, _declared),
)
DEFINITIONS_ONLY = DefinitionsOnly()


@cache
def resolver_of(language: str) -> Resolver | None:
    """The resolver of a language; None where only definitions are known."""
    return next((family.resolver() for family in FAMILIES if language in family.languages), None)


@cache
def _has_resolver(language: str) -> bool:
    return any(language in family.languages for family in FAMILIES)


def is_resolved(path: str) -> bool:
    """Whether references of a file are known, as far as its name tells, and not its definitions alone."""
    language = detect(path)
    return language is None or _has_resolver(language.name)


def is_declared(path: str) -> bool:
    """Whether a file's references are resolved by declarations alone, as far as its name tells."""
    language = detect(path)
    return language is not None and language.name in LOOKED_UP_BY_NAME


@cache
def _group(language: str) -> str:
    shared = next((group for group, languages in _GROUPS.items() if language in languages), "")
    return shared or language


def is_same_world(path: str, other: str) -> bool:
    """Whether a file may use what another defines: its language is the same, or sees the other's definitions."""
    own, its = detect(path), detect(other)
    return own is None or its is None or _group(own.name) == _group(its.name)


def imports_no_files(path: str) -> bool:
    """Whether a language imports only what many files make up together: namespaces of C#."""
    return path.endswith(".cs")


def is_included(path: str) -> bool:
    """Whether files of a language that is looked up by name are also named themselves: `#include`, `require`, `mod`."""
    language = detect(path)
    return language is not None and language.name in ("c", "cpp", "ruby", "rust")


def hiding_uses(paths: Iterable[str], of: str) -> list[str]:
    """The files that may use what another defines and whose references are not known: components in Vue."""
    language = detect(of)
    kin = _GROUPS.get(_group(language.name), frozenset()) if language is not None else frozenset()
    if all(map(_has_resolver, kin)):
        return []
    return [
        path
        for path in paths
        if not is_resolved(path) and is_same_world(path, of) and not path.endswith(_BUILD_SCRIPTS)
    ]


@cache
def codec_of(language: str) -> Codec:
    """How the facts of a language are written. Files without a resolver have none, or are manifests of the declared."""
    return (resolver_of(language) or _declared()).codec
