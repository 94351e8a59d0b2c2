"""Tells what a file or folder is that memory should take in (our own JSON Lines, or what another program keeps), and
takes it in."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

from deltos.domains.memory.foreign import basic_memory, claude_mem, mem0
from deltos.domains.memory.foreign.record import Taken
from deltos.domains.memory.transfer import import_lines, import_records
from deltos.files import FileTree, read_own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from deltos.domains.memory.foreign.record import Found
    from deltos.domains.memory.memory import Memory
    from deltos.domains.memory.transfer import Imported

    OpenTables: TypeAlias = Callable[[Path], AbstractContextManager[claude_mem.Tables]]

_DATABASE = b"SQLite format 3\0"
_LARGEST_DOCUMENT = 200_000_000
_HEAD_BYTES = 65_536


def import_path(
    memory: Memory,
    path: Path,
    *,
    lines: Iterable[str],
    project_id: str,
    puts_all_there: bool,
    open_tables: OpenTables,
    report: Imported,
) -> None:
    """Take in what lies there. `project_id` is for what names no project, or with `puts_all_there` for all of it that
    comes from another program; `lines` are those of the file, for what proves to be JSON Lines."""
    if path.is_dir():
        found = basic_memory.found_in(path.resolve(), memory.clock())
        import_records(memory, found, project_id=project_id, report=report)
        return
    if not path.is_file():  # a pipe is read once, from its start
        import_lines(memory, lines, project_id=project_id, report=report)
        return
    head = _head(path)
    if head.startswith(_DATABASE):
        with open_tables(path.resolve()) as tables:
            found = _in_known_projects(memory, claude_mem.found_in(tables), project_id if puts_all_there else "")
            import_records(memory, found, project_id=project_id, report=report)
        return
    document = _document(path, head)
    if claude_mem.is_export(document):
        exported = claude_mem.ExportedTables(document)
        found = _in_known_projects(memory, claude_mem.found_in(exported), project_id if puts_all_there else "")
        import_records(memory, found, project_id=project_id, report=report)
    elif mem0.is_export(document):
        import_records(memory, mem0.found_in(document), project_id=project_id, report=report)
    else:
        import_lines(memory, lines, project_id=project_id, report=report)


def _head(path: Path) -> bytes:
    real = path.resolve()
    with FileTree(real.parent) as tree:
        return tree.read_head(real.name, _HEAD_BYTES)


def _document(path: Path, head: bytes) -> object:
    """The one JSON document that a file is; None where it is JSON Lines."""
    first, _, more = head.partition(b"\n")
    if more.lstrip()[:1] == b"{" and _json(first) is not None:
        return None
    if head.lstrip()[:1] not in (b"{", b"["):
        return None
    return _json(read_own(path, _LARGEST_DOCUMENT))


def _json(raw: bytes) -> object:
    try:
        return json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _in_known_projects(memory: Memory, found: Iterable[Found], project_id: str) -> Iterator[Found]:
    """Records whose project, of which only the folder's name was kept, is the one that memory knows by that name."""
    known: dict[str, set[str]] = {}
    for row in memory.store.projects():
        for name in (row.root.rpartition("/")[2], row.project_id.rpartition("/")[2]):
            known.setdefault(name.casefold(), set()).add(row.project_id)
    for one in found:
        if isinstance(one, Taken):
            given = str(one.record.get("project_id", ""))
            meant = known.get(given.casefold(), set()) - {""}
            chosen = project_id or (next(iter(meant)) if len(meant) == 1 else given)
            yield one._replace(record={**one.record, "project_id": chosen})
        else:
            yield one
