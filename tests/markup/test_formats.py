"""Formats are detected by media type or name, and each one has a parser."""

from __future__ import annotations

import json

import pytest

from deltos.errors import SourceError
from deltos.markup.formats import format_of, parse
from deltos.markup.model import join_blocks
from deltos.markup.text import slug, visible


@pytest.mark.parametrize(
    ("location", "media_type", "expected"),
    [
        ("https://x/a", "text/html; charset=utf-8", "html"),
        ("https://x/a.md", "text/plain", "markdown"),
        ("https://x/a.html", "text/plain", "text"),
        ("https://x/a.md", "text/html", "html"),
        ("/docs/a.IPYNB", "", "notebook"),
        ("/docs/a.adoc", "", "asciidoc"),
        ("https://x/a.bin", "application/octet-stream", None),
        ("https://x/a.pdf?x=1", "", "pdf"),
        ("/man/man3/Data::Dumper.3pm.gz", "", "man"),
        ("/docs/a.md.gz", "", "markdown"),
        ("https://x/git.1", "application/x-troff-man", "man"),
        ("https://x/release-2.1", "text/plain", "text"),
        ("/docs/a.tar.gz", "", None),
    ],
)
def test_the_format_is_detected_by_media_type_and_name(location: str, media_type: str, expected: str | None) -> None:
    assert format_of(location, media_type) == expected


def test_notebook_cells_become_blocks() -> None:
    notebook = {
        "metadata": {"kernelspec": {"language": "r"}},
        "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "text"]},
            {
                "cell_type": "code",
                "source": "plot(x)",
                "outputs": [
                    {"output_type": "stream", "text": ["done\n"]},
                    {"data": {"text/plain": "42", "image/png": "iVBOR"}},
                    {"data": {"image/png": "iVBOR"}},
                ],
            },
            {"cell_type": "code", "source": ""},
        ],
    }
    document = parse(json.dumps(notebook).encode(), "notebook", url="/a.ipynb")
    assert document.title == "Title"
    assert join_blocks(document.sections[0].blocks) == "text\n\n```r\nplot(x)\n```\n\n```\ndone\n```\n\n```\n42\n```"


@pytest.mark.parametrize("text", ["{", "[]", '{"cells": 1}'])
def test_invalid_notebooks_are_rejected(text: str) -> None:
    with pytest.raises(SourceError, match="Not a notebook"):
        parse(text.encode(), "notebook", url="/a.ipynb")


def test_asciidoc_headings_and_listings_are_parsed() -> None:
    text = (
        "= Book\n\n[[intro]]\n== Start here ==\n// comment\nSome text\nwraps.\n\n"
        "[source,ruby]\n----\nputs 1\n\n== no\n----\n\n"
        "[#end]\nlast"
    )
    document = parse(text.encode(), "asciidoc", url="/a.adoc")
    book, start = document.sections
    assert (book.path, start.path, start.anchors) == (("Book",), ("Book", "Start here"), ("intro",))
    assert join_blocks(start.blocks) == "Some text\nwraps.\n\n```ruby\nputs 1\n\n== no\n```\n\nlast"
    assert start.blocks[-1].anchors == ("end",)


def test_plain_text_is_split_into_paragraphs() -> None:
    document = parse(b"one\ntwo\r\n\r\nthree", "text", url="/a.txt", title="a")
    assert (document.title, [block.text for block in document.sections[0].blocks]) == ("a", ["one\ntwo", "three"])


def test_markdown_and_rst_are_parsed_by_their_own_parsers() -> None:
    assert parse(b"# A\n\nx", "markdown", url="/a.md").title == "A"
    assert parse(b"Abc\n===\n\nx", "rst", url="/a.rst").title == "Abc"
    assert parse(b"<h1>A</h1>", "html", url="/a.html").title == "A"


def test_each_page_of_a_pdf_is_a_section() -> None:
    document = parse(_pdf("Hello from a page"), "pdf", url="/a.pdf", title="a")
    assert document.sections[0].anchors == ("page=1",)
    assert "Hello from a page" in join_blocks(document.sections[0].blocks)


def test_a_damaged_pdf_is_rejected() -> None:
    with pytest.raises(SourceError, match="Not a readable PDF"):
        parse(b"%PDF-1.4 nonsense", "pdf", url="/a.pdf")


def test_slugs_are_derived_from_visible_text() -> None:
    assert slug("What's new, in 3.0?") == "whats-new-in-30"
    assert visible("a\u200bb\x07c\u202ed") == "abcd"


def _pdf(text: str) -> bytes:
    """Return a minimal PDF of one page."""
    stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    data, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(data)
    data += b"xref\n0 6\n0000000000 65535 f \n" + table
    return data + b"trailer << /Size 6 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start
