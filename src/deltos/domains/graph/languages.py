"""Table of the resolvers and of the languages that each resolver supports. Resolvers are imported on first use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from deltos.domains.graph.declared.languages import TRAITS, is_declared, traits_of
from deltos.domains.graph.definitions import DefinitionsOnly
from deltos.languages.table import detect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deltos.domains.graph.kernel.codec import Codec
    from deltos.domains.graph.kernel.resolver import Resolver
    from deltos.store.symbols import Symbol


@dataclass(frozen=True, slots=True)
class Family:
    """Languages that share one resolver."""

    languages: frozenset[str]
    resolver: Callable[[], Resolver]


@cache
def _python_resolver() -> Resolver:
    from deltos.domains.graph.python.resolver import PythonResolver

    return PythonResolver()


@cache
def _typescript_resolver() -> Resolver:
    from deltos.domains.graph.typescript.resolver import TypeScriptResolver

    return TypeScriptResolver()


@cache
def _declared_resolver() -> Resolver:
    from deltos.domains.graph.declared.resolver import DeclaredTypesResolver

    return DeclaredTypesResolver()


DECLARED_LANGUAGES = frozenset(TRAITS)
"""Languages with declared types, which share one resolver."""
_LANGUAGE_GROUPS = {
    "javascript": frozenset({"typescript", "tsx", "javascript", "jsx", "vue", "svelte", "astro"}),
    "jvm": frozenset({"java", "kotlin", "scala", "groovy"}),
    "c": frozenset({"c", "cpp", "objc", "cuda"}),
}
"""Groups of languages that can use each other's definitions."""
# Name endings of build scripts, which do not use the definitions of the project.
_BUILD_SCRIPTS = (".gradle", ".sbt", "Jenkinsfile")
FAMILIES = (
    Family(frozenset({"python"}), _python_resolver),
    Family(frozenset({"typescript", "tsx", "javascript", "jsx", "json"}), _typescript_resolver),
    Family(DECLARED_LANGUAGES, _declared_resolver),
)
DEFINITIONS_ONLY = DefinitionsOnly()


@cache
def resolver_of(language: str) -> Resolver | None:
    """Return the resolver of a language, or None if references in this language are not resolved."""
    return next((family.resolver() for family in FAMILIES if language in family.languages), None)


@cache
def _has_resolver(language: str) -> bool:
    return any(language in family.languages for family in FAMILIES)


def is_resolved(path: str) -> bool:
    """Whether references in a file are indexed, judging by the file name."""
    language = detect(path)
    return language is None or _has_resolver(language.name)


def is_member(row: Symbol) -> bool:
    """Whether a definition is accessed through a value or a type, not by its name alone.

    In languages with declared types, a function inside another definition belongs to a namespace or a module.
    """
    return "." in row.key and not (row.kind == "function" and is_declared(row.path))


@cache
def _language_group(language: str) -> str:
    shared = next((group for group, languages in _LANGUAGE_GROUPS.items() if language in languages), "")
    return shared or language


def can_refer_to(path: str, other: str) -> bool:
    """Whether a file can use definitions in another file, because the languages of both belong to the same group."""
    own, its = detect(path), detect(other)
    return own is None or its is None or _language_group(own.name) == _language_group(its.name)


def imports_only_namespaces(path: str) -> bool:
    """Whether imports in a file's language refer only to namespaces, as in C#."""
    return not traits_of(path).imports_name_files


def can_refer_to_files(path: str) -> bool:
    """Whether code in a file's language can refer to files, as with `#include`, `require` or `mod`."""
    return not traits_of(path).imports_name_definitions_only


def unresolved_files(paths: Iterable[str], target_path: str) -> list[str]:
    """Return the files that may use definitions of `target_path` but have no resolver, such as Vue components."""
    language = detect(target_path)
    related_languages = (
        _LANGUAGE_GROUPS.get(_language_group(language.name), frozenset()) if language is not None else frozenset()
    )
    if all(map(_has_resolver, related_languages)):
        return []
    return [
        path
        for path in paths
        if not is_resolved(path) and can_refer_to(path, target_path) and not path.endswith(_BUILD_SCRIPTS)
    ]


@cache
def codec_of(language: str) -> Codec:
    """Return the codec that encodes a language's facts."""
    # Languages without a resolver have no facts, except for manifests, which use the codec of languages with declared
    # types.
    return (resolver_of(language) or _declared_resolver()).codec
