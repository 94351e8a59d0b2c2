"""Show an agent the review of the working tree once per session, when it stops. The user must switch this on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.cli.suggest import is_off, record_first_use

if TYPE_CHECKING:
    from deltos.federation.review.model import Review
    from deltos.hook_settings import HookSettings

_FOLDER_NAME = "reviewed"
_MAX_TOKENS = 500
_MAX_INDEX_WAIT_SECONDS = 5.0  # maximum wait for the index, because the agent waits too


def stop_review(raw: bytes, settings: HookSettings, folder: Path) -> str:
    """Return the hook output for Claude Code and Codex, or an empty string if no caller or test is affected.

    `folder` is the agent's working folder.
    """
    try:
        event = json.loads(raw)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(event, dict) or event.get("stop_hook_active"):
        return ""
    session, named = event.get("session_id"), event.get("cwd")
    if not isinstance(session, str) or is_off(named, settings, folder):
        return ""
    found = _review(Path(named) if isinstance(named, str) and Path(named).is_dir() else folder)
    if found is None or not record_first_use(session, settings.home, _FOLDER_NAME):
        return ""
    from deltos.federation.review.render_text import render_text

    text = render_text(found, token_budget=_MAX_TOKENS)
    reason = f"Review of your changes by deltos (shown once). Update the callers and run the tests:\n{text}"
    return json.dumps({"decision": "block", "reason": reason})


def _review(root: Path) -> Review | None:
    """Return the review of the uncommitted changes, or None if they affect no caller and no test."""
    from deltos.cli.command import open_app  # deferred imports: needed only if the user switched on the review
    from deltos.errors import DeltosError
    from deltos.federation.review.reviewer import Reviewer

    with open_app() as app:
        index = app.domains.projects.index_of(root)
        reviewer = Reviewer(index)
        try:
            reviewer.check("working")
            review = index.answer(lambda fresh: reviewer.review("working", fresh), wait_seconds=_MAX_INDEX_WAIT_SECONDS)
        except DeltosError:  # not a git repository, or nothing to index
            return None
    is_caller_affected = any(each.is_certain for each in review.callers)
    is_test_open = any(not each.is_changed and each.tests for each in review.tests[: review.recommended])
    return review if is_caller_affected or is_test_open else None
