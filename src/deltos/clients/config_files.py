"""Read, back up and atomically replace configuration files. Byte order marks are preserved."""

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

MAX_BYTES = 20_000_000  # maximum size of a configuration file
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Original:
    """A configuration file before editing. `path` is resolved, and `content` is None if the file does not exist."""

    path: Path
    content: bytes | None
    is_in_project: bool = False

    @property
    def text(self) -> str:
        """Text of the file without the byte order mark. Raises BadConfiguration if the file is not UTF-8."""
        try:
            return (self.content or b"").decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
        except UnicodeDecodeError as exc:
            raise BadConfiguration(f"byte {exc.start} is not UTF-8") from None

    def encode(self, text: str) -> bytes:
        """Encode new text as UTF-8, with a byte order mark if the original file has one."""
        return (
            (_BYTE_ORDER_MARK if (self.content or b"").startswith(_BYTE_ORDER_MARK.encode()) else "") + text
        ).encode("utf-8")


def read(path: Path, *, project: Path | None = None) -> Original:
    """Read the file at `path` if it exists.

    Symbolic links below a `project` folder are refused, because other people may have created them.
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
    original: Original, *, keeps_backup: bool, obsolete_backups: Sequence[Path] = (), below: Path | None = None
) -> Path | None:
    """Delete a file, obsolete backups and the empty folders below `below`. Return the path of a new backup."""
    try:
        _refuse_if_changed(original)
        backup = _write_backup(original) if keeps_backup else None
        original.path.unlink(missing_ok=True)
    except OSError as exc:
        raise StoreUnwritable(
            f"{original.path} could not be removed ({exc.strerror})", hint="Check the folder's permissions."
        ) from None
    _remove_backups(obsolete_backups)
    if below is not None and backup is None:
        _remove_empty_folders(original.path.parent, below)
    return backup


def _remove_empty_folders(folder: Path, below: Path) -> None:
    with contextlib.suppress(OSError):  # the folder contains other files
        while folder != below and folder.is_relative_to(below):
            folder.rmdir()
            folder = folder.parent


def replace(
    original: Original, content: bytes, *, keeps_backup: bool = True, obsolete_backups: Sequence[Path] = ()
) -> Path | None:
    """Replace the content of a file atomically. Return the path of the backup, which is in the same folder."""
    try:
        original.path.parent.mkdir(parents=True, exist_ok=True)
        backup = _write_backup(original) if keeps_backup else None
        _write_atomically(original, content)
    except OSError as exc:
        raise StoreUnwritable(
            f"{original.path} could not be written ({exc.strerror})",
            hint="It was not changed. Check the folder's permissions.",
        ) from None
    _remove_backups(obsolete_backups)
    return backup


def backups_of(path: Path) -> list[Path]:
    """Return the backups of a file, oldest first."""
    paths = (_backup_path(path, number) for number in count(1))
    return [backup for backup in takewhile(Path.is_file, paths) if not backup.is_symlink()]


def _remove_backups(obsolete_backups: Sequence[Path]) -> None:
    for backup in obsolete_backups:
        with contextlib.suppress(OSError):  # a backup that cannot be removed is kept and reported
            backup.unlink(missing_ok=True)


def _backup_path(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.deltos-{number}.bak")


def _write_backup(original: Original) -> Path | None:
    if original.content is None:
        return None
    paths = (_backup_path(original.path, number) for number in count(1))
    backup = next(path for path in paths if not path.exists())
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
        if original.is_in_project:  # use the default mode instead of the private mode of mkstemp
            Path(temporary).chmod(0o666 & ~_umask())
        return
    shutil.copymode(original.path, temporary)
    if hasattr(os, "chown"):
        status = original.path.stat()
        with contextlib.suppress(PermissionError):  # only root may change the owner
            os.chown(temporary, status.st_uid, status.st_gid)


def _umask() -> int:
    """Return the umask of the process."""
    mask = os.umask(0o077)  # the umask can only be read by setting it
    os.umask(mask)
    return mask


def _refuse_if_changed(original: Original) -> None:
    """Raise StoreUnwritable if the file changed after it was read. Clients also write these files."""
    if read(original.path).content != original.content:
        raise StoreUnwritable(f"{original.path} changed during the edit", hint="Run the command again.")
