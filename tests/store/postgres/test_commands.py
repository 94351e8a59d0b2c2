"""The command line gives the same answers with a database as with files, and never prints the password."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from deltos.cli.main import main
from tests.postgres_server import PASSWORD, ROLE, ROLE_PASSWORD, empty_database, role_url
from tests.relevance.test_rankings import HERE as RELEVANCE
from tests.relevance.test_rankings import unpack

if TYPE_CHECKING:
    from pathlib import Path

QUESTIONS = (
    ("code", "search", "how are passwords stored"),
    ("code", "search", "ConnectionPool.acquire"),
    ("graph", "refs", "place_order"),
    ("search", "roll back on error"),
)


class CommandLine:
    """Command line that runs in a folder and collects the output."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.shown = ""
        monkeypatch.setenv("DELTOS_EMBED", "off")

    def run(self, home: Path, database: str, *words: str) -> str:
        self._monkeypatch.setenv("DELTOS_HOME", str(home))
        self._monkeypatch.setenv("DELTOS_DATABASE", database)
        main(list(words))
        output = self._capsys.readouterr()
        self.shown += output.out + output.err
        return output.out


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(monkeypatch, capsys)


def test_commands_give_the_same_answers_with_files_and_with_a_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: CommandLine
) -> None:
    monkeypatch.chdir(unpack(RELEVANCE / "bookshop.txtar", tmp_path / "bookshop"))
    url, one, two = empty_database(), tmp_path / "one", tmp_path / "two"
    commands.run(one, "", "index", ".")
    commands.run(two, url, "index", ".")
    for question in QUESTIONS:
        assert commands.run(two, url, *question) == commands.run(one, "", *question)
    status = commands.run(two, url, "status")
    assert "bookshop" in status
    assert "database: postgresql://deltos@127.0.0.1" in status
    assert ", PostgreSQL " in commands.run(two, url, "doctor")
    commands.run(two, url, "forget-project", "bookshop", "--yes")
    assert "bookshop" not in commands.run(two, url, "status")
    assert not list(two.glob("projects/*"))
    for secret in (PASSWORD, quote(PASSWORD, safe="")):
        assert secret not in commands.shown


@pytest.mark.parametrize("command", [("doctor",), ("status",), ("code", "search", "x")])
def test_an_unreachable_database_is_reported_without_its_password(
    tmp_path: Path, commands: CommandLine, command: tuple[str, ...]
) -> None:
    commands.run(tmp_path, "postgresql://ada:s3cret@127.0.0.1:1/deltos", *command)
    assert "postgresql://ada@127.0.0.1:1/deltos cannot be reached" in commands.shown
    assert "s3cret" not in commands.shown


def test_db_init_admits_a_role_and_db_check_reports_missing_row_level_security(
    tmp_path: Path, commands: CommandLine
) -> None:
    owner = empty_database()
    output = commands.run(tmp_path, owner, "db", "init", "--role", ROLE)
    assert f"ready for the role {ROLE}" in output
    assert "row-level security does not apply" in commands.run(tmp_path, owner, "db", "check")
    assert "row-level security" not in commands.run(tmp_path, role_url(), "db", "check")
    commands.run(tmp_path, owner, "db", "init", "--role", "deltos")
    assert "The role deltos is exempt from row-level security" in commands.shown


def test_db_init_sets_the_password_of_the_role(
    tmp_path: Path, commands: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = empty_database()
    address = role_url().replace(quote(ROLE_PASSWORD, safe=""), quote("l'été 1", safe=""))
    monkeypatch.setenv("DELTOS_ROLE_PASSWORD", "l'été 1")
    try:
        commands.run(tmp_path, owner, "db", "init", "--role", ROLE)
        assert "PostgreSQL" in commands.run(tmp_path, address, "db", "check")
        assert "été" not in commands.shown
    finally:
        monkeypatch.setenv("DELTOS_ROLE_PASSWORD", ROLE_PASSWORD)
        commands.run(tmp_path, owner, "db", "init", "--role", ROLE)
