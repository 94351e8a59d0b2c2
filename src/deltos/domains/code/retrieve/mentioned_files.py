"""Locate the files that an issue or stack trace mentions, and raise their scores."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from deltos.domains.code.paths import is_changelog, is_prose
from deltos.domains.code.retrieve.candidate_file import CandidateFile
from deltos.domains.code.retrieve.tuning import RETRIEVAL
from deltos.languages.table import PROSE_LANGUAGES
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deltos.domains.code.query.issue import FileMention
    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.selection import SearchSelection
    from deltos.store.code import Code, DefinitionRecord, FileScope

MAX_NAMED_FILES = 3  # maximum number of files listed for a query that is a file name
_MAX_FILES_PER_MENTION = 3  # a mention of a file is ignored if it matches more files
_MAX_LINE_NUMBER = 1_000_000_000
# Minimum length and minimum similarity (in percent) for approximate matches of a source line.
_MIN_SOURCE_CHARACTERS, _MIN_SOURCE_SIMILARITY = 12, 65
_NON_CODE_LANGUAGES = PROSE_LANGUAGES | {"json", "yaml", "toml", "xml", ""}


def _no_lines(_path: str) -> None:
    """Return None. This function is used if the lines of files are not available."""


def rescore_for_issue(
    store: Code, scored: Sequence[tuple[CandidateFile, float]], query: CodeQuery, scope: FileScope
) -> list[tuple[CandidateFile, float]]:
    """Add the files that an issue mentions to the candidates, and adjust all scores to the issue."""
    mentioned = _mentioned_files(store, query.mentioned_files, scope) if query.mentioned_files else {}
    known = {candidate.file.id for candidate, _ in scored}
    lowest = min((score for _, score in scored), default=0.0)
    new = [(CandidateFile(file), lowest) for file in store.files([each for each in mentioned if each not in known])]
    rescored = []
    for candidate, score in (*scored, *new):
        mention = mentioned.get(candidate.file.id)
        if mention is not None:
            candidate.lines = [mention.line] if mention.line else []
        rescored.append((candidate, score + _score_adjustment(candidate, mention, query)))
    return rescored


def _score_adjustment(candidate: CandidateFile, mention: FileMention | None, query: CodeQuery) -> float:
    """Return the number to add to a candidate's score: a bonus for a mentioned file, or a penalty for non-code."""
    path = candidate.file.path
    adjustment = RETRIEVAL.mentioned_bonus * mention.frame_weight if mention else 0.0
    if _is_project_meta(path):
        adjustment += RETRIEVAL.project_meta_penalty
    elif (is_test(path) and not query.about_tests) or is_prose(path) or candidate.file.language in _NON_CODE_LANGUAGES:
        adjustment += RETRIEVAL.test_or_prose_penalty
    return adjustment


def _is_project_meta(path: str) -> bool:
    """Whether a file is a changelog or in the folder `.github`; such files match any issue."""
    return path.startswith(".github/") or "/.github/" in path or is_changelog(path)


def _mentioned_files(store: Code, mentions: Sequence[FileMention], scope: FileScope) -> Mapping[int, FileMention]:
    """Return the mention with the highest frame weight of each file, by file id."""
    found: dict[int, FileMention] = {}
    for file_id, mention in locate_mentions(store, mentions, scope):
        if file_id not in found or found[file_id].frame_weight < mention.frame_weight:
            found[file_id] = mention
    return found


def locate_mentions(
    store: Code,
    mentions: Sequence[FileMention],
    scope: FileScope,
    lines_of: Callable[[str], Sequence[str] | None] = _no_lines,
) -> list[tuple[int, FileMention]]:
    """Return the ids of the mentioned files in order, each with its mention and the current line number.

    A stack trace often comes from another version of the code, so the function and the source line of a frame take
    precedence over its line number.
    """
    by_name: dict[str, list[tuple[int, str]]] = {}
    for file_id, path in store.paths(scope):
        by_name.setdefault(path.rsplit("/", 1)[-1], []).append((file_id, path))
    found: list[tuple[int, FileMention]] = []
    defined: dict[int, list[DefinitionRecord]] = {}
    for mention in mentions:
        parts = [part for part in mention.path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
        for file_id, path in _matching_files(parts, by_name.get(parts[-1], ())) if parts else ():
            if file_id not in defined and mention.function:
                [defined[file_id]] = store.definitions_in([(file_id, 1, _MAX_LINE_NUMBER)])
            named = _frame_definitions(mention, defined[file_id]) if mention.function else []
            source_lines = _frame_source_lines(mention.source, lines_of(path) or (), named) if mention.source else []
            found.append((file_id, replace(mention, line=_current_line(mention, named, source_lines))))
    return found


def files_matching_name(name: str, selection: SearchSelection) -> list[tuple[int, int, str]]:
    """Return project index, file id and path of each file whose path ends with the given name."""
    path_end = f"/{name.strip('/')}"
    return [
        (number, file_id, path)
        for number, project in enumerate(selection.projects)
        for file_id, path in project.store.code.paths(selection.scope)
        if f"/{path}".endswith(path_end)
    ]


def _frame_definitions(mention: FileMention, defined: Sequence[DefinitionRecord]) -> list[DefinitionRecord]:
    """Return the definitions that have the function name of a stack frame, preferably in the same class."""
    named = [each for each in defined if each.name == mention.function]
    named = [each for each in named if each.kind != "variable"] or named
    own = [each for each in named if mention.container and each.container.rpartition(".")[2] == mention.container]
    return own or named


def _frame_source_lines(source: str, lines: Sequence[str], named: Sequence[DefinitionRecord]) -> list[int]:
    """Return the numbers of the lines that equal a stack frame's source line, or else of the most similar line."""
    same = [number for number, line in enumerate(lines, start=1) if line.strip() == source]
    if same or len(source) < _MIN_SOURCE_CHARACTERS:
        return same
    from rapidfuzz import fuzz, process  # imported late, because it is rarely needed

    within = [line for each in named for line in range(each.line, min(each.end_line, len(lines)) + 1)]
    numbers = list(dict.fromkeys(within)) or list(range(1, len(lines) + 1))
    texts = [lines[number - 1].strip() for number in numbers]
    similar = process.extractOne(source, texts, scorer=fuzz.ratio, score_cutoff=_MIN_SOURCE_SIMILARITY)
    return [numbers[similar[2]]] if similar else []


def _current_line(mention: FileMention, named: Sequence[DefinitionRecord], source_lines: Sequence[int]) -> int:
    """Return the current line number of a stack frame: its source line, its old line, or the start of its function."""

    def distance(line: int) -> int:
        return abs(line - mention.line)

    def is_inside(line: int) -> bool:
        return any(each.line <= line <= each.end_line for each in named)

    if not named:
        return min(source_lines, key=distance, default=mention.line)
    if inside := [line for line in source_lines if is_inside(line)]:
        return min(inside, key=distance)
    return mention.line if is_inside(mention.line) else min((each.line for each in named), key=distance)


def _matching_files(parts: Sequence[str], namesakes: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return the files whose paths end most like the mentioned path, or none if the match is weak or ambiguous."""
    best, matching = 0, list[tuple[int, str]]()
    for file_id, path in namesakes:
        folders = path.split("/")
        common_parts = 0
        for theirs, ours in zip(reversed(parts), reversed(folders), strict=False):
            if theirs != ours:
                break
            common_parts += 1
        if common_parts == best:
            matching.append((file_id, path))
        elif common_parts > best:
            best, matching = common_parts, [(file_id, path)]
    is_elsewhere = best == 1 and len(parts) > 2 and all("/" in path for _, path in namesakes)
    return [] if is_elsewhere or len(matching) > _MAX_FILES_PER_MENTION else matching
