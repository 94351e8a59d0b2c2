"""Check 8: after random edits, renames, deletions and swapped files, the index equals a newly built one."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.languages.table import detect

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.sweep.checks import Result

ROUNDS = 2
EDITS_PER_ROUND = 8
MAX_FILES = 150
INDEX_TIMEOUT_SECONDS = 900
# The contents of an index without ids, so that equal contents give equal rows.
_TABLE_QUERIES = {
    "files": "SELECT path, language, lines, size, hex(hash), generated FROM file",
    "skipped files": "SELECT path, reason, size FROM skipped",
    "failures": "SELECT path, indexer, reason FROM failure JOIN file ON file.id = file_id",
    "chunks": """SELECT path, start_line, end_line, symbol, kind, signature FROM chunk
        JOIN file ON file.id = file_id""",
    "chunk words": """SELECT path, symbol_words, doc_words, body_words FROM chunk_terms
        JOIN chunk ON chunk.id = chunk_id JOIN file ON file.id = file_id""",
    "vocabulary": "SELECT term, doc, cnt FROM chunk_vocabulary",
    "definitions": """SELECT path, name, kind, line, end_line, container FROM definition
        JOIN file ON file.id = file_id""",
    "file words": """SELECT path, stem, folders, names, head FROM file_words
        JOIN file ON file.id = file_words.rowid""",
    "symbols": """SELECT path, key, name, kind, line, end_line, signature, doc FROM symbol
        JOIN node ON node.id = node_id JOIN place ON place.id = symbol.place_id""",
    "edges": """SELECT place.path, edge.line, source.key, target_place.path, target.key, kind, origin, certain FROM edge
        JOIN place ON place.id = edge.place_id JOIN node AS source ON source.id = source_id
        JOIN node AS target ON target.id = target_id JOIN place AS target_place ON target_place.id = target.place_id""",
    "imports": """SELECT source.path, import.line, target.path, mode FROM import
        JOIN place AS source ON source.id = import.place_id JOIN place AS target ON target.id = target_place_id""",
    "mentions": """SELECT name, path, mention.line, key, mention.kind FROM mention
        JOIN place ON place.id = mention.place_id JOIN node ON node.id = source_id""",
}


def check_edits(result: Result, root: Path, environment: dict[str, str], seed: int) -> None:
    """Check 8: after random changes to files, the tables of an updated index equal those of a newly built index."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]
    if len(files) > MAX_FILES:
        return
    random_source = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="deltos-sweep-edits-") as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(root, copy, symlinks=True)
        followed, rebuilt = Path(folder) / "followed", Path(folder) / "rebuilt"
        _index(copy, followed, environment)
        done: list[str] = []
        for _ in range(ROUNDS):
            done += [random_source.choice(_EDITS)(copy, random_source) for _ in range(EDITS_PER_ROUND)]
            _index(copy, followed, environment)
        _index(copy, rebuilt, environment)
        before, after = _read_tables(followed), _read_tables(rebuilt)
    for name in _TABLE_QUERIES:
        extra, missing = before[name] - after[name], after[name] - before[name]
        detail = f"after {done}: extra {_first_rows(extra)}; missing {_first_rows(missing)}"
        result.check("edits", name, detail, holds=not extra and not missing)


def _index(root: Path, home: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-P", "-m", "deltos", "index", str(root), "--json"]
    done = subprocess.run(
        command, env={**environment, "DELTOS_HOME": str(home)}, capture_output=True, text=True,
        timeout=INDEX_TIMEOUT_SECONDS, check=False,
    )  # fmt: skip
    if done.returncode:
        raise ValueError(f"index of an edited tree ended with {done.returncode}: {done.stderr[-200:]}")


def _read_tables(home: Path) -> dict[str, set[str]]:
    (file,) = (home / "projects").glob("*.db")
    connection = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    try:
        return {name: {repr(row) for row in connection.execute(sql)} for name, sql in _TABLE_QUERIES.items()}
    finally:
        connection.close()


def _first_rows(rows: set[str]) -> str:
    return f"{len(rows)} {json.dumps(min(rows, default='')[:160], ensure_ascii=False)}"


def _source_files(root: Path) -> list[Path]:
    return [path for path in sorted(root.rglob("*")) if path.is_file() and _has_grammar(path)]


def _has_grammar(path: Path) -> bool:
    language = detect(path.name)
    return language is not None and bool(language.grammar) and not path.is_symlink()


def _random_file(root: Path, random_source: random.Random) -> Path | None:
    files = _source_files(root)
    return random_source.choice(files) if files else None


def _delete_lines(root: Path, random_source: random.Random) -> str:
    """Delete a range of lines. The syntax may be broken afterwards, as while a developer edits a file."""
    if (path := _random_file(root, random_source)) is None:
        return ""
    lines = path.read_bytes().split(b"\n")
    start = random_source.randrange(len(lines))
    del lines[start : start + random_source.randrange(1, 20)]
    path.write_bytes(b"\n".join(lines))
    return f"delete lines {start + 1}… of {path.relative_to(root)}"


def _insert_lines(root: Path, random_source: random.Random) -> str:
    """Copy lines from another file of the same language into a file."""
    if (path := _random_file(root, random_source)) is None:
        return ""
    other = random_source.choice([each for each in _source_files(root) if each.suffix == path.suffix])
    lines = other.read_bytes().split(b"\n")
    start = random_source.randrange(len(lines))
    target = path.read_bytes().split(b"\n")
    at = random_source.randrange(len(target))
    target[at:at] = lines[start : start + 15]
    path.write_bytes(b"\n".join(target))
    return f"insert lines of {other.relative_to(root)} into {path.relative_to(root)} at {at + 1}"


def _rename_word(root: Path, random_source: random.Random) -> str:
    """Rename an identifier in one file. Its uses in other files then have no definition."""
    if (path := _random_file(root, random_source)) is None:
        return ""
    words = sorted({word for word in path.read_bytes().split() if word.isalnum() and len(word) > 4})
    if not words:
        return ""
    word = random_source.choice(words)
    path.write_bytes(path.read_bytes().replace(word, word + b"Renamed"))
    return f"rename {word.decode(errors='replace')} in {path.relative_to(root)}"


def _delete_file(root: Path, random_source: random.Random) -> str:
    if (path := _random_file(root, random_source)) is None:
        return ""
    path.unlink()
    return f"delete {path.relative_to(root)}"


def _rename_file(root: Path, random_source: random.Random) -> str:
    if (path := _random_file(root, random_source)) is None:
        return ""
    path.rename(path.with_name(f"moved{random_source.randrange(99)}{path.suffix}"))
    return f"rename {path.relative_to(root)}"


def _rename_folder(root: Path, random_source: random.Random) -> str:
    if (path := _random_file(root, random_source)) is None or path.parent == root:
        return ""
    target = path.parent.with_name(f"moved{random_source.randrange(999)}")
    if target.exists():
        return ""
    path.parent.rename(target)
    return f"rename folder {path.parent.relative_to(root)}"


def _copy_file(root: Path, random_source: random.Random) -> str:
    """Copy a file within its folder, so that every name in it is defined twice."""
    if (path := _random_file(root, random_source)) is None:
        return ""
    shutil.copyfile(path, path.with_name(f"copy{random_source.randrange(99)}{path.suffix}"))
    return f"copy {path.relative_to(root)}"


def _swap_files(root: Path, random_source: random.Random) -> str:
    """Swap the contents of two files, as if another branch were checked out."""
    if (path := _random_file(root, random_source)) is None:
        return ""
    other = random_source.choice([each for each in _source_files(root) if each.suffix == path.suffix])
    first, second = path.read_bytes(), other.read_bytes()
    path.write_bytes(second)
    other.write_bytes(first)
    return f"swap {path.relative_to(root)} and {other.relative_to(root)}"


_EDITS: tuple[Callable[[Path, random.Random], str], ...] = (
    _delete_lines, _insert_lines, _rename_word, _delete_file, _rename_file, _rename_folder, _copy_file, _swap_files,
)  # fmt: skip
