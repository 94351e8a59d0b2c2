"""Names that reach a definition indirectly: re-exports, inherited and embedded members, import aliases, file names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.errors import NotFound
from tests.calling import ToolClient

if TYPE_CHECKING:
    from tests.domains.graph.small_project import SmallProject

FILES = {
    "src/shop/__init__.py": "from .urls import url_for as url_for\nfrom .web import *\nfrom . import config\n",
    "src/shop/urls.py": "def url_for(name):\n    pass\n",
    "src/shop/config.py": "from os import path\nfrom .hidden import secret\n",
    "src/shop/hidden.py": "def secret():\n    pass\n",
    "src/shop/web.py": "from .base import Scaffold\n\n\nclass Shop(Scaffold):\n    def run(self):\n        pass\n",
    "src/shop/base.py": "class Root:\n    def close(self):\n        pass\n\n\n"
    "class Scaffold(Root):\n    def route(self):\n        pass\n",
    "go.mod": "module example.com/g\n",
    "g/engine.go": "package g\n\ntype Engine struct {\n\tGroup\n\tname string\n}\n",
    "g/group.go": "package g\n\ntype Group struct{}\n",
    "g/verbs.go": "package g\n\nfunc (group *Group) Get() {}\n",
    "crate/src/lib.rs": "pub mod task;\npub use task::spawn;\n",
    "crate/src/task.rs": "pub fn spawn() {}\n",
    "index.d.ts": "export class Axios {\n  request(): void;\n}\n",
    "index.d.cts": "export class Axios {\n  request(): void;\n}\n",
}


@pytest.fixture
def client(project: SmallProject) -> ToolClient:
    project.write(FILES).index()
    return ToolClient([tool for tool in project.app.tools() if tool.toolset == "graph"], project.root)


@pytest.mark.parametrize(
    ("symbol", "place", "through"),
    [
        ("shop.url_for", "src/shop/urls.py:1", "src/shop/__init__.py imports it"),
        ("shop.Shop", "src/shop/web.py:4", "src/shop/__init__.py imports it"),
        ("Shop.route", "src/shop/base.py:7", "Shop inherits it from Scaffold src/shop/base.py:6"),
        ("shop.Shop.close", "src/shop/base.py:2", "shop.Shop inherits it from Root src/shop/base.py:1"),
        ("Engine.Get", "g/verbs.go:3", "Engine inherits it from Group g/group.go:3"),
        ("crate::spawn", "crate/src/task.rs:1", "crate/src/lib.rs imports it"),
    ],
)
def test_an_indirect_name_is_resolved_and_explained(client: ToolClient, symbol: str, place: str, through: str) -> None:
    for tool in ("find_symbol", "find_references", "get_context", "get_impact"):
        text = client.call(tool, symbol=symbol).text
        assert f" {place}-" in text, tool
        assert through in text, tool


def test_a_direct_name_has_no_note(client: ToolClient) -> None:
    assert "Note" not in client.call("find_symbol", symbol="Shop.run").text


@pytest.mark.parametrize("symbol", ["shop.secret", "Shop.nothing", "shop.path"])
def test_a_name_that_a_module_does_not_import_is_not_found(client: ToolClient, symbol: str) -> None:
    with pytest.raises(NotFound):
        client.call("find_symbol", symbol=symbol)


def test_suggestions_for_a_member_are_members_of_its_class(client: ToolClient) -> None:
    with pytest.raises(NotFound) as raised:
        client.call("find_symbol", symbol="Shop.rote")
    assert raised.value.hint == "Did you mean: Scaffold.route?"


def test_a_file_name_given_as_symbol_selects_a_module_or_is_an_error(client: ToolClient) -> None:
    assert "src/shop/__init__.py" in client.call("find_references", symbol="src/shop/urls.py").text
    with pytest.raises(NotFound, match="is a file, not a symbol"):
        client.call("find_symbol", symbol="src/shop/urls.py")
    with pytest.raises(NotFound, match=r"No file 'src/shop/views\.py'"):
        client.call("get_context", symbol="src/shop/views.py")


def test_candidates_with_equal_names_are_distinguished_by_their_locations(project: SmallProject) -> None:
    project.write({"a/one.ts": "export class Axios {\n  request(): void {}\n}\n"}).write(FILES).index()
    client = ToolClient([tool for tool in project.app.tools() if tool.toolset == "graph"], project.root)
    text = client.call("get_context", symbol="Axios.request").text
    assert "Ask again with its location, such as " in text


ALIASES = {
    "shop/__init__.py": "from .basket import (\n    Basket as Cart,\n    Item as Thing,\n)\n",
    "shop/basket.py": "class Basket:\n    def add(self):\n        pass\n\n\nclass Item:\n    pass\n",
    "shop/public.py": "from shop import Cart as Trolley\n",
    "main.py": "from shop import Cart\nfrom shop.basket import Item as Cart_item\n\ncart = Cart()\n",
    "web/index.ts": "export { Page as Sheet } from './page'\n",
    "web/page.ts": "export class Page {}\n",
    "crate/src/lib.rs": "pub mod task;\npub use task::spawn as start;\n",
    "crate/src/task.rs": "pub fn spawn() {}\n",
}


@pytest.mark.parametrize(
    ("symbol", "place", "note"),
    [
        ("Cart", "shop/basket.py:1", "Cart is Basket shop/basket.py:1, re-exported as Cart in shop/__init__.py:2."),
        ("Thing", "shop/basket.py:6", "Thing is Item shop/basket.py:6, re-exported as Thing in shop/__init__.py:3."),
        ("Trolley", "shop/basket.py:1", "Trolley is Basket shop/basket.py:1, imported as Trolley in shop/public.py:1."),
        ("shop.Cart", "shop/basket.py:1", "shop/__init__.py re-exports Basket as Cart"),
        ("Cart.add", "shop/basket.py:2", "Cart inherits it from Basket shop/basket.py:1"),
        ("Sheet", "web/page.ts:1", "Sheet is Page web/page.ts:1, re-exported as Sheet in web/index.ts:1."),
        (
            "start",
            "crate/src/task.rs:1",
            "start is spawn crate/src/task.rs:1, re-exported as start in crate/src/lib.rs:2",
        ),
    ],
)
def test_an_import_alias_leads_to_the_definition(project: SmallProject, symbol: str, place: str, note: str) -> None:
    project.write(ALIASES).index()
    client = ToolClient([tool for tool in project.app.tools() if tool.toolset == "graph"], project.root)
    for tool in ("find_symbol", "find_references", "get_context", "get_impact"):
        text = client.call(tool, symbol=symbol).text
        assert f" {place}-" in text, tool
        assert note in text, tool


def test_a_definition_is_preferred_to_an_import_alias(project: SmallProject) -> None:
    project.write({**ALIASES, "other.py": "class Cart:\n    pass\n"}).index()
    client = ToolClient([tool for tool in project.app.tools() if tool.toolset == "graph"], project.root)
    text = client.call("find_symbol", symbol="Cart").text
    assert "def Cart other.py:1-2" in text
    assert "Basket" not in text
