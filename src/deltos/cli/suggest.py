"""Suggests `search_code` to an agent that is about to grep for a symbol, once per session.

Runs in a hook, so it imports little.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltos.digest import sha256
from deltos.hook_settings import off_projects
from deltos.store.private_files import make_private_folder, write_private

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from deltos.hook_settings import HookSettings

_FOLDER = "suggested"
MAX_SESSIONS = 200
MAX_SYMBOL_CHARACTERS = 100
MAX_COMMAND_CHARACTERS = 2_000
_CONTEXT_OPTIONS = "ABCmf"
# Search programs and their short options that take a value.
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
_SUGGESTION = (
    'deltos knows this project: search_code({{"query": "{symbol}"}}) finds the definition with its code, and '
    "find_references every use, resolved through imports and types. grep is fine for text that is no symbol."
)


def suggestion(raw: bytes, settings: HookSettings, folder: Path) -> str:
    """Return the hook output for Claude Code, or an empty text for no suggestion. `folder` is the agent's working
    folder."""
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
    output = {"hookEventName": "PreToolUse", "additionalContext": _SUGGESTION.format(symbol=symbol)}
    return json.dumps({"hookSpecificOutput": output})


def _is_off(named: Any, settings: HookSettings, folder: Path) -> bool:
    """Whether memory is off for the project; `named` is the folder in the event."""
    if not off_projects(settings.home):
        return False
    from pathlib import Path  # deferred, as the rest: rarely needed

    from deltos.domains.memory.capture.hooks import is_folder, project_root
    from deltos.workspace.identity import identify

    if isinstance(named, str) and is_folder(Path(named)):
        folder = Path(named)
    root = project_root(folder.resolve())
    return settings.is_off(identify(root, may_start_git=False).project_id, root)


def _symbol(tool: Any, given: Any) -> str:
    """Return the searched name if it looks like a symbol: `make_plan`, `makePlan`, `MakePlan`, `plan.make`."""
    if not isinstance(given, dict):
        return ""
    pattern: Any = ""
    if tool == "Grep":
        pattern = given.get("pattern")
    elif tool == "Bash" and isinstance(command := given.get("command"), str):
        pattern = _pattern(command)
    return pattern if isinstance(pattern, str) and _is_symbol(pattern) else ""


def _pattern(command: str) -> str:
    """Return the pattern of a command line that begins with a search program; empty for other commands."""
    if not command.lstrip().startswith((*_GREPS,)):
        return ""
    import shlex  # deferred: most commands are not searches

    try:
        words = shlex.split(command[:MAX_COMMAND_CHARACTERS])
    except ValueError:  # an unclosed quote
        return ""
    program, rest = (" ".join(words[:2]), words[2:]) if words[:1] == ["git"] else (words[0], words[1:])
    return next(_patterns(rest, _GREPS[program]), "") if program in _GREPS else ""


def _patterns(words: Sequence[str], with_value: str) -> Iterator[str]:
    """Yield the words that can be the pattern, most probable first: the value of `-e`, or the first positional
    argument."""
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
    if len(word) > MAX_SYMBOL_CHARACTERS or not all(part.isidentifier() for part in parts):
        return False
    if len(parts) > 1 and parts[-1] in _FILE_ENDINGS:
        return False
    inner = word[1:]
    return "_" in word.strip("_") or "." in word or (inner != inner.lower() and inner != inner.upper())


def _is_first(session: str, home: Path) -> bool:
    """Whether this session has had no suggestion yet; records that it has one now."""
    folder = home / _FOLDER
    note = folder / sha256(session.encode("utf-8", "replace")).hexdigest()[:24]
    if note.exists():
        return False
    make_private_folder(home)
    make_private_folder(folder)
    for old in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-MAX_SESSIONS]:
        old.unlink(missing_ok=True)
    write_private(note, "")
    return True
