"""No edit is accepted whose result says anything else than what was asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from deltos.clients.formats import JSON, Put, Remove, change_text
from deltos.errors import BadConfiguration


def test_an_editor_that_damages_the_text_is_caught() -> None:
    careless = replace(JSON, put=lambda text, path, value: '{"a": 2}', remove=lambda text, path: "{}")
    for change in (Put(["b"], 1), Remove(["b"])):
        with pytest.raises(BadConfiguration, match="without a risk"):
            change_text(careless, '{"a": 1, "b": 2}', [change])


def test_parents_that_held_only_what_is_removed_leave_too_unless_a_comment_is_in_them() -> None:
    assert change_text(JSON, '{"a": {"b": {"c": 1}}, "d": {}}', [Remove(["a", "b", "c"])]) == '{ "d": {}}'
    text = '{\n  "a": {\n    // mine\n    "b": 1\n  }\n}\n'
    assert change_text(JSON, text, [Remove(["a", "b"])]) == '{\n  "a": {\n    // mine\n  }\n}\n'
