"""A local folder or file as a source."""

from __future__ import annotations

import hashlib
import zlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from deltos.domains.docs.model import IS_API, ApiCatalog, FoundDescription, PageReading, Skipped, Unchanged, Unparsed
from deltos.domains.docs.pages import RawPage, read_page
from deltos.errors import FileRefused, NotFound, SourceError
from deltos.fetch.files import (
    MAX_DESCRIPTION_BYTES,
    MAX_FILE_BYTES,
    TEMPLATE,
    check_unmoved,
    is_template,
    walk_files,
)
from deltos.files import LINK, NOT_REGULAR, FileTree
from deltos.globs import matches_glob
from deltos.guarded import Task
from deltos.markup.formats import MAN_SUFFIXES, PACKED_SUFFIX, SUFFIXES, format_of
from deltos.markup.includes import Includer
from deltos.markup.man import is_man_page
from deltos.store.documents import CrawlAddress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.docs.pages import PageText
    from deltos.markup.formats import Format
    from deltos.store.documents import KnownPage, SourceRow

SIGNATURE = b"-----BEGIN PGP"  # .asc is a suffix of AsciiDoc too
NO_DOCUMENT = "not documentation"
INCLUDES = "+"  # marks the stamp of a page that includes others: its own time and size do not tell whether it changed
_MOST_MEMBERS = 10_000  # of a gzip file
_UNPACKED_BYTES = 1 << 16  # at a time: what a member leaves over is copied
_MAX_INCLUDED_BYTES = 1_000_000
API_SUFFIXES = frozenset((".json", ".yaml", ".yml", ".graphql", ".graphqls", ".gql", ".proto"))
_WALKED = SUFFIXES | API_SUFFIXES | MAN_SUFFIXES | {PACKED_SUFFIX}


class Readable(Protocol):
    """Where files are read from."""

    def read(self, path: str, max_bytes: int, /) -> bytes:
        """The content of a regular file; raises FileRefused for everything else."""


class Folder:
    """Reads the documentation files below one folder."""

    parallel = 1
    together = 16
    keeps_unlisted = False

    def __init__(self, source: SourceRow, apis: ApiCatalog) -> None:
        self._root = Path(source.url)
        self._source = source
        self._apis = apis

    @property
    def _is_file(self) -> bool:
        return self._root.is_file()

    @property
    def _base(self) -> Path:
        """The folder that all files lie in."""
        return self._root.parent if self._is_file else self._root

    def begin(self) -> Iterator[str | CrawlAddress]:
        """Every file of a format that we read; templates are named as left out."""
        if not self._root.exists():
            raise NotFound(
                f"No such file or folder: {self._root}", hint="It was there when it was added; was it moved?"
            )
        check_unmoved(self._root)
        names = [self._root.name] if self._is_file else walk_files(self._root, _WALKED)
        for relative in names:
            if self._wants(relative) and (not relative.endswith(PACKED_SUFFIX) or format_of(relative)):
                url = (self._base / relative).as_posix()
                yield CrawlAddress(url, state="skipped", reason=TEMPLATE) if is_template(relative) else url

    def read(self, address: CrawlAddress, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        """Read one file, unless its time and size are as they were."""
        path = Path(address.url)
        form = format_of(address.url)
        try:
            check_unmoved(self._base)
            with FileTree(self._base) as tree:
                relative = address.url.removeprefix(f"{self._base.as_posix()}/")
                facts = tree.status(relative)
                stamp = f"{facts.st_mtime_ns}-{facts.st_size}"
                if known and known.etag == stamp and tree.is_file(relative):
                    return Unchanged()
                data = tree.read(relative, MAX_FILE_BYTES if form else MAX_DESCRIPTION_BYTES)
                if address.url.endswith(PACKED_SUFFIX):
                    data = _unpacked(data)
                if form in ("markdown", "rst", "asciidoc"):
                    data, includes = with_includes(tree, relative, form, data)
                    stamp += INCLUDES * includes
        except FileRefused as refused:
            if refused.reason in (LINK, NOT_REGULAR):
                return Skipped(refused.reason)
            raise
        digest = hashlib.blake2b(data, digest_size=16).digest()
        if form is None:
            return self._not_a_page(path, data)
        if known and known.etag == stamp and known.hash == digest:
            return Unchanged()
        if data.startswith(SIGNATURE):
            return Skipped("a signature")
        if form == "man" and (reason := unread_manual(data)):
            return Skipped(reason)
        title = path.stem if form in ("text", "pdf") else ""
        task = Task(read_page, (RawPage(data, form, address.url, title=title),), (data,))
        return Unparsed(task, partial(_reading, address.url, stamp, digest))

    def take_turn(self, _place: CrawlAddress) -> float:
        """Local files need no delay between requests."""
        return 0.0

    def close(self) -> None:
        """Nothing is held open."""

    def _wants(self, relative: str) -> bool:
        source = self._source
        if source.include and not matches_any(relative, source.include):
            return False
        return not matches_any(relative, source.exclude)

    def _not_a_page(self, path: Path, data: bytes) -> Skipped:
        if self._apis.recognises(data):
            self._apis.add(self._found(path, data))
            return Skipped(IS_API)
        return Skipped(NO_DOCUMENT)

    def _found(self, path: Path, data: bytes) -> FoundDescription:
        source = self._source
        return FoundDescription(path.stem, path.as_posix(), source.version, data, source.id, source.name)


def unread_manual(data: bytes) -> str:
    """Why a file that is named like a manual page is not read; empty for a manual page."""
    if is_man_page(data):
        return ""
    return "another name of a manual page" if data.startswith(b".so ") else NO_DOCUMENT


def _unpacked(data: bytes) -> bytes:
    """What a gzip file holds, all its members; raises when it is too much, or not all of it is there."""
    unpacked, at = bytearray(), 0
    for _ in range(_MOST_MEMBERS):
        at = _unpack_member(data, at, unpacked)
        if at >= len(data) or not data[at]:  # writers may pad with zeros
            return bytes(unpacked)
    raise SourceError(f"It is packed in more than {_MOST_MEMBERS:,} parts")


def _unpack_member(data: bytes, at: int, unpacked: bytearray) -> int:
    """Append what the member that begins at a byte holds; where the next one begins."""
    member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    while not member.eof:
        piece = data[at : at + _UNPACKED_BYTES]
        if not piece:
            raise SourceError("It cannot be unpacked (it is cut off)")
        try:
            unpacked += member.decompress(piece, MAX_FILE_BYTES + 1 - len(unpacked))
        except zlib.error as exc:
            raise SourceError(f"It cannot be unpacked ({exc})") from None
        if len(unpacked) > MAX_FILE_BYTES:
            raise SourceError(f"Unpacked, it is larger than {MAX_FILE_BYTES:,} bytes")
        at += len(piece) - len(member.unused_data)
    return at


def with_includes(tree: Readable, path: str, form: Format, data: bytes) -> tuple[bytes, bool]:
    """A page with the files of the folder that it includes, and whether it includes any."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data, False
    includer = Includer(partial(_included, tree))
    expanded = includer.expanded(text, form, path)
    return expanded.encode(), bool(includer.tried)


def _included(tree: Readable, path: str) -> str | None:
    """The text of a file that a page includes; hidden files are nobody's documentation."""
    if any(part.startswith(".") for part in path.split("/")):
        return None
    try:
        return tree.read(path, _MAX_INCLUDED_BYTES).decode("utf-8", "replace")
    except FileRefused:
        return None


def _reading(url: str, stamp: str, digest: bytes, text: PageText) -> PageReading:
    return PageReading((text.row(url, url, etag=stamp, digest=digest),))


def matches_any(relative: str, globs: tuple[str, ...]) -> bool:
    """Whether one of the globs fits a path or its end."""
    return any(matches_glob(relative, glob) or matches_glob(relative, f"*/{glob}") for glob in globs)
