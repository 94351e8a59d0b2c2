"""Merging results of different kinds into one list."""

from __future__ import annotations

from deltos.federation.intent import intent_of
from deltos.federation.model import Hit
from deltos.federation.rank import merge


def hit(identifier: str, text: str, score: float = 1.0, **more: str) -> Hit:
    return Hit(identifier, more.pop("title", identifier), "", text, "x", score, **more)  # type: ignore[arg-type]


def merged(query: str, *lists: list[Hit], limit: int = 10) -> list[str]:
    return [ranked.hit.id for ranked in merge(lists, query, intent_of(query), limit=limit)]


def test_provider_order_is_kept() -> None:
    code = [hit("code:a", "cache"), hit("code:b", "clear the cache of pages", 0.9), hit("code:c", "cache", 0.8)]
    found = merged("clear the cache", code, [hit("doc:1", "unrelated cache")])
    assert [each for each in found if each.startswith("code")] == ["code:a", "code:b", "code:c"]


def test_scores_of_different_scales_are_not_compared() -> None:
    huge = [hit("doc:1", "something about pages", 9_000.0)]
    small = [hit("code:a", "clear the cache of rendered pages", 0.01)]
    assert merged("clear cache rendered", huge, small)[0] == "code:a"


def test_definition_ranks_before_mentions() -> None:
    mentions = [hit("obs:1", "parse_header is slow", title="parse_header is slow")]
    defines = [hit("code:a.py#parse_header", "def parse_header", names=("parse_header",))]  # type: ignore[arg-type]
    lookalike = [hit("doc:1", "parse the header of a mail")]
    assert merged("parse_header", lookalike, mentions, defines) == ["code:a.py#parse_header", "obs:1", "doc:1"]


def test_every_matching_kind_is_represented() -> None:
    code = [hit(f"code:{n}", "clear the cache of rendered pages now") for n in range(9)]
    memory = [hit("obs:1", "clear the cache by hand")]
    found = merged("where is the function to clear the cache", code, memory, limit=5)
    assert len(found) == 5
    assert "obs:1" in found
    assert merged("where is the function to clear the cache", code, memory, limit=1) == ["code:0"]


def test_weakly_matching_kind_is_not_represented() -> None:
    code = [hit(f"code:{n}", "clear the cache of rendered pages") for n in range(9)]
    assert "obs:1" not in merged("clear cache rendered pages", code, [hit("obs:1", "pages of the report")], limit=5)


def test_drops_noise() -> None:
    good = [hit("obs:1", "we decided on the quokka protocol for carriers")]
    noise = [hit("code:a", "choose"), hit("code:b", "protocol of nothing")]
    assert merged("why did we decide on the quokka protocol for carriers", good, noise) == ["obs:1"]


def test_prose_among_code_counts_as_documentation() -> None:
    readme = [hit("code:README.md:1-9", "install the tool with pip", path="README.md")]
    code = [hit("obs:1", "install the tool with pip")]
    assert merged("how do I install the tool", code, readme)[0] == "code:README.md:1-9"


def test_merging_nothing_gives_nothing() -> None:
    assert merged("anything") == []
    assert merged("...", [hit("doc:1", "dots")]) == ["doc:1"]


def test_semantic_similarity_decides_without_shared_words() -> None:
    code = [hit("code:a", "def people(): print all names")]
    memory = [hit("obs:1", "Users sign in with OAuth")]
    near = {"code:a def people(): print all names": 0.0, "obs:1 Users sign in with OAuth": 0.6}
    query = "authentication of people by certificates"
    found = merge([code, memory], query, intent_of(query), limit=5, compare=lambda _, texts: [near[t] for t in texts])
    assert [ranked.hit.id for ranked in found] == ["obs:1", "code:a"]
