"""Ask the agent, at most once per session, to store what the next session needs (enabled by `deltos memory ask on`).

A session is asked only after it did some work. A file per session counts the work, and is renamed when the agent is
asked; the rename fails in all processes but one.
"""

import os
import time
from pathlib import Path

from deltos.domains.memory.capture.events import Action, Event, EventType
from deltos.store.private_files import FILE_MODE, make_private_folder

FOLDER = "asked"
_QUESTION = (
    "Before you stop: if this session produced decisions with their reasons, findings or open problems that the next"
    " session needs and that neither the code nor git shows, store each of them with the tool `remember` (MCP server"
    " deltos) in one or two sentences of your own. At most five, at most 200 words in all. If there is nothing, store"
    " nothing. Then stop; do not repeat your answer."
)
_SUMMARY_INSTRUCTIONS = (
    "In the summary, state first, in complete sentences: decisions with their reasons, findings, open problems, and"
    " the next step."
)
# Points for the work done by a tool use; other actions count nothing. The agent is asked if their sum is large enough.
_WORK_POINTS = {Action.EDIT: 3, Action.QUESTION: 3, Action.PLAN: 3, Action.COMMAND: 1}
_MIN_WORK_POINTS_TO_ASK = 3
_WORK_SUFFIX, _ASKED_SUFFIX = ".work", ".asked"
_MAX_AGE_SECONDS = 30 * 86_400


def ask(home: Path, event: Event) -> str:
    """Count the work in an event; return the question if the agent must be asked now, or an empty string."""
    if event.event_type is EventType.COMPACTING:
        return _SUMMARY_INSTRUCTIONS if event.agent == "claude" else ""
    if not event.session_id:
        return ""
    if event.tool is not None:
        if work := _WORK_POINTS.get(event.tool.action, 0):
            _count_work(home / FOLDER, _session_name(event), work)
        return ""
    return _QUESTION if event.may_continue and _may_ask(home / FOLDER, _session_name(event)) else ""


def _session_name(event: Event) -> str:
    from deltos.digest import sha256  # imported late: most hooks do not ask

    return sha256(event.session_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _count_work(folder: Path, name: str, work: int) -> None:
    if (folder / f"{name}{_ASKED_SUFFIX}").exists():
        return
    make_private_folder(folder)
    descriptor = os.open(folder / f"{name}{_WORK_SUFFIX}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, FILE_MODE)
    with os.fdopen(descriptor, "ab") as file:
        file.write(b"." * work)


def _may_ask(folder: Path, name: str) -> bool:
    """Whether a session did enough work and was not asked yet; if so, record that it is asked now."""
    counted = folder / f"{name}{_WORK_SUFFIX}"
    try:
        if counted.stat().st_size < _MIN_WORK_POINTS_TO_ASK:
            return False
        counted.rename(folder / f"{name}{_ASKED_SUFFIX}")
    except OSError:  # no work was counted, or another process is asking
        return False
    _remove_old_files(folder)
    return True


def _remove_old_files(folder: Path) -> None:
    oldest = time.time() - _MAX_AGE_SECONDS
    for path in folder.iterdir():
        if path.stat().st_mtime < oldest:
            path.unlink(missing_ok=True)
