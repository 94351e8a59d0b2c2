"""Compare versions of documentation, and select sources by name and version."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from deltos.errors import NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.store.documents import SourceRow

LATEST = "latest"
ALL = "all"
_PRERELEASE_TAGS = frozenset("a alpha b beta c rc pre preview dev next canary nightly snapshot m milestone".split())
_MAX_DIGITS = 18  # longer numbers in a version are truncated to this number of digits
_MAX_NAMES_SHOWN = 10

VersionKey = tuple[tuple[int, ...], int, tuple[int, ...]]


def same_version(version: str, wanted: str) -> bool:
    """Whether a version equals the wanted version or is a release of it, as `3.11.4` is a release of `3.11`."""
    version, wanted = version.lstrip("vV"), wanted.lstrip("vV")
    return version == wanted or version.startswith(f"{wanted}.")


def version_key(version: str) -> VersionKey:
    """Return a sort key for versions: 3.10 follows 3.9, 3.0 follows 3.0rc1, and names without a number come first."""
    numbers: list[int] = []
    after: list[int] = []
    is_release = 1
    for is_number, run in _character_runs(version.strip().lstrip("vV")):
        if is_number:
            (numbers if is_release else after).append(int(run[:_MAX_DIGITS]))
        elif run.lower() in _PRERELEASE_TAGS and is_release:
            is_release = 0
        elif run in "+_":  # the build identifier at the end is ignored
            break
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers), is_release, tuple(after)


def _character_runs(text: str) -> Iterable[tuple[bool, str]]:
    """Yield each run of digits, letters or other characters in a text, after a flag that is set for numbers."""
    for kind, run in groupby(
        text, key=lambda character: (character.isascii() and character.isdigit(), character.isalpha())
    ):
        yield kind[0], "".join(run)


def newest_first(sources: Iterable[SourceRow]) -> list[SourceRow]:
    """Return the sources sorted by name; sources with the same name are sorted by version, newest first."""
    by_version = sorted(sources, key=lambda source: version_key(source.version), reverse=True)
    return sorted(by_version, key=lambda source: source.name.lower())


def select_version(sources: Sequence[SourceRow], wanted: str) -> list[SourceRow]:
    """Return the sources with the wanted version, which may be the start of a version, "latest" or "all".

    The sources must be sorted newest first.
    """
    wanted = wanted.strip()
    if not wanted:
        return list(sources)
    exactly = [source for source in sources if source.version.lower() == wanted.lower()]
    if exactly or wanted.lower() == ALL:
        return exactly or list(sources)
    if wanted.lower() == LATEST:
        return [next(versions) for _, versions in groupby(sources, key=lambda source: source.name.lower())]
    return [source for source in sources if same_version(source.version, wanted)]


def find_by_name(sources: Sequence[SourceRow], named: str) -> list[SourceRow]:
    """Return the sources with the given id, name or URL."""
    named = named.strip()
    if by_id := [source for source in sources if source.id == named]:
        return by_id
    lowered = named.lower()
    by_name = [source for source in sources if source.name.lower() == lowered]
    return by_name or [source for source in sources if source.url in (named, f"{named}/")]


def name_and_version(named: str) -> tuple[str, str]:
    """Split `flask@2.2` into name and version; the `@` of an npm scope belongs to the name."""
    name, separator, version = named.strip().rpartition("@")
    return (name, version) if separator and name and not name.endswith((":", "/")) else (named.strip(), "")


def version_not_found(what: str, wanted: str, sources: Sequence[SourceRow], apis: Mapping[str, str]) -> NotFound:
    """Return a NotFound error that lists the available versions; `apis` maps the name of each API to its version."""
    known = _known_versions(sources, apis)
    hint = f"Known: {known}; or {LATEST}." if known else "No source has a version; omit it."
    return NotFound(f"No version '{wanted}' of {what}", hint=hint)


def _known_versions(sources: Sequence[SourceRow], apis: Mapping[str, str]) -> str:
    """Return text with the versions of each source and API, newest first."""
    named = [
        f"{name} {', '.join(versions)}"
        for name, group in groupby(sources, key=lambda source: source.name)
        if (versions := [source.version for source in group if source.version])
    ]
    named += [f"{name} {version}" for name, version in apis.items() if version]
    return "; ".join(named[:_MAX_NAMES_SHOWN]) + (" …" if len(named) > _MAX_NAMES_SHOWN else "")


def label_source(source: SourceRow) -> str:
    """Return the name of a source, followed by its version if it has one."""
    return f"{source.name} {source.version}" if source.version else source.name
