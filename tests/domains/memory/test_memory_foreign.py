"""What other memories kept, taken in. The database and the graph in `kept/` were written by claude-mem 13.25.3 (times
changed and one prompt added by hand) and @modelcontextprotocol/server-memory 2026.8.31; the export has the same rows
in the form that claude-mem's sources say; the notes are of basic-memory's own documentation."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.domains.memory.foreign.record import foreign_id
from deltos.domains.memory.imports import import_path
from deltos.domains.memory.transfer import Imported, export
from deltos.errors import SourceError
from deltos.open_stores import open_foreign_tables

if TYPE_CHECKING:
    from deltos.domains.memory.memory import Memory
    from tests.domains.memory.conftest import Clock

KEPT = Path(__file__).parent / "kept"


@pytest.fixture(autouse=True)
def _it_is_late(clock: Clock) -> None:
    clock.now = clock.now.replace(year=2026, month=11)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """claude-mem's database."""
    path = tmp_path / "claude-mem.db"
    path.write_bytes(gzip.decompress((KEPT / "claude-mem.db.gz").read_bytes()))
    return path


def take(memory: Memory, path: Path, *, project_id: str = "here", puts_all_there: bool = False) -> Imported:
    """Import a file as the command does."""
    report = Imported()
    lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
    import_path(
        memory,
        path,
        lines=lines,
        project_id=project_id,
        puts_all_there=puts_all_there,
        open_tables=open_foreign_tables,
        report=report,
    )
    return report


def kept(memory: Memory) -> list[tuple[str, str]]:
    return [(row.kind, row.text) for row in memory.store.all()]


CLAUDE_MEM = [
    (
        "finding",
        (
            "Totals are rounded once\ninvoice.py no longer rounds\nThe root cause was rounding in two places.\n"
            "- invoice.py rounded after total()\n- Money is kept in cents\n#problem-solution #gotcha"
        ),
    ),
    ("decision", "SQLite instead of PostgreSQL\nOne file, no server. DB_PASSWORD=[redacted:password] is gone."),
    (
        "summary",
        (
            "Request: Fix rounding\nInvestigated: total and invoice\nLearned: Money is kept in cents\n"
            "Completed: Rounding happens once\nNext steps: Release"
        ),
    ),
    ("request", "Why is the total rounded twice?"),
]


@pytest.mark.parametrize("form", ["database", "export"])
def test_claude_mems_observations_summaries_and_prompts_are_taken_once(
    memory: Memory, database: Path, form: str
) -> None:
    file = database if form == "database" else KEPT / "claude-mem-export.json"
    report = take(memory, file)
    assert kept(memory) == CLAUDE_MEM
    assert report.problems == ["prompt 2: a prompt that says too little to be kept"]
    rows = list(memory.store.all())
    assert {row.session_id for row in rows} == {"5f0c-claude"}, "the session that Claude Code knows"
    assert {row.project_id for row in rows} == {"shop"}
    assert rows[0].files == ("src/invoice.py", "src/total.py")
    assert rows[0].created_at == 1_770_109_200_000_000
    again = take(memory, KEPT / "claude-mem-export.json")
    assert (again.added, again.updated, again.unchanged) == (0, 0, 4), "whichever form comes second"


def test_claude_mems_folder_names_mean_the_projects_that_memory_knows(memory: Memory, database: Path) -> None:
    with memory.store.writing() as writer:
        writer.project("github.com/acme/shop", root="/work/shop", now=1)
    take(memory, database)
    assert {row.project_id for row in memory.store.all()} == {"github.com/acme/shop"}


def test_all_of_it_goes_to_the_project_that_was_named_and_stays_there(memory: Memory, database: Path) -> None:
    take(memory, database, project_id="chosen", puts_all_there=True)
    assert take(memory, database).added == 0
    assert {row.project_id for row in memory.store.all()} == {"chosen"}


def test_a_database_that_is_being_written_to_is_read_and_left_alone(memory: Memory, database: Path) -> None:
    writer = sqlite3.connect(database)
    try:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE observations SET title = 'Renamed since' WHERE id = 2")
        writer.commit()
        before = {path.name: path.read_bytes() for path in database.parent.iterdir() if path.is_file()}
        take(memory, database)
        after = {path.name: path.read_bytes() for path in database.parent.iterdir() if path.is_file()}
    finally:
        writer.close()
    assert any(text.startswith("Renamed since") for _, text in kept(memory))
    assert before == after


@pytest.mark.parametrize(
    "schema",
    [
        "CREATE VIEW observations AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n",
        "CREATE TABLE observations (id, a AS (hex(zeroblob(9000000))))",
        "CREATE TABLE observations (id INTEGER PRIMARY KEY) WITHOUT ROWID",
        "CREATE VIRTUAL TABLE observations USING fts5 (title)",
        "CREATE TABLE other (id)",
    ],
)
def test_a_hostile_database_gives_nothing_and_holds_nothing(memory: Memory, tmp_path: Path, schema: str) -> None:
    path = tmp_path / "odd.db"
    connection = sqlite3.connect(path)
    connection.execute(schema)
    if "TABLE observations (id" in schema:
        connection.execute("INSERT INTO observations (id) VALUES (1)")
    connection.commit()
    connection.close()
    try:
        report = take(memory, path)
    except SourceError:
        return
    assert (report.added, list(memory.store.all())) == (0, [])


def test_a_damaged_database_is_an_error(memory: Memory, database: Path) -> None:
    raw = database.read_bytes()
    database.write_bytes(raw[:100] + b"\xff" * 4_000 + raw[4_100:])
    with pytest.raises(SourceError, match="Cannot read"):
        take(memory, database)


def test_the_official_servers_entities_and_relations_are_taken_once(memory: Memory) -> None:
    report = take(memory, KEPT / "server-memory.jsonl")
    assert kept(memory) == [
        ("finding", "Ada Weber (person): Prefers tabs in Makefiles"),
        ("finding", "Ada Weber (person): Deploys on Tuesdays"),
        ("finding", "shop-api (service): Listens on port 8080"),
        ("finding", "shop-api (service): Its token is [redacted:github-pat]"),
        ("finding", "shop-api (service): Runs on Python 3.12"),
        ("finding", "Ada Weber maintains shop-api"),
    ]
    assert report.problems == ["line 3: the entity 'Empty' has no observations"]
    again = take(memory, KEPT / "server-memory.jsonl")
    assert (again.added, again.updated, again.unchanged) == (0, 0, 6)


def test_tags_of_other_memories_are_redacted_before_they_become_words(memory: Memory, tmp_path: Path) -> None:
    row = {"memory": "We cache here", "categories": ["Cache", "the db_password = 'marigold-4711' of staging"]}
    (tmp_path / "mem0.json").write_text(json.dumps({"results": [row]}))
    take(memory, tmp_path / "mem0.json")
    ((_, text),) = kept(memory)
    assert "#Cache" in text
    assert "marigold" not in text


def test_mem0s_memories_are_taken_once(memory: Memory) -> None:
    report = take(memory, KEPT / "mem0.json")
    assert kept(memory) == [("finding", "Prefers tabs in Makefiles"), ("finding", "Deploys on Tuesdays\n#work-habits")]
    rows = list(memory.store.all())
    assert [(row.source, row.session_id) for row in rows] == [("mem0, ada", None), ("mem0, ada", "chat-3")]
    assert report.problems == ["memory 3: it says nothing"]
    again = take(memory, KEPT / "mem0.json")
    assert (again.added, again.updated, again.unchanged) == (0, 0, 2)


def test_a_secret_is_known_in_whichever_field_of_mem0_it_stands(memory: Memory, tmp_path: Path) -> None:
    secret = "Password: marigold"
    row = {"memory": f"To log in\n{secret}", "user_id": secret, "categories": [secret]}
    (tmp_path / "mem0.json").write_text(json.dumps({"results": [row]}), "utf-8")
    take(memory, tmp_path / "mem0.json")
    assert "marigold" not in repr(list(memory.store.all()))


def test_basic_memorys_notes_are_taken_once(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    shutil.copytree(KEPT / "basic-memory", folder)
    (folder / "link.md").symlink_to(tmp_path / "elsewhere.md")
    os.mkfifo(folder / "pipe.md")
    report = take(memory, folder)
    title = "Coffee Brewing Methods"
    assert sorted(kept(memory)) == sorted(
        [
            ("finding", f"{title}: [method] Pour over provides more flavor clarity than French press"),
            ("finding", f"{title}: [technique] Water temperature at 205°F extracts optimal compounds #brewing"),
            (
                "preference",
                f"{title}: [preference] Ethiopian beans work well with lighter roasts (personal experience)",
            ),
            ("decision", f"{title}: [decision] We buy from the roastery next door"),
            ("finding", f"{title} relates to Coffee Bean Origins"),
            ("finding", f"{title} is brewed by Ada Weber (mornings)"),
            (
                "reference",
                (
                    f"{title}\nA short overview of how we make coffee in the office.\n- [ ] an open task\n"
                    "- [00:00:11] a line of a transcript\n```markdown\n- [example] inside code\n```\n"
                    "- a sentence with a [[Link]] in it\n#coffee #brewing"
                ),
            ),
        ]
    )
    assert sorted(report.problems) == [
        "Empty.md: a note without observations, relations or text",
        "link.md: a link, which is not followed",
        "pipe.md: not a regular file",
    ]
    [created] = {row.created_at for row in memory.store.all()}
    assert created == 1_767_607_200_000_000
    again = take(memory, folder)
    assert (again.added, again.updated, again.unchanged) == (0, 0, 7)


def test_our_own_lines_are_still_our_own(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps({"text": "one line"}) + "\n")
    assert take(memory, file).added == 1
    file.write_text(json.dumps({"text": "one line"}) + "\n" + json.dumps({"text": "and another"}) + "\n")
    assert take(memory, file).added == 1


@pytest.mark.parametrize("content", ["", "{}", "[]", "[1, 2]", '{"results": []}', '{"results": 3}', "[" * 99_999, "\0"])
def test_a_file_that_is_nothing_takes_nothing(memory: Memory, tmp_path: Path, content: str) -> None:
    file = tmp_path / "odd.json"
    file.write_text(content)
    report = take(memory, file)
    assert (report.added, list(memory.store.all())) == (0, [])


def test_a_long_note_is_not_cut_before_it_is_redacted_and_too_long_a_one_is_named(
    memory: Memory, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    (folder / "long.md").write_text("word " * 9_998 + token[:40] + " more words")
    (folder / "endless.md").write_text("word " * 40_000)
    report = take(memory, folder)
    assert report.added == 1
    assert any(problem.startswith("endless.md: ") for problem in report.problems)
    kept = "".join(export(memory))
    assert token[:20] not in kept
    assert "more words" in kept


def test_folders_below_many_others_are_named(memory: Memory, tmp_path: Path) -> None:
    deep = tmp_path / "notes" / "/".join("d" * 24)
    deep.mkdir(parents=True)
    (deep / "note.md").write_text("- [decision] we keep it #x")
    (tmp_path / "notes" / "top.md").write_text("- [decision] we keep this")
    report = take(memory, tmp_path / "notes")
    assert report.added == 1
    assert any("below 20 others is not looked at" in problem for problem in report.problems)


def test_ids_of_what_others_kept_are_made_of_redacted_text() -> None:
    assert foreign_id("x", "password=hunter2hunter2") == foreign_id("x", "password=swordfish99x")
