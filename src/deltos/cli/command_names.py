"""Replace the names of MCP tools in hints and notes by shell commands."""

from __future__ import annotations

import re

# Replacements of phrases in messages, in addition to the replacement of tool names.
PHRASES = {
    "forget(ids, restore=true) restores": "`deltos memory restore ID` restores",
    "forget with restore=true": "`deltos memory restore`",
    "timeline(around=obs id)": "`deltos memory timeline ID`",
    "timeline(around=id)": "`deltos memory timeline ID`",
    "get_observations(ids)": "`deltos memory show ID`",
    "fetch(id)": "`deltos fetch ID`",
    "source=NAME": "--source NAME",
    "; use version=": "; use --version ",
    "Pass project_path=": "Pass --project ",
    "Omit project_path": "Omit --project",
    "(project_id=* searches them)": "(--project '*' searches them)",
    "project_id='all' searches": "`--project-id all` searches",
    "Leave out project_id.": "Leave out --project.",
    "search_docs, types=['schema']": "`deltos api search --type schema`",
    "search_docs with types=['schema'] shows": "`deltos api search --type schema` shows",
    "raise limit for more": "raise --limit for more",
    "raise budget for more": "raise --budget for more",
    "narrow the query, directory or file_type": "narrow the query, --directory or --type",
    "much less probable: limit=": "much less probable: --limit ",
    "narrow the query or set concise": "narrow the query or give --concise",
    "find_symbol with path lists": "`deltos graph find --path` lists",
    "find_symbol lists": "`deltos graph find` lists",
    "find_references lists them": "`deltos graph refs` lists them",
    "recrawl_source continues it": "`deltos docs recrawl` continues it",
    "recrawl_source updates": "`deltos docs recrawl` updates",
    "crawl_status shows": "`deltos docs status` shows",
    "Use add_source to add one": "Add one with `deltos docs add`",
    "add_source or `deltos api add`": "`deltos api add`",
    "Call set_working_directory with the folder": "Give the folder",
    "Call index_repository first": "Run `deltos index` first",
    "list_apis without filter": "See `deltos api list`",
}
_TOOL_COMMANDS = {
    "add_source": "deltos docs add",
    "list_sources": "deltos docs list",
    "remove_source": "deltos docs remove",
    "crawl_status": "deltos docs status",
    "recrawl_source": "deltos docs recrawl",
    "search_docs": "deltos docs search",
    "list_apis": "deltos api list",
    "get_api_endpoints": "deltos api show",
    "search_code": "deltos code search",
    "index_repository": "deltos index",
    "set_working_directory": "cd",
    "find_symbol": "deltos graph find",
    "find_references": "deltos graph refs",
    "get_context": "deltos graph context",
    "get_impact": "deltos graph impact",
    "detect_circular": "deltos graph cycles",
    "get_stats": "deltos graph stats",
    "get_observations": "deltos memory show",
}


# Prefixes of notes. All other lines may quote code, pages or observations and must not be changed.
_NOTE_PREFIXES = (
    "Next: ",
    "Note: ",
    "showing ",
    "Showing ",
    "Searched ",
    "Not followed: ",
    "The crawl runs ",
    "Searched ",
    "crawl_status shows ",
    "No documentation sources ",
    "No API descriptions ",
)
_NOTE_PHRASES = ("shortened to fit (search_docs with types=['schema'] shows a schema in full)", "its process died ")
# Prefixes of hints that list names chosen by the user.
_NAME_LIST_PREFIXES = ("Did you mean", "Nearest: ", "Known", "Such as ")


def replace_tool_names(text: str) -> str:
    """Replace tool names in a hint with shell commands, unless the hint lists names chosen by the user."""
    if text.startswith(_NAME_LIST_PREFIXES) or " defines " in text:
        return text
    text = replace_tool_names_in_note(text)
    return re.sub(rf"\b(?:{'|'.join(_TOOL_COMMANDS)})\b", lambda found: f"`{_TOOL_COMMANDS[found[0]]}`", text)


def replace_tool_names_in_note(note: str) -> str:
    """Replace tool names in a note that contains no quoted content."""
    for phrase, replacement in PHRASES.items():
        note = note.replace(phrase, replacement)
    return note


def replace_tool_names_in_answer(answer: str) -> str:
    """Replace tool names in the notes of an answer. All other lines are unchanged."""
    return "\n".join(replace_tool_names_in_note(line) if _is_note(line) else line for line in answer.split("\n"))


def _is_note(line: str) -> bool:
    return line.startswith(_NOTE_PREFIXES) or any(phrase in line for phrase in _NOTE_PHRASES)
