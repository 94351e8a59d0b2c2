"""Command line of `deltos mcp --http`, and the accepted hosts and origins."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from deltos.errors import BadArgument
from deltos.server.http.metrics import Metrics
from deltos.server.http.options import HttpOptions, parse_address, parse_options
from deltos.server.http.origin import OriginPolicy
from deltos.server.http.port import open_port


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9", ("127.0.0.1", 9)),
        ("9000", ("127.0.0.1", 9000)),
        ("localhost", ("localhost", 8731)),
        ("[::1]:9", ("::1", 9)),
        ("0.0.0.0:0", ("0.0.0.0", 0)),
    ],
)
def test_addresses_are_parsed(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", ":9", "a:b", "a:99999", "http://a", "u@a:1", "a/b", "["])
def test_invalid_addresses_are_rejected(text: str) -> None:
    with pytest.raises(BadArgument, match="not an address"):
        parse_address(text)


def test_the_defaults_are_for_one_user_on_one_machine(tmp_path: Path) -> None:
    options = parse_options([str(tmp_path), "--http"])
    assert (options.host, options.port, options.scheme) == ("127.0.0.1", 8731, "http")
    assert options.roots == (tmp_path.resolve(),)
    assert options.requires_token is False
    assert options.limits.calls_per_second == 0


@pytest.mark.parametrize(
    "words",
    [
        ["--http", "0.0.0.0"],
        ["--http", "192.0.2.1:1"],
        ["--http", "--allow-host", "a.example"],
        ["--http", "--require-token"],
    ],
)
def test_a_server_for_other_machines_requires_tokens(words: list[str], tmp_path: Path) -> None:
    assert parse_options([str(tmp_path), *words]).requires_token is True


def test_a_server_for_other_machines_has_a_rate_limit_by_default(tmp_path: Path) -> None:
    assert parse_options([str(tmp_path), "--http", "0.0.0.0"]).limits.calls_per_second == 50
    assert parse_options([str(tmp_path), "--http", "0.0.0.0", "--rate", "0"]).limits.calls_per_second == 0


def policy(host: str, *hosts: str, origins: tuple[str, ...] = ()) -> OriginPolicy:
    return OriginPolicy.from_options(HttpOptions(host, 1, Path(), allowed_hosts=hosts, allowed_origins=origins))


@pytest.mark.parametrize(
    ("bind", "header", "admitted"),
    [
        ("127.0.0.1", "LOCALHOST:1", True),
        ("127.0.0.1", "192.0.2.1", False),
        ("0.0.0.0", "192.0.2.1:80", True),
        ("::", "[2001:db8::1]:80", True),
        ("0.0.0.0", "evil.example", False),
        ("192.0.2.1", "192.0.2.1:1", True),
        ("192.0.2.1", "192.0.2.2:1", False),
        ("0.0.0.0", "deltos.example", True),
        ("0.0.0.0", "other.example:8443", True),
        ("0.0.0.0", "other.example", False),
    ],
)
def test_the_bind_host_and_allowed_hosts_are_accepted(bind: str, header: str, *, admitted: bool) -> None:
    assert policy(bind, "deltos.example", "other.example:8443").admits_host(header) is admitted


def test_requests_from_an_allowed_origin_are_accepted() -> None:
    allowing = policy("127.0.0.1", origins=("https://app.example",))
    assert allowing.admits_origin("https://APP.example/", "127.0.0.1")
    assert not allowing.admits_origin("http://app.example", "127.0.0.1")
    assert not allowing.admits_origin("https://app.example.evil.example", "127.0.0.1")
    assert not allowing.admits_origin("ftp://localhost", "127.0.0.1")


def test_requests_from_pages_of_the_server_itself_are_accepted() -> None:
    behind_proxy = policy("127.0.0.1", "deltos.example")
    assert behind_proxy.admits_origin("https://Deltos.example", "deltos.example")
    assert not behind_proxy.admits_origin("https://deltos.example.evil.example", "deltos.example")
    assert not behind_proxy.admits_origin("null", "deltos.example")


def test_metric_labels_are_escaped() -> None:
    metrics = Metrics()
    metrics.count_call('a"b\\c\nd', "ok", 1.0)
    assert b'deltos_tool_calls_total{outcome="ok",tool="a\\"b\\\\c\\nd"} 1.0\n' in metrics.render()


def test_call_durations_are_counted_in_histogram_buckets() -> None:
    metrics = Metrics()
    for seconds in (0.001, 0.02, 99.0):
        metrics.count_call("t", "ok", seconds)
    text = metrics.render().decode()
    for bound, count in (("0.005", 1), ("0.025", 2), ("30.0", 2), ("+Inf", 3)):
        assert f'deltos_tool_seconds_bucket{{le="{bound}",tool="t"}} {count}.0\n' in text
    assert 'deltos_tool_seconds_sum{tool="t"} 99.021\n' in text


def test_nagles_algorithm_is_disabled() -> None:
    """asyncio sets TCP_NODELAY only if the listening socket names its protocol; without it an answer takes 40 ms
    longer."""
    with open_port("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        accepted, _ = listening.accept()
        with accepted:
            assert accepted.proto == socket.IPPROTO_TCP
