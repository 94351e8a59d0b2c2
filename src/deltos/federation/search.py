"""Search across all enabled providers, and fetching of full texts by id."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltos.errors import BadArgument, Cancelled, DeltosError, NotFound
from deltos.federation.filters import COMMIT, FILTERED_KINDS
from deltos.federation.intent import intent_of
from deltos.federation.model import ProviderResults
from deltos.federation.project_scope import note_unsearched
from deltos.federation.rank import RankedHit, listed_hits, rank_all, rank_one_provider, take_with_every_kind
from deltos.model import NO_FILTERS
from deltos.text.translation import translate_to_english
from deltos.wording import weak_match

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.federation.model import FullText, Hit, Provider, SearchRequest
    from deltos.federation.rank import Compare
    from deltos.model import Filters

MAX_QUERY_CHARACTERS = 500
MAX_ID_CHARACTERS = 1_000
DEFAULT_RESULTS = 10
# Providers always return up to MAX_RESULTS hits, so that the total does not depend on the requested limit.
MAX_RESULTS = 20
# Start of the note that lists the skipped kinds of results.
NOT_FILTERED = "Not searched, as kind, since, until and tag do not apply"
# Results below this confidence rarely answer the query. The best result is below it for 3 of 77 queries in
# tests/relevance.
WEAK_CONFIDENCE = 0.3
_ALL_COMMITS_QUERY = "commits"  # query used if a call contains only filters; it lists commits
_KIND_NAMES = {"code": "code", "doc": "documentation", "api": "APIs", "obs": "memory", "commit": "commits"}


@dataclass(frozen=True, slots=True)
class FederatedResults:
    """Merged results, descriptions of the searched sources, and notes for the user.

    `total` is the number of results without a limit. If `total_is_least` is true, there may be more.
    """

    ranked: tuple[RankedHit, ...]
    total: int
    total_is_least: bool
    kinds: tuple[str, ...]
    searched: tuple[str, ...]
    notes: tuple[str, ...]


class Federation:
    """Search across all enabled providers, and fetching of full texts by id."""

    def __init__(self, providers: Sequence[Provider], toolsets: Sequence[str], compare: Compare | None = None) -> None:
        self._compare = compare
        self._providers = tuple(provider for provider in providers if not set(provider.toolsets).isdisjoint(toolsets))
        self._toolsets = tuple(toolsets)

    def search(self, asked: SearchRequest, scope: Sequence[str] = ()) -> FederatedResults:
        """Return the best hits of all providers in scope. Failed providers are reported in notes, unless all fail."""
        toolsets = self._select_toolsets(scope)
        providers = [provider for provider in self._providers if not set(provider.toolsets).isdisjoint(toolsets)]
        providers, filter_notes = _filterable_providers(providers, asked.filters)
        query = asked.query.replace("\0", " ").strip()[:MAX_QUERY_CHARACTERS]
        if not query:
            providers = [provider for provider in providers if provider.kind == COMMIT]
            if asked.filters == NO_FILTERS or not providers:
                raise BadArgument("The query is empty", hint="Ask in a few words what you want to know.")
            query = _ALL_COMMITS_QUERY
        wider = replace(asked, query=query, limit=MAX_RESULTS)
        results_by_provider = self._search_providers(providers, wider, toolsets)
        lists = _drop_duplicates([each.hits for each in results_by_provider])
        intent = intent_of(translate_to_english(query) or query).with_explicit_kinds(
            [provider.kind for provider, each in zip(providers, results_by_provider, strict=True) if each.is_explicit]
        )
        if listed := [each for each in results_by_provider if each.is_list]:
            memories = rank_all([hits for hits in lists if hits[0].kind == "obs"], query, intent, self._compare)
            memory_hits = [ranked for ranked in memories if ranked.confidence >= WEAK_CONFIDENCE]
            every = [*(each for results in listed for each in listed_hits(results)), *memory_hits]
        elif [provider.kind for provider in providers] == ["obs"]:
            every = [ranked for hits in lists for ranked in rank_one_provider(hits, query, intent, self._compare)]
        else:
            every = rank_all(lists, query, intent, self._compare)
        ranked = tuple(take_with_every_kind(every, asked.limit))
        return FederatedResults(
            ranked,
            total=len(every),
            total_is_least=any(each.total > len(each.hits) for each in listed or results_by_provider),
            kinds=tuple(provider.kind for provider in providers),
            searched=tuple(each.searched for each in results_by_provider if each.searched),
            notes=(*_weak_match_notes(ranked), *filter_notes, *_collect_notes(results_by_provider, ranked)),
        )

    def fetch(self, identifier: str, asked: SearchRequest) -> FullText:
        """Return the full text of the result with this id. An id without a kind refers to an observation."""
        given = identifier.replace("\0", "").strip()[:MAX_ID_CHARACTERS]
        kind = given.partition(":")[0]
        known = {provider.kind: provider for provider in self._providers}
        provider = known.get(kind) or known.get("obs")
        if provider is None:
            raise NotFound(f"Unknown id '{given[:200]}'", hint=f"Ids begin with {', '.join(known)} and a colon.")
        return provider.fetch(given, asked)

    def _select_toolsets(self, scope: Sequence[str]) -> tuple[str, ...]:
        """Return the toolsets in scope, or all enabled ones if the scope is empty."""
        unknown = [name for name in scope if name not in self._toolsets]
        if unknown:
            raise BadArgument(
                f"'{unknown[0]}' is not an enabled toolset", hint=f"Enabled: {', '.join(self._toolsets)}."
            )
        return tuple(scope) or self._toolsets

    @staticmethod
    def _search_providers(
        providers: Sequence[Provider], asked: SearchRequest, toolsets: Sequence[str]
    ) -> list[ProviderResults]:
        """Return the results of each provider. A failed provider has a note instead of results."""
        results_by_provider: list[ProviderResults] = []
        problems: list[DeltosError] = []
        for provider in providers:
            try:
                results_by_provider.append(provider.search(asked, toolsets))
            except Cancelled:
                raise
            except DeltosError as problem:
                if isinstance(problem, NotFound) and asked.project_id:  # no domain knows the requested project
                    raise
                problems.append(problem)
                results_by_provider.append(
                    ProviderResults(notes=(f"{_provider_name(provider)} not searched: {problem}",))
                )
        if problems and len(problems) == len(providers):
            raise problems[0]
        return results_by_provider


def _is_answered(ranked: Sequence[RankedHit]) -> bool:
    """Whether the best result is likely to answer the query."""
    return bool(ranked) and ranked[0].confidence >= WEAK_CONFIDENCE


def _weak_match_notes(ranked: Sequence[RankedHit]) -> tuple[str, ...]:
    """Return a tuple with a note if even the best result is unlikely to answer the query, or an empty tuple."""
    if not ranked or _is_answered(ranked):
        return ()
    return (weak_match(ranked[0].confidence),)


def _collect_notes(results_by_provider: Sequence[ProviderResults], ranked: Sequence[RankedHit]) -> list[str]:
    """Collect the notes of all providers, except notes that would only cost tokens.

    Missing kinds are reported unless memory answers the query. Unsearched sources are reported only if no result
    answers the query well.
    """
    is_answered_by_memory = _is_answered(ranked) and ranked[0].hit.kind == "obs"
    lacks = [each.missing_reason for each in results_by_provider if each.missing_reason and not is_answered_by_memory]
    unsearched = [] if _is_answered(ranked) else [name for each in results_by_provider for name in each.unsearched]
    return [*lacks, *(note for each in results_by_provider for note in each.notes), *note_unsearched(unsearched)]


def _provider_name(provider: Provider) -> str:
    """Return the name of a provider for messages: the toolsets, or the kind."""
    return "/".join(provider.toolsets) or provider.kind


def _filterable_providers(providers: list[Provider], filters: Filters) -> tuple[list[Provider], tuple[str, ...]]:
    """Return the providers that support the filters, and a note that lists the other kinds."""
    if filters == NO_FILTERS:
        return providers, ()
    wanted = set(FILTERED_KINDS)
    if filters.kinds:
        wanted = {COMMIT for kind in filters.kinds if kind == COMMIT} | {
            "obs" for kind in filters.kinds if kind != COMMIT
        }
    kept = [provider for provider in providers if provider.kind in wanted]
    if not kept:
        raise BadArgument(
            "The filters kind, since, until and tag apply only to observations and commits, and neither is in scope",
            hint="Remove the filters or widen the scope.",
        )
    others = [_KIND_NAMES[provider.kind] for provider in providers if provider not in kept]
    return kept, (f"{NOT_FILTERED}: {', '.join(others)}",) if others else ()


def _drop_duplicates(lists: Sequence[Sequence[Hit]]) -> list[tuple[Hit, ...]]:
    """Drop code hits in files from which a documentation or API hit was indexed."""
    described = {hit.path for hits in lists for hit in hits if hit.kind in ("doc", "api") and hit.path}
    kept = (tuple(hit for hit in hits if hit.kind != "code" or hit.path not in described) for hits in lists)
    return [hits for hits in kept if hits]
