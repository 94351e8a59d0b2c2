"""Instructions for agents on when to use which tool: rules files, subagents, and a section of AGENTS.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.config import LEAN_TOOLS, PROFILES
from deltos.errors import BadConfiguration

if TYPE_CHECKING:
    from deltos.clients import config_files

MARK = "<!-- deltos: written by `deltos install`, removed by `deltos uninstall` -->"
_SECTION_MARK = "<!-- deltos: written by `deltos install --agents-md`, removed by `deltos uninstall --agents-md` -->"
_END_MARK = "<!-- /deltos -->"
_DESCRIPTION = (
    "Find code, callers, documentation and earlier decisions with the deltos MCP tools, before grep and whole files."
)

_SUBAGENT_DESCRIPTION = "Answers how code works, where to change it and what a change affects, with paths and lines."
_SUBAGENT_TASK = "Answer with the files and lines that decide the question, and quote their code. Change no file."

_TABLE_HEAD = "| to find out | call |\n|---|---|"
_TABLE_ROWS = (
    ("how something works, why, where to change it: source with line numbers", ("explore",)),
    ('only places, by meaning, name, "literal" or /regex/', ("search_code",)),
    ("who calls or uses a symbol, complete or not", ("find_references",)),
    ("what a symbol is, with callers, callees and members", ("get_context",)),
    ("what a change affects", ("get_impact",)),
    ("how a library or an API is used, with citations", ("search_docs", "get_api_endpoints")),
)
_LAST_TABLE_ROW = "| earlier decisions and findings, with their commits | `search`, then `fetch` |"

# The options of a server select its toolsets, so it may list fewer tools than these rules mention.
_RULES = """\
- Ask `explore` once, in words or by name. Its source is current: open only lines that it says were left out.
- For "all uses" prefer `find_references` to grep: it knows imports and types, and says when it is complete.
- Without MCP: `deltos explore "…"`, `deltos code search "…"`, `deltos graph refs NAME`.
- grep stays right for text in files that are not code, and for counting literal lines.
- `remember` what the user decided or what took long to find out; never secrets."""


def rules_text(profile: str = "") -> str:
    """Return the text of a rules file, which explains in at most 40 lines when to use which tool."""
    head = f"---\nname: deltos\ndescription: {_DESCRIPTION}\n---"
    return f"{head}\n\n{MARK}\n# Deltos\n\n{_tool_table(profile)}\n\n{_RULES}\n"


def subagent_text(profile: str = "") -> str:
    """Return the definition of a subagent that answers questions about code with few tokens."""
    head = f"---\nname: deltos\ndescription: {_SUBAGENT_DESCRIPTION}\nmode: subagent\n---"
    return f"{head}\n\n{MARK}\n{_SUBAGENT_TASK}\n\n{_tool_table(profile)}\n\n{_RULES}\n"


def with_section(text: str) -> str:
    """Add the Deltos section to the text of an AGENTS.md file, or replace the existing section."""
    if (earlier := _split_at_section(text)) is not None:
        before, after = earlier
        return f"{before}{_section_text()}{after}"
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}{_section_text()}\n"


def _section_text() -> str:
    return f"{_SECTION_MARK}\n## Code search, graph and memory: deltos\n\n{_tool_table()}\n\n{_RULES}\n{_END_MARK}"


def has_section(text: str) -> bool:
    """Whether the text contains the start of the Deltos section."""
    return _SECTION_MARK in text or MARK in text


def has_unmodified_section(text: str) -> bool:
    """Whether the text contains an unmodified Deltos section."""
    return _section_text() in text


def without_section(text: str) -> str:
    """Remove the Deltos section, leaving an empty line between the text before and after it."""
    if (found := _split_at_section(text)) is None:
        return text
    before, after = found[0].rstrip("\r\n"), found[1].lstrip("\r\n")
    if not before.strip():
        return after
    line_end = "\r\n" if "\r\n" in text else "\n"
    return f"{before}{line_end}{line_end}{after}" if after.strip() else f"{before}{line_end}"


def _split_at_section(text: str) -> tuple[str, str] | None:
    """Return the text before and after the Deltos section, or None if there is no such section."""
    if not has_section(text):
        return None
    # Older versions began the section with the marker of the rules file.
    before, _, after = text.partition(_SECTION_MARK if _SECTION_MARK in text else MARK)
    _, end, rest = after.partition(_END_MARK)
    if not end:
        raise BadConfiguration("the section about deltos has no end marker", hint="Remove the section by hand.")
    return before, rest


def _tool_table(profile: str = "") -> str:
    """Return a Markdown table of tasks and their tools. The lean profile has fewer rows."""
    is_lean = profile == "lean"
    rows = [
        f"| {what} | {', '.join(f'`{name}`' for name in names)} |"
        for what, names in _TABLE_ROWS
        if not is_lean or LEAN_TOOLS.issuperset(names)
    ]
    return "\n".join([_TABLE_HEAD, *rows, _LAST_TABLE_ROW])


def may_replace(original: config_files.Original) -> bool:
    """Whether the rules file may be replaced or removed: it does not exist, or Deltos wrote it."""
    return original.content is None or MARK in original.text


def is_unchanged(text: str) -> bool:
    """Whether the text was written by Deltos and not modified, so that no backup is needed."""
    return text in (with_section(""), *map(rules_text, PROFILES), *map(subagent_text, PROFILES))
