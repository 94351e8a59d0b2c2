"""Untrusted control characters never reach the terminal in contents, names, titles, errors, usage or progress."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.cli.main import main
from deltos.cli.terminal import SanitizedStream, escape_controls, escape_json
from tests.server.raw import environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.loopback import Site

CLEAR, TITLE, C1, BELL = "\x1b[2J", "\x1b]0;owned\x07", "\x9b31m", "\x07"
OVERRIDE = "\u202egnp.exe"
CONTROL_SEQUENCES = f"{CLEAR}{TITLE}{C1}{BELL}\x08\x7f{OVERRIDE}"
# UTF-8 encoding of active characters: C0 except tab and line feed, DEL, C1, bidirectional embeddings, overrides and isolates.
ACTIVE_CHARACTERS = re.compile(
    rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]|\xed[\xa0-\xbf]"
)
API = {
    "openapi": "3.0.0",
    "info": {"title": f"Shop {CONTROL_SEQUENCES}", "version": "1"},
    "paths": {"/a": {"get": {"summary": CONTROL_SEQUENCES}}},
}


def run_deltos(home: Path, folder: Path, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-P", "-m", "deltos", *words]
    environ = environment(home, DELTOS_ALLOW_PRIVATE_HOSTS="127.0.0.1")
    return subprocess.run(command, cwd=folder, env=environ, input=stdin, capture_output=True, timeout=120, check=False)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that tries to control the user's terminal."""
    root = tmp_path_factory.mktemp("hostile") / "project"
    (root / "docs").mkdir(parents=True)
    (root / f"evil{CLEAR}.py").write_text(
        f"# {CONTROL_SEQUENCES}\ndef quokka():\n    '''{CONTROL_SEQUENCES}'''\n    return 1\r\n"
    )
    (root / "uses.py").write_text(f"from pkg import quokka  # {CONTROL_SEQUENCES}\nquokka()  # {CONTROL_SEQUENCES}\n")
    (root / "docs" / "guide.md").write_text(f"# Quokka {CONTROL_SEQUENCES}\n\nquokka text {CONTROL_SEQUENCES}\n")
    (root / "api.json").write_text(json.dumps(API))
    name = os.fsencode(str(root)) + b"/bad\xff\x9b.py"
    with open(name, "w") as file:  # noqa: PTH123 - a name that is no text
        file.write("def wombat(): ...\n")
    return root


COMMANDS: Sequence[tuple[str, ...]] = (
    ("index",),
    ("code", "search", "quokka"),
    ("code", "search", CONTROL_SEQUENCES),
    ("code", "search", "wombat"),
    ("search", "quokka"),
    ("search", f"nothing {CONTROL_SEQUENCES}"),
    ("fetch", f"obs:{CONTROL_SEQUENCES}"),
    ("fetch", "code:uses.py:1-2"),
    ("graph", "find", "quokka"),
    ("graph", "find", CONTROL_SEQUENCES),
    ("graph", "refs", "quokka"),
    ("graph", "context", "quokka"),
    ("graph", "impact", "quokka"),
    ("graph", "stats"),
    ("docs", "add", "docs", "--name", f"guide{CONTROL_SEQUENCES}", "--wait"),
    ("docs", "add", f"nofile{CONTROL_SEQUENCES}.md"),
    ("docs", "list"),
    ("docs", "status"),
    ("docs", "search", "quokka"),
    ("docs", "search", CONTROL_SEQUENCES),
    ("docs", "remove", CONTROL_SEQUENCES),
    ("api", "add", "api.json", "--name", f"shop{CONTROL_SEQUENCES}"),
    ("api", "list"),
    ("api", "search", "shop"),
    ("api", "show", CONTROL_SEQUENCES),
    ("memory", "add", f"quokka memory {CONTROL_SEQUENCES}", "--source", CONTROL_SEQUENCES),
    ("memory", "search", "quokka"),
    ("memory", "timeline"),
    ("memory", "show", CONTROL_SEQUENCES),
    ("memory", "export"),
    ("token", "create", f"ci{CONTROL_SEQUENCES}"),
    ("token", "list"),
    ("token", "revoke", CONTROL_SEQUENCES),
    ("status",),
    ("doctor",),
    ("toolsets", CONTROL_SEQUENCES),
    ("install", CONTROL_SEQUENCES),
    (CONTROL_SEQUENCES,),
    ("index", CONTROL_SEQUENCES),
    ("index", f"--{CONTROL_SEQUENCES}"),
    ("mcp", f"--{CONTROL_SEQUENCES}"),
    ("mcp", CONTROL_SEQUENCES),
    ("mcp", "--http", CONTROL_SEQUENCES),
)


@pytest.mark.parametrize(
    "words", [("hook", CONTROL_SEQUENCES), ("hook", "UserPromptSubmit"), ("hook", "SessionStart"), (CONTROL_SEQUENCES,)]
)
def test_a_process_prints_no_untrusted_control_characters(
    words: tuple[str, ...], hostile: Path, tmp_path: Path
) -> None:
    done = run_deltos(tmp_path / "home", hostile, *words, stdin=b'{"prompt": "\\u009b31m always \\u001b[2J"')
    for stream in (done.stdout, done.stderr):
        assert ACTIVE_CHARACTERS.search(stream) is None, stream


def test_no_command_prints_untrusted_control_characters(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(hostile)
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "home"))
    seen = b""
    for words in COMMANDS:
        with suppress(SystemExit):
            main(words)
        streams = capfdbinary.readouterr()
        for stream in streams:
            assert ACTIVE_CHARACTERS.search(stream) is None, (words, ACTIVE_CHARACTERS.search(stream), stream)
            assert b"Traceback" not in stream, (words, stream)
        seen += b"".join(streams)
    assert "␛[2J".encode() in seen  # the output contains the escape sequence in visible form
    assert b"<U+202E>" in seen
    assert b"\\x9b31m" in seen


def test_json_keeps_the_exact_text_with_control_characters_escaped(
    hostile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(hostile)
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "home"))
    for words in (
        ("index", "--json"),
        ("code", "search", "quokka", "--json"),
        ("search", "quokka", "--json"),
        ("graph", "refs", "quokka", "--json"),
        ("docs", "add", "docs", "--name", f"guide{CONTROL_SEQUENCES}", "--wait", "--json"),
        ("docs", "search", "quokka", "--json"),
        ("api", "add", "api.json", "--json"),
        ("memory", "add", f"quokka memory {CONTROL_SEQUENCES}", "--json"),
        ("memory", "search", "quokka", "--json"),
        ("memory", "export"),
        ("status", "--json"),
        ("doctor", "--json"),
    ):
        main(words)
        printed, shown_text = capfdbinary.readouterr()
        assert ACTIVE_CHARACTERS.search(printed) is None, (words, printed)
        lines = [json.loads(line) for line in printed.splitlines()]
        assert lines, (words, shown_text)
        if words[:2] == ("code", "search"):
            assert any(CONTROL_SEQUENCES in line["text"] for line in lines)


def test_control_characters_of_a_page_title_are_escaped_in_progress_and_answers(site: Site, tmp_path: Path) -> None:
    site.html(
        "/",
        f"<title>t {CONTROL_SEQUENCES}</title><h1>Quokka {CONTROL_SEQUENCES}</h1><p>quokka text {CONTROL_SEQUENCES}</p>",
    )
    shown = run_deltos(
        tmp_path / "home", tmp_path, "docs", "add", site.url, "--name", f"web{CONTROL_SEQUENCES}", "--wait"
    )
    found = run_deltos(tmp_path / "home", tmp_path, "docs", "search", "quokka")
    assert b"quokka text" in found.stdout
    for stream in (shown.stdout, shown.stderr, found.stdout, found.stderr):
        assert ACTIVE_CHARACTERS.search(stream) is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals")
def test_on_a_terminal_only_the_progress_line_is_redrawn(site: Site, tmp_path: Path) -> None:
    import pty  # not available on every platform

    for number in range(30):
        site.html(f"/{number}.html", f"<h1>Page {number} {CONTROL_SEQUENCES}</h1>")
    links = "".join(f"<a href='{number}.html'>x</a>" for number in range(30))
    site.html("/", f"<h1>Start</h1>{links}")
    controller, terminal = pty.openpty()
    command = [
        sys.executable,
        "-P",
        "-m",
        "deltos",
        "docs",
        "add",
        site.url,
        "--name",
        f"w{CONTROL_SEQUENCES}",
        "--wait",
    ]
    environ = environment(tmp_path / "home", DELTOS_ALLOW_PRIVATE_HOSTS="127.0.0.1", NO_COLOR="1")
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal, env=environ)
    os.close(terminal)
    received = b""
    while True:
        try:
            part = os.read(controller, 65_536)
        except OSError:  # the terminal was closed by the process
            break
        if not part:
            break
        received += part
    assert process.wait(60) == 0
    os.close(controller)
    rest = received.replace(b"\r\x1b[K", b"").replace(b"\r\n", b"\n")
    assert ACTIVE_CHARACTERS.search(rest) is None, rest


@given(st.text(alphabet=st.characters(), max_size=60))
def test_control_characters_are_escaped_and_plain_text_stays(text: str) -> None:
    shown = escape_controls(text).encode()  # fails if a surrogate remains
    assert ACTIVE_CHARACTERS.search(shown) is None
    if ACTIVE_CHARACTERS.search(text.encode("utf-8", "surrogatepass")) is None:
        assert escape_controls(text) == text


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60))
def test_escaped_json_has_the_same_value(text: str) -> None:
    line = escape_json(json.dumps({text: [text]}, ensure_ascii=False))
    assert json.loads(line) == {text: [text]}
    assert ACTIVE_CHARACTERS.search(line.encode()) is None


def test_escaping_keeps_all_text_visible() -> None:
    assert escape_controls("a\r\nb\tc\n") == "a\nb\tc\n"
    assert escape_controls("over\rwritten") == "over␍written"
    assert escape_controls("\x1b]0;never ends and hides the rest") == "␛]0;never ends and hides the rest"
    assert escape_controls("\udcff.py") == "\\xff.py"


def test_a_stream_that_cannot_encode_a_character_gets_its_escape() -> None:
    raw = io.BytesIO()
    stream = SanitizedStream(io.TextIOWrapper(raw, encoding="latin-1"))
    stream.writelines(["naïve ", "…\n"])
    stream.flush()
    assert raw.getvalue() == b"na\xefve \\u2026\n"
