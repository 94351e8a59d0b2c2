"""Outlines and sample values of schemas."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.domains.apis.outline import Detail, label, members_of, outline
from deltos.domains.apis.render import render_schema
from deltos.domains.apis.sample import Sampler

TARGETS: dict[str, Any] = {
    "#/Node": {
        "type": "object",
        "required": ["next"],
        "properties": {"next": {"$ref": "#/Node"}, "value": {"type": "integer"}},
    },
    "#/A": {"$ref": "#/B"},
    "#/B": {"$ref": "#/A"},
    "#/Cat": {"type": "object", "properties": {"lives": {"type": "integer", "default": 9}}},
    "#/Dog": {"type": "object", "properties": {"name": {"type": "string"}}},
    "#/Both": {"allOf": [{"$ref": "#/Cat"}, {"$ref": "#/Dog"}, {"$ref": "#/Both"}], "required": ["name"]},
}


MIDDLE_POINTER = "#/paths/~1droplets/post/requestBody/content/json/schema/allOf/0"
TARGETS[MIDDLE_POINTER] = {"type": "object", "properties": {"size": {"type": "string"}}}
TARGETS[f"{MIDDLE_POINTER}/properties/size"] = TARGETS[MIDDLE_POINTER]["properties"]["size"]


def outline_lines(schema: Any, **detail: Any) -> list[str]:
    return outline(schema, TARGETS.get, Detail(**detail))


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string", "format": "date-time"}, "string(date-time)"),
        ({"type": "integer", "maximum": 30000}, "integer ≤30000"),
        ({"$ref": MIDDLE_POINTER}, "object"),
        ({"type": "array", "items": {"$ref": f"{MIDDLE_POINTER}/properties/size"}}, "array of string"),
        ({"allOf": [{"$ref": MIDDLE_POINTER}, {"description": "All of it."}]}, "object"),
        ({"allOf": [{"$ref": "#/Cat"}, {"description": "Grey ones."}]}, "Cat"),
        ({"$ref": "../../etc/passwd"}, "any (not read: passwd)"),
        ({"type": "number", "minimum": 0, "maximum": 1.5}, "number 0..1.5"),
        ({"type": "string", "minLength": 1, "maxLength": 40}, "string ≤40 characters"),
        ({"type": "string", "minLength": 8}, "string ≥8 characters"),
        ({"type": "integer", "minimum": "x", "maximum": True}, "integer"),
        ({"type": ["string", "null"]}, "string|null"),
        ({"type": "integer", "nullable": True}, "integer|null"),
        ({"type": "array", "items": {"$ref": "#/Cat"}}, "array of Cat"),
        ({"items": {}}, "array of any"),
        ({"additionalProperties": {"type": "string"}}, "map of string"),
        ({"enum": ["a", None, True, ""]}, 'a | null | true | ""'),
        ({"enum": list(range(5))}, "0 | 1 | 2 | 3 | 4"),
        ({"enum": list(range(90))}, f"{' | '.join(map(str, range(24)))} | … (90 values)"),
        ({"enum": ["x" * 40] * 20}, f"{' | '.join(['x' * 40] * 11)} | … (20 values)"),
        ({"const": {"deep": 1}}, "{…}"),
        ({"const": [1]}, "[…]"),
        ({"oneOf": [{"$ref": "#/Cat"}, {"type": "string"}]}, "Cat | string"),
        ({"anyOf": [{"$ref": f"#/T{n}"} for n in range(9)]}, "T0 | T1 | T2 | T3 | T4 | T5 | …"),
        ({"allOf": [{"$ref": "#/Cat"}, {"$ref": "#/Dog"}]}, "Cat & Dog"),
        ({"properties": {}}, "object"),
        ({}, "any"),
        (True, "any"),
        (None, "any"),
    ],
)
def test_labels_types_briefly(schema: Any, text: str) -> None:
    assert label(schema, TARGETS.get) == text


def test_fields_show_required_default_and_description() -> None:
    schema = {
        "required": ["a"],
        "properties": {
            "a": {"type": "string", "description": "<b>First</b>\nthing"},
            "b": {"type": "integer", "default": 0, "deprecated": True},
        },
    }
    assert outline_lines(schema) == ["a*: string — First thing", "b: integer = 0 (deprecated)"]


def test_recursive_type_is_named_not_expanded() -> None:
    shown = outline_lines({"properties": {"head": {"$ref": "#/Node"}}}, depth=3)
    assert shown == ["head: Node", "  next*: Node", "    (cycle: Node, shown above)", "  value: integer"]


def test_all_of_parts_form_one_object() -> None:
    assert outline_lines({"$ref": "#/Both"}) == ["lives: integer = 9", "name*: string"]


def test_field_listed_only_in_required_is_shown() -> None:
    assert outline_lines({"required": ["token"], "properties": {"name": {"type": "string"}}}) == [
        "name: string",
        "token*: any",
    ]
    assert outline_lines({"allOf": [{"required": ["name"]}, {"$ref": "#/Dog"}]}) == ["name*: string"]
    assert outline_lines({"required": ["a"], "additionalProperties": {"type": "integer"}}) == ["a*: integer"]


def test_reference_cycle_has_no_fields() -> None:
    assert outline_lines({"$ref": "#/A"}) == []
    assert members_of({"$ref": "#/A"}, TARGETS.get) == []


def test_lists_alternatives_separately() -> None:
    assert outline_lines({"oneOf": [{"$ref": "#/Cat"}, {"type": "string"}]}) == [
        "one of: Cat",
        "  lives: integer = 9",
        "one of: string",
    ]


def test_expands_map_values() -> None:
    assert outline_lines({"additionalProperties": {"$ref": "#/Cat"}}) == ["lives: integer = 9"]


def test_omitted_fields_are_named_after_required_ones() -> None:
    schema = {"required": ["z"], "properties": {name: {"type": "string"} for name in "abcdefz"}}
    assert outline_lines(schema, lines=4) == ["z*: string", "a: string", "b: string", "… and 4 more: c, d, e, f"]


def test_reduces_depth_before_omitting_fields() -> None:
    schema = {"properties": {"cat": {"$ref": "#/Cat"}, "dog": {"$ref": "#/Dog"}}}
    assert outline_lines(schema, lines=2) == ["cat: Cat", "dog: Dog"]


def test_referenced_enum_lists_its_values() -> None:
    targets = {"#/State": {"type": "string", "enum": ["open", "closed"]}}
    assert label({"$ref": "#/State"}, targets.get) == "State (open | closed)"


def test_truncates_many_alternatives() -> None:
    schema = {"oneOf": [{"$ref": "#/Cat"}, {"$ref": "#/Dog"}]}
    assert len(outline_lines(schema, lines=2)) == 2


def test_schema_is_rendered_within_its_budget() -> None:
    schema = {"properties": {f"field_{n}": {"type": "string", "description": "words " * 50} for n in range(300)}}
    text = render_schema("Wide", schema, TARGETS.get, description="About it. " * 500, characters=900)
    assert len(text) <= 900 + len("\n… (truncated)")
    assert render_schema("Cat", TARGETS["#/Cat"], TARGETS.get, description="Purrs").splitlines()[0] == "Purrs"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string", "example": "x"}, "x"),
        ({"type": "integer", "example": "7"}, 7),
        ({"type": "integer", "example": "seven"}, 1),
        ({"type": "boolean", "default": "true"}, True),
        ({"type": "string", "examples": ["e"]}, "e"),
        ({"enum": ["only"]}, "only"),
        ({"type": "string", "format": "uuid"}, "00000000-0000-0000-0000-000000000000"),
        ({"type": ["number", "null"]}, 1),
        ({"type": "array", "items": {"type": "boolean"}}, [True]),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, 1),
        ({"$ref": "#/Node"}, {"next": {}}),
        ({"$ref": "#/gone"}, {}),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": "string"}),
    ],
)
def test_sample_values_come_from_the_schema_or_its_type(schema: Any, value: Any) -> None:
    assert Sampler(TARGETS.get).value(schema) == value


_schemas = st.recursive(
    st.sampled_from([{"type": "string"}, {"$ref": "#/Node"}, {"$ref": "#/Both"}, {"$ref": "#/A"}, None, 1, "text"]),
    lambda inner: (
        st.dictionaries(st.sampled_from(["a", "b"]), inner).map(
            lambda value: {"properties": value, "required": ["a", 1]}
        )
        | st.lists(inner, max_size=3).map(lambda value: {"oneOf": value})
        | st.lists(inner, max_size=3).map(lambda value: {"allOf": value})
        | inner.map(lambda value: {"items": value})
        | inner.map(lambda value: {"additionalProperties": value})
    ),
    max_leaves=12,
)


@given(_schemas)
def test_any_schema_has_a_bounded_outline_and_a_sample(schema: Any) -> None:
    assert len(outline_lines(schema, depth=3, lines=20)) <= 20
    Sampler(TARGETS.get).value(schema)
