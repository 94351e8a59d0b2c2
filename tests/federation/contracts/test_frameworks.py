"""Routes and client calls of every framework."""

from __future__ import annotations

import asyncio

import pytest
from fastapi import FastAPI
from flask import Flask
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route

from deltos.federation.contracts.frameworks import frameworks
from deltos.federation.contracts.paths import join_paths, template
from deltos.federation.contracts.rpc import proto_facts
from deltos.federation.contracts.wrappers import MAX_WRAPPER_NAMES
from tests.federation.contracts.sources import FIXTURES, endpoints_in, format_endpoint, load_fixture


@pytest.mark.parametrize("name", sorted(path.stem for path in FIXTURES.glob("*.txt")))
def test_routes_and_calls_are_found_with_prefixes_and_handlers(name: str) -> None:
    fixture = load_fixture(name)
    assert sorted(map(format_endpoint, endpoints_in(fixture.files))) == sorted(fixture.expected)


def test_every_framework_has_a_fixture() -> None:
    found = {each.framework for path in FIXTURES.glob("*.txt") for each in endpoints_in(load_fixture(path.stem).files)}
    assert found == {framework.name for framework in frameworks()}


def test_starlette_lists_the_same_routes() -> None:
    source = """
from starlette.applications import Starlette
from starlette.routing import Mount, Route

async def home(request): ...

users = [Route("/", home), Route("/{name:str}", home, methods=["GET", "DELETE"])]
app = Starlette(routes=[
    Route("/", home),
    Mount("/users", routes=users),
    Mount("/files", routes=[Route("/{path:path}", home, methods=["PUT"])]),
])
"""
    names: dict[str, object] = {}
    exec(source, names)
    app = names["app"]
    assert isinstance(app, Starlette)
    expected = {(method, template(path)) for method, path in _route_lines(app.routes, "")}
    assert {(each.method, each.path) for each in endpoints_in({"app.py": source})} == expected
    assert asyncio.iscoroutinefunction(names["home"])


def test_fastapi_lists_the_same_routes() -> None:
    source = """
from fastapi import APIRouter, FastAPI

VERSION = "/v1"
items = APIRouter(prefix="/items")
lines = APIRouter()

@lines.get("/{item}/lines/{line:int}")
def read_line(item: str, line: int): ...

@lines.api_route("/{item}/lines", methods=["POST"])
def write_lines(item: str): ...

@items.get("")
def list_items(): ...

@items.delete("/{item}")
def delete_item(item: str): ...

items.include_router(lines)
api = APIRouter(prefix=VERSION)
api.include_router(items, prefix="/shop")
app = FastAPI()
app.include_router(api)
app.include_router(lines, prefix="/direct")

@app.patch("/settings")
async def change(): ...
"""
    names: dict[str, object] = {}
    exec(source, names)
    app = names["app"]
    assert isinstance(app, FastAPI)
    expected = {(method.upper(), path) for path, item in app.openapi()["paths"].items() for method in item}
    assert len(expected) == 7
    assert {(each.method, each.path) for each in endpoints_in({"app.py": source})} == expected


def test_flask_lists_the_same_routes() -> None:
    source = """
from flask import Blueprint, Flask

parent = Blueprint("parent", __name__, url_prefix="/parent")
child = Blueprint("child", __name__)

@child.route("/items/<int:number>", methods=["GET", "DELETE"])
def item(number): ...

@child.post("/items")
def create(): ...

@parent.get("/")
def index(): ...

def about(): ...

parent.register_blueprint(child, url_prefix="/child")
app = Flask(__name__, static_folder=None)
app.register_blueprint(parent)
app.add_url_rule("/about", view_func=about)
"""
    names: dict[str, object] = {"__name__": "shop"}
    exec(source, names)
    app = names["app"]
    assert isinstance(app, Flask)
    expected = {
        (method, template(join_paths(rule.rule)))
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert len(expected) == 5
    assert {(each.method, each.path.rstrip("/")) for each in endpoints_in({"app.py": source})} == {
        (method, path.rstrip("/")) for method, path in expected
    }


def _route_lines(routes: list[BaseRoute], prefix: str) -> list[tuple[str, str]]:
    found = []
    for route in routes:
        if isinstance(route, Mount):
            found += _route_lines(list(route.routes), prefix + route.path)
        elif isinstance(route, Route):
            found += [(method, prefix + route.path) for method in route.methods or () if method != "HEAD"]
    return found


def test_unresolved_prefixes_make_routes_possible() -> None:
    source = """
from fastapi import APIRouter
router = APIRouter(prefix=load_prefix() + "/orders")
@router.get("/{id}")
def read(id): ...
"""
    (found,) = endpoints_in({"app.py": source})
    assert (found.path, found.certain) == ("/orders/{id}", False)


def test_cyclic_mounts_and_constants_terminate() -> None:
    source = """
from fastapi import APIRouter
A = B
B = A + "/x"
one = APIRouter(prefix=A)
two = APIRouter(prefix="/two")
one.include_router(two)
two.include_router(one)
url = url + "/y"
@one.get(url + B)
def read(): ...
"""
    assert all(each.function == "read" for each in endpoints_in({"app.py": source}))


def test_deeply_nested_and_invalid_sources_are_parsed() -> None:
    chain = "app" + "".join(f".get('/r{number}', h)" for number in range(3_000))
    deep = "[" * 2_000 + "]" * 2_000
    broken = "app.get('/broken', (req"
    source = f"const app = require('express')();\n{chain};\nconst x = {deep};\n{broken}"
    assert len(endpoints_in({"app.js": source})) >= 1


def test_cyclic_assignments_of_a_registered_server_end() -> None:
    proto = "service Orders { rpc Create(Order) returns (Order); }"
    source = """
package main
import "google.golang.org/grpc"
func main() {
	first := second
	second := first
	pb.RegisterOrdersServer(grpc.NewServer(), first)
}
"""
    assert endpoints_in({"orders.proto": proto, "main.go": source}) == []


def test_methods_of_a_long_proto_file_have_their_lines() -> None:
    proto = "service Orders {\n" + "".join(f"  rpc Call{number}(A) returns (B);\n" for number in range(20_000)) + "}\n"
    facts = proto_facts("orders.proto", proto.encode())
    assert [(each.name, each.line) for each in facts.functions.values()][-1] == ("Call19999", 20_001)


def test_callers_are_found_among_many_wrappers_and_wrappers_with_long_names() -> None:
    wrappers = "".join(
        f"export const call{number} = (path) => fetch(path);\n" for number in range(MAX_WRAPPER_NAMES + 1)
    )
    long_name = f"export const {'x' * 5_000} = (path) => fetch(path);\n"
    files = {
        "client.js": wrappers + long_name,
        "page.js": "import { call7 } from './client';\nexport const load = () => call7('/orders/open');\n",
    }
    assert [each.key for each in endpoints_in(files)] == ["GET /orders/open"]
