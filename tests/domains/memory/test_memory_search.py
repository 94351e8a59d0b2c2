"""Memory search: words in any order, adjacent observations, names, dates, and project limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deltos.domains.memory.core.memory import Memory
from deltos.domains.memory.core.model import ALL_PROJECTS, PERSONAL, Draft, ObservationOrigin
from deltos.domains.memory.search.search import SNIPPET_CHARACTERS, snippet
from deltos.errors import BadArgument
from deltos.store.observations import POSITION_BITS
from deltos.store.sqlite.database import SqliteDatabase
from deltos.store.sqlite.memory.reader import SqliteObservations
from deltos.store.sqlite.memory.schema import MIGRATIONS
from deltos.text.language_table import table

if TYPE_CHECKING:
    from pathlib import Path

    from tests.domains.memory.conftest import Clock, Notes


def test_a_query_matches_any_of_its_words(notes: Notes) -> None:
    notes.remember("We chose PostgreSQL for the billing service")
    notes.remember("The frontend uses Vite")
    assert notes.search("which database did we choose for billing?") == ["We chose PostgreSQL for the billing service"]


def test_every_glossary_word_can_be_searched(notes: Notes) -> None:
    notes.remember("Der Ordner ist ungenutzt und wird gelöscht")
    rows = table()["glossary"]
    words = sorted({word.strip() for row in rows for column in row.split("|") for word in column.split(",")})
    assert len(words) > 1_000
    for number in range(0, len(words), 8):
        notes.search(" ".join(words[number : number + 8]))
    assert notes.search("unused") == ["Der Ordner ist ungenutzt und wird gelöscht"]


def test_stems_and_irregular_forms_match(notes: Notes) -> None:
    notes.remember("Anna went to the datacenter")
    notes.remember("The workers are retrying uploads")
    assert notes.search("where did Anna go?")[0] == "Anna went to the datacenter"
    assert notes.search("retry of an upload") == ["The workers are retrying uploads"]


def test_words_inside_identifiers_match(notes: Notes) -> None:
    notes.remember("parseUserToken returns None for guests")
    assert notes.search("user token") == ["parseUserToken returns None for guests"]


def test_more_and_rarer_words_rank_higher(notes: Notes) -> None:
    for number in range(8):
        notes.remember(f"The build number {number} passed")
    notes.remember("The build broke on the arm runner")
    assert notes.search("build on arm")[0] == "The build broke on the arm runner"


def test_a_word_of_an_adjacent_observation_raises_the_score(notes: Notes) -> None:
    notes.remember("Kept for a year, says the law", session="t")
    notes.remember("How long do backups stay?", session="s")
    notes.remember("Kept thirty days, then they are removed", session="s")
    assert notes.search("how long are backups kept")[:2] == [
        "How long do backups stay?",
        "Kept thirty days, then they are removed",
    ]


def test_an_observation_adjacent_to_a_match_is_not_a_match(notes: Notes) -> None:
    notes.remember("The header is blue now", session="s")
    notes.remember("The queue lives in redis", session="s")
    notes.remember("Two tests were renamed", session="s")
    assert notes.search("redis") == ["The queue lives in redis"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("搜索结果缓存统一放在 Valkey，不要再用进程内的字典", "缓存放在哪里？"),
        ("使用Redis缓存会话", "redis"),
        ("キャンセル料は到着の48時間前まで無料", "キャンセル料はいつまで無料ですか"),
        ("캐시는 레디스에 저장한다", "캐시를 어디에 저장하나요"),
        ("เซิร์ฟเวอร์ใช้พอร์ต 8080", "พอร์ต"),
        ("Кэш хранится в Redis", "где хранится кэш"),
        ("تخزين الجلسات في قاعدة البيانات", "تخزين"),
    ],
)
def test_texts_in_non_latin_scripts_are_found(notes: Notes, text: str, query: str) -> None:
    notes.remember("The frontend uses Vite")
    notes.remember(text)
    assert notes.search(query) == [text]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("登录令牌改为 15 分钟过期", "how long do login tokens live?"),
        ("Wir nehmen Stripe für die Zahlungen", "payment provider"),
        ("Las facturas se guardan diez años", "Wie lange heben wir Rechnungen auf?"),
        ("窯の予約は週に二回まで", "how often can one reserve a kiln"),
        ("Backups are encrypted", "备份是怎么处理的"),
    ],
)
def test_a_query_finds_observations_in_another_language(notes: Notes, text: str, query: str) -> None:
    notes.remember("The frontend uses Vite")
    notes.remember(text)
    assert notes.search(query) == [text]


def test_the_latest_of_repeated_measurements_comes_first(notes: Notes, clock: Clock) -> None:
    for figure in ("842 ms", "11.8 ms"):
        notes.remember(f"Measured with `hyperfine ./search`\nmean {figure}", kind="finding")
        clock.pass_time(hours=1)
    assert "11.8" in notes.search("how fast is the search now?")[0]
    assert set(notes.search("how slow was the search before?")) == set(notes.search("how fast is the search now?"))


def test_an_answer_is_found_by_the_words_of_its_prompt(notes: Notes) -> None:
    notes.remember("pods get killed every night, find out why", session="s", kind="request", source="user")
    notes.remember("Measured with `go test -bench=Plan`\n188004112 B/op", session="s", kind="finding")
    notes.remember("The planner loads all rosters of five years", session="s", kind="finding", source="agent")
    notes.remember("The night theme has a new colour", session="t", kind="finding", source="agent")
    assert "The planner loads all rosters of five years" in notes.search("why are pods killed?")


def test_observations_of_earlier_versions_in_unspaced_scripts_are_found(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    earlier = SqliteDatabase(path, [step for step in MIGRATIONS if step.name < "007"], durability="FULL")
    with earlier.write() as connection:
        connection.execute("INSERT INTO project (key, project_id, created_at) VALUES (1, 'p', 0)")
        connection.execute("INSERT INTO session (key, project, started_at) VALUES (1, 1, 0)")
        rows = ((1 << POSITION_BITS, "a", "缓存统一放在内存里"), ((1 << POSITION_BITS) + 8, "b", "Nothing of it"))
        connection.executemany(
            "INSERT INTO observation (place, id, project, kind, source, created_at, files, symbols, names, text)"
            " VALUES (?, ?, 1, 'decision', '', 0, '', '', '', ?)",
            rows,
        )
    earlier.close()
    store = SqliteObservations(path)
    assert [hit.observation.id for hit in Memory(store).search("缓存放在哪里", "p", limit=5).hits] == ["a"]
    store.close()


def test_function_words_of_another_language_match_nothing(notes: Notes) -> None:
    notes.remember("Wir haben uns für Stripe entschieden, die Gebühr ist kleiner")
    notes.remember("The limit on the search routes is 20")
    assert notes.search("Welches Limit gilt für die search routes?") == ["The limit on the search routes is 20"]


def test_an_earlier_question_ranks_after_its_answer(notes: Notes) -> None:
    notes.remember("Why does the nightly export time out?", kind="request")
    notes.remember("The nightly export had no time left: a lock was held", kind="finding")
    assert notes.search("why does the nightly export time out?")[0].startswith("The nightly export had")


def test_adjacent_observations_belong_to_the_same_session(notes: Notes) -> None:
    notes.remember("How long do backups stay?", session="s")
    notes.remember("Something else entirely", session="t")
    notes.remember("And one more outside")
    assert notes.search("backups") == ["How long do backups stay?"]


def test_a_named_author_raises_the_score(notes: Notes) -> None:
    notes.remember("Ben: I would cache the index")
    notes.remember("Ada: I would cache the index too")
    assert notes.search("what would ada cache in the index?")[0].startswith("Ada")


def test_a_named_file_raises_the_score(memory: Memory, notes: Notes) -> None:
    memory.remember(Draft("Locks are taken in order", files=("src/b.py",)), ObservationOrigin("p"))
    memory.remember(Draft("Locks were taken at random", files=("src/a.py",)), ObservationOrigin("p"))
    assert notes.search("locks in src/a.py")[0] == "Locks were taken at random"


def test_a_named_source_raises_the_score(memory: Memory, notes: Notes) -> None:
    memory.remember(Draft("Locks are taken in order", source="Maria"), ObservationOrigin("p"))
    memory.remember(Draft("Locks were taken at random", source="Omar"), ObservationOrigin("p"))
    assert notes.search("what did omar say about locks")[0] == "Locks were taken at random"


def test_a_date_in_a_query_raises_the_scores_of_observations_of_that_time(notes: Notes, clock: Clock) -> None:
    clock.pass_time(days=-1)
    notes.remember("Met the vendor")
    clock.pass_time(days=-20)
    notes.remember("Met the vendor again for lunch")
    clock.pass_time(days=21)
    assert notes.search("who did we meet in April?")[0] == "Met the vendor again for lunch"
    assert notes.search("who did we meet yesterday?")[0] == "Met the vendor"


def test_a_query_with_only_a_date_finds_observations_of_that_time(notes: Notes, clock: Clock) -> None:
    clock.pass_time(days=-1)
    notes.remember("Fixed the flaky test")
    clock.pass_time(days=1)
    notes.remember("Wrote the docs")
    assert notes.search("what happened yesterday?") == ["Fixed the flaky test"]


def test_the_newer_of_two_equal_observations_comes_first(notes: Notes, clock: Clock) -> None:
    notes.remember("Coverage is 91 percent")
    clock.pass_time(days=30)
    notes.remember("Coverage is 93 percent")
    assert notes.search("coverage")[0] == "Coverage is 93 percent"


def test_other_projects_are_not_searched_but_counted(notes: Notes, memory: Memory) -> None:
    notes.remember("The queue is Redis", project="q")
    found = memory.search("queue", "p", limit=5)
    assert found.hits == ()
    assert found.elsewhere == 1
    assert notes.search("queue", project=ALL_PROJECTS) == ["The queue is Redis"]


def test_personal_notes_are_found_from_every_project(notes: Notes) -> None:
    notes.remember("I like short commit messages", project=PERSONAL)
    assert notes.search("commit messages", project="p") == ["I like short commit messages"]


def test_scores_are_relative_to_the_best_result(notes: Notes, memory: Memory) -> None:
    notes.remember("alpha beta gamma")
    notes.remember("alpha and nothing else")
    scores = [hit.score for hit in memory.search("alpha beta gamma", "p", limit=5).hits]
    assert scores[0] == 1.0
    assert 0 < scores[1] < 1


def test_all_matches_are_counted_although_few_are_shown(notes: Notes, memory: Memory) -> None:
    for number in range(30):
        notes.remember(f"deploy number {number}")
    found = memory.search("deploy", "p", limit=7)
    assert (len(found.hits), found.matching, found.searched) == (7, 30, 30)


def test_a_query_of_stop_words_still_matches(notes: Notes) -> None:
    notes.remember("To be or not to be")
    assert notes.search("to be") == ["To be or not to be"]


@pytest.mark.parametrize("query", ["", "   ", "\0"])
def test_an_empty_query_is_an_error(notes: Notes, query: str) -> None:
    with pytest.raises(BadArgument, match="empty"):
        notes.search(query)


@pytest.mark.parametrize(
    "query",
    [
        '"',
        "a AND NOT b*",
        "text:deploy NEAR(x, 2)",
        "{names} : deploy",
        "deploy OR",
        "-- ; DROP TABLE word",
        "^deploy*",
        "'",
    ],
)
def test_query_operators_are_plain_words(notes: Notes, query: str) -> None:
    notes.remember("deploy b")
    notes.search(query)


def test_a_query_of_thousands_of_characters_is_truncated(notes: Notes) -> None:
    notes.remember("needle in the stack")
    assert notes.search("needle " + "hay " * 2000) == ["needle in the stack"]


@given(st.text(min_size=1, max_size=80))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_can_be_a_query(notes: Notes, query: str) -> None:
    notes.remember("deploy the service in May", session="s")
    try:
        notes.search(query)
    except BadArgument:
        assert not query.replace("\0", "").strip()


def test_a_query_of_very_common_words_returns_no_more_results_than_the_limit(notes: Notes, memory: Memory) -> None:
    with memory.store.writing() as writer:
        project, session = memory.origin_keys(writer, ObservationOrigin("p", None, "s"))
        for number in range(4_200):
            prepared = memory.prepare(Draft(f"service {number} deployed"), None)
            writer.insert(project, session, prepared.new)
    found = memory.search("deployed service", "p", limit=5)
    assert len(found.hits) == 5
    assert notes.search("service 77")[0] == "service 77 deployed"


class TestSnippets:
    """A snippet shows the text around the query terms in at most a hundred characters."""

    def test_a_short_text_is_its_own_snippet(self) -> None:
        assert snippet("one\n two", [("one",)]) == "one two"

    def test_a_long_text_is_shortened_around_the_query_terms(self) -> None:
        text = "filler " * 60 + "the secret garden is locked " + "filler " * 60
        shown = snippet(text, [("garden",), ("locked",)])
        assert "garden is locked" in shown
        assert len(shown) <= SNIPPET_CHARACTERS
        assert shown[0] == shown[-1] == "…"

    def test_the_snippet_of_a_text_without_query_terms_is_its_beginning(self) -> None:
        assert snippet("start " + "filler " * 60, []).startswith("start")

    @given(st.text(max_size=400), st.lists(st.text(min_size=1, max_size=10), max_size=4))
    def test_a_snippet_never_exceeds_the_maximum_length(self, text: str, words: list[str]) -> None:
        assert len(snippet(text, [(word,) for word in words])) <= SNIPPET_CHARACTERS


@pytest.mark.parametrize("question", ["what did we change since Monday", "was haben wir seit Montag geändert"])
def test_since_a_day_includes_that_day(notes: Notes, clock: Clock, question: str) -> None:
    clock.pass_time(days=-6)
    notes.remember("Ran a migration of the orders table", kind="change")
    clock.pass_time(days=4)
    notes.remember("Edited limits.py", kind="change")
    clock.pass_time(days=1)
    notes.remember("Renamed the queue", kind="change")
    clock.pass_time(days=1)
    assert set(notes.search(question)[:2]) == {"Edited limits.py", "Renamed the queue"}


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("which end-to-end test is broken", "`playwright test` failed in e2e/login.spec.ts"),
        ("where is the configuration of the proxy", "The proxy reads conf.d/config.toml"),
        ("which dependencies need a review", "deps are bumped on Fridays"),
        ("Dürfen wir neue Abhängigkeit im Server nehmen", "Keine neuen Abhängigkeiten ohne Rücksprache"),
    ],
)
def test_abbreviations_and_german_inflections_match_the_full_words(notes: Notes, question: str, text: str) -> None:
    notes.remember(text)
    notes.remember("The colour of the header is blue")
    assert notes.search(question)[0] == text


def test_a_decision_on_the_topic_ranks_before_others_of_that_day(notes: Notes, clock: Clock) -> None:
    clock.pass_time(days=-6)  # this date is a Thursday
    for number in range(40):
        notes.remember(f"Edited module{number}.py", kind="change")
    for text in ("Labels are translated to Japanese", "Nobody deploys on Fridays", "Logs stay for a month"):
        notes.remember(text, kind="decision", source="user")
    asked_for = "Put the version into the path, growers can deal with that"
    notes.remember(asked_for, kind="request", source="user")
    clock.pass_time(days=6)
    assert asked_for in notes.search("What was decided last Thursday about versioning?")[:3]


def test_forgotten_observations_are_not_counted(notes: Notes, memory: Memory) -> None:
    first = notes.remember("The pool has 8 threads")
    notes.remember("Twelve workers are enough for any queue")
    keys = memory.project_keys("p")
    assert memory.store.count(keys) == 2
    memory.forget([first])
    assert memory.store.count(keys) == 1
    memory.forget([first], restore=True)
    assert memory.store.count(keys) == 2
