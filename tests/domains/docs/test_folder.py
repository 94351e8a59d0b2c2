"""Local folders and files as sources: changed files are read again, deleted files are dropped."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from deltos.domains.docs.render import render_nothing, render_sources, render_status
from deltos.errors import AddressRefused, BadArgument, NotFound
from deltos.store.documents import DocsTotals

if TYPE_CHECKING:
    from tests.domains.docs.conftest import DocsClient


def write_folder(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_files_of_every_format_are_read(docs_client: DocsClient) -> None:
    notebook = json.dumps({"cells": [{"cell_type": "markdown", "source": "# Note\n\nquokka notes"}]})
    write_folder(
        docs_client.root,
        a_md="# Guide\n\nquokka guide",
        b_html="<h1>Page</h1><p>quokka page</p>",
        c_rst="Title\n=====\n\nquokka rst",
        d_ipynb=notebook,
        e_txt="quokka text",
        f_adoc="= Doc\n\nquokka adoc",
        sub__g_mdx="# Deep\n\nquokka deep",
        code_py="quokka = 1",
    )
    status = docs_client.add(".", name="docs")
    assert (status.state, status.pages) == ("READY", 7)
    assert {url.rpartition("/")[2] for url in docs_client.find_citations("quokka")} == {
        "a.md#guide", "b.html", "c.rst#title", "d.ipynb#note", "e.txt", "f.adoc#_doc", "g.mdx#deep",
    }  # fmt: skip


def test_a_folder_has_no_page_limit_unless_one_is_given(docs_client: DocsClient) -> None:
    write_folder(docs_client.root, **{f"many__p{number}_md": f"# Page {number}\n\nText." for number in range(520)})
    status = docs_client.add("many", name="all")
    assert (status.state, status.pages, status.reason) == ("READY", 520, "")
    docs_client.docs.library.remove("all")
    few = docs_client.add("many", name="few", max_pages=500)
    assert (few.pages, "the limit of 500 pages was reached" in few.reason) == (500, True)
    assert (
        "limit of 500 pages"
        in render_sources(
            docs_client.docs.library.statuses(), [], project_root=docs_client.root, token_budget=1_000
        ).text
    )
    nothing = render_nothing("wombat", DocsTotals(1, 500, 500), docs_client.docs.library.statuses())
    assert "Incomplete: few (the limit of 500 pages was reached" in nothing


def test_one_file_can_be_a_source(docs_client: DocsClient) -> None:
    write_folder(docs_client.root, a_md="# A\n\nalpha", b_md="# B\n\nbeta")
    assert docs_client.add("a.md").pages == 1


def test_a_recrawl_reads_changed_files_and_drops_deleted_ones(docs_client: DocsClient) -> None:
    write_folder(docs_client.root, a_md="# A\n\nalpha", b_md="# B\n\nbeta", c_md="# C\n\ngamma")
    docs_client.add(".")
    write_folder(docs_client.root, a_md="# A\n\nomega, and longer")
    (docs_client.root / "b.md").unlink()
    status = docs_client.recrawl()
    assert (status.pages_done, status.pages_unchanged, status.pages) == (1, 1, 2)
    assert (len(docs_client.find_citations("omega")), docs_client.find_citations("beta")) == (1, [])


@pytest.mark.parametrize("glob", ["[" * 40_000, "*a" * 40_000])
def test_slow_globs_are_refused(docs_client: DocsClient, glob: str) -> None:
    write_folder(docs_client.root, a_md="# A\n\nalpha")
    with pytest.raises(BadArgument, match="characters"):
        docs_client.add(".", exclude=(glob,))
    with pytest.raises(BadArgument, match="too many"):
        docs_client.add(".", include=("*",) * 1_000)
    assert docs_client.add(".", exclude=(("a*" * 200) + "b",)).pages == 1


def test_globs_select_files(docs_client: DocsClient) -> None:
    write_folder(
        docs_client.root, a_md="# A\n\nalpha", sub__b_md="# B\n\nbeta", sub__c_txt="gamma", old__d_md="# D\n\ndelta"
    )
    assert docs_client.add(".", include=("*.md",), exclude=("old/*",)).pages == 2


def test_api_descriptions_in_a_folder_are_added_to_the_apis(docs_client: DocsClient) -> None:
    write_folder(docs_client.root, a_md="# A\n\nalpha", api_yaml="openapi: 3.1.0", data_json="{}")
    status = docs_client.add(".")
    assert list(docs_client.descriptions.added) == ["api"]
    assert (status.state, status.pages_skipped) == ("READY", 2)


def test_an_api_description_is_added_as_an_api_and_not_as_a_source(docs_client: DocsClient) -> None:
    write_folder(docs_client.root, api_yaml="openapi: 3.1.0")
    from deltos.domains.docs.library import NewSource

    added = docs_client.docs.library.add(NewSource("api.yaml", "shop", docs_client.root, (docs_client.root,)))
    assert (added.sources, added.api_message) == ((), "added the API shop")


def test_an_invalid_file_is_listed_and_the_others_are_read(docs_client: DocsClient) -> None:
    write_folder(docs_client.root, a_md="# A\n\nalpha", b_ipynb="{", c_pdf="%PDF nonsense")
    status = docs_client.add(".")
    assert status.state == "READY with failures"
    assert {place.url.rpartition("/")[2] for place in status.failures} == {"b.ipynb", "c.pdf"}


def test_a_folder_without_documents_fails_with_a_reason(docs_client: DocsClient) -> None:
    (docs_client.root / "code.py").write_text("x = 1")
    status = docs_client.add(".")
    assert (status.state, status.reason) == ("FAILED", "no readable page was found")


def test_the_index_of_a_folder_that_was_moved_is_kept(docs_client: DocsClient) -> None:
    write_folder(docs_client.root, docs__a_md="# A\n\nalpha")
    docs_client.add("docs")
    (docs_client.root / "docs").rename(docs_client.root / "elsewhere")
    status = docs_client.recrawl()
    assert status.state == "READY (last crawl failed)"
    assert "check whether it was moved" in status.reason
    assert len(docs_client.find_citations("alpha")) == 1


def test_paths_outside_the_project_are_refused(docs_client: DocsClient, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret")
    for path in ("../secret.md", str(tmp_path / "secret.md"), "/etc/passwd", "file:///etc/passwd"):
        with pytest.raises(AddressRefused):
            docs_client.add(path)


@pytest.mark.parametrize("url", ["ftp://x/y", "gopher:x"])
def test_other_schemes_are_refused(docs_client: DocsClient, url: str) -> None:
    with pytest.raises(BadArgument, match="addresses are not supported"):
        docs_client.add(url)


def test_missing_paths_and_empty_addresses_are_refused(docs_client: DocsClient) -> None:
    with pytest.raises(NotFound):
        docs_client.add("nothing.md")
    with pytest.raises(BadArgument, match="empty"):
        docs_client.add("  ")


def test_a_second_source_of_the_same_name_or_address_is_refused(docs_client: DocsClient) -> None:
    write_folder(docs_client.root, a_md="# A\n\nalpha", b_md="# B\n\nbeta")
    docs_client.add("a.md", name="guide")
    with pytest.raises(BadArgument, match=r"The name 'guide' is already used by a\.md"):
        docs_client.add("b.md", name="Guide")
    with pytest.raises(BadArgument, match="already a source"):
        docs_client.add("a.md", name="other")


def test_a_source_without_a_name_gets_a_default_name(docs_client: DocsClient) -> None:
    write_folder(docs_client.root, a_md="# A\n\nalpha")
    assert docs_client.add("a.md", name="").source.name == "a.md"
    from deltos.domains.docs.library import default_name

    assert default_name("https://docs.example.org/") == "docs.example.org"
    assert default_name("https://example.org/guide/start.html") == "start"
    assert default_name("pypi:httpx") == "httpx"


def test_included_code_is_part_of_its_page_and_updated_with_it(docs_client: DocsClient, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("secret_quokka = 1\n")
    write_folder(
        docs_client.root,
        docs__guide_md="# Guide\n\nRun it:\n\n{* ../examples/run.py *}\n\n{* ../../outside.py *}\n\n{* ../.env *}\n",
        examples__run_py="def wombat_runner():\n    pass\n",
        _env="quokka_password = 1\n",
    )
    docs_client.add(".", name="docs")
    found = docs_client.search("wombat_runner")[0]
    assert found.url.endswith("docs/guide.md")
    assert "```python\ndef wombat_runner():" in found.text
    assert all("quokka" not in passage.text for passage in docs_client.search("quokka"))
    assert docs_client.recrawl("docs").pages_unchanged == 1
    write_folder(docs_client.root, examples__run_py="def koala_runner():\n    pass\n")
    docs_client.recrawl("docs")
    assert "koala_runner" in docs_client.search("koala_runner")[0].text


def test_a_signature_file_is_skipped(docs_client: DocsClient) -> None:
    write_folder(docs_client.root, a_md="# A\n\nText.", b_asc="-----BEGIN PGP SIGNATURE-----\n\nquokka\n")
    status = docs_client.add(".", name="docs")
    assert (status.pages, status.pages_skipped) == (1, 1)


def test_manual_pages_are_read_even_if_compressed_and_other_files_are_skipped(docs_client: DocsClient) -> None:
    page = b".TH QUOKKA 1\n.SH OPTIONS\n.TP\n.B \\-f\nFeeds the quokka.\n"
    (docs_client.root / "quokka.1").write_bytes(page)
    wombat = page.replace(b"QUOKKA", b"WOMBAT").replace(b"quokka", b"wombat")
    (docs_client.root / "wombat.1.gz").write_bytes(gzip.compress(wombat[:20]) + gzip.compress(wombat[20:]) + b"\0\0")
    (docs_client.root / "cut.1.gz").write_bytes(gzip.compress(page)[:-9])
    (docs_client.root / "parts.1.gz").write_bytes(gzip.compress(b"", 1) * 10_001)
    (docs_client.root / "feed.1").write_text(".so man1/quokka.1\n")
    (docs_client.root / "libfeed.so.1").write_bytes(b"\x7fELF\0\0")
    (docs_client.root / "broken.1.gz").write_bytes(b"no gzip")
    (docs_client.root / "sources.tar.gz").write_bytes(gzip.compress(b"tar"))
    status = docs_client.add(".", name="manual")
    assert (status.pages, status.pages_skipped) == (2, 2)
    reasons = {Path(each.url).name: each.reason for each in status.failures}
    assert reasons.keys() == {"broken.1.gz", "cut.1.gz", "parts.1.gz"}
    assert "could not be decompressed" in reasons["broken.1.gz"]
    assert "is truncated" in reasons["cut.1.gz"]
    assert "more than 10,000 members" in reasons["parts.1.gz"]
    found = docs_client.search("feeds wombat")[0]
    assert (found.title, found.section, found.text) == (
        "wombat(1)", "wombat(1) > OPTIONS > -f", "Feeds the wombat."
    )  # fmt: skip
    assert docs_client.recrawl("manual").pages_unchanged == 2


def test_templates_are_skipped_and_counted(docs_client: DocsClient) -> None:
    write_folder(
        docs_client.root, guide_md="# Guide\n\nquokka guide", templates__t_md="# Templates\n\nquokka templates"
    )
    for path in ("_templates/layout.html", "_templates/autosummary/class.rst", "theme/_layouts/page.html"):
        (docs_client.root / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
        (docs_client.root / "docs" / path).write_text("{{ quokka }}\n")
    status = docs_client.add(".", name="docs")
    assert (status.state, status.pages) == ("READY", 2)
    assert [(each.reason, each.count) for each in status.skipped] == [("in a template folder", 3)]
    assert (
        "and 2 more: in a template folder"
        in render_status(status, project_root=docs_client.root, token_budget=1_000).text
    )
    assert not [url for url in docs_client.find_citations("quokka") if "/_" in url]
    (docs_client.root / "docs" / "_templates" / "layout.html").write_text("{{ quokka }} {{ wombat }}\n")
    # A search compares the folder with the disk; a changed template does not start a crawl.
    docs_client.find_citations("quokka")
    assert docs_client.docs.library.status("docs").pages_done == status.pages_done
    assert docs_client.recrawl("docs").skipped == status.skipped
