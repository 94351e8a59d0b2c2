"""Locate and read API descriptions in files, in folders and at URLs."""

from __future__ import annotations

import os
import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urljoin, urlsplit

from deltos.confinement import check_folder, visible_location
from deltos.domains.apis.detect import kind_of
from deltos.domains.apis.document import ApiDocument
from deltos.errors import FileRefused, NotFound, NothingToIndex, SourceError
from deltos.fetch.address import require_web_address
from deltos.fetch.files import MAX_DESCRIPTION_BYTES
from deltos.files import TOO_LARGE, FileTree, read_below
from deltos.folder_walk import walk_entries
from deltos.isolated.wire import Reply
from deltos.isolated_parser import Task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.apis.document import ReadDocument
    from deltos.files import FolderEntry
    from deltos.isolated_parser import Parser

MAX_FILES = 50_000  # maximum number of files and subfolders in an added folder
_SKIPPED_FOLDERS = frozenset(("node_modules", "__pycache__", "venv", "site-packages", "target", "dist", "build"))
_MAX_SHOWN_CHARACTERS = 200
_MAX_BATCH_FILES = 64
_MAX_BATCH_BYTES = 1_000_000
_SDL_SUFFIXES = (".graphql", ".graphqls", ".gql")
_TEXT_SUFFIXES = (*_SDL_SUFFIXES, ".json", ".yaml", ".yml", ".proto")
_BINARY_HEAD_BYTES = 1_024  # a file with a NUL byte in this number of bytes at the start is binary
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")  # byte order marks of UTF-16, in which text may contain NUL bytes


@dataclass(frozen=True, slots=True)
class FetchedResponse:
    """An HTTP response; `url` is the final URL after redirects."""

    body: bytes
    url: str
    content_type: str = ""


class Network(Protocol):
    """Network access that refuses private IP addresses."""

    def get(self, url: str) -> FetchedResponse:
        """Fetch a URL; raise SourceError if that is not allowed or fails."""


def is_http_url(location: str) -> bool:
    """Whether a location is an HTTP URL rather than a path."""
    return location.strip().lower().startswith(("http://", "https://"))


def is_same_location(first: str, second: str) -> bool:
    """Whether two locations are the same URL, or the same file or folder after resolving symbolic links."""
    if first == second or is_http_url(first) or is_http_url(second):
        return first.strip() == second.strip()
    return os.path.realpath(first) == os.path.realpath(second)


def find_documents(
    location: str, *, network: Network | None, parser: Parser, root: Path | None = None
) -> Iterator[ApiDocument]:
    """Yield the documents at a location that may describe APIs.

    References may lead to files below `root`; the default is the added folder or the folder of the added file.
    """
    if is_http_url(location):
        if network is None:
            raise SourceError(f"Cannot fetch {location}: network access is disabled", hint="Give a local file instead.")
        require_web_address(location)
        yield fetched_document(network.get(location), network)
        return
    if "://" in location or location.startswith("file:"):
        raise SourceError(f"Cannot read {location}", hint="Give a path, or a URL that starts with http(s)://.")
    path = _real_path(location)
    boundary = path if root is None else root.resolve()
    if path.is_dir():
        yield from _folder_documents(path, boundary, parser)
    else:
        yield _file_document(path, boundary if root else path.parent)


def _real_path(location: str) -> Path:
    """Resolve a path given by the user, including symbolic links; raise NotFound if it does not exist."""
    try:
        path = Path(location).expanduser().resolve()
        check_folder(path)
        exists = path.exists()
    # For example, the path is too long, or it contains a link loop or a NUL byte.
    except (OSError, RuntimeError, ValueError):
        exists = False
    if not exists:
        shown = visible_location(location)[:_MAX_SHOWN_CHARACTERS]
        raise NotFound(f"No such file or folder: {shown}", hint="Give the path of an API description.")
    return path


def _file_document(path: Path, root: Path) -> ApiDocument:
    """Return a file as a document that may refer to other files below the folder `root`."""
    inside = root if path.is_relative_to(root) else path.parent
    data = read_below(path.parent, path.name, MAX_DESCRIPTION_BYTES)
    return ApiDocument(data, path.name, path.name, _referenced_documents(path, inside))


def _folder_documents(folder: Path, root: Path, parser: Parser) -> Iterator[ApiDocument]:
    """Yield every API description in a folder; all GraphQL schema files form one document."""
    found = False
    schema_files: dict[Path, bytes] = {}
    with FileTree(folder) as tree:
        walk = _FolderWalk(tree)
        for relative, data, reply in _classify_files(walk, parser):
            path = folder / relative
            if reply.error is not None:
                found = True
                yield ApiDocument(b"", _citation_of(path, folder), path.name, problem=_parsing_error(reply.error))
            elif reply.value == "graphql":
                schema_files[path] = data
            elif reply.value:
                found = True
                yield ApiDocument(
                    data, _citation_of(path, folder), path.name, _referenced_documents(path, root), reply.value
                )
    if schema_files:
        found = True
        only = next(iter(schema_files)) if len(schema_files) == 1 else folder
        yield ApiDocument(b"\n".join(schema_files.values()), _citation_of(only, folder), only.name)
    if not found:
        where = f"among the first {MAX_FILES:,} files and folders of" if walk.is_truncated else "in"
        raise NothingToIndex(
            f"No API description {where} {visible_location(str(folder))}",
            hint="OpenAPI, Swagger, AsyncAPI, GraphQL, proto and Postman files are recognised by their content.",
        )
    if walk.is_truncated:
        problem = f"The folder has more than {MAX_FILES:,} files and folders; the others were skipped."
        yield ApiDocument(b"", folder.name, problem=SourceError(problem))


def description_files(folder: Path) -> Iterator[str]:
    """Yield the files with a suffix of API descriptions, relative to `folder`."""
    with FileTree(folder) as tree:
        yield from (relative for relative in _FolderWalk(tree).files() if relative.lower().endswith(_TEXT_SUFFIXES))


def _parsing_error(error: Exception) -> SourceError:
    """Convert an error of the parser to a SourceError."""
    if isinstance(error, SourceError):
        return error
    return SourceError(f"The document could not be parsed ({type(error).__name__}: {error})")


def _classify_files(walk: _FolderWalk, parser: Parser) -> Iterator[tuple[str, bytes, Reply]]:
    """Yield every file with its content and format; a child process detects the formats in batches."""
    waiting: list[tuple[str, bytes]] = []
    waiting_bytes = 0
    for relative in walk.files():
        try:
            data = walk.tree.read(relative, MAX_DESCRIPTION_BYTES)
        except FileRefused as refused:
            if refused.reason == TOO_LARGE and relative.lower().endswith(_TEXT_SUFFIXES):
                yield relative, b"", Reply(error=refused)
            continue
        if b"\x00" in data[:_BINARY_HEAD_BYTES] and not data.startswith(_UTF16_MARKS):
            continue
        waiting.append((relative, data))
        waiting_bytes += len(data)
        if len(waiting) >= _MAX_BATCH_FILES or waiting_bytes >= _MAX_BATCH_BYTES:
            yield from _classify_batch(waiting, parser)
            waiting, waiting_bytes = [], 0
    yield from _classify_batch(waiting, parser)


def _classify_batch(files: list[tuple[str, bytes]], parser: Parser) -> list[tuple[str, bytes, Reply]]:
    """Return each file with its content and detected format."""
    tasks = [Task(kind_of, (relative.endswith(_SDL_SUFFIXES), data), (data,)) for relative, data in files]
    return [(*file, reply) for file, reply in zip(files, parser.run_all(tasks), strict=True)]


def _citation_of(path: Path, folder: Path) -> str:
    """Return the citation of a file: the path relative to the parent of the added folder."""
    return path.relative_to(folder.parent).as_posix()


@dataclass(slots=True)
class _FolderWalk:
    """Walks a folder up to MAX_FILES entries; `is_truncated` is set if the limit was reached."""

    tree: FileTree
    is_truncated: bool = False

    def files(self) -> Iterator[str]:
        """Yield the regular files of a folder before the files in subfolders, without following links."""
        for seen, (path, entry) in enumerate(walk_entries(self.tree, enters=_enters_folder)):
            if seen >= MAX_FILES:
                self.is_truncated = True
                return
            if entry.is_file:
                yield path


def _enters_folder(entry: FolderEntry) -> bool:
    """Whether to search a folder; hidden folders, dependencies and build output are skipped."""
    return entry.is_folder and not entry.name.startswith(".") and entry.name not in _SKIPPED_FOLDERS


def _referenced_documents(path: Path, root: Path) -> ReadDocument:
    """Return a function that reads files to which the document at `path` refers.

    It reads only files below `root` and does not follow links.
    """
    folder = path.parent.relative_to(root).as_posix() if path.is_relative_to(root) else ""
    boundary = root if path.is_relative_to(root) else path.parent

    def read(relative: str) -> bytes:
        target = posixpath.normpath(posixpath.join(folder, relative))
        if target.startswith(("../", "/")) or target == "..":
            raise SourceError("outside the allowed folder")
        return read_below(boundary, target, MAX_DESCRIPTION_BYTES)

    return read


def fetched_document(fetched: FetchedResponse, network: Network | None) -> ApiDocument:
    """Return a fetched description as a document that may refer only to documents on the same host."""
    origin = urlsplit(fetched.url)

    def read(relative: str) -> bytes:
        try:
            target = urljoin(fetched.url, relative)
            is_same_host = urlsplit(target)[:2] == origin[:2]
        except ValueError:
            raise SourceError("not a valid address") from None
        if network is None or not is_same_host:
            raise SourceError("on another host")
        answer = network.get(target)
        if urlsplit(answer.url)[:2] != origin[:2]:
            raise SourceError("on another host")
        return answer.body

    return ApiDocument(fetched.body, fetched.url, origin.path.rsplit("/", 1)[-1] or origin.hostname or "", read)
