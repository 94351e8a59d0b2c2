"""Reads the hook JSON of Claude Code, Codex, Gemini CLI, Cursor and Windsurf into events. Tolerant: what it
does not know is no event."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.memory.events import Action, Event, Happening, ToolUse
from deltos.store.observations import Clean

if TYPE_CHECKING:
    from deltos.domains.memory.payload import Payload

# Event names of all agents, lower-cased and without punctuation.
_HAPPENINGS = {
    "sessionstart": Happening.SESSION_STARTED,
    "userpromptsubmit": Happening.PROMPTED,
    "beforeagent": Happening.PROMPTED,
    "beforesubmitprompt": Happening.PROMPTED,
    "preuserprompt": Happening.PROMPTED,
    "posttooluse": Happening.TOOL_USED,
    "posttoolusefailure": Happening.TOOL_USED,
    "aftertool": Happening.TOOL_USED,
    "aftershellexecution": Happening.TOOL_USED,
    "afterfileedit": Happening.TOOL_USED,
    "aftermcpexecution": Happening.TOOL_USED,
    "postwritecode": Happening.TOOL_USED,
    "postruncommand": Happening.TOOL_USED,
    "stop": Happening.ANSWERED,
    "subagentstop": Happening.ANSWERED,
    "afteragent": Happening.ANSWERED,
    "afteragentresponse": Happening.ANSWERED,
    "agentturncomplete": Happening.ANSWERED,
    "postcascaderesponse": Happening.ANSWERED,
    "precompact": Happening.COMPACTING,
    "precompress": Happening.COMPACTING,
    "postcompact": Happening.COMPACTED,
    "sessionend": Happening.SESSION_ENDED,
}
_ACTIONS = {
    "edit": Action.EDIT,
    "multiedit": Action.EDIT,
    "write": Action.EDIT,
    "notebookedit": Action.EDIT,
    "applypatch": Action.EDIT,
    "replace": Action.EDIT,
    "writefile": Action.EDIT,
    "editfile": Action.EDIT,
    "searchreplace": Action.EDIT,
    "createfile": Action.EDIT,
    "bash": Action.COMMAND,
    "shell": Action.COMMAND,
    "runshellcommand": Action.COMMAND,
    "execcommand": Action.COMMAND,
    "localshell": Action.COMMAND,
    "runterminalcmd": Action.COMMAND,
    "powershell": Action.COMMAND,
    "webfetch": Action.FETCH,
    "fetch": Action.FETCH,
    "websearch": Action.WEB_SEARCH,
    "googlewebsearch": Action.WEB_SEARCH,
}
# Tools of agents that have an event for each instead of a name.
_TOOL_NAMES = {
    "aftershellexecution": "Shell",
    "afterfileedit": "Edit",
    "postruncommand": "Shell",
    "postwritecode": "Edit",
}
# The fields that hold what a tool answered.
_ANSWERS = ("tool_response", "tool_output", "result_json", "output", "error")
_EXIT_CODE = r"(?i)\bexit(?:ed with)? (?:code|status):? *(-?\d+)"
_PATCHED_FILE = r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$"


def read_event(event_name: str, payload: Payload) -> Event | None:
    """What an agent's hook tells; None for an event that memory has no use for."""
    key = _key(event_name or payload.name("hook_event_name", "type"))
    happening = _HAPPENINGS.get(key)
    if happening is None:
        return None
    payload = payload.joined("tool_info")  # Windsurf wraps what the others tell openly
    event = Event(
        happening,
        agent=_agent(key, payload),
        session_id=payload.name("session_id", "conversation_id", "trajectory_id", "thread-id", "thread_id"),
        folder=payload.folder(),
        text=_said(happening, payload),
        tool=_tool(key, payload) if happening is Happening.TOOL_USED else None,
    )
    return event._replace(text=payload.clean_again(event.text), tool=event.tool and _cleaned(event.tool, payload))


def _cleaned(tool: ToolUse, payload: Payload) -> ToolUse:
    """A use of a tool in which what one text gives away is nowhere else either."""
    clean = payload.clean_again
    edits = tuple((clean(old), clean(new)) for old, new in tool.edits)
    return tool._replace(subject=clean(tool.subject), output=clean(tool.output), edits=edits)


def _agent(key: str, payload: Payload) -> str:
    if "trajectory_id" in payload:
        return "windsurf"
    if "cursor_version" in payload or "conversation_id" in payload:
        return "cursor"
    if key in ("beforeagent", "afteragent", "aftertool", "precompress") or "timestamp" in payload:
        return "gemini"
    return "codex" if "turn_id" in payload or "thread-id" in payload else "claude"


def _said(happening: Happening, payload: Payload) -> Clean:
    match happening:
        case Happening.PROMPTED:
            return payload.text("prompt", "user_prompt")
        case Happening.ANSWERED:
            return payload.text(
                "last_assistant_message", "prompt_response", "text", "last-assistant-message", "response"
            )
        case Happening.COMPACTED:
            return payload.text("compact_summary", "summary")
        case Happening.COMPACTING:
            return payload.text("custom_instructions")
        case _:
            return Clean("")


def _tool(key: str, payload: Payload) -> ToolUse:
    given = payload.part("tool_input") or payload
    name = payload.name("tool_name") or _TOOL_NAMES.get(key, "")
    action = _ACTIONS.get(_key(name), Action.OTHER)
    answer = next((field for field in _ANSWERS if field in payload), "")
    output = payload.said(answer)
    return ToolUse(
        name,
        action,
        subject=_subject(action, given),
        files=_files(action, given),
        edits=_edits(given) if action is Action.EDIT else (),
        output=output,
        failed=key == "posttoolusefailure" or _has_failed(payload.part(answer), output),
    )


def _subject(action: Action, given: Payload) -> Clean:
    match action:
        case Action.COMMAND:
            return given.line("command", "cmd", "command_line")
        case Action.FETCH:
            return given.text("url") or given.text("prompt")
        case Action.WEB_SEARCH:
            return given.text("query")
        case _:
            return Clean("")


def _files(action: Action, given: Payload) -> tuple[Clean, ...]:
    if action is not Action.EDIT:
        return ()
    if named := given.name("file_path", "path", "notebook_path", "absolute_path", "target_file"):
        return (named,)
    return tuple(Clean(path) for path in re.findall(_PATCHED_FILE, _patch(given)))


def _edits(given: Payload) -> tuple[tuple[Clean, Clean], ...]:
    if several := given.parts("edits"):
        return tuple((edit.text("old_string"), edit.text("new_string")) for edit in several)
    if "new_string" in given or "old_string" in given:
        return ((given.text("old_string"), given.text("new_string")),)
    if content := given.text("content", "new_source", "contents", "code_edit"):
        return ((Clean(""), content),)
    return _patched(_patch(given))


def _patch(given: Payload) -> Clean:
    text = given.text("input", "patch", "command")
    return text if "*** Begin Patch" in text else Clean("")


def _patched(patch: Clean) -> tuple[tuple[Clean, Clean], ...]:
    """The removed and the added lines of a patch."""
    if not patch:
        return ()
    lines = [line for line in patch.splitlines() if not line.startswith("***")]
    old = "\n".join(line[1:] for line in lines if line.startswith("-"))
    new = "\n".join(line[1:] for line in lines if line.startswith("+"))
    return ((Clean(old), Clean(new)),)


def _has_failed(answer: Payload, output: str) -> bool:
    for holder in (answer, answer.part("metadata")):
        if (code := holder.number("exit_code", "exitCode", "code")) is not None:
            return bool(code)
    if answer.is_set("error") or answer.is_set("is_error") or answer.is_false("success"):
        return True
    codes = re.findall(_EXIT_CODE, output[-2_000:])
    return bool(codes) and codes[-1] != "0"


def _key(name: str) -> str:
    return re.sub(r"[^a-z]", "", name.lower())
