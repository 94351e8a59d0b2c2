"""Answers show names in outlines, imported packages and uses through wrappers, and notes only if they are relevant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.domains.graph.test_resolution_failures import DEEP_SOURCE
from tests.domains.graph.test_tools import Tools

if TYPE_CHECKING:
    from tests.domains.graph.small_project import SmallProject

GO_FILES = {
    "go.mod": "module example.com/shop\n",
    "server/server.go": (
        'package server\n\nimport "example.com/shop/store"\n\n// Config has settings.\ntype Config struct {\n'
        "\tStore store.Store\n}\n\nfunc (c *Config) Run() error { return c.Store.Open() }\n"
    ),
    "store/store.go": "package store\n\ntype Store struct{}\n\nfunc (s *Store) Open() error { return nil }\n",
    "store/more.go": "package store\n\nfunc Run() {}\n",
}
WRAPPER_FILES = {
    "env.py": "def create_env(path):\n    return path\n",
    "api.py": "import env\n\n\ndef create_env(path):\n    return env.create_env(path)\n",
    "main.py": "from api import create_env\n\n\ndef first():\n    create_env(1)\n",
    "other.py": "def create_env(path):\n    return path\n\n\ncreate_env(3)\n",
}


def test_the_outline_of_a_go_file_names_its_structs_and_imported_packages(project: SmallProject) -> None:
    text = Tools(project.write(GO_FILES)).call("get_context", symbol="server/server.go")
    assert "\nimports 1 package: store\n" in text
    assert "\n 6-8 class Config struct — Config has settings.\n" in text


def test_an_ambiguous_go_name_is_listed_with_packages(project: SmallProject) -> None:
    lines = Tools(project.write(GO_FILES)).call("find_references", symbol="Run").splitlines()
    assert lines[0] == "'Run' is ambiguous: 2 definitions. Ask again with a qualified name:"
    assert {line.partition(" ")[0] for line in lines[1:]} == {"server.Config.Run", "store.Run"}


def test_callers_of_a_wrapper_of_the_same_name_are_listed_below_it(project: SmallProject) -> None:
    text = Tools(project.write(WRAPPER_FILES)).call("find_references", symbol="env.create_env")
    assert "1 reference in 1 file, 2 through a wrapper of the same name;" in text
    assert (
        "--- through create_env api.py:4, which calls it ---\nmain.py\n 1 from api import create_env\n"
        " 5 call create_env(1)  first" in text
    )
    assert "1 reference to other definitions named create_env is not listed (create_env other.py:1)." in text


def test_a_file_that_could_not_be_resolved_is_named_once_and_only_if_it_contains_the_name(
    project: SmallProject,
) -> None:
    project.write({"deep.py": DEEP_SOURCE, "good.py": "def called():\n    return 1\n"}).index()
    tools = Tools(project)
    answers = [tools.call("find_symbol", symbol=name) for name in ("called", "wrap", "wrap")]
    assert ["Note: 1 file could not be resolved" in text for text in answers] == [False, True, False]


def test_reading_the_first_lines_of_a_file_never_splits_a_character(project: SmallProject) -> None:
    text = "# " + "é" * 300 + "\n"
    for shift in range(4):
        project.write({f"m{shift}.py": '"""Où est le café."""\n' + "#" * shift + "\n" + text * 20})
    assert set(project.graph().source.heads([f"m{shift}.py" for shift in range(4)])) == {
        f"m{shift}.py" for shift in range(4)
    }
    assert all("Ã" not in head for head in project.graph().source.heads(["m0.py", "m1.py", "m2.py"]).values())
