"""Reads one use of a tool out of a hook's input: what it did, to what, with which answer, and how it ended. The shapes
are those of tests/domains/memory/told/, which say where each was learned."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.memory.events import Action, Outcome, ToolUse
from deltos.domains.memory.model import OFFERED_AS_WELL
from deltos.domains.memory.outcome import outcome_of, status_in
from deltos.store.observations import Clean

if TYPE_CHECKING:
    from deltos.domains.memory.payload import Payload

_ACTIONS = {
    "edit": Action.EDIT,
    "multiedit": Action.EDIT,
    "write": Action.EDIT,
    "create": Action.EDIT,
    "notebookedit": Action.EDIT,
    "applypatch": Action.EDIT,
    "patch": Action.EDIT,
    "replace": Action.EDIT,
    "strreplace": Action.EDIT,
    "strreplaceeditor": Action.EDIT,
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
    "webrun": Action.WEB_SEARCH,  # Codex' own tool, where the provider does not search
    "askuserquestion": Action.QUESTION,
    "askuser": Action.QUESTION,
    "question": Action.QUESTION,
    "requestuserinput": Action.QUESTION,
    "exitplanmode": Action.PLAN,
}
# Tools of MCP servers, whose names begin with that of the server.
_ACTIONS_BY_ENDING = {
    "createpullrequest": Action.PULL_REQUEST,
    "mergepullrequest": Action.PULL_REQUEST,
    "createmergerequest": Action.PULL_REQUEST,
    "mergemergerequest": Action.PULL_REQUEST,
}
# Tools of agents that have an event for each instead of a name.
_TOOL_NAMES = {
    "aftershellexecution": "Shell",
    "afterfileedit": "Edit",
    "postruncommand": "Shell",
    "postwritecode": "Edit",
}
_FIELDS_OF_INPUT = ("tool_input", "toolArgs", "args")
_FIELDS_OF_ANSWER = (
    "tool_response",
    "tool_output",
    "tool_result",
    "toolResult",
    "result_json",
    "output",
    "error",
    "error_message",
)
# Cursor writes these as JSON inside a text. Codex' `tool_response` is a text that is none, whatever it looks like.
_JSON_ANSWERS = ("tool_output", "result_json")
_PATCHED_FILE = r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$"
_FAILED_RESULTS = ("failure", "rejected", "denied")
# What agents write when the user stopped a tool, or refused it, or when it goes on in the background.
_STOPPED = (
    "[Request interrupted by user",
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action right now",
    "Command was cancelled by user",
    "Command moved to background",
)
_APPROVED = ("User has approved", "Plan approved")
_CHOSEN = ("User selected: ", "User responded: ")
_EXITED = "<exited with exit code "
_FIRST_HTTP_ERROR = 400


def read_tool_use(key: str, agent: str, payload: Payload) -> ToolUse:
    """The use of a tool that an event tells; `key` is the event's name in small letters."""
    given = next((part for name in _FIELDS_OF_INPUT if (part := payload.part(name, is_json=True))), payload)
    name = payload.name("tool_name", "toolName", "tool") or _TOOL_NAMES.get(key, "")
    action = _action(name)
    if action is Action.WEB_SEARCH and _opened_page(given):
        action = Action.FETCH
    field = next((name for name in _FIELDS_OF_ANSWER if name in payload), "")
    answer = payload.part(field, is_json=field in _JSON_ANSWERS)
    output = _output(action, agent, payload.said(field, is_json=field in _JSON_ANSWERS), answer, given)
    subject = _subject(action, given)
    return ToolUse(
        name,
        action,
        subject=subject,
        files=_files(action, given),
        edits=_edits(given) if action is Action.EDIT else (),
        output=_without_status(output) if agent == "copilot" else output,
        outcome=_outcome(key, agent, action, payload, answer, subject, output),
        answers=_answers(given, payload, field) if action is Action.QUESTION else (),
    )


def key_of(name: str) -> str:
    """A name in small letters, without punctuation."""
    return re.sub(r"[^a-z]", "", name.lower())


def _action(name: str) -> Action:
    key = key_of(name)
    ending = next((action for end, action in _ACTIONS_BY_ENDING.items() if key.endswith(end)), Action.OTHER)
    return _ACTIONS.get(key, ending)


def _subject(action: Action, given: Payload) -> Clean:
    match action:
        case Action.COMMAND:
            return given.line("command", "cmd", "command_line")
        case Action.FETCH:
            return given.text("url") or given.text("prompt") or _opened_page(given)
        case Action.WEB_SEARCH:
            queries = (each.text("q") for each in given.parts("search_query"))
            return given.text("query") or Clean(", ".join(filter(None, queries)))
        case Action.PULL_REQUEST:
            return given.text("title") or _number_of(given)
        case _:
            return Clean("")


def _opened_page(given: Payload) -> Clean:
    """The address of the page that Codex' web tool opens, or looks into; empty for a search, and for one of its hits,
    which it names by a number."""
    if given.parts("search_query"):
        return Clean("")
    opened = (part.text("ref_id") for name in ("open", "find") for part in given.parts(name))
    return next((address for address in opened if address.startswith(("https://", "http://"))), Clean(""))


def _number_of(given: Payload) -> Clean:
    """Which pull request is meant, where it has no title."""
    number = given.number("pullNumber", "pull_number", "merge_request_iid", "number")
    place = "/".join(filter(None, (given.name("owner"), given.name("repo"))))
    return Clean("" if number is None else f"{place}#{number}")


def _output(action: Action, agent: str, said: Clean, answer: Payload, given: Payload) -> Clean:
    if action is Action.PLAN:
        return answer.text("plan") or given.text("plan") or (said if said.startswith(_APPROVED) else Clean(""))
    if agent == "gemini" and action is Action.COMMAND:
        lines = said.removeprefix("Output: ").splitlines()
        kept = [line for line in lines if not line.startswith(("Process Group PGID: ", "Background PIDs: "))]
        return Clean("\n".join(kept))
    return said


def _without_status(output: Clean) -> Clean:
    """An output without the line in which Copilot CLI tells the exit status."""
    before, found, code = output.rpartition(_EXITED)
    return Clean(before.rstrip()) if found and code.strip().rstrip(">").isdecimal() else output


def _files(action: Action, given: Payload) -> tuple[Clean, ...]:
    if action is not Action.EDIT:
        return ()
    if named := given.name("file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file"):
        return (named,)
    return tuple(Clean(path) for path in re.findall(_PATCHED_FILE, _patch(given)))


def _edits(given: Payload) -> tuple[tuple[Clean, Clean], ...]:
    if several := given.parts("edits"):
        return tuple(map(_edit, several))
    if any(name in given for name in (*_OLD_TEXTS, *_NEW_TEXTS)):
        return (_edit(given),)
    if content := given.text("content", "new_source", "contents", "code_edit", "file_text"):
        return ((Clean(""), content),)
    return _patched(_patch(given))


_OLD_TEXTS = ("old_string", "oldString", "old_str")
_NEW_TEXTS = ("new_string", "newString", "new_str")


def _edit(given: Payload) -> tuple[Clean, Clean]:
    return given.text(*_OLD_TEXTS), given.text(*_NEW_TEXTS)


def _patch(given: Payload) -> Clean:
    text = given.text("input", "patch", "patchText", "command")
    return text if "*** Begin Patch" in text else Clean("")


def _patched(patch: Clean) -> tuple[tuple[Clean, Clean], ...]:
    """The removed and the added lines of a patch."""
    if not patch:
        return ()
    lines = [line for line in patch.splitlines() if not line.startswith("***")]
    old = "\n".join(line[1:] for line in lines if line.startswith("-"))
    new = "\n".join(line[1:] for line in lines if line.startswith("+"))
    return ((Clean(old), Clean(new)),)


def _outcome(
    key: str, agent: str, action: Action, payload: Payload, answer: Payload, subject: Clean, output: Clean
) -> Outcome:
    if _is_stopped(payload, answer, output):
        return Outcome.STOPPED
    if key == "posttoolusefailure" or _is_marked_failed(answer):
        return Outcome.FAILED
    if action is Action.COMMAND:
        return outcome_of(subject, output, _status(key, agent, answer, output))
    if action is Action.FETCH and (answer.number("code", "status") or 0) >= _FIRST_HTTP_ERROR:
        return Outcome.FAILED
    return Outcome.WORKED


def _is_stopped(payload: Payload, answer: Payload, output: Clean) -> bool:
    return (
        payload.is_set("is_interrupt")
        or payload.name("failure_type") == "permission_denied"
        or answer.is_set("interrupted")
        or answer.is_set("backgroundTaskId")
        or answer.is_set("awaitingLeaderApproval")
        or output.startswith(_STOPPED)
    )


def _is_marked_failed(answer: Payload) -> bool:
    return (
        any(answer.is_set(name) for name in ("error", "is_error", "isError"))
        or answer.is_false("success")
        or answer.name("resultType", "result_type") in _FAILED_RESULTS
    )


def _status(key: str, agent: str, answer: Payload, output: Clean) -> int | None:
    """The exit status of a command, where the agent tells one."""
    for holder in (answer, answer.part("metadata")):
        if (code := holder.number("exit_code", "exitCode", "exit")) is not None:
            return code
    if agent == "claude" and key == "posttooluse":
        return 0  # another one is told by PostToolUseFailure
    written = status_in(output) if agent in ("gemini", "copilot", "codex") else None
    return 0 if written is None and agent == "gemini" else written  # which writes any other one


def _answers(given: Payload, payload: Payload, field: str) -> tuple[tuple[Clean, Clean], ...]:
    """What was asked and what the user chose, with what the choice means, the user's note, and what else there was."""
    questions = {str(number): question for number, question in enumerate(given.parts("questions"))}
    by_name = {question.text("question"): question for question in questions.values()}
    by_name |= {question.name("id"): question for question in questions.values() if question.name("id")}
    pairs = []
    for asked, chosen in _chosen(payload, field):
        question = questions.get(asked) or by_name.get(asked)
        note = payload.part(field).part("annotations").part(asked).text("notes")
        pairs.append((question.text("question") if question else asked, _meant(asked, chosen, question, note, payload)))
    said = payload.said(field)
    if not pairs and said.startswith(_CHOSEN):
        asked = given.text("question")
        pairs = [(asked, payload.clean_answer(asked, Clean(said.partition(": ")[2]), is_typed=True))]
    if free := payload.part(field).text("response"):
        every_question = " ".join(map(_asked, questions.values()))
        pairs.append((Clean(""), payload.clean_answer(every_question, free, is_typed=True)))
    return tuple((asked, chosen) for asked, chosen in pairs if chosen.strip())


def _chosen(payload: Payload, field: str) -> list[tuple[Clean, Clean]]:
    """The answers, each with the question, its id or its position."""
    answer = payload.part(field, is_json=True)
    holders = (answer, answer.part("llmContent", is_json=True), answer.part("metadata"))
    return next((found for holder in holders if (found := holder.entries("answers"))), [])


def _asked(question: Payload) -> str:
    """A question with the heading above it, which may be all that says `Password`."""
    return f"{question.text('question')} {question.text('header')}"


def _meant(asked: str, chosen: Clean, question: Payload | None, note: Clean, payload: Payload) -> Clean:
    """A choice with the description that the user read beside it, the user's note, and the labels not chosen; without
    what the question asks for, if that is a secret."""
    asked = _asked(question) if question else asked
    options = question.parts("options") if question else ()
    labels = [label for each in options if (label := each.text("label"))]
    if chosen not in labels and not all(part in labels for part in chosen.split(", ")):
        chosen = payload.clean_answer(asked, chosen, is_typed=True)
    note = Clean(payload.clean_answer(asked, note, is_typed=True).strip())
    meant = next(
        (
            f"{chosen} ({each.text('description')})"
            for each in options
            if each.text("label") == chosen and each.text("description")
        ),
        str(chosen),
    )
    others = [str(label) for label in labels if label not in chosen]
    if note:
        meant = f"{meant}. In the user's words: {note}"
    told = Clean(f"{meant}\n{OFFERED_AS_WELL}{'; '.join(others)}" if others else meant)
    return payload.clean_answer(asked, told, is_typed=False)
