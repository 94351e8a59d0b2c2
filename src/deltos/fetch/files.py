"""Access to local documentation files in the allowed folders. Links are not followed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import may_read, visible_location
from deltos.errors import AddressRefused, BadArgument, FileRefused, NotFound
from deltos.files import LINK, FileTree, read_below
from deltos.folder_walk import walk_entries

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from deltos.files import FolderEntry

MAX_FILE_BYTES = 20_000_000
# Maximum size of an API description. It is high, because even a large API has a single description file.
MAX_DESCRIPTION_BYTES = 100_000_000
SKIPPED_FOLDERS = frozenset(("node_modules", "__pycache__", "venv", ".venv", "site-packages", "_sources", "_static"))
# Template folders of Sphinx, Jekyll and themes; the files in them are not pages.
TEMPLATE_FOLDERS = frozenset(("_templates", "_template", "_layouts", "_themes", "_theme"))
TEMPLATE = "in a template folder"
_MAX_SHOWN_CHARACTERS = 200  # maximum length of a path in an error message


def allowed_path(path: Path, roots: Sequence[Path]) -> Path:
    """Return the resolved path of a file or folder below one of `roots`. Raise an error if the path is elsewhere."""
    shown_path = visible_location(str(path))[:_MAX_SHOWN_CHARACTERS]
    try:
        real = path.expanduser().resolve()
        is_allowed = may_read(real) and any(real.is_relative_to(root.resolve()) for root in roots)
        exists = is_allowed and real.exists()
    except (OSError, RuntimeError, ValueError):  # path too long, symlink loop, `~` of an unknown user, or NUL byte
        raise BadArgument(f"'{shown_path}' is not a valid path", hint="Pass the path of a file or folder.") from None
    if not is_allowed:
        raise AddressRefused(
            f"{shown_path} is outside the folders that may be read",
            hint="Start the client in its folder, add that folder to DELTOS_DOCS_ROOTS, or use the command line:"
            " deltos docs add.",
        )
    if not exists:
        raise NotFound(
            f"No such file or folder: {shown_path}", hint="Check the path. Relative paths start at the project folder."
        )
    return real


def walk_files(root: Path, suffixes: Collection[str], *, with_hidden: bool = False) -> Iterator[str]:
    """Yield the paths of files below `root` with one of `suffixes`, in a stable order.

    Hidden folders are entered only if `with_hidden` is set. Links (even to folders) and special files are included, so
    that the caller can report them.
    """
    with FileTree(root) as tree:
        enters = _is_searched_or_hidden if with_hidden else _is_searched
        walked = walk_entries(tree, enters=enters, refused=_refuse_root)
        yield from (path for path, entry in walked if _has_suffix(entry, suffixes))


def _refuse_root(folder: str, reason: str) -> None:
    """Raise FileRefused if the root folder cannot be read. Unreadable subfolders are skipped."""
    if not folder:
        raise FileRefused(folder, reason)


def _has_suffix(entry: FolderEntry, suffixes: Collection[str]) -> bool:
    if entry.is_folder:
        return False
    suffix = Path(entry.name).suffix.lower()
    return suffix in suffixes or (entry.is_link and not suffix and not entry.name.startswith("."))


def _is_searched(entry: FolderEntry) -> bool:
    """Whether a folder is searched for documentation. Hidden, dependency and generated folders are left out."""
    return entry.is_folder and not entry.name.startswith(".") and entry.name not in SKIPPED_FOLDERS


def _is_searched_or_hidden(entry: FolderEntry) -> bool:
    return entry.is_folder and entry.name not in SKIPPED_FOLDERS and entry.name != ".git"


def is_hidden(path: str) -> bool:
    """Whether a relative path contains a hidden folder."""
    return any(folder.startswith(".") for folder in path.split("/")[:-1])


def is_template(path: str) -> bool:
    """Whether a relative path contains a template folder."""
    return not TEMPLATE_FOLDERS.isdisjoint(path.split("/")[:-1])


def read_file(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return the content of a regular file. Raise FileRefused for links and special files."""
    return read_below(path.parent, path.name, max_bytes)


def check_unmoved(root: Path) -> None:
    """Raise FileRefused if a resolved path now contains a link."""
    try:
        is_same = root.resolve() == root
    except (OSError, RuntimeError):
        is_same = False
    if not is_same:
        raise FileRefused(root.name, LINK)
