"""An order service with an API description, and a shop that calls it: links, drift and impact end to end."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.cli.main import main
from deltos.config import Config
from deltos.errors import NotFound
from tests.calling import ToolClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

SERVICE = """
from fastapi import APIRouter, FastAPI

router = APIRouter(prefix="/orders")


@router.post("")
def create_order(): ...


@router.get("/{order_id}")
def read_order(order_id: int): ...


@router.delete("/{order_id}")
def cancel_order(order_id: int): ...


app = FastAPI()
app.include_router(router)
""".lstrip()
DESCRIPTION = """
openapi: 3.1.0
info: {title: Orders, version: "1"}
paths:
  /orders:
    post: {summary: Create an order, responses: {"200": {description: ok}}}
  /orders/{id}:
    get: {summary: Read an order, responses: {"200": {description: ok}}}
    put: {summary: Replace an order, responses: {"200": {description: ok}}}
""".lstrip()
CLIENT = """
const ORDERS = process.env.ORDERS_URL ?? "http://orders:8000";

export async function placeOrder(items: string[]) {
  return fetch(`${ORDERS}/orders`, { method: "POST", body: JSON.stringify(items) });
}

export async function refund(id: number) {
  return fetch(`${ORDERS}/orders/${id}/refunds`, { method: "POST" });
}

export async function news() {
  return fetch("https://news.shop.com/latest");
}
""".lstrip()
PAGE = """
import { placeOrder } from "./client";

export function checkout(cart: string[]) {
  return placeOrder(cart);
}
""".lstrip()


@pytest.fixture
def services(tmp_path: Path, workers: ProcessPool) -> Iterator[tuple[App, Path, Path]]:
    """The two services in one workspace, indexed."""
    orders, shop = tmp_path / "orders", tmp_path / "shop"
    files = {
        orders / "main.py": SERVICE,
        orders / "openapi.yaml": DESCRIPTION,
        shop / "client.ts": CLIENT,
        shop / "page.ts": PAGE,
    }
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        app.domains.apis.indexer.add(str(orders / "openapi.yaml"), "orders")
        for root in (orders, shop):
            app.domains.projects.index_of(root).index()
        assert app.domains.projects.workspaces is not None
        app.domains.projects.workspaces.add("shopfront", [str(orders.resolve()), str(shop.resolve())])
        yield app, orders, shop


def test_references_of_an_endpoint_are_its_handler_and_its_calls_in_other_services(
    services: tuple[App, Path, Path],
) -> None:
    app, orders, _ = services
    text = ToolClient(app.tools(), orders).call("find_references", symbol="POST /orders").text
    assert text.splitlines() == [
        "POST /orders — described by orders",
        "  implemented by orders/main.py:7 create_order (certain: fastapi route, same path)",
        "  called by shop/client.ts:4 placeOrder (certain: fetch call, same path)",
    ]


def test_impact_of_an_endpoint_crosses_services(services: tuple[App, Path, Path]) -> None:
    app, orders, _ = services
    text = ToolClient(app.tools(), orders).call("get_impact", symbol="POST /orders").text
    assert text.splitlines()[-2:] == ["  affected through these calls:", "    shop/page.ts:3 checkout"]


def test_get_context_names_the_api_operation_of_a_handler_and_of_a_client_function(
    services: tuple[App, Path, Path],
) -> None:
    app, orders, shop = services
    handler = ToolClient(app.tools(), orders).call("get_context", symbol="create_order").text
    assert "POST /orders\n  implemented by orders/main.py:7 create_order" in handler
    assert "called by shop/client.ts:4 placeOrder" in handler
    client = ToolClient(app.tools(), shop).call("get_context", symbol="placeOrder").text
    assert "--- API operations ---\nPOST /orders\n" in client
    assert "API operations" not in ToolClient(app.tools(), shop).call("get_context", symbol="checkout").text


def test_operations_show_their_handlers(services: tuple[App, Path, Path]) -> None:
    app, orders, _ = services
    answer = ToolClient(app.tools(), orders).call("get_api_endpoints", api_name="orders", path="/orders", method="POST")
    assert "implemented by orders/main.py:7 create_order" in answer.text
    assert "called by shop/client.ts:4 placeOrder" in answer.text


def test_unknown_endpoints_suggest_similar_ones(services: tuple[App, Path, Path]) -> None:
    app, orders, _ = services
    with pytest.raises(NotFound, match="No operation or handler 'POST /order'") as problem:
        ToolClient(app.tools(), orders).call("find_references", symbol="POST /order")
    assert "POST /orders" in problem.value.hint


def test_an_edit_changes_the_links(services: tuple[App, Path, Path]) -> None:
    app, orders, shop = services
    (shop / "client.ts").write_text(CLIENT.replace("placeOrder(items", "submitOrder(items"), "utf-8")
    app.domains.projects.index_of(shop).index()
    text = ToolClient(app.tools(), orders).call("find_references", symbol="POST /orders").text
    assert "shop/client.ts:4 submitOrder" in text


def test_commands_print_links_drift_and_a_description(
    services: tuple[App, Path, Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    app, orders, _ = services
    app.close()
    monkeypatch.setenv("DELTOS_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(orders)
    assert main(["api", "links", "POST /orders", "--project", "shopfront"]) == 0
    assert "called by shop/client.ts:4 placeOrder" in capsys.readouterr().out
    assert main(["graph", "refs", "POST /orders", "--project", "shopfront"]) == 0
    assert "called by shop/client.ts:4 placeOrder" in capsys.readouterr().out
    assert main(["api", "drift", "--project", "shopfront", "--json"]) == 1
    drift = json.loads(capsys.readouterr().out)
    assert [each["path"] for each in drift["operations_without_handler"]] == ["/orders/{id}"]
    assert [each["method"] for each in drift["handlers_without_operation"]] == ["DELETE"]
    assert [each["endpoint"] for each in drift["calls_without_operation"]] == ["/orders/{id}/refunds"]
    assert main(["api", "drift", "--fail-on", "never"]) == 0
    capsys.readouterr()
    assert main(["api", "from-code"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert set(document["paths"]["/orders/{order_id}"]) == {"get", "delete"}
