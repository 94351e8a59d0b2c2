"""Authentication and authorization: own tokens, OAuth tokens, scopes and projects."""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
import time
import urllib.request
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from deltos.open_stores import open_tokens
from deltos.server.access import Level, Tokens
from tests.server.over_http.served import Served, rpc, tool_call
from tests.server.raw import environment, initialize_params, toy_command

if TYPE_CHECKING:
    from pathlib import Path

    from tests.loopback import Site
    from tests.server.over_http.conftest import Serve
    from tests.server.over_http.served import Reply

OPENING = rpc("initialize", initialize_params("2025-11-25"))
RESOURCE = "https://deltos.example/mcp"


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def create_token(
    home: Path, level: Level, *projects: Path | str, lifetime: int | None = 3_600, now: float = 0, database: str = ""
) -> str:
    store = open_tokens(home, database)
    text = Tokens(store, lambda: now or time.time()).create("t", level, [str(path) for path in projects], lifetime)[1]
    store.close()
    return text


def tool_names(server: Served, session: dict[str, str]) -> set[str]:
    return {tool["name"] for tool in server.post(rpc("tools/list"), session).message["result"]["tools"]}


@pytest.fixture
def token_server(serve: Serve, tmp_path: Path) -> Served:
    """A server on loopback that requires a token."""
    return serve("--require-token")


def assert_refused(reply: Reply) -> None:
    assert reply.status == 401
    assert reply.headers["www-authenticate"].startswith('Bearer error="invalid_token"')
    assert reply.message == {"error": "invalid_token", "error_description": "Authentication required"}


def test_only_valid_tokens_are_accepted(serve: Serve, tmp_path: Path) -> None:
    valid, revoked = create_token(tmp_path, Level.READ), create_token(tmp_path, Level.READ)
    expired = create_token(tmp_path, Level.READ, lifetime=60, now=1_000_000)
    store = open_tokens(tmp_path)
    store.revoke(revoked.split("_")[1], 1)
    token_server = serve("--require-token")
    assert "bearer token required" in token_server.announcement
    wrong = (expired, revoked, valid[:-1], valid + "x", valid.replace("dlt", "abc"), "", "dlt_", "dlt_x_y", "\x80")
    assert_refused(token_server.post(OPENING))
    for text in wrong:
        assert_refused(token_server.post(OPENING, bearer(text)))
    assert_refused(token_server.post(OPENING, {"Authorization": f"Basic {valid}"}))
    assert_refused(token_server.request(path="/metrics"))
    assert token_server.post(OPENING, bearer(valid)).status == 200
    assert token_server.request(path="/healthz").status == 200
    store.revoke(valid.split("_")[1], int(time.time()))
    assert_refused(token_server.post(OPENING, bearer(valid)))
    store.close()


def test_a_token_permits_only_the_tools_of_its_scope(serve: Serve, tmp_path: Path) -> None:
    tokens = {level: create_token(tmp_path, level) for level in Level}
    token_server = serve("--require-token")
    sessions = {level: token_server.open_session(bearer(token)) for level, token in tokens.items()}
    assert {"shout", "erase"}.isdisjoint(tool_names(token_server, sessions[Level.READ]))
    assert tool_names(token_server, sessions[Level.WRITE]) >= {"echo", "shout"}
    assert tool_names(token_server, sessions[Level.ADMIN]) >= {"echo", "shout", "erase"}
    for level, tool, scope in ((Level.READ, "shout", "write"), (Level.WRITE, "erase", "admin")):
        reply = token_server.post(tool_call(tool), sessions[level])
        assert reply.status == 403
        assert reply.headers["www-authenticate"] == f'Bearer error="insufficient_scope", scope="{scope}"'
    assert token_server.text("erase", sessions[Level.ADMIN]) == "gone"
    assert token_server.request(path="/metrics", headers=bearer(tokens[Level.WRITE])).status == 403
    assert token_server.request(path="/metrics", headers=bearer(tokens[Level.ADMIN])).status == 200


def test_the_scope_is_checked_even_if_the_body_hides_the_tool_name(serve: Serve, tmp_path: Path) -> None:
    token = create_token(tmp_path, Level.READ)
    token_server = serve("--require-token")
    session = token_server.open_session(bearer(token))
    escaped = json.dumps(tool_call("erase")).replace("tools/call", "tools\\u002fcall").encode()
    result = token_server.post(escaped, session).message["result"]
    assert result["isError"] is True
    assert "requires the scope 'admin'" in result["content"][0]["text"]


def test_a_session_belongs_to_the_token_that_opened_it(serve: Serve, tmp_path: Path) -> None:
    one, other = create_token(tmp_path, Level.READ), create_token(tmp_path, Level.READ)
    token_server = serve("--require-token")
    session = token_server.open_session(bearer(one))
    assert token_server.post(rpc("ping"), {**session, **bearer(other)}).status == 404
    assert token_server.post(rpc("ping"), session).status == 200


def test_a_caller_above_the_rate_limit_has_to_wait(serve: Serve, tmp_path: Path) -> None:
    eager, calm = create_token(tmp_path, Level.READ), create_token(tmp_path, Level.READ)
    token_server = serve("--require-token", "--rate", "0.01")
    statuses = [token_server.post(OPENING, bearer(eager)).status for _ in range(2)]
    reply = token_server.post(OPENING, bearer(eager))
    assert statuses == [200, 429]
    assert reply.status == 429
    assert 1 <= int(reply.headers["retry-after"]) <= 100
    assert token_server.post(OPENING, bearer(calm)).status == 200


@pytest.mark.parametrize("arguments", [["0.0.0.0:0"], ["127.0.0.1:0", "--allow-host", "deltos.example"]])
def test_listening_on_a_non_loopback_address_requires_tokens(
    arguments: list[str], manifest_path: Path, tmp_path: Path, serve: Serve
) -> None:
    command = toy_command(manifest_path, str(tmp_path), "--http", *arguments)
    refused = subprocess.run(command, capture_output=True, text=True, env=environment(tmp_path))
    assert refused.returncode == 2
    assert "a token is required, but no valid token exists" in refused.stderr
    token = create_token(tmp_path, Level.READ)
    server = serve(*arguments[1:], address=arguments[0])
    server.wait_for_log("tokens are sent without encryption")
    server.address = server.address._replace(netloc=server.address.netloc.replace("0.0.0.0", "127.0.0.1"))
    assert_refused(server.post(OPENING))
    assert server.post(OPENING, bearer(token)).status == 200
    foreign = server.post(OPENING, {**bearer(token), "Host": "deltos.example"})
    assert foreign.status == (200 if "--allow-host" in arguments else 421)


def test_a_token_for_one_project_cannot_read_others(tmp_path: Path) -> None:
    for name in ("mine", "theirs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(f"def of_{name}(): pass\n")
    mine, theirs = tmp_path / "mine", tmp_path / "theirs"
    everywhere = bearer(create_token(tmp_path, Level.WRITE))
    limited = bearer(create_token(tmp_path, Level.WRITE, mine, tmp_path / "gone", tmp_path.parent))
    elsewhere = bearer(create_token(tmp_path, Level.WRITE, tmp_path.parent))
    command = [sys.executable, "-P", "-m", "deltos", "mcp", str(theirs), "--http", "127.0.0.1:0", "--require-token"]
    server = Served([*command, "--root", str(tmp_path)], tmp_path)
    try:
        narrow, wide = server.open_session(limited), server.open_session(everywhere)
        assert "of_theirs" in server.text("search_code", wide, query="of_theirs")
        assert "of_mine" in server.text("search_code", narrow, query="of_mine")
        for path in (theirs, tmp_path.parent, "/"):
            assert "outside the folders" in server.text("get_stats", narrow, project_path=str(path))
        assert "outside the folders" in server.text("get_stats", wide, project_path=str(tmp_path.parent))
        lost = server.open_session(elsewhere)
        for tool, arguments in (("get_stats", {}), ("add_source", {"url": "a.py", "name": "a"})):
            assert server.call(tool, lost, **arguments)["isError"] is True
        assert "def of_theirs" in server.text("search", wide, query="theirs")
        for session in (narrow, lost):
            assert "def of_theirs" not in server.text("search", session, query="theirs")
        kept = server.call("remember", wide, text="We use SQLite in their project")["structuredContent"]["id"]
        assert server.call("fetch", narrow, id=kept)["isError"] is True
        assert kept in server.text("search", wide, query="SQLite")
        assert kept not in server.text("search", narrow, query="SQLite")
        assert kept not in server.text("search", narrow, query="SQLite", project_id="all")
    finally:
        server.shut_down()


def create_certificate(folder: Path) -> Path:
    """Create a self-signed certificate for localhost with its key in one file."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = folder / "server.pem"
    path.write_bytes(
        signed.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return path


def test_a_certificate_enables_https(serve: Serve, tmp_path: Path) -> None:
    path = create_certificate(tmp_path)
    server = serve("--tls-cert", str(path))
    trusting = ssl.create_default_context(cafile=str(path))
    url = server.url.replace("127.0.0.1", "localhost").replace("/mcp", "/healthz")
    assert url.startswith("https://")
    with urllib.request.urlopen(url, context=trusting) as answer:
        assert json.load(answer) == {"status": "ok"}


class Issuer:
    """An OAuth issuer that publishes its keys on a loopback site."""

    def __init__(self, site: Site) -> None:
        self.url = site.url
        self._key = rsa.generate_private_key(65537, 2048)
        public = jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key(), as_dict=True)
        keys = {"keys": [{**public, "kid": "k1", "use": "sig", "alg": "RS256"}]}
        site.text("/.well-known/jwks.json", json.dumps(keys), "application/json")

    def token(self, **claims: Any) -> str:
        default_claims = {
            "iss": self.url,
            "aud": RESOURCE,
            "exp": time.time() + 600,
            "sub": "ann",
            "scope": "openid read",
        }
        return jwt.encode({**default_claims, **claims}, self._key, algorithm="RS256", headers={"kid": "k1"})


def test_tokens_of_the_configured_issuer_are_accepted(serve: Serve, site: Site) -> None:
    issuer = Issuer(site)
    server = serve("--oauth-issuer", issuer.url, "--oauth-resource", RESOURCE)
    assert server.post(OPENING, bearer(issuer.token())).status == 200
    admin = server.open_session(bearer(issuer.token(scope="deltos:admin", client_id="ci")))
    assert server.text("erase", admin) == "gone"
    reader = server.open_session(bearer(issuer.token(scope=None, scp=["read"])))
    assert server.post(tool_call("erase"), reader).status == 403


def test_invalid_tokens_of_an_issuer_are_rejected(serve: Serve, site: Site) -> None:
    issuer, stranger = Issuer(site), Issuer(site)
    server = serve("--oauth-issuer", stranger.url, "--oauth-resource", RESOURCE)
    unsigned = jwt.encode({"iss": issuer.url, "aud": RESOURCE, "exp": time.time() + 9, "scope": "admin"}, "", "none")
    wrong = (
        issuer.token(),  # signed by a key that is not published
        stranger.token(aud="https://other.example/mcp"),
        stranger.token(iss="https://other.example"),
        stranger.token(exp=time.time() - 600),
        stranger.token(scope="openid"),
        unsigned,
        "no.jwt.atall",
    )
    for token in wrong:
        reply = server.post(OPENING, bearer(token))
        assert reply.status == 401
        assert "resource_metadata=" in reply.headers["www-authenticate"]


def test_an_unauthorized_response_names_the_authorization_server(serve: Serve, site: Site) -> None:
    server = serve("--oauth-issuer", Issuer(site).url, "--oauth-resource", RESOURCE)
    metadata = server.request(path="/.well-known/oauth-protected-resource/mcp").message
    assert metadata["resource"] == RESOURCE
    assert metadata["authorization_servers"] == [f"{site.url}/"]
    assert metadata["scopes_supported"] == ["read", "write", "admin"]
