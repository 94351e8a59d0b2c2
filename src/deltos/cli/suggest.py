"""Suggest `search_code` once per session to an agent that is about to grep for a symbol.

This module runs in a hook, so it imports few modules.
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

_FOLDER_NAME = "suggested"
MAX_SESSIONS = 200  # maximum number of recorded sessions
MAX_SYMBOL_CHARACTERS = 100
MAX_COMMAND_CHARACTERS = 2_000
_COMMON_VALUE_OPTIONS = "ABCmf"
# Short options with a value, by search program.
_GREP_VALUE_OPTIONS = {
    "grep": f"{_COMMON_VALUE_OPTIONS}dD",
    "egrep": f"{_COMMON_VALUE_OPTIONS}dD",
    "git grep": f"{_COMMON_VALUE_OPTIONS}O",
    "rg": f"{_COMMON_VALUE_OPTIONS}gtTjMErd",
    "ag": f"{_COMMON_VALUE_OPTIONS}GW",
    "ack": _COMMON_VALUE_OPTIONS,
}
_LONG_OPTIONS_WITH_VALUE = frozenset(
    "--context --after-context --before-context --max-count --file --include --exclude --exclude-dir --glob --iglob "
    "--type --type-not --threads --max-columns --max-depth --depth --ignore --ignore-dir --encoding --replace".split()
)
_PATTERN_OPTIONS = ("-e", "--regexp")
_FILE_EXTENSIONS = frozenset(
    "c cc cpp cs css go h html ini java js json jsx kt lock log md php py rb rs sh sql toml".split()
)
_FILE_EXTENSIONS |= frozenset("ts tsx txt xml yaml yml".split())
_SUGGESTION = (
    'deltos knows this project: search_code({{"query": "{symbol}"}}) finds the definition with its code, and '
    "find_references every use, resolved through imports and types. Use grep for text that is not a symbol."
)


def suggestion(raw: bytes, settings: HookSettings, folder: Path) -> str:
    """Return the hook output for Claude Code, or an empty string. `folder` is the agent's working folder."""
    try:
        event = json.loads(raw)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(event, dict):
        return ""
    symbol = _searched_symbol(event.get("tool_name"), event.get("tool_input"))
    session = event.get("session_id")
    if not symbol or not isinstance(session, str) or is_off(event.get("cwd"), settings, folder):
        return ""
    if not record_first_use(session, settings.home, _FOLDER_NAME):
        return ""
    output = {"hookEventName": "PreToolUse", "additionalContext": _SUGGESTION.format(symbol=symbol)}
    return json.dumps({"hookSpecificOutput": output})


def is_off(named: Any, settings: HookSettings, folder: Path) -> bool:
    """Whether memory is off for the project. `named` is the folder given in the hook event."""
    if not off_projects(settings.home):
        return False
    from pathlib import Path  # deferred import, like the imports below: rarely needed

    from deltos.domains.memory.capture.hooks import is_folder, project_root
    from deltos.workspace.identity import identify

    if isinstance(named, str) and is_folder(Path(named)):
        folder = Path(named)
    root = project_root(folder.resolve())
    return settings.is_off(identify(root, may_start_git=False).project_id, root)


def _searched_symbol(tool_name: Any, tool_input: Any) -> str:
    """Return the search pattern if it looks like a symbol, such as `make_plan` or `plan.make`, or an empty string."""
    if not isinstance(tool_input, dict):
        return ""
    pattern: Any = ""
    if tool_name == "Grep":
        pattern = tool_input.get("pattern")
    elif tool_name == "Bash" and isinstance(command := tool_input.get("command"), str):
        pattern = _search_pattern(command)
    return pattern if isinstance(pattern, str) and _is_symbol(pattern) else ""


def _search_pattern(command: str) -> str:
    """Return the pattern of a command line that begins with a search program, or an empty string."""
    if not command.lstrip().startswith((*_GREP_VALUE_OPTIONS,)):
        return ""
    import shlex  # deferred import: most commands are not searches

    try:
        words = shlex.split(command[:MAX_COMMAND_CHARACTERS])
    except ValueError:  # the command has an unclosed quote
        return ""
    program, rest = (" ".join(words[:2]), words[2:]) if words[:1] == ["git"] else (words[0], words[1:])
    return next(_possible_patterns(rest, _GREP_VALUE_OPTIONS[program]), "") if program in _GREP_VALUE_OPTIONS else ""


def _possible_patterns(words: Sequence[str], with_value: str) -> Iterator[str]:
    """Yield the values of `-e` and the positional arguments. `with_value` lists short options with a value."""
    is_pattern = is_value = False
    for word in words:
        if is_pattern or not (is_value or word.startswith("-")):
            yield word
        is_pattern = not is_value and word in _PATTERN_OPTIONS
        takes_next = word in _LONG_OPTIONS_WITH_VALUE if word.startswith("--") else word[1:2] and word[-1] in with_value
        is_value = not is_value and word.startswith("-") and bool(takes_next)


def _is_symbol(word: str) -> bool:
    for affix in ("def ", "class ", "function ", "func ", "fn "):
        word = word.removeprefix(affix)
    word = word.removeprefix("\\b").removesuffix("\\b").removesuffix("\\(").removesuffix("(")
    parts = word.split(".")
    if len(word) > MAX_SYMBOL_CHARACTERS or not all(part.isidentifier() for part in parts):
        return False
    if len(parts) > 1 and parts[-1] in _FILE_EXTENSIONS:
        return False
    inner = word[1:]
    return "_" in word.strip("_") or "." in word or (inner != inner.lower() and inner != inner.upper())


def record_first_use(session: str, home: Path, folder_name: str) -> bool:
    """Record the session in a folder of the data folder. Return false if the session was already recorded."""
    folder = home / folder_name
    note = folder / sha256(session.encode("utf-8", "replace")).hexdigest()[:24]
    if note.exists():
        return False
    make_private_folder(home)
    make_private_folder(folder)
    for old in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime)[:-MAX_SESSIONS]:
        old.unlink(missing_ok=True)
    write_private(note, "")
    return True
