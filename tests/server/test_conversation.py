"""The project folders of a conversation, and the conversion of URIs to folders."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.server.conversation import LOG_LEVELS, Conversation, local_path_of_uri


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///home/me/project", "/home/me/project"),
        ("file:///home/me/a%20project%20%231", "/home/me/a project #1"),
        ("file://localhost/home/me", "/home/me"),
        ("file:///C:/Users/me", "/C:/Users/me"),
        ("file:///%C3%A4", "/ä"),
        ("file://server/share", ""),
        ("file:///a%00b", ""),
        ("http://example.com/x", ""),
        ("file://[broken/x", ""),
        ("nonsense", ""),
    ],
)
def test_a_file_uri_is_converted_to_a_path(uri: str, path: str) -> None:
    assert local_path_of_uri(uri, windows=False) == path


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///C:/Users/a%20b", "C:/Users/a b"),
        ("file:///c%3A/Users/me", "c:/Users/me"),
        ("file://server/share/x", "//server/share/x"),
        ("file:///share", "/share"),
    ],
)
def test_a_file_uri_is_converted_to_a_windows_path(uri: str, path: str) -> None:
    assert local_path_of_uri(uri, windows=True) == path


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1).filter(lambda n: n.strip(".")))
def test_converting_a_path_to_a_uri_and_back_restores_the_path(name: str) -> None:
    path = Path("/root", name)
    assert local_path_of_uri(path.as_uri(), windows=False) == str(path)


@given(st.text())
def test_invalid_uris_raise_no_error(uri: str) -> None:
    local_path_of_uri(uri)


def test_a_chosen_folder_precedes_the_roots_and_the_roots_precede_the_start_folder(tmp_path: Path) -> None:
    root, chosen = tmp_path / "root", tmp_path / "chosen"
    root.mkdir()
    conversation = Conversation(tmp_path)
    assert conversation.project_root() == tmp_path
    conversation.set_client_roots([(tmp_path / "missing").as_uri(), root.as_uri(), tmp_path.as_uri()])
    assert conversation.project_root() == root
    conversation.set_project_root(chosen)
    assert conversation.project_root() == chosen


def test_without_existing_roots_the_start_folder_is_used(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    conversation = Conversation(tmp_path)
    conversation.set_client_roots([(tmp_path / "root").as_uri()])
    conversation.set_client_roots([])
    assert conversation.project_root() == tmp_path


def test_a_client_gets_messages_of_its_level_and_above() -> None:
    conversation = Conversation(Path())
    conversation.log_level = "error"
    assert [level for level in LOG_LEVELS if conversation.wants_log_level(level)] == [
        "error",
        "critical",
        "alert",
        "emergency",
    ]
