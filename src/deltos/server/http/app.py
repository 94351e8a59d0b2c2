"""Assembles the HTTP application: routes, guards, authentication and the SDK's session manager."""

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
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import Route

from deltos.open_stores import database_pool
from deltos.server.access import SCOPES, Level, required_level
from deltos.server.http import metrics as prometheus
from deltos.server.http.caller_id import caller_id
from deltos.server.http.callers import RequestCallers, VerifiedToken
from deltos.server.http.error_responses import error_response
from deltos.server.http.guard import HostGuard, RequestGuard, StoreGuard
from deltos.server.http.metrics import Metrics
from deltos.server.http.options import MCP_PATH
from deltos.server.http.origin import OriginPolicy
from deltos.server.http.rate_limit import RateLimit
from deltos.server.http.readiness import Readiness
from deltos.server.http.session_manager import SessionManager
from deltos.server.http.ui_routes import UiRouteOptions, UiRoutes
from deltos.server.protocol import McpHandlers, build_server
from deltos.tool import snake_case

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from mcp.server.lowlevel import Server
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Scope

    from deltos.server.caller import Caller
    from deltos.server.http.event_log import EventLog
    from deltos.server.http.options import HttpOptions
    from deltos.server.http.token_verifier import Verifier
    from deltos.server.manifest import Manifest
    from deltos.server.tool_runner import CallOutcome
    from deltos.server.toolset_watcher import ToolsetWatcher

    BuildServer = Callable[[Manifest, McpHandlers], Server[Any]]


@dataclass(frozen=True, slots=True)
class HttpApp:
    """The ASGI application, and the request guard that the server drains at shutdown."""

    asgi: ASGIApp
    request_guard: RequestGuard


def build_app(
    options: HttpOptions,
    watcher: ToolsetWatcher,
    verifier: Verifier | None,
    build: BuildServer = build_server,
    log: EventLog | None = None,
) -> HttpApp:
    """Return the application for `options`. If `verifier` is None, every client that can connect may call tools."""
    limits, metrics, manifest = options.limits, Metrics(), watcher.manifest
    callers = RequestCallers(options.start, options.roots)

    def observe(name: str, outcome: CallOutcome, seconds: float) -> None:
        tool = snake_case(name) if snake_case(name) in _required_levels(manifest) else "unknown"
        status = "ok" if not outcome.is_error else "refused" if outcome.is_bad_request else "error"
        metrics.count_call(tool, status, seconds)
        if log:
            log.write("call", tool=tool, outcome=status, ms=round(seconds * 1000, 1))

    def observe_request(scope: Scope, path: str, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in ("GET", "POST", "DELETE") else "other"
        metrics.count_request(path, method, status, seconds)
        if log:
            facts = {"path": path, "method": method, "status": status, "ms": round(seconds * 1000, 1)}
            log.write("request", "error" if status >= 500 else "info", caller=caller_id(scope).strip(), **facts)

    handlers = McpHandlers(manifest, watcher.tool_runner, callers.find_caller, observe, follow_roots=False)
    manager = SessionManager(
        build(manifest, handlers),
        session_idle_timeout=limits.session_idle_seconds,
        max_request_body_size=limits.body_bytes,
        max_sessions=limits.sessions,
    )
    rate = RateLimit(limits.calls_per_second, time.monotonic)
    request_guard = RequestGuard(
        manager.handle_request, limits, rate, lambda scope, body: _reject_missing_scope(scope, body, manifest)
    )
    metrics.add_gauge(
        "deltos_http_requests_in_flight", "HTTP requests being processed.", lambda: request_guard.in_flight
    )
    metrics.add_gauge("deltos_sessions", "Open sessions.", lambda: manager.session_count)
    metrics.add_pool(lambda: database_pool(watcher.config.database))
    readiness = Readiness(watcher.tool_runner, watcher.config.database, time.monotonic)
    ui_routes = UiRoutes(watcher.tool_runner, _ui_route_options(options, callers, verifier, rate))
    app = Starlette(
        routes=[
            *_build_routes(options, request_guard, metrics, readiness, requires_token=verifier is not None),
            *ui_routes.routes(),
        ],
        middleware=[Middleware(StoreGuard), *_authentication_middleware(verifier)],
        lifespan=lambda _app: _lifespan(manager, watcher, handlers),
    )
    return HttpApp(HostGuard(app, OriginPolicy.from_options(options), observe_request), request_guard)


@asynccontextmanager
async def _lifespan(manager: SessionManager, watcher: ToolsetWatcher, handlers: McpHandlers) -> AsyncIterator[None]:
    async with manager.run(), anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.watch, handlers)
        yield
        handlers.listen.close()
        tasks.cancel_scope.cancel()


def _build_routes(
    options: HttpOptions, request_guard: RequestGuard, metrics: Metrics, readiness: Readiness, *, requires_token: bool
) -> list[Route]:
    async def health(_: Request) -> Response:
        status = "shutting down" if request_guard.closed else "ok"
        return JSONResponse({"status": status}, status_code=503 if request_guard.closed else 200)

    async def ready(_: Request) -> Response:
        problem = "shutting down" if request_guard.closed else await readiness.find_problem()
        return JSONResponse({"status": problem or "ready"}, status_code=503 if problem else 200)

    async def show_metrics(_: Request) -> Response:
        return PlainTextResponse(metrics.render(), media_type=prometheus.CONTENT_TYPE)

    metrics_route = Route("/metrics", show_metrics, methods=["GET"])
    routes = [Route("/healthz", health, methods=["GET"]), Route("/readyz", ready, methods=["GET"])]
    if not requires_token:
        return [*routes, metrics_route, Route(MCP_PATH, request_guard)]
    metadata_url = build_resource_metadata_url(AnyHttpUrl(options.oauth.resource)) if options.oauth else None
    routes += [
        Route("/metrics", RequireAuthMiddleware(metrics_route.app, [Level.ADMIN.scope], metadata_url)),
        Route(MCP_PATH, RequireAuthMiddleware(request_guard, [Level.READ.scope], metadata_url)),
    ]
    return [*routes, *(_metadata_routes(options))]


def _metadata_routes(options: HttpOptions) -> list[Route]:
    """Return the routes of the OAuth metadata, which names the accepted issuer."""
    if options.oauth is None:
        return []
    return create_protected_resource_routes(
        AnyHttpUrl(options.oauth.resource), [AnyHttpUrl(options.oauth.issuer)], list(SCOPES), "Deltos"
    )


def _ui_route_options(
    options: HttpOptions,
    callers: RequestCallers,
    verifier: Verifier | None,
    rate: RateLimit,
) -> UiRouteOptions:
    """Return the options of the web UI, which accepts the same callers as the MCP endpoint."""

    async def authenticate(token: str) -> Caller | None:
        if verifier is None:
            return callers.ui_caller(None, "page")
        verified = await verifier.verify_token(token)
        expired = verified is not None and verified.expires_at is not None and verified.expires_at < time.time()
        if verified is None or expired:
            return None
        return callers.ui_caller(verified, f"token {verified.client_id} {verified.subject or ''}")

    return UiRouteOptions(
        authenticate=authenticate,
        asks_token=verifier is not None,
        is_open=verifier is None,
        is_secure=options.scheme == "https",
        rate=rate,
        body_seconds=options.limits.body_seconds,
    )


def _authentication_middleware(verifier: Verifier | None) -> list[Middleware]:
    if verifier is None:
        return []
    return [
        Middleware(AuthenticationMiddleware, backend=BearerAuthBackend(verifier)),
        Middleware(AuthContextMiddleware),
    ]


def _required_levels(manifest: Manifest) -> dict[str, Level]:
    """Return the required level of each offered tool."""
    hints = {listing["name"]: listing["annotations"] for listing in manifest.listings()}
    return {
        name: required_level(read_only=hint["readOnlyHint"], destructive=hint["destructiveHint"])
        for name, hint in hints.items()
    }


def _reject_missing_scope(scope: Scope, body: bytes, manifest: Manifest) -> Response | None:
    """Return a 403 response if the token's scope does not permit the called tool, or None if it does.

    The MCP specification requires this response, which clients use to request a wider scope. The tool runner checks the
    level again, independently of this function.
    """
    user = scope.get("user")
    token = user.access_token if isinstance(user, AuthenticatedUser) else None
    if not isinstance(token, VerifiedToken) or b"tools/call" not in body:
        return None
    needed = _required_levels(manifest).get(snake_case(_called_tool_name(json.loads(body))), Level.READ)
    if token.level >= needed:
        return None
    challenge = f'Bearer error="insufficient_scope", scope="{needed.scope}"'
    return error_response(403, f"This tool requires the scope '{needed.scope}'", {"WWW-Authenticate": challenge})


def _called_tool_name(message: dict[str, Any]) -> str:
    name = (message.get("params") or {}).get("name") if message.get("method") == "tools/call" else None
    return name if isinstance(name, str) else ""
