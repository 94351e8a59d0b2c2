"""Recursive listing of a folder in a stable order, without following symbolic links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.errors import FileRefused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.files import FileTree, FolderEntry


def walk_entries(
    tree: FileTree,
    *,
    top: str = "",
    enters: Callable[[FolderEntry], bool] = lambda _: True,
    refused: Callable[[str, str], None] = lambda _folder, _reason: None,
    deepest: int | None = None,
) -> Iterator[tuple[str, FolderEntry]]:
    """Yield the path and entry of each file and folder below `top`. Folders precede their contents.

    `refused` is called with the path of an unreadable or too deeply nested folder and the reason, and may raise an
    exception.
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
                refused(path, f"folders below {deepest} levels are not read")
            else:
                pending.append(path)
