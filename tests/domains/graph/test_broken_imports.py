"""A name imported from a module that does not define it is a possible use of the definition elsewhere."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.domains.graph.uses import group_uses
from tests.calling import ToolClient
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool
    from tests.domains.graph.small_project import SmallProject

MOVED = "def apply_voucher(code):\n    return code\n"


def possible_uses(project: SmallProject, symbol: str = "apply_voucher") -> list[tuple[str, int, tuple[str, ...]]]:
    """Return path, line and kinds of the possible uses; fail if there are certain ones."""
    graph = project.graph()
    found = graph.references(graph.targets(symbol)[0])
    assert not found.certain
    groups = group_uses(found)
    assert all("imported from a module that does not define it" in group.title for group in groups)
    return [(use.path, use.line, use.kinds) for group in groups for use in group.uses]


@pytest.mark.parametrize("package", [{}, {"api/__init__.py": "# the package\n"}])
def test_python_files_that_still_import_a_moved_module_are_possible_uses(
    project: SmallProject, package: dict[str, str]
) -> None:
    project.write(
        {
            **package,
            "api/coupons.py": MOVED,
            "api/server.py": "from api.vouchers import apply_voucher\n\n\ndef serve(code):\n    apply_voucher(code)\n",
            "api/near.py": "from .vouchers import apply_voucher as use\n\nuse(1)\n",
            "api/whole.py": "import api.vouchers\n\napi.vouchers.apply_voucher(1)\n",
            "api/short.py": "import api.vouchers as v\n\nv.apply_voucher(1)\n",
            "tests/test_vouchers.py": "from api import vouchers\n\nassert vouchers.apply_voucher(1)\n",
            "elsewhere.py": "from flask.vouchers import apply_voucher\n\napply_voucher(1)\n",
        }
    )
    assert possible_uses(project) == [
        ("api/near.py", 1, ("import",)),
        ("api/near.py", 3, ("call",)),
        ("api/server.py", 1, ("import",)),
        ("api/server.py", 5, ("call",)),
        ("api/short.py", 3, ("call",)),
        ("api/whole.py", 3, ("call",)),
        ("tests/test_vouchers.py", 3, ("call",)),
    ]
    graph = project.graph()
    assert {use.path for use in graph.impact(graph.targets("apply_voucher")[0]).possible} == {
        path for path, _, _ in possible_uses(project)
    }


def test_a_python_name_that_its_module_no_longer_has_is_a_possible_use(project: SmallProject) -> None:
    project.write(
        {
            "api/old.py": "def other():\n    pass\n",
            "api/coupons.py": MOVED,
            "a.py": "from api.old import apply_voucher\n\napply_voucher(1)\n",
            "b.py": "from api import old\n\nold.apply_voucher(1)\n",
        }
    )
    assert [(path, line) for path, line, _ in possible_uses(project)] == [("a.py", 1), ("a.py", 3), ("b.py", 3)]


def test_typescript_files_that_still_import_a_moved_module_are_possible_uses(project: SmallProject) -> None:
    project.write(
        {
            "src/coupons.ts": "export function applyVoucher(code: string) { return code; }\n",
            "src/server.ts": "import { applyVoucher } from './vouchers';\n\napplyVoucher('a');\n",
            "src/short.ts": "import { applyVoucher as use } from './vouchers';\n\nuse('a');\n",
            "src/whole.ts": "import * as vouchers from './vouchers';\n\nvouchers.applyVoucher('a');\n",
            "src/default.ts": "import applyVoucher from './vouchers';\n\napplyVoucher('a');\n",
            "src/required.js": "const { applyVoucher } = require('./vouchers');\n\napplyVoucher('a');\n",
            "src/mapped.ts": "import { applyVoucher } from '@/vouchers';\n\napplyVoucher('a');\n",
            "src/elsewhere.ts": "import { applyVoucher } from 'vouchers';\n\napplyVoucher('a');\n",
            "tsconfig.json": '{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"]}}}',
        }
    )
    found = possible_uses(project, "applyVoucher")
    assert {path for path, _, _ in found} == {
        f"src/{name}" for name in ("default.ts", "mapped.ts", "required.js", "server.ts", "short.ts", "whole.ts")
    }
    assert {line for _, line, kinds in found if "call" in kinds} == {3}


def test_imports_of_modules_that_the_project_should_have_count_as_unresolved(project: SmallProject) -> None:
    project.write(
        {
            "api/coupons.py": MOVED,
            "api/server.py": "import os.path\nimport flask.views\nimport api.vouchers\nfrom .gone import x\n",
            "web/a.ts": "import { x } from './gone';\nimport { y } from 'react';\n",
        }
    )
    counts = project.graph().reader.counts()
    assert (counts.external_imports, counts.unresolved_imports) == (3, 3)


@pytest.mark.parametrize(
    "statement",
    [
        "import api.gone",
        "import api.gone as g",
        "from api import gone",
        "from api.gone import x",
        "from api import b, gone",
    ],
)
@pytest.mark.parametrize("package", ['"""A package."""\n', ""])
def test_the_import_of_a_module_that_was_deleted_is_unresolved(
    project: SmallProject, statement: str, package: str
) -> None:
    project.write({"api/gone.py": "x = 1\n", "api/b.py": "y = 1\n", "main.py": f"{statement}\n"})
    if package:
        project.write({"api/__init__.py": package})
    assert project.graph().reader.counts().unresolved_imports == 0
    project.write({"api/gone.py": ""})
    assert project.graph().reader.counts().unresolved_imports == 1
    project.write({"api/gone.py": "x = 2\n"})
    assert project.graph().reader.counts().unresolved_imports == 0


def test_a_name_that_a_package_may_define_at_run_time_is_not_unresolved(project: SmallProject) -> None:
    project.write(
        {
            "lazy/__init__.py": "def __getattr__(name):\n    return 1\n",
            "starred/__init__.py": "from numpy import *\n",
            "plain/__init__.py": "x = 1\n",
            "main.py": "from lazy import a\nfrom starred import b\nfrom plain import x\nfrom plain import __doc__\n",
        }
    )
    assert project.graph().reader.counts().unresolved_imports == 0


def test_uses_are_certain_again_once_a_moved_module_is_restored(project: SmallProject) -> None:
    project.write({"api/coupons.py": MOVED, "a.py": "from api.vouchers import apply_voucher\n\napply_voucher(1)\n"})
    assert len(possible_uses(project)) == 2
    project.write({"api/vouchers.py": "from api.coupons import apply_voucher\n"})
    graph = project.graph()
    found = graph.references(graph.targets("api.coupons.apply_voucher")[0])
    assert not found.possible
    assert {row.path for row in found.certain} >= {"a.py", "api/vouchers.py"}


def test_no_answer_is_complete_while_an_import_of_the_name_is_broken(tmp_path: Path, workers: ProcessPool) -> None:
    broken = "from api.vouchers import apply_voucher\n\napply_voucher(1)\n"
    root = write_files(tmp_path / "shop", {"api/coupons.py": MOVED, "api/server.py": broken, "tests/test_a.py": broken})
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        client = ToolClient(app.tools(), root)
        references = client.call("find_references", symbol="apply_voucher").text
        impact = client.call("get_impact", symbol="apply_voucher").text
        stats = client.call("get_stats").text
    assert "0 references in 0 files, 4 possible; 2 of 4 in tests. Some possible references import" in references
    assert "--- 4 possible references (imported from a module that does not define it) ---" in references
    assert "No other uses" not in references
    assert "4 possible references in 2 files" in impact
    assert "0 external, 2 unresolved" in stats
