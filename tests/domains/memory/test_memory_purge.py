"""Purged observations leave no bytes in the data folder, or the result names the remaining copies."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

from deltos.domains.memory.core.model import Draft, ObservationOrigin
from tests.files_of import memory_file

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.domains.memory.core.memory import Memory

    from .conftest import Notes

WORDS = ("quokkaroo", "wallabyish", "src/numbatlike.py", "bettongia", "potoroosian")


def remember_and_forget(memory: Memory, root: Path) -> None:
    """Store an observation with a unique word in every field, change it, and forget it."""
    memory.remember(Draft("Kept for good: the parser is fast"), ObservationOrigin("p", root, "s"))
    text = f"{WORDS[0]} uses `{WORDS[3]}()` in {WORDS[2]}"
    done = memory.remember(Draft(text, source=WORDS[1], files=(WORDS[2],)), ObservationOrigin("p", root, "s"))
    memory.remember(Draft(f"{text} with {WORDS[4]} too", files=(WORDS[2],)), ObservationOrigin("p", root, "s"))
    ids = [row.id for row in memory.store.all() if WORDS[0] in row.text]
    assert done.id in ids
    memory.forget(ids)


def find_traces(home: Path) -> list[str]:
    """Return the unique words that any file of the data folder still contains."""
    raw = b"\n".join(path.read_bytes().lower() for path in home.rglob("*") if path.is_file())
    pieces = [word.encode() for word in (*WORDS, "numbatlike")]
    # The word index stores only stems, and encodes each as the difference from the previous one.
    return [piece.decode() for piece in pieces if piece in raw or piece[1:8] in raw]


def test_no_file_contains_any_word_of_a_purged_observation(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / WORDS[2]).write_text(f"def {WORDS[3]}():\n    pass\n")
    remember_and_forget(memory, tmp_path)
    home = memory_file(memory).parent
    assert len(find_traces(home)) == len(WORDS) + 1
    done = memory.purge()
    assert done == (1, True, ())
    assert find_traces(home) == []
    assert [row.text for row in memory.store.all()] == ["Kept for good: the parser is fast"]
    assert len(memory.search("parser", "p", limit=5).hits) == 1


def test_purging_removes_all_traces_while_another_process_has_the_file_open(memory: Memory, tmp_path: Path) -> None:
    remember_and_forget(memory, tmp_path)
    path = memory_file(memory)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT count(*) FROM observation").fetchone() == (2,)
        other.commit()
        assert memory.purge().is_traceless
        assert find_traces(path.parent) == []


def test_copies_with_purged_observations_are_named(memory: Memory, notes: Notes) -> None:
    notes.remember("something")
    path = memory_file(memory)
    for name in ("memory.db.corrupt-20250101-000000", "memory.db.before-002-folders"):
        shutil.copy(path, path.with_name(name))
    assert memory.purge().copies == ("memory.db.before-002-folders", "memory.db.corrupt-20250101-000000")
