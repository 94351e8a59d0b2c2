"""Detect differences between the disk and the index quickly, by comparing stamps only."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from deltos.disk_throttle import DiskThrottle
from deltos.workspace.walk import folder_mtime_ns, is_newer, is_racy

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.store.project import ProjectFiles

_MAX_UNTHROTTLED_SECONDS = 0.002  # a comparison that takes less time is not followed by a pause


class Watch:
    """Cache of the stamps (sizes and times) of all files and folders, for comparison with the disk."""

    def __init__(self, root: Path, store: ProjectFiles) -> None:
        self._prefix = f"{root}/"
        self._store = store
        self._loaded = ""
        self._folders: list[tuple[str, int]] = []
        self._files: list[tuple[str, int, int, int]] = []
        self._throttle = DiskThrottle(_MAX_UNTHROTTLED_SECONDS)

    def is_due(self) -> bool:
        """Whether the pause after the last comparison is over.

        The longer a comparison takes, the longer the pause after it.
        """
        return self._throttle.is_due()

    def sees_change(self, synced_at: str) -> bool:
        """Whether the size or time of a known file or folder differs from the index that was written at `synced_at`."""
        with self._throttle.measure():
            self._load_stamps(synced_at)
            return self._folder_changed() or self._file_changed()

    def _load_stamps(self, synced_at: str) -> None:
        """Load the stamps from the index if the index has changed since the last call."""
        if synced_at == self._loaded:
            return
        self._folders = [(self._prefix + path, mtime_ns) for path, mtime_ns in self._store.folder_times().items()]
        self._files = [
            # Size -1 never equals a real size, so a file with an unreliable stamp always counts as changed.
            (
                self._prefix + path,
                -1 if is_racy(seen.mtime_ns, seen.seen_at_ns) else seen.size,
                seen.mtime_ns,
                seen.seen_at_ns,
            )
            for path, seen in self._store.stamps().items()
        ]
        self._loaded = synced_at

    def _folder_changed(self) -> bool:
        return any(folder_mtime_ns(path) != mtime_ns for path, mtime_ns in self._folders)

    def _file_changed(self) -> bool:
        lstat, is_regular = os.lstat, stat.S_ISREG
        try:
            for path, size, mtime_ns, seen_at_ns in self._files:
                status = lstat(path)
                if status.st_ctime_ns > seen_at_ns and is_newer(status.st_ctime_ns, seen_at_ns):
                    return True
                if status.st_mtime_ns != mtime_ns or status.st_size != size or not is_regular(status.st_mode):
                    return True
        except OSError:
            return True
        return False
