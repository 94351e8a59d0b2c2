"""Lists of different kinds become one."""

from __future__ import annotations

from deltos.federation.intent import intent_of
from deltos.federation.model import Hit
from deltos.federation.rank import merge


def hit(identifier: str, text: str, score: float = 1.0, **more: str) -> Hit:
    return Hit(identifier, more.pop("title", identifier), "", text, "x", score, **more)  # type: ignore[arg-type]


def merged(query: str, *lists: list[Hit], limit: int = 10) -> list[str]:
    return [ranked.hit.id for ranked in merge(lists, query, intent_of(query), limit=limit)]


def test_a_provider_keeps_its_own_order() -> None:
    code = [hit("code:a", "cache"), hit("code:b", "clear the cache of pages", 0.9), hit("code:c", "cache", 0.8)]
    found = merged("clear the cache", code, [hit("doc:1", "unrelated cache")])
    assert [each for each in found if each.startswith("code")] == ["code:a", "code:b", "code:c"]


def test_scores_of_different_scales_do_not_decide() -> None:
    huge = [hit("doc:1", "something about pages", 9_000.0)]
    small = [hit("code:a", "clear the cache of rendered pages", 0.01)]
    assert merged("clear cache rendered", huge, small)[0] == "code:a"


def test_a_definition_of_the_name_comes_before_what_mentions_it() -> None:
    mentions = [hit("obs:1", "parse_header is slow", title="parse_header is slow")]
    defines = [hit("code:a.py#parse_header", "def parse_header", names=("parse_header",))]  # type: ignore[arg-type]
    lookalike = [hit("doc:1", "parse the header of a mail")]
    assert merged("parse_header", lookalike, mentions, defines) == ["code:a.py#parse_header", "obs:1", "doc:1"]


def test_every_kind_that_truly_matches_is_there_although_another_fills_the_page() -> None:
    code = [hit(f"code:{n}", "clear the cache of rendered pages now") for n in range(9)]
    memory = [hit("obs:1", "clear the cache by hand")]
    found = merged("where is the function to clear the cache", code, memory, limit=5)
    assert len(found) == 5
    assert "obs:1" in found
    assert merged("where is the function to clear the cache", code, memory, limit=1) == ["code:0"]


def test_a_kind_that_hardly_matches_takes_no_place() -> None:
    code = [hit(f"code:{n}", "clear the cache of rendered pages") for n in range(9)]
    assert "obs:1" not in merged("clear cache rendered pages", code, [hit("obs:1", "pages of the report")], limit=5)


def test_noise_is_left_out() -> None:
    good = [hit("obs:1", "we decided on the quokka protocol for carriers")]
    noise = [hit("code:a", "choose"), hit("code:b", "protocol of nothing")]
    assert merged("why did we decide on the quokka protocol for carriers", good, noise) == ["obs:1"]


def test_prose_among_code_counts_as_documentation() -> None:
    readme = [hit("code:README.md:1-9", "install the tool with pip", path="README.md")]
    code = [hit("obs:1", "install the tool with pip")]
    assert merged("how do I install the tool", code, readme)[0] == "code:README.md:1-9"


def test_nothing_found_is_nothing_merged() -> None:
    assert merged("anything") == []
    assert merged("...", [hit("doc:1", "dots")]) == ["doc:1"]


def test_where_words_are_lacking_the_nearest_in_meaning_comes_first() -> None:
    code = [hit("code:a", "def people(): print all names")]
    memory = [hit("obs:1", "Users sign in with OAuth")]
    near = {"code:a def people(): print all names": 0.0, "obs:1 Users sign in with OAuth": 0.6}
    query = "authentication of people by certificates"
    found = merge([code, memory], query, intent_of(query), limit=5, compare=lambda _, texts: [near[t] for t in texts])
    assert [ranked.hit.id for ranked in found] == ["obs:1", "code:a"]
