"""What a decorator may hand on is never called complete: what calls it then is not in the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.calling import Desk

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
ELSEWHERE = {
    "cats.ts": "import { Controller, Get } from 'framework'\n\n@Controller({\n  path: 'x',\n})\nexport class CatController {\n"
    "  @Get('y')\n  findAll() { return 1 }\n\n  @Get() findOne() { return 2 }\n  findNone() { return 0 }\n}\n",
    "Shop.java": 'class Shop {\n  @GetMapping("/x")\n  public String show() { return ""; }\n\n'
    '  @Override public String sell() { return ""; }\n  void stay() {}\n}\n',
    "Till.cs": 'class Till {\n  [HttpGet("x"), Obsolete]\n  public string Fetch() => "";\n  [Obsolete] public void Leave() {}\n}\n',
    "Page.php": "<?php\nclass Page {\n  #[Route('/x')]\n  public function render() {}\n\n  public function idle() {}\n}\n",
}


def asked(project: SmallProject, files: dict[str, str], tool: str, symbol: str) -> str:
    return Desk(project.write(files).app.tools(), project.root).call(tool, symbol=symbol).text


@pytest.mark.parametrize(
    ("symbol", "told"),
    [
        ("buy", "@route (line 7)"),
        ("requeue", "@command (line 12)"),
        ("Item", "@web.model (line 29)"),
        ("Item.listen", "@web.hook (line 40)"),
    ],
)
def test_a_decorator_that_may_hand_a_definition_on_is_told(project: SmallProject, symbol: str, told: str) -> None:
    references = asked(project, {"shop.py": SHOP}, "find_references", symbol)
    assert f"; {told} may hand it on: what calls it then is not known" in references
    assert "complete" not in references
    impact = asked(project, {}, "get_impact", symbol)
    assert f"{told} may hand it on" in impact
    assert "nothing in the project refers to it" not in impact


@pytest.mark.parametrize("symbol", ["plain_one", "plain_two", "computed", "Item.size"])
def test_what_leaves_a_definition_as_it_is_is_not_told(project: SmallProject, symbol: str) -> None:
    text = asked(project, {"shop.py": SHOP}, "find_references", symbol)
    assert "hand it on" not in text
    assert "complete" in text


@pytest.mark.parametrize(
    ("symbol", "told"),
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
def test_annotations_of_other_languages_are_told_alike(project: SmallProject, symbol: str, told: str) -> None:
    text = asked(project, ELSEWHERE, "find_references", symbol)
    assert ("hand it on" in text) == bool(told)
    assert told in text
