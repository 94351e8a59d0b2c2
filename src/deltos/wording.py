"""Standard wording of notes and marks that several tools print.

A note mentions the fact, the reason and the next step, in at most two short sentences.
"""

from __future__ import annotations

SEMANTIC_MATCH_MARK = "(semantic match)"  # marks a result that shares no term with the query
COMMITS_MARK = "(commit match)"  # marks a file that was found by its commit messages


def truncated(shown: int, total: int, noun: str, how: str, *, is_at_least: bool = False) -> str:
    """Return the first line of a truncated answer: the number of results, the total, and how to see more."""
    return f"Showing {shown:,} of {'at least ' if is_at_least else ''}{total:,} {noun} ({how})."


def weak_match(confidence: float, advice: str = "Try other words or a name.") -> str:
    """Return a note which says that the best result may not answer the query."""
    return f"Note: weak match (confidence {confidence:.2f}); the results may not answer the query. {advice}"


def first_index_running(files: str) -> str:
    """Return a note about the first indexing of a project. `files` is a count such as `12 files`."""
    return f"Note: the project is being indexed for the first time; this answer covers {files}. Ask again for the rest."


def stale_files(files: str) -> str:
    """Return a note about changed files that are being re-indexed. `files` is a count such as `12 changed files`."""
    return f"Note: {files} are being re-indexed; this answer may miss their latest changes."


def stale_index(reason: str) -> str:
    """Return a note which says why the index could not be updated."""
    return f"Note: the index could not be updated ({reason}); recent changes may be missing."


def parse_error(line: int, last_line: int) -> str:
    """Return a note about the end of a file, which is not indexed because of a parse error."""
    return f"Parse error at line {line:,}; lines {line + 1:,}–{last_line:,} are not indexed."


def more(count: int, where: str, how: str) -> str:
    """Return a line about omitted results and how to list them."""
    return f"{count:,} more {where} ({how})."


NOT_COMPARED = "Other lines that contain the name were not compared, because the name may have other meanings."
"""Sentence below references that may be incomplete, such as those of fields and local variables."""


def complete_references(scope: str, where: str = "code") -> str:
    """Return a line which says that all references in `where` are listed. `scope` describes the searched lines."""
    return f"No other uses in {where} ({scope})." if scope else f"No other uses in {where}."


def possible_references(count: int, reason: str = "same name, receiver type unknown") -> str:
    """Return the heading of a list of possible references, with the reason why they are uncertain."""
    noun = "reference" if count == 1 else "references"
    return f"{count:,} possible {noun} ({reason})"
