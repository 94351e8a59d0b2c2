"""Resources and prompts of a real server."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tests.repositories import make_repository
from tests.server.raw import RawClient
from tests.server.test_own_tools import SERVER_SCRIPT

if TYPE_CHECKING:
    from collections.abc import Iterator

FILES = {"shop.py": "def total_price(items):\n    return sum(items)\n", "README.md": "# Shop\n"}


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RawClient]:
    """A client of the real server, in a small repository."""
    folder = tmp_path_factory.mktemp("offers")
    root = make_repository(folder / "shop", FILES)
    client = RawClient([sys.executable, "-c", SERVER_SCRIPT, str(root)], home=folder / "home", cwd=folder)
    client.initialize()
    yield client
    assert client.hang_up() == 0


def test_resources_and_templates_are_listed(agent: RawClient) -> None:
    (overview,) = agent.request("resources/list")["result"]["resources"]
    assert (overview["uri"], overview["mimeType"]) == ("deltos://project/overview", "text/markdown")
    templates = agent.request("resources/templates/list", {})["result"]["resourceTemplates"]
    assert [each["uriTemplate"] for each in templates] == ["deltos://doc/{id}", "deltos://observation/{id}"]


def test_the_overview_and_an_observation_can_be_read(agent: RawClient) -> None:
    (contents,) = agent.request("resources/read", {"uri": "deltos://project/overview"})["result"]["contents"]
    assert contents["uri"] == "deltos://project/overview"
    assert "1 def total_price(items)" in contents["text"]
    kept = agent.call("remember", text="total_price must stay free of taxes")["structuredContent"]["id"]
    uri = f"deltos://observation/{kept.removeprefix('obs:')}"
    (contents,) = agent.request("resources/read", {"uri": uri})["result"]["contents"]
    assert "free of taxes" in contents["text"]


@pytest.mark.parametrize(
    "uri", ["deltos://doc/../../../etc/passwd", "deltos://doc/%2e%2e%2f", "deltos://doc/1", "file:///etc/passwd", ""]
)
def test_invalid_and_forbidden_resource_uris_are_rejected(agent: RawClient, uri: str) -> None:
    error = agent.request("resources/read", {"uri": uri})["error"]
    assert error["code"] == -32602
    assert "root:" not in error["message"]


def test_prompts_are_listed_and_rendered(agent: RawClient) -> None:
    prompts = {each["name"]: each for each in agent.request("prompts/list")["result"]["prompts"]}
    assert list(prompts) == ["onboard", "review_impact", "answer_from_docs"]
    assert [each["required"] for each in prompts["answer_from_docs"]["arguments"]] == [True]
    (message,) = agent.request("prompts/get", {"name": "onboard"})["result"]["messages"]
    assert message["role"] == "user"
    assert "total_price" in message["content"]["text"]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("prompts/get", {"name": "nothing"}),
        ("prompts/get", {"name": "answer_from_docs"}),
        ("prompts/get", {"name": "review_impact", "arguments": {"base": "--output=x"}}),
        ("prompts/get", {}),
        ("prompts/list", {"cursor": "2"}),
        ("resources/list", {"cursor": "2"}),
        ("resources/read", {}),
    ],
)
def test_a_bad_request_gets_the_specified_error(agent: RawClient, method: str, params: dict[str, object]) -> None:
    assert agent.request(method, params)["error"]["code"] == -32602


def test_excerpts_shown_earlier_in_a_session_are_replaced_by_their_ids(agent: RawClient) -> None:
    assert "return sum(items)" in agent.text("search_code", query="total_price")
    assert "return sum(items)" in agent.text("search_code", query="total_price")
    assert "shown before in this session: code:shop.py#total_price" in agent.text("search_code", query="total price")


def test_repeated_excerpts_can_be_enabled(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("repeat")
    root = make_repository(folder / "shop", FILES)
    command = [sys.executable, "-c", SERVER_SCRIPT, str(root)]
    client = RawClient(command, home=folder / "home", cwd=folder, DELTOS_REPEAT_EXCERPTS="1")
    client.initialize()
    for _ in range(2):
        assert "return sum(items)" in client.text("search_code", query="total_price")
    assert client.hang_up() == 0
