"""Create new observations (drafts) from single events: edits, commands, statements and fetched pages.

Commands are classified with commands.json and outcomes.json, natural language with the classifier.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.memory.capture.classify import (
    DECISION,
    PREFERENCE,
    find_findings,
    is_possible_statement,
    judge,
    statement_scores,
)
from deltos.domains.memory.capture.commands import Effect, asks_for_version, effect_of, is_measurement
from deltos.domains.memory.capture.error_text import MAX_OUTPUT_CHARACTERS, error_excerpt, truncate
from deltos.domains.memory.capture.events import Action, Event, EventType, ToolOutcome, ToolUse
from deltos.domains.memory.capture.fixes import format_command, output_excerpt
from deltos.domains.memory.capture.steps import steps_draft
from deltos.domains.memory.core.model import APPROVED_PLAN, DECISION_PREFIX, MEASURED, NOTE, Draft
from deltos.text.language_table import markers
from deltos.text.sentences import count_words, prose_lines, split_sentences

if TYPE_CHECKING:
    from deltos.domains.memory.capture.classify import Judgement

_MAX_LINE_CHARACTERS = 160
_MAX_SHOWN_EDIT_LINES = 4
_MAX_PROMPT_CHARACTERS = 1_500
_MIN_PROMPT_WORDS = 3
_MAX_SUMMARY_CHARACTERS = 12_000
_MAX_SENTENCES_PER_ANSWER = 5
_MAX_PLAN_CHARACTERS = 4_000
_PULL_REQUEST_PATHS = ("/pull/", "/merge_requests/", "/pulls/")
_MEASURED_VALUE = r"\d\s?(?:(?:[nm]|µ)?s|%|[kKMG]i?B|/s|req|ops|rps)\b|\d%"
_MAX_EFFECT_OUTPUT_CHARACTERS = 2_000
_MAX_VERSION_CHARACTERS = 200
_WORD = r"[A-Za-z]+"
_MAX_CHARACTERS_TO_AMOUNT = 30  # maximum distance between a verb and its amount, as in "deleted 12 rows"

# A detail: a number, a code identifier or a quotation. Most sentences without a detail only report that work is done.
_CONCRETE_DETAIL = r"\d|`|\w\(|[a-z][A-Z]|\w[_/]\w|\w\.[A-Za-z]|[\"“„]|[\s(]['‘]\w"
_MIN_DETAILED_WORDS = 8
_MIN_UNDETAILED_WORDS = 16  # shorter sentences without a detail are dropped
_SENTENCE_LENGTH_RANGE = (10, 500)
_STEP_NUMBER = r"(?:\*\*)?\d{1,2}[.)]\s"
_MIN_STEPS = 3
_MAX_SHORT_ANSWER_CHARACTERS = 500
_MAX_SMALL_TALK_CHARACTERS = 80


def extract_draft(event: Event) -> Draft | None:
    """Return a new observation about an event, or None if the event is not useful in later sessions."""
    match event.event_type:
        case EventType.PROMPTED:
            return _prompt_draft(event.text)
        case EventType.TOOL_USED if event.tool is not None:
            return _tool_draft(event.tool)
        case EventType.ANSWERED:
            return _answer_draft(event.text)
        case EventType.COMPACTED if event.text.strip():
            return Draft(truncate(event.text.strip(), _MAX_SUMMARY_CHARACTERS), kind="summary")
        case EventType.COMPACTING if event.text.strip():
            return Draft(truncate(event.text.strip(), _MAX_PROMPT_CHARACTERS), kind="request")
        case _:
            return None


def _prompt_draft(text: str) -> Draft | None:
    """Return a new observation with a user's prompt, or None if the prompt is trivial."""
    text = text.strip()
    if text.startswith("/") or _is_small_talk(text):
        return None
    judgement = judge(text)
    if not judgement.kind and count_words(text) < _MIN_PROMPT_WORDS:
        return None
    return Draft(
        truncate(text, _MAX_PROMPT_CHARACTERS),
        kind=judgement.kind or "request",
        source="user",
        score=_rounded_score(judgement),
    )


def _is_small_talk(text: str) -> bool:
    """Whether a short prompt consists only of confirmations, thanks, greetings and farewells."""
    if len(text) > _MAX_SMALL_TALK_CHARACTERS:
        return False
    known = {*markers("small talk"), *markers("trivial")}
    return text.lower().strip(" .!") in known or all(word in known for word in re.findall(r"[^\W\d_]+", text.lower()))


def _rounded_score(judgement: Judgement) -> float | None:
    return round(judgement.score, 2) if judgement.kind else None


def _answer_draft(text: str) -> Draft | None:
    """Return a new observation with the informative sentences of an answer, or None. Keep a short answer whole."""
    statements = _statements(text)
    judgement = judge(text, is_agent=True)
    findings = frozenset(find_findings(text))
    possible = {sentence for sentence, score in statement_scores(text, is_agent=True) if is_possible_statement(score)}
    explaining = [each for each in statements if each in findings or each in possible]
    # Keep short answers whole, because a reason is useless without the adjacent sentences.
    is_short = sum(map(len, statements)) <= _MAX_SHORT_ANSWER_CHARACTERS
    if judgement.kind in (DECISION, PREFERENCE):
        kept = [*dict.fromkeys((judgement.sentence, *(statements if is_short else explaining)))]
        shown = kept if is_short else kept[:_MAX_SENTENCES_PER_ANSWER]
        return Draft("\n".join(shown), judgement.kind, "agent", score=_rounded_score(judgement))
    if steps := _numbered_steps(text):
        return Draft(truncate("\n".join(steps), _MAX_PROMPT_CHARACTERS), NOTE, "agent", score=_rounded_score(judgement))
    stated = explaining or [each for each in statements if _has_detail(each)]
    if not stated:
        return None
    # The agent's own choices are omitted, because they are neither decisions of the user nor findings.
    explains = not findings.isdisjoint(stated)
    shown = statements if is_short else stated[:_MAX_SENTENCES_PER_ANSWER]
    kind, score = ("finding", None) if explains else (NOTE, _rounded_score(judgement))
    return Draft("\n".join(shown), kind, "agent", score=score)


def _statements(text: str) -> list[str]:
    """Return the sentences of an answer without questions, code, fragments and overlong sentences."""
    least, most = _SENTENCE_LENGTH_RANGE
    sentences = (each for line in prose_lines(text)[0] for each in split_sentences(line.lstrip("#> \t")))
    whole = (each for each in sentences if (2 * least if each.isascii() else least) < len(each) < most)
    return [each.strip(" -*#>\t") for each in whole if not each.rstrip().endswith(("?", "？"))]


def _has_detail(sentence: str) -> bool:
    """Whether a sentence contains a detail or is long. Most other sentences only report that work is done."""
    words = count_words(sentence)
    has_detail = re.search(_CONCRETE_DETAIL, sentence) is not None
    return words >= _MIN_UNDETAILED_WORDS or (words >= _MIN_DETAILED_WORDS and has_detail)


def _numbered_steps(text: str) -> list[str]:
    """Return the heading and the steps of an answer that is mostly a numbered list; empty for other answers."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((at for at, line in enumerate(lines) if re.match(_STEP_NUMBER, line)), 0)
    steps = [line for line in lines if re.match(_STEP_NUMBER, line)]
    if len(steps) < _MIN_STEPS or 2 * len(steps) < len(lines):
        return []
    return [*lines[max(0, first - 1) : first], *steps]


def _tool_draft(tool: ToolUse) -> Draft | None:
    """Return a new observation about a tool use, or None if the tool use is not useful in later sessions."""
    match tool.action:
        case Action.EDIT:
            return _edit_draft(tool)
        case Action.COMMAND:
            return _command_draft(tool)
        case Action.STEPS:
            return steps_draft(tool.steps)
        case _ if tool.outcome is ToolOutcome.SUCCEEDED:
            return _tool_output_draft(tool)
        case _:
            return None


def _tool_output_draft(tool: ToolUse) -> Draft | None:
    """Return a new observation about a fetched page, web search, question to the user, or pull request."""
    output = tool.output.strip()
    match tool.action:
        case Action.FETCH if tool.subject:
            text = f"Fetched {tool.subject}\n{truncate(output, MAX_OUTPUT_CHARACTERS)}"
            return Draft(text, kind="reference", source=tool.subject)
        case Action.WEB_SEARCH if tool.subject:
            text = f"Searched the web for: {tool.subject}\n{truncate(output, MAX_OUTPUT_CHARACTERS)}"
            return Draft(text, kind="reference", source="web search")
        case Action.QUESTION if tool.answers:
            decisions = "\n".join(_format_decision(question, chosen) for question, chosen in tool.answers)
            return Draft(truncate(decisions, _MAX_PLAN_CHARACTERS), kind="decision", source="user", score=1.0)
        case Action.PLAN if output:
            plan = truncate(f"{APPROVED_PLAN}\n{output}", _MAX_PLAN_CHARACTERS)
            return Draft(plan, kind="decision", source="user", score=1.0)
        case Action.PULL_REQUEST:
            return _pull_request_draft(tool)
        case _:
            return None


def _format_decision(question: str, chosen: str) -> str:
    return (
        f"{question.strip()}\n{DECISION_PREFIX}{chosen.strip()}"
        if question.strip()
        else f"The user said: {chosen.strip()}"
    )


def _pull_request_draft(tool: ToolUse) -> Draft | None:
    """Return a new observation with the URL of the pull request that a tool created or merged."""
    words = tool.output.replace('"', " ").replace(",", " ").split()
    address = next(
        (word for word in words if word.startswith("http") and any(p in word for p in _PULL_REQUEST_PATHS)), ""
    )
    if not tool.subject.strip() and not address:
        return None
    done = "Merged" if "merge" in tool.name.lower().replace("merge_request", "") else "Created"
    return Draft(f"{done} pull request: {tool.subject.strip()}\n{address}".strip(), kind="change")


def _edit_draft(tool: ToolUse) -> Draft | None:
    """Return a new observation about an edit: the changed lines, or an error if the edit failed."""
    if not tool.files:
        return None
    names = ", ".join(tool.files)
    if tool.outcome is ToolOutcome.FAILED:
        return Draft(f"Editing {names} failed: {error_excerpt(tool.output)}", kind="error", files=tool.files)
    lines = [line for old, new in tool.edits for line in _changed_lines(old, new)]
    more = f"\n… {len(lines) - 2 * _MAX_SHOWN_EDIT_LINES} more lines" if len(lines) > 2 * _MAX_SHOWN_EDIT_LINES else ""
    return Draft(
        "\n".join([f"Edited {names}", *lines[: 2 * _MAX_SHOWN_EDIT_LINES]]) + more, kind="change", files=tool.files
    )


def _changed_lines(old: str, new: str) -> list[str]:
    """Return the removed and added lines, marked with `-` and `+` as in a diff."""
    before, after = old.splitlines(), new.splitlines()
    kept = set(before) & set(after)
    removed_lines = [f"- {line.strip()[:_MAX_LINE_CHARACTERS]}" for line in before if line.strip() and line not in kept]
    added_lines = [f"+ {line.strip()[:_MAX_LINE_CHARACTERS]}" for line in after if line.strip() and line not in kept]
    return (
        removed_lines[:_MAX_SHOWN_EDIT_LINES] + added_lines
        if len(removed_lines) + len(added_lines) > 2 * _MAX_SHOWN_EDIT_LINES
        else removed_lines + added_lines
    )


def _command_draft(tool: ToolUse) -> Draft | None:
    """Return a new observation about a shell command: a measurement, error, program version, or change."""
    if not tool.subject.strip():
        return None
    effect = effect_of(tool.subject)
    command = format_command(tool.subject)
    if tool.output.strip() and is_measurement(tool.subject) and _reports_measurement(tool):
        return Draft(f"{MEASURED}{command}\n{truncate(tool.output.strip(), MAX_OUTPUT_CHARACTERS)}", kind="finding")
    if tool.outcome is ToolOutcome.FAILED and effect is not Effect.READ_ONLY:
        return Draft(f"{command} failed:\n{error_excerpt(tool.output)}".rstrip(": \n"), kind="error")
    if tool.outcome is ToolOutcome.SUCCEEDED and asks_for_version(tool.subject) and _is_version(tool.output):
        return Draft(f"Ran {command}\n{tool.output.strip()}", kind=NOTE)
    if tool.outcome is ToolOutcome.SUCCEEDED and (effect is Effect.CHANGES or _reports_effect(tool, effect)):
        return Draft(
            f"Ran {command}\n{output_excerpt(tool)}".strip(),
            kind="change",
        )
    return None


def _is_version(output: str) -> bool:
    """Whether the output contains a version and little other text."""
    return len(output.strip()) <= _MAX_VERSION_CHARACTERS and re.search(r"\d\.\d", output) is not None


def _reports_effect(tool: ToolUse, effect: Effect) -> bool:
    """Whether an unknown program reports a change with an amount, such as "freed 4.2 GB" or "12 rows deleted"."""
    if effect is not Effect.UNKNOWN:
        return False
    verbs = markers("effect")
    lines = tool.output[-_MAX_EFFECT_OUTPUT_CHARACTERS:].split("\n")
    return any(
        any(
            map(
                str.isdecimal,
                line[max(0, did.start() - _MAX_CHARACTERS_TO_AMOUNT) : did.end() + _MAX_CHARACTERS_TO_AMOUNT],
            )
        )
        for line in lines
        for did in re.finditer(_WORD, line)
        if did[0].lower() in verbs
    )


def _reports_measurement(tool: ToolUse) -> bool:
    """Whether a benchmark printed a measured value, even if the benchmark failed because of a threshold."""
    return tool.outcome is ToolOutcome.SUCCEEDED or re.search(_MEASURED_VALUE, tool.output) is not None
