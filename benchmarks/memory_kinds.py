"""How well memory tells decisions and preferences from ordinary talk: precision and recall by language, role and label.

    python -m benchmarks.memory_kinds [--items FILE] [--part open|apart|all] [--wrong]

Precision: of what is told to be a decision or a preference, how much is one of the two and no ordinary talk; recall: of
what is one of the two, how much is told. `kind right`: the kind is the label, too, or the other one where a second
reader would accept it (`also`); a start of a session shows both under one heading.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.memory.kinds import DECISION, PREFERENCE, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.domains.memory.kinds import Judgement

QUESTIONS = Path(__file__).with_name("questions") / "memory_kinds.jsonl"
TRAINING = QUESTIONS.with_name("memory_kinds_training.jsonl")
REGISTERS = QUESTIONS.with_name("memory_kinds_registers.jsonl")
FURTHER = QUESTIONS.with_name("memory_kinds_further.jsonl")
WORKING = QUESTIONS.with_name("memory_kinds_working.jsonl")
PROMPTS = QUESTIONS.with_name("memory_kinds_prompts.jsonl")
NONE = "none"


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text with what two readers agreed that it is."""

    text: str
    label: str
    role: str
    language: str
    project: str
    also: str = ""
    span: str = ""
    register: str = ""  # how it is written; texts without one are a register of their own for each file

    @property
    def is_agent(self) -> bool:
        """Whether an agent wrote it."""
        return self.role == "assistant"


def label_source(path: Path, *, part: str) -> list[Labelled]:
    """The texts of a part of a file; those without a part are open."""
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
        if part in ("all", row.get("part", "open"))
    ]


def measure_right(item: Labelled, kind: str) -> bool:
    """Whether a kind is right for a text."""
    return kind in (item.label, item.also)


def table(items: Sequence[Labelled], judgements: Sequence[Judgement]) -> list[str]:
    """Precision and recall, over all and by language, role and label."""
    pairs = list(zip(items, (judgement.kind for judgement in judgements), strict=True))
    groups = {"all": pairs}
    for name in ("language", "role", "label"):
        for value in dict.fromkeys(getattr(item, name) for item in items):
            groups[f"{name} {value}"] = [(item, kind) for item, kind in pairs if getattr(item, name) == value]
    for kind in (DECISION, PREFERENCE):
        groups[f"told {kind}"] = [pair for pair in pairs if pair[1] == kind]
    heads = ("texts", "told", "either", "precision", "recall", "kind right", "precision", "recall")
    lines = [" " * 22 + "".join(f"{head:>11}" for head in heads)]
    return lines + [_row(name, group) for name, group in groups.items()]


def _row(name: str, pairs: Sequence[tuple[Labelled, str]]) -> str:
    told = [(item, kind) for item, kind in pairs if kind in (DECISION, PREFERENCE)]
    either = sum(item.label != NONE for item, _ in told)
    right = sum(measure_right(item, kind) for item, kind in told)
    positives = 0 if name.startswith("told") else sum(item.label != NONE for item, _ in pairs)
    cells: list[object] = [len(pairs), len(told)]
    for count in (either, right):
        cells += [count, *(f"{count / whole:.3f}" if whole else "-" for whole in (len(told), positives))]
    return f"{name:22}" + "".join(f"{cell!s:>11}" for cell in cells)


def main() -> None:
    """Judge every text once and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--items", type=Path, default=QUESTIONS)
    parser.add_argument("--part", choices=("open", "apart", "all"), default="open")
    parser.add_argument("--wrong", action="store_true", help="show what was told wrongly (not for the part kept apart)")
    given = parser.parse_args()
    items = label_source(given.items, part=given.part)
    judge("warm")
    start = time.process_time()
    judgements = [judge(item.text, is_agent=item.is_agent) for item in items]
    milliseconds = (time.process_time() - start) * 1000 / max(1, len(items))
    print("\n".join(table(items, judgements)))
    print(f"{milliseconds:.2f} ms a text")
    if given.wrong and given.part == "open":
        for item, judgement in zip(items, judgements, strict=True):
            if judgement.kind in (DECISION, PREFERENCE) and item.label == NONE:
                print(f"{judgement.score:.2f} {item.label} told {judgement.kind}: {judgement.sentence[:120]}")


if __name__ == "__main__":
    main()
