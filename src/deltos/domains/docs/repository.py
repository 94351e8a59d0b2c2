"""A git repository as a source: fetched apart from reading, or a local one as it is. Which of its files are
documentation, and how one is read out of its objects."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from deltos.clones.address import file_address
from deltos.clones.fetching import FETCHED
from deltos.clones.files import CommitFiles, find_local, local_reference, why_unread
from deltos.domains.docs.folder import API_SUFFIXES, INCLUDES, SIGNATURE, matches_any, with_includes
from deltos.domains.docs.model import FoundDescription, PageReading, Skipped, Unchanged, Unparsed
from deltos.domains.docs.pages import RawPage, read_page
from deltos.errors import NotFound, NothingToIndex
from deltos.fetch.files import MAX_DESCRIPTION_BYTES, MAX_FILE_BYTES, SKIPPED_FOLDERS, check_unmoved
from deltos.guarded import Task
from deltos.markup.formats import SUFFIXES, format_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.clones.files import TreeFile
    from deltos.clones.shelf import Clones
    from deltos.domains.docs.model import ApiCatalog
    from deltos.domains.docs.pages import PageText
    from deltos.logins import Login
    from deltos.store.documents import CrawlAddress, KnownPage, SourceRow
    from deltos.workspace.repository import Repository

_DOCS_FOLDERS = frozenset(("docs", "doc", "documentation", "guide", "guides", "manual", "handbook", "wiki"))
_DEEPEST_DOCS_FOLDER = 3  # packages/NAME/docs
_SKIPPED = SKIPPED_FOLDERS | {"vendor", "third_party", "testdata", "fixtures"}
_ALWAYS = ("readme", "changelog", "changes", "history", "news", "upgrading", "migrating", "contributing", "faq")
_LFS = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class Checkout:
    """Where the files of a source come from: what is fetched, or a path of this machine."""

    clones: Clones
    login: Callable[[], Login | None]


class GitRepository:
    """Reads the documentation of one branch or tag."""

    parallel = 1
    together = 16
    keeps_unlisted = False

    def __init__(self, source: SourceRow, apis: ApiCatalog, checkout: Checkout) -> None:
        self._source = source
        self._apis = apis
        self._checkout = checkout
        self._opened: CommitFiles | None = None
        self._paths: dict[str, str] = {}
        self._lock = threading.Lock()

    @property
    def is_local(self) -> bool:
        """Whether it lies on this machine, where nothing has to be fetched."""
        return "://" not in self._source.url

    @property
    def version(self) -> str:
        """The branch or tag that the source means; asks the repository."""
        source = self._source
        if self.is_local:
            return local_reference(self._local(), source.version).version
        return self._checkout.clones.reference(source.url, source.version, self._checkout.login()).version

    def begin(self) -> Iterator[str]:
        """Fetch it, and every file that is documentation."""
        if not self.is_local:
            source = self._source
            self._checkout.clones.bring(source.id, source.url, source.version, self._checkout.login())
        with self._lock:
            files = self._files().files()
        wanted = [path for path in documents(files, whole=bool(self._source.include)) if self._wants(path)]
        if not wanted:
            raise NothingToIndex("The repository has no documentation", hint="Name folders with include globs.")
        yield from map(self._address, wanted)

    def read(self, address: CrawlAddress, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        """Read one file, unless the id of its content is what it was."""
        with self._lock:
            return self._read(address.url, known)

    def take_turn(self, _address: CrawlAddress) -> float:
        """Nothing is asked of a network any more."""
        return 0.0

    def close(self) -> None:
        """Let go of the temporary folder that git sees."""
        with self._lock:
            if self._opened:
                self._opened.close()

    def _read(self, url: str, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        files = self._files()
        if not self._paths:
            self._paths = {self._address(path): path for path in files.files()}
        file = files.files().get(self._paths.get(url, ""))
        if file is None:
            return Skipped("gone")
        if not file.is_regular:
            return Skipped(why_unread(file))
        if known and known.etag == file.id:
            return Unchanged()
        form = format_of(file.path)
        data = files.read(file.path, MAX_FILE_BYTES if form else MAX_DESCRIPTION_BYTES)
        if data.startswith(_LFS):
            return Skipped("a pointer of Git LFS, whose content is not fetched")
        if form is None:
            return self._not_a_page(file.path, url, data)
        if data.startswith(SIGNATURE):
            return Skipped("a signature")
        data, includes = with_includes(files, file.path, form, data)
        stamp = file.id + INCLUDES * includes
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if known and known.etag == stamp and known.hash == digest:
            return Unchanged()
        title = PurePosixPath(file.path).stem if form in ("text", "pdf") else ""
        task = Task(read_page, (RawPage(data, form, url, title=title),), (data,))
        return Unparsed(task, partial(_reading, url, stamp, digest))

    def _files(self) -> CommitFiles:
        if self._opened is None:
            if self.is_local:
                repository = self._local()
                reference = local_reference(repository, self._source.version).name
            else:
                repository, reference = self._checkout.clones.kept(self._source.id), FETCHED
            self._opened = CommitFiles(repository, reference)
        return self._opened

    def _local(self) -> Repository:
        path = Path(self._source.url)
        check_unmoved(path)
        repository = find_local(path)
        if repository is None:
            raise NotFound(f"No git repository at {path.name}", hint="It was there when it was added; was it moved?")
        return repository

    def _address(self, path: str) -> str:
        return file_address(self._source.url, self._source.version, path)

    def _wants(self, path: str) -> bool:
        source = self._source
        if source.include and not matches_any(path, source.include):
            return False
        return not matches_any(path, source.exclude)

    def _not_a_page(self, path: str, url: str, data: bytes) -> Skipped:
        source = self._source
        if source.auth:
            return Skipped("behind a login only pages are read")
        if self._apis.recognises(data):
            name = PurePosixPath(path).stem
            return Skipped(self._apis.add(FoundDescription(name, url, source.version, data, brought_by=source.id)))
        return Skipped("not documentation")


def documents(files: dict[str, TreeFile], *, whole: bool = False) -> list[str]:
    """The files that are documentation: folders named so, the papers at the top, every README; all where none is.

    `whole` takes every readable file: whoever gave globs chose already.
    """
    readable = [path for path in files if _is_readable(path)]
    chosen = [] if whole else [path for path in readable if _is_in_docs_folder(path)]
    if not chosen:
        return readable
    return [path for path in readable if _is_in_docs_folder(path) or _is_paper(path)]


def _is_readable(path: str) -> bool:
    *folders, name = path.split("/")
    if any(folder in _SKIPPED or folder.startswith(".") for folder in folders):
        return False
    suffix = PurePosixPath(name.lower()).suffix
    return suffix in SUFFIXES or suffix in API_SUFFIXES


def _is_in_docs_folder(path: str) -> bool:
    folders = path.lower().split("/")[:-1]
    return not _DOCS_FOLDERS.isdisjoint(folders[:_DEEPEST_DOCS_FOLDER])


def _is_paper(path: str) -> bool:
    name = path.lower().rpartition("/")[2]
    if PurePosixPath(name).suffix in API_SUFFIXES:
        return False
    return name.startswith("readme") or ("/" not in path and name.startswith(_ALWAYS))


def _reading(url: str, stamp: str, digest: bytes, text: PageText) -> PageReading:
    return PageReading((text.row(url, url, etag=stamp, digest=digest),))
