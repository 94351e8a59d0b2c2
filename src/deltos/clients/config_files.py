"""Configuration files on disk: read with their byte order mark, backed up, replaced as a whole or not at all."""

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
_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Original:
    """A file as it was found; `content` is None when there is none. `path` is the file behind symbolic links."""

    path: Path
    content: bytes | None
    is_in_project: bool = False

    @property
    def text(self) -> str:
        """What the file says, without its byte order mark; raises BadConfiguration when it is not UTF-8."""
        try:
            return (self.content or b"").decode("utf-8").removeprefix(_MARK)
        except UnicodeDecodeError as exc:
            raise BadConfiguration(f"byte {exc.start} is not UTF-8") from None

    def encode(self, text: str) -> bytes:
        """New text as bytes, with the byte order mark that was there."""
        return ((_MARK if (self.content or b"").startswith(_MARK.encode()) else "") + text).encode("utf-8")


def read(path: Path, *, project: Path | None = None) -> Original:
    """The file at `path`, whether it exists or not. In a user's own folders links are followed, in a `project` none:
    there somebody else may have put them."""
    real = path.resolve()
    if project is not None and real != project.resolve() / path.relative_to(project):
        raise BadConfiguration(f"{path} leads elsewhere by a link, which is not followed in a project")
    try:
        return Original(real, read_own(real, MAX_BYTES), project is not None)
    except FileRefused as refused:
        if refused.reason == MISSING:
            return Original(real, None, project is not None)
        raise BadConfiguration(f"{path} cannot be read ({refused.reason})") from None


def remove(
    original: Original, *, keeps_copy: bool, outdated: Sequence[Path] = (), below: Path | None = None
) -> Path | None:
    """Take a file, its `outdated` backups and the folders below `below` that hold nothing else away; the backup."""
    try:
        _refuse_if_changed(original)
        backup = _back_up(original) if keeps_copy else None
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
    with contextlib.suppress(OSError):  # others have files there
        while folder != below and folder.is_relative_to(below):
            folder.rmdir()
            folder = folder.parent


def replace(
    original: Original, content: bytes, *, keeps_copy: bool = True, outdated: Sequence[Path] = ()
) -> Path | None:
    """Put new content in the file's place in one step and keep the old one beside it; the backup's path."""
    try:
        original.path.parent.mkdir(parents=True, exist_ok=True)
        backup = _back_up(original) if keeps_copy else None
        _write(original, content)
    except OSError as exc:
        raise StoreUnwritable(
            f"{original.path} could not be written ({exc.strerror})",
            hint="It is as it was. Check the folder's permissions.",
        ) from None
    _remove_backups(outdated)
    return backup


def backups_of(path: Path) -> list[Path]:
    """The backups that were made of a file, oldest first."""
    made = (_backup_name(path, number) for number in count(1))
    return [backup for backup in takewhile(Path.is_file, made) if not backup.is_symlink()]


def _remove_backups(outdated: Sequence[Path]) -> None:
    for backup in outdated:
        with contextlib.suppress(OSError):  # one that cannot be removed stays, and is named
            backup.unlink(missing_ok=True)


def _backup_name(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.deltos-{number}.bak")


def _back_up(original: Original) -> Path | None:
    if original.content is None:
        return None
    names = (_backup_name(original.path, number) for number in count(1))
    backup = next(name for name in names if not name.exists())
    shutil.copy2(original.path, backup)
    return backup


def _write(original: Original, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(prefix=f".{original.path.name}.", dir=original.path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _take_over_attributes(original, temporary)
        _refuse_if_changed(original)
        Path(temporary).replace(original.path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _take_over_attributes(original: Original, temporary: str) -> None:
    if original.content is None:
        if original.is_in_project:  # others read it too; what is the user's own stays private
            Path(temporary).chmod(0o666 & ~_umask())
        return
    shutil.copymode(original.path, temporary)
    if hasattr(os, "chown"):
        status = original.path.stat()
        with contextlib.suppress(PermissionError):  # only root gives files away
            os.chown(temporary, status.st_uid, status.st_gid)


def _umask() -> int:
    """What this process takes from the mode of new files; it can only be asked for by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _refuse_if_changed(original: Original) -> None:
    """Clients write their own files: never undo what one wrote since we looked."""
    if read(original.path).content != original.content:
        raise StoreUnwritable(f"{original.path} was changed meanwhile", hint="Run the command again.")
