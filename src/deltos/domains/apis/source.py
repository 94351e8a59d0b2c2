"""Where API descriptions come from: file, folder, address or live GraphQL endpoint. Parses nothing."""

from __future__ import annotations

import json
import os
import posixpath
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import quote, urljoin, urlsplit

from deltos.confinement import check_folder, told
from deltos.domains.apis.detect import kind_of
from deltos.domains.apis.document import ApiDocument
from deltos.domains.apis.parse.graphql_introspection import INTROSPECTION_QUERY
from deltos.errors import FileRefused, NotFound, NothingToIndex, ReadingStopped, SourceError
from deltos.fetch.address import require_web_address
from deltos.fetch.files import MAX_DESCRIPTION_BYTES
from deltos.files import TOO_LARGE, FileTree, read_below
from deltos.folders import walk_entries
from deltos.guarded import Task
from deltos.isolated.wire import Reply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.apis.document import ReadDocument
    from deltos.files import Entry
    from deltos.guarded import Parser

MAX_FILES = 50_000  # and folders, of one folder that was added
_SKIPPED_FOLDERS = frozenset(("node_modules", "__pycache__", "venv", "site-packages", "target", "dist", "build"))
_SHOWN_CHARACTERS = 200
_FILES_TOGETHER = 64
_BYTES_TOGETHER = 1_000_000
_SDL_SUFFIXES = (".graphql", ".graphqls", ".gql")
_TEXT_SUFFIXES = (*_SDL_SUFFIXES, ".json", ".yaml", ".yml", ".proto")
_BINARY_HEAD_BYTES = 1_024
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")  # UTF-16, which is full of zero bytes


@dataclass(frozen=True, slots=True)
class Fetched:
    """What an address answered; `url` is where it was found after redirects."""

    body: bytes
    url: str
    content_type: str = ""


class Network(Protocol):
    """The guarded way to the network; refuses private addresses itself."""

    def get(self, url: str) -> Fetched:
        """What is at an address; raises SourceError when it may not or cannot be had."""

    def post(self, url: str, body: bytes, content_type: str) -> Fetched:
        """The answer to a posted body."""


def is_address(location: str) -> bool:
    """Whether a location is on the network rather than a path."""
    return location.strip().lower().startswith(("http://", "https://"))


def is_same_place(one: str, other: str) -> bool:
    """Whether two locations are one address, or lead to one file or folder."""
    if one == other or is_address(one) or is_address(other):
        return one.strip() == other.strip()
    return os.path.realpath(one) == os.path.realpath(other)


def find_documents(
    location: str, *, network: Network | None, parser: Parser, root: Path | None = None
) -> Iterator[ApiDocument]:
    """The root documents at a location. References may lead below `root`, by default its folder."""
    if is_address(location):
        if network is None:
            raise SourceError(
                f"Cannot fetch {location}: no network is available here", hint="Give a local file instead."
            )
        yield _fetch_document(location, network, parser)
        return
    if "://" in location or location.startswith("file:"):
        raise SourceError(f"Cannot read {location}", hint="Give a path, or an address that starts with http(s)://.")
    path = _real_path(location)
    boundary = path if root is None else root.resolve()
    if path.is_dir():
        yield from _folder_documents(path, boundary, parser)
    else:
        yield _file_document(path, boundary if root else path.parent)


def _real_path(location: str) -> Path:
    """The file or folder that the user means, links followed; what lies below it is read without following any."""
    try:
        path = Path(location).expanduser().resolve()
        check_folder(path)
        exists = path.exists()
    except (OSError, RuntimeError, ValueError):  # too long, a loop of links, `~` of an unknown user, a zero byte
        exists = False
    if not exists:
        shown = told(location)[:_SHOWN_CHARACTERS]
        raise NotFound(f"There is no file or folder {shown}", hint="Give the path of an API description.")
    return path


def _file_document(path: Path, root: Path) -> ApiDocument:
    inside = root if path.is_relative_to(root) else path.parent
    data = read_below(path.parent, path.name, MAX_DESCRIPTION_BYTES)
    return ApiDocument(data, path.name, path.name, _neighbours(path, inside))


def _folder_documents(folder: Path, root: Path, parser: Parser) -> Iterator[ApiDocument]:
    """Every description in a folder; files of one GraphQL schema count as one."""
    found = False
    schema_files: dict[Path, bytes] = {}
    with FileTree(folder) as tree:
        walk = _Walk(tree)
        for relative, data, reply in _recognised(walk, parser):
            path = folder / relative
            if reply.error is not None:
                found = True
                yield ApiDocument(b"", _cite(path, folder), path.name, problem=_problem(reply.error))
            elif reply.value == "graphql":
                schema_files[path] = data
            elif reply.value:
                found = True
                yield ApiDocument(data, _cite(path, folder), path.name, _neighbours(path, root), reply.value)
    if schema_files:
        found = True
        only = next(iter(schema_files)) if len(schema_files) == 1 else folder
        yield ApiDocument(b"\n".join(schema_files.values()), _cite(only, folder), only.name)
    if not found:
        among = f"among the first {MAX_FILES:,} files and folders of" if walk.is_cut else "in"
        raise NothingToIndex(
            f"No API description was found {among} {told(str(folder))}",
            hint="OpenAPI, Swagger, AsyncAPI, GraphQL, proto and Postman files are found by their content.",
        )
    if walk.is_cut:
        problem = f"It holds more than {MAX_FILES:,} files and folders; what comes after those was not looked at."
        yield ApiDocument(b"", folder.name, problem=SourceError(problem))


def description_files(folder: Path) -> Iterator[str]:
    """The files of a folder whose names say that they may be descriptions, from that folder."""
    with FileTree(folder) as tree:
        yield from (relative for relative in _Walk(tree).files() if relative.lower().endswith(_TEXT_SUFFIXES))


def _problem(error: Exception) -> SourceError:
    if isinstance(error, SourceError):
        return error
    return SourceError(f"It could not be understood ({type(error).__name__}: {error})")


def _recognised(walk: _Walk, parser: Parser) -> Iterator[tuple[str, bytes, Reply]]:
    """Every file with what its bytes look like; many at a time are looked at in a child process."""
    waiting: list[tuple[str, bytes]] = []
    waiting_bytes = 0
    for relative in walk.files():
        try:
            data = walk.tree.read(relative, MAX_DESCRIPTION_BYTES)
        except FileRefused as refused:
            if refused.reason == TOO_LARGE and relative.lower().endswith(_TEXT_SUFFIXES):
                yield relative, b"", Reply(error=refused)
            continue
        if b"\x00" in data[:_BINARY_HEAD_BYTES] and not data.startswith(_WIDE_MARKS):
            continue
        waiting.append((relative, data))
        waiting_bytes += len(data)
        if len(waiting) >= _FILES_TOGETHER or waiting_bytes >= _BYTES_TOGETHER:
            yield from _with_kinds(waiting, parser)
            waiting, waiting_bytes = [], 0
    yield from _with_kinds(waiting, parser)


def _with_kinds(files: list[tuple[str, bytes]], parser: Parser) -> list[tuple[str, bytes, Reply]]:
    tasks = [Task(kind_of, (relative.endswith(_SDL_SUFFIXES), data), (data,)) for relative, data in files]
    return [(*file, reply) for file, reply in zip(files, parser.run_all(tasks), strict=True)]


def _cite(path: Path, folder: Path) -> str:
    """A path as answers name it: from the folder that was added."""
    return path.relative_to(folder.parent).as_posix()


@dataclass(slots=True)
class _Walk:
    """Goes through a folder; `is_cut` tells afterwards whether it held more than is looked at."""

    tree: FileTree
    is_cut: bool = False

    def files(self) -> Iterator[str]:
        """The regular files, each before those in the folders beside it; links are not followed."""
        for seen, (path, entry) in enumerate(walk_entries(self.tree, enters=_is_entered)):
            if seen >= MAX_FILES:
                self.is_cut = True
                return
            if entry.is_file:
                yield path


def _is_entered(entry: Entry) -> bool:
    return entry.is_folder and not entry.name.startswith(".") and entry.name not in _SKIPPED_FOLDERS


def _neighbours(path: Path, root: Path) -> ReadDocument:
    """Reads the files that a document at `path` refers to, if they lie below `root` and no link leads to them."""
    folder = path.parent.relative_to(root).as_posix() if path.is_relative_to(root) else ""
    boundary = root if path.is_relative_to(root) else path.parent

    def read(relative: str) -> bytes:
        target = posixpath.normpath(posixpath.join(folder, relative))
        if target.startswith(("../", "/")) or target == "..":
            raise SourceError("outside the allowed folder")
        return read_below(boundary, target, MAX_DESCRIPTION_BYTES)

    return read


def _fetch_document(url: str, network: Network, parser: Parser) -> ApiDocument:
    require_web_address(url)
    try:
        fetched = network.get(url)
        if not _may_be_graphql(url) or parser.run(kind_of, False, fetched.body, content=(fetched.body,)):
            return fetched_document(fetched, network)
    except ReadingStopped:
        raise
    except SourceError:
        if not _may_be_graphql(url):
            raise
    if introspected := _introspected_by_get(url, network):
        return introspected
    query = json.dumps({"query": INTROSPECTION_QUERY}).encode()
    answer = network.post(url, query, "application/json")
    if b'"__schema"' not in answer.body:
        raise SourceError(f"{url} did not answer an introspection query", hint="Give the schema as a file instead.")
    return ApiDocument(answer.body, answer.url, urlsplit(url).hostname or "")


def _introspected_by_get(url: str, network: Network) -> ApiDocument | None:
    """The schema of an endpoint that answers queries in its address; None where it does not."""
    try:
        answer = network.get(f"{url.partition('?')[0]}?query={quote(' '.join(INTROSPECTION_QUERY.split()))}")
    except SourceError:
        return None
    is_schema = b'"__schema"' in answer.body and not answer.body.lstrip().startswith(b"<")
    return ApiDocument(answer.body, url, urlsplit(url).hostname or "") if is_schema else None


def _may_be_graphql(url: str) -> bool:
    path = urlsplit(url).path.lower().rstrip("/")
    return "graphql" in path.rsplit("/", 1)[-1] and not path.endswith((*_SDL_SUFFIXES, ".json", ".yaml", ".yml"))


def fetched_document(fetched: Fetched, network: Network | None) -> ApiDocument:
    """A fetched description; its references may lead to the same host only."""
    origin = urlsplit(fetched.url)

    def read(relative: str) -> bytes:
        try:
            target = urljoin(fetched.url, relative)
            is_own = urlsplit(target)[:2] == origin[:2]
        except ValueError:
            raise SourceError("not a valid address") from None
        if network is None or not is_own:
            raise SourceError("on another host")
        answer = network.get(target)
        if urlsplit(answer.url)[:2] != origin[:2]:
            raise SourceError("on another host")
        return answer.body

    return ApiDocument(fetched.body, fetched.url, origin.path.rsplit("/", 1)[-1] or origin.hostname or "", read)
