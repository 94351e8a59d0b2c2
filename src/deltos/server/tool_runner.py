"""Runs tools and converts every result or error to an outcome that can be sent to the client."""

from __future__ import annotations

import difflib
import json
import logging
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from deltos.budget import MAX_ANSWER_CHARACTERS, truncate
from deltos.confinement import confined
from deltos.errors import (
    BadRequest,
    DeltosError,
    Forbidden,
    NotFound,
    SourceError,
    StoreBusy,
    StoreUnwritable,
)
from deltos.server.access import check_level
from deltos.server.call_queue import CallQueue
from deltos.tool import Answer, CallNote, snake_case
from deltos.wording import truncated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deltos.progress import Progress
    from deltos.server.caller import Caller
    from deltos.tool import JsonObject, Tool, Toolbox

    OpenToolbox = Callable[[], Toolbox]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
_NOTE_CHARACTERS = 200
_DATABASE_URL_PREFIX = "postgresql://"
MAX_RUNNING_CALLS = 32  # limit per caller; cancelled calls count until they have stopped


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """Result of a call: an answer, or an error message."""

    text: str
    structured: JsonObject | None = None
    is_error: bool = False
    is_bad_request: bool = False
    truncated: bool = False
    original_characters: int = 0


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A failed call. `failure` contains the error message."""

    failure: CallOutcome


class ToolRunner:
    """Runs tool calls. The toolbox is opened when the first call arrives."""

    def __init__(self, open_toolbox: OpenToolbox) -> None:
        self._open_toolbox = open_toolbox
        self._opening = threading.Lock()
        self._toolbox: Toolbox | None = None
        self._running: dict[threading.Event, str] = {}
        self._queue = CallQueue()

    def warm_up(self) -> None:
        """Open the toolbox in advance. An error is logged, and reported to the client by the first call."""
        try:
            self.toolbox()
        except Exception as error:  # noqa: BLE001 - the first call reports it to the client
            logger.warning("deltos mcp: %s", error)

    def reopen(self, open_toolbox: OpenToolbox) -> None:
        """Open another toolbox for new calls, and close the old toolbox after all running calls."""
        with self._opening:
            old, self._toolbox = self._toolbox, None
            self._open_toolbox = open_toolbox
            running = tuple(self._running)
        if old:
            threading.Thread(target=_close_after, args=(old, running), daemon=True).start()

    def run(self, name: str, given: Mapping[str, Any], caller: Caller, progress: Progress) -> CallOutcome:
        """Call the tool `name` with the arguments `given` for `caller`."""

        def work(toolbox: Toolbox) -> Answer:
            tool = find_tool(toolbox.tools, name)
            check_level(tool, caller.level)
            return tool.answer(given, caller.conversation, progress, repeat=toolbox.repeat_excerpts)

        started = time.monotonic()
        outcome = self.run_work(work, caller)
        self._log_call(name, given, caller, outcome, time.monotonic() - started)
        return outcome

    def run_work(self, work: Callable[[Toolbox], Answer], caller: Caller) -> CallOutcome:
        """Run `work` with the permissions of `caller` and return the outcome."""
        outcome = self.run_confined(lambda toolbox: _outcome_of(work(toolbox)), caller)
        return outcome.failure if isinstance(outcome, FailedCall) else outcome

    def run_confined(self, work: Callable[[Toolbox], _T], caller: Caller) -> _T | FailedCall:
        """Run `work` with the permissions of `caller`. Return the result, or a FailedCall if `work` raises."""
        try:
            caller.check_access()
        except Forbidden as error:
            return FailedCall(_failed_outcome(str(error), is_bad_request=True))
        if tuple(self._running.values()).count(caller.name) >= MAX_RUNNING_CALLS:
            return FailedCall(
                _failed_outcome("Too many of your cancelled calls are still stopping. Try again in a moment.")
            )
        finished = threading.Event()
        self._running[finished] = caller.name
        try:
            with self._queue.wait_for_turn(), confined(caller.confinement):
                return work(self.toolbox())
        except DeltosError as error:
            message = caller.confinement.hide_parent_folders(str(error)) if caller.confinement else str(error)
            if caller.name and _DATABASE_URL_PREFIX in message:
                logger.warning("%s", error)
                message = _hide_database_details(error)
            return FailedCall(_failed_outcome(message, is_bad_request=isinstance(error, BadRequest)))
        except (Exception, SystemExit) as error:  # any error, because errors of tools must not break the protocol
            logger.exception("A tool failed")
            return FailedCall(
                _failed_outcome(f"internal error ({type(error).__name__}). See the server's log for details.")
            )
        finally:
            del self._running[finished]
            finished.set()

    def _log_call(
        self, name: str, given: Mapping[str, Any], caller: Caller, outcome: CallOutcome, seconds: float
    ) -> None:
        """Add the call to the call log. Errors while writing the log do not affect the answer."""
        note = self._toolbox.note_call if self._toolbox else None
        if note is None:
            return
        try:
            shown = len(outcome.text)
            original = max(shown, outcome.original_characters)
            note(CallNote(name, caller.client, given, seconds, shown, original, outcome.is_error))
        except Exception:  # the answer is sent even if writing the log fails
            logger.exception("A call could not be written to the call log")

    @property
    def is_open(self) -> bool:
        """Whether the toolbox has been opened."""
        return self._toolbox is not None

    def close(self, wait_seconds: float) -> None:
        """Wait up to `wait_seconds` for running calls, which are cancelled, then close the toolbox."""
        deadline = time.monotonic() + wait_seconds
        for finished in tuple(self._running):
            finished.wait(max(0.0, deadline - time.monotonic()))
        with self._opening:
            if self._toolbox:
                self._toolbox.close()

    def toolbox(self) -> Toolbox:
        """Return the toolbox, opening it on first use."""
        with self._opening:
            if self._toolbox is None:
                with confined(None):  # shared by all callers, so the first caller's confinement must not apply
                    self._toolbox = self._open_toolbox()
            return self._toolbox


def _hide_database_details(error: DeltosError) -> str:
    """Return an error message for remote callers without the database's address, role and messages."""
    if isinstance(error, StoreBusy):
        return "The server's database is busy. Try again in a moment."
    if isinstance(error, StoreUnwritable):
        return "The server's database cannot be written to. Ask the administrator of this server."
    return "The server's database cannot be reached. Try again later, or ask the administrator of this server."


def _close_after(toolbox: Toolbox, running: Sequence[threading.Event]) -> None:
    for finished in running:
        finished.wait()
    toolbox.close()


def find_tool(tools: Sequence[Tool], name: str) -> Tool:
    """Return the tool called `name`. Hyphens and camelCase are accepted."""
    by_name = {tool.name: tool for tool in tools}
    tool = by_name.get(name) or by_name.get(snake_case(name))
    if tool is None:
        similar = difflib.get_close_matches(snake_case(name[:_NOTE_CHARACTERS]), by_name, n=3)
        hint = f"Did you mean {', '.join(similar)}?" if similar else f"Known tools: {', '.join(by_name)}."
        raise NotFound(f"Unknown tool '{name[:_NOTE_CHARACTERS]}'", hint=hint)
    return tool


def _outcome_of(answer: Answer) -> CallOutcome:
    text = _replace_surrogates(answer.text)
    is_truncated = answer.truncated or len(text) > MAX_ANSWER_CHARACTERS
    return CallOutcome(
        _truncate_answer(text),
        structured=None if answer.structured is None else _check_structured(answer.structured),
        truncated=is_truncated,
        original_characters=answer.original_characters or len(text),
    )


def _failed_outcome(message: str, *, is_bad_request: bool = False) -> CallOutcome:
    return CallOutcome(
        _truncate_answer(_replace_surrogates(f"Error: {message}")), is_error=True, is_bad_request=is_bad_request
    )


def _truncate_answer(text: str) -> str:
    """Truncate `text` to the hard limit. Domains normally truncate their answers earlier, between two results."""
    if len(text) <= MAX_ANSWER_CHARACTERS:
        return text
    shown = MAX_ANSWER_CHARACTERS - _NOTE_CHARACTERS
    note = truncated(shown, len(text), "characters", "narrow the query to see the rest")
    return f"{note}\n{truncate(text, characters=shown)}"


def _check_structured(structured: JsonObject) -> JsonObject:
    """Return `structured` without lone surrogates. Raise SourceError if it is too large."""
    encoded = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
    if len(encoded) > MAX_ANSWER_CHARACTERS:
        raise SourceError(
            f"The answer has {len(encoded):,} characters, more than the maximum of {MAX_ANSWER_CHARACTERS:,}",
            hint="Lower the limit or narrow the query.",
        )
    cleaned: JsonObject = structured if _is_encodable(encoded) else json.loads(_replace_surrogates(encoded))
    return cleaned


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode("utf-8")
