"""Answers while the server's database is not available."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.config import Config
from deltos.progress import Silent
from deltos.server.caller import Caller
from deltos.server.conversation import Conversation
from deltos.server.tool_runner import ToolRunner
from deltos.server.toolbox import open_toolbox
from tests.postgres_server import free_port

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("caller", "is_shown"), [("", True), ("ada", False)])
def test_remote_callers_do_not_learn_the_database_address(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, caller: str, *, is_shown: bool
) -> None:
    address = f"postgresql://keeper@127.0.0.1:{free_port()}/deltos"
    toolbox = open_toolbox(Config(tmp_path / "home", database=address.replace("keeper", "keeper:hunter2")))
    with closing(toolbox):
        tool_runner = ToolRunner(lambda: toolbox)
        outcome = tool_runner.run("list_sources", {}, Caller(Conversation(tmp_path), name=caller), Silent())
    assert outcome.is_error
    assert "cannot be reached" in outcome.text
    assert (address in outcome.text) is is_shown
    assert is_shown or "Error: The server's database cannot be reached" in outcome.text
    assert address in caplog.text
    assert "hunter2" not in outcome.text + caplog.text
