"""`deltos token` and `deltos toolsets`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from deltos.cli.main import main
from deltos.config import Config

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("DELTOS_TOOLSETS", raising=False)


def read_output(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def test_a_token_is_shown_once_and_listed_without_its_secret(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    shown = read_output(capsys, "token", "create", "alice", "--scope", "write", "--project", str(tmp_path))
    secret = next(line for line in shown.splitlines() if line.startswith("dlt_"))
    listed = read_output(capsys, "token", "list")
    assert f"alice  write  {tmp_path}  valid until 20" in listed
    assert secret.split("_", 2)[2] not in listed


def test_tokens_are_printed_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    made = json.loads(read_output(capsys, "token", "create", "ci", "--expires", "never", "--json"))
    assert made["token"].startswith(f"dlt_{made['id']}_")
    assert (made["scope"], made["projects"], made["expires_at"], made["status"]) == ("read", [], None, "valid")
    assert "never expires" in read_output(capsys, "token", "list")
    assert json.loads(read_output(capsys, "token", "revoke", "ci", "--json")) == {"id": made["id"], "status": "revoked"}
    assert json.loads(read_output(capsys, "token", "list", "--json"))["status"] == "revoked"
    assert read_output(capsys, "token", "create", "short", "--expires", "1s")


def test_revoke_prints_the_revoked_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    assert "No tokens yet." in read_output(capsys, "token", "list")
    made = json.loads(read_output(capsys, "token", "create", "ci", "--json"))
    assert read_output(capsys, "token", "revoke", made["id"]) == f"Revoked {made['id']}  ci\n"
    assert read_output(capsys, "token", "list").endswith("  revoked\n")
    assert main(["token", "revoke", "ci"]) == 1
    assert "No valid token is called 'ci'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--expires", "soon"], "Invalid value of --expires: soon"),
        (["--expires", "0d"], "Invalid value of --expires: 0d"),
        (["--project", "no/such"], "No such folder: no/such"),
    ],
)
def test_invalid_options_of_a_token_are_rejected(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["token", "create", "x", *words]) == 2
    assert message in capsys.readouterr().err


def test_toolsets_are_saved_for_future_servers(capsys: pytest.CaptureFixture[str]) -> None:
    assert read_output(capsys, "toolsets") == "Servers offer: docs, apis, code, graph, memory\n"
    assert read_output(capsys, "toolsets", "graph,code") == "Servers offer: code, graph\n"
    assert Config.from_environment().toolsets == ("code", "graph")
    assert Config.from_environment(toolsets="memory").toolsets_may_change is False
    assert json.loads(read_output(capsys, "toolsets", "all", "--json"))["toolsets"][0] == "docs"
    assert main(["toolsets", "kitchen"]) == 2
    assert "Unknown toolset: kitchen" in capsys.readouterr().err
