"""The folder that keeps what was fetched, a git folder for each source. What is half fetched is never taken for whole,
and goes with the next look at the shelf."""

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
    never,
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

_UNFINISHED = ".unfinished"
_MOST_PACKS = 20  # each fetch leaves one: then the repository is fetched anew


@dataclass(frozen=True, slots=True)
class Clones:
    """Fetches repositories into one folder, by the id of their source."""

    folder: Path | None
    private_hosts: PrivateHosts
    client: Callable[[Login | None], HttpClient]
    limits: FetchLimits = DEFAULT_LIMITS

    def reference(self, url: str, wanted: str, login: Login | None) -> Reference:
        """The branch or tag of the repository at `url` that is called `wanted`, or its default branch."""
        remote = self._remote(url, login)
        with tempfile.TemporaryDirectory(prefix="deltos-git-", ignore_cleanup_errors=True) as folder:
            prepare_folder(Path(folder), remote)
            return find_reference(remote, wanted, Path(folder))

    def bring(
        self,
        source_id: str,
        url: str,
        wanted: str,
        login: Login | None,
        stopping: Callable[[], bool] = never,
    ) -> Repository:
        """Fetch what the branch or tag is now; only what is new comes over the network."""
        remote = self._remote(url, login)
        folder = self._place / source_id
        if self._can_grow(folder):
            _clear_remains(folder)
            prepare_folder(folder, remote)
            try:
                fetch(remote, find_reference(remote, wanted, folder, stopping), folder, self.limits, stopping)
            finally:
                _clear_remains(folder)
            return _repository(folder)
        with self._unfinished(source_id) as new:
            prepare_folder(new, remote)
            fetch(remote, find_reference(remote, wanted, new, stopping), new, self.limits, stopping)
            shutil.rmtree(folder, ignore_errors=True)
            new.rename(folder)
        return _repository(folder)

    def kept(self, source_id: str) -> Repository:
        """What was fetched before; raises when there is nothing whole."""
        folder = self._place / source_id
        if not _is_whole(folder):
            raise SourceError("What was fetched of the repository is gone", hint="Recrawl it.")
        return _repository(folder)

    def remove(self, source_id: str) -> None:
        """Forget what was fetched for a source."""
        if self.folder is not None:
            shutil.rmtree(self.folder / source_id, ignore_errors=True)

    def sweep(self, source_ids: Collection[str], is_busy: Callable[[str], bool]) -> None:
        """Remove what belongs to no source, and what a process that died left half fetched."""
        if self.folder is None or not self.folder.is_dir():
            return
        for entry in list(self.folder.iterdir()):
            source_id, is_unfinished, _ = entry.name.partition(_UNFINISHED)
            if (is_unfinished or source_id not in source_ids) and not is_busy(source_id):
                shutil.rmtree(entry, ignore_errors=True)

    def _can_grow(self, folder: Path) -> bool:
        """Whether there is something to add to, which is not yet more than a fresh fetch would be."""
        if not _is_whole(folder) or size_of(folder) * 2 > self.limits.max_bytes:
            return False
        return len(list((folder / "objects" / "pack").glob("*.pack"))) < _MOST_PACKS

    @property
    def _place(self) -> Path:
        if self.folder is None:
            raise SourceError("Repositories are not fetched here")
        return self.folder

    def _remote(self, url: str, login: Login | None) -> Remote:
        client = self.client(login)
        try:
            return open_remote(url, client, self.private_hosts, login)
        finally:
            client.close()

    @contextmanager
    def _unfinished(self, source_id: str) -> Iterator[Path]:
        """A folder for what is not whole yet; it is gone afterwards unless it was renamed."""
        folder = self._place / f"{source_id}{_UNFINISHED}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True, mode=0o700)
        self._place.chmod(0o700)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _repository(folder: Path) -> Repository:
    return Repository(folder, folder, folder)


def _is_whole(folder: Path) -> bool:
    return (folder / FETCHED).is_file()


def _clear_remains(folder: Path) -> None:
    """What a git that was killed leaves behind: files that it never looks at again, and locks."""
    for pattern in ("objects/pack/tmp_*", "objects/pack/.tmp-*", "*.lock", "refs/**/*.lock"):
        for path in folder.glob(pattern):
            path.unlink(missing_ok=True)
