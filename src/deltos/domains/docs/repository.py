"""Read a remote or local git repository as a source: select the documentation files and read them from git objects."""

from __future__ import annotations

import posixpath
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from deltos.clones.address import file_address
from deltos.clones.commit_files import CommitFiles, find_local, local_reference, skip_reason
from deltos.clones.fetching import FETCHED
from deltos.domains.docs.folder import matches_any
from deltos.domains.docs.local_files import API_SUFFIXES, NOT_DOCUMENTATION_REASON, LocalFiles, read_document
from deltos.domains.docs.model import API_DESCRIPTION_REASON, FoundDescription, Skipped, Unchanged, Unparsed
from deltos.errors import Cancelled, NotFound, NothingToIndex, SourceError
from deltos.fetch.files import (
    MAX_DESCRIPTION_BYTES,
    MAX_FILE_BYTES,
    SKIPPED_FOLDERS,
    TEMPLATE,
    check_unmoved,
    is_template,
)
from deltos.markup.formats import MAN_SUFFIXES, SUFFIXES, format_of
from deltos.store.documents import CrawlAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.clones.commit_files import TreeFile
    from deltos.clones.fetching import Reference
    from deltos.clones.storage import Clones
    from deltos.domains.docs.model import ApiCatalog
    from deltos.logins import Login
    from deltos.markup.formats import Format
    from deltos.store.documents import KnownPage, SourceRow
    from deltos.workspace.repository import Repository

_DOCS_FOLDERS = frozenset(("docs", "doc", "documentation", "guide", "guides", "manual", "handbook", "wiki"))
_MAX_DOCS_FOLDER_DEPTH = 3  # maximum depth of a documentation folder; packages/NAME/docs has depth 3
_SKIPPED_FOLDERS = SKIPPED_FOLDERS | {"vendor", "third_party", "testdata", "fixtures"}
_DOCUMENT_NAMES = ("readme", "changelog", "changes", "history", "news", "upgrading", "migrating", "contributing", "faq")
_LFS_POINTER_PREFIX = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class CloneAccess:
    """The storage of local clones, and the login for fetching remote repositories."""

    clones: Clones
    login: Callable[[], Login | None]


class GitRepository(LocalFiles):
    """Reads the documentation in one branch or tag of a repository."""

    def __init__(self, source: SourceRow, apis: ApiCatalog, clone_access: CloneAccess) -> None:
        self._source = source
        self._apis = apis
        self._clone_access = clone_access
        self._opened: CommitFiles | None = None
        self._paths: dict[str, str] = {}
        self._lock = threading.Lock()
        self._is_closed = threading.Event()

    @property
    def is_local(self) -> bool:
        """Whether the repository is on this machine and therefore need not be fetched."""
        return "://" not in self._source.url

    @property
    def reference(self) -> Reference:
        """The branch or tag of the source. For a remote repository, reading this property may send a request."""
        if self.is_local:
            return local_reference(self._open_local(), self._requested_version)
        return self._clone_access.clones.reference(
            self._source.url, self._requested_version, self._clone_access.login()
        )

    @property
    def _requested_version(self) -> str:
        """The branch or tag to read; empty for the default branch."""
        return self._source.reference or self._source.version

    def start_addresses(self) -> Iterator[str | CrawlAddress]:
        """Fetch the repository and yield the documentation files. Template files are yielded as skipped addresses."""
        if not self.is_local:
            source, login = self._source, self._clone_access.login()
            self._clone_access.clones.fetch_commit(
                source.id, source.url, self._requested_version, login, self._is_closed.is_set
            )
        with self._lock:
            files = self._files().files()
        is_chosen = bool(self._source.include or self._source.folder)
        selected = [path for path in select_documents(files, whole=is_chosen) if self._is_selected(path)]
        wanted = [path for path in selected if not is_template(path)]
        if not wanted:
            raise NothingToIndex("The repository has no documentation", hint="Select folders with include globs.")
        yield from map(self._file_url, wanted)
        for path in filter(is_template, selected):
            yield CrawlAddress(self._file_url(path), state="skipped", reason=TEMPLATE)

    def read(self, address: CrawlAddress, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        """Read one file, unless the git object id of the file is unchanged."""
        with self._lock:
            return self._read_file(address.url, known)

    def close(self) -> None:
        """Stop a fetch that is still running, and remove git's temporary folder."""
        self._is_closed.set()
        with self._lock:
            if self._opened:
                self._opened.close()

    def _read_file(self, url: str, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        files = self._files()
        if not self._paths:
            self._paths = {self._file_url(path): path for path in files.files()}
        file = files.files().get(self._paths.get(url, ""))
        if file is None:
            return Skipped("gone")
        if not file.is_regular:
            return Skipped(skip_reason(file))
        if known and known.etag == file.id:
            return Unchanged()
        form = _format_of(file.path)
        # A file of this size is not a manual page, but perhaps a binary library whose name ends in a number.
        if form == "man" and file.size_bytes > MAX_FILE_BYTES:
            return Skipped(NOT_DOCUMENTATION_REASON)
        data = files.read(file.path, MAX_FILE_BYTES if form else MAX_DESCRIPTION_BYTES)
        if data.startswith(_LFS_POINTER_PREFIX):
            return Skipped("a Git LFS pointer, whose content is not fetched")
        if form is None:
            return self._handle_non_page(file.path, url, data)
        return read_document(CrawlAddress(url), file.path, form, data, files=files, stamp=file.id, known=known)

    def _files(self) -> CommitFiles:
        """The files of the commit, listed on first use."""
        if self._is_closed.is_set():
            raise Cancelled("The repository was closed")
        if self._opened is None:
            if self.is_local:
                repository = self._open_local()
                reference = local_reference(repository, self._requested_version).name
            else:
                repository, reference = self._clone_access.clones.fetched_repository(self._source.id), FETCHED
            self._opened = CommitFiles(repository, reference, self._source.folder)
        return self._opened

    def _open_local(self) -> Repository:
        """Return the local repository; raise NotFound if the repository no longer exists."""
        path = Path(self._source.url)
        check_unmoved(path)
        repository = find_local(path)
        if repository is None:
            raise NotFound(
                f"No git repository at {path.name}",
                hint="It existed when the source was added; check whether it was moved.",
            )
        return repository

    def _file_url(self, path: str) -> str:
        """Return the URL of a file in the repository."""
        return file_address(self._source.url, self._source.version, path)

    def _is_selected(self, path: str) -> bool:
        """Whether a file is in the documentation folder and selected by the include and exclude globs."""
        source = self._source
        if source.folder and not path.startswith(f"{source.folder}/"):
            return False
        if source.include and not matches_any(path, source.include):
            return False
        return not matches_any(path, source.exclude)

    def _handle_non_page(self, path: str, url: str, data: bytes) -> Skipped:
        """Add a file in an unknown format to the API catalog if it describes an API. Return the skip reason."""
        source = self._source
        if source.auth:
            return Skipped("API descriptions behind a login are not added")
        if self._apis.recognises(data):
            # The location in a local repository includes the version, because the file is read from a commit.
            api_url = f"{source.url}/{path}@{source.version}" if self.is_local else url
            name, read = PurePosixPath(path).stem, partial(self._read_referenced, path)
            self._apis.add(FoundDescription.of_source(source, name, api_url, data, read))
            return Skipped(API_DESCRIPTION_REASON)
        return Skipped(NOT_DOCUMENTATION_REASON)

    def _read_referenced(self, path: str, relative: str) -> bytes:
        """Return the content of a file to which the API description at `path` refers, from the same commit."""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), relative))
        if target.startswith(("../", "/")) or target == "..":
            raise SourceError("outside the repository")
        return self._files().read(target, MAX_DESCRIPTION_BYTES)


def select_documents(files: dict[str, TreeFile], *, whole: bool = False) -> list[str]:
    """Return the documentation files of a repository.

    These are files in documentation folders, every README and manual page, and top-level files such as CHANGELOG. If
    `whole` is set or there is no documentation folder, all readable files are returned.
    """
    readable = [path for path in files if _is_readable(path)]
    selected = [] if whole else [path for path in readable if _is_in_docs_folder(path)]
    if not selected:
        return readable
    return [path for path in readable if _is_in_docs_folder(path) or _is_named_like_documentation(path)]


def _is_readable(path: str) -> bool:
    """Whether a file has a supported format and is not in a hidden or skipped folder."""
    *folders, name = path.split("/")
    if any(folder in _SKIPPED_FOLDERS or folder.startswith(".") for folder in folders):
        return False
    return _format_of(name) is not None or _lower_suffix(name) in API_SUFFIXES


def _format_of(path: str) -> Format | None:
    """Return the format of a file, determined by its suffix. Files such as README without a suffix are plain text."""
    suffix = _lower_suffix(path)
    if suffix in SUFFIXES:
        return format_of(f"x{suffix}")
    return "text" if PurePosixPath(path).name.lower() in _DOCUMENT_NAMES else None


def _lower_suffix(path: str) -> str:
    return PurePosixPath(path.lower()).suffix


def _is_in_docs_folder(path: str) -> bool:
    folders = path.lower().split("/")[:-1]
    return not _DOCS_FOLDERS.isdisjoint(folders[:_MAX_DOCS_FOLDER_DEPTH])


def _is_named_like_documentation(path: str) -> bool:
    """Whether a file name indicates documentation: a README, a manual page, or a top-level file such as CHANGELOG."""
    name = path.lower().rpartition("/")[2]
    if _lower_suffix(path) in API_SUFFIXES:
        return False
    return (
        _lower_suffix(path) in MAN_SUFFIXES
        or name.startswith("readme")
        or ("/" not in path and name.startswith(_DOCUMENT_NAMES))
    )
