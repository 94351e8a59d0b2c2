"""Entries of a YAML mapping are added and removed by lines; the rest of the text is unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.clients.formats import YAML, Put, Remove, change_text
from deltos.errors import BadConfiguration

if TYPE_CHECKING:
    from deltos.clients.jsonc import Json

ENTRY: Json = {"cmd": "/usr/bin/deltos", "args": ["mcp"], "envs": {}}
PATH = ("extensions", "deltos")
TEXTS = [
    "",
    "GOOSE_MODEL: x\n",
    "GOOSE_MODEL: x",
    "# mine\nextensions:\n  developer:\n    enabled: true   # yes\n\n# after\nGOOSE_MODEL: x\n",
    "extensions:\n    developer: {enabled: true}\nother: 1\n",
]


@pytest.mark.parametrize("text", TEXTS)
def test_adding_and_removing_an_entry_restores_the_text(text: str) -> None:
    there = change_text(YAML, text, [Put(PATH, ENTRY)])
    assert YAML.read(there)["extensions"]["deltos"] == ENTRY  # type: ignore[index, call-overload]
    for line in text.splitlines():
        assert line in there.splitlines()
    again = change_text(YAML, there, [Put((*PATH, "cmd"), "/opt/deltos")])
    assert YAML.read(again)["extensions"]["deltos"]["cmd"] == "/opt/deltos"  # type: ignore[index, call-overload]
    gone = change_text(YAML, again, [Remove(PATH)])
    assert gone.rstrip("\n") == text.rstrip("\n")


@pytest.mark.parametrize("text", ["extensions: {a: {b: 1}}\n", "extensions: 3\n", "a: [1\n", "- a\n"])
def test_text_that_cannot_be_edited_by_lines_is_refused(text: str) -> None:
    with pytest.raises(BadConfiguration):
        change_text(YAML, text, [Put(PATH, ENTRY)])
