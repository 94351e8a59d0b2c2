"""Manage documentation sources: add, list, recrawl and remove them, cancel crawls, and report the status."""

from __future__ import annotations

import hashlib
import re
import threading
import time
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.confinement import display_path, may_recall_all, may_show, whole_store
from deltos.domains.docs.dependencies import direct_dependencies
from deltos.domains.docs.exchange import IMPORT_KIND, export_source, read_export, store_import
from deltos.domains.docs.exchange import MAX_FILE_BYTES as MAX_EXPORT_BYTES
from deltos.domains.docs.folder_changes import FolderWatch
from deltos.domains.docs.model import PACKAGE_KINDS, FoundDescription, SourceStatus
from deltos.domains.docs.project_packages import ProjectPackages, UpgradeDetector
from deltos.domains.docs.source import package_address, parse_address
from deltos.domains.docs.versions import (
    ALL,
    LATEST,
    find_by_name,
    label_source,
    name_and_version,
    newest_first,
    same_version,
    select_version,
    version_not_found,
)
from deltos.errors import BadArgument, DeltosError, Forbidden, NotFound, SourceError, StoreError
from deltos.fetch.files import MAX_DESCRIPTION_BYTES, MAX_FILE_BYTES, allowed_path, read_file
from deltos.globs import check_globs
from deltos.store.documents import SourceRow
from deltos.text.counts import counted
from deltos.text.similar_names import similar_names
from deltos.workspace.source_projects import SHARED, is_visible_to, project_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from deltos.domains.docs.background_crawls import BackgroundCrawls
    from deltos.domains.docs.folder_changes import FolderState
    from deltos.domains.docs.model import ApiCatalog
    from deltos.domains.docs.source import SourceAddress, SourceKind, SourceOpener
    from deltos.store.documents import CrawlRow, Pages, Passages
    from deltos.store.sources import Sources

DEPENDENCIES_ADDRESS = "deps:"
_API_FILE_PATH = re.compile(
    r"\.(?:json|ya?ml|graphqls?|gql|proto)$|/(?:open-?api|swagger|async-?api|api-?docs|api-?spec|spec)/?$",
    re.IGNORECASE,
)
MAX_PAGES = 100_000
_DEFAULT_WEBSITE_PAGES = 500  # default page limit of websites
_PACKAGE_HINT = "For an installed package use pypi:NAME or npm:NAME."
# Maximum time that a search waits for the crawl of a package that it adds.
_PACKAGE_TIMEOUT_SECONDS = 20.0
CHANGES_SECONDS = 5.0  # maximum time that a search waits until changed local folders are crawled again
_COMPARE_TIMEOUT_SECONDS = 1.0  # maximum time that a search spends on comparing local folders with the index
_MAX_NAMES_SHOWN = 5
_MAX_SKIP_REASONS = 10  # maximum number of skip reasons listed for a source


@dataclass(frozen=True, slots=True)
class NewSource:
    """A request to add a source.

    Local paths must be below one of `roots`. If `max_pages` is 0, the default applies: 500 for a website, no limit for
    local sources.
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
    shared: bool = False  # whether the source is visible to all projects

    @property
    def projects(self) -> tuple[str, ...]:
        """The projects to which the source is visible."""
        return (SHARED,) if self.shared else (project_of(self.project_root),)


@dataclass(frozen=True, slots=True)
class Added:
    """The result of adding sources: new sources, a message about an added API, and error messages.

    `shared_sources` had been added by other projects and are now also visible to this project.
    """

    sources: tuple[SourceRow, ...] = ()
    shared_sources: tuple[SourceRow, ...] = ()
    api_message: str = ""
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removed:
    """A removed source, the number of its pages and chunks, and the APIs that were removed with it."""

    source: SourceRow
    pages: int
    chunks: int
    apis: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Recrawl:
    """A source to crawl again, and whether an unfinished crawl is continued."""

    source: SourceRow
    is_continued: bool = False


class Library:
    """The documentation sources of one user."""

    def __init__(
        self,
        store: Sources,
        index: Pages,
        search_store: Passages,
        crawls: BackgroundCrawls,
        opener: SourceOpener,
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
        self._freshen_lock = threading.Lock()
        self._waiting_since: dict[str, float] = {}
        self._upgrades = UpgradeDetector(opener.environments, opener.parser)
        self._install_lock = threading.Lock()
        self.crawls = crawls

    # ------------------------------------------------------------------ adding and removing

    def add(self, request: NewSource) -> Added:
        """Add a source, or all direct dependencies of the project, and create the crawls without starting them."""
        if request.url.strip() == DEPENDENCIES_ADDRESS:
            return self._add_dependencies(request)
        check_globs((*request.include, *request.exclude))
        address = parse_address(request.url, project_root=request.project_root, roots=request.roots)
        if request.auth.strip() and not may_recall_all():
            raise Forbidden("A token for selected projects cannot use logins", hint="Use a token for all projects.")
        # Raises an error if the requested login is not configured.
        self._opener.logins.find(request.auth.strip(), address.url)
        given = request.name.strip()
        name = given or default_name(address.url)
        source = self._with_actual_version(
            SourceRow(
                id="",
                name=name,
                kind=address.kind,
                url=address.url,
                version=request.version.strip() or address.version,
                include=request.include,
                exclude=request.exclude,
                max_pages=_page_limit(request.max_pages, address.kind),
                max_depth=max(0, request.max_depth),
                project_root=request.project_root.as_posix(),
                added_at=self._now(),
                auth=request.auth.strip(),
                folder=address.folder,
                projects=_projects_of_new_source(request, address),
            )
        )
        if known := self._share_known_source(source):
            return Added(shared_sources=(known,))
        if given:
            self._check_name_is_free(source)
        else:
            source = self._with_default_name(source)
        if api_message := self._add_if_api(replace(request, name=name), address):
            return Added(api_message=api_message)
        return Added((self._add_new(source),))

    def export(self, named: str, version: str = "") -> bytes:
        """Return the content of an export file. Others can import it instead of crawling the source."""
        return export_source(self.find(named, version), self._index, self._search_store)

    def import_file(self, request: NewSource) -> SourceRow:
        """Add the source in an export file, or replace an earlier import of the same source."""
        data = read_file(allowed_path(Path(request.url), request.roots), MAX_EXPORT_BYTES)
        header, pages = self._opener.parser().run(read_export, data, content=(data,))
        source = SourceRow(
            id="",
            name=request.name.strip() or header.name,
            kind=IMPORT_KIND,
            url=header.url,
            version=header.version,
            project_root=request.project_root.as_posix(),
            added_at=self._now(),
            reference=f"sha256:{header.digest}",
            projects=request.projects,
        )
        key = (IMPORT_KIND, source.url, source.version)
        known = next((each for each in self.sources() if (each.kind, each.url, each.version) == key), None)
        if known is None:
            source = replace(self._with_default_name(source), id=self._new_id(source))
            self._store.add_source(source)
        else:
            source = known
        store_import(source, pages, self._store, self._index, self._now())
        self.crawls.embed_new()
        return source

    def _with_actual_version(self, source: SourceRow) -> SourceRow:
        """Return the source with its current version; raise BadArgument if the caller requested a different version."""
        if source.kind == "git":
            reference = self._opener.reference_of(_clear_latest_version(source))
            return replace(source, version=reference.version, reference=reference.name)
        version = self._opener.version_of(source)
        if source.version and source.version != LATEST and not same_version(version, source.version):
            raise BadArgument(
                f"The installed version of {source.url} is {version}, not {source.version}",
                hint="Add it from a project that uses that version, or omit the version.",
            )
        return replace(source, version=version)

    def _add_new(self, source: SourceRow) -> SourceRow:
        """Store a new source and create the first crawl; return the source with the new id."""
        source = replace(source, id=self._new_id(source))
        self._store.add_source(source)
        self._store.begin_crawl(source.id, is_full=False, now=self._now())
        return source

    def _new_id(self, source: SourceRow) -> str:
        """Return an unused id for a source."""
        # The URL is not unique: sources differ by version, and packages also by project.
        url, name = source.url, source.name
        ids = [_source_id(name, url), _source_id(label_source(source), url), _source_id(name, url, source.project_root)]
        with whole_store():
            return next(
                each for each in (*ids, _source_id(name, url, str(source.added_at))) if not self._store.source(each)
            )

    def _add_dependencies(self, request: NewSource) -> Added:
        """Add each installed direct dependency that is not yet a source."""
        wanted = direct_dependencies(request.project_root, self._opener.parser())
        if not wanted.addresses and not wanted.skipped:
            raise NotFound(
                "The project has no dependencies",
                hint="deps: reads pyproject.toml, requirements*.txt and package.json in the project folder.",
            )
        sources: list[SourceRow] = []
        known: list[SourceRow] = []
        failures = list(wanted.skipped)
        for address in wanted.addresses:
            try:
                name = address.partition(":")[2]
                added = self.add(replace(request, url=address, name=name))
                sources += added.sources
                known += added.shared_sources
            except DeltosError as exc:
                failures.append(f"{address}: {exc.message}")
        return Added(tuple(sources), tuple(known), failures=tuple(failures))

    def _add_if_api(self, request: NewSource, address: SourceAddress) -> str:
        """Add the source if it is an API description, and return a message; return "" otherwise.

        Raises an error if Deltos must not contact the URL.
        """
        url = address.url
        found = FoundDescription(request.name, url, request.version, projects=_projects_of_new_source(request, address))
        if address.kind == "folder":
            path = Path(url)
            max_bytes = MAX_DESCRIPTION_BYTES if _API_FILE_PATH.search(url) else MAX_FILE_BYTES
            if path.is_file() and self._apis.recognises(data := read_file(path, max_bytes)):
                return self._apis.add(replace(found, data=data))
        elif address.kind == "website":
            from deltos.fetch.http import DESCRIPTION_LIMITS  # imported here, because only websites use the network

            may_be_api = _API_FILE_PATH.search(url.partition("?")[0])
            client = self._opener.client(None)
            try:
                client.check(url)
                if request.auth:  # private APIs are not added, because all callers can see APIs
                    return ""
                data = client.get(url, limits=DESCRIPTION_LIMITS).body if may_be_api else b""
            finally:
                client.close()
            if data and self._apis.recognises(data):
                return self._apis.add(replace(found, url=url, data=data))
        return ""

    def _share_known_source(self, new: SourceRow) -> SourceRow | None:
        """Make an existing source visible to the projects of the source `new`. Return None if there is none.

        Raises BadArgument if the source is already visible to these projects.
        """
        known = next((each for each in self.sources() if _is_same_documentation(each, new)), None)
        if known is None:
            return None
        if is_visible_to(known.projects, new.projects) and (SHARED in known.projects or SHARED not in new.projects):
            raise BadArgument(
                f"'{label_source(known)}' ({display_path(known.url, Path(new.project_root))}) is already a source",
                hint="Use recrawl_source to refresh it, or remove_source first; another version needs its"
                " own address and version.",
            )
        projects = new.projects if SHARED in new.projects else (*known.projects, *new.projects)
        self._store.set_projects(known.id, projects)
        self._apis.share(known.id, projects)
        return replace(known, projects=projects)

    def _check_name_is_free(self, new: SourceRow) -> None:
        """Raise BadArgument if a source with this name and version exists."""
        if not (source := self._find_exact(new.name, new.version)):
            return
        if not _is_visible(source):
            raise BadArgument(f"The name '{new.name}' cannot be used", hint="Choose another one.")
        raise BadArgument(
            f"The name '{label_source(source)}' is already used by {display_path(source.url, Path(new.project_root))}",
            hint="Choose a different name (on the command line: --name), or call remove_source first.",
        )

    def _with_default_name(self, source: SourceRow) -> SourceRow:
        """Name a source after its address. A used name gets a prefix or a number."""
        names = chain(
            (source.name, qualified := _qualified_default_name(source)),
            (f"{qualified}-{number}" for number in count(2)),
        )
        return replace(source, name=next(name for name in names if not self._find_exact(name, source.version)))

    def _find_exact(self, name: str, version: str) -> SourceRow | None:
        """Return the source with the given name and version, even if it is not visible to the caller."""
        with whole_store():
            every = self._store.sources()
        return next((each for each in every if (each.name.lower(), each.version) == (name.lower(), version)), None)

    def recrawl(self, named: str, version: str = "", *, full: bool) -> Recrawl:
        """Start a new crawl of a source, or continue an unfinished one; raise BadArgument if a crawl is running."""
        source = self.find(named, version)
        crawl = self._store.crawl(source.id)
        unfinished = crawl if crawl is not None and crawl.state == "open" else None
        if unfinished and self.crawls.is_running(source.id):
            raise _already_crawling_error(source)
        if unfinished and not full:
            return Recrawl(source, is_continued=True)
        source = replace(source, version=self._opener.version_of(source))
        self._store.set_version(source.id, source.version)
        self._store.begin_crawl(source.id, is_full=full, now=self._now())
        if unfinished:
            self._index.discard(source.id)
        return Recrawl(source)

    def cancel(self, named: str, version: str = "") -> bool:
        """Cancel the crawl of a source in any process and keep the old index; return False if no crawl was running."""
        source = self.find(named, version)
        if not self._store.end_crawl(source.id, "cancelled", "cancelled on request", self._now()):
            return False
        self._index.discard(source.id)
        return True

    def remove(self, named: str, version: str = "") -> list[Removed]:
        """Remove a source with its crawl and APIs; if `version` is "all", remove all versions of the source."""
        wanted = (
            self.matching_sources(named, version) if version.strip().lower() == ALL else [self.find(named, version)]
        )
        return [self._remove(source) for source in wanted]

    def _remove(self, source: SourceRow) -> Removed:
        """Remove a source, the local clone of its repository, and the APIs found in the source."""
        totals = self._search_store.totals([source.id])
        found_apis = self._apis.apis_of_source(source.id)
        self._index.remove_source(source.id)
        self._apis.remove_apis_of_source(source.id)
        self._opener.clones.remove(source.id)
        return Removed(source, totals.pages, totals.chunks, found_apis)

    def sources_of_other_projects(self, roots: Sequence[Path]) -> list[SourceRow]:
        """Return the sources that are not visible to the projects at `roots`.

        A project sees its own sources, shared sources, and the documentation of its dependencies in the versions that
        it uses. If `roots` is empty, all sources are visible.
        """
        projects = [project_of(root) for root in roots]
        others = [source for source in self.sources() if not is_visible_to(source.projects, projects)]
        environments, parser = self._opener.environments, self._opener.parser
        owners = [ProjectPackages(root.resolve(), environments, parser) for root in roots] if others else []
        return [source for source in others if not any(owner.uses(source) for owner in owners)]

    # ------------------------------------------------------------------ changes on disk

    def freshen(self, sources: Sequence[SourceRow]) -> tuple[str, ...]:
        """Crawl changed folders and packages again within a time limit. Return notes about stale sources."""
        folders = [source for source in sources if source.kind == "folder"]
        notes = self._crawl_changed_folders(folders) if folders else []
        packages = [source for source in sources if source.kind in PACKAGE_KINDS and source.project_root]
        notes += self._crawl_upgraded_packages(packages) if packages else []
        unfinished = set(self._store.open_crawls())
        return (*notes, *self._unfinished_notes([source for source in sources if source.id in unfinished]))

    def unfinished_sources(self) -> list[SourceRow]:
        """Return the sources whose crawl is unfinished."""
        ids = set(self._store.open_crawls())
        return [source for source in self.sources() if source.id in ids] if ids else []

    def _crawl_changed_folders(self, folders: Sequence[SourceRow]) -> list[str]:
        """Crawl the folders that differ from the index. Return notes about folders that could not be compared."""
        compared_by = time.monotonic() + _COMPARE_TIMEOUT_SECONDS
        notes: list[str] = []
        crawling: list[str] = []
        with self._freshen_lock:  # if two searches run simultaneously, only one starts a crawl
            for source in folders:
                crawl = self._store.crawl(source.id)
                if crawl is None:
                    continue
                if crawl.state != "open":
                    state = self._folders.compare(source, crawl, compared_by)
                    notes += _folder_notes(source, state, crawl)
                    if state != "changed":
                        continue
                    self._waiting_since.pop(source.id, None)
                    try:
                        self._store.begin_crawl(source.id, is_full=False, now=self._now())
                    except StoreError as error:  # if, for example, the disk is full, the old index is searched
                        notes.append(
                            f"Note: {label_source(source)} has changed but cannot be indexed ({error.message})."
                        )
                        continue
                self.crawls.start(source.id)
                crawling.append(source.id)
        for source_id in crawling:  # the time limit begins with the first search that waits for the crawl
            since = self._waiting_since.setdefault(source_id, time.monotonic())
            self.crawls.wait(source_id, max(0.0, since + self._changes_seconds - time.monotonic()))
        return notes

    def _crawl_upgraded_packages(self, packages: Sequence[SourceRow]) -> list[str]:
        """Crawl packages again if another version is now installed. Return notes about uncrawled packages."""
        notes = []
        with self._freshen_lock:
            upgraded = self._upgrades.find_upgraded(packages)
            for source, installed in upgraded:
                if any((each.url, each.version) == (source.url, installed) for each in self.sources()):
                    notes.append(f"Note: {label_source(source)} is indexed, but version {installed} is installed now.")
                    continue
                try:
                    self.recrawl(source.id, full=False)
                except DeltosError as error:
                    notes.append(
                        f"Note: version {installed} of {label_source(source)} cannot be indexed ({error.message})."
                    )
                    continue
                self.crawls.start(source.id)
        for source, _ in upgraded:
            self.crawls.wait(source.id, self._changes_seconds)
        return notes

    def _unfinished_notes(self, sources: Sequence[SourceRow]) -> list[str]:
        """Return notes about sources whose crawl has not finished."""
        # A search resumes interrupted crawls of folders, but no other interrupted crawls.
        stopped = [source for source in sources if source.kind != "folder" and not self.crawls.is_running(source.id)]
        others = [source for source in sources if source not in stopped]
        notes = []
        if others:
            what = "its new pages" if len(others) == 1 else "their new pages"
            if not any(source.generation for source in others):
                what = "its pages" if len(others) == 1 else "their pages"
            is_are = "is" if len(others) == 1 else "are"
            notes.append(
                f"Note: {_join_labels(others)} {is_are} still being crawled; this answer may miss {what}. Ask again."
            )
        if stopped:
            notes.append(f"Note: the crawl of {_join_labels(stopped)} was interrupted; recrawl_source continues it.")
        return notes

    # ------------------------------------------------------------------ installed packages

    def add_installed_package(self, named: str, project_root: Path, version: str = "") -> str:
        """Add and crawl an installed package such as `pypi:NAME`; return the id, name or address of the source.

        This needs no network access, so it is allowed for every caller who may search.
        """
        name, in_name = name_and_version(named)
        address = package_address(name)
        if address is None:
            return named
        wanted = version or in_name
        with self._install_lock:  # two simultaneous searches must not add the same package
            known = [source for source in self.sources() if source.url == address.url]
            is_new = wanted.lower() in ("", LATEST, ALL) or not select_version(known, wanted)
            source = self._installed_source(address, project_root, known, wanted) if is_new else None
        if source is not None:
            self._wait_for_first_crawl(source)
            if not wanted:
                return source.id
        return f"{address.url}@{in_name}" if in_name else address.url

    def _installed_source(
        self, address: SourceAddress, project_root: Path, known: list[SourceRow], wanted: str
    ) -> SourceRow | None:
        """Return the source of a package in the installed version. The source is added if it does not exist.

        Returns None if the package is not installed but already has a source.
        """
        root = project_root.as_posix()
        version = "" if wanted.lower() in (LATEST, ALL) else wanted
        try:
            new = self._with_actual_version(SourceRow("", "", address.kind, address.url, version, project_root=root))
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
            source = self._add_or_find(NewSource(address.url, name, project_root, (project_root,)), new.version)
        return source

    def _add_or_find(self, request: NewSource, version: str) -> SourceRow:
        """Add a package as a source, or return the source if another process has just added it."""
        try:
            added = self.add(request)
            return (*added.sources, *added.shared_sources)[0]
        except BadArgument:
            for source in self.sources():
                if (source.url, source.version) == (request.url, version):
                    return source
            raise

    def _wait_for_first_crawl(self, source: SourceRow) -> None:
        """Wait for the first crawl of a source within a time limit; raise SourceError if the crawl failed."""
        if source.id in self._store.open_crawls():
            self.crawls.start(source.id)
            self.crawls.wait(source.id, _PACKAGE_TIMEOUT_SECONDS)
        status = self._status(source)
        if status.state == "FAILED":
            raise SourceError(
                f"{source.url} could not be read ({status.reason})", hint="Use recrawl_source to try again."
            )

    # ------------------------------------------------------------------ finding sources

    def find(self, named: str, version: str = "") -> SourceRow:
        """Return the source with the given name and version; raise BadArgument if several versions match."""
        first, *others = self.matching_sources(named, version)
        if others:
            versions = ", ".join(f"{source.version or 'none'} (id {source.id})" for source in (first, *others))
            raise BadArgument(
                f"{first.name} has {len(others) + 1} versions: {versions}",
                hint=f"Specify a version, {LATEST} or the id; remove_source also accepts version={ALL}.",
            )
        return first

    def matching_sources(self, named: str, version: str = "") -> list[SourceRow]:
        """Return the sources with the given id, name, `name@version` or URL, newest version first.

        Raises NotFound, which lists similar names or available versions, if there is none.
        """
        found, in_name = self._find_named(named)
        wanted = version or in_name
        if found:
            if chosen := select_version(found, wanted):
                return chosen
            raise version_not_found(found[0].name, wanted, found, {})
        names = list(dict.fromkeys((*(known.name for known in self.sources()), *self._apis.description_lines())))
        near = similar_names(named, names, limit=3) or names[:3]
        more = f" and {len(names) - len(near)} more (list_sources)" if len(names) > len(near) else ""
        hint = f"Known: {', '.join(near)}{more}." if near else "Use add_source to add one."
        raise NotFound(f"No documentation source '{named}'", hint=f"{hint} {_PACKAGE_HINT}")

    def _find_named(self, named: str) -> tuple[list[SourceRow], str]:
        """Return the sources with the given name, and the version that the caller appended after `@`."""
        known = self.sources()
        if found := find_by_name(known, named):
            return found, ""
        name, version = name_and_version(named)
        return find_by_name(known, name) if version else [], version

    def has_source(self, named: str) -> bool:
        """Whether any source has the given id, name or URL."""
        return bool(self._find_named(named)[0])

    def sources(self) -> list[SourceRow]:
        """Return all sources visible to the caller, sorted by name, newest version first."""
        return newest_first(source for source in self._store.sources() if _is_visible(source))

    def statuses(self, excluded_ids: Collection[str] = ()) -> list[SourceStatus]:
        """Return the status of every source except the sources with the given ids."""
        return [self._status(source) for source in self.sources() if source.id not in excluded_ids]

    def status(self, named: str, version: str = "") -> SourceStatus:
        """Return the status of one source."""
        return self._status(self.find(named, version))

    def _status(self, source: SourceRow) -> SourceStatus:
        """Return the crawl progress and size of a source."""
        crawl = self._store.crawl(source.id)
        counts = self._store.address_counts(source.id)
        failures = tuple(self._store.failed_addresses(source.id)) if {"failed", "missing"} & counts.keys() else ()
        totals = self._search_store.totals([source.id])
        settled = sum(count for state, count in counts.items() if state != "queued")
        rate = _pages_per_second(crawl, settled, self._now())
        queued = counts.get("queued", 0)
        return SourceStatus(
            source=source,
            state=self._state(source, crawl, has_failures=bool(failures)),
            reason=_status_reason(source, crawl, sum(counts.values())),
            pages_done=counts.get("done", 0),
            pages_queued=queued,
            pages_unchanged=counts.get("unchanged", 0),
            pages_skipped=counts.get("skipped", 0),
            skipped=tuple(self._store.skip_reasons(source.id, _MAX_SKIP_REASONS)) if "skipped" in counts else (),
            pages=totals.pages,
            chunks=totals.chunks,
            failures=failures,
            started_at=crawl.started_at if crawl else 0.0,
            finished_at=crawl.finished_at if crawl else 0.0,
            rate=rate,
            seconds_left=queued / rate if rate and crawl and crawl.state == "open" else None,
        )

    def _state(self, source: SourceRow, crawl: CrawlRow | None, *, has_failures: bool) -> str:
        """Return the state of a source as shown to the user."""
        if crawl is not None and crawl.state == "open":
            return "CRAWLING" if self.crawls.is_running(source.id) else "WAITING"
        if crawl is not None and crawl.state == "failed":
            return "FAILED" if not source.generation else "READY (last crawl failed)"
        if not source.generation:
            return "CANCELLED"
        return "READY with failures" if has_failures else "READY"


def _join_labels(sources: Sequence[SourceRow]) -> str:
    """Return the names of the first sources as text, with the number of other sources."""
    more = f" and {len(sources) - _MAX_NAMES_SHOWN} more" if len(sources) > _MAX_NAMES_SHOWN else ""
    return ", ".join(label_source(source) for source in sources[:_MAX_NAMES_SHOWN]) + more


def _folder_notes(source: SourceRow, state: FolderState, crawl: CrawlRow) -> list[str]:
    """Return notes about a local folder that could not be read or compared with the index."""
    if state == "empty" and source.generation:
        note = f"Note: {label_source(source)} no longer has readable files; results are from its old index."
        return [f"{note} Use remove_source to remove it."]
    if state == "unfinished":
        return [f"Note: {label_source(source)} is too large to check for changes; recrawl_source updates it."]
    if state == "same" and crawl.state == "failed" and source.generation:
        return [f"Note: {label_source(source)} could not be updated ({crawl.reason}); results are from its old index."]
    return []


def _page_limit(wanted: int, kind: SourceKind) -> int:
    """Return the requested page limit of a source, reduced to the maximum, or the default limit."""
    default = _DEFAULT_WEBSITE_PAGES if kind == "website" else MAX_PAGES
    return max(1, min(wanted or default, MAX_PAGES))


def _projects_of_new_source(request: NewSource, address: SourceAddress) -> tuple[str, ...]:
    """Return the projects to which a new source is visible, including the project that contains a local source."""
    is_local = "://" not in address.url and address.kind in ("folder", "git")
    containing = [] if request.shared or not is_local else [project_of(Path(address.url))]
    # `project_of` returns the folder itself if it is outside any repository.
    others = [each for each in containing if each != address.url]
    return tuple(dict.fromkeys((*request.projects, *others)))


def _is_visible(source: SourceRow) -> bool:
    """Whether a source is visible to the caller. A private source is visible only in its folder or project."""
    is_remote = "://" in source.url
    if is_remote and not source.auth:
        return True
    return may_show(Path(source.url if source.kind in ("folder", "git") and not is_remote else source.project_root))


def _clear_latest_version(source: SourceRow) -> SourceRow:
    """Remove the version "latest" from a repository source, so that the default branch is used."""
    return replace(source, version="") if source.version.lower() == LATEST else source


def _is_same_documentation(source: SourceRow, new: SourceRow) -> bool:
    """Whether two sources contain the same documentation.

    All versions of a package in one project count as the same, because only one version is installed.
    """
    is_followed = source.kind in ("pypi", "npm") and source.project_root == new.project_root
    has_single_version = source.kind in ("website", "folder")
    is_same_address = (source.url, source.folder) == (new.url, new.folder)
    return is_same_address and (has_single_version or is_followed or source.version == new.version)


def _already_crawling_error(source: SourceRow) -> BadArgument:
    return BadArgument(
        f"'{label_source(source)}' is already being crawled", hint="Use crawl_status to see its progress."
    )


def _status_reason(source: SourceRow, crawl: CrawlRow | None, addresses: int) -> str:
    """Return the reason for the state of a source; empty if there is none."""
    if crawl is not None and crawl.reason:
        return crawl.reason
    if addresses >= source.max_pages and source.kind != IMPORT_KIND:
        return (
            f"the limit of {counted(source.max_pages, 'page')} was reached, so there may be more pages;"
            " to crawl them, remove the source and add it with a larger limit"
        )
    return ""


def _pages_per_second(crawl: CrawlRow | None, settled: int, now: float) -> float:
    """Return the average speed of a crawl; 0 if it is unknown."""
    if crawl is None:
        return 0.0
    seconds = (crawl.finished_at or now) - crawl.started_at
    return settled / seconds if seconds > 0 else 0.0


def default_name(url: str) -> str:
    """Return the default name of a source: the package name, the host, or the last part of the path."""
    _, separator, rest = url.partition("://")
    if not separator:
        return url.rpartition("/")[2] if "/" in url and ":" not in url else url.partition(":")[2] or url
    host, _, path = rest.partition("/")
    return path.rstrip("/").rpartition("/")[2].partition(".")[0] or host


def _qualified_default_name(source: SourceRow) -> str:
    """Return the default name of a source with the parent folder or the host as a prefix."""
    _, separator, rest = source.url.partition("://")
    prefix = rest.partition("/")[0] if separator else Path(source.url).parent.name
    return f"{prefix}-{source.name}" if prefix and prefix != source.name else source.name


def _source_id(name: str, url: str, suffix: str = "") -> str:
    """Return an id that consists of the name and a hash of URL, name and suffix."""
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:24] or "source"
    return f"{slug}-{hashlib.sha256(f'{url} {name}{suffix}'.encode()).hexdigest()[:6]}"
