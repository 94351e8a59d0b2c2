"""A word about `search_code` to an agent that is about to grep for a symbol, once per session. Light, as hooks are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltos.digest import sha256
from deltos.hook_settings import off_projects
from deltos.store.private import make_private_folder, write_private

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from deltos.hook_settings import HookSettings

_FOLDER = "suggested"
_MOST_SESSIONS = 200
_LONGEST_SYMBOL = 100
_LONGEST_COMMAND = 2_000
_CONTEXT_OPTIONS = "ABCmf"
# What searches, and which of its short options take the next word.
_GREPS = {
    "grep": f"{_CONTEXT_OPTIONS}dD",
    "egrep": f"{_CONTEXT_OPTIONS}dD",
    "git grep": f"{_CONTEXT_OPTIONS}O",
    "rg": f"{_CONTEXT_OPTIONS}gtTjMErd",
    "ag": f"{_CONTEXT_OPTIONS}GW",
    "ack": _CONTEXT_OPTIONS,
}
_LONG_OPTIONS = frozenset(
    "--context --after-context --before-context --max-count --file --include --exclude --exclude-dir --glob --iglob "
    "--type --type-not --threads --max-columns --max-depth --depth --ignore --ignore-dir --encoding --replace".split()
)
_PATTERN_OPTIONS = ("-e", "--regexp")
_FILE_ENDINGS = frozenset(
    "c cc cpp cs css go h html ini java js json jsx kt lock log md php py rb rs sh sql toml".split()
)
_FILE_ENDINGS |= frozenset("ts tsx txt xml yaml yml".split())
_SAID = (
    'deltos knows this project: search_code({{"query": "{symbol}"}}) finds the definition with its code, and '
    "find_references every use, resolved through imports and types. grep is fine for text that is no symbol."
)


def suggestion(raw: bytes, settings: HookSettings, folder: Path) -> str:
    """What to tell the agent, in the form that Claude Code reads; empty for nothing. `folder` is where it works."""
    try:
        event = json.loads(raw)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(event, dict):
        return ""
    symbol = _symbol(event.get("tool_name"), event.get("tool_input"))
    session = event.get("session_id")
    if not symbol or not isinstance(session, str) or _is_off(event.get("cwd"), settings, folder):
        return ""
    if not _is_first(session, settings.home):
        return ""
    told = {"hookEventName": "PreToolUse", "additionalContext": _SAID.format(symbol=symbol)}
    return json.dumps({"hookSpecificOutput": told})


def _is_off(named: Any, settings: HookSettings, folder: Path) -> bool:
    """Whether `deltos memory off` was said for the project; `named` is the folder of the event."""
    if not off_projects(settings.home):
        return False
    from pathlib import Path  # deferred, as the rest: hardly anybody switches it off

    from deltos.domains.memory.capture import is_folder, project_root
    from deltos.workspace.identity import identify

    if isinstance(named, str) and is_folder(Path(named)):
        folder = Path(named)
    root = project_root(folder.resolve())
    return settings.is_off(identify(root, may_start_git=False).project_id, root)


def _symbol(tool: Any, given: Any) -> str:
    """The name that is looked for, where it is one: `make_plan`, `makePlan`, `MakePlan`, `plan.make`."""
    if not isinstance(given, dict):
        return ""
    pattern: Any = ""
    if tool == "Grep":
        pattern = given.get("pattern")
    elif tool == "Bash" and isinstance(command := given.get("command"), str):
        pattern = _pattern(command)
    return pattern if isinstance(pattern, str) and _is_symbol(pattern) else ""


def _pattern(command: str) -> str:
    """What a command line that begins with a search looks for; empty where it is none."""
    if not command.lstrip().startswith((*_GREPS,)):
        return ""
    import shlex  # deferred: most commands search nothing

    try:
        words = shlex.split(command[:_LONGEST_COMMAND])
    except ValueError:  # a quote that is never closed
        return ""
    program, rest = (" ".join(words[:2]), words[2:]) if words[:1] == ["git"] else (words[0], words[1:])
    return next(_patterns(rest, _GREPS[program]), "") if program in _GREPS else ""


def _patterns(words: Sequence[str], with_value: str) -> Iterator[str]:
    """The words that can be the pattern, the likeliest first: after `-e`, or the first that is no option's."""
    is_pattern = is_value = False
    for word in words:
        if is_pattern or not (is_value or word.startswith("-")):
            yield word
        is_pattern = not is_value and word in _PATTERN_OPTIONS
        takes_next = word in _LONG_OPTIONS if word.startswith("--") else word[1:2] and word[-1] in with_value
        is_value = not is_value and word.startswith("-") and bool(takes_next)


def _is_symbol(word: str) -> bool:
    for affix in ("def ", "class ", "function ", "func ", "fn "):
        word = word.removeprefix(affix)
    word = word.removeprefix("\\b").removesuffix("\\b").removesuffix("\\(").removesuffix("(")
    parts = word.split(".")
    if len(word) > _LONGEST_SYMBOL or not all(part.isidentifier() for part in parts):
        return False
    if len(parts) > 1 and parts[-1] in _FILE_ENDINGS:
        return False
    inner = word[1:]
    return "_" in word.strip("_") or "." in word or (inner != inner.lower() and inner != inner.upper())


def _is_first(session: str, home: Path) -> bool:
    """Whether this session was told nothing yet; notes that it is now."""
    folder = home / _FOLDER
    note = folder / sha256(session.encode("utf-8", "replace")).hexdigest()[:24]
    if note.exists():
        return False
    make_private_folder(home)
    make_private_folder(folder)
    for old in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-_MOST_SESSIONS]:
        old.unlink(missing_ok=True)
    write_private(note, "")
    return True
