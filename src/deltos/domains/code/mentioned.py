"""What an issue means for a project's files: those it mentions come forward, what cannot be its cause goes back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.domains.code.features import CandidateFile
from deltos.domains.code.paths import is_changelog, is_prose
from deltos.languages.table import PROSE_LANGUAGES
from deltos.workspace.purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deltos.domains.code.issue import Place
    from deltos.domains.code.query import CodeQuery
    from deltos.store.code import Code, DefinitionRecord, FileScope

# In log-odds, hand-set; Acc@5 of issues hardly depends on them (benchmarks/RESULTS.md).
_MENTIONED = 5.0
_TEST_OR_PROSE = -2.0
_NO_ANSWER = -6.0
_MOST_NAMESAKES = 3  # a name that more files have means none of them
_LAST_LINE = 1_000_000_000
_LEAST_SOURCE, _LIKE_SOURCE = 12, 65  # characters of a line that another may be like, and how much of a hundred
_NOT_CODE = PROSE_LANGUAGES | {"json", "yaml", "toml", "xml", ""}


def _no_lines(_path: str) -> None:
    """Where only the index is asked."""


def judge_by_issue(
    store: Code, scored: Sequence[tuple[CandidateFile, float]], query: CodeQuery, scope: FileScope
) -> list[tuple[CandidateFile, float]]:
    """The candidates with their scores as the issue has them, and files that it mentions as further candidates."""
    mentioned = _mentioned(store, query.places, scope) if query.places else {}
    known = {candidate.file.id for candidate, _ in scored}
    least = min((score for _, score in scored), default=0.0)
    new = [(CandidateFile(file), least) for file in store.files([each for each in mentioned if each not in known])]
    judged = []
    for candidate, score in (*scored, *new):
        place = mentioned.get(candidate.file.id)
        if place is not None:
            candidate.lines = [place.line] if place.line else []
        judged.append((candidate, score + _worth(candidate, place, query)))
    return judged


def _worth(candidate: CandidateFile, place: Place | None, query: CodeQuery) -> float:
    """What the issue adds to a candidate's score."""
    path = candidate.file.path
    worth = _MENTIONED * place.nearness if place else 0.0
    if _is_about_the_project(path):
        worth += _NO_ANSWER
    elif (is_test(path) and not query.about_tests) or is_prose(path) or candidate.file.language in _NOT_CODE:
        worth += _TEST_OR_PROSE
    return worth


def _is_about_the_project(path: str) -> bool:
    """Whether a file speaks about issues and releases: templates and changelogs repeat the words of any issue."""
    return path.startswith(".github/") or "/.github/" in path or is_changelog(path)


def _mentioned(store: Code, places: Sequence[Place], scope: FileScope) -> Mapping[int, Place]:
    """The project's files that are mentioned, by id, each with the place nearest to the innermost frame."""
    found: dict[int, Place] = {}
    for file_id, place in located(store, places, scope):
        if file_id not in found or found[file_id].nearness < place.nearness:
            found[file_id] = place
    return found


def located(
    store: Code, places: Sequence[Place], scope: FileScope, lines_of: Callable[[str], Sequence[str] | None] = _no_lines
) -> list[tuple[int, Place]]:
    """The project's files that the places mean, in their order, each with its place at the line that is meant: traces
    mostly come from another version, so the function and the source that a frame tells count before its number."""
    by_name: dict[str, list[tuple[int, str]]] = {}
    for file_id, path in store.paths(scope):
        by_name.setdefault(path.rsplit("/", 1)[-1], []).append((file_id, path))
    found: list[tuple[int, Place]] = []
    defined: dict[int, list[DefinitionRecord]] = {}
    for place in places:
        parts = [part for part in place.path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
        for file_id, path in _files_meant(parts, by_name.get(parts[-1], ())) if parts else ():
            if file_id not in defined and place.function:
                [defined[file_id]] = store.definitions_in([(file_id, 1, _LAST_LINE)])
            named = _definitions_meant(place, defined[file_id]) if place.function else []
            spoken = _lines_with(place.source, lines_of(path) or (), named) if place.source else []
            found.append((file_id, replace(place, line=_line_meant(place, named, spoken))))
    return found


def _definitions_meant(place: Place, defined: Sequence[DefinitionRecord]) -> list[DefinitionRecord]:
    """The definitions of a file that bear the name of a frame's function, of what it belongs to where one does."""
    named = [each for each in defined if each.name == place.function]
    named = [each for each in named if each.kind != "variable"] or named
    own = [each for each in named if place.container and each.container.rpartition(".")[2] == place.container]
    return own or named


def _lines_with(source: str, lines: Sequence[str], named: Sequence[DefinitionRecord]) -> list[int]:
    """The lines that are the source of a frame; where none is any more, the one in its function most like it."""
    same = [number for number, line in enumerate(lines, start=1) if line.strip() == source]
    if same or len(source) < _LEAST_SOURCE:
        return same
    from rapidfuzz import fuzz, process  # deferred: only traces of other versions need it

    within = [line for each in named for line in range(each.line, min(each.end_line, len(lines)) + 1)]
    numbers = list(dict.fromkeys(within)) or list(range(1, len(lines) + 1))
    texts = [lines[number - 1].strip() for number in numbers]
    like = process.extractOne(source, texts, scorer=fuzz.ratio, score_cutoff=_LIKE_SOURCE)
    return [numbers[like[2]]] if like else []


def _line_meant(place: Place, named: Sequence[DefinitionRecord], spoken: Sequence[int]) -> int:
    """Where a frame stands now: at its source in its function, else in that at its line, else where that begins."""

    def distance(line: int) -> int:
        return abs(line - place.line)

    def is_inside(line: int) -> bool:
        return any(each.line <= line <= each.end_line for each in named)

    if not named:
        return min(spoken, key=distance, default=place.line)
    if said := [line for line in spoken if is_inside(line)]:
        return min(said, key=distance)
    return place.line if is_inside(place.line) else min((each.line for each in named), key=distance)


def _files_meant(parts: Sequence[str], namesakes: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Which files of the same name a path means: those whose folders agree furthest; none where that is no folder."""
    best, meant = 0, list[tuple[int, str]]()
    for file_id, path in namesakes:
        folders = path.split("/")
        agreeing = 0
        for theirs, ours in zip(reversed(parts), reversed(folders), strict=False):
            if theirs != ours:
                break
            agreeing += 1
        if agreeing == best:
            meant.append((file_id, path))
        elif agreeing > best:
            best, meant = agreeing, [(file_id, path)]
    is_elsewhere = best == 1 and len(parts) > 2 and all("/" in path for _, path in namesakes)
    return [] if is_elsewhere or len(meant) > _MOST_NAMESAKES else meant
