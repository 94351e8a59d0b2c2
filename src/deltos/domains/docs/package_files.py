"""Shared parts of the two package sources: addresses, and the conversion of a file into a page."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from deltos.domains.docs.model import PageReading, Skipped
from deltos.domains.docs.pages import RawPage
from deltos.errors import SourceError
from deltos.fetch.files import is_hidden
from deltos.files import LINK, NOT_A_PATH, NOT_REGULAR
from deltos.markup.formats import format_of
from deltos.store.documents import CrawlAddress

if TYPE_CHECKING:
    from deltos.domains.docs.pages import PageText
    from deltos.errors import FileRefused

NOT_DOCUMENTS = re.compile(
    r"(?:^|/)(?:licen[cs]e|copying|authors|notice|top_level|entry_points|sources|requirements)[^/]*$", re.IGNORECASE
)
HIDDEN = "in a hidden folder of the package"  # usually instructions for agents or settings of a code host


class PackageFiles:
    """Base of package sources. Addresses and citations have the form `pypi:NAME@VERSION/path`."""

    parallel = 1
    batch_size = 16
    keeps_unlinked_pages = False

    def take_turn(self, _place: CrawlAddress) -> float:
        """Return 0: local files have no rate limit."""
        return 0.0

    def close(self) -> None:
        """Do nothing: no file stays open."""


def document_address(url: str, path: str) -> str | CrawlAddress:
    """Return the address of a package's document; one in a hidden folder is reported as skipped."""
    return CrawlAddress(url, state="skipped", reason=HIDDEN) if is_hidden(path) else url


def skip_or_raise(refused: FileRefused) -> Skipped:
    """Return a skipped outcome for links and special files; raise the error for missing and too large files."""
    if refused.reason not in (LINK, NOT_REGULAR, NOT_A_PATH):
        raise refused
    return Skipped(refused.reason)


def page_outcome(url: str, digest: bytes, text: PageText) -> PageReading | Skipped:
    """Return the outcome of a parsed file."""
    if not text.chunks:
        return Skipped("it contains no documentation")
    return PageReading((text.row(url, url, digest=digest),))


def bundled_page(path: str, data: bytes, url: str) -> RawPage:
    """Return a document of a package, ready to be parsed."""
    form = format_of(path)
    if form is None:
        raise SourceError("Not a document")
    return RawPage(data, form, url, title=PurePosixPath(path).stem if form == "text" else "")
