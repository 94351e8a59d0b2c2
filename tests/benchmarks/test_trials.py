"""Trials with agents: output and cost of `look` commands, grading of answers, and consistency of the tasks."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from benchmarks.agents import look_log, scoring, trees
from benchmarks.agents.__main__ import main as agents_main
from benchmarks.agents.__main__ import results_in
from benchmarks.agents.evidence import are_close_together, is_visible, places_in
from benchmarks.agents.look import Place, look
from benchmarks.agents.scoring import last_answer, score
from benchmarks.agents.server import stop_servers
from benchmarks.agents.tasks import KINDS, Task, load
from benchmarks.paths import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Place:
    tree = tmp_path / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / "src" / "a.py").write_text("def first():\n    return 1\n\n\ndef second():\n    return first()\n")
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions" / "s1.jsonl").write_text('{"text": "we chose blue"}\n')
    (tmp_path / "secret.txt").write_text("the truth\n")
    return Place("t01", tree, tmp_path / "log.jsonl")


def make_task(form: str, answer: Any, kind: str = "locate", accepted_answers: tuple[str, ...] = ()) -> Task:
    return Task("x-01", kind, "deltos", "", 0, True, False, form, "Where?", answer, accepted_answers)


def test_look_shows_the_output_of_a_command_and_logs_its_tokens(place: Place) -> None:
    shown = look(place, ["grep", "-n", "first", "src/a.py"])
    assert shown == "1:def first():\n6:    return first()\n"
    (logged,) = look_log.read(place.log)
    assert logged.shown == shown
    assert logged.tokens == look_log.tokens("grep -n first src/a.py") + look_log.tokens(shown)


def test_a_pipeline_is_a_single_argument_and_wildcards_are_expanded(place: Place) -> None:
    assert look(place, ["cat src/*.py | grep -n def | head -n 1"]) == "1:def first():\n"


@pytest.mark.parametrize(
    "words",
    [
        ["cat", "../secret.txt"],
        ["cat", "/etc/passwd"],
        ["find", ".", "-delete"],
        ["find", ".", "-exec", "rm", "{}", ";"],
        ["sed", "-i", "s/a/b/", "src/a.py"],
        ["sed", "-n", "w out", "src/a.py"],
        ["python3", "-c", "print(1)"],
        ["sort", "-o", "x", "src/a.py"],
        ["deltos", "search_code", "{}"],
    ],
)
def test_commands_that_write_or_leave_the_folder_are_refused_without_cost(place: Place, words: list[str]) -> None:
    assert look(place, words).startswith("look: ")
    assert look_log.read(place.log) == []
    assert (place.tree / "src" / "a.py").read_text().startswith("def first")


def test_transcripts_of_earlier_sessions_may_be_read(place: Place) -> None:
    assert "blue" in look(place, ["grep", "-r", "chose", "../sessions"])


def test_a_pattern_that_looks_like_a_path_is_a_pattern(place: Place) -> None:
    assert look(place, ["grep", "-c", "/-/check", "src/a.py"]) == "0\n"


def test_a_tool_answer_equals_what_a_client_shows_and_the_tool_list_is_logged_once(place: Place) -> None:
    command = (sys.executable, "-P", "-m", "deltos", "mcp")
    with_tools = replace(place, setup="deltos", server=command, home=place.tree.parent / "home")
    try:
        first = look(with_tools, ["deltos", "find_symbol", '{"symbol": "second"}'])
        again = look(with_tools, ["deltos", "find_symbol", '{"symbol": "first"}'])
        wrong = look(with_tools, ["deltos", "find_symbol", '{"symbol": 1'])
    finally:
        stop_servers(with_tools.socket.parent)
    assert "src/a.py:5" in first
    assert "src/a.py:1" in again
    assert wrong.startswith("look: the arguments are not JSON")
    assert [one.resident for one in look_log.read(place.log)] == [True, False, False]
    assert '"name":"find_symbol"' in look_log.read(place.log)[0].shown


AGENT = """#!/bin/sh
grep -q "Which environment variable"
./look t01 grep -rn environ .
echo "It is read there."
echo "ANSWER: DATABASE_URL"
"""


def test_any_agent_command_line_can_take_part_in_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(trees, "WORK", tmp_path / "work")
    tree = tmp_path / "work" / "records" / "tree"
    tree.mkdir(parents=True)
    (tree / "records.py").write_text('import os\n\nurl = os.environ.get("DATABASE_URL")\n')
    agent = tmp_path / "agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    answer_of_server = [
        "run",
        "--setup",
        "grep",
        "--agent",
        str(agent),
        "--tasks",
        "how-16",
        "--out",
        str(tmp_path / "out"),
    ]
    monkeypatch.setattr(sys, "argv", ["agents", *answer_of_server])
    assert agents_main() == 0
    output = capsys.readouterr().out
    assert "how-16 grep: right; 1 calls" in output
    (result,) = results_in(tmp_path / "out" / "how-16")
    assert result.score.right
    assert result.cost.calls == 1
    prompt = (tmp_path / "out" / "how-16" / "PROMPT.md").read_text()
    assert "deltos" not in prompt.lower().replace(str(REPOSITORY).lower(), "")
    assert "DATABASE_URL" not in prompt


def test_long_output_is_truncated_with_a_note(place: Place) -> None:
    (place.tree / "long.txt").write_text("x" * 40_000)
    shown = look(place, ["cat", "long.txt"])
    assert shown.startswith("x" * look_log.MAX_OUTPUT_CHARACTERS)
    assert "10000 more characters not shown" in shown


def test_the_tool_list_is_counted_once_and_not_as_a_call() -> None:
    listed = look_log.Look("t", "", "x" * 400, resident=True)
    cost = look_log.total_cost([listed, look_log.Look("t", "rg a", "y" * 40), listed])
    assert (cost.calls, cost.tokens, cost.resident_tokens, cost.all_tokens) == (1, 11, 100, 111)


def test_clients_show_structured_content_in_place_of_text_but_not_for_errors() -> None:
    content = [{"type": "text", "text": "as text"}]
    assert look_log.visible_result({"content": content}) == "as text"
    assert look_log.visible_result({"content": content, "structuredContent": {"a": [1]}}) == '{"a":[1]}'
    assert look_log.visible_result({"content": content, "structuredContent": {}, "isError": True}) == "as text"


def test_only_the_last_answer_is_graded() -> None:
    assert last_answer("ANSWER: a\nthen\n**ANSWER: `src/b.py`**\n") == "src/b.py"
    assert last_answer("nothing") == ""


def test_a_file_answer_must_match_exactly() -> None:
    wanted = make_task("files", ["src/a.py", "src/b.py"])
    assert score(wanted, "./src/b.py, `src/a.py`").right
    assert not score(wanted, "src/a.py").right
    assert not score(wanted, "src/a.py, src/b.py, src/c.py").right
    assert score(make_task("files", ["src/a.py"], accepted_answers=("src/c.py",)), "src/a.py, src/c.py").right


def test_references_are_scored_by_precision_and_recall() -> None:
    wanted = make_task("lines", [f"a.py:{line}" for line in range(1, 11)], kind="references")
    nine = ", ".join(f"a.py:{line}" for line in range(1, 10))
    assert score(wanted, nine).right
    assert score(wanted, nine).recall == pytest.approx(0.9)
    missing_two = score(wanted, ", ".join(f"a.py:{line}" for line in range(1, 9)))
    assert not missing_two.right
    noisy = score(wanted, f"{nine}, a.py:10, b.py:1, b.py:2")
    assert not noisy.right
    assert noisy.precision == pytest.approx(10 / 12)


def test_any_single_line_of_the_raising_statement_is_a_correct_answer() -> None:
    wanted = make_task("line", ["a.py:10"], kind="error", accepted_answers=("a.py:11",))
    assert score(wanted, "a.py:10").right
    assert score(wanted, "a.py:11").right
    assert not score(wanted, "a.py:12").right
    assert not score(wanted, "a.py:10, a.py:11").right


def test_an_answer_must_contain_all_names_as_words_and_be_brief() -> None:
    wanted = make_task("names", ["20|20.0", "LIMIT"], kind="how")
    assert score(wanted, "LIMIT, 20.0").right
    assert not score(wanted, "LIMIT, 120").right
    assert not score(wanted, "20").right
    assert not score(wanted, "LIMIT 20 " + "and much else " * 20).right


SPEC = {
    "openapi": "3.0.0",
    "paths": {
        "/boxes/{box}/labels": {
            "parameters": [{"in": "path", "name": "box", "required": True}],
            "post": {
                "parameters": [{"in": "query", "name": "dry", "required": True}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Label"}}}},
            },
        }
    },
    "components": {
        "schemas": {
            "Label": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "size": {"type": "integer"}},
                "required": ["text"],
            }
        }
    },
}


@pytest.fixture
def api_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    monkeypatch.setattr(trees, "WORK", tmp_path)
    services = tmp_path / "courier" / "tree" / "services"
    services.mkdir(parents=True)
    (services / "boxes.yaml").write_text(json.dumps(SPEC))
    truth = {
        "service": "boxes",
        "method": "POST",
        "template": "/boxes/{box}/labels",
        "variables": {"box": "b 1"},
        "query": {"dry": True},
        "body": {"text": "fragile", "size": 3},
    }
    return Task("api-99", "api", "courier", "", 0, True, False, "call", "Label it.", truth)


CORRECT_CALL = {
    "method": "post",
    "path": "/boxes/b%201/labels",
    "query": {"dry": "true"},
    "body": {"text": "fragile", "size": 3},
}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, ""),
        ({"method": "PUT"}, "method"),
        ({"path": "/boxes/b1/labels"}, "path"),
        ({"query": {}}, "query.dry"),
        ({"query": {"dry": True, "wet": 1}}, "unknown query parameters: wet"),
        ({"body": {"text": "fragile"}}, "body.size"),
        ({"body": {"text": "fragile", "size": "3"}}, "body: '3' is not of type 'integer'"),
        ({"body": {"text": "fragile", "size": 3, "shape": "round"}}, "unknown properties: shape"),
    ],
)
def test_a_call_is_checked_against_the_task_and_the_description(
    api_task: Task, change: dict[str, object], problem: str
) -> None:
    graded = scoring.check_call(api_task, {**CORRECT_CALL, **change})
    assert graded.startswith(problem)
    assert bool(graded) == bool(problem)
    assert score(api_task, json.dumps({**CORRECT_CALL, **change})).right == (not problem)


def test_an_answer_that_is_not_json_is_not_a_call(api_task: Task) -> None:
    assert "not a call" in score(api_task, "POST /boxes").problem


def test_a_location_is_visible_by_its_line_number_or_within_a_shown_range() -> None:
    wanted = ["src/a.py:12", "src/b.py:40"]
    grep = look_log.Look("t", "rg x", "./src/a.py:12:x\nsrc/b.py:4:y\n")
    grouped = look_log.Look("t", "deltos", "src/a.py\n 3,12 call f\nsrc/b.py\n 40 call g\n")
    read = look_log.Look("t", "sed -n 30,50p src/b.py", "…")
    assert places_in([grep], wanted) == {"src/a.py:12"}
    assert places_in([grouped], wanted) == set(wanted)
    assert places_in([grep, read], wanted) == set(wanted)


def test_numbers_of_an_answer_must_be_close_together() -> None:
    far = "limit 20" + " " * 5_000 + "rows 88"
    assert are_close_together("88 columns and 24 rows", ["88", "24"])
    assert not are_close_together(far, ["20", "88"])
    assert is_visible(make_task("names", ["88", "24"]), [look_log.Look("t", "", "88 by 24")])


def test_the_tasks_meet_the_required_number_and_variety() -> None:
    tasks = load()
    kinds = Counter(each.kind for each in tasks)
    assert len(tasks) >= 80
    assert len({each.id for each in tasks}) == len(tasks)
    assert set(kinds) == set(KINDS)
    assert len({each.repository for each in tasks}) >= 10
    assert sum(each.unseen for each in tasks) * 2 >= len(tasks)
    assert all(each.repository in trees.repositories() for each in tasks)


def test_the_tasks_for_real_agents_form_two_halves_with_equal_counts_of_each_kind() -> None:
    halves = {half: [each for each in load() if each.half == half] for half in "AB"}
    assert [len(half) for half in halves.values()] == [12, 12]
    kinds = [Counter(each.kind for each in half) for half in halves.values()]
    assert kinds[0] == kinds[1]
    assert set(kinds[0]) == set(KINDS)


def test_a_perfect_answer_is_right_for_every_task_that_needs_no_description() -> None:
    for each in load():
        if each.form != "call":
            answer = ", ".join(name.split("|")[0] for name in each.answer)
            assert score(each, answer).right, each.id
