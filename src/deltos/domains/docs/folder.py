"""Read a local folder or file as a documentation source."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.domains.docs.local_files import API_SUFFIXES, NOT_DOCUMENTATION_REASON, LocalFiles, read_document
from deltos.domains.docs.model import API_DESCRIPTION_REASON, ApiCatalog, FoundDescription, Skipped, Unchanged, Unparsed
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
from deltos.markup.formats import GZIP_SUFFIX, SUFFIXES, format_of
from deltos.store.documents import CrawlAddress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.store.documents import KnownPage, SourceRow

_MAX_GZIP_MEMBERS = 10_000  # per file
_GZIP_STEP_BYTES = 1 << 16  # number of bytes per call to zlib, which copies the unused input in each call
_SOURCE_FILE_SUFFIXES = SUFFIXES | API_SUFFIXES | {GZIP_SUFFIX}


class Folder(LocalFiles):
    """Reads the documentation files below one folder."""

    def __init__(self, source: SourceRow, apis: ApiCatalog) -> None:
        self._root = Path(source.url)
        self._source = source
        self._apis = apis

    @property
    def _is_file(self) -> bool:
        return self._root.is_file()

    @property
    def _base(self) -> Path:
        """The root folder to which the paths of the source's files are relative."""
        return self._root.parent if self._is_file else self._root

    def start_addresses(self) -> Iterator[str | CrawlAddress]:
        """Yield the path of every file in a supported format. Template files are yielded as skipped addresses."""
        if not self._root.exists():
            raise NotFound(
                f"No such file or folder: {self._root}",
                hint="It existed when the source was added; check whether it was moved.",
            )
        check_unmoved(self._root)
        names = [self._root.name] if self._is_file else walk_files(self._root, _SOURCE_FILE_SUFFIXES)
        for relative in names:
            if self._is_selected(relative) and (not relative.endswith(GZIP_SUFFIX) or format_of(relative)):
                url = (self._base / relative).as_posix()
                yield CrawlAddress(url, state="skipped", reason=TEMPLATE) if is_template(relative) else url

    def read(self, address: CrawlAddress, known: KnownPage | None) -> Unparsed | Unchanged | Skipped:
        """Read one file, unless the modification time and size of the file are unchanged."""
        path = Path(address.url)
        form = format_of(address.url)
        try:
            check_unmoved(self._base)
            with FileTree(self._base) as tree:
                relative = address.url.removeprefix(f"{self._base.as_posix()}/")
                status = tree.status(relative)
                stamp = f"{status.st_mtime_ns}-{status.st_size}"
                if known and known.etag == stamp and tree.is_file(relative):
                    return Unchanged()
                data = tree.read(relative, MAX_FILE_BYTES if form else MAX_DESCRIPTION_BYTES)
                if address.url.endswith(GZIP_SUFFIX):
                    data = _gunzip(data)
                if form is None:
                    return self._handle_non_page(path, data)
                return read_document(address, relative, form, data, files=tree, stamp=stamp, known=known)
        except FileRefused as refused:
            if refused.reason in (LINK, NOT_REGULAR):
                return Skipped(refused.reason)
            raise

    def _is_selected(self, relative: str) -> bool:
        """Whether the include and exclude globs select a file."""
        source = self._source
        if source.include and not matches_any(relative, source.include):
            return False
        return not matches_any(relative, source.exclude)

    def _handle_non_page(self, path: Path, data: bytes) -> Skipped:
        """Add a file in an unknown format to the API catalog if it describes an API. Return the skip reason."""
        if self._apis.recognises(data):
            self._apis.add(FoundDescription.of_source(self._source, path.stem, path.as_posix(), data))
            return Skipped(API_DESCRIPTION_REASON)
        return Skipped(NOT_DOCUMENTATION_REASON)


def _gunzip(data: bytes) -> bytes:
    """Return the decompressed contents of a gzip file; raise SourceError if it is too large or invalid."""
    unpacked, at = bytearray(), 0
    for _ in range(_MAX_GZIP_MEMBERS):
        at = _gunzip_member(data, at, unpacked)
        if at >= len(data) or not data[at]:  # gzip files may be padded with zeros at the end
            return bytes(unpacked)
    raise SourceError(f"The gzip file has more than {_MAX_GZIP_MEMBERS:,} members")


def _gunzip_member(data: bytes, at: int, unpacked: bytearray) -> int:
    """Append the decompressed gzip member at position `at` to `unpacked`; return the next member's position."""
    member = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    while not member.eof:
        piece = data[at : at + _GZIP_STEP_BYTES]
        if not piece:
            raise SourceError("The gzip file is truncated")
        try:
            unpacked += member.decompress(piece, MAX_FILE_BYTES + 1 - len(unpacked))
        except zlib.error as exc:
            raise SourceError(f"The gzip file could not be decompressed ({exc})") from None
        if len(unpacked) > MAX_FILE_BYTES:
            raise SourceError(f"The decompressed file is larger than {MAX_FILE_BYTES:,} bytes")
        at += len(piece) - len(member.unused_data)
    return at


def matches_any(relative: str, globs: tuple[str, ...]) -> bool:
    """Whether a glob matches a relative path or a part of the path that begins after a slash."""
    return any(matches_glob(relative, glob) or matches_glob(relative, f"*/{glob}") for glob in globs)
