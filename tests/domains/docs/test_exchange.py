"""An indexed source is exported as one file and imported elsewhere; hostile files are refused."""

from __future__ import annotations

import gzip
import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from deltos.domains.docs import exchange
from deltos.domains.docs.domain import open_docs
from deltos.domains.docs.exchange import read_export
from deltos.domains.docs.library import NewSource
from deltos.domains.docs.search import DocsRequest
from deltos.errors import BadArgument, SourceError
from deltos.store.sqlite.library import SqliteLibrary

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.domains.docs.domain import Docs
    from tests.domains.docs.conftest import DocsClient


@pytest.fixture
def other_docs(docs_client: DocsClient, tmp_path: Path) -> Iterator[Docs]:
    """The documentation of another user."""
    store = SqliteLibrary(tmp_path / "other" / "library.db")
    docs = open_docs(store, apis=docs_client.descriptions, parser=docs_client.parser)
    yield docs
    docs.library.crawls.stop()
    store.close()


def import_source(docs: Docs, file: Path, **options: Any) -> str:
    """Import a file into a library and return the id of the source."""
    return docs.library.import_file(NewSource(str(file), "", file.parent, (file.parent,), **options)).id


def test_exported_source_is_imported_with_its_citations_and_provenance(
    docs_client: DocsClient, other_docs: Docs, tmp_path: Path
) -> None:
    guide = docs_client.root / "guide"
    guide.mkdir()
    (guide / "feeding.md").write_text(
        "# Feeding\n\nSee [limits](limits.md#upper-limit).\n\n## Food\n\nA quokka eats.\n"
    )
    (guide / "limits.md").write_text("# Limits\n\n## Upper limit\n\nTwice a day.\n")
    docs_client.add("guide", "guide", version="2")
    file = tmp_path / "guide.deltos-docs"
    file.write_bytes(docs_client.docs.library.export("guide"))
    assert str(tmp_path).encode() not in gzip.decompress(file.read_bytes()), "a path of this machine was exported"
    source_id = import_source(other_docs, file)
    (status,) = other_docs.library.statuses()
    assert (status.state, status.pages, status.source.version, status.source.kind) == ("READY", 2, "2", "import")
    assert status.source.reference.startswith("sha256:")
    (first, *_) = other_docs.search.search(DocsRequest("quokka", roots=(tmp_path,))).passages
    assert (first.citation, first.section) == ("guide/feeding.md#food", "Feeding > Food")
    (linked, *_) = other_docs.search.search(DocsRequest("upper limit")).passages
    assert linked.citation == "guide/limits.md#upper-limit"
    (guide / "feeding.md").write_text("# Feeding\n\n## Food\n\nA wombat eats.\n")
    docs_client.recrawl("guide")
    file.write_bytes(docs_client.docs.library.export("guide"))
    assert import_source(other_docs, file) == source_id, "a newer file of the same source must replace the import"
    assert [each.text for each in other_docs.search.search(DocsRequest("quokka")).passages] == []
    assert other_docs.search.search(DocsRequest("wombat")).passages
    other_docs.library.recrawl("guide", full=False)
    other_docs.library.crawls.run(source_id)
    assert other_docs.library.status("guide").state == "READY (last crawl failed)"
    assert other_docs.search.search(DocsRequest("wombat")).passages, (
        "an imported source that cannot be crawled must keep its pages"
    )


def test_unfinished_sources_are_not_exported(docs_client: DocsClient) -> None:
    (docs_client.root / "a.md").write_text("# A\n\nText.\n")
    docs_client.begin("a.md", "a")
    with pytest.raises(BadArgument, match="no pages yet"):
        docs_client.docs.library.export("a")


PAGE = {"url": "https://x.example/a", "title": "A", "chunks": [["A > B", ["b"], False, "Text.", 0]], "links": []}


def export_pages(*pages: object, **header: object) -> bytes:
    """Return an exported file of pages, with a valid header except for the given fields."""
    lines = b"\n".join(json.dumps(page).encode() for page in pages)
    fields = {
        "format": "deltos-docs",
        "format_version": 1,
        "name": "x",
        "url": "https://x.example",
        "version": "",
        "crawled_at": 1.0,
        "digest": hashlib.sha256(lines).hexdigest(),
        **header,
    }
    return gzip.compress(json.dumps(fields).encode() + b"\n" + lines)


def test_valid_file_is_read() -> None:
    header, (page,) = read_export(export_pages(PAGE))
    assert (header.name, page.url, page.chunks[0].text) == ("x", "https://x.example/a", "Text.")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "Not an exported source"),
        (b"nothing", "Not an exported source"),
        (gzip.compress(b"{}"), "Not an exported source"),
        (gzip.compress(b"[" * 100_000), "Not an exported source"),
        (export_pages(PAGE, digest="0" * 64), "digest"),
        (export_pages(PAGE, format="other"), "unknown format"),
        (export_pages(PAGE, format_version=2), "unknown format"),
        (export_pages(PAGE, name=""), "Not an exported source"),
        (export_pages(PAGE, name="x" * 201), "Not an exported source"),
        (export_pages(PAGE, secret="x"), "Not an exported source"),
        (export_pages(PAGE | {"more": 1}), "Not an exported source"),
        (export_pages(PAGE | {"chunks": [["A", [], False, "x" * 1_000_001, 0]]}), "Not an exported source"),
        (export_pages(PAGE | {"chunks": [["A", [], False, "x", -1]]}), "Not an exported source"),
        (export_pages(PAGE | {"url": "javascript:alert(1)"}), "not allowed"),
        (export_pages(PAGE | {"url": "file:///etc/passwd"}), "not allowed"),
    ],
    ids=range(15),
)
def test_hostile_file_is_refused_with_a_reason(data: bytes, reason: str) -> None:
    with pytest.raises(SourceError, match=reason):
        read_export(data)


def test_file_that_decompresses_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "MAX_CONTENT_BYTES", 1_000)
    with pytest.raises(SourceError, match="decompressed file is larger than 1,000 bytes"):
        read_export(export_pages(PAGE | {"chunks": [["A", [], False, "x" * 100_000, 0]]}))


def test_invisible_characters_of_a_file_are_removed() -> None:
    header, (page,) = read_export(export_pages(PAGE | {"title": "A\u200b\x1b[31m"}, name="x\u202e"))
    assert (header.name, page.title) == ("x", "A[31m")
