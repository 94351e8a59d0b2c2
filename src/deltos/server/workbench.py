"""Runs tools and turns whatever comes of it into an outcome to send. Knows no protocol and never raises."""

from __future__ import annotations

import difflib
import json
import logging
import re
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from deltos.budget import MAX_ANSWER_CHARACTERS, cut
from deltos.confinement import confined
from deltos.errors import BadRequest, DeltosError, Forbidden, NotFound, SourceError
from deltos.server.access import check_level
from deltos.server.turns import Turns
from deltos.tool import Answer, CallNote, snake_case

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from deltos.progress import Progress
    from deltos.server.caller import Caller
    from deltos.tool import JsonObject, Tool, Toolbox

    OpenToolbox = Callable[[], Toolbox]

logger = logging.getLogger(__name__)

_T = TypeVar("_T")
_NOTE_CHARACTERS = 200
_DATABASE = re.compile(r"postgresql://[^\s'\"()]++")
MAX_RUNNING = 32  # calls of one caller, including cancelled ones that have not stopped yet


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call came to: an answer, or an error told in words."""

    text: str
    structured: JsonObject | None = None
    is_error: bool = False
    is_bad_request: bool = False
    truncated: bool = False
    original_characters: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """That some work came to an error, told in words."""

    failure: Outcome


class Workbench:
    """The toolbox, opened by the first who needs it, and the calls that are running."""

    def __init__(self, open_toolbox: OpenToolbox) -> None:
        self._open_toolbox = open_toolbox
        self._opening = threading.Lock()
        self._toolbox: Toolbox | None = None
        self._running: dict[threading.Event, str] = {}
        self._turns = Turns()

    def warm_up(self) -> None:
        """Open the toolbox before it is needed. A failure is left to the first call, which can tell of it."""
        try:
            self.toolbox()
        except Exception as error:  # noqa: BLE001 - a surface: reported by the call that needs it
            logger.warning("deltos mcp: %s", error)

    def reopen(self, open_toolbox: OpenToolbox) -> None:
        """Work with another toolbox from now on; the old one is closed once its calls have ended."""
        with self._opening:
            old, self._toolbox = self._toolbox, None
            self._open_toolbox = open_toolbox
            running = tuple(self._running)
        if old:
            threading.Thread(target=_close_after, args=(old, running), daemon=True).start()

    def run(self, name: str, given: Mapping[str, Any], caller: Caller, progress: Progress) -> Outcome:
        """Call the tool called `name` for `caller`."""

        def work(toolbox: Toolbox) -> Answer:
            tool = find_tool(toolbox.tools, name)
            check_level(tool, caller.level)
            return tool.answer(given, caller.conversation, progress, repeat=toolbox.repeat_excerpts)

        started = time.monotonic()
        outcome = self.attempt(work, caller)
        self._note(name, given, caller, outcome, time.monotonic() - started)
        return outcome

    def attempt(self, work: Callable[[Toolbox], Answer], caller: Caller) -> Outcome:
        """What comes of some work with the toolbox, held to what `caller` may reach."""
        outcome = self.hold(lambda toolbox: _outcome(work(toolbox)), caller)
        return outcome.failure if isinstance(outcome, Failed) else outcome

    def hold(self, work: Callable[[Toolbox], _T], caller: Caller) -> _T | Failed:
        """What `work` gives, held to what `caller` may reach; never raises."""
        try:
            caller.check()
        except Forbidden as refusal:
            return Failed(_failure(str(refusal), is_bad_request=True))
        if tuple(self._running.values()).count(caller.name) >= MAX_RUNNING:
            return Failed(_failure("Too many calls that you gave up are still ending. Try again in a moment."))
        finished = threading.Event()
        self._running[finished] = caller.name
        try:
            with self._turns.taken(), confined(caller.confinement):
                return work(self.toolbox())
        except DeltosError as error:
            message = caller.confinement.veiled(str(error)) if caller.confinement else str(error)
            if caller.name and _DATABASE.search(message):  # where it is concerns whoever runs the server
                logger.warning("%s", error)
                message = _DATABASE.sub("the server's database", message)
            return Failed(_failure(message, is_bad_request=isinstance(error, BadRequest)))
        except (Exception, SystemExit) as error:  # a surface: tools never throw through the protocol
            logger.exception("a tool failed")
            return Failed(_failure(f"internal error ({type(error).__name__}). The server's log says more."))
        finally:
            del self._running[finished]
            finished.set()

    def _note(self, name: str, given: Mapping[str, Any], caller: Caller, outcome: Outcome, seconds: float) -> None:
        """Tell whoever keeps the log of calls; nothing that goes wrong there is the caller's concern."""
        note = self._toolbox.note_call if self._toolbox else None
        if note is None:
            return
        try:
            shown = len(outcome.text)
            original = max(shown, outcome.original_characters)
            note(CallNote(name, caller.client, given, seconds, shown, original, outcome.is_error))
        except Exception:  # the call is answered, whatever becomes of its note
            logger.exception("a call could not be noted")

    @property
    def is_open(self) -> bool:
        """Whether the toolbox has been opened."""
        return self._toolbox is not None

    def close(self, wait_seconds: float) -> None:
        """Give running calls a moment to see that they are cancelled, then close the toolbox."""
        deadline = time.monotonic() + wait_seconds
        for finished in tuple(self._running):
            finished.wait(max(0.0, deadline - time.monotonic()))
        with self._opening:
            if self._toolbox:
                self._toolbox.close()

    def toolbox(self) -> Toolbox:
        """What is on offer, opened."""
        with self._opening:
            if self._toolbox is None:
                with confined(None):  # it is everybody's, whoever comes first
                    self._toolbox = self._open_toolbox()
            return self._toolbox


def _close_after(toolbox: Toolbox, running: Sequence[threading.Event]) -> None:
    for finished in running:
        finished.wait()
    toolbox.close()


def find_tool(tools: Sequence[Tool], name: str) -> Tool:
    """The tool called `name`, also when it is spelled with hyphens or in camelCase."""
    by_name = {tool.name: tool for tool in tools}
    tool = by_name.get(name) or by_name.get(snake_case(name))
    if tool is None:
        near = difflib.get_close_matches(snake_case(name[:_NOTE_CHARACTERS]), by_name, n=3)
        hint = f"Did you mean {', '.join(near)}?" if near else f"Known: {', '.join(by_name)}."
        raise NotFound(f"Unknown tool '{name[:_NOTE_CHARACTERS]}'", hint=hint)
    return tool


def _outcome(answer: Answer) -> Outcome:
    text = _well_formed(answer.text)
    truncated = answer.truncated or len(text) > MAX_ANSWER_CHARACTERS
    return Outcome(
        _capped(text),
        structured=None if answer.structured is None else _sendable(answer.structured),
        truncated=truncated,
        original_characters=answer.original_characters or len(text),
    )


def _failure(message: str, *, is_bad_request: bool = False) -> Outcome:
    return Outcome(_capped(_well_formed(f"Error: {message}")), is_error=True, is_bad_request=is_bad_request)


def _capped(text: str) -> str:
    """`text` within the hard limit; domains cut better and earlier, between results."""
    if len(text) <= MAX_ANSWER_CHARACTERS:
        return text
    shown = MAX_ANSWER_CHARACTERS - _NOTE_CHARACTERS
    note = f"showing the first {shown:,} of {len(text):,} characters (narrow the query for the rest)"
    return f"{note}\n{cut(text, characters=shown)}"


def _sendable(structured: JsonObject) -> JsonObject:
    """`structured` if it can be sent as it is; data cannot be cut without breaking its promise."""
    encoded = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
    if len(encoded) > MAX_ANSWER_CHARACTERS:
        raise SourceError(
            f"The answer has {len(encoded):,} characters; no more than {MAX_ANSWER_CHARACTERS:,} can be sent",
            hint="Lower the limit or narrow the query.",
        )
    whole: JsonObject = structured if _is_well_formed(encoded) else json.loads(_well_formed(encoded))
    return whole


def _is_well_formed(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _well_formed(text: str) -> str:
    """`text` without lone surrogates, which no UTF-8 can carry."""
    return text.encode("utf-8", "replace").decode("utf-8")
