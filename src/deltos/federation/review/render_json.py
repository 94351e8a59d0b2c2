"""Render a review as a JSON object."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deltos.federation.review.model import BrokenCaller, Dependant, Review, SymbolChange, TestToRun
    from deltos.tool import JsonObject

MAX_AFFECTED = 200


def review_json(review: Review) -> JsonObject:
    """Return all findings of a review as a JSON-compatible dictionary."""
    return {
        "base": review.base,
        "head": review.head,
        "breaking": review.is_breaking,
        "changed_files": list(review.changed_files),
        "changed_symbols": [_change_json(each) for each in review.changes],
        "broken_callers": [_caller_json(each) for each in review.callers],
        "tests_to_run": [_test_json(each) for each in review.tests[: review.recommended]],
        "test_files": review.test_file_count,
        "affected": [_dependant_json(each) for each in review.affected[:MAX_AFFECTED]],
        "affected_count": len(review.affected),
        "usually_changed_together": [
            {"file": each.path, "with": each.changed_path, "together": each.together, "commits": each.changes}
            for each in review.missing
        ],
        "mentions": [
            {
                "place": each.place,
                "symbol": each.label,
                "text": each.text,
                "kind": "observation" if each.is_observation else "documentation",
            }
            for each in review.mentions
        ],
        "notes": list(review.notes),
    }


def _change_json(change: SymbolChange) -> JsonObject:
    found: JsonObject = {
        "change": change.kind,
        "symbol": change.label,
        "file": change.path,
        "line": change.line,
        "public": change.is_public,
    }
    if change.breaks:
        found["breaks"] = list(change.breaks)
    if change.moved_to:
        found["moved_to"] = change.moved_to
    if change.path_before and change.path_before != change.path:
        found["renamed_from"] = change.path_before
    return found


def _caller_json(caller: BrokenCaller) -> JsonObject:
    return {
        "file": caller.path,
        "line": caller.line,
        "symbol": caller.caller,
        "callee": caller.callee,
        "reason": caller.reason,
        "certain": caller.is_certain,
    }


def _test_json(test: TestToRun) -> JsonObject:
    return {
        "file": test.path,
        "changed": test.is_changed,
        "score": test.score,
        "distance": test.tests[0].distance if test.tests else None,
        "commits_together": test.commits_together,
        "tests": [{"symbol": row.label, "line": row.line, "distance": row.distance} for row in test.tests if row.label],
    }


def _dependant_json(row: Dependant) -> JsonObject:
    return {"file": row.path, "line": row.line, "symbol": row.label, "distance": row.distance}
