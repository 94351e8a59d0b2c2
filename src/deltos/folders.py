"""The one walk through a folder: what lies below it, in a stable order, no link followed. Whoever walks says what is
entered, and is told of every folder that was not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.errors import FileRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.files import Entry, FileTree


def walk_entries(
    tree: FileTree,
    *,
    top: str = "",
    enters: Callable[[Entry], bool] = lambda _: True,
    refused: Callable[[str, str], None] = lambda _folder, _reason: None,
    deepest: int | None = None,
) -> Iterator[tuple[str, Entry]]:
    """The path and entry of everything below `top`, each folder's own before what its folders hold.

    `refused` gets the path of a folder that could not be listed, or lies below `deepest` others, and the reason; it may
    raise.
    """
    pending = [top]
    while pending:
        folder = pending.pop()
        try:
            entries = tree.entries(folder)
        except FileRefused as exc:
            refused(folder, exc.reason)
            continue
        prefix = f"{folder}/" if folder else ""
        yield from ((prefix + entry.name, entry) for entry in entries)
        for entry in reversed(entries):
            path = prefix + entry.name
            if not entry.is_folder or not enters(entry):
                continue
            if deepest is not None and path.count("/") >= deepest:
                refused(path, f"a folder below {deepest} others is not looked at")
            else:
                pending.append(path)
