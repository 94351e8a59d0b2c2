"""Write the prompt for an agent: the tasks, the setup, and the command with which the agent reads files."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from typing import TYPE_CHECKING

from benchmarks.agents.peers import PEERS, index
from benchmarks.agents.server import Server
from benchmarks.agents.tasks import FORMS
from benchmarks.agents.trees import environment, product_command, repositories
from benchmarks.paths import REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.agents.tasks import Task

# Arguments of the server in each setup, or None for a setup without a server.
SETUPS: dict[str, tuple[str, ...] | None] = {
    "grep": None,
    "deltos": ("mcp",),
    "lean": ("mcp", "--profile", "lean"),
    **{name: peer.serving for name, peer in PEERS.items()},
}

_HEAD = """\
# {count} questions about repositories

You are a coding agent. Below are {count} questions about repositories that you have not seen. Answer them in
order.

**The only way to look at a repository is this command**, run in your shell:

    {look} TASK COMMAND …

It runs read-only in the repository of that task and prints what it shows; everything it prints is counted, and so is
every call. Do not
open the repositories' files in any other way, do not look at other folders, do not search the web, write no scripts
that loop over it, and do
not answer from memory: names and code may differ from what you know. Work as you would for a user who pays for the
tokens: look as
little as you need to be sure, and no less.

Commands: `grep`, `rg`, `cat`, `sed -n A,Bp FILE`, `head`, `tail`, `ls`, `find`, `wc`, `sort`, `uniq`, `cut`, `nl`.
Paths are relative to the
repository. A pipe goes into one quoted argument: `{look} t01 "rg -n foo src | head -20"`. Output is cut after 30,000
characters. Transcripts of earlier sessions about a repository, if there are any, are in `../sessions` as JSON
lines; installed
packages, if a question is about them, are in `.venv/lib/python3.11/site-packages`.
"""

_TOOLS = """\

You also have the tools of {title}. Prefer them where they apply, and use the commands above for
the rest. Call a
tool with its arguments as JSON:

    {look} t01 {server} {example}

Instructions and tools of the server:

```
{listed}
```
"""

_DELTOS = """\
**Deltos**, a context server that has indexed each repository (code, references,
documentation of installed
packages, API descriptions, memory of earlier sessions)"""
_EXAMPLE = """search_code '{"query": "where sessions expire"}'"""
_PEER = "**{title}**, a server that has indexed the code of each repository"

_TAIL = """\

Write your answers into `{answers}`: one JSON object, `{{"t01": "…", "t02": "…"}}`, each value being the text
after `ANSWER:` in the form of the question. Write the file after each task, so that nothing is lost. At the
end, name the information that you could not find, useless output, and missing output of the commands or tools (two
sentences per task at most).

## The questions
"""


def write_prompt(tasks: Sequence[Task], setup: str, folder: Path, server: Sequence[str] = ()) -> Path:
    """Create a folder for an agent with PROMPT.md, the command `look` and session.json.

    session.json contains the paths of the repositories.
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    numbered = {f"t{number:02}": task for number, task in enumerate(tasks, start=1)}
    command = [*(server or product_command()), *(SETUPS[setup] or ())]
    session = {
        "setup": setup,
        "server": command,
        "tasks": {name: str(_repository_folder(folder, task, setup, server)) for name, task in numbered.items()},
        "homes": {name: str(_copy_home(folder, task, setup)) for name, task in numbered.items()},
        "ids": {name: task.id for name, task in numbered.items()},
    }
    (folder / "session.json").write_text(json.dumps(session, indent=1), "utf-8")
    look = _write_look_command(folder)
    prompt = folder / "PROMPT.md"
    prompt.write_text(_prompt_text(numbered, setup, folder, look, command), "utf-8")
    return prompt


def _copy_home(folder: Path, task: Task, setup: str) -> Path:
    """Copy the repository's data folder, so that agents do not affect each other."""
    copy = folder / "homes" / task.repository
    if setup in ("deltos", "lean") and not copy.exists():
        shutil.copytree(repositories()[task.repository].home, copy)
    return copy


def _repository_folder(folder: Path, task: Task, setup: str, server: Sequence[str]) -> Path:
    """Return the folder of a repository.

    Servers other than Deltos get a copy, because they store their index in the tree.
    """
    repository = repositories()[task.repository]
    if setup not in PEERS:
        return repository.folder
    copy = folder / "repositories" / task.repository
    if not copy.exists():
        shutil.copytree(repository.tree, copy / "tree", symlinks=True)
        if repository.sessions.exists():
            shutil.copytree(repository.sessions, copy / "sessions")
        index(PEERS[setup], server, copy / "tree")
    return copy


def _write_look_command(folder: Path) -> Path:
    look = folder / "look"
    kept = {name: os.environ[name] for name in ("DELTOS_TRIALS_RG",) if name in os.environ}
    settings = " ".join(
        f"{name}={shlex.quote(value)}" for name, value in {**kept, "PYTHONPATH": str(REPOSITORY)}.items()
    )
    looking = f"{shlex.quote(sys.executable)} -m benchmarks.agents.look --session {shlex.quote(str(folder))}"
    look.write_text(f'#!/bin/sh\nexec env {settings} {looking} "$@"\n')
    look.chmod(0o755)
    return look


def _prompt_text(numbered: dict[str, Task], setup: str, folder: Path, look: Path, command: list[str]) -> str:
    parts = [_HEAD.format(count=len(numbered), look=look)]
    if setup != "grep":
        peer = PEERS.get(setup)
        first = repositories()[next(iter(numbered.values())).repository]
        tree = folder / "repositories" / first.name / "tree" if peer else first.tree
        server = Server(command, tree, environment(first))
        title, example = (_PEER.format(title=peer.title), peer.example) if peer else (_DELTOS, _EXAMPLE)
        listed = server.listed.replace("},{", "},\n{")
        parts.append(
            _TOOLS.format(title=title, look=look, server=setup if peer else "deltos", example=example, listed=listed)
        )
        server.end()
    parts.append(_TAIL.format(answers=folder / "answers.json"))
    parts += [f"\n**{name}** {task.question} Answer: {FORMS[task.form]}.\n" for name, task in numbered.items()]
    return "".join(parts)
