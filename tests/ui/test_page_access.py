"""Access control of the web UI: single-use keys, cookies, CSRF tokens, hosts, origins, levels."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING

import anyio
import pytest
from starlette.applications import Starlette

from deltos.open_stores import open_tokens
from deltos.server.access import Level, Tokens
from deltos.server.http.rate_limit import RateLimit
from deltos.server.http.ui_routes import MAX_BODY_BYTES, UiRouteOptions, UiRoutes
from deltos.server.tool_runner import ToolRunner
from tests.repositories import make_repository
from tests.server.over_http.served import Served
from tests.ui.opened import serve_page

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.types import Message

    from deltos.server.caller import Caller
    from deltos.tool import Toolbox

FILES = {"shop.py": "def order():\n    return 1\n"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_repository(tmp_path_factory.mktemp("walls") / "shop", FILES)


@pytest.fixture(scope="module")
def served(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = serve_page(root, tmp_path_factory.mktemp("home"))
    yield server
    assert server.stop() == 0
    server.shut_down()


@pytest.fixture(scope="module")
def cookie(served: Served) -> str:
    """The cookie set by the opening link."""
    opened = served.request("GET", f"/enter?{served.address.query}")
    assert opened.status == 200
    return opened.headers["set-cookie"]


def state_of(served: Served, cookie: str) -> dict[str, str]:
    reply = served.request("GET", "/api/view/state", headers={"Cookie": cookie.partition(";")[0]})
    assert reply.status == 200, reply.body
    found: dict[str, str] = json.loads(reply.body)
    return found


def test_the_opening_link_works_once_and_its_cookie_is_restricted_to_this_browser(served: Served, cookie: str) -> None:
    assert served.request("GET", f"/enter?{served.address.query}").status == 401
    assert served.request("GET", "/enter?key=").status == 401
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= parts
    assert served.address.query.removeprefix("key=") not in cookie


def test_nothing_is_served_without_the_cookie(served: Served, cookie: str) -> None:
    assert b"This page is closed" in served.request("GET", "/").body
    for path in ("/api/view/state", "/api/view/search?q=order", "/api/view/calls", "/api/events"):
        assert served.request("GET", path).status == 401
        assert served.request("GET", path, headers={"Cookie": cookie.partition("=")[0] + "=guess"}).status == 401
    assert served.request("POST", "/api/tool/search", b"{}").status == 401


def test_no_other_site_host_or_form_can_use_the_cookie(served: Served, cookie: str) -> None:
    mine = {"Cookie": cookie.partition(";")[0]}
    csrf = {"X-Deltos-CSRF": state_of(served, cookie)["csrf"]}
    body = json.dumps({"query": "order"}).encode()

    def call(more: dict[str, str]) -> int:
        return served.request("POST", "/api/tool/search", body, {**mine, **more}).status

    assert call(csrf) == 200
    assert call({}) == 403
    assert call({"X-Deltos-CSRF": "guess"}) == 403
    assert call({**csrf, "Origin": "https://evil.invalid"}) == 403
    assert call({**csrf, "Origin": "http://127.0.0.1:1"}) == 403  # a page on this machine but on another port
    assert call({**csrf, "Origin": f"http://{served.address.netloc}"}) == 200
    assert call({**csrf, "Host": "evil.invalid"}) == 421
    assert call({**csrf, "Sec-Fetch-Site": "same-site"}) == 403
    large = served.request("POST", "/api/tool/search", b" " * (MAX_BODY_BYTES + 1), {**mine, **csrf})
    assert large.status == 413
    assert served.request("POST", "/api/tool/search", b"[1]", {**mine, **csrf}).status == 400


def linked_files(served: Served, cookie: str) -> list[str]:
    """Return the files that the page links to."""
    make_page = served.request("GET", "/", headers={"Cookie": cookie.partition(";")[0]}).body.decode()
    return sorted(set(re.findall(r"/static/[\w.-]+", make_page)))


def test_files_named_by_their_content_are_cached_forever(served: Served, cookie: str) -> None:
    kept = {path: served.request("GET", path).headers["cache-control"] for path in linked_files(served, cookie)}
    assert kept
    assert {path for path, how in kept.items() if "immutable" not in how} == set()
    assert served.request("GET", "/static/layout.js").headers["cache-control"] == "no-cache"
    assert (
        served.request("GET", "/", headers={"Cookie": cookie.partition(";")[0]}).headers["cache-control"] == "no-store"
    )


def test_every_answer_forbids_inline_script_frames_and_sniffing(served: Served, cookie: str) -> None:
    for path in ("/", *linked_files(served, cookie), "/api/view/state", "/static/nothing.js", "/enter"):
        headers = served.request("GET", path, headers={"Cookie": cookie.partition(";")[0]}).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    for path in ("/static/index.html", "/static/..%2f__init__.py", "/static/../views.py", "/static/%00"):
        assert served.request("GET", path).status == 404
    make_page = served.request("GET", "/", headers={"Cookie": cookie.partition(";")[0]}).body.decode()
    assert "<script>" not in make_page
    assert "style=" not in make_page
    assert "https://" not in make_page


def test_calls_are_logged_with_redacted_secrets(served: Served, cookie: str) -> None:
    mine = {"Cookie": cookie.partition(";")[0], "X-Deltos-CSRF": state_of(served, cookie)["csrf"]}
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    # JSON escapes quotes and line breaks, so each text must be redacted before it is encoded.
    quoted, further = 'db_password = "marigold-4711"', {"password": "falcon-2903"}
    for query in ({"query": quoted, "ids": [quoted]}, {"query": "x", **further}, {"query": f"order {secret}"}):
        served.request("POST", "/api/tool/search", json.dumps(query).encode(), mine)
    log = json.loads(served.request("GET", "/api/view/calls", headers=mine).body)
    newest = log["calls"][0]
    assert (newest["tool"], newest["client"], newest["is_error"]) == ("search", "page", False)
    assert newest["tokens"] > 0
    assert newest["milliseconds"] > 0
    assert not [each for each in (secret, "marigold", "falcon") if each in json.dumps(log)]
    assert "order" in newest["arguments"]


def test_over_http_the_web_ui_requires_tokens_and_checks_levels(root: Path, tmp_path: Path) -> None:
    store = open_tokens(tmp_path)
    tokens = Tokens(store, lambda: 1_800_000_000)
    reader_id, reader = tokens.create("reader", Level.READ, (), None)
    command = [sys.executable, "-P", "-m", "deltos", "mcp", str(root), "--http", "127.0.0.1:0", "--require-token"]
    server = Served(command, tmp_path, DELTOS_CALL_LOG="0")
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    try:
        closed = server.request("GET", "/")
        assert (closed.status, b"Paste a token" in closed.body) == (401, True)
        assert server.request("POST", "/enter", b"token=dlt_guess_guess", form).status == 401
        foreign = {**form, "Origin": "http://127.0.0.1:1"}
        assert server.request("POST", "/enter", f"token={reader}".encode(), foreign).status == 403
        cookie = server.request("POST", "/enter", f"token={reader}".encode(), form).headers["set-cookie"]
        state = state_of(server, cookie)
        mine = {"Cookie": cookie.partition(";")[0], "X-Deltos-CSRF": state["csrf"]}
        assert "; secure" not in cookie.lower()
        behind_tls = {**form, "Host": "127.0.0.1", "Origin": "https://127.0.0.1"}
        entered = server.request("POST", "/enter", f"token={reader}".encode(), behind_tls)
        assert "; secure" in entered.headers["set-cookie"].lower()
        assert state["level"] == "read"
        assert reader not in json.dumps(state)
        answer = json.loads(server.request("POST", "/api/tool/remember", b'{"text": "x"}', mine).body)
        assert answer["is_error"]
        assert "requires the scope 'write'" in answer["text"]
        assert server.request("POST", "/api/change/memory", b'{"change": "pin", "id": "x"}', mine).status == 403
        assert json.loads(server.request("GET", "/api/view/calls", headers=mine).body)["kept"] is False
        store.revoke(reader_id, 1_800_000_000)
        assert server.request("GET", "/api/view/state", headers=mine).status == 401
    finally:
        server.stop()
        server.shut_down()
        store.close()


def test_slow_sign_ins_time_out_and_frequent_ones_are_rejected() -> None:
    async def authenticate(_token: str) -> Caller | None:
        return None

    def no_events() -> Toolbox:
        raise AssertionError("nobody is let in")

    def make_page(rate: float) -> Starlette:
        options = UiRouteOptions(
            authenticate,
            asks_token=True,
            is_open=False,
            is_secure=False,
            rate=RateLimit(rate, lambda: 0.0),
            body_seconds=0.01,
        )
        return Starlette(routes=UiRoutes(ToolRunner(no_events), options).routes())

    async def sign_in(app: Starlette, *, ends: bool, origin: str = "http://here") -> int:
        parts: list[Message] = [{"type": "http.request", "body": b"token=guess", "more_body": not ends}]
        statuses: list[int] = []

        async def receive() -> Message:
            if not parts:
                await anyio.sleep_forever()
            return parts.pop()

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        headers = [(b"host", b"here"), (b"origin", origin.encode())]
        scope = {"type": "http", "method": "POST", "path": "/enter", "headers": headers, "client": ("127.0.0.1", 1)}
        await app({**scope, "query_string": b"", "http_version": "1.1"}, receive, send)
        return statuses[0]

    async def scenario() -> None:
        free, limited = make_page(0.0), make_page(0.5)
        assert await sign_in(free, ends=False) == 408
        assert await sign_in(free, ends=False, origin="http://elsewhere") == 403  # rejected before the body is read
        assert await sign_in(free, ends=True) == 401
        assert [await sign_in(limited, ends=True) for _ in range(3)] == [401, 401, 429]

    anyio.run(scenario)
