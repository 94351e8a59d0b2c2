"""Command line of `deltos mcp`."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from deltos.errors import BadArgument
from deltos.server.startup import Options, parse_options
from tests.server.raw import environment, toy_command

if TYPE_CHECKING:
    from pathlib import Path


def run_command(manifest: Path, home: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        toy_command(manifest, *arguments),
        capture_output=True,
        text=True,
        input="",
        cwd=home,
        env=environment(home, **environ),
    )


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        ([], Options()),
        (["src"], Options(path="src")),
        (["--toolsets", "code", "src"], Options(path="src", toolsets="code")),
        (["--toolsets=code"], Options(toolsets="code")),
        (["-h"], Options(help=True)),
    ],
)
def test_options_are_parsed(arguments: list[str], options: Options) -> None:
    assert parse_options(arguments) == options


@pytest.mark.parametrize("arguments", [["--toolsets"], ["a", "b"], ["--port", "1"], ["-x"], ["--help=1"]])
def test_invalid_options_are_rejected(arguments: list[str]) -> None:
    with pytest.raises(BadArgument, match="deltos mcp --help"):
        parse_options(arguments)


def test_help_is_printed(manifest_path: Path, tmp_path: Path) -> None:
    done = run_command(manifest_path, tmp_path, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: deltos mcp [PATH] [--toolsets LIST]")


@pytest.mark.parametrize(
    ("arguments", "environ", "words"),
    [
        (["--bogus"], {}, "unexpected argument: --bogus"),
        (["no/such/folder"], {}, "not a folder: no/such/folder"),
        (["--toolsets", "kitchen"], {}, "Unknown toolset: kitchen"),
        ([], {"DELTOS_TOKEN_BUDGET": "lots"}, "DELTOS_TOKEN_BUDGET is not a number"),
    ],
)
def test_an_invalid_start_folder_is_reported_on_stderr(
    manifest_path: Path, tmp_path: Path, arguments: list[str], environ: dict[str, str], words: str
) -> None:
    done = run_command(manifest_path, tmp_path, *arguments, **environ)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"deltos mcp: {words}")


def test_a_deleted_current_folder_is_reported(manifest_path: Path, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    script = 'cd gone && rmdir ../gone && exec "$@"'
    command = ["sh", "-c", script, "sh", *toy_command(manifest_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("deltos mcp: ")


def test_an_immediate_disconnect_is_a_clean_exit(manifest_path: Path, tmp_path: Path) -> None:
    done = run_command(manifest_path, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
