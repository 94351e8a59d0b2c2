"""Measure the precision of superseding: pairs of statements that replace each other or not, and ordinary texts.

    python -m benchmarks.memory_superseding [--part development|held-out] [--ordinary]

`--ordinary` prints every replacement among texts written for other purposes, for review.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.memory import table
from deltos.domains.memory.core.memory import Memory
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.store.sqlite.memory.reader import SqliteObservations

if TYPE_CHECKING:
    from collections.abc import Iterable

QUESTIONS = Path(__file__).with_name("questions")
PAIRS = QUESTIONS / "memory_superseding.jsonl"
_AMENDED = " (no longer: "
ORDINARY = ("memory_kinds.jsonl", "memory_kinds_training.jsonl", "memory_kinds_fresh.jsonl")


def replacements(texts: Iterable[tuple[str, str]]) -> tuple[int, list[tuple[str, str]]]:
    """Remember texts with their sources in order; return their number and the pairs of replaced and replacing texts.

    An observation whose text now marks a part as no longer valid counts as replaced by its new version.
    """
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(SqliteObservations(Path(folder) / "memory.db"))
        origin = ObservationOrigin("p")
        for text, source in texts:
            memory.remember(Draft(text, kind="decision", source=source), origin)
        rows = {str(row.id): row for row in memory.store.all()}
    replaced: list[tuple[str, str]] = [
        (row.text, rows[row.superseded_by].text) for row in rows.values() if row.superseded_by
    ]
    amended = [(row.text.partition(_AMENDED)[0], row.text) for row in rows.values() if _AMENDED in row.text]
    return len(rows), [*replaced, *amended]


def pairs(part: str) -> None:
    """Print precision and recall on the written pairs."""
    rows = [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]
    chosen = [row for row in rows if row.get("held_out", False) == (part == "held-out")]
    counts: dict[tuple[bool, bool], int] = defaultdict(int)
    for row in chosen:
        _, found = replacements([(row["older"], "user"), (row["newer"], "user")])
        counts[row["replaces"], bool(found)] += 1
        if row["replaces"] != bool(found) and part == "development":
            print(f"{'missed' if row['replaces'] else 'FALSE'}: {row['older']} / {row['newer']}")
    right, false, missed = counts[True, True], counts[False, True], counts[True, False]
    precision = right / (right + false) if right + false else 0.0
    table(
        ("pairs", "n", "rightly replaced", "falsely", "missed", "precision", "recall"),
        [(part, len(chosen), right, false, missed, f"{precision:.3f}", f"{right / (right + missed):.3f}")],
    )


def ordinary() -> None:
    """Print replacements among prompts and answers written for other purposes, project by project."""
    projects: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name in ORDINARY:
        for line in (QUESTIONS / name).read_text("utf-8").splitlines():
            row = json.loads(line)
            projects[row["project"]].append((row["text"], "agent" if row["role"] == "assistant" else "user"))
    count = compared = 0
    for texts in projects.values():
        number, found = replacements(texts)
        count += number
        compared += number * (number - 1) // 2
        for older, newer in found:
            print(f"- {' '.join(older.split())[:200]}\n+ {' '.join(newer.split())[:200]}\n")
    print(f"{count} texts of {len(projects)} projects, {compared} pairs")


def main() -> None:
    """Run the chosen measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("development", "held-out"), default="development")
    parser.add_argument("--ordinary", action="store_true")
    args = parser.parse_args()
    if args.ordinary:
        ordinary()
    else:
        pairs(args.part)


if __name__ == "__main__":
    main()
