"""Strategy for stack traces, and for single locations such as `file:line`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deltos.domains.code.model import CodeAnswer
from deltos.domains.code.present.hits import read_hits
from deltos.domains.code.present.notes import skipped_note
from deltos.domains.code.present.source_reader import SourceReader
from deltos.domains.code.rank.chunk_selection import SelectedChunk
from deltos.domains.code.retrieve.mentioned_files import files_matching_name, locate_mentions
from deltos.domains.code.strategies.combine import put_first

if TYPE_CHECKING:
    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.selection import SearchSelection
    from deltos.domains.code.strategies.message import MessageStrategy
    from deltos.domains.code.strategies.words import WordsStrategy


@dataclass(frozen=True, slots=True)
class TraceStrategy:
    """Finds the code that produced a stack trace's error message, and the code of its frames."""

    messages: MessageStrategy
    words: WordsStrategy

    def applies(self, query: CodeQuery) -> bool:
        """Whether the query is mainly a stack trace, or a single `file:line`."""
        return bool(query.frames)

    def search(self, query: CodeQuery, selection: SearchSelection) -> CodeAnswer | None:
        """Return the code of the error message and frames, then other results; None if no frame's file is indexed.

        A `file:line` query returns only that location, or a note that the index does not contain it.
        """
        frames = _frame_chunks(query, selection)
        if not frames and query.is_single_location:
            return _answer_missing_location(query, selection)
        if not frames:
            return None
        with_message = [] if query.is_single_location else self.messages.chunks_with_message(query.original, selection)
        message_chunks = [each.chunk for each in with_message]
        first = [*with_message, *(each for each in frames if each.chunk not in message_chunks)]
        hits, vanished = read_hits(first, query, selection)
        if query.is_single_location and hits:
            return CodeAnswer(query, tuple(hits), len(first) - vanished)
        return put_first(hits, len(first) - vanished, self.words.search(query, selection), selection.limit)


def _answer_missing_location(query: CodeQuery, selection: SearchSelection) -> CodeAnswer:
    """Return an answer without hits that says whether the file or only the line of a `file:line` query is missing."""
    [frame] = query.frames
    paths = [path for _, _, path in files_matching_name(frame.path, selection)]
    searched = sum(project.store.code.file_count(selection.scope) for project in selection.projects)
    found = f"{paths[0]} has no code in line {frame.line}" if paths else f"No indexed file is named {frame.path}"
    return CodeAnswer(query, (), 0, files_searched=searched, notes=(f"{found}.",), skipped_note=skipped_note(selection))


def _frame_chunks(query: CodeQuery, selection: SearchSelection) -> list[SelectedChunk]:
    """Return the chunks with the lines of the stack frames."""
    found: list[SelectedChunk] = []
    for number, project in enumerate(selection.projects):
        with SourceReader(project.root, project.store, project.workers) as reader:
            places = locate_mentions(project.store.code, query.frames, selection.scope, reader.lines)
        for file_id, place in places:
            chunks = project.store.code.chunks_at(file_id, [place.line])[:1]
            found += [SelectedChunk(chunk, 1.0, place.line, corpus=number) for chunk in chunks]
    return list(dict.fromkeys(found))
