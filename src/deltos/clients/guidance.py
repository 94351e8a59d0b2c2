"""What agents are told on request about when to use which tool: a file per client, and a paragraph for AGENTS.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.config import LEAN_TOOLS, PROFILES
from deltos.errors import BadConfiguration

if TYPE_CHECKING:
    from deltos.clients import config_files

MARK = "<!-- deltos: written by `deltos install`, removed by `deltos uninstall` -->"
_PARAGRAPH_MARK = "<!-- deltos: written by `deltos install --agents-md`, removed by `deltos uninstall --agents-md` -->"
_END = "<!-- /deltos -->"
_DESCRIPTION = (
    "Find code, callers, documentation and earlier decisions with the deltos MCP tools, before grep and whole files."
)

_HEAD = "| to find out | call |\n|---|---|"
_ROWS = (
    ('where something is done, by meaning, name, "literal" or /regex/', ("search_code",)),
    ("who calls or uses a symbol, complete or not", ("find_references",)),
    ("what a symbol is, with callers, callees and members", ("get_context",)),
    ("what a change affects", ("get_impact",)),
    ("how a library or an API is used, with citations", ("search_docs", "get_api_endpoints")),
)
_LAST_ROW = "| what was decided or learned before, and in which commit | `search`, then `fetch` |"

# Which toolsets a server offers is set where it starts: the table may name more than it lists.
_RULES = """\
- Ask once, in words or by name, a tool that is listed; the answer has the code: read files only if it is not enough.
- For "all uses" prefer `find_references` to grep: it knows imports and types, and says when it is complete.
- grep stays right for text in files that are not code, and for counting literal lines.
- `remember` what the user decided or what took long to find out; never secrets."""


def rules_text(profile: str = "") -> str:
    """The file that a client's model reads: when to use which tool of that profile, in at most 40 lines."""
    head = f"---\nname: deltos\ndescription: {_DESCRIPTION}\n---"
    return f"{head}\n\n{MARK}\n# Deltos\n\n{_table(profile)}\n\n{_RULES}\n"


def with_paragraph(text: str) -> str:
    """The text of an AGENTS.md with our paragraph at its end, or in the place of an earlier one."""
    if (earlier := _split(text)) is not None:
        before, after = earlier
        return f"{before}{_paragraph()}{after}"
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{gap}{_paragraph()}\n"


def _paragraph() -> str:
    return f"{_PARAGRAPH_MARK}\n## Code search, graph and memory: deltos\n\n{_table()}\n\n{_RULES}\n{_END}"


def has_paragraph(text: str) -> bool:
    """Whether a paragraph of ours begins in the text."""
    return _PARAGRAPH_MARK in text or MARK in text


def has_own_words(text: str) -> bool:
    """Whether the paragraph in the text is, word for word, the one that we write."""
    return _paragraph() in text


def without_paragraph(text: str) -> str:
    """The text without our paragraph; what stood before and after it stays apart by an empty line."""
    if (found := _split(text)) is None:
        return text
    before, after = found[0].rstrip("\r\n"), found[1].lstrip("\r\n")
    if not before.strip():
        return after
    line_end = "\r\n" if "\r\n" in text else "\n"
    return f"{before}{line_end}{line_end}{after}" if after.strip() else f"{before}{line_end}"


def _split(text: str) -> tuple[str, str] | None:
    """What stands before our paragraph, and after it; None where there is none."""
    if not has_paragraph(text):
        return None
    # Earlier paragraphs began with the mark of the rules.
    before, _, after = text.partition(_PARAGRAPH_MARK if _PARAGRAPH_MARK in text else MARK)
    _, end, rest = after.partition(_END)
    if not end:
        raise BadConfiguration("the end of the paragraph about deltos is gone", hint="Remove the paragraph by hand.")
    return before, rest


def _table(profile: str = "") -> str:
    """Which tool is for what, as far as the profile lists it; `search` answers for those that it does not."""
    is_lean = profile == "lean"
    rows = [
        f"| {what} | {', '.join(f'`{name}`' for name in names)} |"
        for what, names in _ROWS
        if not is_lean or LEAN_TOOLS.issuperset(names)
    ]
    return "\n".join([_HEAD, *rows, _LAST_ROW])


def is_ours(original: config_files.Original) -> bool:
    """Whether a file of rules was written by us, and may be replaced or removed."""
    return original.content is None or MARK in original.text


def is_unchanged(text: str) -> bool:
    """Whether a file says only what we write: then nobody misses it."""
    return text in (with_paragraph(""), *map(rules_text, PROFILES))
