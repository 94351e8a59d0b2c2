"""Storage of fetched repositories, with one git folder for each source.

Incomplete fetches are removed by the next call of `sweep`.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.clones.fetching import (
    DEFAULT_LIMITS,
    FETCHED,
    fetch,
    find_reference,
    never_stops,
    open_remote,
    prepare_folder,
    size_of,
)  # fmt: skip
from deltos.errors import SourceError
from deltos.workspace.repository import Repository

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from deltos.clones.fetching import FetchLimits, Reference, Remote
    from deltos.fetch.http import HttpClient
    from deltos.logins import Login
    from deltos.private_hosts import PrivateHosts

_INCOMPLETE_SUFFIX = ".unfinished"
_MAX_PACKS = 20  # maximum number of pack files (one per fetch); with more, the repository is fetched again from scratch


@dataclass(frozen=True, slots=True)
class Clones:
    """Fetched repositories. The name of each repository's folder is the id of the source."""

    folder: Path | None
    private_hosts: PrivateHosts
    client: Callable[[Login | None], HttpClient]
    limits: FetchLimits = DEFAULT_LIMITS

    def reference(self, url: str, wanted: str, login: Login | None) -> Reference:
        """Return the branch or tag `wanted` of the repository at `url`, or its default branch if `wanted` is empty."""
        remote = self._open_remote(url, login)
        with tempfile.TemporaryDirectory(prefix="deltos-git-", ignore_cleanup_errors=True) as folder:
            prepare_folder(Path(folder), remote)
            return find_reference(remote, wanted, Path(folder))

    def fetch_commit(
        self,
        source_id: str,
        url: str,
        wanted: str,
        login: Login | None,
        stopping: Callable[[], bool] = never_stops,
    ) -> Repository:
        """Fetch the current commit of a branch or tag. Objects that are already stored are not downloaded again."""
        remote = self._open_remote(url, login)
        folder = self._existing_folder / source_id
        if self._can_fetch_into(folder):
            _remove_git_leftovers(folder)
            prepare_folder(folder, remote)
            try:
                fetch(remote, find_reference(remote, wanted, folder, stopping), folder, self.limits, stopping)
            finally:
                _remove_git_leftovers(folder)
            return _open_repository(folder)
        with self._incomplete_folder(source_id) as new:
            prepare_folder(new, remote)
            fetch(remote, find_reference(remote, wanted, new, stopping), new, self.limits, stopping)
            shutil.rmtree(folder, ignore_errors=True)
            new.rename(folder)
        return _open_repository(folder)

    def fetched_repository(self, source_id: str) -> Repository:
        """Return a previously fetched repository. Raise SourceError if it is missing or incomplete."""
        folder = self._existing_folder / source_id
        if not _is_complete(folder):
            raise SourceError("The fetched repository is missing", hint="Recrawl the source.")
        return _open_repository(folder)

    def remove(self, source_id: str) -> None:
        """Delete the fetched repository of a source."""
        if self.folder is not None:
            shutil.rmtree(self.folder / source_id, ignore_errors=True)

    def sweep(self, source_ids: Collection[str], is_busy: Callable[[str], bool]) -> None:
        """Delete repositories that belong to no source, and incomplete fetches left by killed processes."""
        if self.folder is None or not self.folder.is_dir():
            return
        for entry in list(self.folder.iterdir()):
            source_id, is_incomplete, _ = entry.name.partition(_INCOMPLETE_SUFFIX)
            if (is_incomplete or source_id not in source_ids) and not is_busy(source_id):
                shutil.rmtree(entry, ignore_errors=True)

    def _can_fetch_into(self, folder: Path) -> bool:
        """Whether another commit can be fetched into the folder without exceeding the limits."""
        if not _is_complete(folder) or size_of(folder) * 2 > self.limits.max_bytes:
            return False
        return len(list((folder / "objects" / "pack").glob("*.pack"))) < _MAX_PACKS

    @property
    def _existing_folder(self) -> Path:
        if self.folder is None:
            raise SourceError("Fetching repositories is disabled in this process")
        return self.folder

    def _open_remote(self, url: str, login: Login | None) -> Remote:
        client = self.client(login)
        try:
            return open_remote(url, client, self.private_hosts, login)
        finally:
            client.close()

    @contextmanager
    def _incomplete_folder(self, source_id: str) -> Iterator[Path]:
        """Create a folder for a fetch, and delete the folder at the end unless it has been renamed."""
        folder = self._existing_folder / f"{source_id}{_INCOMPLETE_SUFFIX}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, mode=0o700)
        self._existing_folder.chmod(0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _open_repository(folder: Path) -> Repository:
    return Repository(folder, folder, folder)


def _is_complete(folder: Path) -> bool:
    return (folder / FETCHED).is_file()


def _remove_git_leftovers(folder: Path) -> None:
    """Remove temporary files and locks that a killed git process has left."""
    for pattern in ("objects/pack/tmp_*", "objects/pack/.tmp-*", "*.lock", "refs/**/*.lock"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
