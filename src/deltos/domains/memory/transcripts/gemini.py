"""Gemini CLI's session files, `~/.gemini/tmp/PROJECT/chats/session-*.json` and `.jsonl`, and `logs.json` beside them.
Learned from google-gemini/gemini-cli 5411f113ca (npm 0.61.0): packages/core/src/{services/
chatRecordingService,services/chatRecordingTypes,core/logger,utils/paths,utils/sessionUtils}.ts."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from deltos.digest import sha256
from deltos.domains.memory.transcripts.told import Record, Told, inside, safe_part, text_of, word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NOT_THE_USER = ("/", "?", "<session_context>", "<hook_context>")
_MOST_MESSAGES = 20_000
_MOST_PATHS_TRIED = 2_000


def is_session(record: Record) -> bool:
    """Whether a record is the head of a session of Gemini CLI, or a line of its log."""
    return isinstance(record.get("sessionId"), str) and ("projectHash" in record or "messageId" in record)


class GeminiSession:
    """Implements `told.Session`. A message is written again when more of it is known, so all are told at the end."""

    def __init__(self, root_of: Callable[[str], str]) -> None:
        self._root_of = root_of
        self._head: Record = {}
        self._messages: dict[str, Record] = {}
        self._answer: Told | None = None

    def read(self, record: Record) -> Iterator[Told]:
        if "messageId" in record and "sessionId" in record:
            yield from self._read_log(record)
        elif isinstance(record.get("$rewindTo"), str):
            self._rewind(record["$rewindTo"])
        elif isinstance(record.get("id"), str):
            self._note(record)
        elif update := inside(record, "$set") or record:
            self._head |= {name: value for name, value in update.items() if name != "messages"}
            if isinstance(messages := update.get("messages"), list):
                self._messages.clear()
                for message in messages:
                    if isinstance(message, dict) and isinstance(message.get("id"), str):
                        self._note(message)

    def end(self) -> Iterator[Told]:
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
        if len(self._messages) < _MOST_MESSAGES or message["id"] in self._messages:
            self._messages[message["id"]] = message

    def _rewind(self, message_id: str) -> None:
        """Forget a message and all after it, as Gemini CLI does; all of them when it is unknown."""
        ids = list(self._messages)
        for later in ids[ids.index(message_id) if message_id in ids else 0 :]:
            del self._messages[later]

    def _read_log(self, record: Record) -> Iterator[Told]:
        said = word(record, "message")
        if record.get("type") == "user" and not said.lstrip().startswith(_NOT_THE_USER):
            yield _told("BeforeAgent", record, _prompt_key(record, said), self._root_of(""), record, prompt=said)

    def _read_prompt(self, message: Record, folder: str) -> Iterator[Told]:
        said = text_of(message.get("displayContent") or message.get("content"))
        if not said.strip() or said.lstrip().startswith(_NOT_THE_USER):
            return
        if self._answer is not None:
            yield self._answer
            self._answer = None
        yield _told("BeforeAgent", message, _prompt_key(self._head, said), folder, self._head, prompt=said)

    def _read_answer(self, message: Record, folder: str) -> Iterator[Told]:
        calls = message.get("toolCalls")
        for call in calls if isinstance(calls, list) else []:
            if isinstance(call, dict) and call.get("status") in ("success", "error") and not call.get("agentId"):
                yield self._used(call, message, folder)
        said = text_of([part for part in _parts(message.get("content")) if not _is_thought(part)])
        if said.strip():
            key = f"answer:{message['id']}"
            self._answer = _told("AfterAgent", message, key, folder, self._head, prompt_response=said)

    def _used(self, call: Record, message: Record, folder: str) -> Told:
        said = "\n".join(filter(None, (_said(part) for part in _parts(call.get("result")))))
        answer: Record = {"llmContent": said, "returnDisplay": ""}
        if call["status"] == "error":
            answer["error"] = {"message": said or text_of(call.get("resultDisplay"))}
        used = {"tool_name": word(call, "name"), "tool_input": inside(call, "args"), "tool_response": answer}
        at = call if word(call, "timestamp") else message
        return _told("AfterTool", at, f"tool:{message['id']}:{word(call, 'id')}", folder, self._head, **used)

    def _folder(self) -> str:
        """The project's root: noted beside the chats, known by its hash, or a parent of a file that a tool touched."""
        known = word(self._head, "projectHash")
        return self._root_of(known) or next((path for path in self._paths() if _hash(path) == known), "")

    def _paths(self) -> Iterator[str]:
        tried: set[str] = set()
        for message in self._messages.values():
            calls = message.get("toolCalls")
            for call in calls if isinstance(calls, list) else []:
                given = inside(call, "args") if isinstance(call, dict) else {}
                for value in given.values():
                    if isinstance(value, str) and value.startswith("/") and len(value) < 4_096:
                        above = {str(path) for path in (PurePosixPath(value), *PurePosixPath(value).parents)} - tried
                        tried |= above
                        yield from above
                        if len(tried) > _MOST_PATHS_TRIED:
                            return


def _hash(path: str) -> str:
    return sha256(path.encode("utf-8", "surrogatepass")).hexdigest()


def _prompt_key(session: Record, said: str) -> str:
    """The same for a prompt in the log and in the chat."""
    return f"prompt:{word(session, 'sessionId')}:{safe_part(said)}"


def _parts(content: object) -> list[object]:
    return content if isinstance(content, list) else [content]


def _is_thought(part: object) -> bool:
    return isinstance(part, dict) and bool(part.get("thought"))


def _said(part: object) -> str:
    """What a part of a tool's answer says."""
    if not isinstance(part, dict):
        return part if isinstance(part, str) else ""
    response = inside(inside(part, "functionResponse"), "response")
    return word(response, "output", "error") or word(part, "text")


def _told(event_name: str, at: Record, key: str, folder: str, session: Record, **fields: Any) -> Told:
    told = {"session_id": word(session, "sessionId"), "cwd": folder, **fields}
    return Told(event_name, told, key, word(at, "timestamp"))
