"""Strategy for exact queries: lines that contain a literal or match a regular expression."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deltos.domains.code.model import CodeAnswer
from deltos.domains.code.paths import is_auxiliary, is_changelog, is_prose
from deltos.domains.code.present.hits import read_hits
from deltos.domains.code.present.notes import skipped_note
from deltos.domains.code.query.error_messages import certain_message
from deltos.domains.code.query.parse import parse_query
from deltos.domains.code.rank.chunk_selection import SelectedChunk, covered_lines
from deltos.domains.code.retrieve.line_scan import LiteralFinder, PatternFinder, ScanReport, scan
from deltos.text.counts import counted
from deltos.text.words import shared_words
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.retrieve.line_scan import Finder
    from deltos.domains.code.selection import SearchedProject, SearchSelection
    from deltos.domains.code.strategies.message import MessageStrategy
    from deltos.domains.code.strategies.words import WordsStrategy

_MAX_SHOWN_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class _MatchedFile:
    """A file with lines that match exactly; `corpus` is the position of its project among the searched projects."""

    corpus: int
    file_id: int
    path: str
    lines: Sequence[int]


@dataclass(slots=True)
class LineMatches:
    """Result of a scan: matching files, notes, and the number of files searched and in scope."""

    files: list[_MatchedFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    files_read: int = 0
    files_known: int = 0
    hidden_lines: int = 0
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class ExactStrategy:
    """Scans files for a literal or regular expression. Without a match, searches for error messages and words."""

    messages: MessageStrategy
    words: WordsStrategy

    def applies(self, query: CodeQuery) -> bool:
        """Whether the query is a literal or a regular expression."""
        return query.kind in ("literal", "pattern")

    def search(self, query: CodeQuery, selection: SearchSelection) -> CodeAnswer:
        """Return the matching lines: code first, and the first match of each file before other matches."""
        finder: Finder = LiteralFinder(query.text) if query.kind == "literal" else PatternFinder(query.text)
        matches = scan_lines(finder, selection)
        if matches.files:
            return answer_by_lines(query, matches, selection)
        where = f"{counted(matches.files_read, 'file')}{skipped_note(selection)}"
        missing = f"No exact match for {query.kind} {query.text[:_MAX_SHOWN_CHARACTERS]!r} in {where};"
        flat = " ".join(query.text.split())
        may_be_message = query.kind == "literal" and len(flat.split()) > 1
        if may_be_message and (answer := self.messages.answer_for(certain_message(flat), selection)):
            return answer.with_notes((*matches.notes, f"{missing} matches with placeholders filled in:"))
        words = parse_query(flat + " ", shared_words(), exact=False)
        notes = (*matches.notes, f"{missing} closest by words:")
        return self.words.search(words, selection, notes=notes, missing_is_noted=True)


def scan_lines(finder: Finder, selection: SearchSelection) -> LineMatches:
    """Return the matching lines of each file; files of code come first."""
    matches = LineMatches()
    for number, project in enumerate(selection.projects):
        paths = {path: file_id for file_id, path in project.store.code.paths(selection.scope)}
        matches.files_known += project.store.code.file_count(selection.scope)
        if paths:
            _scan_project(number, project, finder, paths, selection, matches)
    if matches.hidden_lines:
        count_text = counted(matches.hidden_lines, "more matching line")
        matches.notes.append(f"Note: {count_text} not shown: blank, or added after the file was indexed.")
    if len(selection.projects) > 1:
        matches.files.sort(key=lambda file: path_order(file.path))
    return matches


def _scan_project(
    number: int,
    project: SearchedProject,
    finder: Finder,
    paths: dict[str, int],
    selection: SearchSelection,
    matches: LineMatches,
) -> None:
    """Add the matching files of one project to `matches`."""
    report, every_line = ScanReport(), selection.every_line
    order = sorted(paths, key=lambda path: (*path_order(path), path))
    for found in scan(project.root, order, finder, report, project.store):
        file_id = paths[found.path]
        chunks = project.store.code.chunks_of_file(file_id)
        lines = covered_lines(chunks, found.lines, one_per_chunk=not every_line)
        matches.hidden_lines += len(found.lines) - len(lines) if every_line else 0
        matches.files += [_MatchedFile(number, file_id, found.path, lines)] if lines else []
    matches.files_read += report.files
    if not report.complete:
        matches.timed_out = True
        where = f" of {project.name}" if project.name else ""
        known = project.store.code.file_count(selection.scope)
        matches.notes.append(f"Note: timeout after {report.files} of {known} files{where}; narrow by directory.")


def answer_by_lines(query: CodeQuery, matches: LineMatches, selection: SearchSelection) -> CodeAnswer:
    """Return an answer with the matching lines."""
    hits, vanished = read_hits(chunks_by_round(matches.files, selection), query, selection)
    total = sum(len(file.lines) for file in matches.files) - vanished
    return CodeAnswer(query, tuple(hits), total, matches.timed_out, matches.files_known, tuple(matches.notes))


def chunks_by_round(found: Sequence[_MatchedFile], selection: SearchSelection) -> Iterator[SelectedChunk]:
    """Yield the chunk of each file's first matching line, then the chunk of each file's second matching line, etc."""
    for turn in itertools.count():
        found = [file for file in found if len(file.lines) > turn]
        if not found:
            return
        for file in found:
            line = file.lines[turn]
            for chunk in selection.projects[file.corpus].store.code.chunks_at(file.file_id, [line])[:1]:
                yield SelectedChunk(chunk, 1.0, line, corpus=file.corpus)


def path_order(path: str) -> tuple[bool, bool, bool]:
    """Return a sort key for paths: code first, then auxiliary code, tests and prose."""
    return is_prose(path) or is_changelog(path), is_test(path), is_auxiliary(path)
