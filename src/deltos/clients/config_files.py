"""Functions that read, back up and atomically replace configuration files, preserving a byte order mark."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.errors import BadConfiguration, FileRefused, StoreUnwritable
from deltos.files import MISSING, read_own

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_BYTES = 20_000_000
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Original:
    """A file before editing. `path` has symbolic links resolved; `content` is None if the file does not exist."""

    path: Path
    content: bytes | None
    is_in_project: bool = False

    @property
    def text(self) -> str:
        """Text of the file without its byte order mark; raise BadConfiguration if it is not UTF-8."""
        try:
            return (self.content or b"").decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
        except UnicodeDecodeError as exc:
            raise BadConfiguration(f"byte {exc.start} is not UTF-8") from None

    def encode(self, text: str) -> bytes:
        """Encode new text as bytes, with the byte order mark of the original."""
        return (
            (_BYTE_ORDER_MARK if (self.content or b"").startswith(_BYTE_ORDER_MARK.encode()) else "") + text
        ).encode("utf-8")


def read(path: Path, *, project: Path | None = None) -> Original:
    """Read the file at `path`, which need not exist.

    Symbolic links are followed in the user's own folders but not in a `project`, where others may have created them.
    """
    real = path.resolve()
    if project is not None and real != project.resolve() / path.relative_to(project):
        raise BadConfiguration(f"{path} is a symbolic link, which is not followed in a project")
    try:
        return Original(real, read_own(real, MAX_BYTES), project is not None)
    except FileRefused as refused:
        if refused.reason == MISSING:
            return Original(real, None, project is not None)
        raise BadConfiguration(f"{path} cannot be read ({refused.reason})") from None


def remove(
    original: Original, *, keeps_copy: bool, outdated: Sequence[Path] = (), below: Path | None = None
) -> Path | None:
    """Delete a file, its `outdated` backups and the empty folders below `below`; return the new backup's path."""
    try:
        _refuse_if_changed(original)
        backup = _write_backup(original) if keeps_copy else None
        original.path.unlink(missing_ok=True)
    except OSError as exc:
        raise StoreUnwritable(
            f"{original.path} could not be removed ({exc.strerror})", hint="Check the folder's permissions."
        ) from None
    _remove_backups(outdated)
    if below is not None and backup is None:
        _remove_empty_folders(original.path.parent, below)
    return backup


def _remove_empty_folders(folder: Path, below: Path) -> None:
    with contextlib.suppress(OSError):  # the folder contains other files
        while folder != below and folder.is_relative_to(below):
            folder.rmdir()
            folder = folder.parent


def replace(
    original: Original, content: bytes, *, keeps_copy: bool = True, outdated: Sequence[Path] = ()
) -> Path | None:
    """Replace the file's content atomically, keep a backup in the same folder and return the backup's path."""
    try:
        original.path.parent.mkdir(parents=True, exist_ok=True)
        backup = _write_backup(original) if keeps_copy else None
        _write_atomically(original, content)
    except OSError as exc:
        raise StoreUnwritable(
            f"{original.path} could not be written ({exc.strerror})",
            hint="It was not changed. Check the folder's permissions.",
        ) from None
    _remove_backups(outdated)
    return backup


def backups_of(path: Path) -> list[Path]:
    """List the backups of a file, oldest first."""
    made = (_backup_name(path, number) for number in count(1))
    return [backup for backup in takewhile(Path.is_file, made) if not backup.is_symlink()]


def _remove_backups(outdated: Sequence[Path]) -> None:
    for backup in outdated:
        with contextlib.suppress(OSError):  # a backup that cannot be removed is kept and reported
            backup.unlink(missing_ok=True)


def _backup_name(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.deltos-{number}.bak")


def _write_backup(original: Original) -> Path | None:
    if original.content is None:
        return None
    names = (_backup_name(original.path, number) for number in count(1))
    backup = next(name for name in names if not name.exists())
    shutil.copy2(original.path, backup)
    return backup


def _write_atomically(original: Original, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{original.path.name}.", dir=original.path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _copy_attributes(original, temporary)
        _refuse_if_changed(original)
        Path(temporary).replace(original.path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _copy_attributes(original: Original, temporary: str) -> None:
    if original.content is None:
        if (
            original.is_in_project
        ):  # keep the mode, so that other users can still read the file, or a private file stays private
            Path(temporary).chmod(0o666 & ~_umask())
        return
    shutil.copymode(original.path, temporary)
    if hasattr(os, "chown"):
        status = original.path.stat()
        with contextlib.suppress(PermissionError):  # only root may change the owner
            os.chown(temporary, status.st_uid, status.st_gid)


def _umask() -> int:
    """Return the umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _refuse_if_changed(original: Original) -> None:
    """Raise BadConfiguration if the file changed after it was read, because clients also write their files."""
    if read(original.path).content != original.content:
        raise StoreUnwritable(f"{original.path} changed during the edit", hint="Run the command again.")
