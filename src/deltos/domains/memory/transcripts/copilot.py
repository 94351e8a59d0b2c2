"""Copilot CLI's session files, `~/.copilot/session-state/SESSION/events.jsonl`. Learned from @github/copilot 1.0.40:
schemas/session-events.schema.json, and app.js for where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.domains.memory.transcripts.told import OpenCalls, Record, Told, inside, word

if TYPE_CHECKING:
    from collections.abc import Iterator

_USERS = ("", "user")  # other sources are skills that put in messages of their own
_PLAN_TOOL = "exit_plan_mode"


def is_session(record: Record) -> bool:
    """Whether a record is an event of Copilot CLI."""
    return "parentId" in record and isinstance(record.get("type"), str) and isinstance(record.get("data"), dict)


def answer_in(record: Record) -> str:
    """What the main agent says in an event; empty where it says nothing."""
    data = inside(record, "data")
    if record.get("type") != "assistant.message" or record.get("agentId") or data.get("parentToolCallId"):
        return ""
    return word(data, "content").strip()


class CopilotSession:
    """Implements `told.Session`."""

    def __init__(self) -> None:
        self._calls = OpenCalls()
        self._context: Record = {}
        self._session_id = ""
        self._plan = ""
        self._answer: Told | None = None

    def read(self, record: Record) -> Iterator[Told]:
        data = inside(record, "data")
        if record.get("agentId") or data.get("parentToolCallId"):  # of a sub-agent
            return
        match record.get("type"):
            case "session.start" | "session.resume" | "session.context_changed":
                self._session_id = word(data, "sessionId") or self._session_id
                self._context |= inside(data, "context") or {"cwd": word(data, "cwd") or self._context.get("cwd")}
            case "user.message":
                yield from self._read_prompt(record, data)
            case "assistant.message":
                self._note_answer(record)
            case "tool.execution_start":
                self._calls.begin(data.get("toolCallId"), data.get("toolName"), data.get("arguments"))
            case "tool.execution_complete":
                yield from self._read_result(record, data)
            case "exit_plan_mode.requested":
                self._plan = word(data, "planContent", "summary")
            case "exit_plan_mode.completed" if data.get("approved") is True and self._plan:
                result = {"resultType": "success", "textResultForLlm": ""}
                yield self._told(
                    "postToolUse", record, "plan", toolName=_PLAN_TOOL, toolArgs={"plan": self._plan}, toolResult=result
                )
                self._plan = ""
            case "session.compaction_complete" if word(data, "summaryContent"):
                yield self._told("postCompact", record, "compact", summary=word(data, "summaryContent"))

    def end(self) -> Iterator[Told]:
        if self._answer is not None:
            yield self._answer
        self._answer = None

    def _read_prompt(self, record: Record, data: Record) -> Iterator[Told]:
        if word(data, "source") not in _USERS or not word(data, "content").strip():
            return
        yield from self.end()
        yield self._told("userPromptSubmitted", record, "prompt", prompt=word(data, "content"))

    def _note_answer(self, record: Record) -> None:
        """Remember what was said last: the end of a turn is told by the next prompt."""
        if said := answer_in(record):
            self._answer = self._told("agentStop", record, "answer", text=said)

    def _read_result(self, record: Record, data: Record) -> Iterator[Told]:
        call = self._calls.end(data.get("toolCallId"))
        if call is None:
            return
        name, given = call
        said = word(inside(data, "result"), "content") or word(inside(data, "error"), "message")
        result = {"resultType": "failure" if data.get("success") is False else "success", "textResultForLlm": said}
        used = {"toolName": name, "toolArgs": given, "toolResult": result}
        yield self._told("postToolUse", record, "tool", **used)

    def _told(self, event_name: str, record: Record, kind: str, **fields: Any) -> Told:
        told = {"sessionId": self._session_id, "cwd": word(self._context, "cwd"), **fields}
        host, repository = word(self._context, "repositoryHost"), word(self._context, "repository")
        address = f"https://{host or 'github.com'}/{repository}" if repository else ""
        return Told(event_name, told, f"{kind}:{word(record, 'id')}", word(record, "timestamp"), address)
