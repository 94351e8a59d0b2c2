"""Detect the format of a file or folder (Deltos JSON Lines, or data of another memory program), and import the data."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeAlias

from deltos.domains.memory.core.transfer import import_lines, import_records
from deltos.domains.memory.importers import basic_memory, claude_mem, mcp_memory_service
from deltos.domains.memory.importers.records import ImportedRecord
from deltos.files import FileTree, read_own

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from deltos.domains.memory.core.memory import Memory
    from deltos.domains.memory.core.transfer import ImportReport
    from deltos.domains.memory.importers.records import ImportItem

    OpenTables: TypeAlias = Callable[[Path], AbstractContextManager[claude_mem.ClaudeMemTables]]

_SQLITE_HEADER = b"SQLite format 3\0"
_MAX_DOCUMENT_BYTES = 200_000_000
_MAX_HEAD_BYTES = 65_536


def import_path(
    memory: Memory,
    path: Path,
    *,
    lines: Iterable[str],
    project_id: str,
    overrides_project: bool,
    open_tables: OpenTables,
    report: ImportReport,
) -> None:
    """Import a file or folder in any supported format.

    Records without a project are stored in `project_id`; if `overrides_project` is set, all records of another program
    are stored in `project_id`. `lines` contains the lines of the file; it is used if the format is JSON Lines.
    """
    if path.is_dir():
        found = basic_memory.read_items(path.resolve(), memory.clock())
        import_records(memory, found, project_id=project_id, report=report)
        return
    if not path.is_file():  # a pipe can be read only once, so the format cannot be detected
        import_lines(memory, lines, project_id=project_id, report=report)
        return
    head = _read_head(path)
    if head.startswith(_SQLITE_HEADER):
        with open_tables(path.resolve()) as tables:
            found = _assign_projects(memory, claude_mem.read_items(tables), project_id if overrides_project else "")
            import_records(memory, found, project_id=project_id, report=report)
            import_records(memory, mcp_memory_service.read_tables(tables), project_id=project_id, report=report)
        return
    document = _single_document(path, head)
    if claude_mem.is_export(document):
        exported = claude_mem.ExportedTables(document)
        found = _assign_projects(memory, claude_mem.read_items(exported), project_id if overrides_project else "")
        import_records(memory, found, project_id=project_id, report=report)
    elif mcp_memory_service.is_export(document):
        import_records(memory, mcp_memory_service.read_export(document), project_id=project_id, report=report)
    else:
        import_lines(memory, lines, project_id=project_id, report=report)


def _read_head(path: Path) -> bytes:
    """Return the beginning of a file."""
    real = path.resolve()
    with FileTree(real.parent) as tree:
        return tree.read_head(real.name, _MAX_HEAD_BYTES)


def _single_document(path: Path, head: bytes) -> object:
    """Return the JSON document that a file contains, or None if it contains JSON Lines."""
    first, _, more = head.partition(b"\n")
    if more.lstrip()[:1] == b"{" and _parse_json(first) is not None:
        return None
    if head.lstrip()[:1] not in (b"{", b"["):
        return None
    return _parse_json(read_own(path, _MAX_DOCUMENT_BYTES))


def _parse_json(raw: bytes) -> object:
    try:
        return json.loads(raw.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _assign_projects(memory: Memory, found: Iterable[ImportItem], project_id: str) -> Iterator[ImportItem]:
    """Assign a memory project to each imported item, found by the folder name in the record.

    All records get `project_id` if it is set.
    """
    known: dict[str, set[str]] = {}
    for row in memory.store.projects():
        for name in (row.root.rpartition("/")[2], row.project_id.rpartition("/")[2]):
            known.setdefault(name.casefold(), set()).add(row.project_id)
    for one in found:
        if isinstance(one, ImportedRecord):
            given = str(one.record.get("project_id", ""))
            candidates = known.get(given.casefold(), set()) - {""}
            chosen = project_id or (next(iter(candidates)) if len(candidates) == 1 else given)
            yield one._replace(record={**one.record, "project_id": chosen})
        else:
            yield one
