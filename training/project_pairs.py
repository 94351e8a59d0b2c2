"""Write question-answer pairs from indexed repositories; questions and answers need not share words.

    python -m training.project_pairs DATA_FOLDER MIRRORS OUT.npz

DATA_FOLDER is a `DELTOS_HOME` with indexed repositories of benchmarks/questions/code.jsonl (each in a folder called
owner+name), MIRRORS holds their git folders as MIRRORS/owner+name/repo. Pairs: doc comment → code, heading → section,
commit subject → path and names of a changed file, commit subject → body. Held-out repositories are skipped.
The lexicon is part of the output, so that further.py needs neither the analyser nor the repositories.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from deltos.embed.identity import MODEL_FOLDER
from deltos.text.words import shared_words
from training import lexicon
from training.data import Bags

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

QUESTIONS = Path(__file__).parent.parent / "benchmarks" / "questions" / "code.jsonl"
KINDS = ("doc", "heading", "commit", "body")
MAX_QUERY_WORDS, MAX_TEXT_WORDS = 24, 160
_MIN_QUERY_WORDS, _MIN_TEXT_WORDS = 3, 5
_MAX_PER_KIND, _MAX_HELD_OUT_PER_KIND = 6_000, 400
_HELD_OUT_SHARE = 8  # one repository in 8 is held out
_MAX_COMMITS = 4_000
_MAX_FILES = 4  # a commit that changes more files is skipped, because its subject does not describe each file well
_COMMIT, _FIELD = "\x01", "\x02"


@dataclass(slots=True)
class Collected:
    """Collected pairs, as lists of word ids."""

    queries: list[list[int]] = field(default_factory=list)
    texts: list[list[int]] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)

    def add(self, kind: str, query: list[int], text: list[int]) -> None:
        """Add a pair that is long enough; one occurrence of each word of the question is removed from the text."""
        query = query[:MAX_QUERY_WORDS]
        rest = text[:MAX_TEXT_WORDS]
        for word in query:
            if word in rest:
                rest.remove(word)
        if len(query) >= _MIN_QUERY_WORDS and len(rest) >= _MIN_TEXT_WORDS:
            self.queries.append(query)
            self.texts.append(rest)
            self.kinds.append(KINDS.index(kind))


class Numbers:
    """Converts words to the word ids of the model."""

    def __init__(self) -> None:
        words = (MODEL_FOLDER / "words.txt").read_text("utf-8").split("\n")
        self._numbers = {word: number for number, word in enumerate(words)}

    def of_words(self, words: str) -> list[int]:
        """Return the ids of words that were already split."""
        return [self._numbers[word] for word in words.split() if word in self._numbers]

    def of_text(self, text: str) -> list[int]:
        """Split a text into words and return their ids."""
        return self.of_words(shared_words().of(text))


def repositories(data_folder: Path) -> Iterator[tuple[str, sqlite3.Connection]]:
    """Return the indexed repositories by name, except held-out ones."""
    rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    held_out = {row["repo"] for row in rows if row["held_out"]}
    seen = {row["repo"].replace("/", "+") for row in rows if row["repo"] not in held_out}
    for path in sorted(data_folder.glob("projects/*.db")):
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        root = connection.execute("SELECT value FROM meta WHERE key = 'root'").fetchone()
        if root and Path(root[0]).name in seen:
            yield Path(root[0]).name, connection


def add_documented_code(connection: sqlite3.Connection, numbers: Numbers, out: Collected, most: int) -> None:
    """Add doc comments with their code, and headings with their sections."""
    rows = connection.execute(
        """SELECT f.language IN ('markdown', 'rst', 'asciidoc'), w.symbol, w.doc, w.body FROM chunk c
           JOIN file f ON f.id = c.file_id JOIN chunk_words w ON w.rowid = c.id
           WHERE length(w.doc) > 25 OR (length(w.symbol) > 15 AND f.language IN ('markdown', 'rst', 'asciidoc'))"""
    ).fetchall()
    random.Random(5).shuffle(rows)
    for is_prose, symbol, doc, body in rows[:most]:
        if is_prose:
            out.add("heading", list(dict.fromkeys(numbers.of_words(symbol))), numbers.of_words(body))
        else:
            out.add("doc", numbers.of_words(doc), numbers.of_words(f"{symbol} {body}"))


def add_commits(connection: sqlite3.Connection, git: Path, numbers: Numbers, out: Collected, most: int) -> None:
    """Add commit subjects with the path and names of a changed file, and with the body of the message."""
    rows = connection.execute(
        "SELECT f.path, w.stem || ' ' || w.folders || ' ' || w.names FROM file f JOIN file_words w ON w.rowid = f.id"
    )
    words = dict(rows.fetchall())
    chosen = random.Random(5)
    for subject, body, files in _read_log(git):
        query = numbers.of_text(subject)
        if len(body) > 80:
            out.add("body", query, numbers.of_text(body))
        known = [path for path in files if path in words]
        if 1 <= len(known) <= _MAX_FILES:
            out.add("commit", query, numbers.of_words(words[chosen.choice(known)].replace("|", " ")))
            most -= 1
        if most <= 0:
            return


def _read_log(git: Path) -> Iterator[tuple[str, str, list[str]]]:
    command = ["git", "-C", str(git), "log", "-n", str(_MAX_COMMITS), "--no-merges", "--name-only"]
    form = f"--format={_COMMIT}%s{_FIELD}%b{_FIELD}"
    done = subprocess.run([*command, form], capture_output=True, text=True, errors="replace")
    for commit in done.stdout.split(_COMMIT)[1:]:
        subject, body, files = commit.split(_FIELD, 2)
        yield subject, body, [line for line in files.split("\n") if line]


def write(path: Path, parts: Iterable[tuple[str, Collected]], groups: lexicon.Lexicon) -> None:
    """Write all pairs and the lexicon as ragged rows of ids."""
    arrays: dict[str, npt.NDArray[np.generic]] = {
        "lexicon_ids": groups.terms.ids.astype(np.int32),
        "lexicon_starts": groups.terms.starts,
        "lexicon_groups": groups.groups,
    }
    for name, collected in parts:
        for side, rows in (("query", collected.queries), ("text", collected.texts)):
            bags = Bags.of(rows)
            arrays[f"{name}_{side}_ids"], arrays[f"{name}_{side}_starts"] = bags.ids.astype(np.int32), bags.starts
        arrays[f"{name}_kinds"] = np.array(collected.kinds, np.int8)
    np.savez_compressed(path, allow_pickle=False, **arrays)


def main() -> None:
    """Collect pairs from the folders that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("data_folder", "mirrors", "out"):
        parser.add_argument(name, type=Path)
    arguments = parser.parse_args()
    numbers, trained, held_out = Numbers(), Collected(), Collected()
    for place, (name, connection) in enumerate(repositories(arguments.data_folder)):
        is_held_out = place % _HELD_OUT_SHARE == 0
        out, most = (held_out, _MAX_HELD_OUT_PER_KIND) if is_held_out else (trained, _MAX_PER_KIND)
        add_documented_code(connection, numbers, out, most)
        add_commits(connection, arguments.mirrors / name / "repo", numbers, out, most // 3)
        print(f"{name}: {len(trained.kinds)} pairs, {len(held_out.kinds)} held out", flush=True)
    write(arguments.out, (("trained", trained), ("held_out", held_out)), lexicon.read_lexicon(numbers.of_text))


if __name__ == "__main__":
    main()
