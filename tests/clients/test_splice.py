"""Changing one value in JSON text keeps every other character."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltos.clients.json_edit import find, is_empty_container, put, remove
from deltos.clients.jsonc import data, parse, read
from deltos.errors import BadConfiguration
from tests.clients.jsonc_texts import comments, jsonc, jsonc_objects

SETTINGS = """\
// my settings
{
    "theme": "dark", // at night
    /* servers,
       all of them */
    "mcpServers": {
        "other": { "command": "x" } // keep me
    }
}
"""


def test_a_member_is_added_after_the_last_one_and_its_comment() -> None:
    assert put(SETTINGS, ["mcpServers", "new"], {"command": "y"}) == SETTINGS.replace(
        '"x" } // keep me', '"x" }, // keep me\n        "new": {\n            "command": "y"\n        }'
    )


def test_removing_an_added_value_restores_the_same_text() -> None:
    assert remove(put(SETTINGS, ["mcpServers", "new"], 1), ["mcpServers", "new"]) == SETTINGS


def test_the_style_of_trailing_commas_is_kept() -> None:
    text = '{\n\t"a": 1,\n\t"b": [\n\t\t1,\n\t],\n}\n'
    assert put(text, ["c"], 2) == '{\n\t"a": 1,\n\t"b": [\n\t\t1,\n\t],\n\t"c": 2,\n}\n'
    assert put(text, ["b", 1], 2) == '{\n\t"a": 1,\n\t"b": [\n\t\t1,\n\t\t2,\n\t],\n}\n'


def test_a_file_on_one_line_stays_on_one_line() -> None:
    assert put('{"a": {"b": 1}}', ["a", "c"], [2]) == '{"a": {"b": 1, "c": [2]}}'
    assert put('{"a": 1,}', ["c"], 2) == '{"a": 1, "c": 2,}'
    assert remove('{"a": 1, "b": 2}', ["b"]) == '{"a": 1}'


def test_windows_line_endings_are_kept() -> None:
    assert put('{\r\n  "a": 1\r\n}\r\n', ["b"], {"c": 2}) == '{\r\n  "a": 1,\r\n  "b": {\r\n    "c": 2\r\n  }\r\n}\r\n'


def test_a_comment_in_an_empty_object_is_kept() -> None:
    assert put("{\n  // nothing yet\n}\n", ["a"], 1) == '{\n  // nothing yet\n  "a": 1\n}\n'
    assert put("{ }", ["a"], 1) == '{\n  "a": 1\n}'
    assert remove('{\n  "a": 1\n}\n', ["a"]) == "{}\n"


def test_a_value_is_replaced_in_place() -> None:
    assert put(SETTINGS, ["theme"], "light") == SETTINGS.replace('"dark"', '"light"')


def test_repeated_keys_are_all_removed_and_the_last_one_counts() -> None:
    text = '{"a": 1, "b": 2, "a": 3}'
    assert data(parse(text)) == {"a": 3, "b": 2}
    assert data(parse(remove(text, ["a"]))) == {"b": 2}
    assert data(parse(put(text, ["a"], 4))) == {"a": 4, "b": 2}


def test_removing_a_missing_value_changes_nothing() -> None:
    paths: list[list[str | int]] = [
        ["x"],
        ["theme", "x"],
        ["mcpServers", 0],
        ["mcpServers", "other", "command", "deep"],
    ]
    for path in paths:
        assert remove(SETTINGS, path) == SETTINGS


@pytest.mark.parametrize(
    ("path", "message"),
    [
        (["theme", "x"], "theme is not an object"),
        (["mcpServers", 0], "mcpServers is not a list"),
        ([0], "the top level is"),
    ],
)
def test_a_value_of_another_type_is_never_overwritten(path: list[str | int], message: str) -> None:
    with pytest.raises(BadConfiguration, match=message):
        put(SETTINGS, path, 1)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", "line 1, column 1: expected a value"),
        ('{"a": 1', "line 1, column 8: expected a comma or }"),
        ('{"a": 1\n "b": 2}', "line 2, column 2: expected a comma or }"),
        ("[1 2]", "column 4: expected a comma or ]"),
        ("{a: 1}", "column 2: expected a key in double quotes"),
        ('{"a" 1}', "column 6: expected a colon"),
        ('{"a": "x\n"}', "column 7: unterminated string"),
        (r'{"a": "\x"}', "column 7: unknown escape in a string"),
        ('{"a": NaN}', "column 7: expected a value"),
        ('{"a": 1} x', "column 10: unexpected text"),
        ("{,}", "column 2: expected a key"),
        ("{} /* open", "column 4: unexpected text"),
        ("[" * 300, "nested too deeply"),
        ("9" * 5_000, "a number is too long"),
    ],
)
def test_syntax_errors_are_reported_with_line_and_column(text: str, position: str) -> None:
    with pytest.raises(BadConfiguration) as caught:
        read(text)
    assert position in str(caught.value)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s)
    )
)
@settings(max_examples=100, deadline=None)
def test_any_json_text_is_parsed_as_json(value: object) -> None:
    assert data(parse(json.dumps(value))) == value == read(json.dumps(value))
    assert data(parse(json.dumps(value, indent="\t", ensure_ascii=False))) == value


@given(jsonc_objects(), st.sampled_from(["mcpServers", "hooks", "new key"]), jsonc())
@settings(max_examples=80, deadline=None)
def test_setting_a_member_changes_only_that_member(text: str, key: str, value: str) -> None:
    before = data(parse(text))
    assert isinstance(before, dict)
    new = data(parse(value))
    was_there = find(parse(text), [key]) is not None
    after = put(text, [key], new)
    assert data(parse(after)) == {**before, key: new}
    if not was_there:
        assert comments(after) == comments(text)
        assert [*_object_keys(after)] == [*_object_keys(text), key]


@given(jsonc_objects(), st.data())
@settings(max_examples=80, deadline=None)
def test_removing_a_member_keeps_all_others_and_the_comments_outside(text: str, choice: st.DataObject) -> None:
    before = data(parse(text))
    assert isinstance(before, dict)
    key = choice.draw(st.sampled_from([*before, "absent"]))
    after = remove(text, [key])
    assert data(parse(after)) == {name: value for name, value in before.items() if name != key}
    assert len(comments(after)) >= len(comments(text)) - len(comments(_object_members(text, key)))


def test_a_container_with_a_comment_inside_or_before_it_does_not_count_as_empty() -> None:
    assert is_empty_container('{"a": {\n}}', ["a"])
    for text in ('{"a": // note\n{}}', '{"a" /* note */: {}}', '{"a": {/* note */}}', '{"a": 1}', "{}"):
        assert not is_empty_container(text, ["a"])


def _object_keys(text: str) -> list[str]:
    node = parse(text)
    return [item.key for item in getattr(node, "items", ())]


def _object_members(text: str, key: str) -> str:
    return "\n".join(text[item.start : item.value.end] for item in getattr(parse(text), "items", ()) if item.key == key)
