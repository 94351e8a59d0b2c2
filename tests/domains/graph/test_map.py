"""Maps of a repository, a folder or a file within the token budget."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.budget import estimate_tokens
from deltos.config import Config
from deltos.errors import BadArgument, NotFound
from deltos.languages.file_summary import summarise_file
from tests.calling import ToolClient
from tests.domains.graph.test_source_lines import graph_client
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
    from tests.domains.graph.small_project import SmallProject

FILES = {
    "README.md": "# Shop\n\nA shop that sells things to people. And more.\n",
    "src/shop/__init__.py": '"""What is sold, and how. Nothing else."""\n',
    "src/shop/core.py": '"""The core of it."""\n\n\nclass Cart:\n    """What is going to be bought."""\n\n    def add(self, item: str) -> None:\n'
    '        """Put an item in. Once."""\n\n\ndef helper():\n    return 1\n\n\nLIMIT = 3\n',
    "src/shop/pay.py": '# Copyright 2020 Somebody\n\n"""Payments. Of carts."""\n\nfrom shop.core import Cart\n\n\ndef pay(cart: Cart):\n    return cart\n',
    "src/shop/web/view.py": '"""Pages."""\n\nfrom shop.core import Cart, helper\nfrom shop.pay import pay\n\n\ndef page():\n    return pay(Cart())\n',
    "src/shop/silent.py": 'def quiet():\n    """Says nothing aloud."""\n',
    "tests/test_pay.py": "from shop.pay import pay\n\n\ndef test_pay():\n    pay(None)\n",
}  # fmt: skip


@pytest.fixture
def client(project: SmallProject) -> ToolClient:
    """Return the graph tools of the shop."""
    return graph_client(project.write(FILES))


@pytest.mark.parametrize("symbol", ["", ".", "./"])
def test_context_without_a_symbol_is_the_map_of_the_project(client: ToolClient, symbol: str) -> None:
    text = client.call("get_context", symbol=symbol).text
    assert text.startswith("map of project: 7 files (python 6, markdown 1) — A shop that sells things to people.\n")
    assert "src/shop/ 5 — What is sold, and how.\n" in text
    assert "src/shop/web/ 1" in text
    assert "src/shop/\n core.py — The core of it. [Cart:4, helper:11]\n pay.py — Payments. [pay:8]\n" in text
    assert " silent.py — quiet: Says nothing aloud. [quiet:1]" in text
    assert text.index("src/shop/web/\n view.py — Pages.") < text.index("tests/\n test_pay.py")
    assert "Showing" not in text


def test_a_map_has_every_module_if_all_of_them_fit(project: SmallProject) -> None:
    names = ["basket", "coupon", "mail", "order", "pricing", "report", "stock", "till", "zone"]
    files = {f"shop/{name}.py": f'"""The {name}."""\n\n\ndef {name}_main():\n    return 1\n' for name in names}
    client = graph_client(project.write({**files, "shop/__init__.py": '"""The shop."""\n'}))
    text = client.call("get_context").text
    assert text.startswith("map of project: 10 files (python 10)")
    assert "shop/ 10 — The shop.\n" in text
    assert all(f"\n {name}.py — The {name}. [{name}_main:4]" in text for name in names)
    assert "\n __init__.py\n" in text


def test_the_map_of_a_folder_begins_with_its_own_modules(client: ToolClient) -> None:
    text = client.call("get_context", symbol="src/shop").text
    assert text.startswith("map of src/shop/: 5 files (python 5) — What is sold, and how.\n")
    assert "web/ 1\n" in text
    assert "tests" not in text
    assert client.call("get_context", symbol="src/shop/").text == text


def test_a_folder_can_be_given_by_name_unless_a_symbol_has_the_same_name(client: ToolClient) -> None:
    assert client.call("get_context", symbol="tests").text.startswith("map of tests/: 1 file")
    assert client.call("get_context", symbol="pay").text.startswith("def pay src/shop/pay.py:8-9")


@pytest.mark.parametrize("symbol", ["src/shop/core.py", "./src/shop/core.py", "core.py", "shop.core"])
def test_the_map_of_a_file_is_its_outline_with_importers_and_uses(client: ToolClient, symbol: str) -> None:
    assert client.call("get_context", symbol=symbol).text == (
        "src/shop/core.py python — The core of it.\n"
        "imported by 2 files: src/shop/pay.py, src/shop/web/view.py\n"
        " 4-8 class Cart — What is going to be bought. (2 files)\n"
        "  7-8 add(self, item: str) -> None — Put an item in.\n"
        " 11-12 helper() (1 file)\n"
        " values: LIMIT:15"
    )


def test_a_truncated_map_states_its_size_and_how_to_list_omitted_modules(tmp_path: Path, workers: ProcessPool) -> None:
    files = {f"pkg{n}/mod{m}.py": f'"""Part {m} of {n}: {"words " * 9}"""\n' for n in range(12) for m in range(20)}
    root = write_files(tmp_path / "large", files)
    with closing(App(Config(home=tmp_path / "home", token_budget=600), workers=workers)) as app:
        client = ToolClient([tool for tool in app.tools() if tool.toolset == "graph"], root)
        text = client.call("get_context").text
        inside = client.call("get_context", symbol="pkg3").text
    shown = text.count(".py — Part")
    assert text.splitlines()[0] == f"Showing {shown} of 240 modules (ask for a folder, such as pkg0)."
    assert all(f"pkg{n}/ 20" in text for n in range(12))
    assert "\n and 12 more modules: mod16.py, mod17.py, mod18.py" in text
    assert estimate_tokens(text) <= 600
    assert "mod19.py — " not in text
    assert estimate_tokens(inside) <= 600
    assert inside.startswith("map of pkg3/: 20 files (python 20)\n")
    assert inside.count(".py — Part") == 20


def test_the_outline_of_a_long_file_drops_sentences_before_definitions(tmp_path: Path, workers: ProcessPool) -> None:
    body = "".join(f'def name_{n}(a: int):\n    """Does {n} {"and more " * 8}."""\n\n\n' for n in range(60))
    root = write_files(tmp_path / "long", {"long.py": body})
    with closing(App(Config(home=tmp_path / "home", token_budget=700), workers=workers)) as app:
        client = ToolClient([tool for tool in app.tools() if tool.toolset == "graph"], root)
        text = client.call("get_context", symbol="long.py").text
    assert estimate_tokens(text) <= 700
    assert "name_59(a: int)" in text
    assert "and more" not in text


def test_maps_work_in_languages_without_docstrings(project: SmallProject) -> None:
    project.write({
        "go.mod": "module example.com/a\n",
        "a.go": "// Copyright 2020\n// All rights reserved.\n\n// Package a does A. And B.\npackage a\n\n// Run runs. Fast.\nfunc Run() {}\n",
        "b/b.rs": "//! The b of it. More.\n\npub fn b() {}\n",
        "c/c.java": "package c;\n\n/** Keeps C. Always. */\npublic class C { void f() {} }\n",
    })  # fmt: skip
    text = graph_client(project).call("get_context").text
    assert " a.go — Package a does A. [Run:8]" in text
    assert " b.rs — The b of it. [b:3]" in text
    assert " c.java — Keeps C. [C:4]" in text


def test_an_unknown_file_or_folder_is_an_error(client: ToolClient) -> None:
    with pytest.raises(NotFound):
        client.call("get_context", symbol="src/nothing")
    with pytest.raises(BadArgument):
        client.call("get_context", symbol="../elsewhere")


@pytest.mark.parametrize(
    ("path", "head", "sentence"),
    [
        ("a.py", '#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n"""Does A. And B."""\n', "Does A."),
        ("a.py", "'Does A.'\n", "Does A."),
        ("a.py", "import os\n# not about the file\n", ""),
        ("a.ts", "/**\n * Does A\n * in two lines.\n * @module a\n */\nexport {}\n", "Does A in two lines."),
        ("a.ts", "/* eslint-disable */\n// Does A.\nimport x from 'x'\n", "Does A."),
        ("a.c", "/*\n * _  _ __ | |\n * Copyright (C) X.\n *\n * You may copy it.\n */\n\n/* Does A. */\n", "Does A."),
        ("a.php", "<?php\n\n// Does A.\nnamespace B;\n", "Does A."),
        ("a.ex", 'defmodule A do\n  @moduledoc """\n  Does A.\n\n  More.\n  """\n', "Does A."),
        ("a.sh", "#!/bin/sh\n# Does A. Or not.\n", "Does A."),
        ("a.md", "[![badge](x)](y)\n# Name\n\nA thing that does a lot. More.\n", "A thing that does a lot."),
        ("a.md", "# Name\n", "Name"),
        ("a.lua", "--- @class A\nlocal M = {}\n", ""),
        ("a.py", '"""' + "x" * 100_000, "x" * 397),
    ],
)
def test_a_file_is_described_by_its_first_sentence(path: str, head: str, sentence: str) -> None:
    assert summarise_file(path, head) == sentence


def test_files_without_code_are_counted_separately(project: SmallProject) -> None:
    project.write(
        {**FILES, "a.yaml": "x: 1\n", "b.yaml": "y: 1\n", "data.unheardof": "Free.\n", "src/shop/notes.md": "# Notes\n"}
    )
    text = graph_client(project).call("get_context", symbol="").text
    assert "\n not code: yaml 2, markdown 1, others 1\n" in text
    assert "\n not code: markdown 1\n" in text
