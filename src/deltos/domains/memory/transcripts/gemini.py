"""Session files of Gemini CLI, `~/.gemini/tmp/PROJECT/chats/session-*.json` and `.jsonl`, and the `logs.json` of the
project.

The format was learned from google-gemini/gemini-cli 5411f113ca (npm 0.61.0):
packages/core/src/{services/chatRecordingService,services/chatRecordingTypes,core/logger,utils/paths,utils/sessionUtils}.ts.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from deltos.digest import sha256
from deltos.domains.memory.transcripts.events import (
    Record,
    TranscriptEvent,
    nested,
    redacted_key_part,
    text_field,
    text_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PROGRAM_PROMPT_PREFIXES = ("/", "?", "<session_context>", "<hook_context>")
_MAX_MESSAGES = 20_000
_MAX_PATHS_TRIED = 2_000


def is_session(record: Record) -> bool:
    """Whether a record is the head of a session of Gemini CLI, or a line of its log."""
    return isinstance(record.get("sessionId"), str) and ("projectHash" in record or "messageId" in record)


class GeminiReader:
    """Reader of Gemini CLI's session files; implements `events.TranscriptReader`.

    Gemini CLI writes a message again when it has more content, so most events are yielded at the end.
    """

    def __init__(self, root_of: Callable[[str], str]) -> None:
        self._root_of = root_of
        self._head: Record = {}
        self._messages: dict[str, Record] = {}
        self._answer: TranscriptEvent | None = None

    def read(self, record: Record) -> Iterator[TranscriptEvent]:
        """Yield the event of a log line; other records are collected."""
        if "messageId" in record and "sessionId" in record:
            yield from self._read_log(record)
        elif isinstance(record.get("$rewindTo"), str):
            self._rewind(record["$rewindTo"])
        elif isinstance(record.get("id"), str):
            self._note(record)
        elif update := nested(record, "$set") or record:
            self._head |= {name: value for name, value in update.items() if name != "messages"}
            if isinstance(messages := update.get("messages"), list):
                self._messages.clear()
                for message in messages:
                    if isinstance(message, dict) and isinstance(message.get("id"), str):
                        self._note(message)

    def end(self) -> Iterator[TranscriptEvent]:
        """Yield the events of all collected messages."""
        if self._head.get("kind") == "subagent":
            return
        folder = self._folder()
        for message in self._messages.values():
            match message.get("type"):
                case "user":
                    yield from self._read_prompt(message, folder)
                case "gemini":
                    yield from self._read_answer(message, folder)
        if self._answer is not None:
            yield self._answer

    def _note(self, message: Record) -> None:
        """Store the latest version of a message."""
        if len(self._messages) < _MAX_MESSAGES or message["id"] in self._messages:
            self._messages[message["id"]] = message

    def _rewind(self, message_id: str) -> None:
        """Drop a message and all messages after it, as Gemini CLI does; all of them if it is unknown."""
        ids = list(self._messages)
        for later in ids[ids.index(message_id) if message_id in ids else 0 :]:
            del self._messages[later]

    def _read_log(self, record: Record) -> Iterator[TranscriptEvent]:
        """Yield the prompt of a log line."""
        text = text_field(record, "message")
        if record.get("type") == "user" and not text.lstrip().startswith(_PROGRAM_PROMPT_PREFIXES):
            yield _event("BeforeAgent", record, _prompt_key(record, text), self._root_of(""), record, prompt=text)

    def _read_prompt(self, message: Record, folder: str) -> Iterator[TranscriptEvent]:
        text = text_of(message.get("displayContent") or message.get("content"))
        if not text.strip() or text.lstrip().startswith(_PROGRAM_PROMPT_PREFIXES):
            return
        if self._answer is not None:
            yield self._answer
            self._answer = None
        yield _event("BeforeAgent", message, _prompt_key(self._head, text), folder, self._head, prompt=text)

    def _read_answer(self, message: Record, folder: str) -> Iterator[TranscriptEvent]:
        calls = message.get("toolCalls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict) and call.get("status") in ("success", "error") and not call.get("agentId"):
                yield self._tool_event(call, message, folder)
        text = text_of([part for part in _parts(message.get("content")) if not _is_thought(part)])
        if text.strip():
            key = f"answer:{message['id']}"
            self._answer = _event("AfterAgent", message, key, folder, self._head, prompt_response=text)

    def _tool_event(self, call: Record, message: Record, folder: str) -> TranscriptEvent:
        text = "\n".join(filter(None, (_part_text(part) for part in _parts(call.get("result")))))
        answer: Record = {"llmContent": text, "returnDisplay": ""}
        if call["status"] == "error":
            answer["error"] = {"message": text or text_of(call.get("resultDisplay"))}
        tool_fields = {
            "tool_name": text_field(call, "name"),
            "tool_input": nested(call, "args"),
            "tool_response": answer,
        }
        at = call if text_field(call, "timestamp") else message
        return _event(
            "AfterTool", at, f"tool:{message['id']}:{text_field(call, 'id')}", folder, self._head, **tool_fields
        )

    def _folder(self) -> str:
        """Return the project root: known by its hash, otherwise a parent folder with that hash of a tool's file."""
        known = text_field(self._head, "projectHash")
        return self._root_of(known) or next((path for path in self._paths() if _hash(path) == known), "")

    def _paths(self) -> Iterator[str]:
        """Yield the absolute paths in tool calls and all their parent folders."""
        tried: set[str] = set()
        for message in self._messages.values():
            calls = message.get("toolCalls")
            for call in calls if isinstance(calls, list) else []:
                tool_input = nested(call, "args") if isinstance(call, dict) else {}
                for value in tool_input.values():
                    if isinstance(value, str) and value.startswith("/") and len(value) < 4_096:
                        above = {str(path) for path in (PurePosixPath(value), *PurePosixPath(value).parents)} - tried
                        tried |= above
                        yield from above
                        if len(tried) > _MAX_PATHS_TRIED:
                            return


def _hash(path: str) -> str:
    return sha256(path.encode("utf-8", "surrogatepass")).hexdigest()


def _prompt_key(session: Record, text: str) -> str:
    """Return the key of a prompt, which is the same in the log and in the chat."""
    return f"prompt:{text_field(session, 'sessionId')}:{redacted_key_part(text)}"


def _parts(content: object) -> list[object]:
    return content if isinstance(content, list) else [content]


def _is_thought(part: object) -> bool:
    return isinstance(part, dict) and bool(part.get("thought"))


def _part_text(part: object) -> str:
    """Return the text of one part of a tool result."""
    if not isinstance(part, dict):
        return part if isinstance(part, str) else ""
    response = nested(nested(part, "functionResponse"), "response")
    return text_field(response, "output", "error") or text_field(part, "text")


def _event(event_name: str, at: Record, key: str, folder: str, session: Record, **fields: Any) -> TranscriptEvent:
    event_fields = {"session_id": text_field(session, "sessionId"), "cwd": folder, **fields}
    return TranscriptEvent(event_name, event_fields, key, text_field(at, "timestamp"))
