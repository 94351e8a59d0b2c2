"""Which resolver serves which language: one line per family."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from pinakes.domains.graph.definitions import DefinitionsOnly
from pinakes.domains.graph.python.resolver import PythonResolver
from pinakes.domains.graph.second_tier.resolver import SecondTierResolver
from pinakes.domains.graph.typescript.resolver import TypeScriptResolver

if TYPE_CHECKING:
    from pinakes.domains.graph.model import Resolver

_SECOND_TIER = SecondTierResolver()
RESOLVERS: tuple[Resolver, ...] = (PythonResolver(), TypeScriptResolver(), _SECOND_TIER)
LOOKED_UP_BY_NAME = _SECOND_TIER.languages
"""Languages whose resolution depends on all definitions of a name, wherever they are."""
DEFINITIONS_ONLY = DefinitionsOnly()


@cache
def resolver_of(language: str) -> Resolver | None:
    """The resolver of a language; None where only definitions are known."""
    for resolver in RESOLVERS:
        if language in resolver.languages:
            return resolver
    return None
