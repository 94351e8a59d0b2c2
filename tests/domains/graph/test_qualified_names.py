"""Definitions are found and displayed by their qualified names in the notation of their language."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.domains.graph.small_project import SmallProject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.graph.search import GraphSearch
    from deltos.isolated.process_pool import ProcessPool

FILES = {
    "go.mod": "module example.com/shop/v2\n",
    "modules/http/matcher.go": "package caddyhttp\n\ntype MatchHost struct{}\n\nfunc (m *MatchHost) Match() bool { return true }\n\nfunc New() *MatchHost { return nil }\n",
    "src/Shop.kt": "package io.shop\n\nclass Cart {\n    fun add(item: String) {}\n}\n\nfun checkout() {}\n\nfun <T> List<T>.firstTwo() = take(2)\n\n@Target(FUNCTION)\nannotation class Marker\n",
    "lua/shelf.lua": "local Shelf = {}\n\nfunction Shelf:put(item) end\n\nreturn Shelf\n",
    "src/main/java/any/Bill.java": "package com.acme.pay;\n\npublic class Bill {\n    class Line { void print() {} }\n    void send() {}\n}\n",
    "cpp/store.cc": "namespace acme::store {\nclass Cart {\n public:\n  void add(int item);\n};\nvoid Cart::add(int item) {}\nnamespace detail { int helper() { return 1; } }\n}\n",
    "crates/basket/Cargo.toml": '[package]\nname = "my-basket"\nversion = "0.1.0"\n',
    "crates/basket/src/lib.rs": "pub mod price;\npub fn open() {}\nmod inner { pub fn deep() {} }\n",
    "crates/basket/src/price.rs": "pub struct Price;\nimpl Price {\n    pub fn total(&self) -> u32 { 1 }\n}\npub fn parse() {}\n",
    "php/Basket.php": "<?php\nnamespace Acme\\Shop;\n\nclass Basket {\n    public $lines;\n    const MAX = 3;\n    public function put($item) {}\n}\n\nfunction helper() {}\n",
    "lib/shelf.rb": "module Store\n  class Shelf\n    LIMIT = 3\n    def fill!; end\n    def full?; end\n    def self.build; end\n  end\nend\n",
    "lib/cart.ex": "defmodule Shop.Carts.Cart do\n  def add(cart, item), do: {cart, item}\n  def add(cart), do: cart\nend\n",
    "ios/Wagon.mm": "@implementation Wagon\n- (void)addItem:(id)item count:(int)count {\n}\n@end\n",
    "net/Order.cs": "namespace Acme.Orders\n{\n    public class Order\n    {\n        public void Ship() { }\n    }\n}\n",
    "perl/Stock.pm": "package Acme::Stock;\n\nsub level { return 1; }\n\n1;\n",
    "scala/Depot.scala": "package acme.depot\n\nobject Depot {\n  def load(): Int = 1\n}\n",
    "py/warehouse/rooms.py": "class Room:\n    def size(self):\n        return 1\n",
    "ts/src/till.ts": "export class Till {\n  open(): void {}\n}\n",
}
LOCATIONS = {
    "io.shop.firstTwo": "src/Shop.kt:9",
    "io.shop.List.firstTwo": "src/Shop.kt:9",
    "io.shop.Marker": "src/Shop.kt:12",
    "Shelf:put": "lua/shelf.lua:3",
    "caddyhttp.MatchHost": "modules/http/matcher.go:3",
    "caddyhttp.MatchHost.Match": "modules/http/matcher.go:5",
    "(*MatchHost).Match": "modules/http/matcher.go:5",
    "caddyhttp.(*MatchHost).Match": "modules/http/matcher.go:5",
    "caddyhttp.New": "modules/http/matcher.go:7",
    "example.com/shop/v2/modules/http.New": "modules/http/matcher.go:7",
    "io.shop.Cart.add": "src/Shop.kt:4",
    "io.shop.checkout": "src/Shop.kt:7",
    "com.acme.pay.Bill.send": "src/main/java/any/Bill.java:5",
    "com.acme.pay.Bill.Line.print": "src/main/java/any/Bill.java:4",
    "com.acme.pay.Bill$Line": "src/main/java/any/Bill.java:4",
    "Bill#send": "src/main/java/any/Bill.java:5",
    "acme::store::Cart::add": "cpp/store.cc:6",
    "acme::store::detail::helper": "cpp/store.cc:7",
    "::acme::store::Cart": "cpp/store.cc:2",
    "crate::price::Price::total": "crates/basket/src/price.rs:3",
    "crate::price::parse": "crates/basket/src/price.rs:5",
    "my_basket::price::parse": "crates/basket/src/price.rs:5",
    "crate::inner::deep": "crates/basket/src/lib.rs:3",
    "crate::open": "crates/basket/src/lib.rs:2",
    "<Price>::total": "crates/basket/src/price.rs:3",
    "\\Acme\\Shop\\Basket": "php/Basket.php:4",
    "\\Acme\\Shop\\Basket::put": "php/Basket.php:7",
    "Acme\\Shop\\Basket::MAX": "php/Basket.php:6",
    "Acme\\Shop\\Basket::$lines": "php/Basket.php:5",
    "Acme\\Shop\\helper": "php/Basket.php:10",
    "Store::Shelf#fill!": "lib/shelf.rb:4",
    "Store::Shelf#full?": "lib/shelf.rb:5",
    "Store::Shelf.build": "lib/shelf.rb:6",
    "Store::Shelf::LIMIT": "lib/shelf.rb:3",
    "Shop.Carts.Cart": "lib/cart.ex:1",
    "Shop.Carts.Cart.add/2": "lib/cart.ex:2",
    "-[Wagon addItem:count:]": "ios/Wagon.mm:2",
    "Acme.Orders.Order.Ship": "net/Order.cs:5",
    "Acme::Stock::level": "perl/Stock.pm:3",
    "acme.depot.Depot.load": "scala/Depot.scala:4",
    "warehouse.rooms.Room.size": "py/warehouse/rooms.py:2",
    "Till#open": "ts/src/till.ts:2",
}
DISPLAYED_NAMES = {
    "Match": "caddyhttp.MatchHost.Match",
    "checkout": "io.shop.checkout",
    "send": "com.acme.pay.Bill.send",
    "helper": "acme::store::detail::helper",
    "total": "crate::price::Price::total",
    "deep": "crate::inner::deep",
    "put": "\\Acme\\Shop\\Basket::put",
    "fill!": "Store::Shelf#fill!",
    "build": "Store::Shelf.build",
    "LIMIT": "Store::Shelf::LIMIT",
    "add/1": "Shop.Carts.Cart.add",
    "addItem:count:": "Wagon.addItem:count:",
    "Ship": "Acme.Orders.Order.Ship",
    "level": "Acme::Stock::level",
    "load": "acme.depot.Depot.load",
    "size": "py.warehouse.rooms.Room.size",
}


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory, workers: ProcessPool) -> Iterator[GraphSearch]:
    """Yield the graph of one project with all languages."""
    project = SmallProject(tmp_path_factory.mktemp("names"), workers).write(FILES)
    yield project.graph()
    project.close()


@pytest.mark.parametrize("name", LOCATIONS)
def test_a_definition_is_found_by_its_qualified_name(graph: GraphSearch, name: str) -> None:
    assert f"{(found := graph.find(name)[0]).path}:{found.line}" == LOCATIONS[name]


@pytest.mark.parametrize("name", DISPLAYED_NAMES)
def test_a_definition_is_shown_with_its_qualified_name(graph: GraphSearch, name: str) -> None:
    assert DISPLAYED_NAMES[name] in {target.name for target in graph.targets(name)}
