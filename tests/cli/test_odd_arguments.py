"""No command answers an unusual argument with a traceback."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from deltos.cli.main import complete_parser, main
from tests.repositories import make_repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LONG_VALUE = "x" * 5_000
ODD_VALUES = ["", " ", LONG_VALUE, "a/" * 2_500, "~nobody-here/x", "\udcff\udc9b", "*", "[", "(" * 500, "'\"\\", "\x1b[2J", "\u202e",
       "http://[", f"http://{LONG_VALUE}/", "pypi:../x", "nope:", "1e400", "9" * 5_000, "-1", "--", "obs:", "HEAD:x", "{}"]  # fmt: skip


def iterate_commands(
    under: argparse.ArgumentParser, words: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], argparse.ArgumentParser]]:
    """Yield every command with its parser."""
    groups = [action for action in under._actions if isinstance(action, argparse._SubParsersAction)]
    for group in groups:
        for name, inner in group.choices.items():
            yield from iterate_commands(inner, (*words, name))
    if not groups and words:
        yield words, under


def odd_command_lines() -> Iterator[list[str]]:
    """Yield a command line for every argument of every command with every unusual value."""
    for words, verb in iterate_commands(complete_parser()):
        # Excluded: two commands that serve until a signal, one with separate tests, one without arguments.
        if words[0] in ("mcp", "ui", "hook", "doctor"):
            continue
        places = [action for action in verb._actions if not action.option_strings]
        options = [action for action in verb._actions if action.option_strings and action.nargs != 0]
        plain = ["total"] * len([action for action in places if action.nargs != "?"])
        for value in ODD_VALUES:
            if places:
                yield [*words, *([value] * max(1, len(plain)))]
            for option in options if value != "--" else ():  # argparse of Python 3.11 converts this to a list
                yield [*words, *plain, f"{option.option_strings[-1]}={value}"]


def test_no_command_argument_causes_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    project = make_repository(tmp_path / "project", {"shop.py": "def total(): ...\n", "api.json": "{}"})
    monkeypatch.chdir(project)
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    lines = list(odd_command_lines())
    assert len(lines) > 1_000
    failures: list[str] = []
    for words in lines:
        code: object = 2
        try:
            code = main(words)
        except SystemExit as exit_:
            code = exit_.code
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test says for which words
            failures.append(f"{[word[:60] for word in words]}: {error!r}")
        shown = b"".join(capfdbinary.readouterr())
        assert code in (0, 1, 2), words
        for bad in (b"Traceback", b"internal error"):
            assert bad not in shown, (words, shown)
    assert failures == []


@pytest.mark.parametrize("name", ["DELTOS_HOME", "DELTOS_DOCS_ROOTS", "DELTOS_TOOLSETS", "DELTOS_EMBED", "DELTOS_TOKEN_BUDGET",
                                  "DELTOS_ALLOW_PRIVATE_HOSTS", "VIRTUAL_ENV"])  # fmt: skip
def test_no_setting_causes_a_traceback(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "home"))
    for value in ODD_VALUES:
        monkeypatch.setenv(name, value)
        for words in (["status"], ["memory", "stats"], ["toolsets"], ["docs", "list"]):
            with suppress(SystemExit):
                main(words)
            assert b"Traceback" not in b"".join(capfdbinary.readouterr())


@pytest.mark.parametrize("verb", ["docs search x", "docs list", "api search x", "code search x", "graph find x"])
def test_a_project_folder_that_does_not_exist_is_an_error(
    verb: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([*verb.split(), "--project", str(tmp_path / "missing")]) == 2
    assert "No such folder" in capsys.readouterr().err


def test_a_search_in_an_unknown_project_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "anything", "--project-id", "unknown"]) == 1
    assert "unknown" in capsys.readouterr().err
