"""Storing, merging, rejecting, forgetting and purging of observations, and their anchors to code."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.domains.memory.core.memory import random_id
from deltos.domains.memory.core.model import MAX_TEXT_CHARACTERS, Draft, ObservationOrigin, possible_ids, title_of
from deltos.errors import BadArgument
from deltos.model import Clean
from deltos.store.sqlite.database import connect_read_only
from deltos.text.times import micros
from tests.files_of import memory_database, memory_file

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.domains.memory.core.memory import Memory
    from tests.domains.memory.conftest import Clock, Notes


def test_a_remembered_text_is_visible_to_another_process(notes: Notes, memory: Memory) -> None:
    notes.remember("The deploy needs Node 22")
    code = (
        "import sys; from pathlib import Path; from deltos.store.sqlite.memory.reader import SqliteObservations;"
        "print([row.text for row in SqliteObservations(Path(sys.argv[1])).all()])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(memory_file(memory))],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "The deploy needs Node 22" in done.stdout


def test_secrets_never_reach_the_disk(notes: Notes, memory: Memory) -> None:
    token = "ghp_" + "a1B2" * 9
    notes.remember(f"Push with {token} until Friday")
    assert notes.texts() == ["Push with [redacted:github-pat] until Friday"]
    memory.store.close()
    folder = memory_file(memory).parent
    assert not any(token.encode() in file.read_bytes() for file in folder.iterdir())


def test_private_passages_are_dropped(notes: Notes) -> None:
    notes.remember("Call the vendor <private>about the lawsuit</private> tomorrow")
    assert notes.texts() == ["Call the vendor  tomorrow"]


@pytest.mark.parametrize("text", ["", "  \n", "<private>all of it</private>", "\0\0"])
def test_an_empty_text_is_an_error(notes: Notes, text: str) -> None:
    with pytest.raises(BadArgument, match="nothing to remember"):
        notes.remember(text)


def test_a_text_of_a_megabyte_is_rejected_with_a_hint(notes: Notes) -> None:
    with pytest.raises(BadArgument, match="Remember a summary"):
        notes.remember("x" * 1_048_576)
    notes.remember("y" * MAX_TEXT_CHARACTERS)


def test_surrogates_and_nul_bytes_are_removed(notes: Notes) -> None:
    notes.remember("broken \udc80 text\0 here")
    assert notes.texts() == ["broken ? text here"]


def test_the_same_text_twice_is_one_observation(notes: Notes, clock: Clock, memory: Memory) -> None:
    first = notes.remember("The cache must be cleared after each deploy")
    clock.pass_time(hours=1)
    assert notes.remember("The cache must be cleared after each deploy") == first
    [row] = memory.store.all()
    assert row.updated_at - row.created_at == 3_600_000_000


def test_a_longer_text_replaces_the_shorter_text_that_it_contains(notes: Notes) -> None:
    text = "The nightly build fails on Windows because the path of the compiler cache is too long there"
    first = notes.remember(text)
    assert notes.remember(f"{text} today") == first
    assert notes.texts() == [f"{text} today"]


def test_a_shorter_repetition_does_not_replace_the_longer_text(notes: Notes) -> None:
    text = "The nightly build fails on Windows because the path of the compiler cache is too long there"
    first = notes.remember(f"{text} today")
    assert notes.remember(text) == first
    assert notes.texts() == [f"{text} today"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Run 41 of the load test took nine seconds in all",
            "Run 42 of the load test took nine seconds in all",
        ),
        ("Please do use the shared cache for builds", "Please do not use the shared cache for builds"),
        ("the parser calls the lexer twice here", "the lexer calls the parser twice here"),
        (
            "The deploy to staging fails because the config of the service has no value for the region",
            "The deploy to production fails because the config of the service has no value for the region",
        ),
    ],
)
def test_texts_with_different_statements_are_both_stored(notes: Notes, one: str, other: str) -> None:
    assert notes.remember(one) != notes.remember(other)
    assert notes.texts() == [one, other]


def test_only_the_same_kind_in_the_same_project_is_merged(notes: Notes) -> None:
    text = "Use tabs in makefiles"
    ids = {notes.remember(text), notes.remember(text, kind="decision"), notes.remember(text, project="q")}
    assert len(ids) == 3


def test_nothing_can_be_stored_in_all_projects(notes: Notes) -> None:
    with pytest.raises(BadArgument, match="Use 'personal'"):
        notes.remember("everywhere", project="all")


def test_merged_observations_have_the_files_of_both(memory: Memory, notes: Notes) -> None:
    place = ObservationOrigin("p")
    memory.remember(Draft("Retries are capped at five", files=("a.py",)), place)
    memory.remember(Draft("Retries are capped at five", files=("b.py",)), place)
    [row] = memory.store.all()
    assert row.files == ("a.py", "b.py")


def test_a_clock_that_goes_backwards_keeps_the_order(notes: Notes, clock: Clock, memory: Memory) -> None:
    notes.remember("first thing", session="s")
    clock.pass_time(hours=-5)
    notes.remember("second thing", session="s")
    rows = memory.store.session_observations("s", limit=9)
    assert [row.text for row in rows] == ["first thing", "second thing"]
    assert rows[0].created_at <= rows[1].created_at


def test_a_forgotten_observation_is_hidden_until_it_is_restored(notes: Notes, memory: Memory) -> None:
    kept = notes.remember("The staging password rotates on Mondays")
    memory.forget([f"obs:{kept}"])
    assert notes.search("staging rotates") == []
    assert memory.look_up([kept]).unknown == (kept,)
    assert memory.timeline_at_time(2**60, "p", before=9, after=9).rows == []
    memory.forget([kept], restore=True)
    assert notes.search("staging rotates") == ["The staging password rotates on Mondays"]


def test_forgetting_twice_keeps_the_time_of_the_first_call(notes: Notes, clock: Clock, memory: Memory) -> None:
    kept = notes.remember("a passing thought")
    memory.forget([kept])
    [before] = memory.store.all()
    clock.pass_time(days=1)
    memory.forget([kept])
    assert list(memory.store.all()) == [before]


def test_unknown_ids_are_reported_together_with_known_ones(notes: Notes, memory: Memory) -> None:
    kept = notes.remember("known")
    lookup = memory.look_up(["obs:nope", f"obs:{kept}", kept])
    assert [row.id for row in lookup.found] == [kept]
    assert lookup.unknown == ("obs:nope",)
    assert memory.forget(["nope", kept]).unknown == ("nope",)


def test_an_id_used_by_two_projects_refers_to_the_given_project(memory: Memory) -> None:
    memory.fresh_id = lambda: Clean("same")
    for project in ("p", "q"):
        memory.remember(Draft(f"said in {project}"), ObservationOrigin(project))
    [row] = memory.look_up(["same"], "q").found
    assert row.text == "said in q"
    memory.forget(["same"], project_id="p")
    assert [row.text for row in memory.look_up(["same"]).found] == ["said in q"]


def test_purge_removes_only_observations_forgotten_long_enough_ago(notes: Notes, clock: Clock, memory: Memory) -> None:
    old, new, kept = notes.remember("old one"), notes.remember("newer note"), notes.remember("still here")
    memory.forget([old])
    clock.pass_time(days=10)
    memory.forget([new])
    assert memory.purge(older_than_days=5).removed == 1
    assert [row.id for row in memory.store.all()] == [new, kept]
    assert memory.purge().removed == 1


def test_purge_leaves_no_trace_in_any_file(notes: Notes, memory: Memory) -> None:
    for number in range(200):
        notes.remember(f"filler {number} about nothing in particular")
    purged_id = notes.remember("the zanzibarian quetzalcoatlus nests in Ouagadougou " * 20)
    memory.forget([purged_id])
    assert memory.purge() == (1, True, ())
    files = [path for path in memory_file(memory).parent.iterdir() if path.is_file()]
    left = b"".join(path.read_bytes() for path in files).lower()
    assert b"filler 199" in left
    assert not [word for word in (b"zanzibari", b"quetzalcoat", b"ouagadoug") if word in left]


def test_purge_reports_a_reader_that_prevents_removing_every_trace(notes: Notes, memory: Memory) -> None:
    purged_id = notes.remember("the zanzibarian quetzalcoatlus")
    memory.forget([purged_id])
    memory_database(memory).read().execute("PRAGMA busy_timeout=100")
    with closing(connect_read_only(memory_file(memory))) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM observation").fetchone()
        assert memory.purge() == (1, False, ())
    assert memory.purge() == (0, True, ())


def test_ids_are_short_random_and_accepted_with_their_prefix() -> None:
    assert random_id() != random_id()
    assert len(random_id()) == 10
    assert possible_ids("obs:D1:3") == ("D1:3", "obs:D1:3")
    assert possible_ids("D1:3") == ("D1:3",)


def test_titles_are_the_first_line_truncated_between_words() -> None:
    assert title_of("\n  One line\nand another") == "One line"
    assert title_of("word " * 40, characters=20) == "word word word…"
    assert title_of("") == ""


class TestAnchors:
    """Changes to code that an observation names are detected."""

    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        root = tmp_path / "app"
        (root / "src").mkdir(parents=True)
        (root / "src" / "lexer.py").write_text("def first():\n    return 1\n\n\ndef second():\n    return 2\n")
        (root / "web.ts").write_text("export function start() {\n  run();\n}\nexport const LIMIT = 5;\n")
        return root

    def changed(self, memory: Memory, root: Path) -> bool:
        return bool(memory.changed_places(list(memory.store.all()), {"p": root}))

    def remember_with_files(self, memory: Memory, root: Path, text: str, *files: str) -> None:
        memory.remember(Draft(text, files=files), ObservationOrigin("p", root))

    def test_a_change_to_a_named_file_is_detected(self, memory: Memory, root: Path) -> None:
        self.remember_with_files(memory, root, "The lexer is slow", "src/lexer.py")
        assert not self.changed(memory, root)
        (root / "src" / "lexer.py").write_text("pass\n")
        assert self.changed(memory, root)

    def test_a_file_named_in_the_text_is_an_anchor(self, memory: Memory, root: Path) -> None:
        self.remember_with_files(memory, root, "All tokens come from src/lexer.py in one pass")
        [row] = memory.store.all()
        assert row.files == ("src/lexer.py",)

    def test_an_anchor_with_a_symbol_covers_only_the_lines_of_the_symbol(self, memory: Memory, root: Path) -> None:
        self.remember_with_files(memory, root, "`first` of src/lexer.py must stay cheap")
        path = root / "src" / "lexer.py"
        path.write_text(path.read_text().replace("return 2", "return 3"))
        assert not self.changed(memory, root)
        path.write_text(path.read_text().replace("return 1", "return 9"))
        assert self.changed(memory, root)

    @pytest.mark.parametrize(("old", "new"), [("run();", "walk();"), ("LIMIT = 5", "LIMIT = 6")])
    def test_symbols_of_other_languages_are_found(self, memory: Memory, root: Path, old: str, new: str) -> None:
        self.remember_with_files(memory, root, "`start` and `LIMIT` go together", "web.ts")
        path = root / "web.ts"
        path.write_text(path.read_text().replace(old, new))
        assert self.changed(memory, root)

    def test_a_deleted_file_counts_as_changed(self, memory: Memory, root: Path) -> None:
        self.remember_with_files(memory, root, "The lexer is slow", "src/lexer.py")
        (root / "src" / "lexer.py").unlink()
        assert self.changed(memory, root)

    def test_absolute_paths_are_stored_as_relative_paths(self, memory: Memory, root: Path) -> None:
        self.remember_with_files(memory, root, "Slow", str(root / "src" / "lexer.py"), "./web.ts", "/elsewhere/x.py")
        [row] = memory.store.all()
        assert row.files == ("src/lexer.py", "web.ts", "/elsewhere/x.py")

    def test_secret_and_outside_files_are_never_read(self, memory: Memory, root: Path) -> None:
        (root / ".env").write_text("A=1")
        (root.parent / "outside.py").write_text("x")
        self.remember_with_files(memory, root, "Settings", ".env", "../outside.py")
        assert memory.store.anchors([row.place for row in memory.store.all()]) == {}

    def test_projects_without_a_root_are_not_checked(self, memory: Memory, root: Path) -> None:
        self.remember_with_files(memory, root, "The lexer is slow", "src/lexer.py")
        (root / "src" / "lexer.py").unlink()
        assert memory.changed_places(list(memory.store.all()), {"q": root}) == set()

    def test_a_huge_file_is_not_anchored(self, memory: Memory, root: Path) -> None:
        (root / "big.sql").write_bytes(b"x" * 2_000_001)
        self.remember_with_files(memory, root, "The dump", "big.sql")
        assert memory.store.anchors([row.place for row in memory.store.all()]) == {}


def test_a_wrong_clock_does_not_affect_later_observations(notes: Notes, clock: Clock) -> None:
    clock.pass_time(days=9_000)
    notes.remember("Written by a clock that is years ahead", session="s")
    clock.pass_time(days=-9_000)
    notes.remember("Written when it was set right again", session="s")
    last = list(notes.memory.store.all())[-1]
    assert last.created_at == micros(clock.now)


def test_a_statement_supersedes_the_named_ones_and_lists_others_about_the_same_topic(memory: Memory) -> None:
    origin = ObservationOrigin("p")
    first = memory.remember(Draft("The payment API allows 20 requests per second.", "decision"), origin)
    second = memory.remember(Draft("The payment API allows 50 requests per second.", "decision"), origin)
    assert [row.id for row in second.conflicts] == [first.id]
    assert second.superseded == ()
    again = memory.remember(
        Draft("The payment API allows 50 requests per second.", "decision"), origin, supersedes=[first.id]
    )
    assert (again.id, again.merged, again.superseded) == (second.id, True, (first.id,))
    unrelated = memory.remember(Draft("The office closes at six on Fridays.", "decision"), origin)
    assert unrelated.conflicts == ()


def test_a_statement_with_another_number_is_listed_as_a_conflict_and_unrelated_statements_are_not(
    memory: Memory,
) -> None:
    origin = ObservationOrigin("p")
    for text in ("Jobs are retried three times.", "Parallel tests need the flag -n.", "The office closes at six."):
        memory.remember(Draft(text), origin)
    first = memory.remember(Draft("CI runs 20 parallel jobs."), origin)
    second = memory.remember(Draft("CI runs 50 parallel jobs, not 20."), origin)
    assert [row.id for row in second.conflicts] == [first.id]


def test_a_statement_that_only_adds_a_reason_is_no_conflict(memory: Memory) -> None:
    origin = ObservationOrigin("p")
    memory.remember(Draft("We ship releases on Tuesdays.", "decision"), origin)
    done = memory.remember(Draft("We ship releases on Tuesdays because support is staffed.", "decision"), origin)
    assert done.conflicts == ()


def test_only_the_user_replaces_a_pinned_observation(memory: Memory) -> None:
    pinned = memory.remember(Draft("Releases happen on Tuesdays.", "decision"), ObservationOrigin("p")).id
    memory.pin([pinned])
    with pytest.raises(BadArgument, match="pinned"):
        memory.remember(Draft("Releases happen on Mondays."), ObservationOrigin("p"), supersedes=[pinned])
