"""Measure the recognition of decisions and preferences: precision and recall by language, role and label.

    python -m benchmarks.memory_kinds [--items FILE] [--part development|held-out|all] [--wrong]

Precision is the share of recognised texts that are labelled as a decision or a preference; recall is the share of
decisions and preferences that are recognised. The column `kind right` counts a kind as right if it is the label, or if
a second annotator accepts it (`also`).
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.memory.capture.classify import DECISION, PREFERENCE, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.memory.capture.classify import Judgement

QUESTIONS = Path(__file__).with_name("questions") / "memory_kinds.jsonl"
TRAINING = QUESTIONS.with_name("memory_kinds_training.jsonl")
REGISTERS = QUESTIONS.with_name("memory_kinds_registers.jsonl")
FURTHER = QUESTIONS.with_name("memory_kinds_further.jsonl")
WORKING = QUESTIONS.with_name("memory_kinds_working.jsonl")
PROMPTS = QUESTIONS.with_name("memory_kinds_prompts.jsonl")
PLAIN = QUESTIONS.with_name("memory_kinds_plain.jsonl")
NONE = "none"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text with a label on which two annotators agreed."""

    text: str
    label: str
    role: str
    language: str
    project: str
    also: str = ""
    span: str = ""
    register: str = ""  # style of the text, for example terse or polite

    @property
    def is_agent(self) -> bool:
        """Whether an agent wrote the text."""
        return self.role == "assistant"


def read_labelled(path: Path, *, part: str) -> list[Labelled]:
    """Read the texts of a file that belong to one part. Texts without a part belong to the development set."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [
        Labelled(
            row["text"],
            row["label"],
            row["role"],
            row["language"],
            row["project"],
            row.get("also") or "",
            row.get("span") or "",
            row.get("register") or path.stem,
        )
        for row in rows
        if part in ("all", row.get("part", "development"))
    ]


def is_right(item: Labelled, kind: str) -> bool:
    """Return whether a kind is a right label of a text."""
    return kind in (item.label, item.also)


def table(items: Sequence[Labelled], judgements: Sequence[Judgement]) -> list[str]:
    """Format precision and recall over all texts, and by language, role and label."""
    pairs = list(zip(items, (judgement.kind for judgement in judgements), strict=True))
    groups = {"all": pairs}
    for name in ("language", "role", "label"):
        for value in dict.fromkeys(getattr(item, name) for item in items):
            groups[f"{name} {value}"] = [(item, kind) for item, kind in pairs if getattr(item, name) == value]
    for kind in (DECISION, PREFERENCE):
        groups[f"told {kind}"] = [pair for pair in pairs if pair[1] == kind]
    heads = ("texts", "told", "either", "precision", "recall", "kind right", "precision", "recall")
    lines = [" " * 22 + "".join(f"{head:>11}" for head in heads)]
    return lines + [_format_row(name, group) for name, group in groups.items()]


def _format_row(name: str, pairs: Sequence[tuple[Labelled, str]]) -> str:
    recognised = [(item, kind) for item, kind in pairs if kind in (DECISION, PREFERENCE)]
    either = sum(item.label != NONE for item, _ in recognised)
    right = sum(is_right(item, kind) for item, kind in recognised)
    positives = 0 if name.startswith("told") else sum(item.label != NONE for item, _ in pairs)
    cells: list[object] = [len(pairs), len(recognised)]
    for count in (either, right):
        cells += [count, *(f"{count / whole:.3f}" if whole else "-" for whole in (len(recognised), positives))]
    return f"{name:22}" + "".join(f"{cell!s:>11}" for cell in cells)


def main() -> None:
    """Classify every text and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--items", type=Path, default=QUESTIONS)
    parser.add_argument("--part", choices=("development", "held-out", "all"), default="development")
    parser.add_argument("--wrong", action="store_true", help="print wrong results (not for the held-out part)")
    given = parser.parse_args()
    items = read_labelled(given.items, part=given.part)
    judge("warm")
    start = time.process_time()
    judgements = [judge(item.text, is_agent=item.is_agent) for item in items]
    milliseconds = (time.process_time() - start) * 1000 / max(1, len(items))
    print("\n".join(table(items, judgements)))
    print(f"{milliseconds:.2f} ms a text")
    if given.wrong and given.part == "development":
        for item, judgement in zip(items, judgements, strict=True):
            if judgement.kind in (DECISION, PREFERENCE) and item.label == NONE:
                print(f"{judgement.score:.2f} {item.label} classified as {judgement.kind}: {judgement.sentence[:120]}")


if __name__ == "__main__":
    main()
