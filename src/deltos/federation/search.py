"""The federated search: ask the enabled providers, merge what they found; and fetch the full text behind any id."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from deltos.errors import BadArgument, Cancelled, DeltosError, NotFound
from deltos.federation.belonging import note_of_others
from deltos.federation.filters import COMMIT, FILTERED_KINDS
from deltos.federation.intent import intent_of
from deltos.federation.model import ProviderResults
from deltos.federation.rank import RankedHit, as_listed, first_of, in_order, rank_all
from deltos.model import NO_FILTERS
from deltos.text.english import in_english

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.federation.model import Hit, Provider, SearchRequest, Whole
    from deltos.federation.rank import Compare
    from deltos.model import Filters

LONGEST_QUERY = 500
LONGEST_ID = 1_000
# Providers are asked for as many as can be shown, whatever the limit: a kind that wins must not run out, and how many
# results there are must not depend on how many are shown.
DEFAULT_RESULTS = 10
MAX_RESULTS = 20
NOT_FILTERED = "Not searched, as kind, since, until and tag do not apply"  # begins the note about what has none of them
# A best result below it rarely answers; 3 of the 77 goldens of tests/relevance, which all have an answer, are below.
WEAK_CONFIDENCE = 0.3
_EVERY_COMMIT = "commits"  # what a search without words lists, within its filters
_SPOKEN = {"code": "code", "doc": "documentation", "api": "APIs", "obs": "memory", "commit": "commits"}


@dataclass(frozen=True, slots=True)
class FederatedResults:
    """The one list, among how many; what was searched, and what a reader should know about that.

    `total` counts what would be listed without a limit, or is the least that it may be.
    """

    ranked: tuple[RankedHit, ...]
    total: int
    total_is_least: bool
    kinds: tuple[str, ...]
    searched: tuple[str, ...]
    notes: tuple[str, ...]


class Federation:
    """All providers that are enabled."""

    def __init__(self, providers: Sequence[Provider], toolsets: Sequence[str], compare: Compare | None = None) -> None:
        self._compare = compare
        self._providers = tuple(provider for provider in providers if not set(provider.toolsets).isdisjoint(toolsets))
        self._toolsets = tuple(toolsets)

    def search(self, asked: SearchRequest, scope: Sequence[str] = ()) -> FederatedResults:
        """The best hits of all providers in scope; one that fails is named, and is an error only where it is alone."""
        toolsets = self._chosen(scope)
        providers = [provider for provider in self._providers if not set(provider.toolsets).isdisjoint(toolsets)]
        providers, left_out = _with_filters(providers, asked.filters)
        query = asked.query.replace("\0", " ").strip()[:LONGEST_QUERY]
        if not query:
            providers = [provider for provider in providers if provider.kind == COMMIT]
            if asked.filters == NO_FILTERS or not providers:
                raise BadArgument("The query is empty", hint="Ask in a few words what you want to know.")
            query = _EVERY_COMMIT
        wider = replace(asked, query=query, limit=MAX_RESULTS)
        findings = self._ask(providers, wider, toolsets)
        lists = _without_twins([each.hits for each in findings])
        intent = intent_of(in_english(query) or query).meaning(
            [provider.kind for provider, each in zip(providers, findings, strict=True) if each.is_meant]
        )
        if listed := [each for each in findings if each.is_list]:
            memories = rank_all([hits for hits in lists if hits[0].kind == "obs"], query, intent, self._compare)
            beside = [ranked for ranked in memories if ranked.confidence >= WEAK_CONFIDENCE]
            every = [*(each for results in listed for each in as_listed(results)), *beside]
        elif [provider.kind for provider in providers] == ["obs"]:
            every = [ranked for hits in lists for ranked in in_order(hits, query, intent, self._compare)]
        else:
            every = rank_all(lists, query, intent, self._compare)
        ranked = tuple(first_of(every, asked.limit))
        return FederatedResults(
            ranked,
            total=len(every),
            total_is_least=any(each.total > len(each.hits) for each in listed or findings),
            kinds=tuple(provider.kind for provider in providers),
            searched=tuple(each.searched for each in findings if each.searched),
            notes=(*_weakness(ranked), *left_out, *_said_of(findings, ranked)),
        )

    def fetch(self, identifier: str, asked: SearchRequest) -> Whole:
        """The full text behind an id; one without a kind is taken for an observation's."""
        given = identifier.replace("\0", "").strip()[:LONGEST_ID]
        kind = given.partition(":")[0]
        known = {provider.kind: provider for provider in self._providers}
        provider = known.get(kind) or known.get("obs")
        if provider is None:
            raise NotFound(f"Nothing behind '{given[:200]}'", hint=f"Ids begin with {', '.join(known)} and a colon.")
        return provider.fetch(given, asked)

    def _chosen(self, scope: Sequence[str]) -> tuple[str, ...]:
        unknown = [name for name in scope if name not in self._toolsets]
        if unknown:
            raise BadArgument(
                f"'{unknown[0]}' is not an enabled toolset", hint=f"Enabled: {', '.join(self._toolsets)}."
            )
        return tuple(scope) or self._toolsets

    @staticmethod
    def _ask(providers: Sequence[Provider], asked: SearchRequest, toolsets: Sequence[str]) -> list[ProviderResults]:
        findings: list[ProviderResults] = []
        problems: list[DeltosError] = []
        for provider in providers:
            try:
                findings.append(provider.search(asked, toolsets))
            except Cancelled:
                raise
            except DeltosError as problem:
                problems.append(problem)
                findings.append(ProviderResults(notes=(f"{_name(provider)} not searched: {problem}",)))
        if problems and len(problems) == len(providers):
            raise problems[0]
        return findings


def _answers(ranked: Sequence[RankedHit]) -> bool:
    """Whether the best result is likely to answer."""
    return bool(ranked) and ranked[0].confidence >= WEAK_CONFIDENCE


def _weakness(ranked: Sequence[RankedHit]) -> tuple[str, ...]:
    """A word about results of which not even the first is likely to answer."""
    if not ranked or _answers(ranked):
        return ()
    best = f"even the best result has a score of {ranked[0].confidence:.2f} of 1"
    return (f"A weak match: {best}, perhaps nothing here answers. Try other words or a name.",)


def _said_of(findings: Sequence[ProviderResults], ranked: Sequence[RankedHit]) -> list[str]:
    """What the providers have to say of their results; what they lack unless memory answers all the same; and what was
    not looked into where nothing answers well: else it is read in vain with every answer."""
    remembered = _answers(ranked) and ranked[0].hit.kind == "obs"
    lacks = [each.lack for each in findings if each.lack and not remembered]
    elsewhere = [] if _answers(ranked) else [name for each in findings for name in each.elsewhere]
    return [*lacks, *(note for each in findings for note in each.notes), *note_of_others(elsewhere)]


def _name(provider: Provider) -> str:
    """How a provider is named to a reader: by its toolsets, or by what it finds where it belongs to none."""
    return "/".join(provider.toolsets) or provider.kind


def _with_filters(providers: list[Provider], filters: Filters) -> tuple[list[Provider], tuple[str, ...]]:
    """Those that have what is filtered by, and a note that names the others."""
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
            "Only observations and commits have a kind, a time and tags, and none of those is in scope",
            hint="Leave kind, since, until and tag out, or widen the scope.",
        )
    others = [_SPOKEN[provider.kind] for provider in providers if provider not in kept]
    return kept, (f"{NOT_FILTERED}: {', '.join(others)}",) if others else ()


def _without_twins(lists: Sequence[Sequence[Hit]]) -> list[tuple[Hit, ...]]:
    """Code hits left out where documentation or an API description was made from the same file."""
    described = {hit.path for hits in lists for hit in hits if hit.kind in ("doc", "api") and hit.path}
    kept = (tuple(hit for hit in hits if hit.kind != "code" or hit.path not in described) for hits in lists)
    return [hits for hits in kept if hits]
