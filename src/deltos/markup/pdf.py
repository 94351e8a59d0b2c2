"""Parser of PDF files, which creates one section per page. Requires the optional dependency `deltos[pdf]`."""

from __future__ import annotations

import io

from deltos.errors import SourceError
from deltos.markup.model import Document
from deltos.markup.outline import Outline


def parse_pdf(data: bytes, *, title: str = "") -> Document:
    """Parse a PDF file. Each page becomes a section with the anchor `page=NUMBER`."""
    try:
        import pypdf  # imported here, because the dependency is optional
        from pypdf.errors import PyPdfError
    except ImportError as exc:
        raise SourceError(
            "Reading PDF files requires an optional package", hint="Install it with: pip install 'deltos[pdf]'."
        ) from exc
    outline = Outline()
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        name = str((reader.metadata.title if reader.metadata else "") or title)
        for number, page in enumerate(reader.pages, start=1):
            outline.start_section(1, f"Page {number}", [f"page={number}"])
            for paragraph in page.extract_text().split("\n\n"):
                outline.add_block(paragraph)
    except PyPdfError as exc:
        raise SourceError(f"Not a readable PDF: {exc}") from exc
    except Exception as exc:  # pypdf raises many types of errors for invalid files, such as AssertionError
        raise SourceError(f"Not a readable PDF ({type(exc).__name__}: {exc})") from exc
    return Document(title=name, sections=outline.sections())
