"""Results of different kinds are merged into one list."""

from __future__ import annotations

from deltos.federation.intent import intent_of
from deltos.federation.model import Hit
from deltos.federation.rank import merge


def make_hit(identifier: str, text: str, score: float = 1.0, **more: str) -> Hit:
    return Hit(identifier, more.pop("title", identifier), "", text, "x", score, **more)  # type: ignore[arg-type]


def merged_ids(query: str, *lists: list[Hit], limit: int = 10) -> list[str]:
    return [ranked.hit.id for ranked in merge(lists, query, intent_of(query), limit=limit)]


def test_results_of_one_provider_stay_in_their_order() -> None:
    code = [
        make_hit("code:a", "cache"),
        make_hit("code:b", "clear the cache of pages", 0.9),
        make_hit("code:c", "cache", 0.8),
    ]
    found = merged_ids("clear the cache", code, [make_hit("doc:1", "unrelated cache")])
    assert [each for each in found if each.startswith("code")] == ["code:a", "code:b", "code:c"]


def test_scores_of_different_scales_are_not_compared() -> None:
    huge = [make_hit("doc:1", "something about pages", 9_000.0)]
    small = [make_hit("code:a", "clear the cache of rendered pages", 0.01)]
    assert merged_ids("clear cache rendered", huge, small)[0] == "code:a"


def test_a_definition_ranks_before_mentions_of_its_name() -> None:
    mentions = [make_hit("obs:1", "parse_header is slow", title="parse_header is slow")]
    defines = [make_hit("code:a.py#parse_header", "def parse_header", names=("parse_header",))]  # type: ignore[arg-type]
    lookalike = [make_hit("doc:1", "parse the header of a mail")]
    assert merged_ids("parse_header", lookalike, mentions, defines) == ["code:a.py#parse_header", "obs:1", "doc:1"]


def test_each_kind_with_a_good_match_has_a_result() -> None:
    code = [make_hit(f"code:{n}", "clear the cache of rendered pages now") for n in range(9)]
    memory = [make_hit("obs:1", "clear the cache by hand")]
    found = merged_ids("where is the function to clear the cache", code, memory, limit=5)
    assert len(found) == 5
    assert "obs:1" in found
    assert merged_ids("where is the function to clear the cache", code, memory, limit=1) == ["code:0"]


def test_a_kind_with_only_weak_matches_has_no_result() -> None:
    code = [make_hit(f"code:{n}", "clear the cache of rendered pages") for n in range(9)]
    assert "obs:1" not in merged_ids(
        "clear cache rendered pages", code, [make_hit("obs:1", "pages of the report")], limit=5
    )


def test_drops_results_with_very_low_scores() -> None:
    good = [make_hit("obs:1", "we decided on the quokka protocol for carriers")]
    noise = [make_hit("code:a", "choose"), make_hit("code:b", "protocol of nothing")]
    assert merged_ids("why did we decide on the quokka protocol for carriers", good, noise) == ["obs:1"]


def test_documentation_files_found_by_code_search_are_ranked_as_documentation() -> None:
    readme = [make_hit("code:README.md:1-9", "install the tool with pip", path="README.md")]
    code = [make_hit("obs:1", "install the tool with pip")]
    assert merged_ids("how do I install the tool", code, readme)[0] == "code:README.md:1-9"


def test_merging_empty_lists_returns_an_empty_list() -> None:
    assert merged_ids("anything") == []
    assert merged_ids("...", [make_hit("doc:1", "dots")]) == ["doc:1"]


def test_semantic_similarity_decides_without_shared_words() -> None:
    code = [make_hit("code:a", "def people(): print all names")]
    memory = [make_hit("obs:1", "Users sign in with OAuth")]
    near = {"code:a def people(): print all names": 0.0, "obs:1 Users sign in with OAuth": 0.6}
    query = "authentication of people by certificates"
    found = merge([code, memory], query, intent_of(query), limit=5, compare=lambda _, texts: [near[t] for t in texts])
    assert [ranked.hit.id for ranked in found] == ["obs:1", "code:a"]
