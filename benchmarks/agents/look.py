r"""The command `look`, with which an agent in a trial reads a repository. It logs the output, whose tokens are counted.

    look TASK rg -n 'def \w+_route' src          also grep, cat, sed -n A,Bp, head, tail, ls, find, wc, …
    look TASK "rg -n route src | head"           a pipeline is one quoted argument
    look TASK deltos search_code '{"query": "…"}'   calls a tool of the server, if the setup has a server

    python -m benchmarks.agents.look --tree DIR --log FILE rg …

Commands are read-only and run in the task's source tree; output is truncated as in the shell tools of agents.
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
TIMEOUT_SECONDS = 60
_SED = re.compile(r"(\d+|\$)(,(\d+|\$))?p(;(\d+|\$)(,(\d+|\$))?p)*")
_REFUSED_OPTIONS = {
    "sed": ("-i", "--in-place", "-f", "--file", "-s"),
    "find": ("-exec", "-execdir", "-delete", "-ok", "-okdir", "-fprint", "-fprintf", "-fls"),
    "rg": ("--pre", "--hostname-bin", "--search-zip", "-z", "--follow", "-L"),
    "sort": ("-o", "--output"),
}


class CommandRefused(Exception):
    """Raised for a command that agents may not run."""


@dataclass(frozen=True, slots=True)
class Place:
    """Source tree, log and server with which the commands of a task run."""

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
    """Return the source tree, log and server of a task in a session."""
    state = json.loads((session / "session.json").read_text("utf-8"))
    if task not in state["tasks"]:
        raise CommandRefused(f"there is no task {task}; the tasks are {', '.join(state['tasks'])}")
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
        shown = look_log.truncate_output(
            _call_tool(place, words[1:]) if words[:1] == [_server_command(place)] else _run_pipeline(place, words)
        )
    except CommandRefused as refused:
        return f"look: {refused}\n"  # Error messages of `look` itself are not counted.
    look_log.write(place.log, look_log.Look(place.task, command, shown))
    return shown


def _server_command(place: Place) -> str:
    """Return the name of the command with which the agent calls tools of the server."""
    return place.setup if place.setup in PEERS else "deltos"


def _call_tool(place: Place, words: list[str]) -> str:
    if place.setup == "grep":
        raise CommandRefused("deltos is not part of this setup")
    tool, arguments = words[0], words[1] if len(words) > 1 else "{}"
    try:
        given = json.loads(arguments)
    except ValueError as error:
        raise CommandRefused(f"the arguments are not JSON: {error}") from error
    if not any(one.resident and one.task == place.task for one in look_log.read(place.log)):
        look_log.write(place.log, look_log.Look(place.task, "", ask_server(place, "", {}), resident=True))
    return ask_server(place, tool, given)


def ask_server(place: Place, tool: str, arguments: dict[str, object]) -> str:
    """Return the server's answer to a tool call, or the list of its tools if no tool is given."""
    first = PEERS[place.setup].first if place.setup in PEERS else ()
    return server.call_server(place.socket, place.tree, list(place.server), place.environment(), tool, arguments, first)


def _run_pipeline(place: Place, words: list[str]) -> str:
    """Run a pipeline and return its output, including standard error."""
    stages: list[list[str]] = [[]]
    for word in words:
        if word == "|":
            stages.append([])
        else:
            stages[-1].append(word)
    given: bytes | None = None
    errors = b""
    for stage in stages:
        done = _run(place, _check_command(place, stage), given)
        given, errors = done.stdout, errors + done.stderr
    return ((given or b"") + errors).decode("utf-8", "replace")


def _run(place: Place, stage: list[str], given: bytes | None) -> subprocess.CompletedProcess[bytes]:
    given_from = subprocess.DEVNULL if given is None else subprocess.PIPE
    environment = {"PATH": os.environ["PATH"]}
    started = subprocess.Popen(
        stage, cwd=place.tree, env=environment, stdin=given_from, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        shown, errors = started.communicate(given, timeout=TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired as expired:
        started.kill()
        started.communicate()
        raise CommandRefused(f"{stage[0]} took more than {TIMEOUT_SECONDS} s") from expired
    return subprocess.CompletedProcess(stage, started.returncode, shown, errors)


def _check_command(place: Place, stage: list[str]) -> list[str]:
    """Expand the wildcards of a command.

    Raise `CommandRefused` if the command could do more than read the task's files.
    """
    if not stage or stage[0] not in COMMANDS:
        raise CommandRefused(
            f"only these commands are available: {', '.join(COMMANDS)}; quote a pipeline as one argument"
        )
    name, *arguments = stage
    for argument in arguments:
        if any(argument == refused or argument.startswith(f"{refused}=") for refused in _REFUSED_OPTIONS.get(name, ())):
            raise CommandRefused(f"{name} {argument} is not allowed")
        if not _is_inside(place, argument):
            raise CommandRefused(f"{argument} is outside the repository")
    if name == "sed":
        scripts = [argument for argument in arguments if not argument.startswith("-")][:1]
        if "-n" not in arguments or not scripts or not _SED.fullmatch(scripts[0]):
            raise CommandRefused("sed may only print line ranges: sed -n 10,40p FILE")
    return [_program_path(name), *_expand_wildcards(place, name, arguments)]


def _is_inside(place: Place, argument: str) -> bool:
    """Return whether an argument is a path in the source tree or in the transcripts, or no existing path."""
    if ".." not in argument and not argument.startswith("/"):
        return True
    target = (place.tree / argument).resolve()
    allowed = (place.tree.resolve(), place.tree.parent.resolve() / "sessions")
    return (
        any(target == root or root in target.parents for root in allowed) or not target.exists()
    )  # The argument is a pattern, not a path.


def _expand_wildcards(place: Place, name: str, arguments: list[str]) -> list[str]:
    """Expand wildcards in file arguments as a shell would; leave search patterns unchanged."""
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


def _program_path(name: str) -> str:
    if name == "rg":
        return os.environ.get("DELTOS_TRIALS_RG") or shutil.which("rg") or _raise_missing_rg()
    return name


def _raise_missing_rg() -> str:
    raise CommandRefused("rg is not installed. Set DELTOS_TRIALS_RG to its path, or use grep -rn.")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--session", type=Path, help="session folder; the first word is then the task id")
    parser.add_argument("--tree", type=Path)
    parser.add_argument("--log", type=Path)
    parser.add_argument("words", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    words = given.words
    if given.session and len(words) < 2:
        parser.error("usage: look TASK COMMAND …")
    if not given.session and not (given.tree and given.log):
        parser.error("pass either --session, or both --tree and --log")
    try:
        place = place_of(given.session, words.pop(0)) if given.session else Place("look", given.tree, given.log)
    except CommandRefused as refused:
        print(f"look: {refused}")
        return 1
    sys.stdout.write(look(place, words))
    return 0


if __name__ == "__main__":
    sys.exit(main())
