"""The page for people over HTTP: its files, who may look, what it may ask for. What it shows is up to `deltos.ui`."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import anyio
import msgspec
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from deltos.budget import estimate_tokens
from deltos.progress import Silent
from deltos.server.access import Level
from deltos.server.http.callers import caller_of
from deltos.server.http.page_entries import OwnEntries
from deltos.server.http.page_sessions import SESSION_SECONDS, is_same
from deltos.server.shares import Shares
from deltos.server.workbench import Failed
from deltos.ui import structs
from deltos.ui.views import TOKENS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from deltos.server.caller import Caller
    from deltos.server.http.page_entries import PageEntries
    from deltos.server.http.page_sessions import PageSession, PageSessions
    from deltos.server.http.rate import RateLimit
    from deltos.server.workbench import Workbench
    from deltos.tool import Toolbox

    Handler = Callable[[Request], Awaitable[Response]]
    Begin = Callable[[str], Awaitable[Caller | None]]

CSRF_HEADER = "x-deltos-csrf"
MAX_BODY_BYTES = 256 * 1024
MAX_PARAMETER_CHARACTERS = 4_000
MAX_CONCURRENT_VIEWS = 8
MAX_STREAMS = 32
MAX_STREAMS_OF_CALLER = 24  # the rest is kept for others
STREAM_SECONDS = 1.0  # between two looks at what goes on
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types deltos-worker"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_DIGEST_LETTERS = 8  # behind a hyphen in the names that the build makes of contents
_MEDIA_TYPES = {"js": "text/javascript", "css": "text/css", "html": "text/html", "svg": "image/svg+xml"}
_CHANGE_LEVEL = Level.ADMIN  # what forgets and supersedes asks for what `forget` asks for


@dataclass(frozen=True, slots=True)
class PageOptions:
    """How people get in. `admit` makes a caller of a token ("" for none), or refuses; `asks_token`: with a form."""

    sessions: PageSessions
    admit: Begin
    asks_token: bool
    is_open: bool  # nobody is asked for anything: only this machine can call
    is_secure: bool
    rate: RateLimit
    body_seconds: float  # for a request to arrive
    entries: PageEntries | None = None  # where several servers share them


class Page:
    """The routes of the page over one workbench."""

    def __init__(self, workbench: Workbench, options: PageOptions) -> None:
        self._workbench = workbench
        self._options = options
        self._entries = options.entries or OwnEntries(options.sessions)
        self._shares = Shares(MAX_CONCURRENT_VIEWS)
        self._streams: Counter[str] = Counter()

    def routes(self) -> list[Route]:
        """All of them; nothing else of the server is touched."""
        return [
            Route("/", self.index, methods=["GET"]),
            Route("/enter", self.enter, methods=["GET"]),
            Route("/enter", self.sign_in, methods=["POST"]),
            Route("/static/{name}", self.static, methods=["GET"]),
            Route("/api/view/{name}", self._looking(self.view), methods=["GET"]),
            Route("/api/events", self._looking(self.events), methods=["GET"]),
            Route("/api/tool/{name}", self._changing(self.tool), methods=["POST"]),
            Route("/api/change/{name}", self._changing(self.change), methods=["POST"]),
            Route("/api/leave", self._changing(self.leave), methods=["POST"]),
        ]

    async def index(self, request: Request) -> Response:
        """The page, or the way in."""
        if await self._session(request):
            return _file("index.html")
        if self._options.is_open and (caller := await self._options.admit("")):
            return await self._begun(request, caller, "", _file("index.html"))
        return _file("sign-in.html" if self._options.asks_token else "closed.html", status=401)

    async def enter(self, request: Request) -> Response:
        """Begin a session with the key of the opening link, which works once."""
        if not self._options.sessions.redeem(request.query_params.get("key", "")):
            return _file("closed.html", status=401)
        caller = await self._options.admit("")
        if caller is None:
            return _file("closed.html", status=401)
        return await self._begun(request, caller, "", _file("entered.html"))

    async def sign_in(self, request: Request) -> Response:
        """Begin a session with a token that was typed in."""
        if not _is_own_origin(request):
            return _problem(403, "This request did not come from the page")
        if wait_seconds := self._options.rate.wait_seconds(caller_of(request.scope)):
            return _problem(429, f"Too many requests; try again in {wait_seconds} s")
        body = await self._body(request)
        if isinstance(body, Response):
            return body
        token = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0].strip()
        caller = await self._options.admit(token) if self._options.asks_token and token else None
        if caller is None:
            return _file("sign-in.html", status=401)
        return await self._begun(request, caller, token, _file("entered.html"))

    async def static(self, request: Request) -> Response:
        """A file of the bundle: the same for everybody, so nobody is asked who they are."""
        name = request.path_params["name"]
        if name not in _bundle() or name.endswith(".html"):
            return _problem(404, "There is no such file")
        if request.headers.get("if-none-match") == _tag(name):
            return Response(status_code=304, headers=HEADERS | {"ETag": _tag(name)})
        return _file(name)

    async def view(self, request: Request, session: PageSession) -> Response:
        """Something to look at."""
        name, given = request.path_params["name"], dict(request.query_params)
        if name == TOKENS and session.caller.level < _CHANGE_LEVEL:
            return _problem(403, f"This needs the scope '{_CHANGE_LEVEL.scope}'")
        if any(len(value) > MAX_PARAMETER_CHARACTERS for value in given.values()):
            return _problem(414, "A parameter is too long")
        found = await self._in_thread(_show, name, given, session.caller)
        if name == "state" and isinstance(found, bytes):
            state = msgspec.json.decode(found, type=structs.PageState)
            level = session.caller.level.scope
            found = msgspec.json.encode(msgspec.structs.replace(state, csrf=session.csrf, level=level))
        return _json(found)

    async def change(self, request: Request, session: PageSession, given: dict[str, Any]) -> Response:
        """Change something."""
        if session.caller.level < _CHANGE_LEVEL:
            return _problem(403, f"This needs the scope '{_CHANGE_LEVEL.scope}'")
        texts = {str(name): str(value) for name, value in given.items()}
        found = await self._in_thread(_change, request.path_params["name"], texts, session.caller)
        await self._entries.keep(_cookie(request), session)
        return _json(found)

    async def tool(self, request: Request, session: PageSession, given: dict[str, Any]) -> Response:
        """Call a tool as an agent would; levels are checked where they are for agents."""
        name = request.path_params["name"]
        run = partial(self._workbench.run, name, given, session.caller, Silent())
        outcome = await self._shares.run(session.caller, run)
        await self._entries.keep(_cookie(request), session)
        text = structs.ToolText(outcome.text, outcome.is_error, outcome.truncated, estimate_tokens(outcome.text))
        return _json(msgspec.json.encode(text))

    async def leave(self, request: Request, _session: PageSession, _given: dict[str, Any]) -> Response:
        """End the session."""
        await self._entries.end(_cookie(request))
        response = _json(msgspec.json.encode(structs.Changed("You have left.")))
        response.delete_cookie(_cookie_name(request), path="/")
        return response

    async def events(self, request: Request, session: PageSession) -> Response:
        """What goes on with the sources, told whenever it changes."""
        name = session.caller.name
        if self._streams.total() >= MAX_STREAMS or self._streams[name] >= MAX_STREAMS_OF_CALLER:
            return _problem(503, f"{MAX_STREAMS} pages are being told of changes already")
        self._streams[name] += 1
        headers = HEADERS | {"Cache-Control": "no-store"}
        stream = _Stream(self._told(request), media_type="text/event-stream", headers=headers)
        stream.ended = partial(self._streams.subtract, (name,))
        return stream

    async def _told(self, request: Request) -> AsyncIterator[bytes]:
        last = b""
        while not await request.is_disconnected() and (session := await self._session(request)):
            found = await self._in_thread(_show, "sources", {}, session.caller)
            if isinstance(found, bytes) and found != last:
                last = found
                yield b"event: sources\ndata: " + found + b"\n\n"
            await anyio.sleep(STREAM_SECONDS)

    def _looking(self, handle: Callable[[Request, PageSession], Awaitable[Response]]) -> Handler:
        """`handle` for requests of a session, from our own page."""

        async def guarded(request: Request) -> Response:
            session = await self._session(request)
            if session is None:
                return _problem(401, "Open the page with the link that `deltos ui` prints")
            if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
                return _problem(403, "This request did not come from the page")
            if wait_seconds := self._options.rate.wait_seconds(session.caller.name):
                return _problem(429, f"Too many requests; try again in {wait_seconds} s")
            return await handle(request, session)

        return guarded

    def _changing(self, handle: Callable[[Request, PageSession, dict[str, Any]], Awaitable[Response]]) -> Handler:
        """`handle` for requests that also carry the session's CSRF token and a JSON object."""

        async def guarded(request: Request, session: PageSession) -> Response:
            if not is_same(request.headers.get(CSRF_HEADER, ""), session.csrf) or not _is_own_origin(request):
                return _problem(403, "This request did not come from the page")
            body = await self._body(request)
            if isinstance(body, Response):
                return body
            try:
                given = msgspec.json.decode(body, type=dict[str, Any])
            except (msgspec.DecodeError, RecursionError):
                return _problem(400, "The body is no JSON object")
            return await handle(request, session, given)

        return self._looking(guarded)

    async def _session(self, request: Request) -> PageSession | None:
        return await self._entries.find(_cookie(request), self._options.admit)

    async def _begun(self, request: Request, caller: Caller, token: str, response: Response) -> Response:
        response.set_cookie(
            _cookie_name(request),
            await self._entries.begin(caller, token),
            max_age=SESSION_SECONDS,
            httponly=True,
            samesite="strict",
            secure=self._options.is_secure,
            path="/",
        )
        return response

    async def _body(self, request: Request) -> bytes | Response:
        """The whole body, or why it is not taken."""
        parts = bytearray()
        try:
            with anyio.fail_after(self._options.body_seconds):
                async for piece in request.stream():
                    parts += piece
                    if len(parts) > MAX_BODY_BYTES:
                        return _problem(413, f"More than {MAX_BODY_BYTES:,} bytes")
        except TimeoutError:
            return _problem(408, "The request took too long to arrive", {"Connection": "close"})
        return bytes(parts)

    async def _in_thread(
        self, work: Callable[..., bytes | Failed], name: str, given: dict[str, str], caller: Caller
    ) -> bytes | Failed:
        return await self._shares.run(caller, partial(work, name, given, caller, self._workbench))


class _Stream(StreamingResponse):
    """Tells when it has ended, also when nobody read any of it."""

    ended: Callable[[], None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.ended()


def _show(name: str, given: dict[str, str], caller: Caller, workbench: Workbench) -> bytes | Failed:
    def work(toolbox: Toolbox) -> bytes:
        return b"" if toolbox.open_pages is None else toolbox.open_pages().show(name, given, caller.conversation)

    return workbench.hold(work, caller)


def _change(name: str, given: dict[str, str], caller: Caller, workbench: Workbench) -> bytes | Failed:
    def work(toolbox: Toolbox) -> bytes:
        return b"" if toolbox.open_pages is None else toolbox.open_pages().change(name, given, caller.conversation)

    return workbench.hold(work, caller)


def _cookie(request: Request) -> str:
    return request.cookies.get(_cookie_name(request), "")


def _cookie_name(request: Request) -> str:
    """A name per port: cookies know none, and two servers must not take each other's."""
    return f"deltos_page_{request.url.port or 0}"


def _is_own_origin(request: Request) -> bool:
    """Whether a browser says that our own page sent this; one that says nothing is no browser."""
    origin = request.headers.get("origin")
    return origin is None or origin.lower().rpartition("://")[2] == request.headers.get("host", "").lower()


def _json(found: bytes | Failed) -> Response:
    if isinstance(found, Failed):
        return _problem(400 if found.failure.is_bad_request else 500, found.failure.text.removeprefix("Error: "))
    return Response(found, headers=HEADERS | {"Cache-Control": "no-store"}, media_type="application/json")


def _problem(status: int, message: str, more: dict[str, str] | None = None) -> Response:
    body = msgspec.json.encode(structs.Problem(message))
    headers = HEADERS | {"Cache-Control": "no-store"} | (more or {})
    return Response(body, status, headers, media_type="application/json")


def _file(name: str, status: int = 200) -> Response:
    headers = HEADERS | {"ETag": _tag(name), "Cache-Control": _kept(name)}
    return Response(_bundle()[name], status, headers, media_type=_MEDIA_TYPES[name.rpartition(".")[2]])


def _kept(name: str) -> str:
    """How long a browser keeps a file: one whose name changes with its content, for good."""
    if name.endswith(".html"):
        return "no-store"
    digest = name.rpartition(".")[0].rpartition("-")[2]
    is_named_after_content = len(digest) == _DIGEST_LETTERS and digest == digest.upper()
    return "public, max-age=31536000, immutable" if is_named_after_content else "no-cache"


@cache
def _bundle() -> dict[str, bytes]:
    """The files of the page by name: they came with us."""
    folder = resources.files("deltos.ui") / "static"
    names = [entry.name for entry in folder.iterdir() if entry.name.rpartition(".")[2] in _MEDIA_TYPES]
    return {name: (folder / name).read_bytes() for name in names}


@cache
def _tag(name: str) -> str:
    return f'"{hashlib.sha256(_bundle()[name]).hexdigest()[:32]}"'
