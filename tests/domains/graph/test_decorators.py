"""References of a definition with an unknown decorator are never complete: a framework may call it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.calling import ToolClient

if TYPE_CHECKING:
    from tests.domains.graph.small_project import SmallProject

SHOP = """import functools
from framework import Web, command, route

web = Web()


@route("/buy")
def buy():
    return 1


@command(
    name="requeue@night",
)
# run by hand

@functools.lru_cache(maxsize=1)
def requeue():
    return 2


def plain_one():
    return 3
TABLE = [web @ web]
def plain_two():
    return 4


@web.model
class Item:
    @property
    def size(self):
        return 1

    @size.setter
    def size(self, value):
        self.other = value

    @staticmethod
    @web.hook
    def listen():
        return 5


@functools.cache
def computed():
    return 6
"""
OTHER_LANGUAGES = {
    "cats.ts": "import { Controller, Get } from 'framework'\n\n@Controller({\n  path: 'x',\n})\nexport class CatController {\n"
    "  @Get('y')\n  findAll() { return 1 }\n\n  @Get() findOne() { return 2 }\n  findNone() { return 0 }\n}\n",
    "Shop.java": 'class Shop {\n  @GetMapping("/x")\n  public String show() { return ""; }\n\n'
    '  @Override public String sell() { return ""; }\n  void stay() {}\n}\n',
    "Till.cs": 'class Till {\n  [HttpGet("x"), Obsolete]\n  public string Fetch() => "";\n  [Obsolete] public void Leave() {}\n}\n',
    "Page.php": "<?php\nclass Page {\n  #[Route('/x')]\n  public function render() {}\n\n  public function idle() {}\n}\n",
}


def call_graph_tool(project: SmallProject, files: dict[str, str], tool: str, symbol: str) -> str:
    """Write files and return the answer of a graph tool."""
    return ToolClient(project.write(files).app.tools(), project.root).call(tool, symbol=symbol).text


@pytest.mark.parametrize(
    ("symbol", "decorator"),
    [
        ("buy", "@route (line 7)"),
        ("requeue", "@command (line 12)"),
        ("Item", "@web.model (line 29)"),
        ("Item.listen", "@web.hook (line 40)"),
    ],
)
def test_unknown_decorators_are_named(project: SmallProject, symbol: str, decorator: str) -> None:
    references = call_graph_tool(project, {"shop.py": SHOP}, "find_references", symbol)
    assert f". {decorator} may register it with a framework, whose calls are not known." in references
    assert "No other uses" not in references
    impact = call_graph_tool(project, {}, "get_impact", symbol)
    assert f"{decorator} may register it" in impact
    assert "nothing in the project refers to it" not in impact


@pytest.mark.parametrize("symbol", ["plain_one", "plain_two", "computed", "Item.size"])
def test_transparent_decorators_are_not_named(project: SmallProject, symbol: str) -> None:
    text = call_graph_tool(project, {"shop.py": SHOP}, "find_references", symbol)
    assert "may register it" not in text
    assert "No other uses" in text


@pytest.mark.parametrize(
    ("symbol", "annotation"),
    [
        ("CatController", "@Controller (line 3)"),
        ("CatController.findAll", "@Get (line 7)"),
        ("CatController.findOne", "@Get (line 10)"),
        ("CatController.findNone", ""),
        ("Shop.show", "@GetMapping (line 2)"),
        ("Shop.sell", ""),
        ("Shop.stay", ""),
        ("Till.Fetch", "[HttpGet] (line 2)"),
        ("Till.Leave", ""),
        ("Page.render", "#[Route] (line 3)"),
        ("Page.idle", ""),
    ],
)
def test_unknown_annotations_of_other_languages_are_named(project: SmallProject, symbol: str, annotation: str) -> None:
    text = call_graph_tool(project, OTHER_LANGUAGES, "find_references", symbol)
    assert ("may register it" in text) == bool(annotation)
    assert annotation in text
