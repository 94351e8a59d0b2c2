"""What all commands share: opening the application, adding verbs, printing results."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from deltos.cli.terminal import harmless_json
from deltos.config import Config
from deltos.errors import BadArgument

if TYPE_CHECKING:
    from deltos.app import App

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 (it has no public name)
Run = Callable[[argparse.Namespace], int]


@dataclass(frozen=True, slots=True)
class BatchQuery:
    """One line of a batch."""

    id: str
    query: str


def add_verb(subparsers: Subparsers, name: str, run: Run, summary: str) -> argparse.ArgumentParser:
    """A command with `--json`; `run` gets the parsed arguments and gives the exit code."""
    verb = subparsers.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
    verb.add_argument("--json", action="store_true", help="print JSON, one object per line, and nothing else")
    verb.set_defaults(run=run)
    return verb


def add_project(verb: argparse.ArgumentParser) -> None:
    """The option that says which project is meant."""
    verb.add_argument("--project", metavar="PATH", default=".", help="folder of the project; default: the current one")


@contextmanager
def opened_app(config: Config | None = None) -> Iterator[App]:
    """The application for one command, closed afterwards; configured by the environment unless told otherwise."""
    from deltos.app import App  # deferred: commands that need no index start faster

    app = App(config or Config.from_environment())
    try:
        yield app
    finally:
        app.close()


def print_json(value: Any) -> None:
    """One line of JSON."""
    print(harmless_json(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))


def batch_queries(source: str) -> Iterable[BatchQuery]:
    """The `{"id", "query"}` lines of a file, or of standard input for `-`."""
    text = sys.stdin.read() if source == "-" else Path(source).read_text("utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            yield BatchQuery(row["id"], str(row["query"]))
        except (ValueError, TypeError, KeyError):
            raise BadArgument(
                f"Line {number} of the batch is not understood", hint='Each line is {"id": …, "query": …}.'
            ) from None
