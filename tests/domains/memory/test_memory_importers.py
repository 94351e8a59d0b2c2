"""Import of other memory programs' data.

The database in `exports/` was written by claude-mem 13.25.3 (with changed times and one prompt added by
hand). The JSON export has the same rows in the format of claude-mem's sources; the notes are from basic-memory's
documentation, and the memories from the sources of mcp-memory-service 12.4.0.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.domains.memory.core.transfer import ImportReport, export
from deltos.domains.memory.importers.detect import import_path
from deltos.domains.memory.importers.records import stable_id
from deltos.errors import SourceError
from deltos.open_stores import open_foreign_tables

if TYPE_CHECKING:
    from deltos.domains.memory.core.memory import Memory
    from tests.domains.memory.conftest import Clock

EXPORTS = Path(__file__).parent / "exports"


@pytest.fixture(autouse=True)
def _late_clock(clock: Clock) -> None:
    clock.now = clock.now.replace(year=2026, month=11)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database of claude-mem."""
    path = tmp_path / "claude-mem.db"
    path.write_bytes(gzip.decompress((EXPORTS / "claude-mem.db.gz").read_bytes()))
    return path


def import_file(
    memory: Memory, path: Path, *, project_id: str = "here", overrides_project: bool = False
) -> ImportReport:
    """Import a file as `deltos memory import` does."""
    report = ImportReport()
    lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
    import_path(
        memory,
        path,
        lines=lines,
        project_id=project_id,
        overrides_project=overrides_project,
        open_tables=open_foreign_tables,
        report=report,
    )
    return report


def stored(memory: Memory) -> list[tuple[str, str]]:
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
def test_claude_mem_records_are_imported_once(memory: Memory, database: Path, form: str) -> None:
    file = database if form == "database" else EXPORTS / "claude-mem-export.json"
    report = import_file(memory, file)
    assert stored(memory) == CLAUDE_MEM
    assert report.problems == ["prompt 2: too short to be remembered"]
    rows = list(memory.store.all())
    assert {row.session_id for row in rows} == {"5f0c-claude"}, "records must have the session id of Claude Code"
    assert {row.project_id for row in rows} == {"shop"}
    assert rows[0].files == ("src/invoice.py", "src/total.py")
    assert rows[0].created_at == 1_770_109_200_000_000
    again = import_file(memory, EXPORTS / "claude-mem-export.json")
    assert (again.added, again.updated, again.unchanged) == (0, 0, 4), (
        "importing the same records in the second format must add nothing"
    )


def test_claude_mem_folder_names_are_mapped_to_known_projects(memory: Memory, database: Path) -> None:
    with memory.store.writing() as writer:
        writer.upsert_project("github.com/acme/shop", root="/work/shop", now=1)
    import_file(memory, database)
    assert {row.project_id for row in memory.store.all()} == {"github.com/acme/shop"}


def test_records_are_imported_into_the_given_project_and_stay_there(memory: Memory, database: Path) -> None:
    import_file(memory, database, project_id="chosen", overrides_project=True)
    assert import_file(memory, database).added == 0
    assert {row.project_id for row in memory.store.all()} == {"chosen"}


def test_a_database_in_use_is_read_without_changing_it(memory: Memory, database: Path) -> None:
    writer = sqlite3.connect(database)
    try:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE observations SET title = 'Renamed since' WHERE id = 2")
        writer.commit()
        before = {path.name: path.read_bytes() for path in database.parent.iterdir() if path.is_file()}
        import_file(memory, database)
        after = {path.name: path.read_bytes() for path in database.parent.iterdir() if path.is_file()}
    finally:
        writer.close()
    assert any(text.startswith("Renamed since") for _, text in stored(memory))
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
def test_a_hostile_database_imports_nothing(memory: Memory, tmp_path: Path, schema: str) -> None:
    path = tmp_path / "odd.db"
    connection = sqlite3.connect(path)
    connection.execute(schema)
    if "TABLE observations (id" in schema:
        connection.execute("INSERT INTO observations (id) VALUES (1)")
    connection.commit()
    connection.close()
    try:
        report = import_file(memory, path)
    except SourceError:
        return
    assert (report.added, list(memory.store.all())) == (0, [])


def test_a_damaged_database_is_an_error(memory: Memory, database: Path) -> None:
    raw = database.read_bytes()
    database.write_bytes(raw[:100] + b"\xff" * 4_000 + raw[4_100:])
    with pytest.raises(SourceError, match="Cannot read"):
        import_file(memory, database)


def test_imported_tags_are_redacted_before_they_are_indexed(memory: Memory, tmp_path: Path) -> None:
    row = {"content": "We cache here", "tags": ["Cache", "the db_password = 'marigold-4711' of staging"]}
    (tmp_path / "memories.json").write_text(json.dumps({"export_metadata": {}, "memories": [row]}))
    import_file(memory, tmp_path / "memories.json")
    ((_, text),) = stored(memory)
    assert "#Cache" in text
    assert "marigold" not in text


def test_memories_of_mcp_memory_service_are_imported_once(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "memories.json"
    rows = [
        {"content": "Deploys on Tuesdays", "content_hash": "a", "tags": ["work habits"], "created_at": 1_767_607_200.5},
        {"content": "Password: marigold-4711", "content_hash": "b", "tags": [], "memory_type": "decision"},
        {"content": "", "content_hash": "c"},
    ]
    file.write_text(json.dumps({"export_metadata": {"exporter_version": "5.0.1"}, "memories": rows}), "utf-8")
    report = import_file(memory, file)
    assert stored(memory) == [
        ("finding", "Deploys on Tuesdays\n#work-habits"),
        ("decision", "Password: [redacted:password]"),
    ]
    assert report.problems == ["memory 3: no text"]
    assert next(iter(memory.store.all())).created_at == 1_767_607_200_500_000
    again = import_file(memory, file)
    assert (again.added, again.updated, again.unchanged) == (0, 0, 2)


def test_the_database_of_mcp_memory_service_is_imported_without_deleted_memories(
    memory: Memory, tmp_path: Path
) -> None:
    with sqlite3.connect(tmp_path / "sqlite_vec.db") as connection:
        connection.execute(
            "CREATE TABLE memories (id INTEGER PRIMARY KEY, content_hash TEXT, content TEXT, tags TEXT,"
            " memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL, deleted_at REAL)"
        )
        row = "INSERT INTO memories (content_hash, content, tags, created_at, deleted_at) VALUES (?, ?, ?, ?, ?)"
        connection.execute(row, ("a", "Prefers tabs in Makefiles", "style,make", 1_767_607_200.0, None))
        connection.execute(row, ("b", "Deleted since", "", 1_767_607_200.0, 1_767_607_300.0))
    connection.close()
    import_file(memory, tmp_path / "sqlite_vec.db")
    assert stored(memory) == [("finding", "Prefers tabs in Makefiles\n#style #make")]


def test_basic_memory_notes_are_imported_once(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    shutil.copytree(EXPORTS / "basic-memory", folder)
    (folder / "link.md").symlink_to(tmp_path / "elsewhere.md")
    os.mkfifo(folder / "pipe.md")
    report = import_file(memory, folder)
    title = "Coffee Brewing Methods"
    assert sorted(stored(memory)) == sorted(
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
        "link.md: links are not followed",
        "pipe.md: not a regular file",
    ]
    [created] = {row.created_at for row in memory.store.all()}
    assert created == 1_767_607_200_000_000
    again = import_file(memory, folder)
    assert (again.added, again.updated, again.unchanged) == (0, 0, 7)


def test_deltos_json_lines_are_still_recognised(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps({"text": "one line"}) + "\n")
    assert import_file(memory, file).added == 1
    file.write_text(json.dumps({"text": "one line"}) + "\n" + json.dumps({"text": "and another"}) + "\n")
    assert import_file(memory, file).added == 1


@pytest.mark.parametrize("content", ["", "{}", "[]", "[1, 2]", '{"results": []}', '{"results": 3}', "[" * 99_999, "\0"])
def test_a_file_without_records_imports_nothing(memory: Memory, tmp_path: Path, content: str) -> None:
    file = tmp_path / "odd.json"
    file.write_text(content)
    report = import_file(memory, file)
    assert (report.added, list(memory.store.all())) == (0, [])


def test_a_long_note_is_redacted_and_one_over_the_limit_is_reported(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    (folder / "long.md").write_text("word " * 9_998 + token[:40] + " more words")
    (folder / "endless.md").write_text("word " * 40_000)
    report = import_file(memory, folder)
    assert report.added == 1
    assert any(problem.startswith("endless.md: ") for problem in report.problems)
    stored = "".join(export(memory))
    assert token[:20] not in stored
    assert "more words" in stored


def test_folders_nested_too_deeply_are_reported(memory: Memory, tmp_path: Path) -> None:
    deep = tmp_path / "notes" / "/".join("d" * 24)
    deep.mkdir(parents=True)
    (deep / "note.md").write_text("- [decision] we keep it #x")
    (tmp_path / "notes" / "top.md").write_text("- [decision] we keep this")
    report = import_file(memory, tmp_path / "notes")
    assert report.added == 1
    assert any("below 20 levels are not read" in problem for problem in report.problems)


def test_ids_of_imported_records_are_derived_from_redacted_text() -> None:
    assert stable_id("x", "password=hunter2hunter2") == stable_id("x", "password=swordfish99x")
