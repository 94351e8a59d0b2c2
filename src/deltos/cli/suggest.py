"""A word about `search_code` to an agent that is about to grep for a symbol, once per session. Light, as hooks are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltos.digest import sha256
from deltos.store.private import make_private_folder, write_private

if TYPE_CHECKING:
    from pathlib import Path

_FOLDER = "suggested"
_MOST_SESSIONS = 200
_LONGEST_SYMBOL = 100
_GREPS = ("grep", "rg", "egrep", "ag", "ack", "git grep")
_SAID = (
    'deltos knows this project: search_code({{"query": "{symbol}"}}) finds the definition with its code, and '
    "find_references every use, resolved through imports and types. grep is fine for text that is no symbol."
)


def suggestion(raw: bytes, home: Path) -> str:
    """What to tell the agent, in the form that Claude Code reads; empty for nothing."""
    try:
        event = json.loads(raw)
    except ValueError:
        return ""
    if not isinstance(event, dict):
        return ""
    symbol = _symbol(event.get("tool_name"), event.get("tool_input"))
    session = event.get("session_id")
    if not symbol or not isinstance(session, str) or not _is_first(session, home):
        return ""
    told = {"hookEventName": "PreToolUse", "additionalContext": _SAID.format(symbol=symbol)}
    return json.dumps({"hookSpecificOutput": told})


def _symbol(tool: Any, given: Any) -> str:
    """The name that is looked for, where it is one: `make_plan`, `makePlan`, `MakePlan`, `plan.make`."""
    if not isinstance(given, dict):
        return ""
    words: list[Any]
    if tool == "Grep":
        words = [given.get("pattern")]
    elif tool == "Bash" and isinstance(command := given.get("command"), str) and command.lstrip().startswith(_GREPS):
        words = [word.strip("\"'") for word in command.split() if not word.startswith("-")][1:4]
    else:
        return ""
    return next((word for word in words if isinstance(word, str) and _is_symbol(word)), "")


def _is_symbol(word: str) -> bool:
    for affix in ("def ", "class ", "function ", "func ", "fn "):
        word = word.removeprefix(affix)
    word = word.removeprefix("\\b").removesuffix("\\b").removesuffix("\\(").removesuffix("(")
    if len(word) > _LONGEST_SYMBOL or not all(part.isidentifier() for part in word.split(".")):
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
