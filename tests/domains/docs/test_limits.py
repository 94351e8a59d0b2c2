"""Pages and files are parsed within limits; those over a limit are reported and not retried until they change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.domains.docs.crawl import MAX_STOPPED_PAGES
from deltos.errors import ParserStopped
from deltos.isolated_parser import IsolatedParser, limits_for
from tests.domains.docs.test_website import html_page
from tests.pdfs import repeated_pdf

if TYPE_CHECKING:
    from deltos.isolated.process_pool import ProcessPool
    from tests.domains.docs.conftest import DocsClient
    from tests.loopback import Site

REASONS = {
    "poison-loop": "reading it took more than 1 s of CPU time. It is not tried again until it changes.",
    "poison-devour": "reading it took more than 300 MB of memory. It is not tried again until it changes.",
    "poison-die": "the parser crashed (SIGSEGV). It is not tried again until it changes.",
}


@pytest.mark.parametrize("poison", REASONS)
def test_a_page_over_its_limits_is_reported_and_not_retried_until_it_changes(
    docs_client: DocsClient, site: Site, poison: str
) -> None:
    site.html("/", html_page("Start", "Welcome.", "a.html", "bad.html"))
    site.html("/a.html", html_page("A", "Alpha text."))
    site.html("/bad.html", html_page("Bad", f"{poison} text."))
    docs_client.add(site.url)
    attempts = docs_client.attempts()
    for status in (docs_client.docs.library.status("site"), docs_client.recrawl(), docs_client.recrawl(full=True)):
        assert (status.state, status.pages) == ("READY with failures", 2)
        assert [(place.url, place.reason) for place in status.failures] == [(f"{site.url}/bad.html", REASONS[poison])]
    assert docs_client.attempts() == attempts
    site.html("/bad.html", html_page("Bad", "Harmless text."))
    assert (docs_client.recrawl().state, docs_client.find_citations("harmless")) == (
        "READY",
        [f"{site.url}/bad.html#top"],
    )


def test_a_page_that_becomes_hostile_keeps_its_old_text(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome.", "a.html"))
    site.html("/a.html", html_page("A", "Alpha text."))
    docs_client.add(site.url)
    site.html("/a.html", html_page("A", "poison-die"))
    status = docs_client.recrawl()
    assert (status.state, status.pages) == ("READY with failures", 2)
    assert docs_client.find_citations("alpha") == [f"{site.url}/a.html#top"]


def test_one_failing_file_of_a_batch_does_not_affect_the_others(docs_client: DocsClient) -> None:
    for number in range(12):
        docs_client.root.joinpath(f"{number}.md").write_text(f"# Page {number}\n\nNumber{number} of the quokkas.\n")
    docs_client.root.joinpath("5.md").write_text("# Five\n\npoison-die\n")
    docs_client.root.joinpath("7.md").write_text("# Seven\n\npoison-raise\n")
    status = docs_client.add(str(docs_client.root))
    assert status.pages == 10
    assert {place.url.rpartition("/")[2]: place.reason for place in status.failures} == {
        "5.md": REASONS["poison-die"],
        "7.md": "The page could not be parsed (RecursionError: too deep)",
    }


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/sitemap.xml", "<urlset><url><loc>poison-die</loc></url></urlset>"),
        ("/llms.txt", "# Site\n\n- [poison-die](a.html)\n"),
        ("/llms-full.txt", "# Site\n\npoison-die\n" + "text " * 1_000),
    ],
)
def test_an_unreadable_list_of_pages_is_reported(docs_client: DocsClient, site: Site, path: str, text: str) -> None:
    site.html("/", html_page("Start", "Welcome.", "a.html"))
    site.html("/a.html", html_page("A", "Alpha text."))
    site.text(path, text)
    docs_client.add(site.url)
    attempts = docs_client.attempts()
    for status in (docs_client.docs.library.status("site"), docs_client.recrawl()):
        assert (status.state, status.pages) == ("READY with failures", 2)
        assert [(place.url, place.reason) for place in status.failures] == [
            (f"{site.url}{path}", REASONS["poison-die"])
        ]
    assert docs_client.attempts() == attempts


def test_an_unreadable_robots_txt_allows_nothing(docs_client: DocsClient, site: Site) -> None:
    site.html("/", html_page("Start", "Welcome."))
    site.text("/robots.txt", "User-agent: *\nDisallow: /poison-die\n")
    status = docs_client.add(site.url)
    assert (status.state, status.pages) == ("FAILED", 0)
    assert "robots.txt cannot be read (the parser crashed (SIGSEGV))" in status.reason
    site.text("/robots.txt", "User-agent: *\n" + "Disallow: /secret\n" * 100_000)
    assert "larger than 1 MB" in docs_client.recrawl().reason


def test_robots_txt_with_many_agents_and_paths_is_read_in_time(docs_client: DocsClient, site: Site) -> None:
    """A parser that stored every path for every agent would take time for 25 million pairs; only our rules are stored."""
    site.html("/", html_page("Start", "Welcome.", "/a"))
    site.html("/a", html_page("Secret", "Not for us."))
    agents = "".join(f"User-agent: agent{number}\n" for number in range(5_000))
    site.text("/robots.txt", f"{agents}User-agent: deltos\n" + "Disallow: /a\n" * 5_000)
    status = docs_client.add(site.url)
    assert (status.state, status.pages) == ("READY", 1)


def test_a_slow_pdf_file_is_stopped_at_its_limit(docs_client: DocsClient) -> None:
    docs_client.root.joinpath("a.md").write_text("# A\n\nAlpha text.\n")
    docs_client.root.joinpath("slow.pdf").write_bytes(repeated_pdf(pages=1_000, lines=2_000))
    status = docs_client.add(str(docs_client.root))
    assert status.pages == 1
    assert [place.reason for place in status.failures] == [REASONS["poison-loop"]]


def test_a_source_with_many_pages_over_limits_is_abandoned(docs_client: DocsClient, site: Site) -> None:
    names = [f"{number}.html" for number in range(MAX_STOPPED_PAGES + 10)]
    site.html("/", html_page("Start", "Welcome.", *names))
    for name in names:
        site.html(f"/{name}", html_page(name, f"poison-die {name}"))
    status = docs_client.add(site.url)
    assert (status.state, status.reason) == ("FAILED", "20 pages exceeded the limits on parsing time or memory")
    assert len(status.failures) == MAX_STOPPED_PAGES


@pytest.mark.parametrize("file", ["web_kit/__init__.py", "web_kit/client.py"])
def test_a_module_over_its_limits_is_reported(docs_client: DocsClient, file: str) -> None:
    site_packages = docs_client.root / ".venv/lib/python3.11/site-packages"
    info = site_packages / "web_kit-1.dist-info"
    info.mkdir(parents=True)
    (site_packages / "web_kit").mkdir()
    info.joinpath("METADATA").write_text("Name: web-kit\nVersion: 1\n\n# Kit\n\nA kit.\n")
    info.joinpath("RECORD").write_text("web_kit/__init__.py,,\nweb_kit/client.py,,\n")
    for name in ("web_kit/__init__.py", "web_kit/client.py"):
        text = "poison-loop" if name == file else "A module."
        site_packages.joinpath(name).write_text(f'"""{text}"""\n\ndef get() -> None:\n    """Gets."""\n')
    status = docs_client.add("pypi:web-kit")
    assert status.pages == 2
    assert [(place.url, place.reason) for place in status.failures] == [
        (f"pypi:web-kit@1/{file}", REASONS["poison-loop"])
    ]


def test_content_that_another_version_failed_to_read_is_retried(
    docs_client: DocsClient, workers: ProcessPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped = docs_client.store.unreadable_content
    data = b"poison-die"
    with pytest.raises(ParserStopped):
        docs_client.parser.run(len, data, content=(data,))
    attempts = len(docs_client.attempts())
    monkeypatch.setattr("deltos.isolated_parser.__version__", "9.9.9")
    with pytest.raises(ParserStopped):
        docs_client.parser.run(len, data, content=(data,))
    assert (
        len(docs_client.attempts()) > attempts
    )  # once or twice: a failure in a reused child process is retried in a fresh one
    assert IsolatedParser(workers, stopped).run(len, data, content=(data,)) == len(data)


def test_limits_grow_with_the_size_of_the_input() -> None:
    small, large = limits_for(0), limits_for(100_000_000)
    assert (small.cpu_seconds, small.memory_bytes) == (10, 1 << 30)
    assert large.cpu_seconds == 110
    assert all(more > less for more, less in zip(large, small, strict=True))
