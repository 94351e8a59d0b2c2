"""Extracts drafts of observations from session events: edits, failed commands, changes of state, decisions, fetched
pages.

Uses rules and patterns only, no language model: hooks run it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.memory.capture.events import Action, Event, EventType, ToolOutcome, ToolUse
from deltos.domains.memory.capture.kinds import (
    DECISION,
    NOTE,
    PREFERENCE,
    count_words,
    judge,
    prose_lines,
    split_sentences,
)
from deltos.domains.memory.capture.shell_commands import (
    Effect,
    asks_for_version,
    command_key,
    effect_of,
    is_measurement,
)
from deltos.domains.memory.core.model import DECISION_PREFIX, Draft
from deltos.redaction.redact import is_secret_file
from deltos.text.unspaced_scripts import UNSPACED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.memory.capture.kinds import Judgement
    from deltos.store.observations import Observation

_COMMAND_CHARACTERS = 300
_OUTPUT_CHARACTERS = 1_200
_LINE_CHARACTERS = 160
_EDIT_LINES = 4
_PROMPT_CHARACTERS = 1_500
_SESSION_LINE_CHARACTERS = 150  # length of a line in the context at the start of a session
_MIN_WORDS = 3
_SUMMARY_CHARACTERS = 12_000
_MAX_SENTENCES = 5
_PLAN_CHARACTERS = 4_000
# A line with the cause of an error is not truncated unless it would fill most of the observation.
_MAX_CAUSE_CHARACTERS = 1_000
_PULL_REQUEST_PATHS = ("/pull/", "/merge_requests/", "/pulls/")
_MAX_STEPS = 3
_STEP_CHARACTERS = 200
APPROVED_PLAN = "Plan that the user approved:"
_FIXED = "Fixed: "
MAX_FINDINGS_CHECKED = 200  # newest findings of a project that are searched for a fix of an error
_FAILED = "` failed"  # follows the command in the text of an error
MEASURED = "Measured with "  # start of the text of a measurement
_FIGURE = r"\d\s?(?:[nµm]?s|%|[kKMG]i?B|/s|req|ops|rps)\b|\d%"
_EFFECT_OUTPUT_CHARACTERS = 2_000
_VERSION_CHARACTERS = 200
_EFFECT_VERBS = (
    r"(?i)\b(?:freed|created|deleted|removed|updated|imported|inserted|migrated|rotated|renewed|published|uploaded|exported|"
    r"copied|moved|applied|restored|backfilled|purged|archived|wrote|written)\b"
)
_MAX_CHARACTERS_TO_AMOUNT = 30  # between the verb and the number, as in "deleted 12 rows"
_DELTOS_TOOL = r"(?i)(?:^|[^a-z])deltos(?:[^a-z]|$)"
_ERROR_LINE = (
    r"(?i)\b(?:error|exception|traceback|fail(?:ed|ure|s)?|fatal|panic(?:ked)?|denied|cannot|could not|"
    r"not found|undefined|unresolved|segmentation fault|assert\w*|warning: unused)\b|^E\s|npm ERR!|^\s*\^+"
)
_CAUSE = r"(?:Error|Exception): |^E  |\berror(?:\[\w{1,12}\])?: |\bfatal: |panicked at|^panic: |error TS\d"
_TRACEBACK = "Traceback (most recent call last)"
_NUMBERED_ERROR = "error["  # rustc: later errors without a number are only summaries
_MIN_COMMAND_CHARACTERS = 50  # shown of a long command when the cause is long, too
_CHOICE_WORDING = (
    r"(?i)\b(?:decided|decision|(?:we(?:'ll| will| should)?|let's) (?:use|go with|keep|switch)|chose|"
    r"going with|instead of|rather than|from now on|agreed|entschieden|stattdessen|ab jetzt|decidimos|en lugar de)\b"
    r"|决定|改用|而不是|決めました|ことにした|ではなく"
)
_EXPLANATION_WORDING = (
    r"(?i)\b(?:root cause|the (?:problem|issue|bug|reason|culprit) (?:was|is)|turns? out|because|caused by|"
    r"fixed (?:by|in|the)|the fix|it (?:needs|requires)|only works|workaround|note that|important|"
    r"weil|deshalb|(?:die )?Ursache|der Grund|liegt an|wegen|porque|la causa|por eso|debido a)\b"
    r"|原因|因为|导致|所以|根本|なぜなら|のため|が原因|せいで"
)
# A number, a code identifier or a quotation. Most sentences without one only report that the work is done.
_CONCRETE_DETAIL = r"\d|`|\w\(|[a-z][A-Z]|\w[_/]\w|\w\.[A-Za-z]|[\"“„]|[\s(]['‘]\w"
_MIN_DETAILED_WORDS = 8
_MIN_UNDETAILED_WORDS = 16  # sentences such as "done, and all tests pass" are shorter
_GIT_STAT_LINE = r" ?\d{1,9} files? changed\b"
_STEP = r"(?:\*\*)?\d{1,2}[.)]\s"
_MIN_STEPS = 3
_SHORT_ANSWER_CHARACTERS = 500
_SMALL_TALK_CHARACTERS = 80
_SMALL_TALK = frozenset(
    "a an and the you your very much so for all of again now it is that was s re m this i we have has nice good great "
    "lovely cool awesome perfect excellent wonderful super fine well done thanks thank thx ty cheers please sorry oops "
    "hi hello hey morning afternoon evening night day weekend week bye goodbye see later tomorrow soon next "
    "enjoy yes no yep nope ok okay sure right got love haha lol wow hm hmm welcome back job work everyone "
    "danke dir ihnen schön vielen dank gut prima klasse ja nein passt bis morgen später tschüss hallo guten abend "
    "schönes wochenende feierabend moin "
    "gracias muchas muy bien vale hasta luego mañana hola buenos días adiós sí perfecto "
    "谢谢 谢谢你 好的 好 再见 你好 不客气 辛苦了 明天见 "
    "ありがとう ありがとうございます お疲れ様 お疲れ様です はい いいえ おはよう こんにちは".split()
)
# Words near the start of a question that asks for information.
_QUESTION_WORDS = (
    "what", "which", "where", "when", "who", "why", "how", "is", "are", "was", "were", "does", "do", "did", "has",
    "have", "was", "welche", "welcher", "welches", "wo", "wohin", "woher", "wann", "wer", "warum", "wieso", "wie",
    "ist", "sind", "hat", "haben", "gibt", "qué", "cuál", "dónde", "cuándo", "quién", "cómo", "cuánto", "por",
)  # fmt: skip
_UNSPACED_QUESTION_WORDS = (
    "什么",
    "哪",
    "怎么",
    "为什么",
    "多少",
    "几",
    "吗",
    "何",
    "どこ",
    "いつ",
    "誰",
    "なぜ",
    "どう",
    "どの",
    "ですか",
)
_TASK_PHRASES = ("can you", "could you", "would you", "will you", "please", "kannst du", "könntest", "bitte", "puedes")
_QUESTION_OPENING_WORDS = 6
_REFUSAL_OPENINGS = (
    "i cannot",
    "i can't",
    "i don't",
    "sorry",
    "ich kann",
    "ich weiß nicht",
    "no puedo",
    "no sé",
    "我无法",
    "我不",
)
_TRIVIAL = (
    r"(?i)^\s*(?:/\w|(?:yes|no|ok(?:ay)?|sure|continue|go on|go ahead|thanks?(?: you)?|do it|"
    r"proceed|next|y|n)\b[\s.!]*$)"
)


def extract_draft(event: Event) -> Draft | None:
    """Return the draft of an observation about this event, or None if the event is not worth remembering."""
    match event.event_type:
        case EventType.PROMPTED:
            return _prompt_draft(event.text)
        case EventType.TOOL_USED if event.tool is not None:
            return _tool_draft(event.tool)
        case EventType.ANSWERED:
            return _answer_draft(event.text)
        case EventType.COMPACTED if event.text.strip():
            return Draft(_truncate(event.text.strip(), _SUMMARY_CHARACTERS), kind="summary")
        case EventType.COMPACTING if event.text.strip():
            return Draft(_truncate(event.text.strip(), _PROMPT_CHARACTERS), kind="request")
        case _:
            return None


def may_be_fix(event: Event) -> bool:
    """Whether the event is a successful command that does more than read: it may have failed before."""
    tool = event.tool
    if tool is None or tool.action is not Action.COMMAND or tool.outcome is not ToolOutcome.SUCCEEDED:
        return False
    if _touches_secrets(tool.subject):
        return False
    return effect_of(tool.subject) is not Effect.READ_ONLY


def may_be_answer(event: Event) -> bool:
    """Whether the event is a short message of the agent, which may answer the user's question."""
    return event.event_type is EventType.ANSWERED and 0 < len(event.text.strip()) <= _SHORT_ANSWER_CHARACTERS


def extract_answer(event: Event, earlier: Sequence[Observation]) -> Draft | None:
    """Return a draft of a short answer to the user's last question; None if other observations came between them.

    `earlier` lists the observations of the session, newest first.
    """
    answer = event.text.strip()
    question = earlier[0] if earlier else None
    if (
        question is None
        or question.source != "user"
        or question.kind not in ("request", NOTE)
        or not _asks_for_knowledge(question.text)
    ):
        return None
    if answer.endswith(("?", "？")) or answer.lower().startswith(_REFUSAL_OPENINGS) or count_words(answer) < _MIN_WORDS:
        return None
    return Draft(answer, NOTE, "agent")


def _asks_for_knowledge(prompt: str) -> bool:
    """Whether a prompt asks for information and not for work."""
    last = prompt.rstrip().splitlines()[-1].lower()
    if not last.endswith(("?", "？")) and not UNSPACED.search(last):
        return False
    if any(words in last for words in _TASK_PHRASES):
        return False
    sentence = split_sentences(last)[-1] if split_sentences(last) else last
    words = re.findall(r"[^\W\d_]+", sentence)[:_QUESTION_OPENING_WORDS]
    return any(word in _QUESTION_WORDS for word in words) or any(word in sentence for word in _UNSPACED_QUESTION_WORDS)


def find_last_failure(event: Event, errors: Iterable[Observation]) -> Observation | None:
    """Return the latest of `errors` that is about the command of this event; options of the command are ignored."""
    key = _displayed_command_key(_format_command(event.tool.subject if event.tool else ""))
    same = [error for error in errors if _displayed_command_key(_failed_command(error.text)) == key]
    return max(same, key=lambda error: (error.updated_at, error.place), default=None)


def describe_fix(event: Event, failure: Observation, earlier: Iterable[Observation]) -> Draft:
    """Return the finding that a failed command works again: the changes since the failure, and the error message.

    `earlier` lists the observations of the session, newest first.
    """
    command = _format_command(event.tool.subject if event.tool else "")
    steps = [row for row in earlier if row.kind == "change" and _is_after_failure(row, failure)]
    files = dict.fromkeys(file for step in reversed(steps) for file in step.files)
    why = failure.text.partition(_FAILED)[2].lstrip(": \n")
    printed = _change_output_line(event.tool)
    what = f"Fixed: {command} works now.\n{_format_steps(steps)}{printed}It had failed with: {why}"
    return Draft(what, kind="finding", files=tuple(files))


def _is_after_failure(step: Observation, failure: Observation) -> bool:
    """Whether a change was made after the last failure of a command; repeated failures share one observation."""
    if step.created_at != failure.updated_at or step.session_id != failure.session_id:
        return step.created_at >= failure.updated_at
    return step.place > failure.place


def _change_output_line(tool: ToolUse | None) -> str:
    """Return a line with the output of a command that changed something: addresses, versions, commit ids."""
    if tool is None or effect_of(tool.subject) is not Effect.CHANGES or not tool.output.strip():
        return ""
    return f"It printed: {_output_excerpt(tool)}\n"


def _output_excerpt(tool: ToolUse) -> str:
    """Return a short excerpt of the output of a command that changed something.

    Git's count of changed lines is left out: otherwise every commit would match a query about changes.
    """
    lines = tool.output.splitlines()
    kept = [line for line in lines if not re.match(_GIT_STAT_LINE, line)]
    return error_excerpt("\n".join(kept), characters=_OUTPUT_CHARACTERS // 3)


def _format_steps(steps: Sequence[Observation]) -> str:
    """Return the changes between the failure and the fix, latest first: the last change most probably fixed the
    command."""
    if not steps:
        return ""
    named = [_format_step(step) for step in steps[:_MAX_STEPS]]
    more = f"\nand {len(steps) - _MAX_STEPS} changes before" if len(steps) > _MAX_STEPS else ""
    return "Fixed by: " + "\nafter: ".join(named) + more + "\n"


def _format_step(step: Observation) -> str:
    """Return an edit with its changed lines, or a command, as one line."""
    head, *lines = step.text.splitlines()
    changed = " ".join(line for line in lines if line.startswith(("- ", "+ ")))
    is_edit = head.startswith("Edited ")
    return _truncate(f"{head}: {changed}" if is_edit and changed else head.removeprefix("Ran "), _STEP_CHARACTERS)


def _fixed_command(text: str) -> str:
    return text.removeprefix(_FIXED).partition("` works now")[0]


def _failed_command(text: str) -> str:
    """Return the command of an error as displayed; empty for a failed edit."""
    return text.partition(_FAILED)[0] if text.startswith("`") else ""


def _displayed_command_key(shown: str) -> str:
    """Return the key by which a displayed command is compared with others."""
    return command_key(shown.strip("`"))


def is_fixed(error: Observation, findings: Iterable[Observation]) -> bool:
    """Whether a later finding says that the command of an error works again."""
    key = _displayed_command_key(_failed_command(error.text))
    return any(
        finding.text.startswith(_FIXED)
        and finding.updated_at >= error.updated_at
        and _displayed_command_key(_fixed_command(finding.text)) == key
        for finding in findings
    )


def error_excerpt(output: str, *, characters: int = _OUTPUT_CHARACTERS) -> str:
    """Return at most `characters` of an output: the lines that name the cause of an error, then the end and other error
    lines."""
    full = [line.rstrip() for line in output.splitlines() if line.strip()]
    error_lines = _error_lines(full)
    causes = _cause_lines(full, error_lines)
    lines = [
        _truncate(line, _MAX_CAUSE_CHARACTERS if at in causes else _LINE_CHARACTERS) for at, line in enumerate(full)
    ]
    if sum(map(len, lines)) + len(lines) <= characters:
        return "\n".join(lines)
    # Causes first, then the end of the output, which is usually a summary. Of the other errors, later ones are closer
    # to the cause.
    wanted: set[int] = set()
    remaining = characters
    for number in causes:
        if not wanted or remaining > len(lines[number]) + 3:
            wanted.add(number)
            remaining -= len(lines[number]) + 3
    neighbours = (near for number in reversed(error_lines) for near in (number, number + 1, number - 1))
    for number in (len(lines) - 1, len(lines) - 2, *neighbours):
        if 0 <= number < len(lines) and number not in wanted and remaining > len(lines[number]) + 3:
            wanted.add(number)
            remaining -= len(lines[number]) + 3
    return _joined_with_gaps(lines, sorted(wanted))


def summarize_error(text: str, *, characters: int) -> str:
    """Return the failed command and the line that names the cause, as one line of about `characters`."""
    head, *lines = text.splitlines() or [""]
    # pytest's last lines name both the test and the cause.
    named = next((line for line in lines if line.startswith("FAILED ") and "::" in line), None)
    cause = named or _main_cause(lines)
    if not cause:
        return text
    cause = cause.strip()
    if len(head) + 1 + len(cause) > characters and _FAILED in head:
        command, failed, rest = head.partition(_FAILED)
        remaining = max(_MIN_COMMAND_CHARACTERS, characters - len(failed) - len(rest) - 1 - len(cause))
        head = f"{_truncate(command, remaining)}{failed}{rest}"
    return f"{head} {cause}"


def _main_cause(lines: Sequence[str]) -> str:
    """Return the line that names the cause: the exception of the last traceback, or the first error of a compiler."""
    at = _exception_line(lines)
    if at is None:
        error_lines = _error_lines(lines)
        strong = [number for number in error_lines if re.search(_CAUSE, lines[number][:_MAX_CAUSE_CHARACTERS])]
        numbered = [number for number in strong if _NUMBERED_ERROR in lines[number]]
        errors = [
            number for number in error_lines if re.search(r"(?i)\berror\b", lines[number][:_MAX_CAUSE_CHARACTERS])
        ]
        at = next(iter((*numbered, *strong, *errors, *error_lines[-1:])), None)
    if at is None:
        return ""
    line = lines[at].rstrip()
    return f"{line} {lines[at + 1].strip()}" if line.endswith(":") and at + 1 < len(lines) else line


def _exception_line(lines: Sequence[str]) -> int | None:
    """Return the line number of the exception at the end of the last Python traceback: its first unindented line."""
    starts = [number for number, line in enumerate(lines) if _TRACEBACK in line]
    if not starts:
        return None
    before = lines[starts[-1]].partition(_TRACEBACK)[0]  # prefix of each line in a container's log
    for number in range(starts[-1] + 1, len(lines)):
        line = lines[number].removeprefix(before)
        if line[:1] not in ("", " ", "\t", "…") and lines[number].startswith(before.rstrip()):
            return number
    return None


def _error_lines(lines: Sequence[str]) -> list[int]:
    """Return the numbers of the lines that mention an error."""
    return [
        number
        for number, line in enumerate(lines)
        if re.search(_ERROR_LINE, line[:_MAX_CAUSE_CHARACTERS]) or re.search(_CAUSE, line[:_MAX_CAUSE_CHARACTERS])
    ]


def _cause_lines(lines: Sequence[str], error_lines: Sequence[int]) -> tuple[int, ...]:
    """Return the numbers of the lines that name a cause: the exception, the last error and the first error."""
    strong = [number for number in error_lines if re.search(_CAUSE, lines[number][:_MAX_CAUSE_CHARACTERS])]
    found = strong or error_lines
    exception_at = _exception_line(lines)
    ends = (() if exception_at is None else (exception_at,), found[-1:], found[:1])
    return tuple(dict.fromkeys(number for end in ends for number in end))


def _prompt_draft(text: str) -> Draft | None:
    """Return the draft of a prompt; None if it is trivial."""
    text = text.strip()
    if re.match(_TRIVIAL, text) or _is_small_talk(text):
        return None
    judgement = judge(text)
    if not judgement.kind and count_words(text) < _MIN_WORDS:
        return None
    shown = _truncate(_sentence_first(text, judgement), _PROMPT_CHARACTERS)
    return Draft(shown, kind=judgement.kind or "request", source="user", score=_rounded_score(judgement))


def _is_small_talk(text: str) -> bool:
    """Whether a short prompt consists only of thanks, greetings and farewells."""
    if len(text) > _SMALL_TALK_CHARACTERS:
        return False
    words = re.findall(r"[^\W\d_]+", text.lower())
    return all(word in _SMALL_TALK for word in words)


def _sentence_first(text: str, judgement: Judgement) -> str:
    """A long text after the sentence that decides something: the start is what lists show."""
    if judgement.kind in ("", NOTE) or len(text) <= _SESSION_LINE_CHARACTERS or text.startswith(judgement.sentence):
        return text
    return f"{judgement.sentence}\n\n{text}"


def _rounded_score(judgement: Judgement) -> float | None:
    return round(judgement.score, 2) if judgement.kind else None


def _answer_draft(text: str) -> Draft | None:
    """Return the sentences of an answer that decide, explain or state something; all sentences of a short answer."""
    judgement = judge(text, is_agent=True)
    sentences = [s for line in prose_lines(text)[0] for s in split_sentences(line.lstrip("#> \t"))]
    whole = [s for s in sentences if (20 if s.isascii() else 10) < len(s) < 500]
    statements = [s.strip(" -*#>\t") for s in whole if not s.rstrip().endswith(("?", "？"))]
    explaining = [s for s in whole if re.search(_CHOICE_WORDING, s) or re.search(_EXPLANATION_WORDING, s)]
    # A short answer is kept whole: a reason is useless without the sentences around it.
    is_short = sum(map(len, sentences)) <= _SHORT_ANSWER_CHARACTERS
    if judgement.kind in (DECISION, PREFERENCE):
        kept = [*dict.fromkeys((judgement.sentence, *(statements if is_short else explaining)))]
        shown = kept if is_short else kept[:_MAX_SENTENCES]
        return Draft("\n".join(shown), judgement.kind, "agent", score=_rounded_score(judgement))
    if steps := _numbered_steps(text):
        return Draft(_truncate("\n".join(steps), _PROMPT_CHARACTERS), NOTE, "agent", score=_rounded_score(judgement))
    stated = explaining or [s for s in statements if _has_detail(s)]
    if not stated:
        return None
    explains = any(re.search(_EXPLANATION_WORDING, sentence) for sentence in explaining)
    # A choice that the agent made for itself is neither a decision of the user nor a finding.
    kind = "finding" if explains else NOTE
    shown = statements if is_short else stated[:_MAX_SENTENCES]
    return Draft("\n".join(shown), kind, "agent", score=None if explains else _rounded_score(judgement))


def _has_detail(sentence: str) -> bool:
    """Whether a sentence of an agent says more than that work is done."""
    words = count_words(sentence)
    return words >= _MIN_UNDETAILED_WORDS or (
        words >= _MIN_DETAILED_WORDS and re.search(_CONCRETE_DETAIL, sentence) is not None
    )


def _numbered_steps(text: str) -> list[str]:
    """Return heading and steps of an answer that is mostly a numbered list; empty for other answers."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((at for at, line in enumerate(lines) if re.match(_STEP, line)), 0)
    steps = [line for line in lines if re.match(_STEP, line)]
    if len(steps) < _MIN_STEPS or 2 * len(steps) < len(lines):
        return []
    return [*lines[max(0, first - 1) : first], *steps]


def _tool_draft(tool: ToolUse) -> Draft | None:
    """Return the draft of a tool use; None if it is not worth remembering."""
    if tool.outcome is ToolOutcome.STOPPED or re.search(_DELTOS_TOOL, tool.name):
        return None
    if any(is_secret_file(path) for path in tool.files):
        return None
    match tool.action:
        case Action.EDIT:
            return _edit_draft(tool)
        case Action.COMMAND:
            return _command_draft(tool)
        case _ if tool.outcome is ToolOutcome.SUCCEEDED:
            return _tool_output_draft(tool)
        case _:
            return None


def _tool_output_draft(tool: ToolUse) -> Draft | None:
    """Return the draft for a tool that fetches, searches, asks the user or opens a pull request."""
    output = tool.output.strip()
    match tool.action:
        case Action.FETCH if tool.subject:
            text = f"Fetched {tool.subject}\n{_truncate(output, _OUTPUT_CHARACTERS)}"
            return Draft(text, kind="reference", source=tool.subject)
        case Action.WEB_SEARCH if tool.subject:
            text = f"Searched the web for: {tool.subject}\n{_truncate(output, _OUTPUT_CHARACTERS)}"
            return Draft(text, kind="reference", source="web search")
        case Action.QUESTION if tool.answers:
            decisions = "\n".join(_format_decision(question, chosen) for question, chosen in tool.answers)
            return Draft(_truncate(decisions, _PLAN_CHARACTERS), kind="decision", source="user", score=1.0)
        case Action.PLAN if output:
            plan = _truncate(f"{APPROVED_PLAN}\n{output}", _PLAN_CHARACTERS)
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
    """Return the draft for a pull request that was created or merged, with its URL."""
    words = tool.output.replace('"', " ").replace(",", " ").split()
    address = next(
        (word for word in words if word.startswith("http") and any(p in word for p in _PULL_REQUEST_PATHS)), ""
    )
    if not tool.subject.strip() and not address:
        return None
    done = "Merged" if "merge" in tool.name.lower().replace("merge_request", "") else "Created"
    return Draft(f"{done} pull request: {tool.subject.strip()}\n{address}".strip(), kind="change")


def _edit_draft(tool: ToolUse) -> Draft | None:
    """Return the draft of an edit: a change with its lines, or an error."""
    if not tool.files:
        return None
    names = ", ".join(tool.files)
    if tool.outcome is ToolOutcome.FAILED:
        return Draft(f"Editing {names} failed: {error_excerpt(tool.output)}", kind="error", files=tool.files)
    lines = [line for old, new in tool.edits for line in _changed_lines(old, new)]
    more = f"\n… {len(lines) - 2 * _EDIT_LINES} more lines" if len(lines) > 2 * _EDIT_LINES else ""
    return Draft("\n".join([f"Edited {names}", *lines[: 2 * _EDIT_LINES]]) + more, kind="change", files=tool.files)


def _changed_lines(old: str, new: str) -> list[str]:
    """Return the removed and the added lines, marked as in a diff."""
    before, after = old.splitlines(), new.splitlines()
    kept = set(before) & set(after)
    removed_lines = [f"- {line.strip()[:_LINE_CHARACTERS]}" for line in before if line.strip() and line not in kept]
    added_lines = [f"+ {line.strip()[:_LINE_CHARACTERS]}" for line in after if line.strip() and line not in kept]
    return (
        removed_lines[:_EDIT_LINES] + added_lines
        if len(removed_lines) + len(added_lines) > 2 * _EDIT_LINES
        else removed_lines + added_lines
    )


def _command_draft(tool: ToolUse) -> Draft | None:
    """Return the draft of a command: a measurement, an error, a version or a change."""
    if not tool.subject.strip() or _touches_secrets(tool.subject):
        return None
    effect = effect_of(tool.subject)
    command = _format_command(tool.subject)
    if tool.output.strip() and is_measurement(tool.subject) and _reports_measurement(tool):
        return Draft(f"{MEASURED}{command}\n{_truncate(tool.output.strip(), _OUTPUT_CHARACTERS)}", kind="finding")
    if tool.outcome is ToolOutcome.FAILED and effect is not Effect.READ_ONLY:
        return Draft(f"{command} failed:\n{error_excerpt(tool.output)}".rstrip(": \n"), kind="error")
    if tool.outcome is ToolOutcome.SUCCEEDED and asks_for_version(tool.subject) and _is_version(tool.output):
        return Draft(f"Ran {command}\n{tool.output.strip()}", kind=NOTE)
    if tool.outcome is ToolOutcome.SUCCEEDED and (effect is Effect.CHANGES or _reports_effect(tool, effect)):
        return Draft(
            f"Ran {command}\n{_output_excerpt(tool)}".strip(),
            kind="change",
        )
    return None


def _is_version(output: str) -> bool:
    """Whether the output is a version and little else."""
    return len(output.strip()) <= _VERSION_CHARACTERS and re.search(r"\d\.\d", output) is not None


def _reports_effect(tool: ToolUse, effect: Effect) -> bool:
    """Whether an unknown program reports a change with an amount: "freed 4.2 GB", "12 rows deleted"."""
    if effect is not Effect.UNKNOWN:
        return False
    lines = tool.output[-_EFFECT_OUTPUT_CHARACTERS:].split("\n")
    return any(
        any(
            map(
                str.isdecimal,
                line[max(0, did.start() - _MAX_CHARACTERS_TO_AMOUNT) : did.end() + _MAX_CHARACTERS_TO_AMOUNT],
            )
        )
        for line in lines
        for did in re.finditer(_EFFECT_VERBS, line)
    )


def _reports_measurement(tool: ToolUse) -> bool:
    """Whether a benchmark printed a figure; one that misses its threshold exits with an error and still measured
    something."""
    return tool.outcome is ToolOutcome.SUCCEEDED or re.search(_FIGURE, tool.output) is not None


def _touches_secrets(command: str) -> bool:
    """Whether a command names a file with secrets."""
    words: Iterable[str] = re.split(r"[\s\"'=<>|;&()]+", command)
    return any(is_secret_file(word) for word in words if word)


def _format_command(command: str) -> str:
    flat = " ".join(command.split())
    return f"`{_truncate(flat, _COMMAND_CHARACTERS)}`"


def _joined_with_gaps(lines: Sequence[str], numbers: Sequence[int]) -> str:
    """Join the lines with these numbers, with `…` where lines are missing."""
    kept: list[str] = []
    last = -1
    for number in numbers:
        if number != last + 1:
            kept.append("…")
        kept.append(lines[number])
        last = number
    return "\n".join(kept)


def _truncate(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1].rstrip() + "…"
