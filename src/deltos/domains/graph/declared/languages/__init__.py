"""Differences between the languages with declared types, with one module per language."""

from __future__ import annotations

from functools import lru_cache

from deltos.domains.graph.declared.languages.c import CPP, C
from deltos.domains.graph.declared.languages.csharp import CSHARP
from deltos.domains.graph.declared.languages.go import GO
from deltos.domains.graph.declared.languages.java import JAVA
from deltos.domains.graph.declared.languages.kotlin import KOTLIN
from deltos.domains.graph.declared.languages.php import PHP
from deltos.domains.graph.declared.languages.ruby import RUBY
from deltos.domains.graph.declared.languages.rust import RUST
from deltos.domains.graph.declared.languages.swift import SWIFT
from deltos.domains.graph.declared.languages.traits import NO_TRAITS, LanguageTraits
from deltos.languages.table import detect

_LANGUAGES = (GO, JAVA, KOTLIN, CSHARP, RUST, C, CPP, PHP, RUBY, SWIFT)
TRAITS: dict[str, LanguageTraits] = {each.name: each for each in _LANGUAGES}


@lru_cache(maxsize=65_536)  # cached, because it is called for every symbol of a query
def traits_of(path: str) -> LanguageTraits:
    """Return the traits of the language of a file, or `NO_TRAITS` if the language has no declared types."""
    language = detect(path)
    return TRAITS.get(language.name, NO_TRAITS) if language is not None else NO_TRAITS


def is_declared(path: str) -> bool:
    """Whether the suffix or name of a file belongs to a language with declared types."""
    return traits_of(path) is not NO_TRAITS


def family_of(language: str) -> str:
    """Return the family of a language. Languages of one family can use each other's definitions."""
    return TRAITS[language].family or language
