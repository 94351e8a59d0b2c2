"""Claude Code's session files, `~/.claude/projects/FOLDER/SESSION.jsonl`. Learned from @anthropic-ai/claude-code
2.1.197: the functions of the binary that write and list them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltos.domains.memory.transcripts.told import OpenCalls, Record, Told, inside, parts_of, safe_part, text_of, word

if TYPE_CHECKING:
    from collections.abc import Iterator

# What the program wrote for itself, for its model, or in a session of a sub-agent.
_NOTHING = ("isSidechain", "isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isVirtual", "isApiErrorMessage")
_USERS = ("human", "auto-continuation")
_INTERRUPTED = "[Request interrupted by user"
# An editor puts what it shows beside the user's words.
_OF_THE_EDITOR = ("<ide_opened_file>", "<ide_selection>", "<ide_diagnostics>")
_ERROR_MARKS = ("<tool_use_error>", "</tool_use_error>")


def is_session(record: Record) -> bool:
    """Whether a record is one of Claude Code's."""
    return isinstance(record.get("sessionId"), str) and ("parentUuid" in record or record.get("type") == "user")


class ClaudeSession:
    """Implements `told.Session`."""

    def __init__(self) -> None:
        self._calls = OpenCalls()
        self._answer: Told | None = None
        self._answer_id = ""

    def read(self, record: Record) -> Iterator[Told]:
        if any(record.get(name) for name in _NOTHING):
            return
        match record.get("type"):
            case "assistant":
                self._note_answer(record)
            case "user":
                yield from self._read_user(record)
            case "attachment":
                yield from self._read_queued(record)

    def end(self) -> Iterator[Told]:
        if self._answer is not None:
            yield self._answer
        self._answer = None

    def _note_answer(self, record: Record) -> None:
        """Remember calls of tools, and what was said last: the end of a turn is told by what comes next."""
        message = inside(record, "message")
        for call in parts_of(message.get("content"), "tool_use"):
            self._calls.begin(call.get("id"), call.get("name"), call.get("input"))
        said = text_of(parts_of(message.get("content"), "text"))
        if not said.strip():
            return
        if self._answer is not None and word(message, "id") == self._answer_id:
            said = f"{self._answer.fields['last_assistant_message']}\n{said}"
        self._answer_id = word(message, "id")
        self._answer = _told("Stop", record, _key("answer", record, said), last_assistant_message=said)

    def _read_user(self, record: Record) -> Iterator[Told]:
        content = inside(record, "message").get("content")
        if results := parts_of(content, "tool_result"):
            for result in results:
                yield from self._read_result(record, result, is_only=len(results) == 1)
            return
        if inside(record, "origin").get("kind", "human") not in _USERS:
            return
        texts = [content] if isinstance(content, str) else [text_of(part) for part in parts_of(content, "text")]
        prompt = "\n".join(text for text in texts if not text.lstrip().startswith(_OF_THE_EDITOR))
        yield from self._read_prompt(record, prompt)

    def _read_prompt(self, record: Record, prompt: str) -> Iterator[Told]:
        if prompt.lstrip().startswith(_INTERRUPTED):
            self._answer = None  # an answer that was interrupted ends no turn
            return
        if prompt.strip():
            yield from self.end()
            yield _told("UserPromptSubmit", record, _key("prompt", record, prompt), prompt=prompt)

    def _read_queued(self, record: Record) -> Iterator[Told]:
        """What the user wrote while the agent worked."""
        queued = inside(record, "attachment")
        is_users = inside(queued, "origin").get("kind", "human") in _USERS and not queued.get("isMeta")
        if queued.get("type") == "queued_command" and is_users and queued.get("commandMode", "prompt") == "prompt":
            prompt = text_of(queued.get("prompt"))
            yield _told("UserPromptSubmit", record, _key("prompt", record, prompt), prompt=prompt)

    def _read_result(self, record: Record, result: Record, *, is_only: bool) -> Iterator[Told]:
        call = self._calls.end(result.get("tool_use_id"))
        if call is None or record.get("toolDenialKind"):
            return
        name, given = call
        answer = record.get("toolUseResult") if is_only else None
        used = {"tool_name": name, "tool_input": given}
        key = f"tool:{result['tool_use_id']}"
        if result.get("is_error"):
            error = answer.removeprefix("Error: ") if isinstance(answer, str) else text_of(result.get("content"))
            for mark in _ERROR_MARKS:
                error = error.replace(mark, "")
            yield _told("PostToolUseFailure", record, key, **used, error=error)
        else:
            yield _told("PostToolUse", record, key, **used, tool_response=answer or result.get("content"))


def _key(what: str, record: Record, said: str) -> str:
    """What tells an event from all others: the record's id, or where it has none what it says, and when."""
    uuid = word(record, "uuid")
    return (
        f"{what}:{uuid}"
        if uuid
        else f"{what}:{word(record, 'sessionId')}:{word(record, 'timestamp')}:{safe_part(said)}"
    )


def _told(event_name: str, record: Record, key: str, **fields: Any) -> Told:
    told = {"session_id": word(record, "sessionId"), "cwd": word(record, "cwd"), **fields}
    return Told(event_name, told, key, word(record, "timestamp"))
