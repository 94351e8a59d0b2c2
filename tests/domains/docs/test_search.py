"""Documentation search: the best passage comes first, has an exact citation, and is shown only once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from deltos.domains.docs.domain import open_docs
from deltos.domains.docs.query import parse_query, terms_to_look_up
from deltos.domains.docs.rank import WEIGHTS, WEIGHTS_FILE, DocsFeatures, features, rank_candidates, ranker_for
from deltos.domains.docs.render import render_passages
from deltos.domains.docs.search import DocsRequest, merge
from deltos.domains.docs.section_types import DOCUMENTATION_TYPES
from deltos.domains.docs.versions import same_version, version_key
from deltos.embed.embedders import docs_embedder
from deltos.embed.remote import Endpoint, RemoteModel
from deltos.embed.static import shared_model
from deltos.errors import NotFound
from deltos.fetch.configured_endpoint import ask
from deltos.semantic_index import SemanticIndex
from deltos.store.documents import CandidateChunk
from deltos.text.words import Words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from deltos.embed.protocol import Embedder
    from tests.domains.docs.conftest import DocsClient
    from tests.loopback import Site


def open_semantic_index(docs_client: DocsClient, model: Embedder) -> Callable[[], SemanticIndex]:
    semantic_index = SemanticIndex(model, docs_client.store.vectors)
    return lambda: semantic_index


CANDIDATE = CandidateChunk(
    chunk_id=1,
    page_id=1,
    source="manual",
    url="https://x/a.html",
    title="Files",
    section="Files > os.open",
    position=1,
    is_definition=True,
    traits=0,
    anchors="os.open",
    links_in=0,
    page_links_in=0,
    heading_words="os open",
    trail_words="file",
    anchor_words="os open osopen",
    link_words="",
    body_words="open file descriptor flag",
    text_length=400,
)


def write_and_crawl(docs_client: DocsClient, **pages: str) -> None:
    for name, text in pages.items():
        (docs_client.root / f"{name}.md").write_text(text)
    docs_client.add(".", name="manual")


ENTRY_WORDS = {"alpha": "quokka", "bravo": "wombat", "charlie": "koala"}


def test_the_section_that_answers_comes_first(docs_client: DocsClient) -> None:
    write_and_crawl(
        docs_client,
        install="# Install\n\nUse pip to install it.\n\n## Proxies\n\nSet the proxy variable before you install.",
        use="# Use\n\nCall it. It may time out.\n\n## Timeouts\n\nA timeout is set with `timeout=5`.",
    )
    assert docs_client.find_citations("how do I set a timeout?")[0].endswith("use.md#timeouts")
    assert docs_client.find_citations("proxy")[0].endswith("install.md#proxies")


@pytest.mark.parametrize(
    ("question", "anchor"),
    [
        ("execute statements from C", "embedding-c"),
        ("interface to C++ objects", "embedding-c-1"),
        ("execute statements from R", "embedding-r"),
        ("objects of C#", "embedding-c-2"),
        ("statements on .NET", "embedding-net"),
    ],
)
def test_a_language_name_with_one_letter_or_punctuation_is_found(
    docs_client: DocsClient, question: str, anchor: str
) -> None:
    languages = ("Java", "C", "C++", "R", "C#", ".NET", "Go")
    text = "".join(f"## Embedding {name}\n\nStatements and objects of {name} are executed.\n\n" for name in languages)
    write_and_crawl(docs_client, embedding=f"# Embedding\n\n{text}")
    assert docs_client.search(question)[0].anchors == (anchor,)


def test_words_of_another_language_match_before_their_translation(docs_client: DocsClient) -> None:
    write_and_crawl(
        docs_client,
        deutsch="# Batterie\n\nDie Knopfzelle hält etwa 18 Monate.",
        english="# Battery\n\nThe button cell lasts about 18 months.\n\n# Lamp\n\nIt tells that the button cell is low.",
        guide="# Guide\n\nThe battery, the cell and the button: how they are changed.",
    )
    assert docs_client.find_citations("Knopfzelle")[0].endswith("deutsch.md#batterie")
    assert docs_client.find_citations("Wie lange hält eine Knopfzelle?")[0].endswith("deutsch.md#batterie")


def test_question_words_are_not_searched(docs_client: DocsClient) -> None:
    write_and_crawl(
        docs_client,
        cues="# Cues\n\nHow, why, when and what: a question that begins so is about documentation.",
        settings="# Settings\n\nQUOKKA_EMBED=none turns embedding off.",
    )
    for question in ("how do I switch embeddings off", "why is nothing embedded, and when"):
        assert docs_client.search(question)[0].title == "Settings"
    assert docs_client.search("what")[0].title == "Cues"


def test_code_names_find_their_definition(docs_client: DocsClient) -> None:
    write_and_crawl(
        docs_client,
        api="# API\n\n## set_timeout\n\nSets it.\n\n## get_timeout\n\nGets it.",
        guide="# Guide\n\nThe set timeout get timeout set timeout guide talks of timeouts, set and timeout at length.",
    )
    assert docs_client.find_citations("set_timeout()")[0].endswith("api.md#set_timeout")


TIMES_PAGE = """# Times

## toZonedTime

Gets the time of a zone from `utc`, after `getTimes(utc)`; see Zone.next.

## fromZonedTime

Gets `utc` from the time of a zone.
"""


@pytest.mark.parametrize(
    ("question", "absent"),
    [
        ("zonedTimeToUtc", ("zonedTimeToUtc",)),
        ("what does zonedTimeToUtc() do", ("zonedTimeToUtc",)),
        ("fromzonedTime", ()),  # case is ignored
        ("from_zoned_time", ("from_zoned_time",)),
        ("getTimes", ()),  # the name occurs only in prose
        ("Zone.next", ()),
        ("Zone.previous and toZonedTime", ("Zone.previous",)),
        ("Zoned", ("Zoned",)),  # the query consists of only a name
        ("Gets Zones of utc, e.g. v2.1", ()),
    ],
)
def test_a_name_that_no_passage_contains_is_reported(
    docs_client: DocsClient, question: str, absent: tuple[str, ...]
) -> None:
    write_and_crawl(docs_client, times=TIMES_PAGE)
    found = docs_client.docs.search.search(DocsRequest(question))
    assert found.passages
    assert found.absent_names == absent
    names = ", ".join(f"`{name}`" for name in absent)
    assert (f"no passage contains {names}; these are the best matches." in found.full_note) is bool(absent)


def test_a_name_is_absent_only_if_no_passage_of_the_searched_sources_contains_it(docs_client: DocsClient) -> None:
    (docs_client.root / "old").mkdir()
    (docs_client.root / "new").mkdir()
    others = "".join(f"## Chapter {number}\n\nAnother matter.\n\n" for number in range(600))
    (docs_client.root / "old" / "page.md").write_text(f"# Renamed\n\nzonedTimeToUtc\n\n{others}")
    many = "".join(f"## utc to zoned time {number}\n\nutc, zone, time, {number}\n\n" for number in range(150))
    (docs_client.root / "new" / "page.md").write_text(
        f"# Times\n\n{many}\n## Renamed\n\n{'A long text. ' * 90}utcToZonedTime\n"
    )
    for name in ("old", "new"):
        docs_client.add(name, name=name)
    ask = docs_client.docs.search.search
    assert ask(DocsRequest("zonedTimeToUtc", source="new")).absent_names == ("zonedTimeToUtc",)
    assert ask(DocsRequest("zonedTimeToUtc")).absent_names == ()
    assert ask(DocsRequest("zoned time of utcToZonedTime", source="new")).absent_names == ()


def test_an_anchor_with_blanks_is_escaped_in_citations_and_found_by_its_words(docs_client: DocsClient) -> None:
    merged_texts = "Sends requests to servers and looks at what they answer. " * 30
    keywords = "".join(f"<a name='option {name}'></a><p>{merged_texts}</p>" for name in ("httpchk", "redispatch"))
    (docs_client.root / "keywords.html").write_text(f"<h1>Keywords</h1>{keywords}")
    docs_client.add(".", name="manual")
    assert docs_client.find_citations("option redispatch")[0].endswith("keywords.html#option%20redispatch")
    assert docs_client.find_citations("httpchk")[0].endswith("keywords.html#option%20httpchk")


def test_query_operators_are_plain_words(docs_client: DocsClient) -> None:
    write_and_crawl(docs_client, a="# A\n\nalpha and beta")
    for query in ('alpha" OR "', "alpha AND", "(", "alpha*", "NEAR(alpha beta)", "heading:alpha", "\x00alpha", "a-b^2"):
        docs_client.search(query)
    assert docs_client.search("   ") == docs_client.search("zzzz") == []


def test_identical_texts_are_shown_once(docs_client: DocsClient) -> None:
    write_and_crawl(
        docs_client, a="# Same\n\nquokka facts", b="# Same\n\nquokka facts", c="# Other\n\nmore quokka facts"
    )
    assert len(docs_client.search("quokka")) == 2


def test_results_can_be_limited_to_sources_and_versions(docs_client: DocsClient) -> None:
    for name, version in (("one", "3.11.4"), ("two", "3.12")):
        (docs_client.root / name).mkdir()
        (docs_client.root / name / "a.md").write_text(f"# {name}\n\nquokka {name}")
        docs_client.add(name, name=name, version=version)
    assert [p.source for p in docs_client.search("quokka", source="ONE")] == ["one"]
    assert [p.source for p in docs_client.search("quokka", version="v3.12")] == ["two"]
    assert [p.source for p in docs_client.search("quokka", version="3.11")] == ["one"]
    with pytest.raises(NotFound, match=r"No version '4' of any source.*Known: one 3.11.4; two 3.12"):
        docs_client.search("quokka", version="4")
    with pytest.raises(NotFound, match="Known: "):
        docs_client.search("quokka", source="thre")


def test_a_section_of_the_requested_type_is_found_despite_many_better_matches(
    docs_client: DocsClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = "".join(f"## Quokka {number}\n\nThe quokka, a quokka.\n\n" for number in range(30))
    write_and_crawl(
        docs_client, a=f"# Animals\n\n{many}", b=f"# Glossary\n\nA quokka. {'Other words of length. ' * 40}"
    )
    monkeypatch.setattr("deltos.domains.docs.search.MAX_CANDIDATES", 20)
    assert [each.section for each in docs_client.search("quokka", types=("glossary",))] == ["Glossary"]
    monkeypatch.setattr("deltos.domains.docs.search.MAX_TYPED_CANDIDATES", 10)
    found = docs_client.docs.search.search(DocsRequest("quokka", types=("glossary",)))
    assert (found.passages, "Only the 10 best matches were checked" in found.note) == ((), True)


def test_section_types_are_detected(docs_client: DocsClient) -> None:
    page = "# Feeding\n\nquokka start\n\n## Reference\n\nquokka table\n\n## Examples\n\nquokka sample\n\n## How\n\nquokka steps"
    write_and_crawl(docs_client, feeding=page, glossary="# Glossary\n\nTerms.\n\n## Joey\n\na small quokka")
    found = {
        kind: {each.section for each in docs_client.search("quokka", types=(kind,))} for kind in DOCUMENTATION_TYPES
    }
    sections = {kind: {section.rpartition(" > ")[2] for section in each} for kind, each in found.items()}
    assert sections == {
        "overview": {"Feeding"},
        "guide": {"Feeding", "Reference", "Examples", "How"},
        "reference": {"Reference"},
        "use-case": {"Examples"},
        "glossary": {"Joey"},
    }


def test_the_limit_is_respected(docs_client: DocsClient) -> None:
    write_and_crawl(docs_client, **{f"p{n}": f"# Page {n}\n\nquokka number{n}" for n in range(12)})
    assert [len(docs_client.search("quokka", limit=limit)) for limit in (1, 5, 50)] == [1, 5, 12]


def test_api_descriptions_are_searched_with_the_documentation(docs_client: DocsClient) -> None:
    write_and_crawl(docs_client, a="# A\n\nquokka text", b="# B\n\nmore quokka text")
    (docs_client.root / "shop.yaml").write_text("openapi: 3.1.0")
    docs_client.recrawl("manual")
    assert [p.source for p in docs_client.search("quokka")] == ["manual", "manual", "shop"]
    assert [p.source for p in docs_client.search("quokka", api_name="shop")] == ["shop"]
    assert [p.source for p in docs_client.search("quokka", types=("endpoint",))] == ["shop"]
    assert [p.source for p in docs_client.search("quokka", source="manual")] == ["manual", "manual"]


def test_an_empty_result_reports_the_number_of_searched_sources_and_passages(docs_client: DocsClient) -> None:
    write_and_crawl(docs_client, a="# A\n\nalpha")
    found = docs_client.docs.search.search(DocsRequest("zzzz"))
    assert found.searched is not None
    assert (found.searched.sources, found.searched.pages, found.searched.chunks) == (1, 1, 1)
    assert docs_client.docs.search.search(DocsRequest("alpha")).searched is None


def test_only_the_rarest_terms_are_looked_up() -> None:
    assert terms_to_look_up({"rare": 1, "common": 900, "some": 50}, 1000) == ["rare", "some"]
    assert terms_to_look_up({"common": 900}, 1000) == ["common"]
    assert len(terms_to_look_up({f"w{n}": n + 1 for n in range(40)}, 10_000)) == 12


def test_a_patch_release_belongs_to_its_minor_version() -> None:
    assert same_version("v3.11.4", "3.11")
    assert not same_version("3.110", "3.11")


def test_versions_are_ordered_numerically() -> None:
    ranked_chunk_ids = ["main", "v2.2", "2.10", "3.0rc1", "3.0", "3.0.1+build.9", "3.2.x", "2024.1"]
    assert (
        sorted(("3.2.x", "3.0", *ranked_chunk_ids[:4], "2024.1", "3.0.1+build.9"), key=version_key) == ranked_chunk_ids
    )
    assert version_key("3.0") == version_key("v3")
    assert version_key("9" * 5_000) > version_key("9")


def test_clear_api_matches_alternate_with_documentation_and_others_come_last(docs_client: DocsClient) -> None:
    write_and_crawl(docs_client, a="# A\n\nquokka one", b="# B\n\nquokka two")
    first, second = docs_client.search("quokka")
    clear, vague = replace(first, text="clear", is_clear=True), replace(first, text="vague")
    merged = merge([first, second], [clear, vague, first])
    assert [passage.text for passage in merged] == ["clear", first.text, second.text, "vague"]


def test_results_of_a_named_api_come_first_followed_by_probable_answers(docs_client: DocsClient) -> None:
    write_and_crawl(docs_client, a="# A\n\nquokka one", b="# B\n\nquokka two")
    first, _ = docs_client.search("quokka")
    fair, weak = (replace(first, text=f"{chance}", confidence=chance) for chance in (0.6, 0.4))
    parts = [replace(first, text=f"part {place}", confidence=0.2, source="zoo") for place in range(5)]

    def merged_texts(*, is_api_named: bool = False, named_sources: Collection[str] = ()) -> list[str]:
        merged = merge([weak, fair], parts, is_api_named=is_api_named, named_sources=named_sources)
        return [passage.text for passage in merged]

    assert merged_texts(is_api_named=True) == ["part 0", "part 1", "part 2", "0.6", "part 3", "part 4"]
    assert merged_texts() == ["0.4", "0.6", *(f"part {place}" for place in range(5))]
    both = merged_texts(is_api_named=True, named_sources={first.source})
    assert both[:5] == ["part 0", "0.4", "part 1", "0.6", "part 2"]
    assert merge([weak, fair], [], is_api_named=True) == [weak, fair]


def test_improbable_answers_do_not_alternate_with_clear_api_matches(docs_client: DocsClient) -> None:
    write_and_crawl(docs_client, a="# A\n\nquokka one")
    (first,) = docs_client.search("quokka")
    fair, weak = replace(first, text="fair", confidence=0.9), replace(first, text="weak", confidence=0.1)
    clear = [replace(first, text=f"clear {place}", is_clear=True) for place in range(3)]
    merged_texts = [passage.text for passage in merge([weak, fair], clear)]
    assert merged_texts == ["clear 0", "fair", "clear 1", "clear 2", "weak"]
    merged = merge([weak, fair], clear, named_sources={first.source})
    assert [passage.text for passage in merged] == ["fair", "clear 0", "clear 1", "clear 2", "weak"]


def test_features_state_why_a_candidate_matches() -> None:
    question = "how does os.open() open a file in the manual"
    asked = parse_query(question, Words().of(question).split(), {"open": 5, "file": 50, "osopen": 1}, 100)
    found = features(asked, CANDIDATE, 0.5)
    stored = json.loads(WEIGHTS_FILE.read_text())
    assert [tuple(stored[which]) for which in WEIGHTS] == [DocsFeatures._fields] * 2
    assert (found.exact_name, found.source_named, found.page, found.secondary) == (1.0, 1.0, 0.5, 0.0)
    assert found.heading_answered == 0.5
    news = replace(CANDIDATE, page_id=2, url="https://x/whats-new/3.html", body_words="", heading_words="", position=0)
    assert features(asked, news, 0.0).secondary == 1.0
    ranker = ranker_for(asked)
    assert ranker.score(found) > ranker.score(features(asked, news, 0.0))
    assert [each.candidate.chunk_id for each in rank_candidates(asked, [replace(news, chunk_id=2), CANDIDATE], {})] == [
        1,
        2,
    ]


def test_a_single_word_query_has_no_phrase_features() -> None:
    asked = parse_query("file", ["file"], {"file": 1}, 10)
    found = features(asked, CANDIDATE, 0.0)
    assert (found.phrases, found.exact_name) == (0.0, 0.0)


def test_a_section_that_uses_other_words_is_found_by_similarity(docs_client: DocsClient) -> None:
    write_and_crawl(
        docs_client,
        remove="# Accounts\n\n## Deleting a user\n\nDeletes the user and all memberships of it.",
        paint="# Paint\n\n## Colours\n\nHow to fill an account of shapes with colours.",
    )
    docs = open_docs(
        docs_client.store,
        apis=docs_client.descriptions,
        semantic_index=open_semantic_index(docs_client, shared_model()),
    )
    docs.library.crawls.resume()
    docs.library.crawls.wait("docs-embedding")
    (first, *_) = docs.search.search(DocsRequest("erase users and all memberships")).passages
    assert first.citation.endswith("remove.md#deleting-a-user")
    (alone, *_) = docs.search.search(DocsRequest("removal of somebody's login")).passages
    assert alone.citation.endswith("remove.md#deleting-a-user"), (
        "the passage must be found although it shares no word with the query"
    )
    assert docs.search.search(DocsRequest("xyzzy quux")).passages == ()
    assert [p.section for p in docs.search.search(DocsRequest("colours")).passages] == ["Paint > Colours"]


def test_a_semantic_match_in_one_source_is_found_despite_better_ones_in_others(docs_client: DocsClient) -> None:
    (docs_client.root / "small").mkdir()
    (docs_client.root / "small" / "accounts.md").write_text(
        "# Accounts\n\n## Deleting a user\n\nDeletes the user at once."
    )
    (docs_client.root / "large").mkdir()
    for number in range(100):
        text = f"# Logins {number}\n\nRemoval of somebody's login, way {number}: sign the login off and remove it."
        (docs_client.root / "large" / f"{number}.md").write_text(text)
    docs_client.add("small", name="small")
    docs_client.add("large", name="large")
    docs = open_docs(
        docs_client.store,
        apis=docs_client.descriptions,
        semantic_index=open_semantic_index(docs_client, shared_model()),
    )
    docs.library.crawls.resume()
    docs.library.crawls.wait("docs-embedding")
    question = "removal of somebody's login"
    assert all(each.source == "large" for each in docs.search.search(DocsRequest(question, limit=50)).passages)
    (found, *_) = docs.search.search(DocsRequest(question, source="small")).passages
    assert found.section == "Accounts > Deleting a user"


def test_similarity_has_a_higher_weight_for_longer_queries() -> None:
    few = parse_query("open file", ["open", "file"], {"open": 5, "file": 50}, 100)
    sentence = parse_query("my program cannot read what it wrote before", ["read"], {"read": 5}, 100)
    between = parse_query("cannot read what I wrote", ["read"], {"read": 5}, 100)
    meaning = DocsFeatures._fields.index("meaning")
    weights = [ranker_for(asked).weights[meaning] for asked in (few, between, sentence)]
    assert weights == sorted(set(weights)), "the weight of similarity must rise with the length of the query"


HANDBOOK = """# Handbook

## Rate limits

Sixty calls a minute.

## Signing in

Ask IT for OAuth credentials.

## Backups

Snapshots are copied every night.

## Holidays

Tell your lead two weeks ahead.
"""


@pytest.mark.parametrize(
    ("question", "anchor"),
    [
        ("throttling", "rate-limits"),
        ("authentication", "signing-in"),
        ("vacation", "holidays"),
        ("restore", "backups"),
        ("vacaciones", "holidays"),
        ("怎么登录", "signing-in"),
    ],
)
def test_a_semantic_match_in_a_short_section_is_found_and_marked(
    docs_client: DocsClient, question: str, anchor: str
) -> None:
    write_and_crawl(docs_client, handbook=HANDBOOK)
    docs = open_docs(
        docs_client.store,
        apis=docs_client.descriptions,
        semantic_index=open_semantic_index(docs_client, shared_model()),
    )
    docs.library.crawls.resume()
    docs.library.crawls.wait("docs-embedding")
    found = docs.search.search(DocsRequest(question)).passages
    assert found[0].citation.endswith(f"handbook.md#{anchor}")
    assert found[0].is_semantic_match
    shown = render_passages(found[:1], project_root=docs_client.root, token_budget=500).text
    assert shown.count("(semantic match)") == 1


@pytest.mark.parametrize(
    ("question", "anchor"),
    [
        ("am I allowed to take some days off", "holidays"),
        ("which account do I need to make requests", "signing-in"),
        ("how does the server know who is asking", "signing-in"),
        ("can we get yesterday's data back", "backups"),
        ("wie oft darf man in einer Minute aufrufen", "rate-limits"),
    ],
)
def test_passages_are_found_by_the_similarity_of_their_embeddings(
    docs_client: DocsClient, question: str, anchor: str
) -> None:
    write_and_crawl(docs_client, handbook=HANDBOOK)
    docs = open_docs(
        docs_client.store,
        apis=docs_client.descriptions,
        semantic_index=open_semantic_index(docs_client, docs_embedder()),
    )
    docs.library.crawls.embed_new()
    assert docs.search.search(DocsRequest(question)).passages[0].citation.endswith(f"handbook.md#{anchor}")


@pytest.mark.parametrize(
    ("question", "anchor"),
    [
        ("wie oft darf man in einer Minute aufrufen", "rate-limits"),
        ("バックアップ", "backups"),
        ("备份每晚复制", "backups"),
    ],
)
def test_a_query_in_another_language_finds_an_english_section(
    docs_client: DocsClient, question: str, anchor: str
) -> None:
    write_and_crawl(docs_client, handbook=HANDBOOK)
    docs = open_docs(
        docs_client.store,
        apis=docs_client.descriptions,
        semantic_index=open_semantic_index(docs_client, shared_model()),
    )
    docs.library.crawls.resume()
    docs.library.crawls.wait("docs-embedding")
    found = docs.search.search(DocsRequest(question)).passages
    assert found[0].citation.endswith(f"handbook.md#{anchor}")


def test_pages_in_the_language_of_the_query_are_found_by_their_words(docs_client: DocsClient) -> None:
    write_and_crawl(
        docs_client,
        handbuch="# Handbuch\n\n## Sicherungen\n\nSchnappschüsse werden jede Nacht kopiert.\n",
        handbook=HANDBOOK,
    )
    docs = open_docs(docs_client.store, apis=docs_client.descriptions)
    found = docs.search.search(DocsRequest("wann werden Schnappschüsse kopiert")).passages
    assert found[0].citation.endswith("handbuch.md#sicherungen")


def test_a_term_match_is_not_marked_as_semantic_match(docs_client: DocsClient) -> None:
    write_and_crawl(docs_client, handbook=HANDBOOK)
    docs = open_docs(
        docs_client.store,
        apis=docs_client.descriptions,
        semantic_index=open_semantic_index(docs_client, shared_model()),
    )
    docs.library.crawls.resume()
    docs.library.crawls.wait("docs-embedding")
    (first, *_) = docs.search.search(DocsRequest("how often are backups copied")).passages
    assert first.citation.endswith("#backups")
    assert not first.is_semantic_match


def test_an_unavailable_model_is_reported_and_terms_are_searched(docs_client: DocsClient) -> None:
    write_and_crawl(docs_client, use="# Use\n\nA quokka is fed twice.")
    down = RemoteModel(Endpoint("ollama", "http://127.0.0.1:1"), ask, sleep=lambda _: None)
    docs = open_docs(
        docs_client.store, apis=docs_client.descriptions, semantic_index=open_semantic_index(docs_client, down)
    )
    docs.library.crawls.resume()
    docs.library.crawls.wait("docs-embedding")
    found = docs.search.search(DocsRequest("quokka"))
    assert [passage.title for passage in found.passages] == ["Use"]
    assert "terms only" in found.note
    rendered = render_passages(found.passages, project_root=docs_client.root, token_budget=500, note=found.note)
    assert rendered.text.startswith("Searched by terms only")


def test_without_a_model_only_terms_are_searched(docs_client: DocsClient) -> None:
    write_and_crawl(docs_client, use="# Use\n\nA quokka is fed twice.")
    docs = open_docs(docs_client.store, apis=docs_client.descriptions)
    assert docs.search.search(DocsRequest("quokka")).note == ""
    assert len(docs.search.search(DocsRequest("quokka")).passages) == 1


def test_an_unread_source_that_may_contain_apis_has_a_note(docs_client: DocsClient, site: Site) -> None:
    docs_client.begin(f"{site.url}/manual/", "handbook")
    found = docs_client.docs.search.search(DocsRequest("refunds", types=("endpoint",)))
    assert not found.passages
    assert "the crawl of handbook was interrupted" in found.note


def test_canonical_pages_rank_before_old_majors_changelogs_and_blogs(docs_client: DocsClient) -> None:
    text = "# Coercion\n\nCoerce a value: `z.coerce.number()` turns a string into a number."
    for page in ("v3/api", "v4/api", "blog/coercion", "changelog"):
        place = docs_client.root / "manual" / f"{page}.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"{text} From {page}.")
    for number in range(12):
        (docs_client.root / "manual" / f"{number}.md").write_text(f"# Topic {number}\n\nAbout the quokka {number}.")
    docs_client.add("manual", name="manual")
    found = [passage.url.partition("manual/")[2] for passage in docs_client.search("coerce a string to a number")]
    assert found[0] == "v4/api.md"
    assert set(found[1:4]) == {"v3/api.md", "blog/coercion.md", "changelog.md"}
