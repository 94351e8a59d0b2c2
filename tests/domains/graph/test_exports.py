"""What `__all__` lists is told beside the uses: it is none, but others may import what is listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.calling import Desk

if TYPE_CHECKING:
    from tests.domains.graph.small_project import SmallProject

SHOP = {
    "shop/__init__.py": 'from .cart import Cart, Price\n\n__all__ = ["Cart", "Price"]\n',
    "shop/cart.py": "__all__ = [\n    'Cart',\n    # 'later',\n]\n__all__ += ('Price',)\n__all__.append('later')\n\n\n"
    "class Cart:\n    pass\n\n\nclass Price:\n    pass\n\n\ndef later():\n    return 'Cart'\n",
    "shop/every.py": "from .cart import *\n\n__all__: list[str] = ['Cart']\n",
    "other/__init__.py": "class Cart:\n    pass\n\n\n__all__ = ['Cart']\n",
}


def asked(project: SmallProject, tool: str, symbol: str) -> str:
    return Desk(project.write(SHOP).app.tools(), project.root).call(tool, symbol=symbol).text


def test_what_all_lists_is_told_and_complete(project: SmallProject) -> None:
    text = asked(project, "find_references", "shop.cart.Cart")
    assert "; listed in __all__: shop/cart.py:2, shop/__init__.py:3, shop/every.py:3; complete" in text
    assert "other/" not in text.partition("listed in")[2].partition(";")[0]
    assert "listed in __all__: shop/cart.py:5, shop/__init__.py:3; complete" in asked(
        project, "find_references", "Price"
    )


def test_nothing_that_refers_to_it_is_said_together_with_what_lists_it(project: SmallProject) -> None:
    text = asked(project, "get_impact", "later")
    assert "listed in __all__: shop/cart.py:6\nno use of it is known" in text


def test_a_member_of_the_name_is_not_listed(project: SmallProject) -> None:
    project.write({"shop/box.py": "__all__ = ['Box', 'close']\n\n\nclass Box:\n    def close(self):\n        pass\n"})
    assert "__all__" not in asked(project, "find_references", "Box.close")
