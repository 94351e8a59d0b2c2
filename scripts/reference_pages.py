"""Generate docs/modules.md from docstrings and docs/tools.md from the tool definitions.

    python -P -m scripts.reference_pages [--check]

With `--check`, report pages that are out of date instead of writing them.
"""

from __future__ import annotations

import argparse
import ast
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from deltos.config import TOOLSETS, Config
from deltos.server.toolbox import open_toolbox

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltos.tool import Parameter, Tool

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "deltos"
DOCS = ROOT / "docs"
MODULES_HEAD = """# Modules

Every module of `src/deltos`, with the first sentence of its docstring. [ARCHITECTURE.md](../ARCHITECTURE.md) explains
how the parts work together; [glossary.md](glossary.md) defines the terms. This page is generated: edit the docstrings,
then run `make reference`.
"""
TOOLS_HEAD = """# Tools

Every tool of the MCP server, with its parameters. `deltos mcp --toolsets code,graph` serves only the named toolsets.
This page is generated from the tool definitions: run `make reference`.

Numbers outside the range are clamped, and the answer says so. Names of tools and parameters are also accepted with
hyphens or in camelCase.
"""


def modules_page() -> str:
    """Return the content of docs/modules.md."""
    folders = [SOURCE, *sorted(path for path in SOURCE.rglob("*") if (path / "__init__.py").is_file())]
    return "\n".join((MODULES_HEAD, *(line for folder in folders for line in _folder_section(folder))))


def tools_page(tools: Iterable[Tool]) -> str:
    """Return the content of docs/tools.md."""
    lines = [TOOLS_HEAD]
    listed = list(tools)
    for toolset in TOOLSETS:
        lines += [f"## {toolset}", ""]
        for tool in listed:
            if tool.toolset == toolset:
                lines += _tool_section(tool)
    return "\n".join(lines)


def _folder_section(folder: Path) -> Iterator[str]:
    """Yield the heading, description and module table of one folder."""
    name = folder.relative_to(SOURCE.parent).as_posix()
    yield f"## `{name}/`"
    yield ""
    yield _module_docstring(folder / "__init__.py", paragraph=True)
    modules = sorted(path for path in folder.glob("*.py") if path.name != "__init__.py")
    if modules:
        yield ""
        yield "| module | contents |"
        yield "|---|---|"
        for path in modules:
            yield f"| `{path.stem}` | {_module_docstring(path)} |"
    yield ""


def _module_docstring(path: Path, *, paragraph: bool = False) -> str:
    """Return the first sentence, or the first paragraph, of a module's docstring on one line."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    first = " ".join(text.partition("\n\n")[0].split()).replace("|", "\\|")
    if paragraph:
        return first
    sentence = first.partition(". ")[0]
    return sentence if sentence.endswith(".") else f"{sentence}."


def _tool_section(tool: Tool) -> list[str]:
    """Return the heading, description and parameters of one tool."""
    description = tool.description.rstrip()
    lines = [f"### `{tool.name}`", "", description, ""]
    if tool.parameters:
        lines += ["| parameter | type | default | meaning |", "|---|---|---|---|"]
        lines += [_parameter_row(each) for each in tool.parameters]
        lines.append("")
    return lines


def _parameter_row(parameter: Parameter) -> str:
    cells = (f"`{parameter.name}`", _format_type(parameter), _format_default(parameter), _format_meaning(parameter))
    return f"| {' | '.join(cells)} |"


def _format_type(parameter: Parameter) -> str:
    if parameter.choices:
        return ", ".join(f"`{choice}`" for choice in parameter.choices)
    if parameter.minimum is not None and parameter.maximum is not None:
        return f"{parameter.type}, {parameter.minimum:,} to {parameter.maximum:,}"
    return parameter.type


def _format_default(parameter: Parameter) -> str:
    if parameter.required:
        return "required"
    return f"`{parameter.default}`" if parameter.default not in (None, "", [], False) else "–"


def _format_meaning(parameter: Parameter) -> str:
    return parameter.description.replace("|", "\\|")


def main() -> int:
    """Write or check the pages; return 1 if a checked page is out of date."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="report pages that are out of date, write nothing")
    is_check = parser.parse_args().check
    with TemporaryDirectory() as home:
        toolbox = open_toolbox(Config(Path(home)))
        pages = {"modules.md": modules_page(), "tools.md": tools_page(toolbox.tools)}
        toolbox.close()
    stale = [name for name, text in pages.items() if _read(DOCS / name) != text]
    if is_check:
        for name in stale:
            print(f"docs/{name} is out of date; run `make reference`.")
        return 1 if stale else 0
    for name in stale:
        (DOCS / name).write_text(pages[name], "utf-8")
    return 0


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


if __name__ == "__main__":
    sys.exit(main())
