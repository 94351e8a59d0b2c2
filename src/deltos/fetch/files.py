"""Local documentation: which files of an allowed folder are read, and never one outside of it. No link below the folder
is followed: what it leads to is read at its own place, or is none of ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import may_read, told
from deltos.errors import AddressRefused, BadArgument, FileRefused, NotFound
from deltos.files import LINK, FileTree, read_below
from deltos.folders import walk_entries

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from deltos.files import Entry

MAX_FILE_BYTES = 20_000_000
MAX_DESCRIPTION_BYTES = 100_000_000  # an API description is one file, however large the API
SKIPPED_FOLDERS = frozenset(("node_modules", "__pycache__", "venv", ".venv", "site-packages", "_sources", "_static"))
# Of Sphinx, Jekyll and themes: what pages are made with, and none itself.
TEMPLATE_FOLDERS = frozenset(("_templates", "_template", "_layouts", "_themes", "_theme"))
TEMPLATE = "in a folder of templates"
_SHOWN_CHARACTERS = 200


def allowed_path(path: Path, roots: Sequence[Path]) -> Path:
    """The real path of an existing file or folder below one of `roots`; refuses everything else."""
    shown = told(str(path))[:_SHOWN_CHARACTERS]
    try:
        real = path.expanduser().resolve()
        is_allowed = may_read(real) and any(real.is_relative_to(root.resolve()) for root in roots)
        exists = is_allowed and real.exists()
    except (OSError, RuntimeError, ValueError):  # too long, a loop of links, `~` of an unknown user, a zero byte
        raise BadArgument(f"'{shown}' is no path", hint="Give the path of a file or folder.") from None
    if not is_allowed:
        raise AddressRefused(
            f"{shown} is outside of the folders that may be read",
            hint="Start the client in its folder, add that to DELTOS_DOCS_ROOTS, or add it from the command line:"
            " deltos docs add.",
        )
    if not exists:
        raise NotFound(f"No such file or folder: {shown}", hint="Check the path; a relative one starts at the project.")
    return real


def walk_files(root: Path, suffixes: Collection[str], *, with_hidden: bool = False) -> Iterator[str]:
    """Paths below the real folder `root` with one of `suffixes`, in a stable order; in hidden folders only if told so.

    Links, pipes and the like are among them, so that whoever reads them counts them; a link may be to a folder.
    """
    with FileTree(root) as tree:
        enters = _is_entered_or_hidden if with_hidden else is_entered
        walked = walk_entries(tree, enters=enters, refused=_refuse_root)
        yield from (path for path, entry in walked if _is_wanted(entry, suffixes))


def _refuse_root(folder: str, reason: str) -> None:
    """A folder below that cannot be listed is passed over; the one that was added cannot be."""
    if not folder:
        raise FileRefused(folder, reason)


def _is_wanted(entry: Entry, suffixes: Collection[str]) -> bool:
    if entry.is_folder:
        return False
    suffix = Path(entry.name).suffix.lower()
    return suffix in suffixes or (entry.is_link and not suffix and not entry.name.startswith("."))


def is_entered(entry: Entry) -> bool:
    """Whether a folder may hold documentation of its own."""
    return entry.is_folder and not entry.name.startswith(".") and entry.name not in SKIPPED_FOLDERS


def _is_entered_or_hidden(entry: Entry) -> bool:
    return entry.is_folder and entry.name not in SKIPPED_FOLDERS and entry.name != ".git"


def is_hidden(path: str) -> bool:
    """Whether a path below a source leads through a hidden folder."""
    return any(folder.startswith(".") for folder in path.split("/")[:-1])


def is_template(path: str) -> bool:
    """Whether a path below a source leads through a folder of templates."""
    return not TEMPLATE_FOLDERS.isdisjoint(path.split("/")[:-1])


def read_file(path: Path, max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """The bytes of a regular file whose folder is known to be no link; refuses everything else."""
    return read_below(path.parent, path.name, max_bytes)


def check_unmoved(root: Path) -> None:
    """Refuse a path that was real when it was recorded and that a link leads elsewhere by now."""
    try:
        is_same = root.resolve() == root
    except (OSError, RuntimeError):
        is_same = False
    if not is_same:
        raise FileRefused(root.name, LINK)
