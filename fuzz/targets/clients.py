"""Configuration files of agents and editors: parse them, change them, and undo the change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fuzz.target import Run, Target, without_cleanup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_JSON = (
    b'"mcpServers"',
    b'"deltos"',
    b'"command"',
    b'"args"',
    b'"hooks"',
    b"//",
    b"/*",
    b"*/",
    b",}",
    b",]",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b'"',
    b"\\u",
    b"\xef\xbb\xbf",
    b"\r\n",
)
_TOML = (
    b"[mcp_servers.deltos]\n",
    b"[mcp_servers]\n",
    b'command = "x"\n',
    b"args = [\n",
    b"]\n",
    b"[[a]]\n",
    b"[a.b]\n",
    b"a.b = 1\n",
    b'"""',
    b"'''",
    b"#",
    b"{",
    b"}",
    b"\\",
    b"=",
    b"inf",
    b"1979-05-27",
    b"\r\n",
)


def targets() -> Iterator[Target]:
    """Return one target per configuration format."""
    yield Target(
        "client-json", without_cleanup(_edit_target("JSON")), ("client-json",), ("settings.json",), _JSON, is_json=True
    )
    yield Target("client-toml", without_cleanup(_edit_target("TOML")), ("client-toml",), (".toml",), _TOML)


def _edit_target(name: str) -> Callable[[Path], Run]:
    def make(_scratch: Path) -> Run:
        from deltos.clients import formats

        form = {"JSON": formats.JSON, "TOML": formats.TOML}[name]
        path = ("mcpServers" if name == "JSON" else "mcp_servers", "deltos")
        put = formats.Put(path, {"command": "deltos", "args": ["mcp"]})

        def run(data: bytes) -> None:
            text = data.decode("utf-8-sig", "replace")
            changed = formats.change_text(form, text, [put])
            formats.change_text(form, changed, [formats.Remove(path)])

        return run

    return make
