"""`deltos doctor`: is everything that Deltos needs in order?"""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from deltos.cli.command import add_verb, print_json
from deltos.config import Config
from deltos.store.private import is_open_to_others, make_private_folder, write_private

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.cli.command import Subparsers

_REBUILT = "It is set aside and built again when it is next used."
_ADVICE = {
    "library.db": "It is set aside when it is next used; then add the sources again.",
    "memory.db": "Run `deltos memory check`: it sets the file aside and brings back what can still be read.",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    detail: str


def add_commands(subparsers: Subparsers) -> None:
    """Add `doctor`."""
    add_verb(subparsers, "doctor", _doctor, "check versions, folders, indexes and grammars")


def _doctor(arguments: argparse.Namespace) -> int:
    healthy = True
    for finding in examine(Config.from_environment().home):
        healthy &= finding.ok
        if arguments.json:
            print_json(asdict(finding))
        else:
            print(f"{'ok  ' if finding.ok else 'BAD '} {finding.what}: {finding.detail}")
    return 0 if healthy else 1


def examine(home: Path) -> Iterator[Finding]:
    """Everything worth knowing, one finding at a time."""
    python = f"Python {platform.python_version()} on {sys.platform}"
    yield Finding("deltos", ok=True, detail=f"{_version('deltos')}, {python}")
    yield _sqlite()
    yield Finding("mcp", ok=_version("mcp") != "", detail=_version("mcp") or "not installed")
    yield _data_folder(home)
    yield _grammars()
    yield from _indexes(home)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _sqlite() -> Finding:
    from deltos.store.sqlite.database import describe_engine

    version, has_fts5 = describe_engine()
    detail = f"{version} with FTS5" if has_fts5 else f"{version} without FTS5; use another Python build"
    return Finding("sqlite", ok=has_fts5, detail=detail)


def _data_folder(home: Path) -> Finding:
    probe = home / ".writable"
    try:
        make_private_folder(home)
        write_private(probe, "")
        probe.unlink()
    except OSError as exc:
        return Finding("data folder", ok=False, detail=f"{home}: {exc.strerror}; set DELTOS_HOME to a writable folder")
    if is_open_to_others(home):
        advice = "other users can see what it contains; set DELTOS_HOME to a folder of its own"
        return Finding("data folder", ok=True, detail=f"{home}: {advice}")
    return Finding("data folder", ok=True, detail=str(home))


def _grammars() -> Finding:
    from deltos.languages.grammar import self_test  # deferred: loads every grammar
    from deltos.languages.table import LANGUAGES

    problems = self_test()
    count = sum(bool(language.grammar) for language in LANGUAGES)
    return Finding("grammars", ok=not problems, detail="; ".join(problems) or f"all {count} load and parse")


def _unread(path: Path) -> list[str]:
    """What an index knows to be missing from it."""
    from deltos.store.history import HISTORY_SUMMARY
    from deltos.store.sqlite.apis import glance_unread
    from deltos.store.sqlite.library import FILE_NAME
    from deltos.store.sqlite.project import glance
    from deltos.workspace.failures import summaries

    if path.name == FILE_NAME:
        return [f"{row.document} could not be read: {row.reason}" for row in glance_unread(path)]
    seen = glance(path) if path.parent.name == "projects" else None
    if seen is None:
        return []
    history = seen.facts.get(HISTORY_SUMMARY, "")
    return [*summaries(seen.failures), *([f"history: {history}"] if history else [])]


def _indexes(home: Path) -> Iterator[Finding]:
    from deltos.errors import DeltosError
    from deltos.store.sqlite.database import check_file

    files = [(path, _REBUILT) for path in sorted((home / "projects").glob("*.db"))]
    files += [(home / name, advice) for name, advice in _ADVICE.items() if (home / name).exists()]
    for path, advice in files:
        try:
            problems = check_file(path)
        except DeltosError as exc:
            problems = [exc.message]
        detail = f"{'; '.join(problems)}. {advice}" if problems else "; ".join(["sound", *_unread(path)])
        yield Finding(f"index {path.name}", ok=not problems, detail=detail)
    for path in sorted(home.glob("**/*.corrupt-*")):
        if not path.name.endswith(("-wal", "-shm")):
            yield Finding(f"set aside {path.name}", ok=True, detail="damaged and replaced; delete it when you like")
