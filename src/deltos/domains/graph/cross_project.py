"""Search for references from one project to another through a package that the other project provides.

Files that import such a package are resolved again. The resolver can then read the sources of the providing project
under a reserved folder name, so types are resolved as within one project. The index is not changed; results are cached
in memory until one of the projects changes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from deltos.domains.graph.facts import StoredProjectFacts
from deltos.domains.graph.kernel.dependencies import external_package
from deltos.domains.graph.languages import FAMILIES
from deltos.domains.graph.packages import provided_packages
from deltos.domains.graph.resolution_process import ResolvingSession, Unresolved, resolve_in_child
from deltos.store.graph import PendingFacts, ReferenceRow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from deltos.domains.graph.packages import Package, ProvidedPackages
    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.graph import EdgeRecord, FactReader, FactSource, Graph
    from deltos.store.project import ProjectStore

_T = TypeVar("_T")
# Maximum number of importing files that are resolved per project and query. Further files are only counted.
MAX_IMPORTING_FILES = 300
_CACHE_SIZE = 1_000  # maximum number of cached entries for provided packages, importing files and references
_MOUNT_PREFIX = "\x7f"  # prefix of the folders that represent provider projects; it sorts after all other folder names
_KNOWN_RECEIVER_ID = -1  # target id of references whose receiver type is known; the id 0 means unknown


@dataclass(frozen=True, slots=True)
class ProjectHandle:
    """A project that is included in a query, with read access to its index."""

    name: str
    store: ProjectStore
    workers: ProcessPool | None
    state: str  # identifier of the index contents, which changes with every update of the index

    @classmethod
    def from_store(cls, name: str, store: ProjectStore, workers: ProcessPool | None) -> ProjectHandle:
        """Return a handle for a project with the current state of its index."""
        return cls(name, store, workers, f"{store.name} {store.facts().synced_at}")

    @property
    def graph(self) -> Graph:
        """The project's graph."""
        return self.store.graph


class DefinitionKey(NamedTuple):
    """Path and key of a definition in the provider project. The key is empty for the file itself."""

    path: str
    key: str


@dataclass(frozen=True, slots=True)
class CrossProjectReferences:
    """The references in one project to definitions of another project."""

    rows: Mapping[DefinitionKey, Sequence[ReferenceRow]] = field(default_factory=dict)
    # Uses by name in which the type of the object before the name is unknown.
    mentions: Mapping[str, Sequence[ReferenceRow]] = field(default_factory=dict)
    ambiguity: str = ""  # reason why an import may refer to a package of another project, or empty
    unresolved_count: int = 0  # number of importing files skipped because of the limit or not resolved

    def references(self, definitions: Iterable[DefinitionKey]) -> list[ReferenceRow]:
        """Return the references to definitions.

        If it is ambiguous which package is imported, all references are uncertain.
        """
        rows = [row for each in definitions for row in self.rows.get(each, ())]
        return [replace(row, certain=False) for row in rows] if self.ambiguity else rows


class CrossProjectIndex:
    """Thread-safe cache of references between projects, which are computed when they are first needed."""

    def __init__(self) -> None:
        self._cache: OrderedDict[tuple[object, ...], object] = OrderedDict()
        self._lock = threading.Lock()

    def references_to(
        self, provider: int, members: Sequence[ProjectHandle]
    ) -> Iterator[tuple[int, CrossProjectReferences]]:
        """Yield the references of each project that directly or indirectly imports a provider.

        Each item includes the project's index in `members`.
        """
        provided_by_project = [self._packages_of(member) for member in members]
        imported = [self._importing_files(member, provided_by_project) for member in members]
        duplicates = set(_projects_with_same_package(provider, provided_by_project))
        for user, every in _find_users(provider, provided_by_project, imported).items():
            reached = [each for each in every if each not in duplicates]
            found = self._references(user, reached, members, provided_by_project, imported[user])
            ambiguity = _ambiguity(provider, user, provided_by_project, members)
            yield user, replace(found[reached.index(provider)], ambiguity=ambiguity)

    def importers(self, provider: ProjectHandle, others: Sequence[ProjectHandle], paths: Collection[str]) -> list[int]:
        """Return the indexes in `others` of the projects that import a package containing one of `paths`.

        Indirect imports are included, and references are not resolved.
        """
        if not others or not any(
            path in files for files in self._packages_of(provider).files.values() for path in paths
        ):
            return []
        found: list[int] = []
        pending = [provider]
        while pending:
            provided = self._packages_of(pending.pop())
            for number, other in enumerate(others):
                if number not in found and self._imports(other, provided):
                    found.append(number)
                    pending.append(other)
        return sorted(found)

    def _imports(self, user: ProjectHandle, provided: ProvidedPackages) -> bool:
        """Whether a project imports one of the provided packages and does not declare it itself."""
        imported = self._importing_files(user, [provided])
        return bool(imported) and any(name not in self._packages_of(user).packages for name in imported)

    def _packages_of(self, member: ProjectHandle) -> ProvidedPackages:
        return self._cached(("offer", member.state), lambda: provided_packages(member.graph))

    def _importing_files(
        self, member: ProjectHandle, provided_by_project: Sequence[ProvidedPackages]
    ) -> Mapping[str, Sequence[str]]:
        """Return the files of a project that import each provided package, keyed by the name of the package."""
        names = frozenset(name for provided in provided_by_project for name in provided.packages)

        def compute() -> dict[str, list[str]]:
            found = member.graph.dependants_by_name(map(external_package, names))
            return {name: paths for name in names if (paths := found.get(external_package(name)))}

        return self._cached(("imported", member.state, names), compute)

    def _references(
        self,
        user: int,
        providers: Sequence[int],
        members: Sequence[ProjectHandle],
        provided_by_project: Sequence[ProvidedPackages],
        imported: Mapping[str, Sequence[str]],
    ) -> Sequence[CrossProjectReferences]:
        """Return the references in the project `user` to the definitions of each provider."""
        states = tuple(members[each].state for each in (user, *providers))
        names = {name for each in providers for name in provided_by_project[each].packages}
        paths = sorted({path for name in names for path in imported.get(name, ())})
        mounted = [(members[each], provided_by_project[each]) for each in providers]
        return self._cached(
            ("crossings", *states), lambda: _resolve_users(members[user], provided_by_project[user], mounted, paths)
        )

    def _cached(self, key: tuple[object, ...], compute: Callable[[], _T]) -> _T:
        """Return the cached value of a key, or compute and cache it."""
        with self._lock:
            if key in self._cache:
                self._cache.move_to_end(key)
                return cast("_T", self._cache[key])
        found = compute()
        with self._lock:
            self._cache[key] = found
            while len(self._cache) > _CACHE_SIZE:
                self._cache.popitem(last=False)
        return found


def _find_users(
    provider: int, provided_by_project: Sequence[ProvidedPackages], imported: Sequence[Mapping[str, Sequence[str]]]
) -> dict[int, list[int]]:
    """Return the projects that directly or indirectly import a provider, each with all projects that it imports.

    Imports are followed transitively, because a project may re-export imported names.
    """
    by_name: defaultdict[str, list[int]] = defaultdict(list)
    for number, provided in enumerate(provided_by_project):
        for name in provided.packages:
            by_name[name].append(number)
    direct = [
        {each for name in names if name not in provided_by_project[user].packages for each in by_name[name]} - {user}
        for user, names in enumerate(imported)
    ]
    found: dict[int, list[int]] = {}
    for user in range(len(provided_by_project)):
        reached: set[int] = set()
        pending = [*direct[user]]
        while pending:
            each = pending.pop()
            if each not in reached and each != user:
                reached.add(each)
                pending += direct[each]
        if provider in reached:
            found[user] = sorted(reached)
    return found


def _projects_with_same_package(provider: int, provided_by_project: Sequence[ProvidedPackages]) -> list[int]:
    """Return the other projects that declare the same package as the provider, such as other clones."""
    names = provided_by_project[provider].packages.keys()
    return [
        number
        for number, provided in enumerate(provided_by_project)
        if number != provider and names & provided.packages.keys()
    ]


def _ambiguity(
    provider: int, user: int, provided_by_project: Sequence[ProvidedPackages], members: Sequence[ProjectHandle]
) -> str:
    """Return why an import may refer to a package of another project, or an empty string if it cannot."""
    packages = provided_by_project[provider].packages
    duplicates = [
        members[number].name for number in _projects_with_same_package(provider, provided_by_project) if number != user
    ]
    if duplicates:
        names = ", ".join([*duplicates[:3], *(["…"] if len(duplicates) > 3 else [])])
        return f"{names} {'declares' if len(duplicates) == 1 else 'declare'} the same package"
    unsure = [each for each in packages.values() if not _is_required(each, provided_by_project[user])]
    if unsure and len(unsure) == len(packages):
        return f"the package belongs to {unsure[0].distribution}, which this project does not require"
    return ""


def _is_required(package: Package, user: ProvidedPackages) -> bool:
    """Whether a project requires a package's distribution, or the package has the same name as its distribution."""
    return package.matches_distribution or package.distribution in user.requires


def _resolve_users(
    member: ProjectHandle,
    own: ProvidedPackages,
    providers: Sequence[tuple[ProjectHandle, ProvidedPackages]],
    paths: Sequence[str],
) -> list[CrossProjectReferences]:
    """Resolve the files `paths` of the project `member`, and return their references to each provider.

    `own` describes the packages of the project itself.
    """
    rows: list[defaultdict[DefinitionKey, list[ReferenceRow]]] = [defaultdict(list) for _ in providers]
    mentions: defaultdict[str, list[ReferenceRow]] = defaultdict(list)
    unresolved_count = max(0, len(paths) - MAX_IMPORTING_FILES)
    for number, family in enumerate(FAMILIES):
        inside = [path for path in paths[:MAX_IMPORTING_FILES] if own.languages.get(path) in family.languages]
        if not inside:
            continue
        session = _session(member, own, providers, number, inside)
        for path, edges in _resolutions(session, member.workers):
            if edges is None:
                unresolved_count += 1
            for edge in edges or ():
                row = ReferenceRow(
                    path, edge.line, edge.source_key, edge.kind, edge.origin, edge.certain, 0, _KNOWN_RECEIVER_ID
                )
                if edge.target_path.startswith(_MOUNT_PREFIX):
                    mount, _, target = edge.target_path.partition("/")
                    rows[int(mount[1:])][DefinitionKey(target, edge.target_key)].append(row)
                elif not edge.target_path:
                    mentions[edge.target_key].append(replace(row, certain=False, target_id=0))
    return [CrossProjectReferences(found, mentions, "", unresolved_count) for found in rows]


def _session(
    member: ProjectHandle,
    own: ProvidedPackages,
    providers: Sequence[tuple[ProjectHandle, ProvidedPackages]],
    family: int,
    paths: Sequence[str],
) -> ResolvingSession:
    """Return a session that resolves the files `paths` of the project `member`.

    The session can also read the sources of the providers. `own` describes the packages of the project itself, and
    `family` is the index of the files' language family.
    """
    languages = dict(own.languages)
    for number, (_, provided) in enumerate(providers):
        languages |= {f"{_MOUNT_PREFIX}{number}/{path}": name for path, name in provided.files.get(family, {}).items()}
    source = JoinedSource(member.graph.fact_source(), tuple(each.graph.fact_source() for each, _ in providers))
    return ResolvingSession(source, languages, PendingFacts({}, {}), family, paths)


def _resolutions(
    session: ResolvingSession, workers: ProcessPool | None
) -> Iterator[tuple[str, Sequence[EdgeRecord] | None]]:
    """Yield the path and the references of each file, or None as references if the file could not be resolved."""
    if workers is None:
        facts = StoredProjectFacts(session.source.reader(), session.languages)
        for resolution in FAMILIES[session.family].resolver().resolve(facts, session.paths):
            yield resolution.path, resolution.edges
        return
    for found in resolve_in_child(workers, session):
        yield found.path, None if isinstance(found, Unresolved) else found.edges


@dataclass(frozen=True, slots=True)
class JoinedSource:
    """A `store.graph.FactSource` that combines one project with other projects, each under a separate folder name."""

    own: FactSource
    mounted: tuple[FactSource, ...]

    def reader(self) -> JoinedReader:
        """Return a reader that can be used in this process."""
        return JoinedReader(self.own.reader(), tuple(source.reader() for source in self.mounted))


@dataclass(frozen=True, slots=True)
class JoinedReader:
    """A `store.graph.FactReader` that combines the readers of several projects."""

    own: FactReader
    mounted: tuple[FactReader, ...]

    def interface(self, path: str) -> bytes | None:
        """Return the encoded interface of a file, or None if the file is unknown."""
        reader, inside = self._reader_and_path(path)
        return reader.interface(inside)

    def body(self, path: str) -> bytes | None:
        """Return the encoded body of a file, or None if the file is unknown."""
        reader, inside = self._reader_and_path(path)
        return reader.body(inside)

    def symbols_named(self, name: str) -> list[tuple[str, str, str]]:
        """Return the path, key and kind of every symbol with this name."""
        found = list(self.own.symbols_named(name))
        for number, reader in enumerate(self.mounted):
            found += [(f"{_MOUNT_PREFIX}{number}/{path}", key, kind) for path, key, kind in reader.symbols_named(name)]
        return found

    def _reader_and_path(self, path: str) -> tuple[FactReader, str]:
        """Return the reader of the project that contains a path, and the path of the file in that project."""
        if not path.startswith(_MOUNT_PREFIX):
            return self.own, path
        mount, _, inside = path.partition("/")
        return self.mounted[int(mount[1:])], inside
