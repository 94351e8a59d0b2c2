"""The review that an agent gets once per session when it stops, if the user has switched it on."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

import pytest

from deltos.cli.hook import main
from tests.repositories import make_repository, write_files

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "shop.py": "def total(items):\n    return sum(items)\n",
    "use.py": "from shop import total\n\nprint(total([1]))\n",
    "other.py": "def unused():\n    return 1\n",
}
CHANGED = "def total(items, currency):\n    return sum(items)\n"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "home"))
    return make_repository(tmp_path / "shop", FILES)


def run_stop_hook(root: Path, *, session: str = "s", enabled: str = "1", **more: object) -> str:
    """Run the hook that is called when the agent stops, and return its output."""
    event = {"hook_event_name": "Stop", "session_id": session, "cwd": str(root), **more}
    out, errors = io.StringIO(), io.StringIO()
    environ = {"DELTOS_HOME": str(root.parent / "home"), "DELTOS_REVIEW_ON_STOP": enabled}
    given = io.BytesIO(json.dumps(event).encode())
    assert main(["Stop"], stdin=given, stdout=out, stderr=errors, environ=environ) == 0
    assert not errors.getvalue()
    return out.getvalue()


def test_the_agent_gets_the_review_once_per_session(root: Path) -> None:
    write_files(root, {"shop.py": CHANGED})
    answer = json.loads(run_stop_hook(root))
    assert answer["decision"] == "block"
    assert "use.py:3 top level uses total: missing required argument `currency`" in answer["reason"]
    assert run_stop_hook(root) == ""
    assert run_stop_hook(root, session="other")


@pytest.mark.parametrize("arguments", [{"enabled": ""}, {"stop_hook_active": True}])
def test_nothing_is_shown_unless_it_is_switched_on_and_the_agent_stops_for_the_first_time(
    root: Path, arguments: dict[str, object]
) -> None:
    write_files(root, {"shop.py": CHANGED})
    assert run_stop_hook(root, **arguments) == ""  # type: ignore[arg-type]


def test_nothing_is_shown_if_no_caller_and_no_test_is_affected(root: Path) -> None:
    write_files(root, {"other.py": "def unused():\n    return 2\n"})
    assert run_stop_hook(root) == ""


@pytest.mark.usefixtures("root")
def test_nothing_is_shown_outside_a_git_repository(tmp_path: Path) -> None:
    assert run_stop_hook(write_files(tmp_path / "plain", FILES)) == ""
