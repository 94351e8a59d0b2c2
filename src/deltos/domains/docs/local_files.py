"""Code shared by the sources that read local files: folders, git repositories and installed packages."""

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

# Names of text files that are not documentation.
NON_DOCUMENT_FILE = re.compile(
    r"(?:^|/)(?:licen[cs]e|copying|authors|notice|top_level|entry_points|sources|requirements)[^/]*$", re.IGNORECASE
)
# Reason for skipping hidden files, which usually contain instructions for agents or settings of a website host.
HIDDEN_REASON = "in a hidden folder of the package"
NOT_DOCUMENTATION_REASON = "not documentation"
# Suffix of the version stamp of a page with include directives. The stamp does not change if an included file changes.
INCLUDES_MARK = "+"
API_SUFFIXES = frozenset((".json", ".yaml", ".yml", ".graphql", ".graphqls", ".gql", ".proto"))
_PGP_HEADER = b"-----BEGIN PGP"  # PGP signatures begin with this text and have the suffix `.asc`, like AsciiDoc files
_MAX_INCLUDED_BYTES = 1_000_000


class ReadableFiles(Protocol):
    """A set of files that can be read by path."""

    def read(self, path: str, max_bytes: int, /) -> bytes:
        """Return the content of a file; raise FileRefused if it is not a regular file."""


class LocalFiles:
    """Base class of sources that read local files.

    Files in a package are cited as `pypi:NAME@VERSION/path`.
    """

    thread_count = 1
    batch_size = 16
    keeps_unlinked_pages = False

    def take_turn(self, _address: CrawlAddress) -> float:
        """Return 0 (seconds), because local files have no rate limit."""
        return 0.0

    def close(self) -> None:
        """Do nothing, because no file stays open."""


def read_document(
    address: CrawlAddress,
    path: str,
    form: Format,
    data: bytes,
    *,
    files: ReadableFiles,
    stamp: str,
    known: KnownPage | None,
) -> Unparsed | Unchanged | Skipped:
    """Read and parse the document at `path`. The `stamp` identifies the current version of the file."""
    if data.startswith(_PGP_HEADER):
        return Skipped("a PGP signature")
    if form == "man" and not is_man_page(data):
        return Skipped("another name of a manual page" if data.startswith(b".so ") else NOT_DOCUMENTATION_REASON)
    data, has_includes = _insert_includes(files, path, form, data)
    stamp += INCLUDES_MARK * has_includes
    digest = hashlib.blake2b(data, digest_size=16).digest()
    if known and known.etag == stamp and known.hash == digest:
        return Unchanged()
    task = Task(read_page, (RawPage(data, form, address.url, title=title_of_file(form, path)),), (data,))
    return Unparsed(task, partial(_single_page, address.url, stamp, digest))


def _single_page(url: str, stamp: str, digest: bytes, text: PageText) -> ParsedPages:
    return ParsedPages((text.to_row(url, url, etag=stamp, digest=digest),))


def _insert_includes(files: ReadableFiles, path: str, form: Format, data: bytes) -> tuple[bytes, bool]:
    """Return a page with the included files inserted, and whether the page contains an include directive."""
    includer = Includer(partial(_read_included, files))
    try:
        expanded = includer.expand(data.decode("utf-8"), form, path)
    except UnicodeDecodeError:
        return data, False
    return (expanded.encode(), True) if includer.attempts else (data, False)


def _read_included(files: ReadableFiles, path: str) -> str | None:
    """Return the text of an included file, or None if the file is hidden or cannot be read."""
    if any(part.startswith(".") for part in path.split("/")):
        return None
    try:
        return files.read(path, _MAX_INCLUDED_BYTES).decode("utf-8", "replace")
    except FileRefused:
        return None


def document_address(url: str, path: str) -> str | CrawlAddress:
    """Return the URL of a document in a package, or a skipped address if the document is in a hidden folder."""
    return CrawlAddress(url, state="skipped", reason=HIDDEN_REASON) if is_hidden(path) else url


def skip_or_raise(refused: FileRefused) -> Skipped:
    """Return a skipped outcome for links and special files; raise the given error for missing or too large files."""
    if refused.reason not in (LINK, NOT_REGULAR, NOT_A_PATH):
        raise refused
    return Skipped(refused.reason)


def page_outcome(url: str, digest: bytes, text: PageText) -> ParsedPages | Skipped:
    """Return the parsed page as an outcome, or a skipped outcome if the page has no text."""
    if not text.chunks:
        return Skipped("it contains no documentation")
    return ParsedPages((text.to_row(url, url, digest=digest),))


def bundled_page(path: str, data: bytes, url: str) -> RawPage:
    """Return a document contained in a package as a page that has not been parsed yet."""
    form = format_of(path)
    if form is None:
        raise SourceError("Not a document")
    return RawPage(data, form, url, title=title_of_file(form, path))
