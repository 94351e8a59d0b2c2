"""The harness finds the defects of the toy targets and reports none in correct ones."""

from __future__ import annotations

import json
import sys
from random import Random
from typing import TYPE_CHECKING

import pytest
from fuzz.campaign import Campaign, Result
from fuzz.corpus import committed_inputs
from fuzz.edges import edge_recorder
from fuzz.minimise import shrink_input
from fuzz.mutate import Mutator
from fuzz.mutate_json import mutate_json
from fuzz.oracle import crash_place, memory_limit_bytes, slow_limit_seconds
from fuzz.report import HEADING, format_row
from fuzz.targets import all_targets, target_named

if TYPE_CHECKING:
    from pathlib import Path
    from types import FrameType


def run_campaign(name: str, folder: Path, *, seconds: float = 1.0) -> Result:
    """Return the result of a short campaign on a toy target."""
    campaign = Campaign(
        target_named(name),
        folder / "scratch",
        seed=1,
        findings=folder / "findings",
        hang_cpu_seconds=1.0,
        minimise_seconds=2.0,
    )
    return campaign.run(seconds)


def test_a_crash_is_found_and_minimised(tmp_path: Path) -> None:
    result = run_campaign("toy-crash", tmp_path)
    [finding] = result.findings
    assert (finding.kind, finding.data) == ("crash", b"BUG")
    saved = tmp_path / "findings" / "toy-crash" / finding.name
    assert saved.read_bytes() == b"BUG"
    assert "IndexError" in saved.with_name(f"{finding.name}.txt").read_text()


@pytest.mark.parametrize(
    ("name", "kind"), [("toy-slow", "slow"), ("toy-memory", "memory"), ("toy-hang", "hang"), ("toy-died", "died")]
)
def test_inputs_that_are_slow_use_much_memory_or_end_the_process_are_found(
    tmp_path: Path, name: str, kind: str
) -> None:
    result = run_campaign(name, tmp_path)
    assert kind in {finding.kind for finding in result.findings}
    assert all(b"BUG" in finding.data for finding in result.findings)


def test_inputs_that_exceed_the_memory_limit_are_counted_separately_from_crashes(tmp_path: Path) -> None:
    result = run_campaign("toy-at-limit", tmp_path)
    assert result.at_parser_limits
    assert result.findings == []


def test_an_expected_error_is_not_a_finding(tmp_path: Path) -> None:
    result = run_campaign("toy-fine", tmp_path)
    assert result.executions > 100
    assert result.findings == []


def test_a_child_that_cannot_start_is_a_failure(tmp_path: Path) -> None:
    target = target_named("toy-fine")
    campaign = Campaign(target, tmp_path, seed=1)
    for path in (tmp_path / "queue").iterdir():
        path.unlink()
    with pytest.raises(RuntimeError, match="harness failed"):
        campaign.run(5.0)


def test_the_same_seed_gives_the_same_inputs() -> None:
    def inputs() -> list[bytes]:
        mutator = Mutator(Random(7), (b"<a>",), max_bytes=1_000)
        return [mutator.mutate(b"one two three\nfour", b"other") for _ in range(200)]

    first = inputs()
    assert first == inputs()
    assert len(set(first)) > 150
    assert max(map(len, first)) <= 1_000


def test_mutated_json_values_give_valid_json() -> None:
    document = json.dumps({"a": [1, {"b": "text"}], "c": None}).encode()
    rng = Random(3)
    changed = [data for _ in range(100) if (data := mutate_json(rng, document, document)) is not None]
    assert len(set(changed)) > 50
    for data in changed:
        if data.count(b"[") < 300 and data.count(b"{") < 300:
            json.loads(data.decode("utf-8", "surrogatepass"))
    assert mutate_json(rng, b"no json", document) is None


def test_inputs_are_minimised_while_they_still_reproduce_the_finding() -> None:
    data = b"x" * 500 + b"A" + b"y" * 300 + b"B" + b"z" * 100
    *_, last = shrink_input(data, lambda shorter: b"A" in shorter and b"B" in shorter, seconds=20)
    assert last == b"AB"


def test_the_previous_tracer_is_restored() -> None:
    """Check that coverage, for example, still measures later tests in the same process."""
    former = sys.gettrace()

    def trace_calls(_frame: FrameType, _event: str, _argument: object) -> None:
        pass

    edges = edge_recorder()
    try:
        sys.settrace(trace_calls)
        edges.start()
        edges.stop()
        assert sys.gettrace() is trace_calls
    finally:
        sys.settrace(former)


def test_newly_executed_lines_of_our_code_are_counted_as_edges() -> None:
    from deltos.fetch.url import looks_endless

    edges = edge_recorder()

    def count_edges(url: str) -> int:
        edges.start()
        looks_endless(url)
        edges.stop()
        return edges.count()

    few = count_edges("https://a/" + "b" * 3_000)
    more = count_edges("https://a/b/c")
    assert 0 < few < more
    assert count_edges("https://a/b/c") == more


def test_a_crash_is_identified_by_the_innermost_line_of_our_code() -> None:
    from deltos.fetch.url import normalise

    with pytest.raises(ValueError, match="Invalid IPv6") as failure:
        normalise("http://[")
    assert crash_place(failure.value) == "ValueError fetch/url.py:normalise"


def test_limits_grow_with_the_input() -> None:
    assert slow_limit_seconds(0) == pytest.approx(0.050)
    assert slow_limit_seconds(10_000) == pytest.approx(0.550)
    assert memory_limit_bytes(1_000) == 64_100_000


def test_the_table_has_as_many_cells_as_its_heading() -> None:
    assert format_row(Result("a")).count("|") == HEADING.splitlines()[0].count("|")


def test_every_target_has_seed_inputs() -> None:
    bare = [name for name, target in all_targets().items() if committed_inputs(target) == [b""]]
    assert bare == []


def test_repeated_mutation_of_json_respects_the_size_limit() -> None:
    rng = Random(5)
    data = json.dumps({"a": ["x" * 100] * 20, "b": {"c": ["y"]}}).encode()
    for _ in range(300):
        data = (mutate_json(rng, data, data) or data)[:100_000]
        assert len(data) <= 100_000
