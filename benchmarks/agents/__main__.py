"""Trials with coding agents.

python -m benchmarks.agents prepare [--again] [NAME …]
python -m benchmarks.agents prompt --setup grep --tasks A --out DIR
python -m benchmarks.agents run --setup deltos --agent "claude -p" --tasks A --out DIR
python -m benchmarks.agents score DIR …
python -m benchmarks.agents floor [--setup grep --setup deltos] [--tasks …]
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from pathlib import Path

from benchmarks.agents import look_log, report
from benchmarks.agents.policies import POLICIES, run_policy
from benchmarks.agents.prompt import SETUPS, write_prompt
from benchmarks.agents.scoring import last_answer, score
from benchmarks.agents.tasks import select_tasks
from benchmarks.agents.trees import prepare, repositories

AGENT_TIMEOUT_SECONDS = 900


def main() -> int:
    """Run a subcommand."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    preparing = verbs.add_parser("prepare", help="lay out, rename and index the repositories")
    preparing.add_argument("names", nargs="*")
    preparing.add_argument("--again", action="store_true", help="index again with the current product")
    for verb in ("prompt", "run"):
        client = verbs.add_parser(verb)
        client.add_argument("--setup", choices=SETUPS, required=True)
        client.add_argument("--tasks", nargs="*", default=[], help="ids, kinds, repositories or halves (default: all)")
        client.add_argument("--out", type=Path, required=True)
        client.add_argument("--server", default="", help="command line of the product (default: this checkout)")
        if verb == "run":
            client.add_argument("--agent", required=True, help="command line that reads a prompt on standard input")
    scoring = verbs.add_parser("score", help="score the answers in result folders")
    scoring.add_argument("folders", nargs="+", type=Path)
    scoring.add_argument("--wrong", action="store_true", help="print every result")
    flooring = verbs.add_parser("floor", help="run the scripted policies")
    flooring.add_argument("--setup", action="append", choices=sorted(POLICIES))
    flooring.add_argument("--tasks", nargs="*", default=[])
    flooring.add_argument("--each", action="store_true", help="one line per task")
    return _SUBCOMMANDS[parser.parse_args().verb](parser.parse_args())


def _prepare_trees(options: argparse.Namespace) -> int:
    prepare(options.names or list(repositories()), again=options.again)
    return 0


def _print_prompt(options: argparse.Namespace) -> int:
    print(write_prompt(select_tasks(options.tasks), options.setup, options.out, shlex.split(options.server)))
    return 0


def _run_agent(options: argparse.Namespace) -> int:
    """Run the agent on each task in a new session."""
    results: list[report.Result] = []
    for task in select_tasks(options.tasks):
        folder = options.out / task.id
        prompt = write_prompt([task], options.setup, folder, shlex.split(options.server))
        text = prompt.read_text("utf-8") + "\nInstead of the file you may end your output with the line `ANSWER: …`.\n"
        done = subprocess.run(
            shlex.split(options.agent),
            input=text,
            capture_output=True,
            text=True,
            timeout=AGENT_TIMEOUT_SECONDS,
            cwd=folder,
        )
        answer = last_answer(done.stdout) or _read_answers(folder).get("t01", "")
        (folder / "output.txt").write_text(done.stdout, "utf-8")
        (folder / "answers.json").write_text(json.dumps({"t01": answer}), "utf-8")
        results.append(
            report.Result(
                task, options.setup, score(task, answer), look_log.total_cost(look_log.read(folder / "log.jsonl"))
            )
        )
        print(report.format_result(results[-1]), flush=True)
    print(report.format_table(results))
    return 0


def _score_folders(options: argparse.Namespace) -> int:
    """Score the answers in the given folders. A folder may contain many tasks."""
    results: list[report.Result] = []
    for folder in options.folders:
        results += results_in(folder)
    print(report.format_table(results))
    if options.wrong:
        for result in results:
            print(report.format_result(result))
    return 0


def results_in(folder: Path) -> list[report.Result]:
    """Return the results of the tasks in a folder."""
    session = json.loads((folder / "session.json").read_text("utf-8"))
    looks = look_log.read(folder / "log.jsonl")
    answers = _read_answers(folder)
    every = {task.id: task for task in select_tasks([])}
    resident = max((look_log.tokens(look.shown) for look in looks if look.resident), default=0)
    results: list[report.Result] = []
    for name, task_id in session["ids"].items():
        answer = answers.get(name, "")
        cost = look_log.total_cost(look for look in looks if look.task == name)
        if session["setup"] != "grep":  # A client always sends the tool list to the model.
            cost = look_log.Cost(cost.calls, cost.tokens, resident)
        results.append(report.Result(every[task_id], session["setup"], score(every[task_id], answer), cost))
    return results


def _read_answers(folder: Path) -> dict[str, str]:
    """Read an agent's answers by task. JSON values of any type are converted to text."""
    file = folder / "answers.json"
    found: dict[str, object] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    return {name: _answer_text(answer) for name, answer in found.items()}


def _answer_text(answer: object) -> str:
    if isinstance(answer, list):
        return ", ".join(map(str, answer))
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return text.strip().removeprefix("ANSWER:").strip().strip("`")


def _run_policies(options: argparse.Namespace) -> int:
    results: list[report.Result] = []
    for setup in options.setup or sorted(POLICIES):
        for task in select_tasks(options.tasks):
            results.append(run_policy(setup, task))
            if options.each:
                print(report.format_result(results[-1]), flush=True)
    print(report.format_table(results))
    return 0


_SUBCOMMANDS = {
    "prepare": _prepare_trees,
    "prompt": _print_prompt,
    "run": _run_agent,
    "score": _score_folders,
    "floor": _run_policies,
}

if __name__ == "__main__":
    sys.exit(main())
