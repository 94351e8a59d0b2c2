"""References in Swift: members by the types of values, extensions in other files, protocols and optionals."""

from __future__ import annotations

import pytest

from tests.domains.graph.small_project import SmallProject, certain_locations

FILES = {
    "Sources/Shop/Item.swift": (
        "import Foundation\n\n"
        "protocol Payable {\n    func pay(_ amount: Int) -> Bool\n}\n\n"
        "class Item: Payable {\n    let price: Price\n    init(price: Price) { self.price = price }\n"
        "    func pay(_ amount: Int) -> Bool { return total() > amount }\n"
        "    func total() -> Int { price.cents }\n    static func make() -> Item { Item(price: Price(cents: 1)) }\n}\n\n"
        "struct Price {\n    var cents: Int\n    func add(_ other: Price) -> Price { Price(cents: cents + other.cents) }\n}\n"
    ),
    "Sources/Shop/Extra.swift": (
        "extension Item {\n    func extra(items: [Item], other: Item?) {\n        price.add(price)\n"
        "        if let it = other { it.extra(items: [], other: nil) }\n        for each in items { each.total() }\n"
        "        let made = Item.make()\n        made.total()\n        checkout(made)\n    }\n}\n"
    ),
    "Sources/Shop/Checkout.swift": (
        "func checkout<T: Payable>(_ one: T) { _ = one.pay(1) }\n\n"
        "struct Other {\n    func total() -> Int { 1 }\n}\n\nfunc run(other: Other) { _ = other.total() }\n"
    ),
}
REFERENCES = {
    "Item.total": {"Item.swift:10", "Extra.swift:5", "Extra.swift:7"},
    "Other.total": {"Checkout.swift:7"},
    "Price.add": {"Extra.swift:3"},
    "Price.cents": {"Item.swift:11", "Item.swift:17"},
    "Item.extra": {"Extra.swift:4"},
    "Item.make": {"Extra.swift:6"},
    "Payable": {"Item.swift:7", "Checkout.swift:1"},
    "checkout": {"Extra.swift:8"},
    "Other": {"Checkout.swift:7"},
}


@pytest.mark.parametrize("symbol", REFERENCES)
def test_references_in_swift_are_found(project: SmallProject, symbol: str) -> None:
    graph = project.write(FILES).graph()
    (target,) = graph.targets(symbol)
    assert {place.rpartition("/")[2] for place in certain_locations(graph.references(target))} == REFERENCES[symbol]
