"""The declared schemas of the tools agree with the arguments that the tools accept."""

from __future__ import annotations

from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from deltos.config import LEAN_TOOLS, TOOLSETS, Config
from deltos.server.manifest import Manifest
from deltos.server.toolbox import open_toolbox
from deltos.tool import ALWAYS_LOAD_KEY, Parameter, Tool, check_arguments

LISTINGS = {listing["name"]: listing for listing in Manifest.load(TOOLSETS).listings()}
ALWAYS_LOADED = {"explore", "search_code", "find_references", "search_docs", "remember"}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tool]:
    """The tools of all toolsets."""
    toolbox = open_toolbox(Config(tmp_path_factory.mktemp("home")))
    toolbox.close()
    return {tool.name: tool for tool in toolbox.tools}


def sample_values(parameter: Parameter) -> list[Any]:
    """Values that the parameter accepts without conversion."""
    match parameter.type:
        case "integer":
            return [
                number for number in (parameter.minimum, parameter.maximum, parameter.default) if number is not None
            ]
        case "boolean":
            return [True, False]
        case "array":
            every = list(parameter.choices) or ["a"]
            return [[], every, *([every[0]] if parameter.takes_text else [])]
        case "string":
            return list(parameter.choices) or ["a"]


@pytest.mark.parametrize("name", LISTINGS)
def test_every_accepted_argument_is_declared(tools: dict[str, Tool], name: str) -> None:
    tool, schema = tools[name], LISTINGS[name]["inputSchema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert set(schema["properties"]) == {parameter.name for parameter in tool.parameters}
    required = {parameter.name: sample_values(parameter)[0] for parameter in tool.parameters if parameter.required}
    for parameter in tool.parameters:
        for value in sample_values(parameter):
            arguments = {**required, parameter.name: value}
            jsonschema.validate(arguments, schema)
            assert check_arguments(tool.parameters, arguments)[parameter.name] in (value, [value])


@pytest.mark.parametrize("name", LISTINGS)
def test_a_schema_refuses_undeclared_arguments(tools: dict[str, Tool], name: str) -> None:
    tool, schema = tools[name], LISTINGS[name]["inputSchema"]
    required = {parameter.name: sample_values(parameter)[0] for parameter in tool.parameters if parameter.required}
    wrong: list[dict[str, Any]] = [{"volume": 11}]
    for parameter in tool.parameters:
        wrong += [{parameter.name: {}}]
        wrong += [{parameter.name: parameter.maximum + 1}] if parameter.maximum is not None else []
        wrong += [{parameter.name: parameter.minimum - 1}] if parameter.minimum is not None else []
        wrong += [{parameter.name: ["unheard of"]}] if parameter.type == "array" and parameter.choices else []
    for arguments in wrong:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**required, **arguments}, schema)


@pytest.mark.parametrize(
    ("tool", "arguments_of_caller", "accepted"),
    [
        ("find_references", {"symbol": "f", "tests": False}, {"tests": "exclude"}),
        ("find_references", {"symbol": "f", "tests": True}, {"tests": "include"}),
        ("find_symbol", {"symbol": "f", "kind": "class,method"}, {"kind": ["class", "method"]}),
        ("search_code", {"query": "q", "file_type": "ts,tsx"}, {"file_type": ["ts", "tsx"]}),
        ("search_code", {"query": "q", "file_type": ["ts", "tsx"]}, {"file_type": ["ts", "tsx"]}),
        ("explore", {"query": "q", "limit": 5}, None),
        ("explore", {"question": "q", "directory": "src"}, {"path": "src"}),
    ],
)
def test_other_argument_spellings_are_accepted(
    tools: dict[str, Tool], tool: str, arguments_of_caller: dict[str, Any], accepted: dict[str, Any] | None
) -> None:
    if accepted is None:
        with pytest.raises(Exception, match="Unknown argument 'limit'"):
            check_arguments(tools[tool].parameters, arguments_of_caller)
        return
    arguments = check_arguments(tools[tool].parameters, arguments_of_caller)
    assert {name: arguments[name] for name in accepted} == accepted


def test_the_tools_that_answer_most_questions_are_always_loaded() -> None:
    marked = {name for name, listing in LISTINGS.items() if listing.get("_meta", {}).get(ALWAYS_LOAD_KEY)}
    assert marked == ALWAYS_LOADED
    assert marked - {"search_docs"} <= LEAN_TOOLS
