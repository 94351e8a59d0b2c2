"""Read tool uses from hook input: action, subject, output and outcome.

The sources of the input formats are listed in tests/domains/memory/hook_inputs/.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.memory.capture.agents import agent_names
from deltos.domains.memory.capture.events import Action, ToolOutcome, ToolUse
from deltos.domains.memory.core.model import ALTERNATIVES_PREFIX
from deltos.model import Clean

if TYPE_CHECKING:
    from deltos.domains.memory.capture.payload import Payload

# Tool names by event name, for agents that have a separate event for each tool and send no tool name.
_TOOL_NAMES = {
    "aftershellexecution": "Shell",
    "afterfileedit": "Edit",
    "postruncommand": "Shell",
    "postwritecode": "Edit",
}
_INPUT_FIELDS = ("tool_input", "toolArgs", "args")
_RESPONSE_FIELDS = (
    "tool_response",
    "tool_output",
    "tool_result",
    "toolResult",
    "result_json",
    "output",
    "error",
    "error_message",
)
# Cursor sends these fields as JSON strings. Codex's `tool_response` is plain text, even if it looks like JSON.
_JSON_RESPONSE_FIELDS = ("tool_output", "result_json")
_PATCHED_FILE_LINE = r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$"
_FAILED_RESULTS = ("failure", "rejected", "denied")
_PLAN_APPROVED_PREFIXES = ("User has approved", "Plan approved")
_USER_ANSWER_PREFIXES = ("User selected: ", "User responded: ")
_EXIT_STATUS_PREFIX = "<exited with exit code "
_FIRST_HTTP_ERROR = 400
_STATUS_PREFIXES = ("exit code: ", "exit code ", "exit status ", "exited with code ")
_MAX_STATUS_DISTANCE_CHARACTERS = 2_000  # characters at the end that are searched for the exit status


def read_tool_use(key: str, agent: str, payload: Payload) -> ToolUse:
    """Return the tool use in the input of an event; `key` is the normalized event name."""
    tool_input = next((part for name in _INPUT_FIELDS if (part := payload.part(name, is_json=True))), payload)
    name = payload.name("tool_name", "toolName", "tool") or _TOOL_NAMES.get(key, "")
    action = _action_of(name)
    if action is Action.WEB_SEARCH and _opened_page(tool_input):
        action = Action.FETCH
    field = next((name for name in _RESPONSE_FIELDS if name in payload), "")
    response = payload.part(field, is_json=field in _JSON_RESPONSE_FIELDS)
    output = _clean_output(
        action, agent, payload.all_text(field, is_json=field in _JSON_RESPONSE_FIELDS), response, tool_input
    )
    return ToolUse(
        name,
        action,
        subject=_subject_of(action, tool_input),
        files=_edited_files(action, tool_input),
        edits=_edit_pairs(tool_input) if action is Action.EDIT else (),
        output=_remove_exit_status(output) if agent == "copilot" else output,
        outcome=_reported_outcome(key, action, payload, response, output),
        answers=_question_answers(tool_input, payload, field) if action is Action.QUESTION else (),
        status=_reported_exit_status(key, agent, response, output) if action is Action.COMMAND else None,
        steps=_listed_steps(tool_input) if action is Action.STEPS else (),
    )


def _listed_steps(tool_input: Payload) -> tuple[tuple[Clean, Clean], ...]:
    from deltos.domains.memory.capture.steps import read_steps  # imported late: rarely needed

    return read_steps(tool_input)


def normalize_name(name: str) -> str:
    """Convert the name of an event or tool to lower case without punctuation."""
    return re.sub(r"[^a-z]", "", name.lower())


def _action_of(name: str) -> Action:
    """Return the kind of action of the tool with the given name."""
    key = normalize_name(name)
    # The full name of an MCP tool starts with the name of its server.
    by_ending = agent_names().actions_by_ending.items()
    ending = next((action for end, action in by_ending if key.endswith(end)), Action.OTHER)
    return agent_names().actions.get(key, ending)


def _subject_of(action: Action, tool_input: Payload) -> Clean:
    """Return the command, URL, query or title of a tool use."""
    match action:
        case Action.COMMAND:
            return tool_input.line("command", "cmd", "command_line")
        case Action.FETCH:
            return tool_input.text("url") or tool_input.text("prompt") or _opened_page(tool_input)
        case Action.WEB_SEARCH:
            queries = (each.text("q") for each in tool_input.parts("search_query"))
            return tool_input.text("query") or Clean(", ".join(filter(None, queries)))
        case Action.PULL_REQUEST:
            return tool_input.text("title") or _pull_request_number(tool_input)
        case _:
            return Clean("")


def _opened_page(tool_input: Payload) -> Clean:
    """Return the URL of the page that Codex's web tool opens or searches, or an empty string for anything else."""
    if tool_input.parts("search_query"):
        return Clean("")
    opened = (part.text("ref_id") for name in ("open", "find") for part in tool_input.parts(name))
    return next((address for address in opened if address.startswith(("https://", "http://"))), Clean(""))


def _pull_request_number(tool_input: Payload) -> Clean:
    """Return the reference to a pull request (`owner/repo#number`) in a tool input, or an empty string."""
    number = tool_input.number("pullNumber", "pull_number", "merge_request_iid", "number")
    place = "/".join(filter(None, (tool_input.name("owner"), tool_input.name("repo"))))
    return Clean("" if number is None else f"{place}#{number}")


def _clean_output(action: Action, agent: str, all_text: Clean, response: Payload, tool_input: Payload) -> Clean:
    """Return the output of a tool without text added by the agent."""
    if action is Action.PLAN:
        return (
            response.text("plan")
            or tool_input.text("plan")
            or (all_text if all_text.startswith(_PLAN_APPROVED_PREFIXES) else Clean(""))
        )
    if agent == "gemini" and action is Action.COMMAND:
        lines = all_text.removeprefix("Output: ").splitlines()
        kept = [line for line in lines if not line.startswith(("Process Group PGID: ", "Background PIDs: "))]
        return Clean("\n".join(kept))
    return all_text


def _remove_exit_status(output: Clean) -> Clean:
    """Return the output without the line in which Copilot CLI reports the exit status."""
    before, found, code = output.rpartition(_EXIT_STATUS_PREFIX)
    return Clean(before.rstrip()) if found and code.strip().rstrip(">").isdecimal() else output


def _edited_files(action: Action, tool_input: Payload) -> tuple[Clean, ...]:
    """Return the files that a tool edits."""
    if action is not Action.EDIT:
        return ()
    if named := tool_input.name("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file"):
        return (named,)
    return tuple(Clean(path) for path in re.findall(_PATCHED_FILE_LINE, _patch_text(tool_input)))


def _edit_pairs(tool_input: Payload) -> tuple[tuple[Clean, Clean], ...]:
    """Return the edits in a tool input as pairs of the old and the new text."""
    if several := tool_input.parts("edits"):
        return tuple(map(_edit_pair, several))
    if any(name in tool_input for name in (*_OLD_TEXTS, *_NEW_TEXTS)):
        return (_edit_pair(tool_input),)
    if content := tool_input.text("content", "new_source", "contents", "code_edit", "file_text"):
        return ((Clean(""), content),)
    return _patch_edits(_patch_text(tool_input))


_OLD_TEXTS = ("old_string", "oldString", "old_str")
_NEW_TEXTS = ("new_string", "newString", "new_str")


def _edit_pair(tool_input: Payload) -> tuple[Clean, Clean]:
    return tool_input.text(*_OLD_TEXTS), tool_input.text(*_NEW_TEXTS)


def _patch_text(tool_input: Payload) -> Clean:
    """Return the patch in a tool input, or an empty string."""
    text = tool_input.text("input", "patch", "patchText", "command")
    return text if "*** Begin Patch" in text else Clean("")


def _patch_edits(patch: Clean) -> tuple[tuple[Clean, Clean], ...]:
    """Return all removed lines of a patch and all added lines, as one pair of texts."""
    if not patch:
        return ()
    lines = [line for line in patch.splitlines() if not line.startswith("***")]
    old = "\n".join(line[1:] for line in lines if line.startswith("-"))
    new = "\n".join(line[1:] for line in lines if line.startswith("+"))
    return ((Clean(old), Clean(new)),)


def _reported_outcome(key: str, action: Action, payload: Payload, response: Payload, output: Clean) -> ToolOutcome:
    """Return the outcome of a tool use as reported by the agent; some outcomes remain unclear."""
    if _is_stopped(payload, response, output):
        return ToolOutcome.STOPPED
    if key == "posttoolusefailure" or _is_marked_failed(response):
        return ToolOutcome.FAILED
    if action is Action.COMMAND:
        return ToolOutcome.UNJUDGED
    if action is Action.FETCH and (response.number("code", "status") or 0) >= _FIRST_HTTP_ERROR:
        return ToolOutcome.FAILED
    return ToolOutcome.SUCCEEDED


def _is_stopped(payload: Payload, response: Payload, output: Clean) -> bool:
    """Whether the user stopped or refused the tool, or it continues in the background."""
    return (
        payload.is_set("is_interrupt")
        or payload.name("failure_type") == "permission_denied"
        or response.is_set("interrupted")
        or response.is_set("backgroundTaskId")
        or response.is_set("awaitingLeaderApproval")
        or output.startswith(agent_names().stopped_outputs)
    )


def _is_marked_failed(response: Payload) -> bool:
    """Whether a field of a tool response says that the tool failed."""
    return (
        any(response.is_set(name) for name in ("error", "is_error", "isError"))
        or response.is_false("success")
        or response.name("resultType", "result_type") in _FAILED_RESULTS
    )


def _reported_exit_status(key: str, agent: str, response: Payload, output: Clean) -> int | None:
    """Return the exit status of a command, or None if the agent does not report it."""
    for holder in (response, response.part("metadata")):
        if (code := holder.number("exit_code", "exitCode", "exit")) is not None:
            return code
    if agent == "claude" and key == "posttooluse":
        return 0  # Claude Code reports failures as PostToolUseFailure events
    written = status_in(output) if agent in ("gemini", "copilot", "codex") else None
    return 0 if written is None and agent == "gemini" else written  # Gemini CLI omits exit status 0


def _question_answers(tool_input: Payload, payload: Payload, field: str) -> tuple[tuple[Clean, Clean], ...]:
    """Return pairs of question and answer; answers contain the chosen option's description, notes and alternatives."""
    questions = {str(number): question for number, question in enumerate(tool_input.parts("questions"))}
    by_name = {question.text("question"): question for question in questions.values()}
    by_name |= {question.name("id"): question for question in questions.values() if question.name("id")}
    pairs = []
    for asked_question, chosen in _user_answers(payload, field):
        question = questions.get(asked_question) or by_name.get(asked_question)
        note = payload.part(field).part("annotations").part(asked_question).text("notes")
        pairs.append(
            (
                question.text("question") if question else asked_question,
                _describe_choice(asked_question, chosen, question, note, payload),
            )
        )
    all_text = payload.all_text(field)
    if not pairs and all_text.startswith(_USER_ANSWER_PREFIXES):
        asked_question = tool_input.text("question")
        pairs = [
            (asked_question, payload.clean_answer(asked_question, Clean(all_text.partition(": ")[2]), is_typed=True))
        ]
    if free := payload.part(field).text("response"):
        every_question = " ".join(map(_question_text, questions.values()))
        pairs.append((Clean(""), payload.clean_answer(every_question, free, is_typed=True)))
    return tuple((asked_question, chosen) for asked_question, chosen in pairs if chosen.strip())


def _user_answers(payload: Payload, field: str) -> list[tuple[Clean, Clean]]:
    """Return pairs of question and user's answer; a question is identified by text, id or position."""
    response = payload.part(field, is_json=True)
    holders = (response, response.part("llmContent", is_json=True), response.part("metadata"))
    return next((found for holder in holders if (found := holder.entries("answers"))), [])


def _question_text(question: Payload) -> str:
    """Return a question with its heading, because only the heading may say that a password is requested."""
    return f"{question.text('question')} {question.text('header')}"


def _describe_choice(
    asked_question: str, chosen: Clean, question: Payload | None, note: Clean, payload: Payload
) -> Clean:
    """Return the chosen option with its description, the user's note and the other options.

    If the question asks for a secret, the answer is redacted.
    """
    asked_question = _question_text(question) if question else asked_question
    options = question.parts("options") if question else ()
    labels = [label for each in options if (label := each.text("label"))]
    if chosen not in labels and not all(part in labels for part in chosen.split(", ")):
        chosen = payload.clean_answer(asked_question, chosen, is_typed=True)
    note = Clean(payload.clean_answer(asked_question, note, is_typed=True).strip())
    described = next(
        (
            f"{chosen} ({each.text('description')})"
            for each in options
            if each.text("label") == chosen and each.text("description")
        ),
        str(chosen),
    )
    others = [str(label) for label in labels if label not in chosen]
    if note:
        described = f"{described}. In the user's words: {note}"
    with_alternatives = Clean(f"{described}\n{ALTERNATIVES_PREFIX}{'; '.join(others)}" if others else described)
    return payload.clean_answer(asked_question, with_alternatives, is_typed=False)


def status_in(output: str) -> int | None:
    """Return the exit status that an agent appended to the output, or None if there is none."""
    end = output[-_MAX_STATUS_DISTANCE_CHARACTERS:].lower()
    found = max(((end.rfind(words), words) for words in _STATUS_PREFIXES), default=(-1, ""))
    return None if found[0] < 0 else _number_at(end, found[0] + len(found[1]))


def _number_at(text: str, at: int) -> int | None:
    """Return the integer at an offset in a text, or None if there is none."""
    end = at
    while end < len(text) and (text[end].isdecimal() or (end == at and text[end] == "-")) and end - at < 12:
        end += 1
    digits = text[at:end]
    return int(digits) if digits.lstrip("-").isdecimal() else None
