"""What is worth keeping of what happens in a session: edits, failures, changes of state, decisions, pages.
No language model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.memory.commands import Effect, asks_for_version, effect_of, is_measurement, work_of
from deltos.domains.memory.events import Action, Event, Happening, Outcome, ToolUse
from deltos.domains.memory.kinds import DECISION, NOTE, PREFERENCE, count_words, judge, prose_lines, split_sentences
from deltos.domains.memory.model import DECIDED, Draft
from deltos.domains.memory.redact import is_secret_file
from deltos.text.scripts import UNSPACED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.domains.memory.kinds import Judgement
    from deltos.store.observations import Observation

_COMMAND_CHARACTERS = 300
_OUTPUT_CHARACTERS = 1_200
_LINE_CHARACTERS = 160
_EDIT_LINES = 4
_PROMPT_CHARACTERS = 1_500
_SHORT_CHARACTERS = 150  # what a line of the session's start shows
_FEWEST_WORDS = 3
_SUMMARY_CHARACTERS = 12_000
_SENTENCES = 5
_PLAN_CHARACTERS = 4_000
# The line with the cause of an error stays whole, unless it alone would fill the observation.
_CAUSE_CHARACTERS = 1_000
_PULL_PATHS = ("/pull/", "/merge_requests/", "/pulls/")
_STEPS_NAMED = 3
_STEP_CHARACTERS = 200
APPROVED_PLAN = "Plan that the user approved:"
_FIXED = "Fixed: "
FINDINGS_LOOKED_AT = 200  # newest of a project, for the one that says that a command works again
_FAILED = "` failed"  # after the command, in what is kept of a failure
MEASURED = "Measured with "  # how what a command measured begins
_FIGURE = r"\d\s?(?:[nµm]?s|%|[kKMG]i?B|/s|req|ops|rps)\b|\d%"
_DONE_CHARACTERS = 2_000
_VERSION_CHARACTERS = 200
_DID = (
    r"(?i)\b(?:freed|created|deleted|removed|updated|imported|inserted|migrated|rotated|renewed|published|uploaded|exported|"
    r"copied|moved|applied|restored|backfilled|purged|archived|wrote|written)\b"
)
_DID_HOW_MUCH = 30  # characters between what was done and how much of it
_OWN_TOOL = r"(?i)(?:^|[^a-z])deltos(?:[^a-z]|$)"
_ERROR_LINE = (
    r"(?i)\b(?:error|exception|traceback|fail(?:ed|ure|s)?|fatal|panic(?:ked)?|denied|cannot|could not|"
    r"not found|undefined|unresolved|segmentation fault|assert\w*|warning: unused)\b|^E\s|npm ERR!|^\s*\^+"
)
_CAUSE = r"(?:Error|Exception): |^E  |\berror(?:\[\w{1,12}\])?: |\bfatal: |panicked at|^panic: |error TS\d"
_TRACEBACK = "Traceback (most recent call last)"
_NUMBERED_ERROR = "error["  # of rustc: what follows it without a number only sums up
_COMMAND_BESIDE_CAUSE = 50  # characters of a long command that are shown beside a long cause
_CHOICE = (
    r"(?i)\b(?:decided|decision|(?:we(?:'ll| will| should)?|let's) (?:use|go with|keep|switch)|chose|"
    r"going with|instead of|rather than|from now on|agreed|entschieden|stattdessen|ab jetzt|decidimos|en lugar de)\b"
    r"|决定|改用|而不是|決めました|ことにした|ではなく"
)
_FINDING = (
    r"(?i)\b(?:root cause|the (?:problem|issue|bug|reason|culprit) (?:was|is)|turns? out|because|caused by|"
    r"fixed (?:by|in|the)|the fix|it (?:needs|requires)|only works|workaround|note that|important|"
    r"weil|deshalb|(?:die )?Ursache|der Grund|liegt an|wegen|porque|la causa|por eso|debido a)\b"
    r"|原因|因为|导致|所以|根本|なぜなら|のため|が原因|せいで"
)
# A number, a name as code has them, or something in quotes: a sentence without mostly says that work is done.
_STATED = r"\d|`|\w\(|[a-z][A-Z]|\w[_/]\w|\w\.[A-Za-z]|[\"“„]|[\s(]['‘]\w"
_FEWEST_STATED_WORDS = 8
_LONG_STATEMENT_WORDS = 16  # "done, and all tests pass" is shorter; who says so much tells something
_BETWEEN_SENTENCES = r"(?<=[.!?])\s+|\n+|(?<=[。！？])"
_LINES_CHANGED = r" ?\d{1,9} files? changed\b"
_STEP = r"(?:\*\*)?\d{1,2}[.)]\s"
_FEWEST_STEPS = 3
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
# How a question for knowledge begins, and one that asks for something to be done.
_ASKS = (
    "what", "which", "where", "when", "who", "why", "how", "is", "are", "was", "were", "does", "do", "did", "has",
    "have", "was", "welche", "welcher", "welches", "wo", "wohin", "woher", "wann", "wer", "warum", "wieso", "wie",
    "ist", "sind", "hat", "haben", "gibt", "qué", "cuál", "dónde", "cuándo", "quién", "cómo", "cuánto", "por",
)  # fmt: skip
_ASKS_UNSPACED = (
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
_ASKS_FOR_WORK = ("can you", "could you", "would you", "will you", "please", "kannst du", "könntest", "bitte", "puedes")
_FIRST_WORDS = 6
_KNOWS_NOT = (
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


def admit(event: Event) -> Draft | None:
    """The draft of an observation about this event, or None when it is not worth keeping."""
    match event.happening:
        case Happening.PROMPTED:
            return _prompt(event.text)
        case Happening.TOOL_USED if event.tool is not None:
            return _tool(event.tool)
        case Happening.ANSWERED:
            return _answer(event.text)
        case Happening.COMPACTED if event.text.strip():
            return Draft(_cut(event.text.strip(), _SUMMARY_CHARACTERS), kind="summary")
        case Happening.COMPACTING if event.text.strip():
            return Draft(_cut(event.text.strip(), _PROMPT_CHARACTERS), kind="request")
        case _:
            return None


def may_fix(event: Event) -> bool:
    """Whether this is a command that worked and did more than look: it may be one that failed before."""
    tool = event.tool
    if tool is None or tool.action is not Action.COMMAND or tool.outcome is not Outcome.WORKED:
        return False
    if _touches_secrets(tool.subject):
        return False
    return effect_of(tool.subject) is not Effect.LOOKS


def may_answer(event: Event) -> bool:
    """Whether this is what an agent said in few words: it may be what the user asked for."""
    return event.happening is Happening.ANSWERED and 0 < len(event.text.strip()) <= _SHORT_ANSWER_CHARACTERS


def answer_to(event: Event, earlier: Sequence[Observation]) -> Draft | None:
    """A short answer to what the user asked last, with nothing kept between them. `earlier`: newest first."""
    said = event.text.strip()
    asked = earlier[0] if earlier else None
    if asked is None or asked.source != "user" or asked.kind not in ("request", NOTE) or not _asks(asked.text):
        return None
    if said.endswith(("?", "？")) or said.lower().startswith(_KNOWS_NOT) or count_words(said) < _FEWEST_WORDS:
        return None
    return Draft(said, NOTE, "agent")


def _asks(prompt: str) -> bool:
    """Whether a prompt asks for knowledge, not for work."""
    last = prompt.rstrip().splitlines()[-1].lower()
    if not last.endswith(("?", "？")) and not UNSPACED.search(last):
        return False
    if any(words in last for words in _ASKS_FOR_WORK):
        return False
    sentence = split_sentences(last)[-1] if split_sentences(last) else last
    words = re.findall(r"[^\W\d_]+", sentence)[:_FIRST_WORDS]
    return any(word in _ASKS for word in words) or any(word in sentence for word in _ASKS_UNSPACED)


def last_failure(event: Event, errors: Iterable[Observation]) -> Observation | None:
    """Of the errors of a project the latest of the command that an event tells of, whatever its options."""
    work = _work(_shown_command(event.tool.subject if event.tool else ""))
    same = [error for error in errors if _work(_failed_command(error.text)) == work]
    return max(same, key=lambda error: (error.updated_at, error.place), default=None)


def fix_of(event: Event, failure: Observation, earlier: Iterable[Observation]) -> Draft:
    """What had gone wrong with a command that works now, and what was done about it since, as far as this session
    tells. `earlier`: newest first."""
    command = _shown_command(event.tool.subject if event.tool else "")
    steps = [row for row in earlier if row.kind == "change" and _came_after(row, failure)]
    files = dict.fromkeys(file for step in reversed(steps) for file in step.files)
    why = failure.text.partition(_FAILED)[2].lstrip(": \n")
    printed = _printed_by_change(event.tool)
    what = f"Fixed: {command} works now.\n{_named_steps(steps)}{printed}It had failed with: {why}"
    return Draft(what, kind="finding", files=tuple(files))


def _came_after(step: Observation, failure: Observation) -> bool:
    """Whether something was done after a command had last failed; one that fails again in the same way is kept once."""
    if step.created_at != failure.updated_at or step.session_id != failure.session_id:
        return step.created_at >= failure.updated_at
    return step.place > failure.place


def _printed_by_change(tool: ToolUse | None) -> str:
    """What a command printed that changed something, once it worked: addresses, versions, numbers of commits."""
    if tool is None or effect_of(tool.subject) is not Effect.CHANGES or not tool.output.strip():
        return ""
    return f"It printed: {_printed(tool)}\n"


def _printed(tool: ToolUse) -> str:
    """What a command printed that changed something, in short, without git's count of lines: a question about what
    changed would find every commit by it."""
    lines = tool.output.splitlines()
    kept = [line for line in lines if not re.match(_LINES_CHANGED, line)]
    return error_excerpt("\n".join(kept), characters=_OUTPUT_CHARACTERS // 3)


def _named_steps(steps: Sequence[Observation]) -> str:
    """What was done between the failure and now, the last of it first: that is what fixed it, or ends it."""
    if not steps:
        return ""
    named = [_step(step) for step in steps[:_STEPS_NAMED]]
    more = f"\nand {len(steps) - _STEPS_NAMED} changes before" if len(steps) > _STEPS_NAMED else ""
    return "Fixed by: " + "\nafter: ".join(named) + more + "\n"


def _step(step: Observation) -> str:
    """An edit with the lines that it changed, or a command, on one line."""
    head, *lines = step.text.splitlines()
    changed = " ".join(line for line in lines if line.startswith(("- ", "+ ")))
    is_edit = head.startswith("Edited ")
    return _cut(f"{head}: {changed}" if is_edit and changed else head.removeprefix("Ran "), _STEP_CHARACTERS)


def _fixed_command(text: str) -> str:
    return text.removeprefix(_FIXED).partition("` works now")[0]


def _failed_command(text: str) -> str:
    """The command of an error, as it is shown; empty for an edit that failed."""
    return text.partition(_FAILED)[0] if text.startswith("`") else ""


def _work(shown: str) -> str:
    """What a command, as it is shown, is to do."""
    return work_of(shown.strip("`"))


def is_fixed(error: Observation, findings: Iterable[Observation]) -> bool:
    """Whether a finding that came later says that the command of an error works again."""
    work = _work(_failed_command(error.text))
    return any(
        finding.text.startswith(_FIXED)
        and finding.updated_at >= error.updated_at
        and _work(_fixed_command(finding.text)) == work
        for finding in findings
    )


def error_excerpt(output: str, *, characters: int = _OUTPUT_CHARACTERS) -> str:
    """Long output cut around its errors: the lines that tell the cause, whole, with a little of what stands beside
    them."""
    full = [line.rstrip() for line in output.splitlines() if line.strip()]
    telling = _telling(full)
    causes = _causes(full, telling)
    lines = [_cut(line, _CAUSE_CHARACTERS if at in causes else _LINE_CHARACTERS) for at, line in enumerate(full)]
    if sum(map(len, lines)) + len(lines) <= characters:
        return "\n".join(lines)
    # Causes first; the very end of the output mostly sums up; of the other errors the last are closest to the cause.
    wanted: set[int] = set()
    room = characters
    for number in causes:
        if not wanted or room > len(lines[number]) + 3:
            wanted.add(number)
            room -= len(lines[number]) + 3
    beside = (near for number in reversed(telling) for near in (number, number + 1, number - 1))
    for number in (len(lines) - 1, len(lines) - 2, *beside):
        if 0 <= number < len(lines) and number not in wanted and room > len(lines[number]) + 3:
            wanted.add(number)
            room -= len(lines[number]) + 3
    return _joined_with_gaps(lines, sorted(wanted))


def cause_of(text: str, *, characters: int) -> str:
    """What an error comes to, in a line of about so many characters: what failed and the line that names the cause."""
    head, *lines = text.splitlines() or [""]
    # pytest's last lines name the test beside the cause.
    named = next((line for line in lines if line.startswith("FAILED ") and "::" in line), None)
    told = named or _cause(lines)
    if not told:
        return text
    told = told.strip()
    if len(head) + 1 + len(told) > characters and _FAILED in head:
        command, failed, rest = head.partition(_FAILED)
        room = max(_COMMAND_BESIDE_CAUSE, characters - len(failed) - len(rest) - 1 - len(told))
        head = f"{_cut(command, room)}{failed}{rest}"
    return f"{head} {told}"


def _cause(lines: Sequence[str]) -> str:
    """The line of an output that names the cause: the exception of the last traceback, a compiler's first error."""
    at = _raised(lines)
    if at is None:
        telling = _telling(lines)
        strong = [number for number in telling if re.search(_CAUSE, lines[number][:_CAUSE_CHARACTERS])]
        numbered = [number for number in strong if _NUMBERED_ERROR in lines[number]]
        errors = [number for number in telling if re.search(r"(?i)\berror\b", lines[number][:_CAUSE_CHARACTERS])]
        at = next(iter((*numbered, *strong, *errors, *telling[-1:])), None)
    if at is None:
        return ""
    line = lines[at].rstrip()
    return f"{line} {lines[at + 1].strip()}" if line.endswith(":") and at + 1 < len(lines) else line


def _raised(lines: Sequence[str]) -> int | None:
    """Where the last traceback of Python ends: its first line that is not indented names what was raised."""
    starts = [number for number, line in enumerate(lines) if _TRACEBACK in line]
    if not starts:
        return None
    before = lines[starts[-1]].partition(_TRACEBACK)[0]  # what a container's log sets before each line
    for number in range(starts[-1] + 1, len(lines)):
        line = lines[number].removeprefix(before)
        if line[:1] not in ("", " ", "\t", "…") and lines[number].startswith(before.rstrip()):
            return number
    return None


def _telling(lines: Sequence[str]) -> list[int]:
    """The lines that speak of an error."""
    return [
        number
        for number, line in enumerate(lines)
        if re.search(_ERROR_LINE, line[:_CAUSE_CHARACTERS]) or re.search(_CAUSE, line[:_CAUSE_CHARACTERS])
    ]


def _causes(lines: Sequence[str], telling: Sequence[int]) -> tuple[int, ...]:
    """The lines that name a cause: the last, where an exception ends, and the first, where a compiler begins."""
    strong = [number for number in telling if re.search(_CAUSE, lines[number][:_CAUSE_CHARACTERS])]
    found = strong or telling
    raised = _raised(lines)
    ends = (() if raised is None else (raised,), found[-1:], found[:1])
    return tuple(dict.fromkeys(number for end in ends for number in end))


def _prompt(text: str) -> Draft | None:
    text = text.strip()
    if re.match(_TRIVIAL, text) or _is_small_talk(text):
        return None
    judgement = judge(text)
    if not judgement.kind and count_words(text) < _FEWEST_WORDS:
        return None
    shown = _cut(_sentence_first(text, judgement), _PROMPT_CHARACTERS)
    return Draft(shown, kind=judgement.kind or "request", source="user", score=_score_of(judgement))


def _is_small_talk(text: str) -> bool:
    """Whether a short prompt has only words of thanks, greeting and parting, whatever their order."""
    if len(text) > _SMALL_TALK_CHARACTERS:
        return False
    words = re.findall(r"[^\W\d_]+", text.lower())
    return all(word in _SMALL_TALK for word in words)


def _sentence_first(text: str, judgement: Judgement) -> str:
    """A long text after the sentence that decides something: the start is what lists show."""
    if judgement.kind in ("", NOTE) or len(text) <= _SHORT_CHARACTERS or text.startswith(judgement.sentence):
        return text
    return f"{judgement.sentence}\n\n{text}"


def _score_of(judgement: Judgement) -> float | None:
    return round(judgement.score, 2) if judgement.kind else None


def _answer(text: str) -> Draft | None:
    """The sentences of an answer that decide, explain or state something; of a short one all that it says."""
    judgement = judge(text, is_agent=True)
    sentences = [s for line in prose_lines(text)[0] for s in split_sentences(line.lstrip("#> \t"))]
    whole = [s for s in sentences if (20 if s.isascii() else 10) < len(s) < 500]
    said = [s.strip(" -*#>\t") for s in whole if not s.rstrip().endswith(("?", "？"))]
    telling = [s for s in whole if re.search(_CHOICE, s) or re.search(_FINDING, s)]
    # What stands around a reason says what it is the reason of.
    is_short = sum(map(len, sentences)) <= _SHORT_ANSWER_CHARACTERS
    if judgement.kind in (DECISION, PREFERENCE):
        told = [*dict.fromkeys((judgement.sentence, *(said if is_short else telling)))]
        shown = told if is_short else told[:_SENTENCES]
        return Draft("\n".join(shown), judgement.kind, "agent", score=_score_of(judgement))
    if steps := _steps(text):
        return Draft(_cut("\n".join(steps), _PROMPT_CHARACTERS), NOTE, "agent", score=_score_of(judgement))
    stated = telling or [s for s in said if _states(s)]
    if not stated:
        return None
    explains = any(re.search(_FINDING, sentence) for sentence in telling)
    # What the agent chose for itself on the way is neither the user's decision nor a finding.
    kind = "finding" if explains else NOTE
    shown = said if is_short else stated[:_SENTENCES]
    return Draft("\n".join(shown), kind, "agent", score=None if explains else _score_of(judgement))


def _states(sentence: str) -> bool:
    """Whether a sentence of an agent says more than that work is done."""
    words = count_words(sentence)
    return words >= _LONG_STATEMENT_WORDS or (
        words >= _FEWEST_STATED_WORDS and re.search(_STATED, sentence) is not None
    )


def _steps(text: str) -> list[str]:
    """The heading and the numbered steps of an answer that is mostly a list of them: a plan, or what was found."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = next((at for at, line in enumerate(lines) if re.match(_STEP, line)), 0)
    steps = [line for line in lines if re.match(_STEP, line)]
    if len(steps) < _FEWEST_STEPS or 2 * len(steps) < len(lines):
        return []
    return [*lines[max(0, first - 1) : first], *steps]


def _tool(tool: ToolUse) -> Draft | None:
    if tool.outcome is Outcome.STOPPED or re.search(_OWN_TOOL, tool.name):
        return None
    if any(is_secret_file(path) for path in tool.files):
        return None
    match tool.action:
        case Action.EDIT:
            return _edit(tool)
        case Action.COMMAND:
            return _command(tool)
        case _ if tool.outcome is Outcome.WORKED:
            return _said_by_tool(tool)
        case _:
            return None


def _said_by_tool(tool: ToolUse) -> Draft | None:
    """What a tool that only talks to people or servers brought."""
    output = tool.output.strip()
    match tool.action:
        case Action.FETCH if tool.subject:
            text = f"Fetched {tool.subject}\n{_cut(output, _OUTPUT_CHARACTERS)}"
            return Draft(text, kind="reference", source=tool.subject)
        case Action.WEB_SEARCH if tool.subject:
            text = f"Searched the web for: {tool.subject}\n{_cut(output, _OUTPUT_CHARACTERS)}"
            return Draft(text, kind="reference", source="web search")
        case Action.QUESTION if tool.answers:
            told = "\n".join(_decided(asked, chosen) for asked, chosen in tool.answers)
            return Draft(_cut(told, _PLAN_CHARACTERS), kind="decision", source="user", score=1.0)
        case Action.PLAN if output:
            plan = _cut(f"{APPROVED_PLAN}\n{output}", _PLAN_CHARACTERS)
            return Draft(plan, kind="decision", source="user", score=1.0)
        case Action.PULL_REQUEST:
            return _pull_request(tool)
        case _:
            return None


def _decided(asked: str, chosen: str) -> str:
    return f"{asked.strip()}\n{DECIDED}{chosen.strip()}" if asked.strip() else f"The user said: {chosen.strip()}"


def _pull_request(tool: ToolUse) -> Draft | None:
    """A pull request that was created or merged, with its address."""
    words = tool.output.replace('"', " ").replace(",", " ").split()
    address = next((word for word in words if word.startswith("http") and any(p in word for p in _PULL_PATHS)), "")
    if not tool.subject.strip() and not address:
        return None
    done = "Merged" if "merge" in tool.name.lower().replace("merge_request", "") else "Created"
    return Draft(f"{done} pull request: {tool.subject.strip()}\n{address}".strip(), kind="change")


def _edit(tool: ToolUse) -> Draft | None:
    if not tool.files:
        return None
    names = ", ".join(tool.files)
    if tool.outcome is Outcome.FAILED:
        return Draft(f"Editing {names} failed: {error_excerpt(tool.output)}", kind="error", files=tool.files)
    lines = [line for old, new in tool.edits for line in _changed_lines(old, new)]
    more = f"\n… {len(lines) - 2 * _EDIT_LINES} more lines" if len(lines) > 2 * _EDIT_LINES else ""
    return Draft("\n".join([f"Edited {names}", *lines[: 2 * _EDIT_LINES]]) + more, kind="change", files=tool.files)


def _changed_lines(old: str, new: str) -> list[str]:
    """The lines that went and the lines that came, marked like a diff."""
    before, after = old.splitlines(), new.splitlines()
    kept = set(before) & set(after)
    gone = [f"- {line.strip()[:_LINE_CHARACTERS]}" for line in before if line.strip() and line not in kept]
    come = [f"+ {line.strip()[:_LINE_CHARACTERS]}" for line in after if line.strip() and line not in kept]
    return gone[:_EDIT_LINES] + come if len(gone) + len(come) > 2 * _EDIT_LINES else gone + come


def _command(tool: ToolUse) -> Draft | None:
    if not tool.subject.strip() or _touches_secrets(tool.subject):
        return None
    effect = effect_of(tool.subject)
    command = _shown_command(tool.subject)
    if tool.output.strip() and is_measurement(tool.subject) and _has_measured(tool):
        return Draft(f"{MEASURED}{command}\n{_cut(tool.output.strip(), _OUTPUT_CHARACTERS)}", kind="finding")
    if tool.outcome is Outcome.FAILED and effect is not Effect.LOOKS:
        return Draft(f"{command} failed:\n{error_excerpt(tool.output)}".rstrip(": \n"), kind="error")
    if tool.outcome is Outcome.WORKED and asks_for_version(tool.subject) and _is_version(tool.output):
        return Draft(f"Ran {command}\n{tool.output.strip()}", kind=NOTE)
    if tool.outcome is Outcome.WORKED and (effect is Effect.CHANGES or _has_done(tool, effect)):
        return Draft(
            f"Ran {command}\n{_printed(tool)}".strip(),
            kind="change",
        )
    return None


def _is_version(output: str) -> bool:
    """Whether a program told its version, and little else."""
    return len(output.strip()) <= _VERSION_CHARACTERS and re.search(r"\d\.\d", output) is not None


def _has_done(tool: ToolUse, effect: Effect) -> bool:
    """Whether a program of which nothing is known says how much it has changed: "freed 4.2 GB", "12 rows deleted"."""
    if effect is not Effect.TRIES:
        return False
    lines = tool.output[-_DONE_CHARACTERS:].split("\n")
    return any(
        any(map(str.isdecimal, line[max(0, did.start() - _DID_HOW_MUCH) : did.end() + _DID_HOW_MUCH]))
        for line in lines
        for did in re.finditer(_DID, line)
    )


def _has_measured(tool: ToolUse) -> bool:
    """Whether a program that measures came to a figure: one whose threshold is crossed ends as if it had failed."""
    return tool.outcome is Outcome.WORKED or re.search(_FIGURE, tool.output) is not None


def _touches_secrets(command: str) -> bool:
    words: Iterable[str] = re.split(r"[\s\"'=<>|;&()]+", command)
    return any(is_secret_file(word) for word in words if word)


def _shown_command(command: str) -> str:
    flat = " ".join(command.split())
    return f"`{_cut(flat, _COMMAND_CHARACTERS)}`"


def _joined_with_gaps(lines: Sequence[str], numbers: Sequence[int]) -> str:
    kept: list[str] = []
    last = -1
    for number in numbers:
        if number != last + 1:
            kept.append("…")
        kept.append(lines[number])
        last = number
    return "\n".join(kept)


def _cut(text: str, characters: int) -> str:
    return text if len(text) <= characters else text[: characters - 1].rstrip() + "…"
