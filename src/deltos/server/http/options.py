"""What `deltos mcp --http` was asked for: reads its command line, checks that the parts fit together."""

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
END_SECONDS_AFTER_GRACE = 2.0
"""For streams, for answers that are cut off and for files to be closed, after the grace for running calls."""
_MOST = 1_000_000
_DESCRIPTION = """\
Serve projects to MCP clients over streamable HTTP, at /mcp.

On loopback (the default) anyone on this machine may call. Any other address, and any --allow-host, demands a
bearer token of each caller: `deltos token create`, or tokens of an OAuth issuer. See docs/http.md."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """How much one server takes on."""

    body_bytes: int = 4 * 1024 * 1024
    calls_per_second: float = 0.0  # per caller; 0: no limit
    concurrent_requests: int = 768
    sessions: int = 1_000
    connections: int = 4_096
    session_idle_seconds: float = 1_800.0
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    grace_seconds: float = 2.0


@dataclass(frozen=True, slots=True)
class OAuthSettings:
    """Whose access tokens are accepted: JWTs of `issuer` for `resource`, signed by a key of `jwks_url`."""

    issuer: str
    resource: str
    jwks_url: str


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """Everything that was asked for."""

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
    workers: int = 1
    log_format: str = ""

    @property
    def demands_token(self) -> bool:
        """Whether every caller must show a token: always, unless only this machine can call."""
        local = is_loopback(self.host) and all(is_loopback(host_name(host)) for host in self.allowed_hosts)
        return self.require_token or self.oauth is not None or not local

    @property
    def scheme(self) -> str:
        """`https` with a certificate."""
        return "https" if self.tls_certificate else "http"


def parse_options(words: Sequence[str]) -> HttpOptions:
    """Read the command line. Exits with a usage message when it is not understood, like every command."""
    given = _parser().parse_args(list(words))
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
        tls_certificate=_file(given.tls_cert),
        tls_key=_file(given.tls_key),
        oauth=_oauth(given),
        require_token=given.require_token,
        limits=_limits(given, local=is_loopback(host)),
        profile=given.profile,
        workers=given.workers,
        log_format=given.log_format,
    )  # fmt: skip


def parse_address(text: str) -> tuple[str, int]:
    """`HOST:PORT`, `HOST`, `[IPV6]:PORT` or `PORT`, with our defaults for what is missing."""
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
    """Whether only this machine is reached under that name."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_name(text: str) -> str:
    """The name in a `Host` header or an allowed host, without its port; empty when there is none."""
    try:
        return urlsplit(f"//{text}").hostname or ""
    except ValueError:
        return ""


def _oauth(given: argparse.Namespace) -> OAuthSettings | None:
    if not (given.oauth_issuer or given.oauth_resource or given.oauth_jwks):
        return None
    if not (given.oauth_issuer and given.oauth_resource):
        raise BadArgument("--oauth-issuer and --oauth-resource belong together", hint="Give both.")
    jwks_url = given.oauth_jwks or f"{given.oauth_issuer.rstrip('/')}/.well-known/jwks.json"
    return OAuthSettings(given.oauth_issuer, given.oauth_resource, jwks_url)


def _limits(given: argparse.Namespace, *, local: bool) -> ServerLimits:
    rate = given.rate if given.rate is not None else 0.0 if local else 50.0
    return ServerLimits(
        body_bytes=int(given.max_body_mb * 1024 * 1024),
        calls_per_second=rate,
        concurrent_requests=given.max_concurrent,
        sessions=given.max_sessions,
        grace_seconds=given.grace,
    )


def _file(text: str) -> Path | None:
    if not text:
        return None
    path = given_path(text).resolve()
    if not path.is_file():
        raise BadArgument(f"no such file: {text}", hint="Give a PEM file.")
    return path


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= _MOST:
        raise ValueError
    return number


def _amount(text: str) -> float:
    number = float(text)
    if not 0 <= number <= _MOST:  # "nan" is not
        raise ValueError
    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="deltos mcp", description=_DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("path", nargs="?", default=".", help="the project that calls mean when they name none")
    add("--http", nargs="?", const=DEFAULT_ADDRESS, metavar="HOST:PORT", help=f"default: {DEFAULT_ADDRESS}")
    add("--toolsets", default="", metavar="LIST", help="serve only these toolsets, comma-separated")
    add("--profile", default="", metavar="NAME", help="list all tools (full) or the six that answer questions (lean)")
    add("--log-format", default="", choices=LOG_FORMATS, help="what stderr gets: text, or lines of JSON")
    add("--root", action="append", default=[], metavar="PATH", help="folder whose projects may be read; default: PATH")
    add("--allow-host", action="append", default=[], metavar="NAME", help="name under which clients reach the server")
    add("--allow-origin", action="append", default=[], metavar="ORIGIN", help="web page origin that may call")
    add("--require-token", action="store_true", help="demand a token on loopback too")
    add("--tls-cert", default="", metavar="FILE", help="certificate chain (PEM)")
    add("--tls-key", default="", metavar="FILE", help="private key (PEM), unless the certificate file has it")
    add("--oauth-issuer", default="", metavar="URL", help="accept access tokens (JWT) of this issuer")
    add("--oauth-resource", default="", metavar="URL", help="our own URL, which those tokens must be meant for")
    add("--oauth-jwks", default="", metavar="URL", help="the issuer's keys; default: ISSUER/.well-known/jwks.json")
    add("--rate", type=_amount, metavar="N", help="requests per second and caller; default: 50, on loopback no limit")
    add("--max-concurrent", type=_count, default=768, metavar="N", help="requests at once (768), of one caller 3/4")
    add("--max-sessions", type=_count, default=1_000, metavar="N", help="open sessions (1000)")
    add("--workers", type=_count, default=1, metavar="N", help="processes that serve the port (1); needs a database")
    add("--max-body-mb", type=_amount, default=4.0, metavar="N", help="megabytes of one request (4)")
    add("--grace", type=_amount, default=2.0, metavar="SECONDS", help="time for running calls after SIGTERM (2)")
    return parser
