"""What installed packages of both kinds share as sources: addresses, and how a file of theirs becomes a page."""

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
HIDDEN = "in a hidden folder of the package"  # for other programs: instructions to agents, settings of a forge


class PackageFiles:
    """What both kinds of packages share: addresses are `pypi:NAME@VERSION/path`, pages are cited the same way."""

    parallel = 1
    together = 16
    keeps_unlisted = False

    def take_turn(self, _place: CrawlAddress) -> float:
        """Local files need no delay between requests."""
        return 0.0

    def close(self) -> None:
        """Nothing is held open."""


def document(url: str, path: str) -> str | CrawlAddress:
    """The address of a document of a package; one that is for other programs is named as left out."""
    return CrawlAddress(url, state="skipped", reason=HIDDEN) if is_hidden(path) else url


def skipped(refused: FileRefused) -> Skipped:
    """A link or the like is no page; that a file is gone or too large, its reader is told."""
    if refused.reason not in (LINK, NOT_REGULAR, NOT_A_PATH):
        raise refused
    return Skipped(refused.reason)


def reading(url: str, digest: bytes, text: PageText) -> PageReading | Skipped:
    """The outcome of a file whose text was read."""
    if not text.chunks:
        return Skipped("nothing documented in it")
    return PageReading((text.row(url, url, digest=digest),))


def bundled(path: str, data: bytes, url: str) -> RawPage:
    """A document that lies in a package."""
    form = format_of(path)
    if form is None:
        raise SourceError("Not a document")
    return RawPage(data, form, url, title=PurePosixPath(path).stem if form == "text" else "")
