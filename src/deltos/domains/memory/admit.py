"""What is worth keeping of what happens in a session: edits, failures, changes of state, decisions, pages.
No language model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from deltos.domains.memory.commands import Effect, effect_of
from deltos.domains.memory.events import Action, Event, Happening, ToolUse
from deltos.domains.memory.model import Draft
from deltos.domains.memory.redact import is_secret_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deltos.store.observations import Observation

_COMMAND_CHARACTERS = 300
_OUTPUT_CHARACTERS = 1_200
_LINE_CHARACTERS = 160
_EDIT_LINES = 4
_PROMPT_CHARACTERS = 1_500
_SUMMARY_CHARACTERS = 12_000
_SENTENCES = 5
_OWN_TOOL = r"(?i)(?:^|_)deltos(?:_|$)|^mcp__deltos"
_ERROR_LINE = (
    r"(?i)\b(?:error|exception|traceback|fail(?:ed|ure|s)?|fatal|panic(?:ked)?|denied|cannot|could not|"
    r"not found|undefined|unresolved|segmentation fault|assert\w*|warning: unused)\b|^E\s|npm ERR!|^\s*\^+"
)
_DECISION = (
    r"(?i)\b(?:decided|decision|(?:we(?:'ll| will| should)?|let's) (?:use|go with|keep|switch)|chose|"
    r"going with|instead of|rather than|from now on|agreed)\b"
)
_PREFERENCE = (
    r"(?i)\b(?:always|never|i (?:prefer|like|want|hate)|please (?:do not|don't|use|avoid)|"
    r"make sure (?:to|you)|remember (?:that|to))\b"
)
_FINDING = (
    r"(?i)\b(?:root cause|the (?:problem|issue|bug|reason|culprit) (?:was|is)|turns? out|because|caused by|"
    r"fixed (?:by|in|the)|the fix|it (?:needs|requires)|only works|workaround|note that|important)\b"
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
    if tool is None or tool.action is not Action.COMMAND or tool.failed or _touches_secrets(tool.subject):
        return False
    return effect_of(tool.subject) is not Effect.LOOKS


def fix_of(event: Event, earlier: Sequence[Observation]) -> Draft | None:
    """When a command works that failed before in this session: what had gone wrong and what was changed.
    `earlier`: newest first."""
    command = _shown_command(event.tool.subject if event.tool else "")
    changed: list[str] = []
    for observation in earlier:
        if observation.text.startswith(f"Fixed: {command}"):
            return None
        if observation.text.startswith(f"{command} failed"):
            what = "\nChanged in between: " + ", ".join(dict.fromkeys(changed)) if changed else ""
            wrong = observation.text.removeprefix(f"{command} failed").lstrip(": \n")
            return Draft(
                f"Fixed: {command} works now.{what}\nIt had failed with: {wrong}",
                kind="finding",
                files=tuple(dict.fromkeys(changed)),
            )
        if observation.kind == "change":
            changed[:0] = observation.files
    return None


def is_fixed(error: Observation, findings: Iterable[Observation]) -> bool:
    """Whether a finding that came later says that the command of an error works again."""
    command = error.text.partition(" failed")[0]
    return any(
        finding.text.startswith(f"Fixed: {command}") and finding.created_at >= error.created_at for finding in findings
    )


def error_excerpt(output: str, *, characters: int = _OUTPUT_CHARACTERS) -> str:
    """Long output cut around its errors: the lines that tell what went wrong, with a little of what stands
    beside them."""
    lines = [line.rstrip()[:_LINE_CHARACTERS] for line in output.splitlines() if line.strip()]
    if sum(map(len, lines)) + len(lines) <= characters:
        return "\n".join(lines)
    telling = [number for number, line in enumerate(lines) if re.search(_ERROR_LINE, line)]
    # The last errors are closest to the cause; the very end of the output mostly sums up.
    wanted = {len(lines) - 1, len(lines) - 2}
    room = characters - sum(len(lines[number]) + 1 for number in wanted)
    for number in reversed(telling):
        for near in (number, number + 1, number - 1):
            if 0 <= near < len(lines) and near not in wanted and room > len(lines[near]) + 3:
                wanted.add(near)
                room -= len(lines[near]) + 3
    return _joined_with_gaps(lines, sorted(number for number in wanted if number >= 0))


def _prompt(text: str) -> Draft | None:
    text = text.strip()
    if re.match(_TRIVIAL, text) or len(text.split()) < 3:
        return None
    kind = "preference" if re.search(_PREFERENCE, text) else "decision" if re.search(_DECISION, text) else "request"
    return Draft(_cut(text, _PROMPT_CHARACTERS), kind=kind, source="user")


def _answer(text: str) -> Draft | None:
    """The sentences of an answer that decide or explain something."""
    sentences = re.split(r"(?<=[.!?])\s+|\n+", re.sub(r"```.*?(?:```|\Z)", "", text, flags=re.DOTALL))
    telling = [
        s.strip(" -*#>\t")
        for s in sentences
        if 20 < len(s) < 500 and (re.search(_DECISION, s) or re.search(_FINDING, s))
    ]
    if not telling:
        return None
    kind = "decision" if any(re.search(_DECISION, sentence) for sentence in telling) else "finding"
    return Draft("\n".join(telling[:_SENTENCES]), kind=kind, source="agent")


def _tool(tool: ToolUse) -> Draft | None:
    if re.search(_OWN_TOOL, tool.name) or any(is_secret_file(path) for path in tool.files):
        return None
    match tool.action:
        case Action.EDIT:
            return _edit(tool)
        case Action.COMMAND:
            return _command(tool)
        case Action.FETCH if tool.subject and not tool.failed:
            return Draft(
                f"Fetched {tool.subject}\n{_cut(tool.output.strip(), _OUTPUT_CHARACTERS)}",
                kind="reference",
                source=tool.subject,
            )
        case Action.WEB_SEARCH if tool.subject and not tool.failed:
            return Draft(
                f"Searched the web for: {tool.subject}\n{_cut(tool.output.strip(), _OUTPUT_CHARACTERS)}",
                kind="reference",
                source="web search",
            )
        case _:
            return None


def _edit(tool: ToolUse) -> Draft | None:
    if not tool.files:
        return None
    names = ", ".join(tool.files)
    if tool.failed:
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
    if tool.failed and effect is not Effect.LOOKS:
        return Draft(f"{command} failed:\n{error_excerpt(tool.output)}".rstrip(": \n"), kind="error")
    if effect is Effect.CHANGES and not tool.failed:
        return Draft(
            f"Ran {command}\n{error_excerpt(tool.output, characters=_OUTPUT_CHARACTERS // 3)}".strip(),
            kind="change",
        )
    return None


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
