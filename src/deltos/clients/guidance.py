"""What agents are told on request about when to use which tool: a file per client, and a paragraph for AGENTS.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.errors import BadConfiguration

if TYPE_CHECKING:
    from deltos.clients import files

MARK = "<!-- deltos: written by `deltos install`, removed by `deltos uninstall` -->"
_END = "<!-- /deltos -->"
_DESCRIPTION = (
    "Find code, callers, documentation and earlier decisions with the deltos MCP tools, before grep and whole files."
)

_TABLE = """\
| to find out | call |
|---|---|
| where something is done, by meaning, name, "literal" or /regex/ | `search_code` |
| who calls or uses a symbol, complete or not | `find_references` |
| what a symbol is, with callers, callees and members | `get_context` |
| what a change affects | `get_impact` |
| how a library or an API is used, with citations | `search_docs`, `get_api_endpoints` |
| what was decided or learned before, and in which commit | `search`, then `fetch` |"""

_RULES = """\
- Ask once in plain words or by name; the answer has the code, so read files only where it is not enough.
- For "all uses" prefer `find_references` to grep: it knows imports and types, and says when it is complete.
- grep stays right for text in files that are not code, and for counting literal lines.
- `remember` what the user decided or what took long to find out; never secrets."""


def rules_text() -> str:
    """The file that a client's model reads: when to use which tool, in at most 40 lines."""
    head = f"---\nname: deltos\ndescription: {_DESCRIPTION}\n---"
    return f"{head}\n\n{MARK}\n# Deltos\n\n{_TABLE}\n\n{_RULES}\n"


def with_paragraph(text: str) -> str:
    """The text of an AGENTS.md with our paragraph at its end, or in the place of an earlier one."""
    paragraph = f"{MARK}\n## Code search, graph and memory: deltos\n\n{_TABLE}\n\n{_RULES}\n{_END}\n"
    rest = without_paragraph(text)
    gap = "" if not rest else "\n" if rest.endswith("\n") else "\n\n"
    return f"{rest}{gap}{paragraph}"


def without_paragraph(text: str) -> str:
    """The text without our paragraph."""
    before, mark, after = text.partition(MARK)
    if not mark:
        return text
    _, end, rest = after.partition(_END)
    if not end:
        raise BadConfiguration("the end of the paragraph about deltos is gone", hint="Remove the paragraph by hand.")
    return (before.rstrip("\n") + "\n" if before.strip() else "") + rest.lstrip("\n")


def is_ours(original: files.Original) -> bool:
    """Whether a file of rules was written by us, and may be replaced or removed."""
    return original.content is None or MARK in original.text
