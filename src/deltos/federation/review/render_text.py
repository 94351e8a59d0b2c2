"""Render a review as short text. Definite findings come first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.budget import characters_for, fit
from deltos.federation.review.model import ADDED, BODY, MODULE, REMOVED, SIGNATURE
from deltos.text.counts import counted
from deltos.wording import truncated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deltos.federation.review.model import BrokenCaller, MissingChange, Review, SymbolChange, TestToRun

DEFAULT_TOKENS = 1_500
MAX_TESTS_NAMED = 4
MAX_TESTS_LISTED = 20
MAX_SIMILAR_CALLERS = 3  # maximum number of listed callers of one definition that fail for the same reason
MAX_AFFECTED = 15
_KIND_LABELS = {ADDED: "added", REMOVED: "removed", SIGNATURE: "signature changed", BODY: "body changed"}


def render_text(review: Review, *, token_budget: int = DEFAULT_TOKENS) -> str:
    """Return the review as text within a token budget. If the text is truncated, the first line says so."""
    if not review.changed_files:
        return "\n".join([f"No changes between {review.base} and {review.head}.", *review.notes])
    sections = ["\n".join([title, *lines]) for title, lines in sections_of(review) if lines]
    head = [summary(review), *review.notes]
    characters = characters_for(token_budget) - sum(len(line) + 1 for line in head) - 120
    fitted = fit([line for section in sections for line in section.split("\n")], characters=characters)
    total = sum(section.count("\n") + 1 for section in sections)
    if fitted.truncated:
        head.insert(0, truncated(len(fitted.pieces), total, "lines", "raise the token budget for more"))
    return "\n".join([*head, *fitted.pieces])


def summary(review: Review) -> str:
    """Return one line with the compared revisions and the number of findings."""
    counts = [
        f"{counted(len(review.changed_files), 'file')} changed",
        counted(len([each for each in review.changes if each.kind != MODULE]), "changed symbol"),
        counted(len(review.breaking), "breaking change"),
        counted(len(review.callers), "caller") + " to update",
        f"{review.recommended} of {counted(review.test_file_count, 'test file')} to run",
    ]
    return f"Review of {review.head} against {review.base}: {', '.join(counts)}."


def sections_of(review: Review) -> list[tuple[str, list[str]]]:
    """Return the title and the lines of each section, most important first."""
    certain = [each for each in review.callers if each.is_certain]
    possible = [each for each in review.callers if not each.is_certain]
    return [
        ("Callers that no longer fit:", _caller_lines(certain)),
        (
            "Breaking changes of public API:",
            [_break_line(each) for each in review.breaking],
        ),
        (_tests_title(review), _test_lines(review)),
        ("Possible callers that no longer fit (receiver type unknown):", _caller_lines(possible)),
        ("Usually changed together, but unchanged:", [_missing_line(each) for each in review.missing]),
        (
            "Documentation that mentions changed symbols:",
            [f"  {each.place} {each.label}: {each.text}" for each in review.mentions if not each.is_observation],
        ),
        (
            "Memory that mentions changed symbols (quoted):",
            [f"  {each.place} {each.text}" for each in review.mentions if each.is_observation],
        ),
        (f"Changed symbols ({len(review.changes)}):", _change_lines(review.changes)),
        (f"Affected outside tests ({len(review.affected)}):", _affected_lines(review)),
    ]


def _break_line(change: SymbolChange) -> str:
    return f"  {change.location} {change.label}: {'; '.join(change.breaks)}"


def _caller_lines(callers: Sequence[BrokenCaller]) -> list[str]:
    """Return one line for each caller, but only some of many callers that fail for the same reason."""
    groups: dict[tuple[str, str], list[BrokenCaller]] = {}
    for each in callers:
        groups.setdefault((each.callee, each.reason), []).append(each)
    lines = []
    for (callee, reason), group in groups.items():
        shown = group if len(group) <= MAX_SIMILAR_CALLERS + 1 else group[:MAX_SIMILAR_CALLERS]
        lines += [_caller_line(each) for each in shown]
        if more := group[len(shown) :]:
            files = counted(len({each.path for each in more}), "file")
            lines.append(f"  {len(more)} more callers of {callee} in {files}: {reason}")
    return lines


def _test_lines(review: Review) -> list[str]:
    rows = review.tests[: review.recommended]
    more = len(rows) - MAX_TESTS_LISTED
    return [*map(_test_line, rows[:MAX_TESTS_LISTED]), *([f"  and {more} more test files"] if more > 0 else [])]


def _caller_line(each: BrokenCaller) -> str:
    return f"  {each.path}:{each.line} {each.caller or 'top level'} uses {each.callee}: {each.reason}"


def _tests_title(review: Review) -> str:
    return f"Tests to run ({review.recommended} of {counted(review.test_file_count, 'test file')}):"


def _test_line(test: TestToRun) -> str:
    """Return a line with a test file, the reasons to run it, and the affected tests."""
    names = list(dict.fromkeys(row.label for row in test.tests if row.label))
    named = ", ".join(names[:MAX_TESTS_NAMED])
    if len(names) > MAX_TESTS_NAMED:
        named += f" and {len(names) - MAX_TESTS_NAMED} more"
    reasons = ["changed"] if test.is_changed else []
    if test.tests:
        reasons.append(f"distance {test.tests[0].distance}")
    if test.commits_together:
        reasons.append(counted(test.commits_together, "common commit"))
    return f"  {test.path} ({', '.join(reasons) or 'similar name'}){': ' + named if named else ''}"


def _missing_line(each: MissingChange) -> str:
    return f"  {each.path}: in {each.together} of {each.changes} commits of {each.changed_path}"


def _change_lines(changes: Sequence[SymbolChange]) -> list[str]:
    """Return one line for each file with the changed symbols of the file."""
    by_path: dict[str, list[str]] = {}
    for each in changes:
        what = "top-level code" if each.kind == MODULE else f"{each.label} {_KIND_LABELS[each.kind]}"
        moved = f" (now {each.moved_to})" if each.moved_to else ""
        by_path.setdefault(each.path, []).append(f"{what}{moved}")
    return [f"  {path}: {', '.join(labels)}" for path, labels in by_path.items()]


def _affected_lines(review: Review) -> list[str]:
    rows = review.affected[:MAX_AFFECTED]
    lines = [f"  {row.path}:{row.line} {row.label or 'top level'} (distance {row.distance})" for row in rows]
    more = len(review.affected) - len(rows)
    return [*lines, *([f"  and {more:,} more"] if more else [])]
