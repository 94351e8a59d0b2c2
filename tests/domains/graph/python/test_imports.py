"""Resolution of Python imports."""

from __future__ import annotations

from deltos.domains.graph.model import Import
from tests.domains.graph.marked import Sources, check, check_files


def test_an_absolute_import_refers_to_the_definition() -> None:
    check(
        lib_py="def f(): ...\nclass C: ...\n",
        a_py="""\
from lib import f, C  # -> lib.py:, lib.py:f, lib.py:C
f()  # -> lib.py:f
x: C  # -> x, C
""",
    )


def test_a_relative_import_starts_at_its_package() -> None:
    check_files(
        {
            "p/__init__.py": "",
            "p/q/__init__.py": "",
            "p/q/a.py": (
                """\
from . import b  # -> p/q/__init__.py:, p/q/b.py:
from ..c import g  # -> p/c.py:, g
from .b import f  # -> p/q/b.py:, f
b.f()  # -> p/q/b.py:, f
"""
            ),
            "p/q/b.py": "def f(): ...\n",
            "p/c.py": "def g(): ...\n",
        }
    )


def test_a_name_is_followed_through_re_exports() -> None:
    check_files(
        {
            "p/__init__.py": "from .core import *\nfrom p.extra import g as renamed\n",
            "p/core.py": "from ._inner import f\n__all__ = ['f']\n",
            "p/_inner.py": "def f(): ...\ndef hidden(): ...\n",
            "p/extra.py": "def g(): ...\n",
            "a.py": """\
import p  # -> p/__init__.py:
p.f()  # -> p/__init__.py:, p/_inner.py:f
p.renamed()  # -> p/__init__.py:, p/extra.py:g
p.hidden()  # -> p/__init__.py:  # !-> hidden
""",
        }
    )


def test_a_star_import_without_dunder_all_binds_only_public_names() -> None:
    check(
        lib_py="def f(): ...\ndef _private(): ...\n",
        a_py="""\
from lib import *  # -> lib.py:
f()  # -> f
_private()  # !-> _private
""",
    )


def test_names_appended_to_dunder_all_are_exported() -> None:
    check(
        lib_py="__all__ = ['f']\n__all__ += ['_g']\ndef f(): ...\ndef _g(): ...\ndef h(): ...\n",
        a_py="""\
from lib import *  # -> lib.py:
_g()  # -> _g
h()  # !-> h
""",
    )


def test_submodules_are_attributes_of_their_package() -> None:
    check_files(
        {
            "p/__init__.py": "from . import sub\n",
            "p/sub.py": "def f(): ...\n",
            "a.py": (
                """\
import p.sub  # -> p/sub.py:
p.sub.f()  # -> p/__init__.py:, p/sub.py:, f
import p.sub as s  # -> p/sub.py:
s.f()  # -> p/sub.py:, f
import p  # -> p/__init__.py:
p.sub.f()  # -> p/__init__.py:, p/sub.py:, f
"""
            ),
        }
    )


def test_folders_without_init_are_namespace_packages() -> None:
    check_files(
        {
            "ns/one/mod.py": "def f(): ...\n",
            "a.py": (
                """\
import ns.one.mod  # -> ns/one/mod.py:
ns.one.mod.f()  # -> ns/one/mod.py:, f
from ns.one import mod  # -> ns/one/mod.py:
mod.f()  # -> ns/one/mod.py:, f
"""
            ),
        }
    )


def test_packages_below_src_are_imported_by_their_own_name() -> None:
    check_files(
        {
            "src/pkg/__init__.py": "",
            "src/pkg/a.py": "def f(): ...\n",
            "tests/test_a.py": """\
from pkg.a import f  # -> src/pkg/a.py:, src/pkg/a.py:f
f()  # -> f
""",
        }
    )


def test_scripts_import_their_neighbours() -> None:
    check_files(
        {
            "tools/helper.py": "def f(): ...\n",
            "tools/run.py": """\
import helper  # -> tools/helper.py:
helper.f()  # -> tools/helper.py:, f
""",
        }
    )


def test_a_module_in_a_package_does_not_hide_a_standard_library_module() -> None:
    check_files(
        {
            "p/__init__.py": "",
            "p/json.py": "def dumps(): ...\n",
            "p/a.py": """\
import json
json.dumps()  # !-> dumps
""",
            "logging/x.py": "def f(): ...\n",
            "b.py": """\
import logging
logging.x.f()  # !-> f
""",
        }
    )


def test_stubs_are_used_without_a_source_file() -> None:
    check_files({"lib.pyi": "def f() -> int: ...\n", "a.py": "from lib import f  # -> lib.pyi:, lib.pyi:f\n"})


def test_circular_re_exports_terminate() -> None:
    check(
        a_py="""\
from b import *  # -> b.py:
from b import x  # -> b.py:
x  # !-> x
def f(): ...
""",
        b_py="""\
from a import *  # -> a.py:
from a import x  # -> a.py:
f()  # -> a.py:f
""",
    )


def test_relative_imports_beyond_the_root_resolve_to_nothing() -> None:
    resolved = check(
        a_py="""\
from ... import x
from ...far.away import y
def f(): ...
f()  # -> f
"""
    )
    assert resolved["a.py"].unresolved_imports == 2


def test_imports_are_classified_as_runtime_type_or_deferred() -> None:
    files = {
        "a.py": (
            "from typing import TYPE_CHECKING\nimport b\nif TYPE_CHECKING:\n    import c\ndef f():\n    import d\n"
        ),
        "b.py": "",
        "c.py": "",
        "d.py": "",
    }
    imports = Sources(files).resolve()["a.py"].imports
    assert imports == (Import(2, "b.py", "runtime"), Import(4, "c.py", "type"), Import(6, "d.py", "deferred"))


def test_importing_sibling_modules_from_the_package_does_not_import_the_package() -> None:
    files = {
        "pkg/__init__.py": "from . import a\nVERSION = 1\n",
        "pkg/a.py": "from . import b\nfrom pkg import c, sub\n",
        "pkg/b.py": "from . import c, VERSION\n",
        "pkg/c.py": "",
        "pkg/sub/__init__.py": "from .. import c as other\n",
        "outside.py": "from pkg import c\n",
    }
    found = {path: {each.target_path for each in row.imports} for path, row in Sources(files).resolve().items()}
    assert found["pkg/__init__.py"] == {"pkg/a.py"}
    assert found["pkg/a.py"] == {"pkg/b.py", "pkg/c.py", "pkg/sub/__init__.py"}
    assert found["pkg/b.py"] == {"pkg/__init__.py", "pkg/c.py"}
    assert found["pkg/sub/__init__.py"] == {"pkg/c.py"}
    assert found["outside.py"] == {"pkg/__init__.py", "pkg/c.py"}


def test_imports_are_counted_as_external_or_unresolved() -> None:
    resolution = Sources({"a.py": "import os, json\nfrom typing import Any\nfrom .missing import x\n"}).resolve()[
        "a.py"
    ]
    assert (resolution.external_imports, resolution.unresolved_imports) == (3, 1)


def test_function_local_imports_bind_locally() -> None:
    check(
        lib_py="def f(): ...\nclass C:\n    def m(self): ...\n",
        a_py=(
            """\
def g():
    from lib import f, C  # -> lib.py:, C, f
    f()  # -> f
    C().m()  # -> C, C.m
    import lib as l  # -> lib.py:
    l.f()  # -> f
f()  # !-> f
"""
        ),
    )


def test_a_use_by_another_name_is_an_alias() -> None:
    resolved = check(
        lib_py="def f(): ...\n",
        a_py="""\
from lib import f as g  # -> lib.py:, f
g()  # -> lib.py:f
""",
    )
    assert [edge.origin for edge in resolved["a.py"].edges if edge.target_key == "f"] == ["name", "alias"]
