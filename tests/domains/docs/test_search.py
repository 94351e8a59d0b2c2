"""The passage that answers comes first, is cited exactly, and is shown once."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from deltos.domains.docs.domain import open_docs
from deltos.domains.docs.query import parse_query, terms_to_look_up
from deltos.domains.docs.rank import WEIGHTS, WEIGHTS_FILE, DocsFeatures, features, order, ranker_for
from deltos.domains.docs.render import render_passages
from deltos.domains.docs.search import DocsRequest, merge
from deltos.domains.docs.section_types import DOCUMENTATION_TYPES
from deltos.domains.docs.versions import same_version, version_key
from deltos.embed.embedders import docs_embedder
from deltos.embed.remote import Endpoint, RemoteModel
from deltos.embed.static import shared_model
from deltos.errors import NotFound
from deltos.fetch.configured_endpoint import ask
from deltos.meaning import Meaning
from deltos.store.documents import CandidateChunk
from deltos.text.words import Words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from deltos.embed.protocol import Embedder
    from tests.domains.docs.conftest import Desk
    from tests.loopback import Site


def compared_by(desk: Desk, model: Embedder, at_once: Embedder | None = None) -> Callable[[], Meaning]:
    meaning = Meaning(model, desk.store.vectors, at_once)
    return lambda: meaning


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


def write(desk: Desk, **pages: str) -> None:
    for name, text in pages.items():
        (desk.root / f"{name}.md").write_text(text)
    desk.add(".", name="manual")


ENTRIES = {"alpha": "quokka", "bravo": "wombat", "charlie": "koala"}


def test_the_section_that_answers_comes_first(desk: Desk) -> None:
    write(
        desk,
        install="# Install\n\nUse pip to install it.\n\n## Proxies\n\nSet the proxy variable before you install.",
        use="# Use\n\nCall it. It may time out.\n\n## Timeouts\n\nA timeout is set with `timeout=5`.",
    )
    assert desk.cited("how do I set a timeout?")[0].endswith("use.md#timeouts")
    assert desk.cited("proxy")[0].endswith("install.md#proxies")


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
def test_a_language_of_one_letter_or_with_signs_is_found(desk: Desk, question: str, anchor: str) -> None:
    languages = ("Java", "C", "C++", "R", "C#", ".NET", "Go")
    text = "".join(f"## Embedding {name}\n\nStatements and objects of {name} are executed.\n\n" for name in languages)
    write(desk, embedding=f"# Embedding\n\n{text}")
    assert desk.search(question)[0].anchors == (anchor,)


def test_words_of_another_language_find_where_they_stand_before_their_translation(desk: Desk) -> None:
    write(
        desk,
        deutsch="# Batterie\n\nDie Knopfzelle hält etwa 18 Monate.",
        english="# Battery\n\nThe button cell lasts about 18 months.\n\n# Lamp\n\nIt tells that the button cell is low.",
        guide="# Guide\n\nThe battery, the cell and the button: how they are changed.",
    )
    assert desk.cited("Knopfzelle")[0].endswith("deutsch.md#batterie")
    assert desk.cited("Wie lange hält eine Knopfzelle?")[0].endswith("deutsch.md#batterie")


def test_the_words_that_make_a_question_do_not_answer_it(desk: Desk) -> None:
    write(
        desk,
        cues="# Cues\n\nHow, why, when and what: a question that begins so is about documentation.",
        settings="# Settings\n\nQUOKKA_EMBED=none turns embedding off.",
    )
    for question in ("how do I switch embeddings off", "why is nothing embedded, and when"):
        assert desk.search(question)[0].title == "Settings"
    assert desk.search("what")[0].title == "Cues"


def test_code_names_find_their_definition(desk: Desk) -> None:
    write(
        desk,
        api="# API\n\n## set_timeout\n\nSets it.\n\n## get_timeout\n\nGets it.",
        guide="# Guide\n\nThe set timeout get timeout set timeout guide talks of timeouts, set and timeout at length.",
    )
    assert desk.cited("set_timeout()")[0].endswith("api.md#set_timeout")


TIMES = """# Times

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
        ("fromzonedTime", ()),  # case aside
        ("from_zoned_time", ("from_zoned_time",)),
        ("getTimes", ()),  # it stands in a text alone
        ("Zone.next", ()),
        ("Zone.previous and toZonedTime", ("Zone.previous",)),
        ("Zoned", ("Zoned",)),  # nothing but a name
        ("Gets Zones of utc, e.g. v2.1", ()),
    ],
)
def test_a_name_that_nothing_has_as_it_is_written_is_said(desk: Desk, question: str, absent: tuple[str, ...]) -> None:
    write(desk, times=TIMES)
    found = desk.docs.search.search(DocsRequest(question))
    assert found.passages
    assert found.absent_names == absent
    names = ", ".join(f"`{name}`" for name in absent)
    assert (f"no passage has {names} as written; what follows are the nearest." in found.full_note) is bool(absent)


def test_a_name_that_only_other_sources_or_passages_further_back_have_is_told_apart(desk: Desk) -> None:
    (desk.root / "old").mkdir()
    (desk.root / "new").mkdir()
    others = "".join(f"## Chapter {number}\n\nAnother matter.\n\n" for number in range(600))
    (desk.root / "old" / "page.md").write_text(f"# Renamed\n\nzonedTimeToUtc\n\n{others}")
    many = "".join(f"## utc to zoned time {number}\n\nutc, zone, time, {number}\n\n" for number in range(150))
    (desk.root / "new" / "page.md").write_text(
        f"# Times\n\n{many}\n## Renamed\n\n{'A long text. ' * 90}utcToZonedTime\n"
    )
    for name in ("old", "new"):
        desk.add(name, name=name)
    ask = desk.docs.search.search
    assert ask(DocsRequest("zonedTimeToUtc", source="new")).absent_names == ("zonedTimeToUtc",)
    assert ask(DocsRequest("zonedTimeToUtc")).absent_names == ()
    assert ask(DocsRequest("zoned time of utcToZonedTime", source="new")).absent_names == ()


def test_the_anchor_and_the_section_of_a_citation_agree(desk: Desk) -> None:
    entries = "".join(f"<dt id='mod.{name}'>{name}(x)</dt><dd>{word}</dd>" for name, word in ENTRIES.items())
    (desk.root / "api.html").write_text(f"<h1 id='mod'>mod</h1><p>Intro of it.</p><dl>{entries}</dl>")
    desk.add(".", name="manual")
    for name in ENTRIES:
        found = desk.search(name)[0]
        assert (found.anchors[0], found.section) == (f"mod.{name}", f"mod > {name}(x)")


def test_an_anchor_with_blanks_is_cited_as_an_address_and_found_by_its_words(desk: Desk) -> None:
    texts = "Sends requests to servers and looks at what they answer. " * 30
    keywords = "".join(f"<a name='option {name}'></a><p>{texts}</p>" for name in ("httpchk", "redispatch"))
    (desk.root / "keywords.html").write_text(f"<h1>Keywords</h1>{keywords}")
    desk.add(".", name="manual")
    assert desk.cited("option redispatch")[0].endswith("keywords.html#option%20redispatch")
    assert desk.cited("httpchk")[0].endswith("keywords.html#option%20httpchk")


def test_no_query_is_syntax(desk: Desk) -> None:
    write(desk, a="# A\n\nalpha and beta")
    for query in ('alpha" OR "', "alpha AND", "(", "alpha*", "NEAR(alpha beta)", "heading:alpha", "\x00alpha", "a-b^2"):
        desk.search(query)
    assert desk.search("   ") == desk.search("zzzz") == []


def test_equal_texts_are_shown_once(desk: Desk) -> None:
    write(desk, a="# Same\n\nquokka facts", b="# Same\n\nquokka facts", c="# Other\n\nmore quokka facts")
    assert len(desk.search("quokka")) == 2


def test_sources_and_versions_can_be_chosen(desk: Desk) -> None:
    for name, version in (("one", "3.11.4"), ("two", "3.12")):
        (desk.root / name).mkdir()
        (desk.root / name / "a.md").write_text(f"# {name}\n\nquokka {name}")
        desk.add(name, name=name, version=version)
    assert [p.source for p in desk.search("quokka", source="ONE")] == ["one"]
    assert [p.source for p in desk.search("quokka", version="v3.12")] == ["two"]
    assert [p.source for p in desk.search("quokka", version="3.11")] == ["one"]
    with pytest.raises(NotFound, match=r"No version '4' of any source.*Known: one 3.11.4; two 3.12"):
        desk.search("quokka", version="4")
    with pytest.raises(NotFound, match="Known: "):
        desk.search("quokka", source="thre")


def test_a_section_of_the_wanted_type_is_found_behind_all_others(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    many = "".join(f"## Quokka {number}\n\nThe quokka, a quokka.\n\n" for number in range(30))
    write(desk, a=f"# Animals\n\n{many}", b=f"# Glossary\n\nA quokka. {'Other words of length. ' * 40}")
    monkeypatch.setattr("deltos.domains.docs.search.MOST_CANDIDATES", 20)
    assert [each.section for each in desk.search("quokka", types=("glossary",))] == ["Glossary"]
    monkeypatch.setattr("deltos.domains.docs.search.TYPED_CANDIDATES", 10)
    found = desk.docs.search.search(DocsRequest("quokka", types=("glossary",)))
    assert (found.passages, "only what is among the 10 best matches" in found.note) == ((), True)


def test_each_section_is_of_its_own_types(desk: Desk) -> None:
    page = "# Feeding\n\nquokka start\n\n## Reference\n\nquokka table\n\n## Examples\n\nquokka sample\n\n## How\n\nquokka steps"
    write(desk, feeding=page, glossary="# Glossary\n\nTerms.\n\n## Joey\n\na small quokka")
    found = {kind: {each.section for each in desk.search("quokka", types=(kind,))} for kind in DOCUMENTATION_TYPES}
    sections = {kind: {section.rpartition(" > ")[2] for section in each} for kind, each in found.items()}
    assert sections == {
        "overview": {"Feeding"},
        "guide": {"Feeding", "Reference", "Examples", "How"},
        "reference": {"Reference"},
        "use-case": {"Examples"},
        "glossary": {"Joey"},
    }


def test_no_more_results_than_asked_for(desk: Desk) -> None:
    write(desk, **{f"p{n}": f"# Page {n}\n\nquokka number{n}" for n in range(12)})
    assert [len(desk.search("quokka", limit=limit)) for limit in (1, 5, 50)] == [1, 5, 12]


def test_api_descriptions_answer_beside_documentation(desk: Desk) -> None:
    write(desk, a="# A\n\nquokka text", b="# B\n\nmore quokka text")
    (desk.root / "shop.yaml").write_text("openapi: 3.1.0")
    desk.recrawl("manual")
    assert [p.source for p in desk.search("quokka")] == ["manual", "manual", "shop"]
    assert [p.source for p in desk.search("quokka", api_name="shop")] == ["shop"]
    assert [p.source for p in desk.search("quokka", types=("endpoint",))] == ["shop"]
    assert [p.source for p in desk.search("quokka", source="manual")] == ["manual", "manual"]


def test_what_was_searched_is_told_when_nothing_is_found(desk: Desk) -> None:
    write(desk, a="# A\n\nalpha")
    found = desk.docs.search.search(DocsRequest("zzzz"))
    assert found.searched is not None
    assert (found.searched.sources, found.searched.pages, found.searched.chunks) == (1, 1, 1)
    assert desk.docs.search.search(DocsRequest("alpha")).searched is None


def test_only_telling_words_are_looked_up() -> None:
    assert terms_to_look_up({"rare": 1, "common": 900, "some": 50}, 1000) == ["rare", "some"]
    assert terms_to_look_up({"common": 900}, 1000) == ["common"]
    assert len(terms_to_look_up({f"w{n}": n + 1 for n in range(40)}, 10_000)) == 12


def test_a_release_is_of_its_version() -> None:
    assert same_version("v3.11.4", "3.11")
    assert not same_version("3.110", "3.11")


def test_versions_are_ordered_as_people_number_them() -> None:
    ordered = ["main", "v2.2", "2.10", "3.0rc1", "3.0", "3.0.1+build.9", "3.2.x", "2024.1"]
    assert sorted(("3.2.x", "3.0", *ordered[:4], "2024.1", "3.0.1+build.9"), key=version_key) == ordered
    assert version_key("3.0") == version_key("v3")
    assert version_key("9" * 5_000) > version_key("9")


def test_apis_take_turns_when_they_are_clearly_meant_and_come_last_otherwise(desk: Desk) -> None:
    write(desk, a="# A\n\nquokka one", b="# B\n\nquokka two")
    first, second = desk.search("quokka")
    meant, vague = replace(first, text="meant", is_clear=True), replace(first, text="vague")
    merged = merge([first, second], [meant, vague, first])
    assert [passage.text for passage in merged] == ["meant", first.text, second.text, "vague"]


def test_where_a_question_names_an_api_its_parts_come_first_and_then_what_likely_answers(desk: Desk) -> None:
    write(desk, a="# A\n\nquokka one", b="# B\n\nquokka two")
    first, _ = desk.search("quokka")
    fair, weak = (replace(first, text=f"{chance}", confidence=chance) for chance in (0.6, 0.4))
    parts = [replace(first, text=f"part {place}", confidence=0.2, source="zoo") for place in range(5)]

    def texts(*, is_api_named: bool = False, named_sources: Collection[str] = ()) -> list[str]:
        merged = merge([weak, fair], parts, is_api_named=is_api_named, named_sources=named_sources)
        return [passage.text for passage in merged]

    assert texts(is_api_named=True) == ["part 0", "part 1", "part 2", "0.6", "part 3", "part 4"]
    assert texts() == ["0.4", "0.6", *(f"part {place}" for place in range(5))]
    both = texts(is_api_named=True, named_sources={first.source})
    assert both[:5] == ["part 0", "0.4", "part 1", "0.6", "part 2"]
    assert merge([weak, fair], [], is_api_named=True) == [weak, fair]


def test_what_hardly_answers_does_not_take_turns_with_what_is_clearly_meant(desk: Desk) -> None:
    write(desk, a="# A\n\nquokka one")
    (first,) = desk.search("quokka")
    fair, weak = replace(first, text="fair", confidence=0.9), replace(first, text="weak", confidence=0.1)
    clear = [replace(first, text=f"clear {place}", is_clear=True) for place in range(3)]
    texts = [passage.text for passage in merge([weak, fair], clear)]
    assert texts == ["clear 0", "fair", "clear 1", "clear 2", "weak"]
    merged = merge([weak, fair], clear, named_sources={first.source})
    assert [passage.text for passage in merged] == ["fair", "clear 0", "clear 1", "clear 2", "weak"]


def test_features_say_what_speaks_for_a_candidate() -> None:
    question = "how does os.open() open a file in the manual"
    asked = parse_query(question, Words().of(question).split(), {"open": 5, "file": 50, "osopen": 1}, 100)
    found = features(asked, CANDIDATE, 0.5)
    stored = json.loads(WEIGHTS_FILE.read_text())
    assert [tuple(stored[which]) for which in WEIGHTS] == [DocsFeatures._fields] * 2
    assert (found.unique_project_name, found.source_named, found.page, found.secondary) == (1.0, 1.0, 0.5, 0.0)
    assert found.heading_answered == 0.5
    news = replace(CANDIDATE, page_id=2, url="https://x/whats-new/3.html", body_words="", heading_words="", position=0)
    assert features(asked, news, 0.0).secondary == 1.0
    ranker = ranker_for(asked)
    assert ranker.score(found) > ranker.score(features(asked, news, 0.0))
    assert [each.candidate.chunk_id for each in order(asked, [replace(news, chunk_id=2), CANDIDATE], {})] == [1, 2]


def test_the_section_that_answers_leads_before_the_opening_of_its_page() -> None:
    asked = parse_query("open file", ["open", "file"], {"open": 5, "file": 50}, 100)
    section = replace(CANDIDATE, chunk_id=2, position=3, body_words="open file open file")
    opening = replace(CANDIDATE, chunk_id=1, position=0)
    elsewhere = replace(opening, chunk_id=3, page_id=2)
    assert [each.candidate.chunk_id for each in order(asked, [opening, section], {1: 1.0})] == [2, 1]
    assert [each.candidate.chunk_id for each in order(asked, [opening, replace(section, page_id=2)], {1: 1.0})] == [
        1,
        2,
    ]
    three = order(asked, [elsewhere, section, opening], {1: 1.0, 2: 0.5})
    assert [each.candidate.chunk_id for each in three] == [2, 1, 3]
    assert [each.score for each in three] == sorted((each.score for each in three), reverse=True)
    worse = replace(section, heading_words="", body_words="", trail_words="", anchor_words="", link_words="")
    assert [each.candidate.chunk_id for each in order(asked, [worse, opening], {1: 1.0})] == [1, 2]


def test_of_a_definition_that_is_asked_for_by_its_name_the_part_with_its_head_leads() -> None:
    head = replace(CANDIDATE, chunk_id=1, position=4, body_words="def path flag " + "mode " * 200)
    part = replace(CANDIDATE, chunk_id=2, position=5, body_words="os open osopen file descriptor")
    other = replace(part, chunk_id=3, position=6, section="Files > os.openpty", anchors="os.openpty")

    def ordered(query: str, *terms: str) -> list[int]:
        asked = parse_query(query, terms, dict.fromkeys(terms, 5), 100)
        ranked = order(asked, [other, part, head], {1: 1.0})
        assert [each.score for each in ranked] == sorted((each.score for each in ranked), reverse=True)
        return [each.candidate.chunk_id for each in ranked]

    named = ordered("os.open", "os", "open")
    assert named.index(1) < named.index(2)
    assert sorted(named) == [1, 2, 3]
    told = ordered("descriptor of os.open", "descriptor", "os", "open")
    assert told.index(2) < told.index(1), "it asks for more than the name"


def test_a_question_without_neighbours_or_names_has_no_phrases() -> None:
    asked = parse_query("file", ["file"], {"file": 1}, 10)
    found = features(asked, CANDIDATE, 0.0)
    assert (found.phrases, found.unique_project_name) == (0.0, 0.0)


def test_a_section_in_other_words_is_found_by_meaning(desk: Desk) -> None:
    write(
        desk,
        remove="# Accounts\n\n## Deleting a user\n\nDeletes the user and all memberships of it.",
        paint="# Paint\n\n## Colours\n\nHow to fill an account of shapes with colours.",
    )
    docs = open_docs(desk.store, meaning=compared_by(desk, shared_model()))
    docs.library.crawls.resume()
    docs.library.crawls.wait("docs-meaning")
    (first, *_) = docs.search.search(DocsRequest("erase users and all memberships")).passages
    assert first.citation.endswith("remove.md#deleting-a-user")
    (alone, *_) = docs.search.search(DocsRequest("removal of somebody's login")).passages
    assert alone.citation.endswith("remove.md#deleting-a-user"), "no word of this question is in the library"
    assert docs.search.search(DocsRequest("xyzzy quux")).passages == ()
    assert [p.section for p in docs.search.search(DocsRequest("colours")).passages] == ["Paint > Colours"]


def test_what_is_near_in_one_source_is_found_beside_many_nearer_passages_of_others(desk: Desk) -> None:
    (desk.root / "small").mkdir()
    (desk.root / "small" / "accounts.md").write_text("# Accounts\n\n## Deleting a user\n\nDeletes the user at once.")
    (desk.root / "large").mkdir()
    for number in range(100):
        text = f"# Logins {number}\n\nRemoval of somebody's login, way {number}: sign the login off and remove it."
        (desk.root / "large" / f"{number}.md").write_text(text)
    desk.add("small", name="small")
    desk.add("large", name="large")
    docs = open_docs(desk.store, meaning=compared_by(desk, shared_model()))
    docs.library.crawls.resume()
    docs.library.crawls.wait("docs-meaning")
    question = "removal of somebody's login"
    assert all(each.source == "large" for each in docs.search.search(DocsRequest(question, limit=50)).passages)
    (found, *_) = docs.search.search(DocsRequest(question, source="small")).passages
    assert found.section == "Accounts > Deleting a user"


def test_a_few_words_are_weighed_as_an_index_has_them_and_a_sentence_as_it_means() -> None:
    few = parse_query("open file", ["open", "file"], {"open": 5, "file": 50}, 100)
    sentence = parse_query("my program cannot read what it wrote before", ["read"], {"read": 5}, 100)
    between = parse_query("cannot read what I wrote", ["read"], {"read": 5}, 100)
    meaning = DocsFeatures._fields.index("meaning")
    weights = [ranker_for(asked).weights[meaning] for asked in (few, between, sentence)]
    assert weights == sorted(set(weights)), "meaning counts for more, the more is said"


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
def test_a_short_section_is_found_by_meaning_and_marked(desk: Desk, question: str, anchor: str) -> None:
    write(desk, handbook=HANDBOOK)
    docs = open_docs(desk.store, meaning=compared_by(desk, shared_model()))
    docs.library.crawls.resume()
    docs.library.crawls.wait("docs-meaning")
    found = docs.search.search(DocsRequest(question)).passages
    assert found[0].citation.endswith(f"handbook.md#{anchor}")
    assert found[0].is_near
    shown = render_passages(found[:1], project_root=desk.root, token_budget=500).text
    assert shown.count("(near in meaning)") == 1


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
def test_passages_are_found_by_what_is_read_in_them_as_a_whole(desk: Desk, question: str, anchor: str) -> None:
    write(desk, handbook=HANDBOOK)
    docs = open_docs(desk.store, meaning=compared_by(desk, docs_embedder(), docs_embedder().words_only))
    docs.library.crawls.keep_up()
    assert docs.library.crawls.wait_for_meaning(60.0)
    assert docs.search.search(DocsRequest(question)).passages[0].citation.endswith(f"handbook.md#{anchor}")


def test_until_passages_are_read_they_are_compared_by_their_words_and_that_is_said(desk: Desk) -> None:
    write(desk, handbook=HANDBOOK)
    docs = open_docs(desk.store, meaning=compared_by(desk, docs_embedder(), docs_embedder().words_only))
    with desk.store.vectors.try_lock() as is_held:  # another process reads
        assert is_held
        docs.library.crawls.keep_up()
        assert docs.library.crawls.wait_for_meaning(60.0)
        (first, *_) = docs.search.search(DocsRequest("vacation")).passages
        assert first.citation.endswith("handbook.md#holidays")
        assert first.is_near
        passages = docs.library.status("manual").chunks
        assert docs.library.embedding_note().startswith(f"0 of {passages} passages are read so far")
        told = docs.search.search(DocsRequest("vacation")).full_note
        assert told.count("Only 0% of the passages that were searched are read by meaning so far") == 1
    docs.library.crawls.keep_up()
    assert docs.library.crawls.wait_for_meaning(60.0)
    assert docs.library.embedded_counts() == (passages, passages)
    assert docs.library.embedding_note() == ""
    assert "read by meaning" not in docs.search.search(DocsRequest("vacation")).full_note


def test_how_much_is_read_is_told_of_the_sources_that_are_asked(desk: Desk) -> None:
    for name, text in (("manual", HANDBOOK), ("rota", "# Rota\n\nWho works on which day.\n")):
        (desk.root / name).mkdir()
        (desk.root / name / "page.md").write_text(text)
    docs = open_docs(desk.store, meaning=compared_by(desk, docs_embedder(), docs_embedder().words_only))
    desk.add("manual", name="manual")
    docs.library.crawls.keep_up()
    assert docs.library.crawls.wait_for_meaning(60.0)
    desk.add("rota", name="rota")
    with desk.store.vectors.try_lock() as is_held:  # another process reads
        assert is_held
        for source, is_told in (("manual", False), ("rota", True), ("", False)):
            told = docs.search.search(DocsRequest("holidays", source=source)).full_note
            assert ("Only 0% of the passages" in told) is is_told, source
        of_manual = docs.search.search(DocsRequest("holidays", limit=1))
        assert of_manual.passages[0].source == "manual"
        assert "of the passages that were searched" not in of_manual.full_note, "all that is shown is read"


@pytest.mark.parametrize(
    ("question", "anchor"),
    [
        ("wie oft darf man in einer Minute aufrufen", "rate-limits"),
        ("バックアップ", "backups"),
        ("备份每晚复制", "backups"),
    ],
)
def test_a_question_of_another_language_finds_an_english_section(desk: Desk, question: str, anchor: str) -> None:
    write(desk, handbook=HANDBOOK)
    docs = open_docs(desk.store, meaning=compared_by(desk, shared_model()))
    docs.library.crawls.resume()
    docs.library.crawls.wait("docs-meaning")
    found = docs.search.search(DocsRequest(question)).passages
    assert found[0].citation.endswith(f"handbook.md#{anchor}")


def test_pages_of_the_language_of_the_question_are_found_by_their_words(desk: Desk) -> None:
    write(
        desk, handbuch="# Handbuch\n\n## Sicherungen\n\nSchnappschüsse werden jede Nacht kopiert.\n", handbook=HANDBOOK
    )
    docs = open_docs(desk.store)
    found = docs.search.search(DocsRequest("wann werden Schnappschüsse kopiert")).passages
    assert found[0].citation.endswith("handbuch.md#sicherungen")


def test_a_passage_that_shares_a_word_is_not_marked(desk: Desk) -> None:
    write(desk, handbook=HANDBOOK)
    docs = open_docs(desk.store, meaning=compared_by(desk, shared_model()))
    docs.library.crawls.resume()
    docs.library.crawls.wait("docs-meaning")
    (first, *_) = docs.search.search(DocsRequest("how often are backups copied")).passages
    assert first.citation.endswith("#backups")
    assert not first.is_near


def test_a_model_that_is_down_leaves_words_and_is_said(desk: Desk) -> None:
    write(desk, use="# Use\n\nA quokka is fed twice.")
    down = RemoteModel(Endpoint("ollama", "http://127.0.0.1:1"), ask, sleep=lambda _: None)
    docs = open_docs(desk.store, meaning=compared_by(desk, down))
    docs.library.crawls.resume()
    docs.library.crawls.wait("docs-meaning")
    found = docs.search.search(DocsRequest("quokka"))
    assert [passage.title for passage in found.passages] == ["Use"]
    assert "words alone" in found.note
    rendered = render_passages(found.passages, project_root=desk.root, token_budget=500, note=found.note)
    assert rendered.text.startswith("Searched by words alone")


def test_without_a_model_words_search_alone(desk: Desk) -> None:
    write(desk, use="# Use\n\nA quokka is fed twice.")
    docs = open_docs(desk.store)
    assert docs.search.search(DocsRequest("quokka")).note == ""
    assert len(docs.search.search(DocsRequest("quokka")).passages) == 1


def test_a_source_that_may_bring_apis_is_named_while_it_is_not_read(desk: Desk, site: Site) -> None:
    desk.begin(f"{site.url}/manual/", "handbook")
    found = desk.docs.search.search(DocsRequest("refunds", types=("endpoint",)))
    assert not found.passages
    assert "handbook was not read to its end" in found.note
