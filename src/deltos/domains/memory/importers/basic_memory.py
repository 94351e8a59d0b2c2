"""Read folders of basic-memory: Markdown notes with front matter, observations (`- [category] text #tag (context)`) and
relations (`- relates_to [[Other note]]`).

The format is that of basic-memory 0.24.1: basic_memory/markdown/plugins.py and docs/NOTE-FORMAT.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.memory.importers.records import (
    ImportedRecord,
    ImportItem,
    RejectedRecord,
    append_tags,
    redacted,
    stable_id,
)
from deltos.errors import FileRefused
from deltos.files import FileTree
from deltos.folder_walk import walk_entries
from deltos.text.times import iso, micros, parse_iso

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

SOURCE = "basic-memory"
_KINDS = {"decision": "decision", "preference": "preference"}
_MAX_NOTE_BYTES = 1_000_000
_MAX_FOLDER_DEPTH = 20
_MAX_NOTES = 100_000
_MIN_PROSE_WORDS = 3


class _Note(NamedTuple):
    """The front matter of a note, and the lines of its body."""

    head: dict[str, str]
    body: list[str]


def read_items(folder: Path, now: datetime) -> Iterator[ImportItem]:
    """Yield the observations, relations and prose of all notes below a folder."""
    count = 0
    rejected: list[ImportItem] = []
    with FileTree(folder) as tree:
        for path, entry in walk_entries(
            tree,
            enters=lambda below: not below.name.startswith("."),
            refused=lambda place, reason: rejected.append(RejectedRecord(place, reason)),
            deepest=_MAX_FOLDER_DEPTH,
        ):
            if entry.is_folder or not entry.name.endswith(".md"):
                continue
            count += 1
            if count > _MAX_NOTES:
                yield RejectedRecord(path, f"more than {_MAX_NOTES:,} notes; the others are ignored")
                break
            yield from _read_note(tree, path, min(entry.mtime_ns // 1_000, micros(now)))
    yield from rejected


def _read_note(tree: FileTree, path: str, modified_at: int) -> Iterator[ImportItem]:
    """Yield the records of one note, or a RejectedRecord if the note cannot be read."""
    try:
        note = _parse_note(tree.read(path, _MAX_NOTE_BYTES).decode("utf-8", "replace"))
    except FileRefused as exc:
        yield RejectedRecord(path, exc.reason)
        return
    records = list(_note_records(note, path, modified_at))
    if records:
        yield from records
    else:
        yield RejectedRecord(path, "a note without observations, relations or text")


def _note_records(note: _Note, path: str, modified_at: int) -> Iterator[ImportedRecord]:
    """Yield a record for each observation and relation of a note, and one for its prose."""
    title = redacted(note.head.get("title", "")) or path.rpartition("/")[2].removesuffix(".md")
    key = note.head.get("permalink") or path
    created = note.head.get("created") or note.head.get("date") or ""
    shared = {"source": f"{SOURCE}, {path}", "created_at": created if parse_iso(created) else iso(modified_at)}
    prose: list[str] = []
    for line in _list_items(note.body, prose):
        item = line.strip().removeprefix("- ").removeprefix("* ").strip()
        if category := _category_of(item):
            text, kind = f"{title}: {redacted(item)}", _KINDS.get(category.lower(), "finding")
        elif relation := _describe_relation(item):
            text, kind = f"{title} {redacted(relation)}", "finding"
        else:
            prose.append(line)
            continue
        yield ImportedRecord(path, {"id": stable_id(SOURCE, key, item), "text": text, "kind": kind, **shared})
    text = "\n".join(line for line in prose if line.strip() and not _is_heading(line))
    if len(text.split()) >= _MIN_PROSE_WORDS:
        text_with_tags = append_tags(f"{title}\n{text}", _tags_in(note.head.get("tags", "")))
        yield ImportedRecord(
            path, {"id": stable_id(SOURCE, key, ""), "text": text_with_tags, "kind": "reference", **shared}
        )


def _list_items(body: list[str], prose: list[str]) -> Iterator[str]:
    """Yield list items outside code blocks; other lines are appended to `prose`."""
    in_code = False
    for line in body:
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
            prose.append(line)
        elif not in_code and line.lstrip().startswith(("- ", "* ")):
            yield line
        else:
            prose.append(line)


def _parse_note(text: str) -> _Note:
    """Split a note into front matter and body; nested mappings in the front matter are ignored."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---" or "---" not in (line.strip() for line in lines[1:]):
        return _Note({}, lines)
    end = next(number for number, line in enumerate(lines[1:], start=1) if line.strip() == "---")
    head: dict[str, str] = {}
    name = ""
    for line in lines[1:end]:
        if line.lstrip().startswith("- ") and name:  # item of a YAML list such as `tags:`
            head[name] = ", ".join(filter(None, (head[name], line.strip()[2:])))
        elif ":" in line and not line.startswith((" ", "\t")):
            name, _, value = line.partition(":")
            name = name.strip()
            head[name] = value.strip().strip("'\"")
    return _Note(head, lines[end + 1 :])


def _category_of(item: str) -> str:
    """Return the category of an observation item, or an empty string for tasks, times and links, which look similar."""
    if not item.startswith("[") or item.startswith("[["):
        return ""
    category, closing, rest = item[1:].partition("]")
    category = category.strip()
    is_task = len(category) < 2 and (category in ("", "x", "X") or not category.isalnum())
    is_time = category.replace(":", "").replace(".", "").replace(" - ", "").isdecimal() and ":" in category
    odd = any(mark in category for mark in "[()")
    return (
        category
        if closing and rest.startswith((" ", "\t")) and rest.strip() and not (is_task or is_time or odd)
        else ""
    )


def _describe_relation(item: str) -> str:
    """Return a list item with a relation as a phrase, or an empty string if its link is part of a sentence."""
    before, opening, rest = item.partition("[[")
    target, closing, after = rest.partition("]]")
    kind = before.strip().strip("'\"")
    is_word = kind and (not any(map(str.isspace, kind)) or before.strip()[:1] in "'\"")
    after = after.strip()
    if not (opening and closing and is_word and target.strip()) or (
        after and not (after[0] == "(" and after[-1] == ")")
    ):
        return ""
    return " ".join(filter(None, (kind.replace("_", " "), target.strip(), after)))


def _is_heading(line: str) -> bool:
    return line.lstrip().startswith("#") and line.lstrip().lstrip("#").startswith(" ")


def _tags_in(text: str) -> list[str]:
    return [tag.strip().strip("'\"") for tag in text.strip("[]").split(",") if tag.strip()]
