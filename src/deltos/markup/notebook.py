"""Jupyter notebooks to sections: prose cells as Markdown, code cells as code, printed output beside it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltos.errors import SourceError
from deltos.markup.markdown import parse_markdown
from deltos.markup.text import fenced

if TYPE_CHECKING:
    from deltos.markup.model import Document

_MOST_OUTPUT_CHARACTERS = 2_000


def parse_notebook(text: str, *, url: str, title: str = "") -> Document:
    """The notebook at `url` as sections; pictures and other binary outputs are left out."""
    try:
        notebook = json.loads(text)
    except ValueError as exc:
        raise SourceError(f"Not a notebook: {exc}") from exc
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise SourceError("Not a notebook: it has no list of cells")
    metadata = notebook.get("metadata") or {}
    language = str((metadata.get("kernelspec") or {}).get("language") or "python")
    parts = [_cell(cell, language) for cell in cells if isinstance(cell, dict)]
    return parse_markdown("\n\n".join(filter(None, parts)), url=url, title=title)


def _cell(cell: dict[str, Any], language: str) -> str:
    source = _joined(cell.get("source"))
    if cell.get("cell_type") != "code":
        return source
    outputs = [_output(output) for output in cell.get("outputs") or [] if isinstance(output, dict)]
    blocks = [fenced(source, language)] if source.strip() else []
    return "\n\n".join(blocks + [fenced(text) for text in outputs if text.strip()])


def _output(output: dict[str, Any]) -> str:
    text = _joined(output.get("text")) or _joined((output.get("data") or {}).get("text/plain"))
    return text[:_MOST_OUTPUT_CHARACTERS].rstrip()


def _joined(value: object) -> str:
    if isinstance(value, list):
        return "".join(map(str, value))
    return value if isinstance(value, str) else ""
