r"""Command by which an agent in a trial reads a repository; its output is counted.

    look TASK rg -n 'def \w+_route' src          also grep, cat, sed -n A,Bp, head, tail, ls, find, wc, …
    look TASK "rg -n route src | head"           a pipeline is one quoted argument
    look TASK deltos search_code '{"query": "…"}'   a tool of the server, if the setup has one

    python -m benchmarks.agents.look --tree DIR --log FILE rg …

Everything is read-only and runs in the tree of the task; output is truncated as by the shell tools of agents.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.agents import look_log, server
from benchmarks.agents.peers import PEERS

COMMANDS = ("grep", "rg", "cat", "sed", "head", "tail", "ls", "find", "wc", "sort", "uniq", "cut", "nl")
SECONDS = 60
_SED = re.compile(r"(\d+|\$)(,(\d+|\$))?p(;(\d+|\$)(,(\d+|\$))?p)*")
_REFUSED = {
    "sed": ("-i", "--in-place", "-f", "--file", "-s"),
    "find": ("-exec", "-execdir", "-delete", "-ok", "-okdir", "-fprint", "-fprintf", "-fls"),
    "rg": ("--pre", "--hostname-bin", "--search-zip", "-z", "--follow", "-L"),
    "sort": ("-o", "--output"),
}


class Refused(Exception):
    """A command that is not allowed."""


@dataclass(frozen=True, slots=True)
class Place:
    """Folder and limits of the looks of a task."""

    task: str
    tree: Path
    log: Path
    setup: str = "grep"
    server: tuple[str, ...] = ()
    home: Path | None = None

    @property
    def socket(self) -> Path:
        return self.log.parent / "s" / f"{self.task}.sock"

    def environment(self) -> dict[str, str]:
        return {**os.environ, "DELTOS_HOME": str(self.home)}


def place_of(session: Path, task: str) -> Place:
    """Return the place of a task of a session."""
    state = json.loads((session / "session.json").read_text("utf-8"))
    if task not in state["tasks"]:
        raise Refused(f"no task {task}; there are {', '.join(state['tasks'])}")
    folder = Path(state["tasks"][task])
    return Place(
        task, folder / "tree", session / "log.jsonl", state["setup"], tuple(state["server"]), Path(state["homes"][task])
    )


def look(place: Place, words: list[str]) -> str:
    """Run a command, log it, and return its output."""
    if len(words) == 1:
        words = shlex.split(words[0])
    command = shlex.join(words)
    try:
        shown = look_log.cut(
            _call_tool(place, words[1:]) if words[:1] == [_server_word(place)] else _run_pipeline(place, words)
        )
    except Refused as refused:
        return f"look: {refused}\n"  # messages of the wrapper are not counted
    look_log.write(place.log, look_log.Look(place.task, command, shown))
    return shown


def _server_word(place: Place) -> str:
    """Return the word that calls tools of the setup's server."""
    return place.setup if place.setup in PEERS else "deltos"


def _call_tool(place: Place, words: list[str]) -> str:
    if place.setup == "grep":
        raise Refused("deltos is not part of this setup")
    tool, arguments = words[0], words[1] if len(words) > 1 else "{}"
    try:
        given = json.loads(arguments)
    except ValueError as error:
        raise Refused(f"the arguments are not JSON: {error}") from error
    if not any(one.resident and one.task == place.task for one in look_log.read(place.log)):
        look_log.write(place.log, look_log.Look(place.task, "", answer_of_server(place, "", {}), resident=True))
    return answer_of_server(place, tool, given)


def answer_of_server(place: Place, tool: str, arguments: dict[str, object]) -> str:
    """Return an answer of the task's server; without a tool, its list of tools."""
    first = PEERS[place.setup].first if place.setup in PEERS else ()
    return server.ask(place.socket, place.tree, list(place.server), place.environment(), tool, arguments, first)


def _run_pipeline(place: Place, words: list[str]) -> str:
    """Return the output of a pipeline, errors included."""
    stages: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    given: bytes | None = None
    errors = b""
    for stage in stages:
        done = _run(place, _allowed(place, stage), given)
        given, errors = done.stdout, errors + done.stderr
    return ((given or b"") + errors).decode("utf-8", "replace")


def _run(place: Place, stage: list[str], given: bytes | None) -> subprocess.CompletedProcess[bytes]:
    given_from = subprocess.DEVNULL if given is None else subprocess.PIPE
    environment = {"PATH": os.environ["PATH"]}
    started = subprocess.Popen(
        stage, cwd=place.tree, env=environment, stdin=given_from, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        shown, errors = started.communicate(given, timeout=SECONDS)
    except subprocess.TimeoutExpired as expired:
        started.kill()
        started.communicate()
        raise Refused(f"{stage[0]} took more than {SECONDS} s") from expired
    return subprocess.CompletedProcess(stage, started.returncode, shown, errors)


def _allowed(place: Place, stage: list[str]) -> list[str]:
    """Return a command that only reads files of the task; raise `Refused` for any other."""
    if not stage or stage[0] not in COMMANDS:
        raise Refused(f"only {', '.join(COMMANDS)} are there, joined by | in one quoted argument")
    name, *arguments = stage
    for argument in arguments:
        if any(argument == refused or argument.startswith(f"{refused}=") for refused in _REFUSED.get(name, ())):
            raise Refused(f"{name} {argument} is not allowed")
        if not _is_inside(place, argument):
            raise Refused(f"{argument} leads out of the repository")
    if name == "sed":
        scripts = [argument for argument in arguments if not argument.startswith("-")][:1]
        if "-n" not in arguments or not scripts or not _SED.fullmatch(scripts[0]):
            raise Refused("sed is for ranges of lines: sed -n 10,40p FILE")
    return [_program(name), *_expanded(place, name, arguments)]


def _is_inside(place: Place, argument: str) -> bool:
    """Return whether an argument, as a path, is in the tree or among the transcripts."""
    if ".." not in argument and not argument.startswith("/"):
        return True
    target = (place.tree / argument).resolve()
    allowed = (place.tree.resolve(), place.tree.parent.resolve() / "sessions")
    return (
        any(target == root or root in target.parents for root in allowed) or not target.exists()
    )  # a pattern, not a path


def _expanded(place: Place, name: str, arguments: list[str]) -> list[str]:
    """Expand wildcards in arguments as a shell would; keep patterns."""
    first = name in ("grep", "rg", "find", "sed")
    expanded: list[str] = []
    for argument in arguments:
        is_option = argument.startswith("-")
        if is_option or first or not set("*?") & set(argument) or ".." in argument or argument.startswith("/"):
            expanded.append(argument)
            first = first and (is_option or name == "find")
        else:
            expanded += sorted(path.relative_to(place.tree).as_posix() for path in place.tree.glob(argument)) or [
                argument
            ]
    return expanded


def _program(name: str) -> str:
    if name == "rg":
        return os.environ.get("DELTOS_TRIALS_RG") or shutil.which("rg") or _missing()
    return name


def _missing() -> str:
    raise Refused("rg is not installed; set DELTOS_TRIALS_RG, or use grep -rn")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--session", type=Path, help="folder of a prompt; the first word is a task")
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--log", type=Path)
    parser.add_argument("words", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    words = given.words
    if given.session and len(words) < 2:
        parser.error("say: look TASK COMMAND …")
    if not given.session and not (given.tree and given.log):
        parser.error("either --session, or --tree and --log")
    try:
        place = place_of(given.session, words.pop(0)) if given.session else Place("look", given.tree, given.log)
    except Refused as refused:
        print(f"look: {refused}")
        return 1
    sys.stdout.write(look(place, words))
    return 0


if __name__ == "__main__":
    sys.exit(main())
