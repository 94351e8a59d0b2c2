"""Session files of Copilot CLI, `~/.copilot/session-state/SESSION/events.jsonl`.

The format was learned from @github/copilot 1.0.40: schemas/session-events.schema.json, and app.js for the location of
the files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.domains.memory.transcripts.events import OpenCalls, Record, TranscriptEvent, nested, text_field

if TYPE_CHECKING:
    from collections.abc import Iterator

_USER_ORIGINS = ("", "user")  # other sources are skills that insert messages
_PLAN_TOOL = "exit_plan_mode"


def is_session(record: Record) -> bool:
    """Whether a record is an event of Copilot CLI."""
    return "parentId" in record and isinstance(record.get("type"), str) and isinstance(record.get("data"), dict)


def answer_in(record: Record) -> str:
    """Return the message of the main agent in an event; empty if there is none."""
    data = nested(record, "data")
    if record.get("type") != "assistant.message" or record.get("agentId") or data.get("parentToolCallId"):
        return ""
    return text_field(data, "content").strip()


class CopilotReader:
    """Reader of Copilot CLI's session files; implements `events.TranscriptReader`."""

    def __init__(self) -> None:
        self._calls = OpenCalls()
        self._context: Record = {}
        self._session_id = ""
        self._plan = ""
        self._answer: TranscriptEvent | None = None

    def read(self, record: Record) -> Iterator[TranscriptEvent]:
        """Yield the events that this record completes."""
        data = nested(record, "data")
        if record.get("agentId") or data.get("parentToolCallId"):  # event of a sub-agent
            return
        match record.get("type"):
            case "session.start" | "session.resume" | "session.context_changed":
                self._session_id = text_field(data, "sessionId") or self._session_id
                self._context |= nested(data, "context") or {"cwd": text_field(data, "cwd") or self._context.get("cwd")}
            case "user.message":
                yield from self._read_prompt(record, data)
            case "assistant.message":
                self._note_answer(record)
            case "tool.execution_start":
                self._calls.begin(data.get("toolCallId"), data.get("toolName"), data.get("arguments"))
            case "tool.execution_complete":
                yield from self._read_result(record, data)
            case "exit_plan_mode.requested":
                self._plan = text_field(data, "planContent", "summary")
            case "exit_plan_mode.completed" if data.get("approved") is True and self._plan:
                result = {"resultType": "success", "textResultForLlm": ""}
                yield self._event(
                    "postToolUse", record, "plan", toolName=_PLAN_TOOL, toolArgs={"plan": self._plan}, toolResult=result
                )
                self._plan = ""
            case "session.compaction_complete" if text_field(data, "summaryContent"):
                yield self._event("postCompact", record, "compact", summary=text_field(data, "summaryContent"))

    def end(self) -> Iterator[TranscriptEvent]:
        """Yield the last answer."""
        if self._answer is not None:
            yield self._answer
        self._answer = None

    def _read_prompt(self, record: Record, data: Record) -> Iterator[TranscriptEvent]:
        if text_field(data, "source") not in _USER_ORIGINS or not text_field(data, "content").strip():
            return
        yield from self.end()
        yield self._event("userPromptSubmitted", record, "prompt", prompt=text_field(data, "content"))

    def _note_answer(self, record: Record) -> None:
        """Record the last answer; the next prompt shows that the turn has ended."""
        if text := answer_in(record):
            self._answer = self._event("agentStop", record, "answer", text=text)

    def _read_result(self, record: Record, data: Record) -> Iterator[TranscriptEvent]:
        call = self._calls.end(data.get("toolCallId"))
        if call is None:
            return
        name, tool_input = call
        text = text_field(nested(data, "result"), "content") or text_field(nested(data, "error"), "message")
        result = {"resultType": "failure" if data.get("success") is False else "success", "textResultForLlm": text}
        tool_fields = {"toolName": name, "toolArgs": tool_input, "toolResult": result}
        yield self._event("postToolUse", record, "tool", **tool_fields)

    def _event(self, event_name: str, record: Record, kind: str, **fields: Any) -> TranscriptEvent:
        event_fields = {"sessionId": self._session_id, "cwd": text_field(self._context, "cwd"), **fields}
        host, repository = text_field(self._context, "repositoryHost"), text_field(self._context, "repository")
        address = f"https://{host or 'github.com'}/{repository}" if repository else ""
        return TranscriptEvent(
            event_name, event_fields, f"{kind}:{text_field(record, 'id')}", text_field(record, "timestamp"), address
        )
