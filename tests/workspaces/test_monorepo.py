"""Packages inside one repository: an import by package name is resolved to the sources of the package."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from tests.calling import ToolClient
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

_TS_LIB = {
    "packages/lib/package.json": '{"name": "@shop/lib", "main": "dist/index.js", "types": "dist/index.d.ts"}',
    "packages/lib/src/index.ts": "export function price(cents: number): string {\n  return String(cents);\n}\n",
    "packages/web/package.json": '{"name": "@shop/web", "dependencies": {"@shop/lib": "workspace:*"}}',
    "packages/web/src/page.ts": "import { price } from '@shop/lib'; // use\n\nexport const shown = price(1); // use\n",
}
# Lines that end in `use` are the references to `symbol` that must be found; no other line may be found.
CASES: dict[str, tuple[str, dict[str, str]]] = {
    "npm and yarn": ("price", {"package.json": '{"private": true, "workspaces": ["packages/*"]}', **_TS_LIB}),
    "pnpm": ("price", {"package.json": "{}", "pnpm-workspace.yaml": "packages:\n  - packages/*\n", **_TS_LIB}),
    "uv, with src": (
        "apply_voucher",
        {
            "pyproject.toml": '[project]\nname = "shop"\n\n[tool.uv.workspace]\nmembers = ["packages/*"]\n',
            "packages/lib/pyproject.toml": '[project]\nname = "shop-lib"\n',
            "packages/lib/src/shop_lib/__init__.py": "",
            "packages/lib/src/shop_lib/cart.py": "def apply_voucher():\n    return 1\n",
            "packages/api/pyproject.toml": '[project]\nname = "shop-api"\ndependencies = ["shop-lib"]\n',
            "packages/api/src/shop_api/__init__.py": "",
            "packages/api/src/shop_api/main.py": (
                "from shop_lib.cart import apply_voucher  # use\n\napply_voucher()  # use\n"
            ),
        },
    ),
    "uv, without src": (
        "apply_voucher",
        {
            "libs/lib/pyproject.toml": '[project]\nname = "shop-lib"\n',
            "libs/lib/shop_lib/__init__.py": "",
            "libs/lib/shop_lib/cart.py": "def apply_voucher():\n    return 1\n",
            "apps/api/pyproject.toml": '[project]\nname = "shop-api"\n',
            "apps/api/main.py": "import shop_lib.cart\n\nshop_lib.cart.apply_voucher()  # use\n",
        },
    ),
    "cargo, where crates are called otherwise than their folders": (
        "open_store",
        {
            "Cargo.toml": '[workspace]\nmembers = ["components/*"]\n',
            "components/storage/Cargo.toml": '[package]\nname = "shop-store"\n',
            "components/storage/src/lib.rs": "pub fn open_store() -> bool {\n    true\n}\n",
            "components/server/Cargo.toml": '[package]\nname = "server"\n\n[dependencies]\nshop-store = { path = "../storage" }\n',
            "components/server/src/main.rs": (
                "use shop_store::open_store; // use\n\nfn main() {\n    open_store(); // use\n}\n"
            ),
        },
    ),
    "several modules of go": (
        "Open",
        {
            "go.work": "go 1.22\n\nuse (\n\t./lib\n\t./api\n)\n",
            "lib/go.mod": "module example.com/lib\n",
            "lib/store/store.go": "package store\n\nfunc Open() error {\n\treturn nil\n}\n",
            "api/go.mod": "module example.com/api\n",
            "api/main.go": (
                'package main\n\nimport "example.com/lib/store"\n\nfunc main() {\n\tstore.Open() // use\n}\n'
            ),
        },
    ),
    "gradle": (
        "Cart",
        {
            "settings.gradle": "include 'lib', 'api'\n",
            "lib/build.gradle": "plugins { id 'java-library' }\n",
            "lib/src/main/java/com/shop/lib/Cart.java": "package com.shop.lib;\n\npublic class Cart {\n}\n",
            "api/build.gradle": "dependencies { implementation project(':lib') }\n",
            "api/src/main/java/com/shop/api/View.java": (
                "package com.shop.api;\n\nimport com.shop.lib.Cart; // use\n\nclass View {\n"
                "    Cart basket = new Cart(); // use\n}\n"
            ),
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_inner_packages_resolve_to_their_sources(tmp_path: Path, workers: ProcessPool, case: str) -> None:
    symbol, files = CASES[case]
    root = write_files(tmp_path / "shop", files)
    expected = {
        (path, number)
        for path, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        if line.endswith(" use")
    }
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        text = ToolClient(app.tools(), root).call("find_references", symbol=symbol).text
    found, path = set(), ""
    for line in text.partition("--- possible")[0].splitlines()[2:]:
        if line.startswith(" "):
            found |= {(path, int(number.partition(":")[0])) for number in line.split()[0].split(",")}
        else:
            path = line
    assert found == expected, text


def test_a_package_that_is_also_a_project_is_listed_once(tmp_path: Path, workers: ProcessPool) -> None:
    files = CASES["npm and yarn"][1]
    root = write_files(tmp_path / "shop", files)
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        client = ToolClient(app.tools(), root)
        both = f"{root},{root / 'packages/lib'}"
        text = client.call("find_references", symbol="price", project_path=both).text
        again = client.call("get_impact", symbol="price", project_path=both).text
    assert text.startswith("[shop] def price ")
    assert "\nNote: [lib] and [shop] share files; results are listed under [shop].\n" in text
    assert "packages/web/src/page.ts\n 1 import" in text
    assert "is ambiguous" not in text + again
