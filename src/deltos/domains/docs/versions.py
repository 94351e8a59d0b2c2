"""Versions of documentation: which is newer, which is meant, and the sources that a name stands for."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from deltos.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.store.documents import SourceRow

LATEST = "latest"
ALL = "all"
_BEFORE_RELEASE = frozenset("a alpha b beta c rc pre preview dev next canary nightly snapshot m milestone".split())
_LONGEST_NUMBER = 18
_MOST_NAMED = 10

VersionKey = tuple[tuple[int, ...], int, tuple[int, ...]]


def same_version(have: str, wanted: str) -> bool:
    """Whether a version is the wanted one or a release of it: `3.11.4` is a `3.11`."""
    have, wanted = have.lstrip("vV"), wanted.lstrip("vV")
    return have == wanted or have.startswith(f"{wanted}.")


def version_key(version: str) -> VersionKey:
    """Sorts versions as people number them: 3.10 after 3.9, 3.0rc1 before 3.0; what has no number comes first."""
    numbers: list[int] = []
    after: list[int] = []
    is_release = 1
    for is_number, run in _runs(version.strip().lstrip("vV")):
        if is_number:
            (numbers if is_release else after).append(int(run[:_LONGEST_NUMBER]))
        elif run.lower() in _BEFORE_RELEASE and is_release:
            is_release = 0
        elif run in "+_":  # what follows names a build
            break
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers), is_release, tuple(after)


def _runs(text: str) -> Iterable[tuple[bool, str]]:
    """Digits, letters and signs, each run by itself."""
    for kind, run in groupby(text, key=lambda sign: (sign.isascii() and sign.isdigit(), sign.isalpha())):
        yield kind[0], "".join(run)


def newest_first(sources: Iterable[SourceRow]) -> list[SourceRow]:
    """Sources by name, the newest version of each first."""
    by_version = sorted(sources, key=lambda source: version_key(source.version), reverse=True)
    return sorted(by_version, key=lambda source: source.name.lower())


def of_version(sources: Sequence[SourceRow], wanted: str) -> list[SourceRow]:
    """The sources of a version, given newest first: all of them, the latest of each name, or those that are it."""
    wanted = wanted.strip()
    if not wanted:
        return list(sources)
    exactly = [source for source in sources if source.version.lower() == wanted.lower()]
    if exactly or wanted.lower() == ALL:
        return exactly or list(sources)
    if wanted.lower() == LATEST:
        return [next(versions) for _, versions in groupby(sources, key=lambda source: source.name.lower())]
    return [source for source in sources if same_version(source.version, wanted)]


def called(sources: Sequence[SourceRow], named: str) -> list[SourceRow]:
    """The sources with that id, name or address."""
    named = named.strip()
    if by_id := [source for source in sources if source.id == named]:
        return by_id
    lowered = named.lower()
    by_name = [source for source in sources if source.name.lower() == lowered]
    return by_name or [source for source in sources if source.url in (named, f"{named}/")]


def name_and_version(named: str) -> tuple[str, str]:
    """`flask@2.2` as its two parts; a scope of npm is part of the name."""
    name, sign, version = named.strip().rpartition("@")
    return (name, version) if sign and name and not name.endswith((":", "/")) else (named.strip(), "")


def no_such_version(what: str, wanted: str, sources: Sequence[SourceRow], apis: Mapping[str, str]) -> NotFound:
    """That a version is not there, with those that are, of APIs by their names too."""
    known = _known_versions(sources, apis)
    hint = f"Known: {known}; or {LATEST}." if known else "None has a version; leave it out."
    return NotFound(f"No version '{wanted}' of {what}", hint=hint)


def _known_versions(sources: Sequence[SourceRow], apis: Mapping[str, str]) -> str:
    """The versions of each name, newest first."""
    named = [
        f"{name} {', '.join(versions)}"
        for name, group in groupby(sources, key=lambda source: source.name)
        if (versions := [source.version for source in group if source.version])
    ]
    named += [f"{name} {version}" for name, version in apis.items() if version]
    return "; ".join(named[:_MOST_NAMED]) + (" …" if len(named) > _MOST_NAMED else "")


def labelled(source: SourceRow) -> str:
    """A source by its name and, where it has one, its version."""
    return f"{source.name} {source.version}" if source.version else source.name
