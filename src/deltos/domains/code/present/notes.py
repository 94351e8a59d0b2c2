"""Notes in search results about undefined names, unknown words and files that are not indexed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from deltos.domains.code.retrieve.mentioned_files import MAX_NAMED_FILES, files_matching_name
from deltos.store.code import FileScope
from deltos.text.similar_names import similar_names
from deltos.text.words import plain_words, shared_words, unique

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deltos.domains.code.query.parse import CodeQuery
    from deltos.domains.code.retrieve.candidates import Corpus
    from deltos.domains.code.selection import SearchSelection

_MAX_COMPARED_NAMES = 50_000
_MAX_SUGGESTIONS = 3
_MAX_UNKNOWN_WORDS = 6
_MAX_SHOWN_CHARACTERS = 100
_TEXTLESS_REASONS = frozenset(("binary", "empty"))  # reasons for skipping files that contain no text
_MAX_SKIPPED_NAMES = 3


def undefined_name_notes(query: CodeQuery, selection: SearchSelection, *, missing_is_noted: bool) -> list[str]:
    """Return notes about a name without a definition in the searched files, such as similar names.

    `missing_is_noted` is set if another note already says that there is no definition.
    """
    shown, scope = query.text[:_MAX_SHOWN_CHARACTERS], selection.scope
    if files := files_matching_name(query.text, selection):
        paths = ", ".join(path for _, _, path in files[:MAX_NAMED_FILES])
        return [f"Note: {shown} is a file: {paths}{' …' if len(files) > MAX_NAMED_FILES else ''}"]
    inside = f" below {scope.folder}" if scope.folder else ""
    inside += f" in {' or '.join(scope.suffixes)}" if scope.suffixes else ""
    elsewhere = _definition_locations(query, selection) if inside else []
    near = [] if elsewhere else [name for name in similar_defined_names(query, selection) if name != query.text]
    notes = [] if missing_is_noted else [f"Note: no definition is named {shown}{inside}; closest by words:"]
    if elsewhere:
        notes.append(f"Defined elsewhere: {', '.join(elsewhere)}.")
    return [*notes, f"Similar names: {', '.join(near)}."] if near else notes


def _definition_locations(query: CodeQuery, selection: SearchSelection) -> list[str]:
    """Return the locations of a name's definitions in all files, not only in the searched files."""
    places: list[str] = []
    for project in selection.projects:
        found = project.store.code.definitions_named(query.names, FileScope(), limit=MAX_NAMED_FILES)
        paths = {file.id: file.path for file in project.store.code.files([file_id for file_id, _ in found])}
        places += [f"{paths[file_id]}:{definition.line}" for file_id, definition in found if file_id in paths]
    return places[:MAX_NAMED_FILES]


def similar_defined_names(query: CodeQuery, selection: SearchSelection) -> tuple[str, ...]:
    """Return defined names similar to the query."""
    names = [
        name
        for project in selection.projects
        for name in project.store.code.defined_names(limit=_MAX_COMPARED_NAMES // len(selection.projects))
    ]
    return tuple(similar_names(query.text, list(dict.fromkeys(names)), limit=_MAX_SUGGESTIONS))


def unknown_words(query: CodeQuery, corpora: Sequence[Corpus]) -> tuple[str, ...]:
    """Return the query words that occur in none of the indexed files."""
    missing = set(query.terms).difference(*(corpus.statistics(query).frequencies for corpus in corpora))
    words = shared_words()
    words_in_query = plain_words(query.in_english or query.text)
    missing_words = [word for word in words_in_query if missing.intersection(words.of(word).split())]
    return tuple(unique(word.lower() for word in missing_words)[:_MAX_UNKNOWN_WORDS])


def skipped_note(selection: SearchSelection) -> str:
    """Return a note with the number of text files that are not indexed, by reason. It is empty if there are none."""
    skipped = [
        file
        for project in selection.projects
        for file in project.store.skipped_files().values()
        if file.reason not in _TEXTLESS_REASONS and selection.scope.includes(file.path)
    ]
    if not skipped:
        return ""
    reasons = ", ".join(f"{count} {reason}" for reason, count in Counter(file.reason for file in skipped).items())
    large = [file.path for file in skipped if file.reason == "too large"][:_MAX_SKIPPED_NAMES]
    named = f": {', '.join(large)}" if large else ""
    return f" (not searched: {reasons}{named})"


def empty_index_note(selection: SearchSelection) -> str:
    """Return a note that says why there are no files to search."""
    scope, totals = selection.scope, [project.store.totals() for project in selection.projects]
    if scope.folder or scope.suffixes:
        where = f" below {scope.folder}" if scope.folder else ""
        kind = f" that ends in {' or '.join(scope.suffixes)}" if scope.suffixes else ""
        known = _format_counts(each.languages for each in totals) or "no source"
        whose = "the project has" if len(totals) == 1 else "the projects have"
        return f"Note: no indexed file{where}{kind}; {whose} {known}."
    skipped = _format_counts(each.skipped for each in totals) or "nothing"
    return f"Note: nothing in this project could be indexed; skipped: {skipped}."


def _format_counts(numbers: Iterable[Mapping[str, int]]) -> str:
    """Add up several counters and format the sums, largest first."""
    total: Counter[str] = Counter()
    for each in numbers:
        total.update(each)
    return ", ".join(f"{name} {count}" for name, count in total.most_common())
