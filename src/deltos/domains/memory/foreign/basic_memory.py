"""basic-memory: a folder of Markdown notes with a head, observations (`- [category] text #tag (context)`) and relations
(`- relates_to [[Other note]]`). Learned from basic-memory 0.24.1: basic_memory/markdown/plugins.py and
docs/NOTE-FORMAT.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.memory.foreign.record import Found, Refused, Taken, foreign_id, said, tagged
from deltos.errors import FileRefused
from deltos.files import FileTree
from deltos.folders import walk_entries
from deltos.text.times import iso, micros, parse_iso

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from pathlib import Path

SOURCE = "basic-memory"
_KINDS = {"decision": "decision", "preference": "preference"}
_LARGEST_NOTE = 1_000_000
_DEEPEST_FOLDER = 20
_MOST_NOTES = 100_000
_FEWEST_WORDS = 3


class _Note(NamedTuple):
    head: dict[str, str]
    body: list[str]


def found_in(folder: Path, now: datetime) -> Iterator[Found]:
    """The observations, relations and prose of all notes."""
    count = 0
    refused: list[Found] = []
    with FileTree(folder) as tree:
        for path, entry in walk_entries(
            tree,
            enters=lambda below: not below.name.startswith("."),
            refused=lambda place, reason: refused.append(Refused(place, reason)),
            deepest=_DEEPEST_FOLDER,
        ):
            if entry.is_folder or not entry.name.endswith(".md"):
                continue
            count += 1
            if count > _MOST_NOTES:
                yield Refused(path, f"more than {_MOST_NOTES:,} notes; the rest is not looked at")
                break
            yield from _found_in_note(tree, path, min(entry.mtime_ns // 1_000, micros(now)))
    yield from refused


def _found_in_note(tree: FileTree, path: str, modified_at: int) -> Iterator[Found]:
    try:
        note = _parsed(tree.read(path, _LARGEST_NOTE).decode("utf-8", "replace"))
    except FileRefused as exc:
        yield Refused(path, exc.reason)
        return
    told = list(_told(note, path, modified_at))
    if told:
        yield from told
    else:
        yield Refused(path, "a note without observations, relations or text")


def _told(note: _Note, path: str, modified_at: int) -> Iterator[Taken]:
    title = said(note.head.get("title", "")) or path.rpartition("/")[2].removesuffix(".md")
    key = note.head.get("permalink") or path
    created = note.head.get("created") or note.head.get("date") or ""
    shared = {"source": f"{SOURCE}, {path}", "created_at": created if parse_iso(created) else iso(modified_at)}
    prose: list[str] = []
    for line in _with_fences(note.body, prose):
        item = line.strip().removeprefix("- ").removeprefix("* ").strip()
        if category := _category(item):
            text, kind = f"{title}: {said(item)}", _KINDS.get(category.lower(), "finding")
        elif relation := _relation(item):
            text, kind = f"{title} {said(relation)}", "finding"
        else:
            prose.append(line)
            continue
        yield Taken(path, {"id": foreign_id(SOURCE, key, item), "text": text, "kind": kind, **shared})
    text = "\n".join(line for line in prose if line.strip() and not _is_heading(line))
    if len(text.split()) >= _FEWEST_WORDS:
        whole = tagged(f"{title}\n{text}", _tags(note.head.get("tags", "")))
        yield Taken(path, {"id": foreign_id(SOURCE, key, ""), "text": whole, "kind": "reference", **shared})


def _with_fences(body: list[str], prose: list[str]) -> Iterator[str]:
    """The items of lists outside of code; everything else goes to `prose`."""
    in_code = False
    for line in body:
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
            prose.append(line)
        elif not in_code and line.lstrip().startswith(("- ", "* ")):
            yield line
        else:
            prose.append(line)


def _parsed(text: str) -> _Note:
    """The head and the lines after it. The head is read line by line: what is nested there is not needed."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].strip() != "---" or "---" not in (line.strip() for line in lines[1:]):
        return _Note({}, lines)
    end = next(number for number, line in enumerate(lines[1:], start=1) if line.strip() == "---")
    head: dict[str, str] = {}
    name = ""
    for line in lines[1:end]:
        if line.lstrip().startswith("- ") and name:  # a list below its name
            head[name] = ", ".join(filter(None, (head[name], line.strip()[2:])))
        elif ":" in line and not line.startswith((" ", "\t")):
            name, _, value = line.partition(":")
            name = name.strip()
            head[name] = value.strip().strip("'\"")
    return _Note(head, lines[end + 1 :])


def _category(item: str) -> str:
    """The category of an observation; empty for tasks, times and links, which look alike."""
    if not item.startswith("[") or item.startswith("[["):
        return ""
    category, closing, said = item[1:].partition("]")
    category = category.strip()
    is_task = len(category) < 2 and (category in ("", "x", "X") or not category.isalnum())
    is_time = category.replace(":", "").replace(".", "").replace(" - ", "").isdecimal() and ":" in category
    odd = any(mark in category for mark in "[()")
    return (
        category
        if closing and said.startswith((" ", "\t")) and said.strip() and not (is_task or is_time or odd)
        else ""
    )


def _relation(item: str) -> str:
    """A relation as words; empty where a link only stands in a sentence."""
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


def _tags(text: str) -> list[str]:
    return [tag.strip().strip("'\"") for tag in text.strip("[]").split(",") if tag.strip()]
