"""`make conformance`: run the MCP conformance suite against the real server and the fixture server and print a table."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests import node
from tests.e2e.every_tool import write_project
from tests.server.over_http.served import Served

if TYPE_CHECKING:
    from collections.abc import Iterator

    Row = tuple[str, int, int, str]

REVISIONS = ("2025-11-25", "2026-07-28")
SUITE_TIMEOUT_SECONDS = 300
# Scenarios that need no fixture tools.
SCENARIOS_WITHOUT_FIXTURES = {
    "2025-11-25": (
        "server-initialize",
        "server-session-lifecycle",
        "logging-set-level",
        "ping",
        "tools-list",
        "resources-list",
        "prompts-list",
        "server-sse-multiple-streams",
        "dns-rebinding-protection",
    ),
    "2026-07-28": (
        "tools-list",
        "resources-list",
        "prompts-list",
        "caching",
        "server-sse-multiple-streams",
        "sep-2164-resource-not-found",
        "dns-rebinding-protection",
        "http-header-validation",
    ),
}
IS_REQUIRED = "yes"
_SUMMARY_LINE = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed$", re.MULTILINE)
_SINGLE_SCENARIO_LINE = re.compile(r"^Passed: (\d+)/\d+, (\d+) failed", re.MULTILINE)
_UNSCORED_LINE = re.compile(r"^  [✓✗] (\S+) \((\S+)\)$", re.MULTILINE)


def main() -> int:
    """Run all scenarios; return 1 if a required one fails."""
    failed = 0
    print("| server | revision | scenario | checks passed | failed | counts |\n|---|---|---|---|---|---|")
    with TemporaryDirectory() as folder:
        project = write_project(Path(folder, "project"))
        for module, name in (("deltos", "deltos"), ("tests.conformance.server", "fixtures")):
            words = ["-P", "-m", "deltos", "mcp"] if module == "deltos" else ["-m", module]
            served = Served([sys.executable, *words, str(project), "--http", "127.0.0.1:0"], Path(folder, "home"))
            try:
                failed += sum(_run_scenarios(served.url, name))
            finally:
                served.shut_down()
    return 1 if failed else 0


def _run_scenarios(url: str, name: str) -> Iterator[int]:
    """Print the result of each scenario and yield its number of failed required checks."""
    for revision in REVISIONS:
        found = (
            _run_required_scenarios(url, revision)
            if name == "fixtures"
            else _run_scenarios_without_fixtures(url, revision)
        )
        for scenario, passed, failed, counts in found:
            print(f"| {name} | {revision} | {scenario} | {passed} | {failed} | {counts} |", flush=True)
            yield failed if counts == IS_REQUIRED else 0


def _run_required_scenarios(url: str, revision: str) -> list[Row]:
    """Run all scenarios that a protocol revision requires, and the optional ones."""
    output = _run_suite("--url", url, "--requirements", revision)
    excused = dict(_UNSCORED_LINE.findall(output))
    found = [
        (scenario, int(passed), int(failed), excused.get(scenario, IS_REQUIRED))
        for scenario, passed, failed in _SUMMARY_LINE.findall(output)
    ]
    return found or [(f"nothing ran: {output[-500:]}", 0, 1, IS_REQUIRED)]


def _run_scenarios_without_fixtures(url: str, revision: str) -> Iterator[Row]:
    for scenario in SCENARIOS_WITHOUT_FIXTURES[revision]:
        output = _run_suite("--url", url, "--spec-version", revision, "--scenario", scenario)
        result = _SINGLE_SCENARIO_LINE.search(output)
        passed, failed = (int(result[1]), int(result[2])) if result else (0, 1)
        yield scenario, passed, failed, IS_REQUIRED


def _run_suite(*words: str) -> str:
    done = subprocess.run(
        [node.program("conformance"), "server", *words],
        capture_output=True,
        text=True,
        timeout=SUITE_TIMEOUT_SECONDS,
        env=node.environment(),
    )
    return done.stdout + done.stderr


if __name__ == "__main__":
    sys.exit(main())
