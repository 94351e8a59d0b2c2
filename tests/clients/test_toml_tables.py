"""Changing one table in TOML text keeps comments and everything else."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deltos.clients.formats import TOML, Put, Remove, change_text
from deltos.errors import BadConfiguration

PATH = ("mcp_servers", "deltos")
ENTRY = {"command": "deltos", "args": ["mcp"]}
CONFIG = """\
# how I like it
model = "o9"   # the big one

[mcp_servers.other]
command = "x"

# the screen
[tui]
theme = "dark"
"""
BLOCK = """
[mcp_servers.deltos]
command = "deltos"
args = ["mcp"]
"""


def test_a_new_server_is_added_at_the_end_and_nothing_else_changes() -> None:
    assert change_text(TOML, CONFIG, [Put(PATH, ENTRY)]) == CONFIG + BLOCK


def test_removing_an_added_value_restores_the_same_text() -> None:
    assert change_text(TOML, CONFIG + BLOCK, [Remove(PATH)]) == CONFIG
    assert change_text(TOML, "", [Put(PATH, ENTRY), Remove(PATH)]) == ""


def test_comments_before_the_next_table_are_kept_when_ours_is_removed() -> None:
    text = CONFIG + BLOCK + '[mcp_servers.deltos.env]\nA = "b"\n# mine\n\n# next\n[mcp_servers.later]\ncommand = "y"\n'
    after = change_text(TOML, text, [Remove(PATH)])
    assert after == CONFIG + '\n# mine\n\n# next\n[mcp_servers.later]\ncommand = "y"\n'


def test_a_comment_after_our_table_at_the_end_stays() -> None:
    assert change_text(TOML, CONFIG + BLOCK + "# the end\n", [Remove(PATH)]) == CONFIG + "\n# the end\n"


def test_a_changed_command_is_replaced_in_place() -> None:
    text = BLOCK.replace('"deltos"\n', '"old" # how to start it\n') + "startup_timeout_sec = 20\n\n# rest\n[tui]\n"
    after = change_text(TOML, text, [Put((*PATH, "command"), "new")])
    assert after == text.replace('"old"', '"new"')


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { other = { command = "x" } }\n',
        '[mcp_servers]\nother = { command = "x" }\n',
        'mcp_servers.other.command = "x"\n',
        '[mcp_servers]\nother.command = "x"\n',
        "no_newline = 1",
        'windows = 1\r\n[mcp_servers.other]\r\ncommand = "x"\r\n',
    ],
)
def test_a_server_can_be_added_and_removed_in_every_table_notation(text: str) -> None:
    added = change_text(TOML, text, [Put(PATH, ENTRY)])
    assert tomllib.loads(added)["mcp_servers"]["deltos"] == ENTRY
    assert ("\r\n" in text) == ("\r\n" in added)
    assert tomllib.loads(change_text(TOML, added, [Remove(PATH)])) == tomllib.loads(text)


def test_text_that_only_looks_like_our_table_is_not_changed() -> None:
    text = CONFIG + '[notes]\ntext = """\n[mcp_servers.deltos]\ncommand = 1\n"""\n' + BLOCK + "[z]\n"
    assert tomllib.loads(change_text(TOML, text, [Remove(PATH)])) == {
        **tomllib.loads(CONFIG),
        "notes": tomllib.loads(text)["notes"],
        "z": {},
    }


@pytest.mark.parametrize("text", ["a = \n", "[a\n", "a = 1\na = 2\n", "\x00"])
def test_syntax_errors_are_refused(text: str) -> None:
    with pytest.raises(BadConfiguration):
        change_text(TOML, text, [Put(PATH, ENTRY)])


def test_a_value_of_another_type_is_never_overwritten() -> None:
    with pytest.raises(BadConfiguration, match="mcp_servers is not a table"):
        change_text(TOML, "mcp_servers = 1\n", [Put(PATH, ENTRY)])


_LINES = [
    "",
    "# a comment",
    "[tui]",
    "[mcp_servers.a]",
    "[mcp_servers.b]  # b",
    '[mcp_servers."c d"]',
    "[x.y]",
    "k = 1",
]


@given(st.lists(st.sampled_from(_LINES), max_size=12, unique_by=lambda line: line or object()))
@settings(max_examples=100, deadline=None)
def test_adding_and_removing_a_server_restores_any_valid_text(lines: list[str]) -> None:
    text = "".join(f"{line}\n" for line in lines)
    added = change_text(TOML, text, [Put(PATH, ENTRY)])
    assert added.startswith(text.rstrip())
    after = change_text(TOML, added, [Remove(PATH)])
    assert tomllib.loads(after) == tomllib.loads(text)
    assert after.rstrip() == text.rstrip()
