"""Parsing of JSON and YAML: tolerant of real files, limited for hostile ones."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.domains.apis.json_yaml import load_tree, load_yaml
from deltos.errors import SourceError


def test_yaml_scalars_stay_text() -> None:
    tree = load_tree(b"date: 2020-01-01\noctal: 010\nyes: no\nequals: =\nversion: 3.10\nflag: true\n")
    assert tree.value == {
        "date": "2020-01-01",
        "octal": "010",
        "yes": "no",
        "equals": "=",
        "version": "3.10",
        "flag": "true",
    }


def test_yaml_null_is_none_and_quoted_null_is_text() -> None:
    assert load_tree(b"a: null\nb: ~\nc:\nd: 'null'\n~: key\n").value == {
        "a": None,
        "b": None,
        "c": None,
        "d": "null",
        "~": "key",
    }


def test_resolves_aliases_and_merge_keys() -> None:
    tree = load_tree(
        b"base: &b {x: 1, y: 2}\nmore: &m [1]\nuse:\n  <<: [*b, 7]\n  y: 3\n  z: *m\nscalar: &s hi\ncopy: *s\n"
    )
    assert tree.value["use"] == {"x": "1", "y": "3", "z": ["1"]}
    assert tree.value["copy"] == "hi"


def test_refuses_an_alias_bomb_quickly() -> None:
    lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    lines += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    with pytest.raises(SourceError, match="aliases expand"):
        load_tree("\n".join(lines).encode())


def test_recursive_alias_does_not_loop() -> None:
    assert load_tree(b"a: &x\n  b: *x\n").value == {"a": {"b": "*x"}}


@pytest.mark.parametrize(
    "data",
    [
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b"[" * 10_000 + b"]" * 10_000,
        b"a: " + b"[" * 10_000 + b"]" * 10_000,
        "".join(" " * depth + "a:\n" for depth in range(2_000)).encode(),
        b"\xef\xbb\xbf" + b'{"a":' * 10_000 + b"NaN" + b"}" * 10_000,
    ],
)
def test_too_deep_nesting_is_an_error(data: bytes) -> None:
    with pytest.raises(SourceError, match="nested too deeply"):
        load_tree(data)


def test_truncated_json_error_has_a_position() -> None:
    with pytest.raises(SourceError, match=r"Not valid JSON.*line 1"):
        load_tree(b'{"openapi": "3.0.0", "paths": {"/a": {')


def test_large_invalid_json_is_not_retried_as_yaml() -> None:
    with pytest.raises(SourceError, match="Not valid JSON"):
        load_tree(b'{"a": "' + b"x" * 6_000_000)


def test_invalid_yaml_error_has_a_line() -> None:
    with pytest.raises(SourceError, match="Not valid YAML: line 2"):
        load_tree(b"a: [b\nc: d")


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b'\xef\xbb\xbf{"a": 1}', {"a": 1}),
        (b'{"a": "tab\there"}', {"a": "tab\there"}),
        ('{"a": "ä"}'.encode("utf-16"), {"a": "ä"}),
    ],
)
def test_parses_lenient_json(data: bytes, value: object) -> None:
    assert load_tree(data).value == value


def test_replaces_unprintable_characters_in_yaml_with_a_warning() -> None:
    tree = load_tree(b"a: b\x07c\n")
    assert (tree.value, tree.warnings) == ({"a": "b c"}, ("Unprintable characters were replaced.",))


def test_duplicate_path_in_yaml_is_merged_with_a_warning() -> None:
    tree = load_tree(b"paths:\n  /a: {get: {}}\n  /a: {post: {}}\n")
    assert set(tree.value["paths"]["/a"]) == {"get", "post"}
    assert "'/a' occurs twice" in tree.warnings[0]


def test_uses_only_the_first_document_of_a_yaml_stream() -> None:
    assert load_yaml("---\na: 1\n---\nb: 2\n").value == {"a": "1"}


def test_mapping_as_key_becomes_text() -> None:
    assert load_yaml("? {a: b}\n: c\n").value == {'{"a": "b"}': "c"}


_json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda children: st.lists(children, max_size=4) | st.dictionaries(st.text(), children, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), _json_values))
def test_any_json_document_is_parsed_like_the_json_module(value: dict[str, object]) -> None:
    assert load_tree(json.dumps(value).encode()).value == value


@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_or_give_a_source_error(data: bytes) -> None:
    with suppress(SourceError):
        load_tree(data)
