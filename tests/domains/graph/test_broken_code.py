"""Names in code with syntax errors are possible uses, including possible uses of members."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.domains.graph.model import UNPARSED
from tests.calling import ToolClient

if TYPE_CHECKING:
    from tests.domains.graph.small_project import SmallProject

ORDERS = """class OrderStore:
    def put(self, order):
        return order


class Basket:
    def total(self):
        return 1


class Postman:
    def notify(self, who):
        return who


def receipt(order):
    return order
"""
CHECKOUT = """from .orders import Basket, OrderStore, Postman, receipt


def place(basket: Basket, store: OrderStore, address: str, postman: Postman):
    order = (address, basket.total())
    store.put(order)
    postman.notify(address)
    return receipt(order)
"""
UNCLOSED_PARAMETERS = CHECKOUT.replace("Postman):", "Postman:")
UNCLOSED_CALL = CHECKOUT.replace("store.put(order)", "store.put(order")
CONFLICT = CHECKOUT.replace(
    "    store.put(order)\n",
    "<<<<<<< HEAD\n    store.put(order)\n=======\n    store.put((order,))\n>>>>>>> other\n",
)
UNCLOSED_LIST = CHECKOUT.replace("    order = (", "    order = [(")


def client_with(project: SmallProject, checkout: str) -> ToolClient:
    """Write the shop with a version of `checkout.py` and return its tools."""
    project.write({"shop/__init__.py": "# a package\n", "shop/orders.py": ORDERS, "shop/checkout.py": checkout})
    return ToolClient(project.app.tools(), project.root)


@pytest.mark.parametrize("checkout", [UNCLOSED_PARAMETERS, UNCLOSED_CALL, CONFLICT, UNCLOSED_LIST])
@pytest.mark.parametrize("symbol", ["OrderStore.put", "Postman.notify", "receipt"])
def test_uses_near_a_syntax_error_are_listed(project: SmallProject, checkout: str, symbol: str) -> None:
    client = client_with(project, checkout)
    name = symbol.rpartition(".")[2]
    lines = checkout.splitlines()
    places = {number for number, line in enumerate(lines, 1) if f"{name}(" in line}
    text = client.call("find_references", symbol=symbol).text
    assert all(f"\n {place} " in text for place in places)
    impact = client.call("get_impact", symbol=symbol).text
    assert "nothing in the project refers to it" not in impact
    assert "possible reference" in impact or "checkout.py" in impact


def test_uses_in_code_with_a_syntax_error_are_marked_as_unparsed(project: SmallProject) -> None:
    text = client_with(project, UNCLOSED_PARAMETERS).call("find_references", symbol="Postman.notify").text
    assert "0 references in 0 files, 1 possible" in text
    assert (
        "--- 1 possible reference (in code that cannot be parsed) ---\n"
        "shop/checkout.py\n 7 unparsed postman.notify(address)"
    ) in text


def test_an_undotted_name_in_code_with_a_syntax_error_is_not_a_use_of_a_member(project: SmallProject) -> None:
    client = client_with(project, UNCLOSED_CALL.replace("address", "total"))
    assert "checkout.py:7" not in client.call("find_references", symbol="Basket.total").text
    assert " 7 " not in client.call("find_references", symbol="Basket.total").text


def test_code_that_parses_has_no_unparsed_names(project: SmallProject) -> None:
    client_with(project, CHECKOUT)
    graph = project.graph()
    (target,) = graph.targets("OrderStore.put")
    found = graph.references(target)
    assert [row.line for row in found.certain] == [6]
    assert not [row for row in graph.reader.mentions("put") if row.kind == UNPARSED]


def test_uses_are_certain_again_once_the_error_is_fixed(project: SmallProject) -> None:
    client = client_with(project, UNCLOSED_CALL)
    assert "1 possible" in client.call("find_references", symbol="OrderStore.put").text
    client = client_with(project, CHECKOUT)
    assert (
        "1 reference in 1 file; no test files. No other uses"
        in client.call("find_references", symbol="OrderStore.put").text
    )


def test_a_call_on_an_undefined_name_is_a_possible_use(project: SmallProject) -> None:
    client = client_with(project, CHECKOUT + "\n\ndef later():\n    nobody.put(3)\n")
    text = client.call("find_references", symbol="OrderStore.put").text
    assert "1 possible" in text
    assert "12 call nobody.put(3)  later" in text


CONFLICTS = {
    "OrderStore.java": "class OrderStore {\n  void put(String order) {}\n}\n",
    "Postman.java": "class Postman {\n  void inform(String who) {}\n}\n",
    "Checkout.java": "class Checkout {\n  void place(OrderStore store, Postman postman) {\n<<<<<<< HEAD\n"
    '    store.put("a"); // postman.inform\n=======\n    store.put("b");\n>>>>>>> other\n    postman.inform("c");\n  }\n}\n',
    "src/lib.rs": "pub struct Till;\nimpl Till {\n    pub fn fill(&self) {}\n}\n\npub fn open(till: &Till) {\n<<<<<<< HEAD\n"
    "    till.fill();\n=======\n    till.fill();\n>>>>>>> other\n}\n",
}
