"""Command-line options of `deltos mcp --http`."""

from __future__ import annotations

import argparse
import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from deltos.config import LOG_FORMATS
from deltos.errors import BadArgument
from deltos.files import given_path

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

DEFAULT_ADDRESS = "127.0.0.1:8731"
DEFAULT_PORT = 8731
MCP_PATH = "/mcp"
SHUTDOWN_SECONDS_AFTER_GRACE = 2.0
"""Time for closing streams, unfinished answers and files after the grace period for running calls."""
_MAX_NUMBER = 1_000_000
_DESCRIPTION = """\
Serve projects to MCP clients over streamable HTTP, at /mcp.

On loopback (the default), every program on this machine may call the server. With any other address or --allow-host,
each caller needs a bearer token from `deltos token create` or from an OAuth issuer. See docs/http.md."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Resource limits of a server."""

    body_bytes: int = 4 * 1024 * 1024
    calls_per_second: float = 0.0  # limit per caller; 0 means no limit
    concurrent_requests: int = 768
    sessions: int = 1_000
    connections: int = 4_096
    session_idle_seconds: float = 1_800.0
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    grace_seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """Requirements for access tokens: JWTs from `issuer` for `resource`, signed with a key from `jwks_url`."""

    issuer: str
    resource: str
    jwks_url: str


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Parsed options of the HTTP server."""

    host: str
    port: int
    start: Path
    toolsets: str = ""
    roots: tuple[Path, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] = ()
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    oauth: OAuthSettings | None = None
    require_token: bool = False
    limits: ServerLimits = ServerLimits()
    profile: str = ""
    log_format: str = ""

    @property
    def requires_token(self) -> bool:
        """Whether every caller needs a token. Only a loopback server may accept callers without a token."""
        local = is_loopback(self.host) and all(is_loopback(host_name(host)) for host in self.allowed_hosts)
        return self.require_token or self.oauth is not None or not local

    @property
    def scheme(self) -> str:
        """`https` if there is a certificate, or `http`."""
        return "https" if self.tls_certificate else "http"


def parse_options(words: Sequence[str]) -> HttpOptions:
    """Parse the command line. Exit with a usage message if it is invalid."""
    given = _build_parser().parse_args(list(words))
    host, port = parse_address(given.http)
    start = given_path(given.path).resolve()
    roots = tuple(given_path(root).resolve() for root in given.root) or (start,)
    for folder in (start, *roots):
        if not folder.is_dir():
            raise BadArgument(f"not a folder: {folder}", hint="Give the root of a project.")
    return HttpOptions(
        host, port, start, given.toolsets, roots,
        allowed_hosts=tuple(host.lower() for host in given.allow_host),
        allowed_origins=tuple(origin.lower().rstrip("/") for origin in given.allow_origin),
        tls_certificate=_existing_file(given.tls_cert),
        tls_key=_existing_file(given.tls_key),
        oauth=_oauth_settings(given),
        require_token=given.require_token,
        limits=_server_limits(given, local=is_loopback(host)),
        profile=given.profile,
        log_format=given.log_format,
    )  # fmt: skip


def parse_address(text: str) -> tuple[str, int]:
    """Parse `HOST:PORT`, `HOST`, `[IPV6]:PORT` or `PORT`. Use the default for a missing host or port."""
    if text.isdecimal():
        text = f"127.0.0.1:{text}"
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or parts.path or parts.username:
        raise BadArgument(f"not an address: {text}", hint=f"Give HOST:PORT, such as {DEFAULT_ADDRESS}.")
    return host, DEFAULT_PORT if port is None else port


def is_loopback(host: str) -> bool:
    """Whether the name or address `host` always refers to this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_name(text: str) -> str:
    """Return the host name in `HOST` or `HOST:PORT`, or an empty string if the text is invalid."""
    try:
        return urlsplit(f"//{text}").hostname or ""
    except ValueError:
        return ""


def _oauth_settings(given: argparse.Namespace) -> OAuthSettings | None:
    if not (given.oauth_issuer or given.oauth_resource or given.oauth_jwks):
        return None
    if not (given.oauth_issuer and given.oauth_resource):
        raise BadArgument("--oauth-issuer and --oauth-resource must be used together", hint="Give both options.")
    jwks_url = given.oauth_jwks or f"{given.oauth_issuer.rstrip('/')}/.well-known/jwks.json"
    return OAuthSettings(given.oauth_issuer, given.oauth_resource, jwks_url)


def _server_limits(given: argparse.Namespace, *, local: bool) -> ServerLimits:
    rate = given.rate if given.rate is not None else 0.0 if local else 50.0
    return ServerLimits(
        body_bytes=int(given.max_body_mb * 1024 * 1024),
        calls_per_second=rate,
        concurrent_requests=given.max_concurrent,
        sessions=given.max_sessions,
        grace_seconds=given.grace,
    )


def _existing_file(text: str) -> Path | None:
    if not text:
        return None
    path = given_path(text).resolve()
    if not path.is_file():
        raise BadArgument(f"no such file: {text}", hint="Pass the path of a PEM file.")
    return path


def _positive_int(text: str) -> int:
    number = int(text)
    if not 1 <= number <= _MAX_NUMBER:
        raise ValueError
    return number


def _non_negative(text: str) -> float:
    number = float(text)
    if not 0 <= number <= _MAX_NUMBER:  # also rejects NaN
        raise ValueError
    return number


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="deltos mcp", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("path", nargs="?", default=".", help="default project of calls; default: the current folder")
    add("--http", nargs="?", const=DEFAULT_ADDRESS, metavar="HOST:PORT", help=f"default: {DEFAULT_ADDRESS}")
    add("--toolsets", default="", metavar="LIST", help="comma-separated toolsets to serve; default: all")
    add("--profile", default="", metavar="NAME", help="full: list all tools; lean: only the search and memory tools")
    add("--log-format", default="", choices=LOG_FORMATS, help="format of the log on stderr: text or JSON lines")
    add("--root", action="append", default=[], metavar="PATH", help="folder whose projects may be read; default: PATH")
    add("--allow-host", action="append", default=[], metavar="NAME", help="host name under which clients connect")
    add("--allow-origin", action="append", default=[], metavar="ORIGIN", help="web origin that may call the server")
    add("--require-token", action="store_true", help="require a token even on loopback")
    add("--tls-cert", default="", metavar="FILE", help="certificate chain (PEM)")
    add("--tls-key", default="", metavar="FILE", help="private key (PEM); default: in the certificate file")
    add("--oauth-issuer", default="", metavar="URL", help="accept access tokens (JWT) from this issuer")
    add("--oauth-resource", default="", metavar="URL", help="URL of this server; tokens must have it as audience")
    add("--oauth-jwks", default="", metavar="URL", help="the issuer's keys; default: ISSUER/.well-known/jwks.json")
    add(
        "--rate",
        type=_non_negative,
        metavar="N",
        help="requests per second and caller; default: 50; on loopback: no limit",
    )
    add("--max-concurrent", type=_positive_int, default=768, metavar="N", help="concurrent requests; default: 768")
    add("--max-sessions", type=_positive_int, default=1_000, metavar="N", help="open sessions; default: 1000")
    add(
        "--max-body-mb",
        type=_non_negative,
        default=4.0,
        metavar="N",
        help="maximum request size in megabytes; default: 4",
    )
    add(
        "--grace",
        type=_non_negative,
        default=2.0,
        metavar="SECONDS",
        help="time to finish calls at shutdown; default: 2",
    )
    return parser
