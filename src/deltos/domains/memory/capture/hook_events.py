"""Convert the hook input of Claude Code, Codex, Gemini CLI, Cursor, Copilot CLI, OpenCode and Windsurf to events.

Unknown events and fields are ignored. tool_use.py handles tool uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.domains.memory.capture.agents import agent_names
from deltos.domains.memory.capture.events import Event, EventType, ToolUse
from deltos.domains.memory.capture.tool_use import normalize_name, read_tool_use
from deltos.model import Clean

if TYPE_CHECKING:
    from deltos.domains.memory.capture.payload import Payload

_TURN_END_EVENTS = ("agentstop", "stop")
# Agents that continue a turn if the hook at the end of the turn answers `{"decision": "block"}`.
_AGENTS_THAT_CONTINUE = ("claude", "codex", "copilot")
_SESSION_ID_FIELDS = (
    "session_id",
    "sessionId",
    "sessionID",
    "conversation_id",
    "trajectory_id",
    "thread-id",
    "thread_id",
)
_GEMINI_ONLY_EVENTS = ("beforeagent", "afteragent", "aftertool", "precompress")
_GEMINI_SHARED_EVENTS = ("sessionstart", "sessionend")
_REMINDER_TAGS = (("<system-reminder>", "</system-reminder>"), ("<system_reminder>", "</system_reminder>"))


def read_event(event_name: str, payload: Payload) -> Event | None:
    """Return the event in a hook call, or None if memory does not use the event."""
    key = normalize_name(event_name or payload.name("hook_event_name", "type"))
    event_type = agent_names().events.get(key)
    if event_type is None:
        return None
    # Windsurf nests the fields that other agents send at the top level.
    payload = payload.flattened("tool_info")
    agent = _detect_agent(key, payload)
    if agent == "copilot" and key in _TURN_END_EVENTS and not payload.is_set("text"):
        from deltos.domains.memory.capture.last_answer import last_answer  # imported late: only for Copilot

        payload = payload.with_text("text", last_answer(payload.name("transcriptPath", "transcript_path")))
    event = Event(
        event_type,
        agent=agent,
        session_id=payload.name(*_SESSION_ID_FIELDS),
        folder=payload.folder(),
        text=_event_text(event_type, payload),
        tool=read_tool_use(key, agent, payload) if event_type is EventType.TOOL_USED else None,
        source=payload.name("source") if event_type is EventType.SESSION_STARTED else Clean(""),
        may_continue=agent in _AGENTS_THAT_CONTINUE
        and key in _TURN_END_EVENTS
        and not payload.is_set("stop_hook_active"),
    )
    text = _remove_reminders(payload.redact_known(event.text))
    return event._replace(
        text=_user_text(text) if event_type is EventType.PROMPTED else text,
        tool=event.tool and _clean_tool_use(event.tool, payload),
    )


def _clean_tool_use(tool: ToolUse, payload: Payload) -> ToolUse:
    """Redact secrets in a tool use that were recognised only in other texts of the same event."""
    clean = payload.redact_known
    return tool._replace(
        subject=clean(tool.subject),
        output=_remove_reminders(clean(tool.output)),
        edits=tuple((clean(old), clean(new)) for old, new in tool.edits),
        answers=tuple((clean(question), clean(chosen)) for question, chosen in tool.answers),
    )


def _detect_agent(key: str, payload: Payload) -> str:
    """Return the agent that sent the hook input, detected by fields that no other agent sends."""
    if "trajectory_id" in payload:
        return "windsurf"
    if "cursor_version" in payload or "conversation_id" in payload:
        return "cursor"
    if "sessionID" in payload:
        return "opencode"
    if "sessionId" in payload:
        return "copilot"
    if key in _GEMINI_ONLY_EVENTS:
        return "gemini"
    if "timestamp" in payload:  # Copilot CLI can use Claude Code's event names
        return "gemini" if key in _GEMINI_SHARED_EVENTS and "transcript_path" in payload else "copilot"
    return "codex" if _is_codex(key, payload) else "claude"


def _is_codex(key: str, payload: Payload) -> bool:
    """Whether Codex sent the input. Unlike Claude Code, it sends a turn id, or a permission mode at session start."""
    return (
        any(name in payload for name in ("turn_id", "thread-id"))
        or (key == "sessionstart" and "permission_mode" in payload)
        or "rollout-" in payload.name("transcript_path")
    )


def _event_text(event_type: EventType, payload: Payload) -> Clean:
    """Return the text of an event: prompt, answer or summary."""
    match event_type:
        case EventType.PROMPTED:
            return payload.text("prompt", "user_prompt")
        case EventType.ANSWERED:
            return payload.text(
                "last_assistant_message", "prompt_response", "text", "last-assistant-message", "response"
            )
        case EventType.COMPACTED:
            return payload.text("compact_summary", "summary")
        case EventType.COMPACTING:
            return payload.text("custom_instructions", "customInstructions")
        case _:
            return Clean("")


def _user_text(text: Clean) -> Clean:
    """Return the prompt if the user wrote it, or "" if the agent's program wrote it."""
    return Clean("") if text.lstrip().startswith(agent_names().program_prompts) else text


def _remove_reminders(text: Clean) -> Clean:
    """Remove the reminders that the agent's program inserts into texts."""
    for opening, closing in _REMINDER_TAGS:
        if opening not in text:
            continue
        first, *rest = text.split(opening)
        kept = (piece.partition(closing)[2] if closing in piece else opening + piece for piece in rest)
        text = Clean("".join((first, *kept)).strip())
    return text
