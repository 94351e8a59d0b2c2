"""References from one project to another through a package that the other declares.

Files of the user that import such a package are resolved once more, as if the provider's sources lay beside them: what
is known of them is the same as within one project. The provider's files are read where they are, under a folder that no
project has, and nothing is written. What was found is kept in memory until one of the projects changes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from deltos.domains.graph.facts import StoredFacts
from deltos.domains.graph.kernel.dependencies import outside_package
from deltos.domains.graph.languages import FAMILIES
from deltos.domains.graph.packages import offer_of
from deltos.domains.graph.resolving import ResolvingSession, Unresolved, resolve_in_child
from deltos.store.graph import PendingFacts, ReferenceRow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from deltos.domains.graph.packages import Offer, Package
    from deltos.isolated.process import Workers
    from deltos.store.graph import EdgeRecord, FactReader, FactSource, Graph
    from deltos.store.project import ProjectStore

_T = TypeVar("_T")
# Importing files of one project that are resolved for one question; further ones are counted.
MOST_FILES = 300
_KEPT = 1_000  # answers that are remembered: what projects offer, what they import, where they refer to each other
_MOUNT = "\x7f"  # begins the folders under which providers lie: sorts behind all other names
_ELSEWHERE = -1  # any id but 0, which means an unknown receiver


@dataclass(frozen=True, slots=True)
class Member:
    """A project among those that a question is about."""

    name: str
    store: ProjectStore
    workers: Workers | None
    state: str  # changes whenever its index does

    @classmethod
    def of(cls, name: str, store: ProjectStore, workers: Workers | None) -> Member:
        """A project as its index is now."""
        return cls(name, store, workers, f"{store.name} {store.facts().synced_at}")

    @property
    def graph(self) -> Graph:
        """Its graph."""
        return self.store.graph


class Definition(NamedTuple):
    """A definition of a provider; an empty key means the file."""

    path: str
    key: str


@dataclass(frozen=True, slots=True)
class Crossings:
    """The references of one project to another's definitions; `mentions` are uses of a name on unknown values in the
    files that import its packages. `doubt` says why an import may mean something else. `unread` counts importing files
    that were not resolved: there are too many, or they failed."""

    rows: Mapping[Definition, Sequence[ReferenceRow]] = field(default_factory=dict)
    mentions: Mapping[str, Sequence[ReferenceRow]] = field(default_factory=dict)
    doubt: str = ""
    unread: int = 0

    def references(self, definitions: Iterable[Definition]) -> list[ReferenceRow]:
        """The references to some definitions, possible where the import is in doubt."""
        rows = [row for each in definitions for row in self.rows.get(each, ())]
        return [replace(row, certain=False) for row in rows] if self.doubt else rows


class Crossroads:
    """The crossings between projects, each worked out when it is first asked for. Safe to use from several threads."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], object] = OrderedDict()
        self._lock = threading.Lock()

    def into(self, provider: int, members: Sequence[Member]) -> Iterator[tuple[int, Crossings]]:
        """The references of each other project to one of them, by its position; those that import nothing of it, nor of
        what passes it on, are left out."""
        offers = [self._offer(member) for member in members]
        imported = [self._imported(member, offers) for member in members]
        twins = set(_twins(provider, offers))
        for user, every in _reaching(provider, offers, imported).items():
            reached = [each for each in every if each not in twins]
            found = self._crossings(user, reached, members, offers, imported[user])
            doubt = _doubt(provider, user, offers, members)
            yield user, replace(found[reached.index(provider)], doubt=doubt)

    def importers(self, provider: Member, others: Sequence[Member], paths: Collection[str]) -> list[int]:
        """Which of some other projects import a package of one that contains one of some files, directly or through
        others; what they refer to is not looked at."""
        if not others or not any(path in files for files in self._offer(provider).files.values() for path in paths):
            return []
        found: list[int] = []
        pending = [provider]
        while pending:
            offer = self._offer(pending.pop())
            for number, other in enumerate(others):
                if number not in found and self._imports(other, offer):
                    found.append(number)
                    pending.append(other)
        return sorted(found)

    def _imports(self, user: Member, offer: Offer) -> bool:
        imported = self._imported(user, [offer])
        return bool(imported) and any(name not in self._offer(user).packages for name in imported)

    def _offer(self, member: Member) -> Offer:
        return self._recall(("offer", member.state), lambda: offer_of(member.graph))

    def _imported(self, member: Member, offers: Sequence[Offer]) -> Mapping[str, Sequence[str]]:
        """The files of a project that import each of the packages that any project offers."""
        names = frozenset(name for offer in offers for name in offer.packages)

        def ask() -> dict[str, list[str]]:
            found = member.graph.dependants_by_name(map(outside_package, names))
            return {name: paths for name in names if (paths := found.get(outside_package(name)))}

        return self._recall(("imported", member.state, names), ask)

    def _crossings(
        self,
        user: int,
        providers: Sequence[int],
        members: Sequence[Member],
        offers: Sequence[Offer],
        imported: Mapping[str, Sequence[str]],
    ) -> Sequence[Crossings]:
        """What a project refers to in each of some others."""
        states = tuple(members[each].state for each in (user, *providers))
        names = {name for each in providers for name in offers[each].packages}
        paths = sorted({path for name in names for path in imported.get(name, ())})
        mounted = [(members[each], offers[each]) for each in providers]
        return self._recall(("crossings", *states), lambda: _resolved(members[user], offers[user], mounted, paths))

    def _recall(self, key: tuple[object, ...], ask: Callable[[], _T]) -> _T:
        """What was found before under a key, which names its kind; else what is found now."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return cast("_T", self._kept[key])
        found = ask()
        with self._lock:
            self._kept[key] = found
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found


def _reaching(
    provider: int, offers: Sequence[Offer], imported: Sequence[Mapping[str, Sequence[str]]]
) -> dict[int, list[int]]:
    """The projects whose code can refer to a provider's, each with all projects that its imports lead to: one may pass
    on what it imports itself."""
    by_name: defaultdict[str, list[int]] = defaultdict(list)
    for number, offer in enumerate(offers):
        for name in offer.packages:
            by_name[name].append(number)
    direct = [
        {each for name in names if name not in offers[user].packages for each in by_name[name]} - {user}
        for user, names in enumerate(imported)
    ]
    found: dict[int, list[int]] = {}
    for user in range(len(offers)):
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


def _twins(provider: int, offers: Sequence[Offer]) -> list[int]:
    """The other projects that declare a package of a provider: clones, for instance."""
    names = offers[provider].packages.keys()
    return [number for number, offer in enumerate(offers) if number != provider and names & offer.packages.keys()]


def _doubt(provider: int, user: int, offers: Sequence[Offer], members: Sequence[Member]) -> str:
    """Why an import may mean something else than a provider's package; empty where it does not."""
    packages = offers[provider].packages
    twins = [members[number].name for number in _twins(provider, offers) if number != user]
    if twins:
        return f"{', '.join([*twins[:3], *(['…'] if len(twins) > 3 else [])])} too declares the package"
    unsure = [each for each in packages.values() if not _is_required(each, offers[user])]
    if unsure and len(unsure) == len(packages):
        return f"the package belongs to {unsure[0].distribution}, which is not required here"
    return ""


def _is_required(package: Package, user: Offer) -> bool:
    return package.is_named_alike or package.distribution in user.requires


def _resolved(
    member: Member, own: Offer, providers: Sequence[tuple[Member, Offer]], paths: Sequence[str]
) -> list[Crossings]:
    """The references of some files of a project to each provider."""
    rows: list[defaultdict[Definition, list[ReferenceRow]]] = [defaultdict(list) for _ in providers]
    mentions: defaultdict[str, list[ReferenceRow]] = defaultdict(list)
    unread = max(0, len(paths) - MOST_FILES)
    for number, family in enumerate(FAMILIES):
        inside = [path for path in paths[:MOST_FILES] if own.languages.get(path) in family.languages]
        if not inside:
            continue
        session = _session(member, own, providers, number, inside)
        for path, edges in _resolutions(session, member.workers):
            if edges is None:
                unread += 1
            for edge in edges or ():
                row = ReferenceRow(
                    path, edge.line, edge.source_key, edge.kind, edge.origin, edge.certain, 0, _ELSEWHERE
                )
                if edge.target_path.startswith(_MOUNT):
                    mount, _, target = edge.target_path.partition("/")
                    rows[int(mount[1:])][Definition(target, edge.target_key)].append(row)
                elif not edge.target_path:
                    mentions[edge.target_key].append(replace(row, certain=False, target_id=0))
    return [Crossings(found, mentions, "", unread) for found in rows]


def _session(
    member: Member, own: Offer, providers: Sequence[tuple[Member, Offer]], family: int, paths: Sequence[str]
) -> ResolvingSession:
    """The files of a project to resolve, with the packages of the providers beside them."""
    languages = dict(own.languages)
    for number, (_, offer) in enumerate(providers):
        languages |= {f"{_MOUNT}{number}/{path}": name for path, name in offer.files.get(family, {}).items()}
    source = JoinedSource(member.graph.fact_source(), tuple(each.graph.fact_source() for each, _ in providers))
    return ResolvingSession(source, languages, PendingFacts({}, {}), family, paths)


def _resolutions(
    session: ResolvingSession, workers: Workers | None
) -> Iterator[tuple[str, Sequence[EdgeRecord] | None]]:
    """The edges of each file; None where it could not be resolved."""
    if workers is None:
        facts = StoredFacts(session.source.reader(), session.languages)
        for resolution in FAMILIES[session.family].resolver().resolve(facts, session.paths):
            yield resolution.path, resolution.edges
        return
    for found in resolve_in_child(workers, session):
        yield found.path, None if isinstance(found, Unresolved) else found.edges


@dataclass(frozen=True, slots=True)
class JoinedSource:
    """Implements `store.graph.FactSource` over several: one project's, and others' under folders of their own."""

    own: FactSource
    mounted: tuple[FactSource, ...]

    def reader(self) -> JoinedReader:
        """Reads them in this process."""
        return JoinedReader(self.own.reader(), tuple(source.reader() for source in self.mounted))


@dataclass(frozen=True, slots=True)
class JoinedReader:
    """Implements `store.graph.FactReader` over several."""

    own: FactReader
    mounted: tuple[FactReader, ...]

    def interface(self, path: str) -> bytes | None:
        """The encoded interface of a file; None when the file is unknown."""
        reader, inside = self._place(path)
        return reader.interface(inside)

    def body(self, path: str) -> bytes | None:
        """The encoded body of a file; None when the file is unknown."""
        reader, inside = self._place(path)
        return reader.body(inside)

    def symbols_named(self, name: str) -> list[tuple[str, str, str]]:
        """Path, key and kind of every symbol of a name."""
        found = list(self.own.symbols_named(name))
        for number, reader in enumerate(self.mounted):
            found += [(f"{_MOUNT}{number}/{path}", key, kind) for path, key, kind in reader.symbols_named(name)]
        return found

    def _place(self, path: str) -> tuple[FactReader, str]:
        if not path.startswith(_MOUNT):
            return self.own, path
        mount, _, inside = path.partition("/")
        return self.mounted[int(mount[1:])], inside
