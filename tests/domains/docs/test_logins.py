"""Pages behind a login: credentials are sent to one host only and appear nowhere else."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from deltos.config import Config
from deltos.confinement import Confinement, confined
from deltos.errors import BadArgument, FetchFailed, Forbidden
from deltos.fetch.http import HttpClient
from deltos.isolated.launch import parser_environment
from deltos.logins import Login, Logins
from tests.loopback import LOOPBACK, Page, serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.domains.docs.conftest import DocsClient
    from tests.loopback import Site

SECRET = "s3cret-of-the-wiki"


@pytest.fixture
def wiki(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """A site that requires the configured header and repeats it in its pages; its environment variable is set."""
    monkeypatch.setenv("DELTOS_AUTH_WIKI", f"{site.url} Authorization: Bearer {SECRET}\nX-Team: docs-team")

    def page(headers: dict[str, str]) -> Page:
        if headers.get("authorization") != f"Bearer {SECRET}":
            return Page(b"who are you", 401, {"Content-Type": "text/plain"})
        body = f"<h1>Inner guide</h1><p>The zebra setting. You sent {SECRET}.</p><a href='/away'>away</a>"
        return Page(body.encode(), headers={"Content-Type": "text/html", "ETag": f'"{SECRET}"'})

    site.pages["/"] = page
    return site


@pytest.fixture
def wiki_client(wiki: Site, docs_client: DocsClient) -> DocsClient:
    """A library that was opened after the variable was set."""
    return docs_client


def test_a_page_behind_a_login_is_read_and_its_secret_is_stored_nowhere(
    wiki_client: DocsClient, wiki: Site, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with serving() as elsewhere:
        elsewhere.html(f"/?from={SECRET}", "<h1>Elsewhere</h1><p>Other words.</p>")
        wiki.redirect("/away", f"{elsewhere.url}/?from={SECRET}")
        status = wiki_client.add(f"{wiki.url}/", auth="DELTOS_AUTH_WIKI")
        assert status.state == "READY"
        [passage] = wiki_client.search("zebra setting")
        assert passage.text.startswith("The zebra setting. You sent [hidden].")
        assert wiki.request_headers["/"]["x-team"] == "docs-team"
        assert [name for asked in elsewhere.request_headers.values() for name in asked if name == "authorization"] == []
    for roots, is_seen in (((wiki_client.root,), True), ((tmp_path / "other",), False)):
        with confined(Confinement(roots, {})):  # a token with access to some projects only
            assert bool(wiki_client.docs.library.sources()) == is_seen
            with pytest.raises(
                Forbidden, match="token for selected projects"
            ):  # the page is not requested with stored credentials again
                wiki_client.add(f"{wiki.url}/again", auth="DELTOS_AUTH_WIKI")
    kept = b"".join(path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file())
    assert SECRET.encode() not in kept
    assert b"DELTOS_AUTH_WIKI" in kept
    assert SECRET not in caplog.text
    assert SECRET not in repr(status)


def test_credentials_come_from_their_own_variables_and_go_to_their_own_host(
    wiki_client: DocsClient, wiki: Site
) -> None:
    with serving() as elsewhere:
        with pytest.raises(BadArgument, match=r"DELTOS_AUTH_WIKI is not for 127.0.0.1") as refused:
            wiki_client.begin(f"{elsewhere.url}/", auth="DELTOS_AUTH_WIKI")
        assert SECRET not in str(refused.value)
        assert not elsewhere.asked
    for name, why in (("PATH", "begins with"), ("DELTOS_AUTH_OTHER", "is not set"), ("netrc", "No netrc file")):
        with pytest.raises(BadArgument, match=why):
            wiki_client.begin(f"{wiki.url}/", auth=name)
    assert wiki_client.add(f"{wiki.url}/").reason.startswith("HTTP 401")


def test_a_crawl_without_its_configured_login_fails_with_a_reason(
    wiki_client: DocsClient, wiki: Site, tmp_path: Path
) -> None:
    source_id = wiki_client.begin(f"{wiki.url}/", auth="DELTOS_AUTH_WIKI")
    object.__setattr__(wiki_client.docs.library.crawls.opener, "logins", Logins())
    status = wiki_client.crawl(source_id)
    assert (status.state, status.reason.partition(".")[0]) == (
        "FAILED",
        "DELTOS_AUTH_WIKI is not set in the environment of Deltos",
    )


def test_errors_and_redirects_do_not_repeat_a_secret(site: Site) -> None:
    login = Login(("http", "127.0.0.1", int(site.url.rpartition(":")[2])), (("Cookie", f"a=1; session={SECRET}"),))
    client = HttpClient(private_hosts=LOOPBACK, login=login)
    site.redirect("/a", f"/b?{SECRET}")
    site.redirect(f"/b?{SECRET}", "/a")
    with pytest.raises(FetchFailed, match="redirects in a loop") as failed:
        client.get(f"{site.url}/a")
    assert SECRET not in f"{failed.value!r} {failed.value} {failed.value.__cause__!r}"
    assert site.request_headers["/a"]["cookie"] == f"a=1; session={SECRET}"
    client.close()


def test_invalid_settings_are_refused_without_showing_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text(
        "machine wiki.corp login me password s3cret-word\ndefault login me password s3cret-of-all\n"
    )
    environ = {
        "DELTOS_HOME": str(tmp_path),
        "DELTOS_NETRC": str(tmp_path / "netrc"),
        "DELTOS_AUTH_GOOD": "wiki.corp:8443 X-Key: s3cret-word",
        "DELTOS_AUTH_SPLIT": "wiki.corp X-Key: s3cret-word\r\n  evil",
        "DELTOS_AUTH_HOST": "wiki.corp Host: s3cret-word",
        "DELTOS_AUTH_BARE": "s3cret-word",
    }
    config = Config.from_environment(environ)
    assert "s3cret" not in repr(config)
    good = config.logins.find("DELTOS_AUTH_GOOD", "https://wiki.corp:8443/a")
    assert good
    assert good.headers_for("https://wiki.corp:8443/b") == {"X-Key": "s3cret-word"}
    for other in ("http://wiki.corp:8443/", "https://wiki.corp/", "https://wiki.corp.evil:8443/", "https://[x"):
        assert good.headers_for(other) == {}
    netrc = config.logins.find("netrc", "https://wiki.corp/")
    assert netrc
    assert netrc.headers_for("https://wiki.corp/") == {"Authorization": "Basic bWU6czNjcmV0LXdvcmQ="}
    assert netrc.hide("a s3cret-word, bWU6czNjcmV0LXdvcmQ=") == "a [hidden], [hidden]"
    for name in ("SPLIT", "HOST", "BARE"):
        with pytest.raises(BadArgument, match="is invalid") as refused:
            config.logins.find(f"DELTOS_AUTH_{name}", "https://wiki.corp/")
        assert "s3cret" not in str(refused.value)
    for url, host in (
        ("http://wiki.corp/", r"wiki\.corp"),
        ("https://x.evil/", r"x\.evil"),
        ("https://default/", "default"),
    ):
        with pytest.raises(BadArgument, match=rf"no entry for {host}"):
            config.logins.find("netrc", url)  # the default entry of a netrc file would be sent to any host
    for name in ("DELTOS_AUTH_GOOD", "DELTOS_DATABASE", "DELTOS_EMBED_KEY"):
        monkeypatch.setenv(name, "x")
        assert name not in parser_environment()


@pytest.mark.parametrize(
    ("header", "value", "text", "redacted_text"),
    [
        ("Cookie", "consent=accepted; lang=english", "It is accepted in english.", "It is accepted in english."),
        ("Cookie", "lang=english; sid=a1b2c3d4", "english a1b2c3d4", "english [hidden]"),
        ("Cookie", "session=zebrafish; lang=english", "zebrafish, english", "[hidden], english"),
        ("Cookie", "zebra=abcdefghijklmnop", "abcdefghijklmnop", "[hidden]"),
        ("X-Team", "documentation", "the documentation", "the documentation"),
        ("X-Api-Key", "zebrafish", "a zebrafish", "a [hidden]"),
        ("X-Id", "zebra77", "a zebra77", "a [hidden]"),
        ("Authorization", "Bearer zebrafish", "Bearer zebrafish, zebrafish, bearer", "[hidden], [hidden], bearer"),
        ("Authorization", "Basic bWU6emVicmFmaXNo", "me:zebrafish, zebrafish", "[hidden], [hidden]"),
        ("X-Forward", "Basic bWU6emVicmFmaXNo", "zebrafish bWU6emVicmFmaXNo", "[hidden] [hidden]"),
    ],
)
def test_only_secrets_are_hidden(header: str, value: str, text: str, redacted_text: str) -> None:
    login = Login(("https", "wiki.corp", 443), ((header, value),))
    assert login.hide(text) == redacted_text
    assert login.hide_bytes(text.encode()) == redacted_text.encode()
