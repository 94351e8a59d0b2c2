"""Tools: their listing and the parsing of their arguments."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.errors import BadArgument
from deltos.progress import Silent
from deltos.tool import Answer, Arguments, Call, Parameter, Tool, check_arguments, compact_json, snake_case
from tests.calling import ToolClient

QUERY = Parameter("query", "string", "What to look for.")
MAX_RESULTS = Parameter("max_results", "integer", "How many.", 10, minimum=1, maximum=50)
CONCISE = Parameter("concise", "boolean", "Shorter answers.", default=False)
TYPES = Parameter("types", "array", "Kinds of section.", None, choices=("guide", "endpoint"))
IDS = Parameter("ids", "array", "Which ones.", None)
KIND = Parameter("kind", "string", "What it is.", "any", choices=("any", "class"))
PARAMETERS = (QUERY, MAX_RESULTS, CONCISE, TYPES, IDS, KIND)


def check(**given: object) -> Arguments:
    return check_arguments(PARAMETERS, {"query": "x", **given})


def test_defaults_are_filled_in() -> None:
    assert check() == {
        "query": "x",
        "max_results": 10,
        "concise": False,
        "types": None,
        "ids": None,
        "kind": "any",
    }


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"maxResults": 3}, "max_results", 3),
        ({"max-results": 3}, "max_results", 3),
        ({"limit": 3}, "max_results", 3),
        ({"id": "a"}, "ids", ["a"]),
        ({"max_results": "7"}, "max_results", 7),
        ({"max_results": 7.0}, "max_results", 7),
        ({"max_results": 0}, "max_results", 1),
        ({"max_results": -5}, "max_results", 1),
        ({"max_results": 10**9}, "max_results", 50),
        ({"max_results": None}, "max_results", 10),
        ({"query": 404}, "query", "404"),
        ({"query": 1.5}, "query", "1.5"),
        ({"concise": True}, "concise", True),
        ({"concise": "TRUE"}, "concise", True),
        ({"concise": "false"}, "concise", False),
        ({"types": ["guide"]}, "types", ["guide"]),
        ({"types": "guide, endpoint,"}, "types", ["guide", "endpoint"]),
        ({"types": '["guide"]'}, "types", ["guide"]),
        ({"ids": "[1, 2]"}, "ids", ["1", "2"]),
        ({"ids": "[x, y]"}, "ids", ["[x", "y]"]),
        ({"ids": "[" * 5_000}, "ids", ["[" * 5_000]),
        ({"kind": "class"}, "kind", "class"),
    ],
)
def test_unambiguous_arguments_of_other_forms_are_accepted(given: dict[str, object], name: str, value: object) -> None:
    assert check(**given)[name] == value


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"depth": 3}, "Unknown argument 'depth'. Known: query, max_results, concise, types, ids, kind."),
        ({"query": None}, "Missing argument 'query'. What to look for."),
        ({"query": True}, "Argument 'query' must be of type string, not bool. What to look for."),
        ({"query": {}}, "Argument 'query' must be of type string, not dict. What to look for."),
        ({"max_results": True}, "Argument 'max_results' must be of type integer, not bool. How many."),
        (
            {"max_results": "ten"},
            "Argument 'max_results' must be a whole number, not 'ten'. How many.",
        ),
        (
            {"max_results": float("inf")},
            "Argument 'max_results' must be a whole number, not inf. How many.",
        ),
        ({"concise": "maybe"}, "Argument 'concise' must be of type boolean, not str. Shorter answers."),
        ({"types": [1]}, "Argument 'types' must be an array of strings, but an item is of type int. Kinds of section."),
        ({"types": ["poem"]}, "Argument 'types' cannot be 'poem'. Choose from guide, endpoint."),
        ({"kind": "poem"}, "Argument 'kind' cannot be 'poem'. Choose from any, class."),
        ({"query": "\ud800"}, "Argument 'query' is not valid Unicode. Send it as UTF-8."),
        ({"ids": '["\\udfff"]'}, "Argument 'ids' is not valid Unicode. Send it as UTF-8."),
    ],
)
def test_invalid_arguments_are_refused_with_a_hint(given: dict[str, object], message: str) -> None:
    with pytest.raises(BadArgument) as raised:
        check(**given)
    assert str(raised.value) == message


def test_an_argument_error_states_that_a_tool_has_no_parameters() -> None:
    with pytest.raises(BadArgument, match="Known: none"):
        check_arguments((), {"x": 1})


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
NAMES = st.text(max_size=12) | st.sampled_from([parameter.name for parameter in PARAMETERS])


@given(st.dictionaries(NAMES, VALUES, max_size=8))
def test_any_arguments_are_either_checked_or_refused(given: dict[str, Any]) -> None:
    with suppress(BadArgument):
        arguments = check_arguments(PARAMETERS, given)
        assert arguments.keys() == {parameter.name for parameter in PARAMETERS}
        assert isinstance(arguments["query"], str)
        assert arguments["max_results"] in range(1, 51)
        assert arguments["concise"] in (True, False)
        types = arguments["types"]
        assert types is None or (isinstance(types, list) and set(types) <= {"guide", "endpoint"})


@pytest.mark.parametrize("name", ["x" * 10_000, "max_results", "kind"])
def test_a_refusal_repeats_at_most_a_line_of_the_argument(name: str) -> None:
    with pytest.raises(BadArgument) as raised:
        check(**{name: "y" * 10_000})
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(
    ("name", "snake"),
    [
        ("search-docs", "search_docs"),
        ("searchDocs", "search_docs"),
        ("projectId", "project_id"),
        ("v2Only", "v2_only"),
    ],
)
def test_other_parameter_spellings_are_converted_to_snake_case(name: str, snake: str) -> None:
    assert snake_case(name) == snake


@given(st.from_regex(r"[a-z][a-z0-9]+(_[a-z][a-z0-9]+)*", fullmatch=True))
def test_every_spelling_of_a_name_is_converted_back_to_the_name(name: str) -> None:
    camel = re.sub(r"_(\w)", lambda found: found[1].upper(), name)
    assert {snake_case(name), snake_case(name.replace("_", "-")), snake_case(camel)} == {name}


def test_a_call_returns_its_arguments_by_type() -> None:
    call = Call({"a": "text", "b": 3, "c": True, "d": ["x"], "e": None}, ToolClient((), Path("nowhere")), Silent())
    assert (call.text("a"), call.number("b"), call.flag("c"), call.texts("d")) == ("text", 3, True, ["x"])
    assert (call.text("e"), call.number("e"), call.flag("e"), call.texts("e")) == ("", 0, False, [])


def test_a_tool_is_listed_with_its_schema_and_annotations() -> None:
    tool = Tool(
        "search_docs",
        "docs",
        "Search documentation",
        "Find it.",
        PARAMETERS,
        lambda call: Answer(call.text("query")),
        output_schema={"type": "object"},
    )
    assert tool.listing() == {
        "name": "search_docs",
        "description": "Find it.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for."},
                "max_results": {
                    "type": "integer",
                    "description": "How many.",
                    "minimum": 1,
                    "maximum": 50,
                    "default": 10,
                },
                "concise": {"type": "boolean", "description": "Shorter answers.", "default": False},
                "types": {
                    "type": "array",
                    "description": "Kinds of section.",
                    "items": {"type": "string", "enum": ["guide", "endpoint"]},
                },
                "ids": {"type": "array", "description": "Which ones.", "items": {"type": "string"}},
                "kind": {
                    "type": "string",
                    "description": "What it is.",
                    "enum": ["any", "class"],
                    "default": "any",
                },
            },
            "additionalProperties": False,
            "required": ["query"],
        },
        "annotations": {
            "title": "Search documentation",
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
        "outputSchema": {"type": "object"},
    }


def test_a_tool_without_required_parameters_lists_none() -> None:
    listing = Tool("get_stats", "graph", "Stats", "Count.", (), lambda call: Answer("")).listing()
    assert listing["inputSchema"] == {"type": "object", "properties": {}, "additionalProperties": False}
    assert "outputSchema" not in listing


@pytest.mark.parametrize(("given_value", "used_value"), [(0, 1), (-5, 1), ("-1", 1), (10**9, 50)])
@pytest.mark.parametrize("name", ["max_results", "maxResults", "limit"])
def test_an_answer_reports_a_number_out_of_range(tmp_path: Path, name: str, given_value: Any, used_value: int) -> None:
    def run(call: Call) -> Answer:
        return Answer(f"{call.number('max_results')} results")

    client = ToolClient([Tool("find", "code", "Find", "Finds.", PARAMETERS, run)], tmp_path)
    note = f"Note: max_results={given_value} is out of range; {used_value} is used."
    asked: dict[str, Any] = {name: given_value}
    assert client.call("find", query="x", **asked).text == f"{used_value} results\n{note}"
    asked = {name: used_value}
    assert client.call("find", query="x", **asked).text == f"{used_value} results"


@pytest.mark.parametrize("notes", [[], ["It is old."]])
def test_structured_data_reports_a_number_out_of_range_like_the_text(tmp_path: Path, notes: list[str]) -> None:
    data = {"results": [], **({"notes": notes} if notes else {})}
    texts = {"as_data": compact_json(data), "as_text": "nothing"}

    def tool(name: str) -> Tool:
        return Tool(name, "code", "Find", "Finds.", PARAMETERS, lambda _: Answer(texts[name], data))

    client = ToolClient([tool(name) for name in texts], tmp_path)
    note = "Note: max_results=0 is out of range; 1 is used."
    expected = {"results": [], "notes": [*notes, note]}
    as_data, as_text = (client.call(name, query="x", limit=0) for name in texts)
    assert (as_data.structured, json.loads(as_data.text)) == (expected, expected)
    assert (as_text.structured, as_text.text) == (expected, f"nothing\n{note}")
