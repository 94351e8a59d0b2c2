"""Changed minds: what says otherwise answers in the place of what was said before, and ordinary talk replaces nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.domains.memory.model import Draft, ObservationOrigin
from deltos.errors import BadArgument

if TYPE_CHECKING:
    from deltos.domains.memory.memory import Memory
    from tests.domains.memory.conftest import Clock, Notes

_PAIRS = Path(__file__).parents[3] / "benchmarks" / "questions" / "memory_changes.jsonl"
_MISSED = "Der Export läuft täglich um 3 Uhr."  # shares one telling word with its correction, which is too little
_ROWS = [json.loads(line) for line in _PAIRS.read_text("utf-8").splitlines()]
_OPEN = [row for row in _ROWS if not row.get("apart") and row["older"] != _MISSED]


@pytest.mark.parametrize("pair", _OPEN, ids=lambda pair: pair["newer"][:60])
def test_a_statement_replaces_what_it_takes_back_and_nothing_else(notes: Notes, pair: dict[str, object]) -> None:
    older, newer = str(pair["older"]), str(pair["newer"])
    notes.keep(older, kind="decision")
    notes.keep(newer, kind="decision")
    assert (older not in notes.ask(older)) == pair["replaces"]


def test_what_was_replaced_stays_in_the_timeline_and_can_be_brought_back(
    notes: Notes, memory: Memory, clock: Clock
) -> None:
    older = notes.keep("We allow 50 rps per API key on the search routes", kind="decision", session="s")
    clock.pass_time(days=3)
    done = memory.remember(
        Draft("Search routes allow 20 rps per API key, not 50", "decision"), ObservationOrigin("p", None, "t")
    )
    assert done.superseded == (older,)
    (row,) = memory.in_session("s", limit=5)
    assert row.superseded_by == done.id
    memory.forget([older], restore=True)
    assert "We allow 50 rps per API key on the search routes" in notes.ask("rps per API key")


def test_what_was_replaced_and_forgotten_comes_back_as_replaced(notes: Notes, memory: Memory) -> None:
    older, newer = "The worker pool has 8 threads per container", "The worker pool has 12 threads per container"
    first, second = notes.keep(older, kind="finding"), notes.keep(newer, kind="finding")
    memory.supersede(first, second)
    memory.forget([first])
    memory.forget([first], restore=True)  # undoes the forgetting alone
    (row,) = memory.look_up([first]).found
    assert row.superseded_by == second
    assert older not in notes.ask("worker pool threads")
    memory.forget([first], restore=True)
    assert older in notes.ask("worker pool threads")


def test_a_note_that_replaces_a_decision_is_a_decision(notes: Notes, memory: Memory) -> None:
    notes.keep("The worker pool has 8 threads per container", kind="decision")
    newer = notes.keep("change the worker pool from 8 to 12 threads per container", kind="request")
    (row,) = memory.look_up([newer]).found
    assert row.kind == "decision"


def test_what_was_pinned_is_not_replaced_unasked(notes: Notes, memory: Memory) -> None:
    older = notes.keep("The worker pool has 8 threads per container", kind="decision")
    memory.pin([older])
    notes.keep("Change the worker pool from 8 to 12 threads per container", kind="decision")
    assert "The worker pool has 8 threads per container" in notes.ask("worker pool")


def test_what_was_superseded_or_forgotten_cannot_be_pinned_until_it_is_restored(notes: Notes, memory: Memory) -> None:
    older, newer = notes.keep("The pool has 8 threads"), notes.keep("Twelve workers are enough for any queue")
    memory.supersede(older, newer)
    with pytest.raises(BadArgument, match=f"{older} was superseded by .*{newer}"):
        memory.pin_shown([older])
    memory.forget([older], restore=True)
    memory.forget([newer])
    with pytest.raises(BadArgument, match=f"{newer} was forgotten"):
        memory.pin_shown([older, newer])
    assert memory.look_up([older]).found[0].pinned_at is None
    memory.pin_shown([older])
    assert memory.look_up([older]).found[0].pinned_at is not None


def test_an_edit_that_takes_out_all_that_an_earlier_one_put_in_replaces_it(memory: Memory, notes: Notes) -> None:
    origin = ObservationOrigin("p")
    for old, new in (("100", "50"), ("50", "20")):
        text = f"Edited limits.py\n- LIMIT = {old}\n+ LIMIT = {new}"
        memory.remember(Draft(text, "change", files=("limits.py",)), origin)
    memory.remember(Draft("Edited other.py\n- LIMIT = 20\n+ LIMIT = 5", "change", files=("other.py",)), origin)
    assert len(notes.ask("LIMIT")) == 2
    assert "Edited limits.py\n- LIMIT = 100\n+ LIMIT = 50" not in notes.ask("LIMIT")


def test_a_number_with_the_same_unit_replaces_the_one_it_names(notes: Notes) -> None:
    older = "Members may upload photos of up to 8 MB for a piece; anything larger is refused with 413."
    other = "The cache of the photo page keeps 8 minutes."
    notes.keep(older, kind="request")
    notes.keep(other, kind="decision")
    notes.keep("We talked about it again: photos may have 12 MB now, not 8, phones take larger ones.", kind="decision")
    found = notes.ask("how large may photos be, and how long does the cache of the photo page keep them")
    assert older not in found
    assert other in found


def test_a_plan_is_not_hidden_because_one_step_is_taken_back_but_says_so(notes: Notes) -> None:
    plan = "Plan that the user approved:\n1. Add a table for moorings\n2. Dual-write for one release\n3. Drop Redis"
    notes.keep(plan, kind="decision")
    taken_back = "I changed my mind about the dual write of the queue: skip it, we switch on Sunday."
    notes.keep(taken_back, kind="decision")
    (text,) = (text for text in notes.ask("which steps has the plan for the table of moorings") if "Plan" in text)
    lines = text.splitlines()
    assert lines[2] == f"2. Dual-write for one release (no longer: {taken_back})"
    assert (lines[1], lines[3]) == ("1. Add a table for moorings", "3. Drop Redis")


def test_records_of_what_happened_and_what_is_pinned_keep_their_text(notes: Notes, memory: Memory) -> None:
    steps = "\n1. Add a table for moorings\n2. Dual-write for one release\n3. Drop Redis"
    measured, fixed, pinned = (f"{head}{steps}" for head in ("Measured with k6", "Fixed: k6 works now.", "The plan:"))
    notes.keep(measured, kind="finding")
    notes.keep(fixed, kind="finding")
    memory.pin([notes.keep(pinned, kind="decision")], project_id="p")
    notes.keep("Harbour in spring:\n- paint the boats\n- dual-write of the queue\n- sell the crane", kind="decision")
    notes.keep("I changed my mind about the dual write of the queue: skip it.", kind="decision")
    assert {measured, fixed, pinned} <= set(notes.texts())
    assert sum("(no longer: " in text for text in notes.texts()) == 1
