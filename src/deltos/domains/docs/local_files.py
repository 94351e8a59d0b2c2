"""What sources of local files share: folders, git repositories and installed packages."""

from __future__ import annotations

import hashlib
import re
from functools import partial
from typing import TYPE_CHECKING, Protocol

from deltos.domains.docs.model import ParsedPages, Skipped, Unchanged, Unparsed
from deltos.domains.docs.pages import RawPage, read_page
from deltos.errors import FileRefused, SourceError
from deltos.fetch.files import is_hidden
from deltos.files import LINK, NOT_A_PATH, NOT_REGULAR
from deltos.isolated_parser import Task
from deltos.markup.formats import format_of, title_of_file
from deltos.markup.includes import Includer
from deltos.markup.man import is_man_page
from deltos.store.documents import CrawlAddress

if TYPE_CHECKING:
    from deltos.domains.docs.pages import PageText
    from deltos.markup.formats import Format
    from deltos.store.documents import KnownPage

NOT_DOCUMENTS = re.compile(
    r"(?:^|/)(?:licen[cs]e|copying|authors|notice|top_level|entry_points|sources|requirements)[^/]*$", re.IGNORECASE
)
HIDDEN = "in a hidden folder of the package"  # usually instructions for agents or settings of a code host
NO_DOCUMENT = "not documentation"
INCLUDES = "+"  # marks the stamp of a page with includes, whose own time and size do not show all changes
API_SUFFIXES = frozenset((".json", ".yaml", ".yml", ".graphql", ".graphqls", ".gql", ".proto"))
_SIGNATURE = b"-----BEGIN PGP"  # `.asc` is the suffix of signatures and of AsciiDoc
_MAX_INCLUDED_BYTES = 1_000_000


class Readable(Protocol):
    """A container of files that can be read by path."""

    def read(self, path: str, max_bytes: int, /) -> bytes:
        """Return the content of a regular file; raise FileRefused for anything else."""


class LocalFiles:
    """Base of sources that read local files. Citations of packages have the form `pypi:NAME@VERSION/path`."""

    parallel = 1
    batch_size = 16
    keeps_unlinked_pages = False

    def take_turn(self, _address: CrawlAddress) -> float:
        """Return 0: local files have no rate limit."""
        return 0.0

    def close(self) -> None:
        """Do nothing: no file stays open."""


def read_document(
    address: CrawlAddress, path: str, form: Format, data: bytes, *, files: Readable, stamp: str, known: KnownPage | None
) -> Unparsed | Unchanged | Skipped:
    """Return the outcome of reading the document at `path`, whose `stamp` changes with the file."""
    if data.startswith(_SIGNATURE):
        return Skipped("a PGP signature")
    if form == "man" and not is_man_page(data):
        return Skipped("another name of a manual page" if data.startswith(b".so ") else NO_DOCUMENT)
    data, has_includes = _with_includes(files, path, form, data)
    stamp += INCLUDES * has_includes
    digest = hashlib.blake2b(data, digest_size=16).digest()
    if known and known.etag == stamp and known.hash == digest:
        return Unchanged()
    task = Task(read_page, (RawPage(data, form, address.url, title=title_of_file(form, path)),), (data,))
    return Unparsed(task, partial(_parsed_pages, address.url, stamp, digest))


def _parsed_pages(url: str, stamp: str, digest: bytes, text: PageText) -> ParsedPages:
    return ParsedPages((text.row(url, url, etag=stamp, digest=digest),))


def _with_includes(files: Readable, path: str, form: Format, data: bytes) -> tuple[bytes, bool]:
    """Return a page with its included files inserted, and whether it has any include directive."""
    includer = Includer(partial(_read_included, files))
    try:
        expanded = includer.expand(data.decode("utf-8"), form, path)
    except UnicodeDecodeError:
        return data, False
    return (expanded.encode(), True) if includer.attempts else (data, False)


def _read_included(files: Readable, path: str) -> str | None:
    """Return the text of an included file, or None if it is hidden or cannot be read."""
    if any(part.startswith(".") for part in path.split("/")):
        return None
    try:
        return files.read(path, _MAX_INCLUDED_BYTES).decode("utf-8", "replace")
    except FileRefused:
        return None


def document_address(url: str, path: str) -> str | CrawlAddress:
    """Return the address of a package's document; one in a hidden folder is reported as skipped."""
    return CrawlAddress(url, state="skipped", reason=HIDDEN) if is_hidden(path) else url


def skip_or_raise(refused: FileRefused) -> Skipped:
    """Return a skipped outcome for links and special files; raise the error for missing and too large files."""
    if refused.reason not in (LINK, NOT_REGULAR, NOT_A_PATH):
        raise refused
    return Skipped(refused.reason)


def page_outcome(url: str, digest: bytes, text: PageText) -> ParsedPages | Skipped:
    """Return the outcome of a parsed file."""
    if not text.chunks:
        return Skipped("it contains no documentation")
    return ParsedPages((text.row(url, url, digest=digest),))


def bundled_page(path: str, data: bytes, url: str) -> RawPage:
    """Return a document of a package, ready to be parsed."""
    form = format_of(path)
    if form is None:
        raise SourceError("Not a document")
    return RawPage(data, form, url, title=title_of_file(form, path))
