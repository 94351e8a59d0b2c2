"""Puts the HTTP server together: routes, guards, tokens, the SDK's session manager."""

from __future__ import annotations

import json
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from deltos.open_stores import database_pools
from deltos.server.access import SCOPES, Level, level_needed
from deltos.server.http import metrics as prometheus
from deltos.server.http.callers import caller_of
from deltos.server.http.conversations import Conversations, VerifiedToken
from deltos.server.http.guard import HostGuard, RequestGuard, StoreGuard
from deltos.server.http.metrics import Metrics
from deltos.server.http.options import MCP_PATH
from deltos.server.http.origin import OriginPolicy
from deltos.server.http.page import Page, PageOptions
from deltos.server.http.page_entries import SharedEntries
from deltos.server.http.page_sessions import PageSessions
from deltos.server.http.rate import RateLimit
from deltos.server.http.readiness import Readiness
from deltos.server.http.refusal import refusal
from deltos.server.http.sessions import Sessions
from deltos.server.http.shared_sessions import SharedSessions
from deltos.server.protocol import Surface, build_server
from deltos.tool import snake_case

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp.server.lowlevel import Server
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Scope

    from deltos.server.caller import Caller
    from deltos.server.choice import Choice
    from deltos.server.http.event_log import EventLog
    from deltos.server.http.options import HttpOptions
    from deltos.server.http.page_entries import PageEntries
    from deltos.server.http.verify import Verifier
    from deltos.server.manifest import Manifest
    from deltos.server.workbench import Outcome
    from deltos.store.http_sessions import SessionRecords

    Build = Callable[[Manifest, Surface], Server[Any]]


@dataclass(frozen=True, slots=True)
class HttpApp:
    """The application, and its gate, which the server closes at the end."""

    asgi: ASGIApp
    gate: RequestGuard


def build_app(
    options: HttpOptions,
    choice: Choice,
    verifier: Verifier | None,
    build: Build = build_server,
    sessions_kept: SessionRecords | None = None,
    log: EventLog | None = None,
) -> HttpApp:
    """The application for `options`; without a verifier anyone who reaches it may call."""
    limits, metrics, manifest = options.limits, Metrics(), choice.manifest
    conversations = Conversations(options.start, options.roots)

    def observe(name: str, outcome: Outcome, seconds: float) -> None:
        tool = snake_case(name) if snake_case(name) in _levels(manifest) else "unknown"
        told = "ok" if not outcome.is_error else "refused" if outcome.is_bad_request else "error"
        metrics.call(tool, told, seconds)
        if log:
            log.write("call", tool=tool, outcome=told, ms=round(seconds * 1000, 1))

    def observe_request(scope: Scope, path: str, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in ("GET", "POST", "DELETE") else "other"
        metrics.request(path, method, status, seconds)
        if log:
            facts = {"path": path, "method": method, "status": status, "ms": round(seconds * 1000, 1)}
            log.write("request", "error" if status >= 500 else "info", caller=caller_of(scope).strip(), **facts)

    surface = Surface(manifest, choice.workbench, conversations.receive, observe, follow_roots=False)
    manager = StreamableHTTPSessionManager(
        build(manifest, surface),
        session_idle_timeout=limits.session_idle_seconds,
        max_request_body_size=limits.body_bytes,
        max_sessions=None,  # `Sessions` shares them out
    )
    rate = RateLimit(limits.calls_per_second, time.monotonic)
    shared = SharedSessions(sessions_kept) if sessions_kept else None
    sessions = Sessions(manager.handle_request, limits.sessions, limits.session_idle_seconds, time.monotonic, shared)
    gate = RequestGuard(sessions, limits, rate, lambda scope, body: _scope_refusal(scope, body, manifest))
    metrics.gauge("deltos_http_requests_in_flight", "Requests that are being answered.", lambda: gate.in_flight)
    metrics.gauge("deltos_sessions", "Open sessions.", lambda: sessions.count)
    metrics.pools(lambda: database_pools(choice.config.database))
    readiness = Readiness(choice.workbench, choice.config.database, time.monotonic)
    entries = SharedEntries(shared) if shared else None
    page = Page(choice.workbench, _page_options(options, conversations, verifier, rate, entries))
    app = Starlette(
        routes=[*_routes(options, gate, metrics, readiness, guarded=verifier is not None), *page.routes()],
        middleware=[Middleware(StoreGuard), *_authentication(verifier)],
        lifespan=lambda _app: _running(manager, choice, surface),
    )
    return HttpApp(HostGuard(app, OriginPolicy.of(options), observe_request), gate)


@asynccontextmanager
async def _running(manager: StreamableHTTPSessionManager, choice: Choice, surface: Surface) -> AsyncIterator[None]:
    async with manager.run(), anyio.create_task_group() as tasks:
        tasks.start_soon(choice.follow, surface)
        yield
        surface.listen.close()
        tasks.cancel_scope.cancel()


def _routes(
    options: HttpOptions, gate: RequestGuard, metrics: Metrics, readiness: Readiness, *, guarded: bool
) -> list[Route]:
    async def health(_: Request) -> Response:
        status = "shutting down" if gate.closed else "ok"
        return JSONResponse({"status": status}, status_code=503 if gate.closed else 200)

    async def ready(_: Request) -> Response:
        trouble = "shutting down" if gate.closed else await readiness.trouble()
        return JSONResponse({"status": trouble or "ready"}, status_code=503 if trouble else 200)

    async def show_metrics(_: Request) -> Response:
        return PlainTextResponse(metrics.text(), media_type=prometheus.CONTENT_TYPE)

    shown = Route("/metrics", show_metrics, methods=["GET"])
    routes = [Route("/healthz", health, methods=["GET"]), Route("/readyz", ready, methods=["GET"])]
    if not guarded:
        return [*routes, shown, Route(MCP_PATH, gate)]
    metadata_url = build_resource_metadata_url(AnyHttpUrl(options.oauth.resource)) if options.oauth else None
    routes += [
        Route("/metrics", RequireAuthMiddleware(shown.app, [Level.ADMIN.scope], metadata_url)),
        Route(MCP_PATH, RequireAuthMiddleware(gate, [Level.READ.scope], metadata_url)),
    ]
    return [*routes, *(_metadata_routes(options))]


def _metadata_routes(options: HttpOptions) -> list[Route]:
    """Where clients learn which issuer's tokens are accepted."""
    if options.oauth is None:
        return []
    return create_protected_resource_routes(
        AnyHttpUrl(options.oauth.resource), [AnyHttpUrl(options.oauth.issuer)], list(SCOPES), "Deltos"
    )


def _page_options(
    options: HttpOptions,
    conversations: Conversations,
    verifier: Verifier | None,
    rate: RateLimit,
    entries: PageEntries | None,
) -> PageOptions:
    """The page for people lets in whom the protocol lets in: with a token, or anyone where only this machine calls."""

    async def admit(token: str) -> Caller | None:
        if verifier is None:
            return conversations.visitor(None, "page")
        verified = await verifier.verify_token(token)
        expired = verified is not None and verified.expires_at is not None and verified.expires_at < time.time()
        if verified is None or expired:
            return None
        return conversations.visitor(verified, f"token {verified.client_id} {verified.subject or ''}")

    return PageOptions(
        sessions=PageSessions(time.monotonic),
        admit=admit,
        asks_token=verifier is not None,
        is_open=verifier is None,
        is_secure=options.scheme == "https",
        rate=rate,
        body_seconds=options.limits.body_seconds,
        entries=entries,
    )


def _authentication(verifier: Verifier | None) -> list[Middleware]:
    if verifier is None:
        return []
    return [
        Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(verifier)),
        Middleware(AuthContextMiddleware),
    ]


def _levels(manifest: Manifest) -> dict[str, Level]:
    """The level that each tool on offer asks for."""
    hints = {listing["name"]: listing["annotations"] for listing in manifest.listings()}
    return {
        name: level_needed(read_only=hint["readOnlyHint"], destructive=hint["destructiveHint"])
        for name, hint in hints.items()
    }


def _scope_refusal(scope: Scope, body: bytes, manifest: Manifest) -> Response | None:
    """The 403 that the specification asks for when a token does not reach a tool.

    It lets clients ask for a wider scope; the workbench refuses the call anyway, whatever is made of the body here.
    """
    user = scope.get("user")
    shown = user.access_token if isinstance(user, AuthenticatedUser) else None
    if not isinstance(shown, VerifiedToken) or b"tools/call" not in body:
        return None
    needed = _levels(manifest).get(snake_case(_called_tool(json.loads(body))), Level.READ)
    if shown.level >= needed:
        return None
    challenge = f'Bearer error="insufficient_scope", scope="{needed.scope}"'
    return refusal(403, f"This tool needs the scope '{needed.scope}'", {"WWW-Authenticate": challenge})


def _called_tool(message: dict[str, Any]) -> str:
    name = (message.get("params") or {}).get("name") if message.get("method") == "tools/call" else None
    return name if isinstance(name, str) else ""
