"""Entries of `__all__` are reported separately: they are not uses, but other files can import the names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.calling import ToolClient

if TYPE_CHECKING:
    from tests.domains.graph.small_project import SmallProject

SHOP = {
    "shop/__init__.py": 'from .cart import Cart, Price\n\n__all__ = ["Cart", "Price"]\n',
    "shop/cart.py": "__all__ = [\n    'Cart',\n    # 'later',\n]\n__all__ += ('Price',)\n__all__.append('later')\n\n\n"
    "class Cart:\n    pass\n\n\nclass Price:\n    pass\n\n\ndef later():\n    return 'Cart'\n",
    "shop/every.py": "from .cart import *\n\n__all__: list[str] = ['Cart']\n",
    "other/__init__.py": "class Cart:\n    pass\n\n\n__all__ = ['Cart']\n",
}


def call_graph_tool(project: SmallProject, tool: str, symbol: str) -> str:
    """Return the answer of a graph tool for the shop."""
    return ToolClient(project.write(SHOP).app.tools(), project.root).call(tool, symbol=symbol).text


def test_entries_of_dunder_all_are_reported_and_keep_the_answer_complete(project: SmallProject) -> None:
    text = call_graph_tool(project, "find_references", "shop.cart.Cart")
    assert ". Listed in __all__ at shop/cart.py:2, shop/__init__.py:3, shop/every.py:3. No other uses" in text
    assert "other/" not in text.partition("Listed in")[2].partition(". ")[0]
    assert "Listed in __all__ at shop/cart.py:5, shop/__init__.py:3. No other uses" in call_graph_tool(
        project, "find_references", "Price"
    )


def test_entries_of_dunder_all_are_reported_for_an_unused_symbol(project: SmallProject) -> None:
    text = call_graph_tool(project, "get_impact", "later")
    assert "Listed in __all__ at shop/cart.py:6.\nNo use found" in text


def test_entries_of_dunder_all_are_not_reported_for_members(project: SmallProject) -> None:
    project.write({"shop/box.py": "__all__ = ['Box', 'close']\n\n\nclass Box:\n    def close(self):\n        pass\n"})
    assert "__all__" not in call_graph_tool(project, "find_references", "Box.close")
