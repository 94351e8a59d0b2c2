"""Session files of Claude Code, `~/.claude/projects/FOLDER/SESSION.jsonl`.

The format was learned from @anthropic-ai/claude-code 2.1.197: the functions of the binary that write and list the
files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.domains.memory.transcripts.events import (
    OpenCalls,
    Record,
    TranscriptEvent,
    nested,
    parts_of,
    redacted_key_part,
    text_field,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

# Flags of records that the program wrote for itself or its model, or that belong to a sub-agent.
_IGNORED_FLAGS = (
    "isSidechain",
    "isMeta",
    "isCompactSummary",
    "isVisibleInTranscriptOnly",
    "isVirtual",
    "isApiErrorMessage",
)
_USER_ORIGINS = ("human", "auto-continuation")
_INTERRUPTED = "[Request interrupted by user"
# Tags in which an editor adds its state to a prompt.
_EDITOR_TAGS = ("<ide_opened_file>", "<ide_selection>", "<ide_diagnostics>")
_ERROR_MARKS = ("<tool_use_error>", "</tool_use_error>")


def is_session(record: Record) -> bool:
    """Whether a record belongs to a session of Claude Code."""
    return isinstance(record.get("sessionId"), str) and ("parentUuid" in record or record.get("type") == "user")


class ClaudeReader:
    """Reader of Claude Code's session files; implements `events.TranscriptReader`."""

    def __init__(self) -> None:
        self._calls = OpenCalls()
        self._answer: TranscriptEvent | None = None
        self._answer_id = ""

    def read(self, record: Record) -> Iterator[TranscriptEvent]:
        """Yield the events that this record completes."""
        if any(record.get(name) for name in _IGNORED_FLAGS):
            return
        match record.get("type"):
            case "assistant":
                self._note_answer(record)
            case "user":
                yield from self._read_user(record)
            case "attachment":
                yield from self._read_queued(record)

    def end(self) -> Iterator[TranscriptEvent]:
        """Yield the last answer."""
        if self._answer is not None:
            yield self._answer
        self._answer = None

    def _note_answer(self, record: Record) -> None:
        """Record tool calls and the last answer; the next record shows whether the turn has ended."""
        message = nested(record, "message")
        for call in parts_of(message.get("content"), "tool_use"):
            self._calls.begin(call.get("id"), call.get("name"), call.get("input"))
        text = text_of(parts_of(message.get("content"), "text"))
        if not text.strip():
            return
        if self._answer is not None and text_field(message, "id") == self._answer_id:
            text = f"{self._answer.fields['last_assistant_message']}\n{text}"
        self._answer_id = text_field(message, "id")
        self._answer = _event("Stop", record, _key("answer", record, text), last_assistant_message=text)

    def _read_user(self, record: Record) -> Iterator[TranscriptEvent]:
        content = nested(record, "message").get("content")
        if results := parts_of(content, "tool_result"):
            for result in results:
                yield from self._read_result(record, result, is_only=len(results) == 1)
            return
        if nested(record, "origin").get("kind", "human") not in _USER_ORIGINS:
            return
        texts = [content] if isinstance(content, str) else [text_of(part) for part in parts_of(content, "text")]
        prompt = "\n".join(text for text in texts if not text.lstrip().startswith(_EDITOR_TAGS))
        yield from self._read_prompt(record, prompt)

    def _read_prompt(self, record: Record, prompt: str) -> Iterator[TranscriptEvent]:
        if prompt.lstrip().startswith(_INTERRUPTED):
            self._answer = None  # an interrupted answer does not end the turn
            return
        if prompt.strip():
            yield from self.end()
            yield _event("UserPromptSubmit", record, _key("prompt", record, prompt), prompt=prompt)

    def _read_queued(self, record: Record) -> Iterator[TranscriptEvent]:
        """Yield a prompt that the user wrote while the agent was working."""
        queued = nested(record, "attachment")
        is_users = nested(queued, "origin").get("kind", "human") in _USER_ORIGINS and not queued.get("isMeta")
        if queued.get("type") == "queued_command" and is_users and queued.get("commandMode", "prompt") == "prompt":
            prompt = text_of(queued.get("prompt"))
            yield _event("UserPromptSubmit", record, _key("prompt", record, prompt), prompt=prompt)

    def _read_result(self, record: Record, result: Record, *, is_only: bool) -> Iterator[TranscriptEvent]:
        """Yield the tool use that a tool result completes."""
        call = self._calls.end(result.get("tool_use_id"))
        if call is None or record.get("toolDenialKind"):
            return
        name, tool_input = call
        answer = record.get("toolUseResult") if is_only else None
        tool_fields = {"tool_name": name, "tool_input": tool_input}
        key = f"tool:{result['tool_use_id']}"
        if result.get("is_error"):
            error = answer.removeprefix("Error: ") if isinstance(answer, str) else text_of(result.get("content"))
            for mark in _ERROR_MARKS:
                error = error.replace(mark, "")
            yield _event("PostToolUseFailure", record, key, **tool_fields, error=error)
        else:
            yield _event("PostToolUse", record, key, **tool_fields, tool_response=answer or result.get("content"))


def _key(what: str, record: Record, text: str) -> str:
    """Return the key of an event: from the record's id, otherwise from session, time and text."""
    uuid = text_field(record, "uuid")
    return (
        f"{what}:{uuid}"
        if uuid
        else f"{what}:{text_field(record, 'sessionId')}:{text_field(record, 'timestamp')}:{redacted_key_part(text)}"
    )


def _event(event_name: str, record: Record, key: str, **fields: Any) -> TranscriptEvent:
    event_fields = {"session_id": text_field(record, "sessionId"), "cwd": text_field(record, "cwd"), **fields}
    return TranscriptEvent(event_name, event_fields, key, text_field(record, "timestamp"))
