"""The graph across repositories: a package that one project declares and another imports is the same symbol."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.confinement import Confinement, confined
from deltos.errors import Forbidden, NotFound
from deltos.workspace.identity import memory_scopes
from tests.calling import ToolClient
from tests.postgres_server import empty_database
from tests.repositories import write_files
from tests.workspaces.shop import API, LIB, WEB, build_shop

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

Files = dict[str, dict[str, str]]

# Lines that end in `use` are the references to `symbol` that must be found in other repositories; no other line may be
# found.
CASES: dict[str, tuple[str, Files]] = {
    "python: a class through the package": (
        "shop_lib.cart.Cart",
        {
            "lib": {
                "pyproject.toml": '[project]\nname = "shop-lib"\n',
                "src/shop_lib/__init__.py": "from shop_lib.cart import Cart\n",
                "src/shop_lib/cart.py": "class Cart:\n    def add(self, item):\n        return item\n",
            },
            "api": {
                "pyproject.toml": '[project]\nname = "api"\n',
                "app/views.py": (
                    "import shop_lib\nfrom shop_lib import Cart  # use\n\n\ndef view(cart: Cart):  # use\n"
                    "    return shop_lib.Cart()  # use\n"
                ),
                "app/other.py": "class Cart:\n    pass\n\n\nmine = Cart()\n",
            },
        },
    ),
    "python: a method on what another function returned": (
        "Cart.add",
        {
            "lib": {
                "pyproject.toml": '[project]\nname = "shoplib"\n',
                "shoplib/__init__.py": "",
                "shoplib/cart.py": (
                    "class Cart:\n    def add(self, item):\n        return item\n\n\ndef make() -> Cart:\n"
                    "    return Cart()\n"
                ),
                "tests/__init__.py": "",
            },
            "api": {
                "views.py": "from shoplib.cart import make\n\ncart = make()\ncart.add(1)  # use\nother = set()\nother.add(2)\n"
            },
        },
    ),
    "python: passed on by a third repository": (
        "Cart",
        {
            "lib": {
                "pyproject.toml": '[project]\nname = "shoplib"\n',
                "shoplib/__init__.py": "class Cart:\n    pass\n",
            },
            "middle": {
                "pyproject.toml": '[project]\nname = "middle"\n',
                "middle/__init__.py": "from shoplib import Cart as Cart  # use\n",
            },
            "api": {"views.py": "from middle import Cart  # use\n\ncart = Cart()  # use\n"},
        },
    ),
    "typescript: a function of a scoped package": (
        "price.formatPrice",
        {
            "lib": {
                "package.json": '{"name": "@shop/lib", "main": "dist/index.js"}',
                "src/index.ts": "export { formatPrice } from './price';\n",
                "src/price.ts": "export function formatPrice(cents: number): string {\n  return String(cents);\n}\n",
            },
            "web": {
                "package.json": '{"name": "web"}',
                "src/page.ts": (
                    "import { formatPrice } from '@shop/lib'; // use\n\nexport const shown = formatPrice(1); // use\n"
                ),
                "src/own.ts": "function formatPrice() {}\nformatPrice();\n",
            },
        },
    ),
    "typescript: a method of an instance": (
        "Client.send",
        {
            "lib": {
                "package.json": '{"name": "shop-client", "exports": {".": "./src/client.ts"}}',
                "src/client.ts": "export class Client {\n  send(text: string): void {}\n}\n",
            },
            "web": {
                "package.json": '{"name": "web"}',
                "src/page.ts": "import { Client } from 'shop-client';\n\nnew Client().send('a'); // use\n",
            },
        },
    ),
    "go: a function of a module": (
        "Open",
        {
            "lib": {
                "go.mod": "module example.com/shop/lib\n",
                "store/store.go": "package store\n\nfunc Open(name string) error {\n\treturn nil\n}\n",
            },
            "api": {
                "go.mod": "module example.com/shop/api\n\nrequire example.com/shop/lib v1.0.0\n",
                "main.go": (
                    'package main\n\nimport (\n\t"os"\n\n\t"example.com/shop/lib/store"\n)\n\nfunc main() {\n'
                    '\tos.Open("x")\n\tstore.Open("y") // use\n}\n'
                ),
            },
        },
    ),
    "rust: a function of a crate": (
        "open_store",
        {
            "lib": {
                "Cargo.toml": '[package]\nname = "shop-store"\n',
                "src/lib.rs": "pub fn open_store(name: &str) -> bool {\n    name.is_empty()\n}\n",
            },
            "api": {
                "Cargo.toml": '[package]\nname = "api"\n\n[dependencies]\nshop-store = "1"\n',
                "src/main.rs": ('use shop_store::open_store; // use\n\nfn main() {\n    open_store("a"); // use\n}\n'),
            },
        },
    ),
    "java: a class of a package": (
        "Cart",
        {
            "lib": {
                "pom.xml": "<project></project>",
                "src/main/java/com/shop/lib/Cart.java": (
                    "package com.shop.lib;\n\npublic class Cart {\n    public void add() {}\n}\n"
                ),
            },
            "api": {
                "pom.xml": "<project></project>",
                "src/main/java/com/shop/api/View.java": (
                    "package com.shop.api;\n\nimport com.shop.lib.Cart; // use\n\nclass View {\n"
                    "    Cart cart = new Cart(); // use\n}\n"
                ),
            },
        },
    ),
    "c#: a class and its method through a namespace": (
        "Cart.Add",
        {
            "lib": {
                "Shop.Lib/Shop.Lib.csproj": '<Project Sdk="Microsoft.NET.Sdk"></Project>\n',
                "Shop.Lib/Cart.cs": (
                    "namespace Shop.Lib;\n\npublic class Cart\n{\n    public void Add(string item) { }\n}\n"
                ),
            },
            "api": {
                "Api/Api.csproj": (
                    '<Project Sdk="Microsoft.NET.Sdk">\n  <ItemGroup>\n    <PackageReference Include="Shop.Lib" />\n'
                    "  </ItemGroup>\n</Project>\n"
                ),
                "Api/View.cs": (
                    "using System;\nusing Shop.Lib;\n\nnamespace Shop.Api;\n\npublic class View\n{\n"
                    "    public void Show(Cart cart, Other other)\n    {\n"
                    '        cart.Add("a"); // use\n        other.Add("b");\n    }\n}\n'
                ),
                "Api/Other.cs": "namespace Shop.Api;\n\npublic class Other\n{\n    public void Add(string x) { }\n}\n",
            },
        },
    ),
    "php: a class that composer loads": (
        "src.Cart.Cart",
        {
            "lib": {
                "composer.json": '{"name": "shop/lib", "autoload": {"psr-4": {"Shop\\\\Lib\\\\": "src/"}}}',
                "src/Cart.php": (
                    "<?php\nnamespace Shop\\Lib;\n\nclass Cart\n{\n    public function add($item) {}\n}\n"
                ),
            },
            "api": {
                "composer.json": '{"name": "shop/api", "require": {"shop/lib": "^1.0"}}',
                "src/View.php": (
                    "<?php\nnamespace Shop\\Api;\n\nuse Shop\\Lib\\Cart; // use\n\nclass View\n{\n"
                    "    public function show(Cart $cart) // use\n    {\n"
                    "        return new Cart(); // use\n    }\n}\n"
                ),
                "src/Mine/Page.php": (
                    "<?php\nnamespace Shop\\Api\\Mine;\n\nclass Cart {}\n\nclass Page\n{\n"
                    "    public function show(Cart $cart) {}\n}\n"
                ),
            },
        },
    ),
    "ruby: a class of a gem": (
        "Shoplib.Cart",
        {
            "lib": {
                "shoplib.gemspec": 'Gem::Specification.new do |spec|\n  spec.name = "shoplib"\nend\n',
                "lib/shoplib.rb": 'require "shoplib/cart"\n',
                "lib/shoplib/cart.rb": "module Shoplib\n  class Cart\n    def add(item)\n      item\n    end\n  end\nend\n",
            },
            "api": {
                "Gemfile": 'gem "shoplib"\n',
                "app.rb": 'require "json"\nrequire "shoplib/cart"\n\ncart = Shoplib::Cart.new # use\n',
                "other.rb": "class Cart\nend\n\nCart.new\n",
            },
        },
    ),
    "c: a function of an installed header": (
        "shop_open",
        {
            "lib": {
                "include/shop/store.h": "#ifndef SHOP_STORE_H\n#define SHOP_STORE_H\nint shop_open(const char *name);\n#endif\n",
                "src/store.c": '#include "shop/store.h"\n\nint shop_open(const char *name) {\n    return name != 0;\n}\n',
            },
            "api": {
                "main.c": (
                    '#include <stdio.h>\n#include <shop/store.h>\n\nint main(void) {\n    return shop_open("a"); // use\n}\n'
                ),
            },
        },
    ),
}


@pytest.fixture
def app(tmp_path: Path, workers: ProcessPool) -> Iterator[App]:
    with closing(App(Config(tmp_path / "home"), workers=workers)) as opened:
        yield opened


def workspace(app: App, folder: Path, repositories: Mapping[str, Mapping[str, str | bytes]]) -> ToolClient:
    """Create the repositories as the workspace `shop` and return a session in the first one."""
    roots = [write_files(folder / name, files).resolve() for name, files in repositories.items()]
    records = app.domains.projects.workspaces
    assert records
    records.add("shop", [str(root) for root in roots])
    return ToolClient(app.tools(), roots[0])


def references_outside(text: str, own_repository: str) -> set[tuple[str, str, int]]:
    """Return repository, file and line of the certain references in an answer outside one repository."""
    found: set[tuple[str, str, int]] = set()
    repository = path = ""
    is_possible = False
    for line in text.splitlines():
        if line.startswith("["):
            repository, is_possible = line[1:].partition("]")[0], False
        elif line.startswith("---"):
            is_possible = "possible" in line
        elif not line.startswith(" "):
            path = line
        elif repository != own_repository and not is_possible:
            numbers = line.split()[0].split(",")
            found |= {(repository, path, int(number.partition(":")[0])) for number in numbers}
    return found


def marked_references(repositories: Files) -> set[tuple[str, str, int]]:
    """Return repository, file and line of every line that ends in `use`."""
    return {
        (name, path, number)
        for name, files in repositories.items()
        for path, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        if line.endswith(" use")
    }


@pytest.mark.parametrize("case", CASES)
def test_references_in_other_repositories_are_found_exactly(app: App, tmp_path: Path, case: str) -> None:
    symbol, repositories = CASES[case]
    client = workspace(app, tmp_path, repositories)
    text = client.call("find_references", symbol=symbol, project_path="shop").text
    assert references_outside(text, "lib") == marked_references(repositories), text


@pytest.mark.parametrize("case", [case for case in CASES if not case.startswith("python")])
def test_the_same_references_are_found_in_postgresql(tmp_path: Path, workers: ProcessPool, case: str) -> None:
    symbol, repositories = CASES[case]
    with closing(App(Config(tmp_path / "home", database=empty_database()), workers=workers)) as app:
        client = workspace(app, tmp_path, repositories)
        text = client.call("find_references", symbol=symbol, project_path="shop").text
    assert references_outside(text, "lib") == marked_references(repositories), text


def test_an_answer_names_each_repository(app: App, tmp_path: Path) -> None:
    roots = build_shop(tmp_path)
    client = workspace(app, tmp_path, {name: {} for name in roots})
    text = client.call("find_references", symbol="apply_voucher", project_path="shop").text
    assert text.startswith("[lib] def apply_voucher src/shoplib/cart.py:")
    assert "\n[api] 2 references in 1 file\napp/views.py\n 3 from shoplib.cart import Cart, apply_voucher\n" in text
    assert "[web]" not in text
    found = client.call("find_symbol", symbol="Cart", project_path="shop").text
    assert found.startswith("1 definition of 'Cart' in 1 project\n[lib] def Cart src/shoplib/cart.py:")
    assert "[api] 2 references" in client.call("get_context", symbol="apply_voucher", project_path="shop").text


def test_impact_includes_other_repositories(app: App, tmp_path: Path) -> None:
    client = workspace(app, tmp_path, {"lib": LIB, "api": API})
    text = client.call("get_impact", symbol="apply_voucher", project_path="shop").text
    assert "[api] affects 2 symbols in 1 file" in text
    assert "--- distance 1 ---\napp/views.py 6 checkout" in text
    assert "--- distance 2 ---\napp/views.py 14 handle" in text


def test_the_other_tools_answer_for_each_repository(app: App, tmp_path: Path) -> None:
    client = workspace(app, tmp_path, {"lib": LIB, "api": API})
    stats = client.call("get_stats", project_path="shop").text
    assert stats.startswith("2 projects\n[lib] ")
    assert "\n[api] " in stats
    assert client.call("detect_circular", project_path="shop").text.startswith("No circular imports in 2 projects.")
    assert "\n[api] " in client.call("get_context", project_path="shop").text
    with pytest.raises(NotFound, match=r"Symbol 'Crat' not found. Did you mean: .*Searched 2 projects"):
        client.call("find_references", symbol="Crat", project_path="shop")


def test_a_workspace_does_not_change_the_answer_for_a_single_repository(app: App, tmp_path: Path) -> None:
    client = workspace(app, tmp_path, {"lib": LIB, "api": API})
    assert client.call("find_symbol", symbol="Cart", project_path="../lib").text.startswith(
        "1 definition of 'Cart'\ndef "
    )
    assert "api" not in client.call("find_references", symbol="apply_voucher").text


def test_an_ambiguous_import_is_a_possible_reference(app: App, tmp_path: Path) -> None:
    client = workspace(app, tmp_path, {"lib": LIB, "fork": LIB, "api": API})
    text = client.call("find_references", symbol="apply_voucher", project_path="../lib,../api").text
    assert "[api] 2 references" in text
    text = client.call("find_references", symbol="apply_voucher", project_path="shop").text
    assert "possible references (fork declares the same package) ---" in text
    assert "possible references (lib declares the same package) ---" in text
    assert not references_outside(text, "lib") - {each for each in references_outside(text, "lib") if each[0] == "fork"}


def test_an_undeclared_package_is_a_possible_reference(app: App, tmp_path: Path) -> None:
    lib = {"pyproject.toml": '[project]\nname = "acme-things"\n', "tools_of/__init__.py": "def run():\n    return 1\n"}
    use = {"main.py": "from tools_of import run\n\nrun()\n"}
    client = workspace(app, tmp_path, {"lib": lib, "api": use})
    text = client.call("find_references", symbol="run", project_path="shop").text
    assert "[api] 0 references, 2 possible\n" in text
    assert "(the package belongs to acme_things, which this project does not require) ---" in text
    write_files(tmp_path / "api", {"pyproject.toml": '[project]\nname = "api"\ndependencies = ["acme.things"]\n'})
    assert "[api] 2 references" in client.call("find_references", symbol="run", project_path="shop").text


def test_modules_outside_packages_are_not_imported(app: App, tmp_path: Path) -> None:
    lib = {**LIB, "helpers/__init__.py": "def assist():\n    return 1\n"}
    client = workspace(app, tmp_path, {"lib": lib, "api": {"main.py": "from helpers import assist\n\nassist()\n"}})
    text = client.call("find_references", symbol="assist", project_path="shop").text
    assert "[api]" not in text
    assert "No use found in 1 other project: none of them imports lib." in text


def test_edits_in_any_repository_take_effect_at_once(app: App, tmp_path: Path) -> None:
    client = workspace(app, tmp_path, {"lib": LIB, "api": API})
    assert "[api] 2 references" in client.call("find_references", symbol="apply_voucher", project_path="shop").text
    write_files(tmp_path / "api", {"app/more.py": "from shoplib.cart import apply_voucher\n"})
    assert "[api] 3 references" in client.call("find_references", symbol="apply_voucher", project_path="shop").text
    write_files(
        tmp_path / "lib", {"src/shoplib/cart.py": "def apply_voucher(cart):\n    return 1\n\n\nclass Cart: pass\n"}
    )
    text = client.call("find_references", symbol="apply_voucher", project_path="shop").text
    assert "[lib] def apply_voucher src/shoplib/cart.py:1-2" in text
    assert "[api] 3 references" in text


def test_a_confined_call_gets_no_references_outside_its_confinement(app: App, tmp_path: Path) -> None:
    client = workspace(app, tmp_path, {"lib": LIB, "api": API})
    client.call("find_references", symbol="apply_voucher", project_path="shop")
    lib = (tmp_path / "lib").resolve()
    with confined(Confinement((lib,), memory_scopes([lib]))):
        for text in ("shop", "*"):
            for tool in ("find_references", "get_impact", "get_context", "find_symbol"):
                assert "api" not in client.call(tool, symbol="apply_voucher", project_path=text).text
        with pytest.raises(Forbidden):
            client.call("get_stats", project_path="../api")
        with pytest.raises((NotFound, Forbidden)) as refused:
            client.call("get_stats", project_path=".,../api")
        assert "api" not in str(refused.value)


def index_all(client: ToolClient) -> None:
    """Index every project of the workspace."""
    client.call("get_stats", project_path="shop")


def test_an_answer_is_incomplete_if_other_projects_of_the_workspace_import_the_project(
    app: App, tmp_path: Path
) -> None:
    client = workspace(app, tmp_path, {"lib": LIB, "api": API, "web": WEB})
    first = client.call("find_references", symbol="apply_voucher", project_path="../lib").text
    assert ". No other uses in code" in first  # the other projects are not indexed, so their references are not known
    index_all(client)
    for tool in ("find_references", "get_impact"):
        text = client.call(tool, symbol="apply_voucher", project_path="../lib").text
        assert "Note: api imports this project and was not searched. Pass project_path=shop to include it." in text
        assert "web" not in text
    text = client.call("find_references", symbol="apply_voucher", project_path="../lib").text
    assert "No other uses in code (checked against every line that contains the name). Not searched: api" in text
    assert "Note: " not in client.call("find_references", symbol="apply_voucher", project_path="shop").text
    assert "No other uses in lib" in client.call("find_references", symbol="Cart.add", project_path="shop").text


def test_projects_excluded_from_a_selection_are_also_named(app: App, tmp_path: Path) -> None:
    client = workspace(app, tmp_path, {"lib": LIB, "api": API, "web": WEB})
    index_all(client)
    text = client.call("find_references", symbol="apply_voucher", project_path="../lib,../web").text
    assert "Note: api imports lib and was not searched. Pass project_path=shop to include it." in text
    assert "Not searched: api, which may contain more uses." in text


def test_importers_of_a_re_exporting_project_are_included(app: App, tmp_path: Path) -> None:
    middle = {
        "pyproject.toml": '[project]\nname = "middle"\n',
        "middle/__init__.py": "from shoplib import Cart as Cart\n",
    }
    client = workspace(app, tmp_path, {"lib": LIB, "middle": middle, "end": {"views.py": "from middle import Cart\n"}})
    index_all(client)
    text = client.call("find_references", symbol="Cart", project_path="../lib").text
    assert (
        "Note: middle, end import this project and were not searched. Pass project_path=shop to include them." in text
    )


def test_the_answer_is_complete_if_no_other_project_can_import_the_symbol(app: App, tmp_path: Path) -> None:
    client = workspace(app, tmp_path, {"lib": LIB, "api": API})
    index_all(client)
    text = client.call("find_references", symbol="test_total", project_path="../lib").text
    assert "not searched" not in text
    assert "Other lines that contain the name were not compared" in text
    assert "Not searched" not in text
    assert "Note: " not in text
    assert "Note: " not in client.call("find_references", symbol="handle", project_path="../api").text


def test_importers_that_a_call_may_not_read_are_not_named(app: App, tmp_path: Path) -> None:
    client = workspace(app, tmp_path, {"lib": LIB, "api": API})
    index_all(client)
    lib = (tmp_path / "lib").resolve()
    with confined(Confinement((lib,), memory_scopes([lib]))):
        text = client.call("find_references", symbol="apply_voucher", project_path=str(lib)).text
    assert "api" not in text
