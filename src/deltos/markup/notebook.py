"""Parser of Jupyter notebooks.

Prose cells become Markdown, and each code cell becomes a code block followed by the output of the cell.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from deltos.errors import SourceError
from deltos.markup.markdown import parse_markdown
from deltos.markup.text import fenced

if TYPE_CHECKING:
    from deltos.markup.model import Document

_MAX_OUTPUT_CHARACTERS = 2_000  # maximum number of characters of the output of a cell


def parse_notebook(text: str, *, url: str, title: str = "") -> Document:
    """Parse the notebook at `url` into sections, ignoring images and other binary outputs."""
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as exc:
        raise SourceError(f"Not a notebook: {exc}") from exc
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise SourceError("Not a notebook: it has no list of cells")
    kernel_language = _as_dict(_as_dict(notebook.get("metadata")).get("kernelspec")).get("language")
    language = kernel_language if isinstance(kernel_language, str) else "python"
    parts = [_cell_markdown(cell, language) for cell in cells if isinstance(cell, dict)]
    # Escapes such as \ud800 may produce single surrogates, which cannot be encoded as UTF-8 in the index.
    joined = "\n\n".join(filter(None, parts)).encode("utf-8", "replace").decode()
    return parse_markdown(joined, url=url, title=title)


def _cell_markdown(cell: dict[str, Any], language: str) -> str:
    source = _join_text(cell.get("source"))
    if cell.get("cell_type") != "code":
        return source
    cell_outputs = cell.get("outputs")
    entries = cell_outputs if isinstance(cell_outputs, list) else []
    outputs = [_output_text(output) for output in entries if isinstance(output, dict)]
    blocks = [fenced(source, language)] if source.strip() else []
    return "\n\n".join(blocks + [fenced(text) for text in outputs if text.strip()])


def _output_text(output: dict[str, Any]) -> str:
    text = _join_text(output.get("text")) or _join_text(_as_dict(output.get("data")).get("text/plain"))
    return text[:_MAX_OUTPUT_CHARACTERS].rstrip()


def _as_dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _join_text(value: object) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""
