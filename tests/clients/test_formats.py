"""An edit is rejected if its result differs from the requested change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deltos.clients.formats import JSON, Put, Remove, change_text
from deltos.errors import BadConfiguration


def test_an_edit_that_damages_the_text_is_rejected() -> None:
    careless = replace(JSON, put=lambda text, path, value: '{"a": 2}', remove=lambda text, path: "{}")
    for change in (Put(["b"], 1), Remove(["b"])):
        with pytest.raises(BadConfiguration, match="cannot be edited safely"):
            change_text(careless, '{"a": 1, "b": 2}', [change])


def test_parents_that_become_empty_are_removed_unless_they_contain_a_comment() -> None:
    assert change_text(JSON, '{"a": {"b": {"c": 1}}, "d": {}}', [Remove(["a", "b", "c"])]) == '{ "d": {}}'
    text = '{\n  "a": {\n    // mine\n    "b": 1\n  }\n}\n'
    assert change_text(JSON, text, [Remove(["a", "b"])]) == '{\n  "a": {\n    // mine\n  }\n}\n'
