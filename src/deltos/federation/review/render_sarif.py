"""Render a review as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from deltos import __version__
from deltos.federation.review.model import REMOVED

if TYPE_CHECKING:
    from deltos.federation.review.model import Review
    from deltos.tool import JsonObject

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_RULES = {
    "breaking-change": "A change breaks users of the public API.",
    "broken-caller": "A call no longer fits the changed definition.",
    "possible-broken-caller": "A call may no longer fit the changed definition; its receiver type is unknown.",
}


def review_sarif(review: Review) -> JsonObject:
    """Return the breaking changes and the broken callers as one SARIF run."""
    results = [
        _sarif_result(
            "breaking-change",
            "error",
            f"{each.label}: {'; '.join(each.breaks)}",
            each.path,
            1 if each.kind == REMOVED else each.line,
        )
        for each in review.breaking
    ]
    for each in review.callers:
        rule, level = ("broken-caller", "error") if each.is_certain else ("possible-broken-caller", "note")
        results.append(_sarif_result(rule, level, f"{each.callee}: {each.reason}", each.path, each.line))
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in _RULES.items()]
    driver = {"name": "deltos review", "version": __version__, "rules": rules}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def _sarif_result(rule: str, level: str, message: str, path: str, line: int) -> JsonObject:
    location = {"artifactLocation": {"uri": quote(path)}, "region": {"startLine": max(1, line)}}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": message},
        "locations": [{"physicalLocation": location}],
    }
