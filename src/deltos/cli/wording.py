"""How people at a shell are told what agents are told by the names of tools: by commands."""

from __future__ import annotations

import re

# Whole phrases first: what they say is more than a name. All of it is our own text, written in `src/`.
_PHRASES = {
    "forgotten ones need forget with restore=true": "`deltos memory restore` brings forgotten ones back",
    "forget(ids, restore=true) brings": "`deltos memory restore ID` brings",
    "forget with restore=true": "`deltos memory restore`",
    "timeline(around=obs id)": "`deltos memory timeline ID`",
    "timeline(around=id)": "`deltos memory timeline ID`",
    "get_observations(ids)": "`deltos memory show ID`",
    "fetch(id)": "`deltos fetch ID`",
    "(source=NAME asks one)": "(--source NAME asks one)",
    "not asked: project_path=": "not asked: --project ",
    "(project_id=* does)": "(--project '*' does)",
    "project_id='all' searches": "`--project-id all` searches",
    "Leave out project_id for the project here": "Leave out --project for the project here",
    "search_docs, types=['schema']": "`deltos api search --type schema`",
    "search_docs with types=['schema'] shows": "`deltos api search --type schema` shows",
    "raise limit for more": "raise --limit for more",
    "narrow the query, directory or file_type": "narrow the query, --directory or --type",
    "are far less likely: limit=": "are far less likely: --limit ",
    "narrow the query or set concise": "narrow the query or give --concise",
    "find_symbol with path finds": "`deltos graph find --path` finds",
    "find_symbol and search_code find the rest": "`deltos graph find` and `deltos code search` find the rest",
    "find_symbol finds the rest": "`deltos graph find` finds the rest",
    "find_references lists them": "`deltos graph refs` lists them",
    "recrawl_source goes on with it": "`deltos docs recrawl` goes on with it",
    "recrawl_source (deltos docs recrawl": "(deltos docs recrawl",
    "crawl_status tells how far it is": "`deltos docs status` tells how far it is",
    "Use add_source to add one": "Add one with `deltos docs add`",
    "add_source or `deltos api add`": "`deltos api add`",
    "Call set_working_directory with the folder": "Give the folder",
    "Call index_repository first": "Run `deltos index` first",
    "list_apis without filter": "See `deltos api list`",
}
_COMMANDS = {
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


# How the lines begin that answers say of themselves; all others may quote code, pages or memories.
_NOTES = (
    "Next: ",
    "Note: ",
    "showing ",
    "and perhaps more: ",
    "Not complete: ",
    "The crawl goes on ",
    "crawl_status tells ",
    "No documentation sources ",
    "No API descriptions ",
)
_INSIDE_A_NOTE = ("shortened to fit (search_docs with types=['schema'] shows a schema whole)", "its process died ")
# Hints that list names of the user's own.
_LISTS = ("Did you mean", "Nearest: ", "Known", "Such as ", "Say which: ")


def name_commands(text: str) -> str:
    """A text of ours, such as a hint, with commands in the place of tools; what it lists of the user's stays."""
    if text.startswith(_LISTS) or " defines " in text:
        return text
    text = name_commands_in_note(text)
    return re.sub(rf"\b(?:{'|'.join(_COMMANDS)})\b", lambda found: f"`{_COMMANDS[found[0]]}`", text)


def name_commands_in_note(note: str) -> str:
    """A note that is all ours, with commands in the place of tools."""
    for phrase, said in _PHRASES.items():
        note = note.replace(phrase, said)
    return note


def name_commands_in_notes(answer: str) -> str:
    """An answer whose notes name commands; the lines that it quotes, in which tools have other meanings, stay."""
    return "\n".join(name_commands_in_note(line) if _is_note(line) else line for line in answer.split("\n"))


def _is_note(line: str) -> bool:
    return line.startswith(_NOTES) or any(phrase in line for phrase in _INSIDE_A_NOTE)
