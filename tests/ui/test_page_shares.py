"""A single user cannot occupy all threads or event streams of the web UI."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from starlette.applications import Starlette

from deltos.server.caller import Caller
from deltos.server.conversation import Conversation
from deltos.server.http.rate_limit import RateLimit
from deltos.server.http.ui_routes import MAX_STREAMS, MAX_STREAMS_PER_CALLER, UiRouteOptions, UiRoutes
from deltos.server.tool_runner import ToolRunner
from deltos.tool import Toolbox

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Message

    from deltos.tool import Session

NOW = 1_000.0


class Views:
    """View provider whose view "slow" waits until the test releases it."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def show(self, name: str, given: Mapping[str, str], session: Session) -> bytes:
        if name == "slow":
            self.released.wait()
        return b"{}"

    def change(self, name: str, given: Mapping[str, str], session: Session) -> bytes:
        return b"{}"


class SignedInCaller:
    """Web UI routes that serve the test views and use the cookie as the caller name."""

    def __init__(self) -> None:
        self.views = Views()
        tool_runner = ToolRunner(lambda: Toolbox((), lambda: None, open_pages=lambda: self.views))
        options = UiRouteOptions(
            self._admit, asks_token=True, is_open=False, is_secure=False,
            rate=RateLimit(0.0, lambda: NOW), body_seconds=0.01,
        )  # fmt: skip
        self._app = Starlette(routes=UiRoutes(tool_runner, options).routes())

    async def _admit(self, token: str) -> Caller | None:
        return visitor(token) if token else None

    async def send_request(self, path: str, cookie: str = "", *, method: str = "GET", statuses: list[int]) -> None:
        """Send a request whose body never ends; response statuses are appended to `statuses`."""
        is_first = True

        async def receive() -> Message:
            nonlocal is_first
            if not is_first:
                await anyio.sleep_forever()
            is_first = False
            return {"type": "http.request", "body": b"token=", "more_body": method == "POST"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                statuses.append(message["status"])

        headers = [(b"host", b"localhost:1"), (b"cookie", f"deltos_page_1={cookie}".encode())]
        scope = {
            "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
            "headers": headers, "client": ("127.0.0.1", 1), "server": ("localhost", 1), "scheme": "http",
        }  # fmt: skip
        await self._app(scope, receive, send)


def visitor(name: str) -> Caller:
    return Caller(Conversation(Path("/")), client="page", name=name)


def test_slow_views_leave_threads_for_other_users() -> None:
    async def scenario() -> list[int]:
        visit = SignedInCaller()
        greedy: list[int] = []
        others: list[int] = []
        mine, yours = ("greedy", "other")
        async with anyio.create_task_group() as tasks:
            for _ in range(20):
                tasks.start_soon(lambda: visit.send_request("/api/view/slow", mine, statuses=greedy))
            await anyio.wait_all_tasks_blocked()
            await visit.send_request("/api/view/quick", yours, statuses=others)
            assert greedy == []
            visit.views.released.set()
        assert greedy == [200] * 20
        return others

    assert anyio.run(scenario) == [200]


def test_one_caller_cannot_occupy_all_streams() -> None:
    async def scenario() -> None:
        visit = SignedInCaller()
        greedy: list[int] = []
        others: list[int] = []
        mine, yours = ("greedy", "other")
        async with anyio.create_task_group() as tasks:
            for _ in range(MAX_STREAMS):
                tasks.start_soon(lambda: visit.send_request("/api/events", mine, statuses=greedy))
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(lambda: visit.send_request("/api/events", yours, statuses=others))
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        assert sorted(greedy) == [200] * MAX_STREAMS_PER_CALLER + [503] * (MAX_STREAMS - MAX_STREAMS_PER_CALLER)
        assert others == [200]

    anyio.run(scenario)


def test_a_body_that_never_ends_times_out() -> None:
    async def scenario() -> list[int]:
        statuses: list[int] = []
        await SignedInCaller().send_request("/enter", method="POST", statuses=statuses)
        return statuses

    assert anyio.run(scenario) == [408]
