"""HTTP routes of the web UI: files, sign-in and data requests. `deltos.ui` provides the data."""

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
from deltos.server.fair_threads import FairThreadPool
from deltos.server.http.caller_id import caller_id
from deltos.server.http.sign_in import (
    COOKIE_LIFETIME_SECONDS,
    MAX_COOKIE_CHARACTERS,
    OpeningLink,
    PageUser,
    are_equal_secrets,
    csrf_token,
    new_cookie,
)
from deltos.server.tool_runner import FailedCall
from deltos.ui import structs
from deltos.ui.views import TOKENS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from deltos.server.caller import Caller
    from deltos.server.http.rate_limit import RateLimit
    from deltos.server.tool_runner import ToolRunner
    from deltos.tool import Toolbox

    Handler = Callable[[Request], Awaitable[Response]]
    Authenticate = Callable[[str], Awaitable[Caller | None]]

CSRF_HEADER = "x-deltos-csrf"
MAX_BODY_BYTES = 256 * 1024
MAX_PARAMETER_CHARACTERS = 4_000
MAX_CONCURRENT_VIEWS = 8
MAX_STREAMS = 32
MAX_STREAMS_PER_CALLER = 24  # smaller than MAX_STREAMS, so that one caller cannot use all streams
STREAM_POLL_SECONDS = 1.0  # interval between two reads of the states of documentation sources
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types deltos-worker"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
_DIGEST_LETTERS = 8  # length of the content digest that the build appends to file names after a hyphen
_MEDIA_TYPES = {"js": "text/javascript", "css": "text/css", "html": "text/html", "svg": "image/svg+xml"}
_CHANGE_LEVEL = Level.ADMIN  # access level required for changes, as for the tool `forget`


@dataclass(frozen=True, slots=True)
class UiRouteOptions:
    """How users sign in: by entering a token in a form, by following an opening link, or not at all.

    `authenticate` returns the caller for a cookie, or None. The cookie is a token if `asks_token` is true.
    """

    authenticate: Authenticate
    asks_token: bool
    is_open: bool  # no sign-in is needed, because only this machine can connect
    is_secure: bool
    rate: RateLimit
    body_seconds: float  # timeout for receiving a request
    link: OpeningLink | None = None


class UiRoutes:
    """The routes of the web UI."""

    def __init__(self, tool_runner: ToolRunner, options: UiRouteOptions) -> None:
        self._tool_runner = tool_runner
        self._options = options
        self._threads = FairThreadPool(MAX_CONCURRENT_VIEWS)
        self._streams: Counter[str] = Counter()

    def routes(self) -> list[Route]:
        """Return all routes."""
        return [
            Route("/", self.index, methods=["GET"]),
            Route("/enter", self.open_link, methods=["GET"]),
            Route("/enter", self.sign_in, methods=["POST"]),
            Route("/static/{name}", self.static, methods=["GET"]),
            Route("/api/view/{name}", self._require_user(self.show_view), methods=["GET"]),
            Route("/api/events", self._require_user(self.events), methods=["GET"]),
            Route("/api/tool/{name}", self._require_json_body(self.call_tool), methods=["POST"]),
            Route("/api/change/{name}", self._require_json_body(self.apply_change), methods=["POST"]),
            Route("/api/leave", self._require_json_body(self.sign_out), methods=["POST"]),
        ]

    async def index(self, request: Request) -> Response:
        """Return the page of the web UI, or the sign-in form if the user is not signed in."""
        if await self._find_user(request):
            return _file_response("index.html")
        if self._options.is_open:
            return self._set_cookie(request, new_cookie(), _file_response("index.html"))
        return _file_response("sign-in.html" if self._options.asks_token else "closed.html", status=401)

    async def open_link(self, request: Request) -> Response:
        """Sign in with the single-use key from the opening link."""
        link = self._options.link
        if link is None or not link.redeem(request.query_params.get("key", "")):
            return _file_response("closed.html", status=401)
        return self._set_cookie(request, link.cookie, _file_response("entered.html"))

    async def sign_in(self, request: Request) -> Response:
        """Sign in with the token from the form."""
        if not _is_own_origin(request):
            return _problem_response(403, "This request did not come from the page")
        if wait_seconds := self._options.rate.wait_seconds(caller_id(request.scope)):
            return _problem_response(429, f"Too many requests; try again in {wait_seconds} s")
        body = await self._read_body(request)
        if isinstance(body, Response):
            return body
        token = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0].strip()
        if len(token) > MAX_COOKIE_CHARACTERS:
            return _problem_response(
                400, "The token is too long for a cookie. Sign in with a token from `deltos token create`"
            )
        if not (self._options.asks_token and token and await self._options.authenticate(token)):
            return _file_response("sign-in.html", status=401)
        return self._set_cookie(request, token, _file_response("entered.html"))

    async def static(self, request: Request) -> Response:
        """Return a static file. No sign-in is required, because the files are public."""
        name = request.path_params["name"]
        if name not in _read_static_files() or name.endswith(".html"):
            return _problem_response(404, "File not found")
        if request.headers.get("if-none-match") == _etag_of(name):
            return Response(status_code=304, headers=SECURITY_HEADERS | {"ETag": _etag_of(name)})
        return _file_response(name)

    async def show_view(self, request: Request, user: PageUser) -> Response:
        """Return the data that one view of the web UI shows, such as the list of sources."""
        name, given = request.path_params["name"], dict(request.query_params)
        if name == TOKENS and user.caller.level < _CHANGE_LEVEL:
            return _problem_response(403, f"This requires the scope '{_CHANGE_LEVEL.scope}'")
        if any(len(value) > MAX_PARAMETER_CHARACTERS for value in given.values()):
            return _problem_response(414, "A parameter is too long")
        result = await self._run_in_thread(_run_view, name, given, user.caller)
        if name == "state" and isinstance(result, bytes):
            state = msgspec.json.decode(result, type=structs.PageState)
            level = user.caller.level.scope
            result = msgspec.json.encode(msgspec.structs.replace(state, csrf=user.csrf, level=level))
        return _json_response(result)

    async def apply_change(self, request: Request, user: PageUser, given: dict[str, Any]) -> Response:
        """Apply a change that the user requested."""
        if user.caller.level < _CHANGE_LEVEL:
            return _problem_response(403, f"This requires the scope '{_CHANGE_LEVEL.scope}'")
        texts = {str(name): str(value) for name, value in given.items()}
        result = await self._run_in_thread(_run_change, request.path_params["name"], texts, user.caller)
        return _json_response(result)

    async def call_tool(self, request: Request, user: PageUser, given: dict[str, Any]) -> Response:
        """Call a tool with the same checks as a call from an agent."""
        name = request.path_params["name"]
        run = partial(self._tool_runner.run, name, given, user.caller, Silent())
        outcome = await self._threads.run(user.caller, run)
        text = structs.ToolText(outcome.text, outcome.is_error, outcome.truncated, estimate_tokens(outcome.text))
        return _json_response(msgspec.json.encode(text))

    async def sign_out(self, request: Request, _signed_in: PageUser, _given: dict[str, Any]) -> Response:
        """Sign out: delete the cookie. The token remains valid."""
        response = _json_response(msgspec.json.encode(structs.Changed("You are signed out.")))
        response.delete_cookie(_cookie_name(request), path="/")
        return response

    async def events(self, request: Request, user: PageUser) -> Response:
        """Stream the states of the documentation sources: first the current states, then each change."""
        name = user.caller.name
        if self._streams.total() >= MAX_STREAMS or self._streams[name] >= MAX_STREAMS_PER_CALLER:
            return _problem_response(503, f"Too many open pages: at most {MAX_STREAMS} can receive updates")
        self._streams[name] += 1
        headers = SECURITY_HEADERS | {"Cache-Control": "no-store"}
        stream = _Stream(self._source_events(request), media_type="text/event-stream", headers=headers)
        stream.on_end = partial(self._streams.subtract, (name,))
        return stream

    async def _source_events(self, request: Request) -> AsyncIterator[bytes]:
        last = b""
        while not await request.is_disconnected() and (user := await self._find_user(request)):
            result = await self._run_in_thread(_run_view, "sources", {}, user.caller)
            if isinstance(result, bytes) and result != last:
                last = result
                yield b"event: sources\ndata: " + result + b"\n\n"
            await anyio.sleep(STREAM_POLL_SECONDS)

    def _require_user(self, handle: Callable[[Request, PageUser], Awaitable[Response]]) -> Handler:
        """Return a handler that also requires a signed-in user and a request from the same origin."""

        async def handle_signed_in(request: Request) -> Response:
            user = await self._find_user(request)
            if user is None:
                return _problem_response(401, "You are not signed in. Open the link that `deltos ui` prints")
            if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
                return _problem_response(403, "This request did not come from the page")
            if wait_seconds := self._options.rate.wait_seconds(user.caller.name):
                return _problem_response(429, f"Too many requests; try again in {wait_seconds} s")
            return await handle(request, user)

        return handle_signed_in

    def _require_json_body(self, handle: Callable[[Request, PageUser, dict[str, Any]], Awaitable[Response]]) -> Handler:
        """Return a handler that also requires a signed-in user, the user's CSRF token and a JSON object as body."""

        async def handle_json(request: Request, user: PageUser) -> Response:
            if not are_equal_secrets(request.headers.get(CSRF_HEADER, ""), user.csrf) or not _is_own_origin(request):
                return _problem_response(403, "This request did not come from the page")
            body = await self._read_body(request)
            if isinstance(body, Response):
                return body
            try:
                given = msgspec.json.decode(body, type=dict[str, Any])
            except (msgspec.DecodeError, RecursionError):
                return _problem_response(400, "The body is not a JSON object")
            return await handle(request, user, given)

        return self._require_user(handle_json)

    async def _find_user(self, request: Request) -> PageUser | None:
        """Return the signed-in user, or None. The cookie is verified on every request."""
        cookie = request.cookies.get(_cookie_name(request), "")
        caller = await self._options.authenticate(cookie) if cookie else None
        return PageUser(caller, csrf_token(cookie)) if caller else None

    def _set_cookie(self, request: Request, cookie: str, response: Response) -> Response:
        # A proxy that terminates TLS forwards plain HTTP, but the `Origin` header of a form has the original scheme.
        is_secure = self._options.is_secure or request.headers.get("origin", "").lower().startswith("https://")
        response.set_cookie(
            _cookie_name(request),
            cookie,
            max_age=COOKIE_LIFETIME_SECONDS,
            httponly=True,
            samesite="strict",
            secure=is_secure,
            path="/",
        )
        return response

    async def _read_body(self, request: Request) -> bytes | Response:
        """Return the request body, or an error response if the body is too large or late."""
        parts = bytearray()
        try:
            with anyio.fail_after(self._options.body_seconds):
                async for piece in request.stream():
                    parts += piece
                    if len(parts) > MAX_BODY_BYTES:
                        return _problem_response(413, f"The request is larger than {MAX_BODY_BYTES:,} bytes")
        except TimeoutError:
            return _problem_response(408, "The request was not received in time", {"Connection": "close"})
        return bytes(parts)

    async def _run_in_thread(
        self, work: Callable[..., bytes | FailedCall], name: str, given: dict[str, str], caller: Caller
    ) -> bytes | FailedCall:
        return await self._threads.run(caller, partial(work, name, given, caller, self._tool_runner))


class _Stream(StreamingResponse):
    """Streaming response that calls `on_end` when it ends, even if the client read nothing."""

    on_end: Callable[[], None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.on_end()


def _run_view(name: str, given: dict[str, str], caller: Caller, tool_runner: ToolRunner) -> bytes | FailedCall:
    def work(toolbox: Toolbox) -> bytes:
        return b"" if toolbox.open_pages is None else toolbox.open_pages().show(name, given, caller.conversation)

    return tool_runner.run_confined(work, caller)


def _run_change(name: str, given: dict[str, str], caller: Caller, tool_runner: ToolRunner) -> bytes | FailedCall:
    def work(toolbox: Toolbox) -> bytes:
        return b"" if toolbox.open_pages is None else toolbox.open_pages().change(name, given, caller.conversation)

    return tool_runner.run_confined(work, caller)


def _cookie_name(request: Request) -> str:
    """Return a cookie name that contains the port, so that servers on the same host do not share cookies."""
    return f"deltos_page_{request.url.port or 0}"


def _is_own_origin(request: Request) -> bool:
    """Whether the request comes from this server's page, or from a program that is not a browser (no `Origin`)."""
    origin = request.headers.get("origin")
    return origin is None or origin.lower().rpartition("://")[2] == request.headers.get("host", "").lower()


def _json_response(result: bytes | FailedCall) -> Response:
    if isinstance(result, FailedCall):
        return _problem_response(
            400 if result.failure.is_bad_request else 500, result.failure.text.removeprefix("Error: ")
        )
    return Response(result, headers=SECURITY_HEADERS | {"Cache-Control": "no-store"}, media_type="application/json")


def _problem_response(status: int, message: str, more: dict[str, str] | None = None) -> Response:
    body = msgspec.json.encode(structs.Problem(message))
    headers = SECURITY_HEADERS | {"Cache-Control": "no-store"} | (more or {})
    return Response(body, status, headers, media_type="application/json")


def _file_response(name: str, status: int = 200) -> Response:
    headers = SECURITY_HEADERS | {"ETag": _etag_of(name), "Cache-Control": _cache_control(name)}
    return Response(_read_static_files()[name], status, headers, media_type=_MEDIA_TYPES[name.rpartition(".")[2]])


def _cache_control(name: str) -> str:
    """Return the `Cache-Control` header of a file. A file with a content digest in its name never changes."""
    if name.endswith(".html"):
        return "no-store"
    digest = name.rpartition(".")[0].rpartition("-")[2]
    is_named_after_content = len(digest) == _DIGEST_LETTERS and digest == digest.upper()
    return "public, max-age=31536000, immutable" if is_named_after_content else "no-cache"


@cache
def _read_static_files() -> dict[str, bytes]:
    """Return the contents of the web UI's static files by file name."""
    folder = resources.files("deltos.ui") / "static"
    names = [entry.name for entry in folder.iterdir() if entry.name.rpartition(".")[2] in _MEDIA_TYPES]
    return {name: (folder / name).read_bytes() for name in names}


@cache
def _etag_of(name: str) -> str:
    return f'"{hashlib.sha256(_read_static_files()[name]).hexdigest()[:32]}"'
