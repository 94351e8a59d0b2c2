"""Superseding: statements that correct, reverse or replace earlier ones, and ordinary text that replaces nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.domains.memory.core.supersede import find_superseded
from deltos.errors import BadArgument
from deltos.store.observations import Clean, Observation

if TYPE_CHECKING:
    from deltos.domains.memory.core.memory import Memory
    from tests.domains.memory.conftest import Clock, Notes

_PAIRS = Path(__file__).parents[3] / "benchmarks" / "questions" / "memory_superseding.jsonl"
_ROWS = [json.loads(line) for line in _PAIRS.read_text("utf-8").splitlines()]
_PIECES = (
    "a", ", ", " not ", ", not ", " statt ", "30", " days", "tage ", ". ", "? ", "搜索", "Kafka", "on ", "doch ", ": ",
    "(", ") ", "\n", "because ", " instead of ", "Tuesdays", "use ",
)  # fmt: skip
_DEVELOPMENT_ROWS = [row for row in _ROWS if not row.get("held_out")]


def as_row(text: str) -> Observation:
    """Return a decision of the user as the store returns it."""
    clean = Clean(text)
    return Observation(1, clean, clean, Clean("decision"), Clean("user"), "p", None, (), (), 1, 1, None, None, None)


@pytest.mark.parametrize("pair", _DEVELOPMENT_ROWS, ids=lambda pair: pair["newer"][:60])
def test_a_correction_supersedes_the_corrected_statement_and_nothing_else(
    notes: Notes, pair: dict[str, object]
) -> None:
    older, newer = str(pair["older"]), str(pair["newer"])
    notes.keep(older, kind="decision")
    notes.keep(newer, kind="decision")
    assert (older not in notes.ask(older)) == pair["replaces"]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (
            ("Staging backups stay for 90 days.", "Production backups stay for 90 days."),
            "Backups for 30 days instead of 90.",
        ),
        (
            ("Wir haben uns für Kafka entschieden.", "Die Metriken laufen über Kafka."),
            "Doch NATS statt Kafka.",
        ),
    ],
)
def test_an_ambiguous_short_correction_supersedes_nothing(notes: Notes, older: tuple[str, ...], newer: str) -> None:
    for text in older:
        notes.keep(text, kind="decision")
    notes.keep(newer, kind="decision")
    assert {*older, newer} <= set(notes.ask(" ".join(older)))


@given(st.lists(st.sampled_from(_PIECES), max_size=9), st.lists(st.sampled_from(_PIECES), max_size=9))
def test_any_two_texts_can_be_compared(older: list[str], newer: list[str]) -> None:
    new_row, row = (as_row("".join(pieces)) for pieces in (newer, older))
    assert find_superseded(new_row, [row]) in ([], [row])


def test_a_superseded_observation_stays_in_the_timeline_and_can_be_restored(
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


def test_restoring_a_forgotten_observation_keeps_it_superseded(notes: Notes, memory: Memory) -> None:
    older, newer = "The worker pool has 8 threads per container", "The worker pool has 12 threads per container"
    first, second = notes.keep(older, kind="finding"), notes.keep(newer, kind="finding")
    memory.supersede(first, second)
    memory.forget([first])
    memory.forget([first], restore=True)  # undoes only the forgetting
    (row,) = memory.look_up([first]).found
    assert row.superseded_by == second
    assert older not in notes.ask("worker pool threads")
    memory.forget([first], restore=True)
    assert older in notes.ask("worker pool threads")


def test_a_note_that_supersedes_a_decision_is_a_decision(notes: Notes, memory: Memory) -> None:
    notes.keep("The worker pool has 8 threads per container", kind="decision")
    newer = notes.keep("change the worker pool from 8 to 12 threads per container", kind="request")
    (row,) = memory.look_up([newer]).found
    assert row.kind == "decision"


def test_pinned_observations_are_not_superseded_automatically(notes: Notes, memory: Memory) -> None:
    older = notes.keep("The worker pool has 8 threads per container", kind="decision")
    memory.pin([older])
    notes.keep("Change the worker pool from 8 to 12 threads per container", kind="decision")
    assert "The worker pool has 8 threads per container" in notes.ask("worker pool")


def test_hidden_observations_cannot_be_pinned_until_they_are_restored(notes: Notes, memory: Memory) -> None:
    older, newer = notes.keep("The pool has 8 threads"), notes.keep("Twelve workers are enough for any queue")
    memory.supersede(older, newer)
    with pytest.raises(BadArgument, match=f"{older} was superseded by .*{newer}"):
        memory.pin_visible([older])
    memory.forget([older], restore=True)
    memory.forget([newer])
    with pytest.raises(BadArgument, match=f"{newer} was forgotten"):
        memory.pin_visible([older, newer])
    assert memory.look_up([older]).found[0].pinned_at is None
    memory.pin_visible([older])
    assert memory.look_up([older]).found[0].pinned_at is not None


def test_an_edit_that_removes_all_lines_of_an_earlier_edit_supersedes_it(memory: Memory, notes: Notes) -> None:
    origin = ObservationOrigin("p")
    for old, new in (("100", "50"), ("50", "20")):
        text = f"Edited limits.py\n- LIMIT = {old}\n+ LIMIT = {new}"
        memory.remember(Draft(text, "change", files=("limits.py",)), origin)
    memory.remember(Draft("Edited other.py\n- LIMIT = 20\n+ LIMIT = 5", "change", files=("other.py",)), origin)
    assert len(notes.ask("LIMIT")) == 2
    assert "Edited limits.py\n- LIMIT = 100\n+ LIMIT = 50" not in notes.ask("LIMIT")


def test_a_number_with_the_same_unit_supersedes_the_named_number(notes: Notes) -> None:
    older = "Members may upload photos of up to 8 MB for a piece; anything larger is refused with 413."
    other = "The cache of the photo page keeps 8 minutes."
    notes.keep(older, kind="request")
    notes.keep(other, kind="decision")
    notes.keep("We talked about it again: photos may have 12 MB now, not 8, phones take larger ones.", kind="decision")
    found = notes.ask("how large may photos be, and how long does the cache of the photo page keep them")
    assert older not in found
    assert other in found


def test_a_retraction_supersedes_a_choice(notes: Notes) -> None:
    chosen = "How should a tool be booked? The user decided: Half-days (Morning or afternoon, one UNIQUE index)"
    notes.keep(chosen, kind="decision")
    retraction = (
        "I take back the half-days. The shredder was gone for a whole morning. Two-hour slots after all, 8 to 20."
    )
    notes.keep(retraction, kind="note")
    found = notes.ask("how long may a tool be booked, half-days or hours")
    assert retraction in found
    assert chosen not in found


ROUNDING = (
    "At which point is VAT rounded?\nThe user decided: Once per invoice (Sum the net, one rounding)\n"
    "Offered as well: Per line; Never"
)


@pytest.mark.parametrize(
    ("later", "is_replaced"),
    [
        ("Margaret says Xero works the tax out per line, so an invoice never agrees. So per line it is.", True),
        ("Den Betrag je invoice doch per line runden, Margaret will das so.", True),
        ("Would it be better per line after all, for the invoice?", False),
        ("We do not go with per line for the invoice, whatever Xero does.", False),
        ("Each line of the log instead of every second one, please.", False),  # another topic
        ("The invoice has one line too many, fix that.", False),  # chooses nothing
    ],
)
def test_picking_another_offered_option_supersedes_the_choice(notes: Notes, later: str, is_replaced: bool) -> None:
    notes.keep(ROUNDING, kind="decision", source="user")
    notes.keep(later, kind="note", source="user")
    assert (ROUNDING not in notes.ask("is VAT rounded per line or per invoice")) == is_replaced


def test_an_observation_with_several_choices_is_not_superseded(notes: Notes) -> None:
    both = f"{ROUNDING}\nWho signs the invoice?\nThe user decided: Margaret\nOffered as well: Kofi"
    notes.keep(both, kind="decision", source="user")
    notes.keep("The tax of an invoice is off by pennies. So per line it is.", kind="note", source="user")
    assert both in notes.ask("who signs the invoice")


def test_a_plan_with_a_retracted_step_is_amended_and_not_superseded(notes: Notes) -> None:
    plan = "Plan that the user approved:\n1. Add a table for moorings\n2. Dual-write for one release\n3. Drop Redis"
    notes.keep(plan, kind="decision")
    retraction = "I changed my mind about the dual write of the queue: skip it, we switch on Sunday."
    notes.keep(retraction, kind="decision")
    (text,) = (text for text in notes.ask("which steps has the plan for the table of moorings") if "Plan" in text)
    lines = text.splitlines()
    assert lines[2] == f"2. Dual-write for one release (no longer: {retraction})"
    assert (lines[1], lines[3]) == ("1. Add a table for moorings", "3. Drop Redis")


def test_amendments_by_a_forgotten_observation_are_removed_until_it_is_restored(
    notes: Notes, memory: Memory, tmp_path: Path
) -> None:
    plan = "Plan that the user approved:\n1. Add a table for moorings\n2. Dual-write for one release\n3. Drop Redis"
    notes.keep(plan, kind="decision")
    retraction = "I changed my mind about the dual write of the queue: skip it, Marguerite asked for that."
    key = notes.keep(retraction, kind="decision")
    quoting = plan.replace("one release", f"one release (no longer: {retraction})")
    assert quoting in notes.texts()
    memory.forget([key], project_id="p")
    assert plan in notes.texts()
    memory.forget([key], restore=True, project_id="p")
    assert quoting in notes.texts()
    memory.forget([key], project_id="p")
    memory.purge()
    assert notes.texts() == [plan]
    left = [path for path in tmp_path.rglob("*") if path.is_file() and b"Marguerite" in path.read_bytes()]
    assert left == []


def test_records_of_events_and_pinned_observations_are_not_amended(notes: Notes, memory: Memory) -> None:
    steps = "\n1. Add a table for moorings\n2. Dual-write for one release\n3. Drop Redis"
    measured, fixed, pinned = (f"{head}{steps}" for head in ("Measured with k6", "Fixed: k6 works now.", "The plan:"))
    notes.keep(measured, kind="finding")
    notes.keep(fixed, kind="finding")
    memory.pin([notes.keep(pinned, kind="decision")], project_id="p")
    notes.keep("Harbour in spring:\n- paint the boats\n- dual-write of the queue\n- sell the crane", kind="decision")
    notes.keep("I changed my mind about the dual write of the queue: skip it.", kind="decision")
    assert {measured, fixed, pinned} <= set(notes.texts())
    assert sum("(no longer: " in text for text in notes.texts()) == 1


@pytest.mark.parametrize(
    ("first", "second", "third", "question"),
    [
        (
            "Payments of the portal go through Adyen.",
            "Payments of the portal go through Stripe instead of Adyen.",
            "actually, we go back to Adyen, their support answered",
            "what do payments of the portal go through",
        ),
        (
            "Search routes allow 50 rps per key.",
            "Search routes allow 20 rps per key, not 50.",
            "Back to 50 rps on the search routes, partners complained.",
            "how many rps do search routes allow per key",
        ),
        (
            "Die Zahlungen im Portal laufen über Adyen.",
            "Die Zahlungen im Portal laufen jetzt über Stripe statt Adyen.",
            "Wir nehmen doch wieder Adyen.",
            "worüber laufen die Zahlungen im Portal",
        ),
        ("搜索缓存放在 Redis。", "搜索缓存改放 Valkey，不再用 Redis。", "搜索缓存改回 Redis。", "搜索缓存放在哪里"),
        (
            "ログの送り先は CloudWatch です。",
            "ログの送り先は CloudWatch ではなく Loki にする。",
            "ログの送り先は CloudWatch に戻す。",
            "ログの送り先はどこですか",
        ),
    ],
)
def test_a_reversal_supersedes_the_newer_statement_and_restores_the_older_one(
    notes: Notes, memory: Memory, clock: Clock, first: str, second: str, third: str, question: str
) -> None:
    notes.keep(first, kind="decision")
    clock.pass_time(days=1)
    replacing = notes.keep(second, kind="decision")
    assert first not in notes.ask(question)
    clock.pass_time(days=1)
    done = memory.remember(Draft(third, "request", "user"), ObservationOrigin("p"))
    assert done.superseded == (replacing,)
    found = notes.ask(question)
    assert first in found
    assert second not in found
    assert memory.look_up([done.id]).found[0].kind == "decision"


def test_a_reversal_affects_only_the_named_topic(notes: Notes, clock: Clock) -> None:
    queue, sessions = "The job queue of the importer uses Redis.", "Login sessions are kept in Redis."
    notes.keep(queue, kind="decision")
    notes.keep(sessions, kind="decision")
    clock.pass_time(hours=1)
    notes.keep("The job queue of the importer uses Postgres instead of Redis.", kind="decision")
    left = "Login sessions are kept in Postgres instead of Redis."
    notes.keep(left, kind="decision")
    clock.pass_time(hours=1)
    notes.keep("Back to Redis for the job queue.", kind="decision")
    found = notes.ask("where are the job queue and login sessions kept")
    assert queue in found
    assert left in found
    assert sessions not in found


@pytest.mark.parametrize(
    "text",
    [
        "Should we go back to Adyen?",
        "We never go back to Adyen.",
        "After payment the browser goes back to the portal page.",
        "Back to 50 pixels for the margin of the header.",
    ],
)
def test_not_every_sentence_with_back_is_a_reversal(notes: Notes, text: str) -> None:
    notes.keep("Payments of the portal go through Adyen.", kind="decision")
    notes.keep("Payments of the portal go through Stripe instead of Adyen.", kind="decision")
    notes.keep("Search routes allow 50 rps per key.", kind="decision")
    notes.keep("Search routes allow 20 rps per key, not 50.", kind="decision")
    notes.keep(text, kind="decision")
    found = notes.ask("what do payments of the portal go through, and how many rps per key on search routes")
    assert "Payments of the portal go through Stripe instead of Adyen." in found
    assert "Search routes allow 20 rps per key, not 50." in found


def test_a_reversal_removes_the_amendment_of_a_plan_step(notes: Notes, clock: Clock) -> None:
    plan = "Plan that the user approved:\n1. Add a table\n2. Nightly dumps of the aggregates to the NAS\n3. Drop Redis"
    notes.keep(plan, kind="decision")
    clock.pass_time(hours=1)
    notes.keep("Nightly dumps of the aggregates go to S3 instead of the NAS.", kind="decision")
    assert plan not in notes.texts()
    clock.pass_time(hours=1)
    notes.keep("Back to the NAS for the nightly dumps, S3 is too slow.", kind="decision")
    assert plan in notes.texts()


def test_a_statement_with_one_retracted_clause_is_amended(notes: Notes) -> None:
    older = "Fine: raw data stay for 30 days, hourly means for ten years, a nightly dump goes to the NAS."
    newer = "They retire the NAS: the nightly dump goes to the bucket instead of the NAS."
    notes.keep(older, kind="decision", source="user")
    notes.keep(newer, kind="decision", source="user")
    assert f"{older} (no longer: {newer})" in notes.ask("how long do raw data stay")


def test_a_measure_is_superseded_if_one_word_of_the_topic_is_shared(notes: Notes) -> None:
    older, other = "for the record: boards sample every 5 seconds from now on", "The lamp blinks every 5 seconds"
    notes.keep(older, kind="decision")
    notes.keep(other, kind="decision")
    notes.keep("That eats the battery. Make that one sample per minute, not every 5 seconds.", kind="decision")
    found = notes.ask("how often do boards sample, and how often does the lamp blink")
    assert older not in found
    assert other in found
