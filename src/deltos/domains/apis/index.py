"""Index API descriptions: find, parse, split and store them, and report changes after re-reading."""

from __future__ import annotations

import logging
import pickle
import re
import time
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deltos.confinement import visible_location, whole_store
from deltos.domains.apis.chunk import encode
from deltos.domains.apis.library import ApiLibrary, api_of, is_visible, projects_of
from deltos.domains.apis.prepare import (
    PreparedDocuments,
    RawDocument,
    UnreadDocument,
    prepare,
)
from deltos.domains.apis.source import FetchedResponse, fetched_document, find_documents, is_http_url, is_same_location
from deltos.errors import BadArgument, DeltosError, ParserStopped, SourceError
from deltos.fetch.files import MAX_DESCRIPTION_BYTES
from deltos.files import given_path
from deltos.progress import Silent
from deltos.store.apis import ApiRow, UnreadableDocument
from deltos.workspace.source_projects import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from deltos.domains.apis.document import ApiDocument, ReadDocument
    from deltos.domains.apis.model import Api
    from deltos.domains.apis.prepare import PreparedApi, ReferencedDocuments, WantedDocument
    from deltos.domains.apis.source import Network
    from deltos.isolated_parser import Parser
    from deltos.progress import Progress
    from deltos.semantic_index import SemanticIndex
    from deltos.store.apis import ApiDescriptions

_GENERIC_TITLE_WORDS = frozenset(
    "the api apis rest http web openapi swagger specification spec documentation reference public official extension"
    " extensions".split()
)
_FILE_SUFFIXES = frozenset("yaml yml json graphql graphqls gql proto swagger openapi postman_collection".split())
MAX_NAME_CHARACTERS = 60
MAX_WARNINGS = 20
MAX_REFERENCE_ROUNDS = 40  # maximum length of a chain of references between documents
MAX_REFERENCED_DOCUMENTS_SECONDS = 120.0  # time limit for reading all documents referenced by one document
_REFERENCED_DOCUMENTS_TIMEOUT_REASON = (
    f"the time limit of {MAX_REFERENCED_DOCUMENTS_SECONDS:.0f} s for reading referenced documents was reached"
)
# After this number of documents that exceed the parsing limits, the rest of the source is skipped.
MAX_STOPPED_DOCUMENTS = 20
MAX_LISTED_UNREAD_DOCUMENTS = 100  # maximum number of unreadable documents whose names are stored for a source
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OwningSource:
    """The documentation source in which a description was found; if the source is removed, the API is removed too.

    The `name` of the source is used to distinguish APIs with the same name.
    """

    id: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class _ApiOwnership:
    """The source that contains an API, and the projects to which the API is visible, as a JSON list."""

    source_name: str
    source: str
    projects: str


@dataclass(frozen=True, slots=True)
class AddReport:
    """Result of adding or refreshing a source: its APIs, and the documents that could not be read."""

    apis: tuple[Api, ...]
    failures: tuple[UnreadDocument, ...] = ()


@dataclass(slots=True)
class _ParsedSource:
    """Collects the parsed APIs of one source, and the documents that could not be read."""

    parser: Parser
    apis: list[PreparedApi] = field(default_factory=list)
    failures: list[UnreadDocument] = field(default_factory=list)
    stopped_count: int = 0  # number of documents that exceeded the parsing limits

    @property
    def is_abandoned(self) -> bool:
        """Whether the rest of the source is skipped, because too many documents exceeded the parsing limits."""
        return self.stopped_count >= MAX_STOPPED_DOCUMENTS

    def read_documents(self, documents: Sequence[ApiDocument]) -> None:
        """Parse documents that may form one API; after a failure, retry without documents that cannot be parsed."""
        if not documents or self.is_abandoned:
            return
        result = self._prepare_or_error(documents)
        if isinstance(result, PreparedDocuments):
            self.apis += result.apis
            self.failures += result.failures
        elif len(documents) == 1:
            self.record_failure(documents[0], result)
        elif len(good := self._readable_documents(documents)) < len(documents):
            self.read_documents(good)
        else:  # each document can be parsed alone, but together the documents exceed a limit
            self.failures += [UnreadDocument(document.citation, str(result)) for document in documents]

    def _readable_documents(self, documents: Sequence[ApiDocument]) -> list[ApiDocument]:
        """Return the documents that can be parsed on their own; stop if the rest of the source is skipped."""
        good: list[ApiDocument] = []
        for document in documents:
            if self.is_abandoned:
                break
            result = self._prepare_or_error([document])
            if isinstance(result, PreparedDocuments):
                good.append(document)
            else:
                self.record_failure(document, result)
        return good

    def usable_apis(self) -> list[PreparedApi]:
        """Return the parsed APIs; APIs that only define types are returned only if there are no others."""
        return [api for api in self.apis if not api.has_only_types] or self.apis

    def first_error(self, hint: str = "") -> SourceError:
        """Return the error of the first document that could not be read."""
        kind = ParserStopped if self.stopped_count else SourceError
        return kind(f"{self.failures[0].document}: {self.failures[0].reason}", hint=hint)

    def record_failure(self, document: ApiDocument, error: SourceError) -> None:
        """Record a document that could not be read."""
        self.stopped_count += isinstance(error, ParserStopped)
        self.failures.append(UnreadDocument(document.citation, str(error)))

    def _prepare_or_error(self, documents: Sequence[ApiDocument]) -> PreparedDocuments | SourceError:
        """Parse documents; return the result, or the error if they cannot be parsed."""
        try:
            return self._prepare(documents)
        except ParserStopped as exc:
            return exc
        except DeltosError:
            raise  # errors not caused by the documents, for example a cancelled request
        except Exception as exc:  # noqa: BLE001 (one malformed document must not stop the others)
            _log.warning("Cannot read %s", documents[0].citation, exc_info=True)
            return SourceError(f"The document could not be parsed ({type(exc).__name__}: {exc})")

    def _prepare(self, documents: Sequence[ApiDocument]) -> PreparedDocuments:
        """Parse and split documents in a child process, and read the referenced documents that the process requests."""
        raw = [RawDocument(each.data, each.citation, each.name, each.read is not None) for each in documents]
        referenced: ReferencedDocuments = {}
        rounds = 1
        deadline = time.monotonic() + MAX_REFERENCED_DOCUMENTS_SECONDS
        while True:
            others = (text for text in referenced.values() if isinstance(text, bytes))
            content = (*(each.data for each in documents), *others)
            is_last_round = rounds >= MAX_REFERENCE_ROUNDS
            result = self.parser.run(prepare, raw, referenced, is_last_round, content=content)
            if isinstance(result, PreparedDocuments):
                return result
            is_more = _read_wanted_documents(documents, result.wanted, referenced, deadline)
            rounds = rounds + 1 if is_more else MAX_REFERENCE_ROUNDS


class ApiIndexer:
    """Adds, refreshes and removes APIs."""

    def __init__(
        self,
        store: ApiDescriptions,
        *,
        network: Network | None,
        parser: Parser,
        clock: Callable[[], float],
        semantic_index: Callable[[], SemanticIndex | None] = lambda: None,
    ) -> None:
        self._store = store
        self._semantic_index = semantic_index
        self._parser = parser
        self._network = network
        self._clock = clock

    def add(
        self,
        location: str,
        name: str = "",
        *,
        root: Path | None = None,
        owner: OwningSource | None = None,
        projects: Sequence[str] = (SHARED,),
        progress: Progress | None = None,
    ) -> AddReport:
        """Index every API description at `location`; raise an error if none can be read.

        A `name` given by the user is used unchanged; if there is an `owner`, the name is only a suggestion. APIs that
        were added from the same location before are re-read, keep their names unless a new name is given, and become
        visible to `projects` too.
        """
        location = location if is_http_url(location) else _absolute_location(location)
        source_name = name.strip()
        if owner is None:
            self._check_name_is_free(source_name, location)
        documents = find_documents(location, network=self._network, parser=self._parser, root=root)
        return self._add_documents(documents, location, source_name, owner, projects, progress or Silent())

    def add_found(
        self,
        data: bytes,
        url: str,
        name: str = "",
        *,
        owner: OwningSource | None = None,
        projects: Sequence[str] = (SHARED,),
        read: ReadDocument | None = None,
    ) -> AddReport:
        """Index an API description that the caller fetched from `url`, for example during a crawl.

        `read` reads referenced documents that only the caller can read, such as files in a git commit.
        """
        if read is None and not is_http_url(url):
            return self.add(url, name, owner=owner, projects=projects)
        source_name = name.strip()
        if owner is None:
            self._check_name_is_free(source_name, url)
        document = fetched_document(FetchedResponse(data, url), self._network)
        if read is not None:
            citation = url if is_http_url(url) else Path(url).name
            document = replace(document, citation=citation, read=read)
        documents = [document]
        return self._add_documents(documents, url, source_name, owner, projects, Silent())

    def _add_documents(
        self,
        documents: Iterable[ApiDocument],
        location: str,
        source_name: str,
        owner: OwningSource | None,
        projects: Sequence[str],
        progress: Progress,
    ) -> AddReport:
        """Parse and store documents; return the added APIs, and the documents that could not be read."""
        read_at = self._clock()  # set before reading, so that changes made during reading are detected later
        parsed_source = self._parse_documents(_with_progress(documents, progress))
        prepared_apis = parsed_source.usable_apis()
        if not prepared_apis:
            raise parsed_source.first_error()
        self._record_unread(location, parsed_source.failures)
        apis = []
        known_rows = _match_known_rows(prepared_apis, [] if owner else self._find_added_from(location), source_name)
        for number, (each, known) in enumerate(zip(prepared_apis, known_rows, strict=True)):
            progress.report(number, len(prepared_apis), "APIs stored")
            is_only = len(prepared_apis) == 1
            warnings: tuple[str, ...] = ()
            if known and source_name in ("", known.source_name, known.name if is_only else ""):
                api_name, owner_name = known.name, known.source_name
            else:
                api_name, warnings = self._choose_name(each, source_name, location, owner, is_only=is_only)
                owner_name = owner.id if owner else source_name or api_name
            before_projects = projects_of(known) if known else ()
            is_shared = SHARED in (*before_projects, *projects)
            visible_to = (SHARED,) if is_shared else tuple(dict.fromkeys((*before_projects, *projects)))
            ownership = _ApiOwnership(owner_name, location, encode(visible_to).decode())
            apis.append(self._store_api(each, api_name, ownership, warnings, read_at))
            if known:
                self._remove_replaced(known, api_name, location)
        self._embed_new()
        return AddReport(tuple(apis), tuple(parsed_source.failures))

    def _find_added_from(self, location: str) -> list[ApiRow]:
        """Return the APIs that the user added from a location, without APIs owned by a documentation source."""
        rows = ApiLibrary(self._store).rows()
        own = [row for row in rows if row.name == row.source_name or row.name.startswith(f"{row.source_name}-")]
        return sorted(
            (row for row in own if is_same_location(row.source, location)), key=lambda row: row.source != location
        )

    def _remove_replaced(self, before: ApiRow, name: str, location: str) -> None:
        """Remove the old version of a renamed API, and the failures recorded for its former location."""
        if before.name != name:
            self._store.remove(before.name)
        if before.source != location:
            self._store.replace_unreadable(before.source, ())

    def refresh(self, name: str, *, root: Path | None = None) -> AddReport:
        """Re-read the source with the given name or API name."""
        rows = self._selected_rows(name)
        source, source_name = rows[0].source, rows[0].source_name
        documents = find_documents(source, network=self._network, parser=self._parser, root=root)
        read_at = self._clock()
        parsed_source = self._parse_documents(documents)
        prepared_apis = parsed_source.usable_apis()
        self._record_unread(source, parsed_source.failures)
        if not prepared_apis:
            raise parsed_source.first_error(hint="The old version was kept.")
        apis = []
        for each, known in zip(prepared_apis, _match_known_rows(prepared_apis, rows), strict=True):
            api_name = known.name if known else self._choose_name(each, source_name, source, None, is_only=False)[0]
            ownership = _ApiOwnership(source_name, source, rows[0].projects)
            apis.append(self._store_api(each, api_name, ownership, (), read_at))
        self._embed_new()
        return AddReport(tuple(apis), tuple(parsed_source.failures))

    def _embed_new(self) -> None:
        """Embed the operations and schemas that do not have a vector."""
        if semantic_index := self._semantic_index():
            semantic_index.embed_new()

    def remove(self, name: str) -> tuple[str, ...]:
        """Remove the APIs of a source, or one API; return the names of the removed APIs."""
        rows = self._selected_rows(name)
        for row in rows:
            self._store.remove(row.name)
        return tuple(row.name for row in rows)

    def _selected_rows(self, name: str) -> list[ApiRow]:
        """Return the API with this name, or all APIs of the source with this name."""
        library = ApiLibrary(self._store)
        exact = library.find_exact(name.strip())
        if exact is not None:
            return [exact]
        return [row for row in self._store.apis_of_source(name.strip()) if is_visible(row)] or [library.row(name)]

    def _parse_documents(self, documents: Iterable[ApiDocument]) -> _ParsedSource:
        """Parse every document; protobuf files are parsed together, because several files may form one API."""
        parsed_source = _ParsedSource(self._parser)
        protobuf: list[ApiDocument] = []
        for document in documents:
            if document.problem:
                parsed_source.record_failure(document, document.problem)
            elif document.kind == "protobuf":
                protobuf.append(document)
            else:
                parsed_source.read_documents([document])
            if parsed_source.is_abandoned:
                break
        parsed_source.read_documents(protobuf)
        if parsed_source.is_abandoned:
            reason = (
                f"{MAX_STOPPED_DOCUMENTS} documents exceeded the parsing limits; the remaining documents were skipped."
            )
            parsed_source.failures.append(UnreadDocument("further documents", reason))
        return parsed_source

    def _record_unread(self, source: str, failures: Sequence[UnreadDocument]) -> None:
        """Store the names of documents that could not be read, so that lists of APIs can mention them."""
        named = [
            UnreadableDocument(source, failure.document, failure.reason)
            for failure in failures[:MAX_LISTED_UNREAD_DOCUMENTS]
        ]
        if (more := len(failures) - MAX_LISTED_UNREAD_DOCUMENTS) > 0:
            named.append(UnreadableDocument(source, "further documents", f"{more} more could not be read."))
        self._store.replace_unreadable(source, named)

    def _store_api(
        self,
        prepared: PreparedApi,
        name: str,
        ownership: _ApiOwnership,
        warnings: Iterable[str],
        read_at: float,
    ) -> Api:
        """Store a parsed API in place of its old version."""
        row = ApiRow(
            name=name,
            source_name=ownership.source_name,
            source=ownership.source,
            projects=ownership.projects,
            citation=prepared.citation,
            overview=encode(prepared.overview),
            operations=prepared.operation_count,
            schemas=prepared.schema_count,
            webhooks=prepared.webhook_count,
            warnings=encode(_truncate_warnings(warnings, prepared.warnings)),
            indexed_at=read_at,
        )
        units = (unit for batch in prepared.units for unit in pickle.loads(batch))  # noqa: S301 (from our own child)
        self._store.replace(row, units)
        return api_of(row)

    def _row_by_name(self, name: str) -> ApiRow | None:
        """Return the API with a name, even if it is not visible to the caller, because names are unique."""
        with whole_store():
            return self._store.api(name)

    def _check_name_is_free(self, name: str, location: str) -> None:
        """Raise BadArgument if another API already has this name."""
        taken = self._row_by_name(name) if name else None
        if taken is not None and not is_same_location(taken.source, location):
            origin = f", from {visible_location(taken.source)}" if is_visible(taken) else ""
            raise BadArgument(
                f"An API with the name '{name}' already exists{origin}",
                hint="Choose another name (on the command line: --name), or remove that API.",
            )

    def _choose_name(
        self, prepared: PreparedApi, source_name: str, location: str, owner: OwningSource | None, *, is_only: bool
    ) -> tuple[str, tuple[str, ...]]:
        """Return an unused name for an API, and a warning if the preferred name is already used.

        An API that belongs to a documentation source keeps its current name. A new API is named after its title or,
        without a title, after the source. If this name is used, the name of the source precedes the title.
        """
        own = slug(prepared.overview.title) or slug(_file_stem(prepared))
        version = slug(prepared.overview.version)
        if owner is None:
            wanted = source_name if source_name and is_only else "-".join(filter(None, (source_name, own)))
            names = [wanted, f"{wanted}-{version}"] if version else [wanted]
            return self._first_unused_name(prepared, location, names, numbered=wanted)
        known = (row for row in self._store.apis_of_source(owner.id) if row.source == location)
        if kept := next((row.name for row in known if row.citation == prepared.citation), ""):
            return kept, ()
        wanted = slug(prepared.overview.title) or slug(owner.name) or source_name
        qualified = f"{slug(owner.name)}-{wanted}" if slug(owner.name) != wanted else wanted
        return self._first_unused_name(prepared, location, [wanted, qualified], numbered=qualified)

    def _first_unused_name(
        self, prepared: PreparedApi, location: str, names: Sequence[str], *, numbered: str
    ) -> tuple[str, tuple[str, ...]]:
        """Return the first unused name in `names` or, if all are used, the name `numbered` with a number appended."""
        wanted = names[0]
        numbered_names = (f"{numbered}-{number}" for number in range(2, 1_000))
        for name in chain(names, numbered_names):
            taken = self._row_by_name(name)
            if taken is None or (taken.citation == prepared.citation and is_same_location(taken.source, location)):
                warning = f"Another API has the name '{wanted}'; this one was named '{name}'."
                return name, () if name == wanted else (warning,)
        raise BadArgument(f"Too many APIs have the name '{wanted}'", hint="Choose another name for this API.")


def _match_known_rows(
    prepared_apis: Sequence[PreparedApi], rows: Sequence[ApiRow], name: str = ""
) -> list[ApiRow | None]:
    """Return for each parsed API the stored API that it replaces, or None; the API named `name` is preferred.

    APIs with the same citation, such as protobuf packages in a folder, are matched by title first.
    """
    if len(prepared_apis) == 1 and len({row.citation for row in rows}) == 1:
        return [next((row for row in rows if row.name == name), rows[0])]
    left = sorted(rows, key=lambda row: row.name != name)
    known: dict[int, ApiRow] = {}
    for is_title_kept in (True, False):
        for position, prepared in enumerate(prepared_apis):
            title = prepared.overview.title
            cited = (row for row in left if row.citation == prepared.citation)
            row = next((row for row in cited if not is_title_kept or api_of(row).overview.title == title), None)
            if row and position not in known:
                known[position] = row
                left.remove(row)
    return [known.get(position) for position in range(len(prepared_apis))]


def _absolute_location(location: str) -> str:
    """Return an absolute path with `..` resolved."""
    # Resolve symbolic links now, because they may change later.
    path = given_path(location).absolute()
    return str(path.resolve() if ".." in path.parts else path)


def _with_progress(documents: Iterable[ApiDocument], progress: Progress) -> Iterator[ApiDocument]:
    """Yield the documents and report progress."""
    # The total is unknown, so report the current number plus one as the total.
    for number, document in enumerate(documents, 1):
        progress.report(number, number + 1, "descriptions found")
        yield document


def _read_wanted_documents(
    documents: Sequence[ApiDocument], wanted: Iterable[WantedDocument], referenced: ReferencedDocuments, deadline: float
) -> bool:
    """Read the documents that the child process requested, within limits; return whether any new document was read."""
    before = len(referenced)
    remaining_bytes = MAX_DESCRIPTION_BYTES - sum(len(text) for text in referenced.values() if isinstance(text, bytes))
    for position, paths in wanted:
        read = documents[position].read
        for path in paths:
            if (position, path) not in referenced:
                is_late = time.monotonic() > deadline
                referenced[position, path] = found = (
                    _REFERENCED_DOCUMENTS_TIMEOUT_REASON if is_late else _read_referenced(read, path, remaining_bytes)
                )
                remaining_bytes -= len(found) if isinstance(found, bytes) else 0
            if isinstance(referenced[position, path], bytes):
                break
    return len(referenced) > before


def _read_referenced(read: ReadDocument | None, path: str, remaining_bytes: int) -> bytes | str:
    """Return the content of a referenced document, or the reason why it cannot be read."""
    try:
        data = read(path) if read else b""
    except SourceError as exc:
        return exc.message
    return (
        data
        if len(data) <= remaining_bytes
        else f"together, the documents have more than {MAX_DESCRIPTION_BYTES:,} bytes"
    )


def _truncate_warnings(*warnings: Iterable[str]) -> list[str]:
    """Return the first `MAX_WARNINGS` warnings, and a line with the number of omitted warnings."""
    every = list(chain(*warnings))
    more = len(every) - MAX_WARNINGS
    return every if more <= 0 else [*every[:MAX_WARNINGS], f"{more} more warnings were omitted."]


def slug(text: str) -> str:
    """Return a short name derived from the title of an API, such as `stripe` for `The Stripe API v3`."""
    titles = (text.partition(" + ")[0], text)
    words = [re.findall(r"[^\W_]+(?:\.[^\W_]+)*", re.sub(r"['’]s\b", "", title.lower())) for title in titles]
    distinctive = next(
        filter(None, ([word for word in each if _is_distinctive_word(word)] for each in words)), words[-1]
    )
    return "-".join(distinctive)[:MAX_NAME_CHARACTERS].strip("-")


def _is_distinctive_word(word: str) -> bool:
    return word not in _GENERIC_TITLE_WORDS and not re.fullmatch(r"v\d+", word)


def _file_stem(prepared: PreparedApi) -> str:
    """Return the file name of an API description without suffixes, or the host if there is no file name."""
    name = prepared.name or urlsplit(prepared.citation).hostname or prepared.citation
    end = len(name)
    while (dot := name.rfind(".", 0, end)) >= 0 and name[dot + 1 : end] in _FILE_SUFFIXES:
        end = dot
    return name[:end]
