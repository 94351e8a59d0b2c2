"""What can be done with documentation sources: add, list, recrawl, cancel, remove, and say where each one stands."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import is_confined, may_recall_all, may_show, shown_path, whole_store
from deltos.domains.docs.api_page import description_addresses, graphql_endpoint, schema_addresses
from deltos.domains.docs.dependencies import direct_dependencies
from deltos.domains.docs.folder_changes import FolderWatch
from deltos.domains.docs.model import PACKAGE_KINDS, FoundDescription, SourceStatus
from deltos.domains.docs.packages import ProjectPackages, Upgrades
from deltos.domains.docs.pages import SECTION_SEPARATOR
from deltos.domains.docs.source import package_address, parse_address
from deltos.domains.docs.versions import (
    ALL,
    LATEST,
    called,
    labelled,
    name_and_version,
    newest_first,
    no_such_version,
    of_version,
    same_version,
)
from deltos.errors import BadArgument, DeltosError, Forbidden, NotFound, ReadingStopped, SourceError, StoreError
from deltos.fetch.files import MAX_DESCRIPTION_BYTES, MAX_FILE_BYTES, read_file
from deltos.globs import check_globs
from deltos.store.documents import SourceRow
from deltos.text.counts import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deltos.domains.docs.background import Crawls
    from deltos.domains.docs.folder_changes import FolderState
    from deltos.domains.docs.model import ApiCatalog
    from deltos.domains.docs.running import Run
    from deltos.domains.docs.source import Address, Kind, Opener
    from deltos.fetch.http import HttpClient
    from deltos.store.documents import CrawlRow, Pages, Passages, Sources

DEPENDENCIES = "deps:"
_API_PAGE = re.compile(
    r"/(?:docs|redoc|reference|scalar|swagger-ui|api|graphi?ql|playground|altair|voyager|(?:index|swagger|redoc|graphi?ql)\.html)/?$",
    re.IGNORECASE,
)
_API_FILE = re.compile(
    r"\.(?:json|ya?ml|graphqls?|gql|proto)$|/(?:open-?api|swagger|async-?api|api-?docs|api-?spec|spec)/?$",
    re.IGNORECASE,
)
MOST_PAGES = 100_000
_MOST_PAGES_OF_WEBSITE = 500  # unless the user asks for more
_MOST_ADDRESSES_OF_PAGE = 6
_PACKAGES_ANSWER = "An installed package answers to pypi:NAME or npm:NAME."
_READ_SECONDS = 20.0  # how long a question waits for a package that is read for it
CHANGES_SECONDS = 5.0  # and for what changed in local folders
_COMPARE_SECONDS = 1.0  # how long all folders of a question are compared with the disk
_NAMES_SHOWN = 5
_SKIPPED_SHOWN = 10  # reasons for which addresses were passed over


@dataclass(frozen=True, slots=True)
class NewSource:
    """What the user wants added. Local paths must lie below one of `roots`.

    `max_pages` 0 is the usual limit of the kind: 500 for a website, none for what lies on this machine.
    """

    url: str
    name: str
    project_root: Path
    roots: tuple[Path, ...]
    version: str = ""
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_pages: int = 0
    max_depth: int = 0
    auth: str = ""
    browser: bool = False


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a request to add: sources begun, a line about an API description, what could not be added."""

    sources: tuple[SourceRow, ...] = ()
    api_line: str = ""
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """A source that is gone, how much of it could be searched, and the APIs that went with it."""

    source: SourceRow
    pages: int
    chunks: int
    apis: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FirstPage:
    """A page that was read while somebody waits for it: what it is called and how much there is of it."""

    title: str
    characters: int
    chunks: int
    headings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recrawl:
    """A crawl that was opened, or one that was left unfinished and goes on."""

    source: SourceRow
    goes_on: bool = False


class Library:
    """All documentation sources of this user."""

    def __init__(
        self,
        store: Sources,
        index: Pages,
        search_store: Passages,
        crawls: Crawls,
        opener: Opener,
        *,
        apis: ApiCatalog,
        now: Callable[[], float],
        changes_seconds: float = CHANGES_SECONDS,
    ) -> None:
        self._store = store
        self._index = index
        self._search_store = search_store
        self._opener = opener
        self._apis = apis
        self._now = now
        self._changes_seconds = changes_seconds
        self._folders = FolderWatch(store, index, apis)
        self._freshening = threading.Lock()
        self._reading_since: dict[str, float] = {}
        self._upgrades = Upgrades(opener.environments, opener.parser)
        self._installing = threading.Lock()
        self.crawls = crawls

    # ------------------------------------------------------------------ changing

    def add(self, request: NewSource) -> Added:
        """Record a source, or all direct dependencies of the project; their crawls are open but not begun."""
        if request.url.strip() == DEPENDENCIES:
            return self._add_dependencies(request)
        check_globs((*request.include, *request.exclude))
        address = parse_address(request.url, project_root=request.project_root, roots=request.roots)
        if request.auth.strip() and not may_recall_all():
            raise Forbidden("Logins are not for tokens held to some projects", hint="Use one for all projects.")
        self._opener.logins.find(request.auth.strip(), address.url)  # refused at once, not by the crawl
        if request.browser and is_confined() and not self._opener.browser:
            raise Forbidden("No browser is switched on for callers", hint="Set DELTOS_BROWSER where the server runs.")
        given = request.name.strip()
        name = given or default_name(address.url)
        source = self._versioned(
            SourceRow(
                id="",
                name=name,
                kind=address.kind,
                url=address.url,
                version=request.version.strip() or address.version,
                include=request.include,
                exclude=request.exclude,
                max_pages=_most_pages(request.max_pages, address.kind),
                max_depth=max(0, request.max_depth),
                project_root=request.project_root.as_posix(),
                added_at=self._now(),
                auth=request.auth.strip(),
                browser=request.browser,
                folder=address.folder,
            )
        )
        self._refuse_same_address(source)
        if given:
            self._refuse_taken_name(source)
        else:
            source = self._named(source)
        if api_line := self._as_api(replace(request, name=name), address):
            return Added(api_line=api_line)
        return Added((self._record(source),))

    def _versioned(self, source: SourceRow) -> SourceRow:
        """A source with the version that it has; a package of another version than the one wanted is refused."""
        if source.kind == "git":
            reference = self._opener.reference_of(_of_default_branch(source))
            return replace(source, version=reference.version, reference=reference.name)
        version = self._opener.version_of(source)
        if source.version and source.version != LATEST and not same_version(version, source.version):
            raise BadArgument(
                f"{source.url} is installed here in version {version}, not {source.version}",
                hint="Add it from a project that uses that version, or leave the version out.",
            )
        return replace(source, version=version)

    def _record(self, source: SourceRow) -> SourceRow:
        source = replace(source, id=self._new_id(source))
        self._store.add_source(source)
        self._store.begin_crawl(source.id, is_full=False, now=self._now())
        return source

    def _new_id(self, source: SourceRow) -> str:
        """An id that no source has: another version, or the same package of another project, needs one of its own."""
        url, name = source.url, source.name
        ids = [_source_id(name, url), _source_id(labelled(source), url), _source_id(name, url, source.project_root)]
        with whole_store():
            return next(
                each for each in (*ids, _source_id(name, url, str(source.added_at))) if not self._store.source(each)
            )

    def _add_dependencies(self, request: NewSource) -> Added:
        """Each direct dependency that is installed and not yet a source; the others are named with the reason."""
        wanted = direct_dependencies(request.project_root, self._opener.parser())
        if not wanted.addresses and not wanted.left_out:
            raise NotFound(
                "The project names no dependencies",
                hint="deps: reads pyproject.toml, requirements*.txt and package.json in the project folder.",
            )
        sources: list[SourceRow] = []
        failures = list(wanted.left_out)
        for address in wanted.addresses:
            try:
                name = address.partition(":")[2]
                added = self.add(
                    NewSource(address, name, request.project_root, request.roots, max_pages=request.max_pages)
                )
                sources += added.sources
            except DeltosError as exc:
                failures.append(f"{address}: {exc.message}")
        return Added(tuple(sources), failures=tuple(failures))

    def _as_api(self, request: NewSource, address: Address) -> str:
        """Hand an API description to the API domain; empty when it is none. An address is checked on the way."""
        url = address.url
        if address.kind == "folder":
            path = Path(url)
            most = MAX_DESCRIPTION_BYTES if _API_FILE.search(url) else MAX_FILE_BYTES
            if path.is_file() and self._apis.recognises(data := read_file(path, most)):
                return self._apis.add(FoundDescription(request.name, url, request.version, data))
        elif address.kind == "website":
            from deltos.fetch.http import DESCRIPTION_LIMITS  # deferred: only now a network is needed

            may_be_api = _API_FILE.search(url.partition("?")[0])
            client = self._opener.client(None)
            try:
                client.check(url)
                if request.auth:  # what is read with a login is not for everybody, as APIs are
                    return ""
                data = client.get(url, limits=DESCRIPTION_LIMITS).body if may_be_api else b""
                if not may_be_api and _API_PAGE.search(url.partition("?")[0]):
                    url, data = self._shown_description(client, url)
            finally:
                client.close()
            if data and self._apis.recognises(data):
                return self._apis.add(FoundDescription(request.name, url, request.version, data))
            if url.endswith("/graphql") or url != address.url:
                line = self._as_endpoint(FoundDescription(request.name, url, request.version))
                if line or url == address.url:
                    return line
                raise SourceError(
                    f"The page is for the GraphQL endpoint {url}, which offers its schema neither as a file nor to"
                    " introspection",
                    hint="Give the schema as a file.",
                )
        return ""

    def _shown_description(self, client: HttpClient, page: str) -> tuple[str, bytes]:
        """The description that a page of Swagger UI or its like shows, with its address; without one, the endpoint that
        a page of GraphiQL asks, or the page."""
        from deltos.fetch.http import DESCRIPTION_LIMITS  # deferred: only now a network is needed

        endpoint = ""
        try:
            body = client.get(page).body
            addresses = description_addresses(body, page)
            if endpoint := graphql_endpoint(body, page):
                addresses += schema_addresses(body, page)
            # A page may lead to a script and that to the description; one that leads ever on is none of these.
            for at in range(_MOST_ADDRESSES_OF_PAGE):
                if at >= len(addresses):
                    break
                data = client.get(addresses[at], limits=DESCRIPTION_LIMITS).body
                if self._apis.recognises(data):
                    return addresses[at], data
                addresses += [one for one in description_addresses(data, addresses[at]) if one not in addresses]
        except ReadingStopped:
            raise
        except SourceError:
            pass  # then it is crawled, which tells why it cannot be read
        return endpoint or page, b""

    def _as_endpoint(self, description: FoundDescription) -> str:
        """Add a live endpoint; empty when it turns out to be an ordinary page."""
        try:
            return self._apis.add(description)
        except ReadingStopped:
            raise
        except SourceError:
            return ""

    def _refuse_same_address(self, new: SourceRow) -> None:
        """Refuse what is read already."""
        if source := next((each for each in self.sources() if _is_same(each, new)), None):
            raise BadArgument(
                f"'{labelled(source)}' ({shown_path(source.url, Path(new.project_root))}) is already a source",
                hint="Use recrawl_source to refresh it, or remove_source first; another version needs its"
                " own address and version.",
            )

    def _refuse_taken_name(self, new: SourceRow) -> None:
        """Refuse a name that another source of the same version has."""
        if not (source := self._called_so(new.name, new.version)):
            return
        if not _is_shown(source):
            raise BadArgument(f"The name '{new.name}' cannot be used", hint="Choose another one.")
        raise BadArgument(
            f"The name '{labelled(source)}' is taken by {shown_path(source.url, Path(new.project_root))}",
            hint="Give this one another name (on the command line: --name), or remove_source first.",
        )

    def _named(self, source: SourceRow) -> SourceRow:
        """A source under the first name that nobody gave it and no other has: its own, that with where it lies before
        it (`shop-docs`, `example.org-docs`), and numbered ones."""
        names = chain((source.name, placed := _placed_name(source)), (f"{placed}-{number}" for number in count(2)))
        return replace(source, name=next(name for name in names if not self._called_so(name, source.version)))

    def _called_so(self, name: str, version: str) -> SourceRow | None:
        """The source that has a name in a version, whoever may be shown it."""
        with whole_store():
            every = self._store.sources()
        return next((each for each in every if (each.name.lower(), each.version) == (name.lower(), version)), None)

    def recrawl(self, named: str, version: str = "", *, full: bool) -> Recrawl:
        """Open a new crawl of a source, or let an unfinished one go on; refuses while one is under way."""
        source = self.find(named, version)
        crawl = self._store.crawl(source.id)
        unfinished = crawl if crawl is not None and crawl.state == "open" else None
        if unfinished and self.crawls.is_running(source.id):
            raise _already_crawled(source)
        if unfinished and not full:
            if not self.crawls.allow_again(unfinished, unfinished):
                raise _already_crawled(source)
            return Recrawl(source, goes_on=True)
        source = replace(source, version=self._opener.version_of(source))
        self._store.set_version(source.id, source.version)
        self._store.begin_crawl(source.id, is_full=full, now=self._now())
        if unfinished and (begun := self._store.crawl(source.id)):
            self._index.discard(source.id)
            self.crawls.allow_again(unfinished, begun)
        return Recrawl(source)

    def cancel(self, named: str, version: str = "") -> bool:
        """Stop a crawl, in whichever process it runs; readers keep what they had. False when none was under way."""
        source = self.find(named, version)
        if not self._store.end_crawl(source.id, "cancelled", "cancelled on request", self._now()):
            return False
        self._index.discard(source.id)
        return True

    def remove(self, named: str, version: str = "") -> list[Removed]:
        """Remove a source, or all its versions where `version` says so, with its crawl and the APIs it brought."""
        wanted = self.meant(named, version) if version.strip().lower() == ALL else [self.find(named, version)]
        return [self._remove(source) for source in wanted]

    def _remove(self, source: SourceRow) -> Removed:
        totals = self._search_store.totals([source.id])
        brought = self._apis.brought_by(source.id)
        self._index.remove_source(source.id)
        self._apis.remove_brought(source.id)
        self._opener.clones.remove(source.id)
        return Removed(source, totals.pages, totals.chunks, brought)

    def foreign_packages(self, roots: Sequence[Path]) -> list[SourceRow]:
        """The packages that none of the projects at some folders has: they answer there only by their name."""
        packages = [source for source in self.sources() if source.kind in PACKAGE_KINDS] if roots else []
        environments, parser = self._opener.environments, self._opener.parser
        owners = [ProjectPackages(root.resolve(), environments, parser) for root in roots] if packages else []
        return [source for source in packages if not any(owner.has(source) for owner in owners)]

    # ------------------------------------------------------------------ what changed on disk

    def freshen(self, sources: Sequence[SourceRow]) -> tuple[str, ...]:
        """Have what changed in the local folders of some sources read, as far as time allows; what an answer from these
        sources may lack, for a person."""
        folders = [source for source in sources if source.kind == "folder"]
        notes = self._read_changes(folders) if folders else []
        packages = [source for source in sources if source.kind in PACKAGE_KINDS and source.project_root]
        notes += self._read_upgrades(packages) if packages else []
        unread = set(self._store.open_crawls())
        return (*notes, *self._unread_notes([source for source in sources if source.id in unread]))

    def unread(self) -> list[SourceRow]:
        """The sources that are not read to their end."""
        ids = set(self._store.open_crawls())
        return [source for source in self.sources() if source.id in ids] if ids else []

    def _read_changes(self, folders: Sequence[SourceRow]) -> list[str]:
        """Read the folders that differ from the index; what could not be compared or read."""
        compared_by = time.monotonic() + _COMPARE_SECONDS
        notes: list[str] = []
        reading: list[str] = []
        with self._freshening:  # of two questions at once, one opens a crawl
            for source in folders:
                crawl = self._store.crawl(source.id)
                if crawl is None:
                    continue
                if crawl.state != "open":
                    state = self._folders.compare(source, crawl, compared_by)
                    notes += _folder_notes(source, state, crawl)
                    if state != "changed":
                        continue
                    self._reading_since.pop(source.id, None)
                    try:
                        self._store.begin_crawl(source.id, is_full=False, now=self._now())
                    except StoreError as problem:  # a disk that is full or read-only: what is there still answers
                        notes.append(f"Note: {labelled(source)} changed and cannot be read again ({problem.message}).")
                        continue
                elif self.crawls.died(source.id):
                    continue
                self.crawls.start(source.id)
                reading.append(source.id)
        for source_id in reading:  # later questions do not wait for the same crawl again
            since = self._reading_since.setdefault(source_id, time.monotonic())
            self.crawls.wait(source_id, max(0.0, since + self._changes_seconds - time.monotonic()))
        return notes

    def _read_upgrades(self, packages: Sequence[SourceRow]) -> list[str]:
        """Have packages read in the version that is installed by now; what could not be read."""
        notes = []
        with self._freshening:
            upgraded = self._upgrades.among(packages)
            for source, installed in upgraded:
                if any((each.url, each.version) == (source.url, installed) for each in self.sources()):
                    notes.append(f"Note: {labelled(source)} answers as it was added; {installed} is installed now.")
                    continue
                try:
                    self.recrawl(source.id, full=False)
                except DeltosError as problem:
                    notes.append(f"Note: {labelled(source)} cannot be read in version {installed} ({problem.message}).")
                    continue
                self.crawls.start(source.id)
        for source, _ in upgraded:
            self.crawls.wait(source.id, self._changes_seconds)
        return notes

    def _unread_notes(self, sources: Sequence[SourceRow]) -> list[str]:
        """Which sources are not read to their end, and how they will be."""
        # Folders are gone on with by the next question, everything else by whoever crawls it.
        stopped = [source for source in sources if source.kind != "folder" and not self.crawls.is_running(source.id)]
        died = [source for source in sources if source in stopped or self.crawls.died(source.id)]
        others = [source for source in sources if source not in died]
        notes = []
        if others:
            what = "pages that are new in it" if len(others) == 1 else "pages that are new in them"
            if not any(source.generation for source in others):
                what = "its pages" if len(others) == 1 else "their pages"
            is_are = "is" if len(others) == 1 else "are"
            notes.append(f"Note: {_listed(others)} {is_are} still being read: this answer may lack {what}. Ask again.")
        if died:
            notes.append(f"Note: {_listed(died)} was not read to its end; recrawl_source goes on with it.")
        return notes

    # ------------------------------------------------------------------ what is installed

    def read_installed(self, named: str, project_root: Path, version: str = "") -> str:
        """Have a package that is named by its address read then and there, in the version that is installed here.

        Returns the name of what is meant. What lies on this machine is no network: whoever may search may have it read.
        """
        name, in_name = name_and_version(named)
        address = package_address(name)
        if address is None:
            return named
        wanted = version or in_name
        with self._installing:  # two questions at once add one source
            known = [source for source in self.sources() if source.url == address.url]
            is_new = wanted.lower() in ("", LATEST, ALL) or not of_version(known, wanted)
            source = self._installed(address, project_root, known, wanted) if is_new else None
        if source is not None:
            self._read(source)
            if not wanted:
                return source.id
        return f"{address.url}@{in_name}" if in_name else address.url

    def _installed(self, address: Address, project_root: Path, known: list[SourceRow], wanted: str) -> SourceRow | None:
        """The source of a package as it is installed here, added unless it is; None where only others have it."""
        root = project_root.as_posix()
        version = "" if wanted.lower() in (LATEST, ALL) else wanted
        try:
            new = self._versioned(SourceRow("", "", address.kind, address.url, version, project_root=root))
        except DeltosError:
            if known and not version:
                return None
            raise
        source = next((each for each in known if each.version == new.version), None)
        if source is None and (followed := next((each for each in known if each.project_root == root), None)):
            source = self.recrawl(followed.id, full=False).source
        if source is None:
            names = (default_name(address.url), address.url, f"{address.url} of {project_root.name}")
            with whole_store():
                taken = {each.name.lower() for each in self._store.sources() if each.version == new.version}
            name = next((name for name in names if name.lower() not in taken), names[0])
            source = self._added(NewSource(address.url, name, project_root, (project_root,)), new.version)
        return source

    def _added(self, request: NewSource, version: str) -> SourceRow:
        """A package added, or what another process has added of it meanwhile."""
        try:
            return self.add(request).sources[0]
        except BadArgument:
            for source in self.sources():
                if (source.url, source.version) == (request.url, version):
                    return source
            raise

    def _read(self, source: SourceRow) -> None:
        """Wait for an open crawl of a source, not for long; a source of which nothing could be read is an error."""
        if source.id in self._store.open_crawls():
            self.crawls.start(source.id)
            self.crawls.wait(source.id, _READ_SECONDS)
        status = self._status(source)
        if status.state == "FAILED":
            raise SourceError(f"{source.url} could not be read ({status.reason})", hint="recrawl_source tries again.")

    def first_page(self, source_id: str) -> FirstPage | None:
        """The first page that can be searched of a source, in short; None when there is none."""
        source = self._store.source(source_id)
        pages = self._index.coming_pages(source_id) if source and source.generation else []
        if not pages:
            return None
        chunks = self._index.chunks_of(pages[0].id)
        headings = (chunk.section.rpartition(SECTION_SEPARATOR)[2] for chunk in chunks)
        size = sum(len(chunk.text) for chunk in chunks)
        return FirstPage(pages[0].title, size, len(chunks), tuple(dict.fromkeys(filter(None, headings))))

    # ------------------------------------------------------------------ asking

    def find(self, named: str, version: str = "") -> SourceRow:
        """The one source that is meant; where a name has several versions, one has to be chosen."""
        first, *others = self.meant(named, version)
        if others:
            versions = ", ".join(f"{source.version or 'none'} (id {source.id})" for source in (first, *others))
            raise BadArgument(
                f"{first.name} has {len(others) + 1} versions: {versions}",
                hint=f"Say which: its version, {LATEST}, or its id; remove_source takes version={ALL} too.",
            )
        return first

    def meant(self, named: str, version: str = "") -> list[SourceRow]:
        """The sources with that id, name, `name@version` or address: those of a version, or all, newest first.

        Suggests near names, and the versions that there are, when there is none.
        """
        found, in_name = self._called(named)
        wanted = version or in_name
        if found:
            if chosen := of_version(found, wanted):
                return chosen
            raise no_such_version(found[0].name, wanted, found, {})
        names = list(dict.fromkeys((*(known.name for known in self.sources()), *self._apis.names())))
        near = get_close_matches(named, names, n=3, cutoff=0.5) or names[:3]
        more = f" and {len(names) - len(near)} more (list_sources)" if len(names) > len(near) else ""
        hint = f"Known: {', '.join(near)}{more}." if near else "There is none yet: use add_source."
        raise NotFound(f"No documentation source '{named}'", hint=f"{hint} {_PACKAGES_ANSWER}")

    def _called(self, named: str) -> tuple[list[SourceRow], str]:
        """The sources that are called so, and the version that stands behind the name."""
        known = self.sources()
        if found := called(known, named):
            return found, ""
        name, version = name_and_version(named)
        return called(known, name) if version else [], version

    def knows(self, named: str) -> bool:
        """Whether there is a source of that id, name or address, of whichever version."""
        return bool(self._called(named)[0])

    def sources(self) -> list[SourceRow]:
        """All sources that this call may be shown, by name, the newest version first."""
        return newest_first(source for source in self._store.sources() if _is_shown(source))

    def statuses(self) -> list[SourceStatus]:
        """Where every source stands."""
        return [self._status(source) for source in self.sources()]

    def passages_read(self) -> tuple[int, int]:
        """How many passages the model has read, and how many there are for it."""
        total = self._search_store.chunk_count()
        meaning = self.crawls.meaning() if total else None  # opening the model takes a while
        return (meaning.count, total) if meaning else (0, 0)

    def reading_note(self) -> str:
        """How many passages the model has read, where some wait for it."""
        read, total = self.passages_read()
        if read >= total:
            return ""
        return f"{read:,} of {total:,} passages are read so far; the others are found by their words"

    def status(self, named: str, version: str = "") -> SourceStatus:
        """Where one source stands."""
        return self._status(self.find(named, version))

    def _status(self, source: SourceRow) -> SourceStatus:
        crawl = self._store.crawl(source.id)
        counts = self._store.address_counts(source.id)
        failures = tuple(self._store.failed_addresses(source.id)) if {"failed", "missing"} & counts.keys() else ()
        died = self.crawls.died(source.id)
        totals = self._search_store.totals([source.id])
        settled = sum(count for state, count in counts.items() if state != "queued")
        rate = _rate(crawl, settled, self._now())
        queued = counts.get("queued", 0)
        return SourceStatus(
            source=source,
            state="INTERRUPTED" if died else self._state(source, crawl, has_failures=bool(failures)),
            reason=_reason_of_death(source, died) if died else _reason(source, crawl, sum(counts.values())),
            pages_done=counts.get("done", 0),
            pages_queued=queued,
            pages_unchanged=counts.get("unchanged", 0),
            pages_skipped=counts.get("skipped", 0),
            skipped=tuple(self._store.skipped_because(source.id, _SKIPPED_SHOWN)) if "skipped" in counts else (),
            pages=totals.pages,
            chunks=totals.chunks,
            failures=failures,
            started_at=crawl.started_at if crawl else 0.0,
            finished_at=crawl.finished_at if crawl else 0.0,
            rate=rate,
            seconds_left=queued / rate if rate and crawl and crawl.state == "open" and not died else None,
            reading_when_died=died.reading if died else (),
        )

    def _state(self, source: SourceRow, crawl: CrawlRow | None, *, has_failures: bool) -> str:
        if crawl is not None and crawl.state == "open":
            return "CRAWLING" if self.crawls.is_running(source.id) else "WAITING"
        if crawl is not None and crawl.state == "failed":
            return "FAILED" if not source.generation else "READY (last crawl failed)"
        if not source.generation:
            return "CANCELLED"
        return "READY with failures" if has_failures else "READY"


def _listed(sources: Sequence[SourceRow]) -> str:
    more = f" and {len(sources) - _NAMES_SHOWN} more" if len(sources) > _NAMES_SHOWN else ""
    return ", ".join(labelled(source) for source in sources[:_NAMES_SHOWN]) + more


def _folder_notes(source: SourceRow, state: FolderState, crawl: CrawlRow) -> list[str]:
    """What a reader should know of a folder that could not be compared, or not be read."""
    if state == "empty" and source.generation:
        return [
            f"Note: {labelled(source)} has no readable file any more; it answers as it was. remove_source forgets it."
        ]
    if state == "unfinished":
        return [
            f"Note: {labelled(source)} is too large to be compared with the disk; recrawl_source reads what changed."
        ]
    if state == "same" and crawl.state == "failed" and source.generation:
        return [f"Note: {labelled(source)} could not be read again ({crawl.reason}); it answers as it was."]
    return []


def _most_pages(wanted: int, kind: Kind) -> int:
    usual = _MOST_PAGES_OF_WEBSITE if kind == "website" else MOST_PAGES
    return max(1, min(wanted or usual, MOST_PAGES))


def _is_shown(source: SourceRow) -> bool:
    """Whether this call may be shown a source: files of a project, or packages installed in it, are the project's."""
    is_elsewhere = "://" in source.url
    if is_elsewhere and not source.auth:
        return True
    return may_show(Path(source.url if source.kind in ("folder", "git") and not is_elsewhere else source.project_root))


def _of_default_branch(source: SourceRow) -> SourceRow:
    """A repository of which the latest is wanted: its default branch."""
    return replace(source, version="") if source.version.lower() == LATEST else source


def _is_same(source: SourceRow, new: SourceRow) -> bool:
    """Whether two read the same: one address, and where that has folders or versions, one of those.

    A package of one project is one source, whichever version is installed.
    """
    is_followed = source.kind in ("pypi", "npm") and source.project_root == new.project_root
    has_one = source.kind in ("website", "folder")
    is_there = (source.url, source.folder) == (new.url, new.folder)
    return is_there and (has_one or is_followed or source.version == new.version)


def _already_crawled(source: SourceRow) -> BadArgument:
    return BadArgument(
        f"'{labelled(source)}' is being crawled already", hint="Ask crawl_status how far it is, or wait for it to end."
    )


def _reason_of_death(source: SourceRow, run: Run) -> str:
    """What people are told of a crawl that died: over what, and how it goes on."""
    when = f"while it read {', '.join(run.reading)}" if run.reading else "before it read a page"
    return (
        f"its process died {when}; it does not go on by itself: recrawl_source (deltos docs recrawl {source.name})"
        " goes on with it and reads those pages last, one at a time"
    )


def _reason(source: SourceRow, crawl: CrawlRow | None, addresses: int) -> str:
    if crawl is not None and crawl.reason:
        return crawl.reason
    if source.kind == "website" and addresses >= source.max_pages:
        return (
            f"the limit of {counted(source.max_pages, 'page')} was reached, there may be more;"
            " remove the source and add it with a larger limit"
        )
    return ""


def _rate(crawl: CrawlRow | None, settled: int, now: float) -> float:
    if crawl is None:
        return 0.0
    seconds = (crawl.finished_at or now) - crawl.started_at
    return settled / seconds if seconds > 0 else 0.0


def default_name(url: str) -> str:
    """The default name of a source: its package, its host, or the last part of its path."""
    _, separator, rest = url.partition("://")
    if not separator:
        return url.rpartition("/")[2] if "/" in url and ":" not in url else url.partition(":")[2] or url
    host, _, path = rest.partition("/")
    return path.rstrip("/").rpartition("/")[2].partition(".")[0] or host


def _placed_name(source: SourceRow) -> str:
    """The default name with what it lies in before it: the folder around it, or its host."""
    _, separator, rest = source.url.partition("://")
    around = rest.partition("/")[0] if separator else Path(source.url).parent.name
    return f"{around}-{source.name}" if around and around != source.name else source.name


def _source_id(name: str, url: str, further: str = "") -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:24] or "source"
    return f"{slug}-{hashlib.sha256(f'{url} {name}{further}'.encode()).hexdigest()[:6]}"
