"""Documented names of Python packages and their public import paths, derived from sources and stubs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from deltos.domains.docs.python_names import Reexport, reexports
from deltos.domains.docs.python_source import defined_names, statements
from tests.domains.docs.test_packages import install_distribution

if TYPE_CHECKING:
    from tests.domains.docs.conftest import DocsClient


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a = 1\nif X:\n    b = 1\nelse:\n    c = 1", ["a", "b", "c"]),
        ("try:\n    a = 1\nexcept E:\n    b = 1\nelse:\n    c = 1", ["a", "b", "c"]),
        ("def f(): ...\ndel f\ndef g(): ...", ["g"]),
        ("if __name__ == '__main__':\n    a = 1", []),
        ("if TYPE_CHECKING:\n    class A: ...", []),
        ("if typing.TYPE_CHECKING:\n    class A: ...\nelse:\n    A = make()", ["A", "A"]),
        ("if TYPE_CHECKING:\n    class A: ...\n__all__ = ['A']", ["A", "__all__"]),
    ],
)
def test_module_names_are_the_names_defined_at_run_time(source: str, names: list[str]) -> None:
    assert [name for node in statements(ast.parse(source)) for name in defined_names(node)] == names


def test_type_checking_imports_are_re_exported_only_if_listed_in_all() -> None:
    source = 'from .a import A\nif TYPE_CHECKING:\n    from .b import B\n    from .c import C as C\n__all__ = ["B"]\n'
    assert reexports("kit", source) == [
        Reexport("kit.a", "A", "kit.A"),
        Reexport("kit.b", "B", "kit.B"),
    ]


def test_a_stub_adds_types_and_definitions_of_compiled_modules(docs_client: DocsClient) -> None:
    files = {
        "swift/__init__.py": "from ._core import decode, Record\nfrom .plain import _helper as helper\n\n"
        'def field(name, default=None):\n    """Describes a field of a wombat."""\n',
        "swift/__init__.pyi": "from typing import overload\n\nclass Record:\n    def as_dict(self) -> dict: ...\n"
        "@overload\ndef decode(data: bytes) -> object: ...\n@overload\ndef decode(data: str) -> object: ...\n"
        "def field(name: str, default: int | None = ...) -> int: ...\ndef helper() -> str: ...\ndef _hidden() -> int: ...\n",
        "swift/_core.cpython-311-x86_64-linux-gnu.so": "",
        "swift/plain.py": 'def _helper():\n    """Helps."""\n',
    }
    install_distribution(docs_client.root, files, name="swift", version="1")
    assert docs_client.add("pypi:swift").failures == ()
    decode = docs_client.search("swift.decode")[0]
    assert decode.citation == "pypi:swift@1/swift/__init__.py#swift.decode"
    assert "@overload\ndef decode(data: bytes) -> object:\n@overload\ndef decode(data: str) -> object:" in decode.text
    assert "def as_dict(self) -> dict:" in docs_client.search("swift.Record.as_dict")[0].text
    field = docs_client.search("describes a field of a wombat")[0].text
    assert "def field(name: str, default: int | None = ...) -> int:" in field
    assert [found.citation for found in docs_client.search("swift.helper") if "swift.helper" in found.anchors] == [
        "pypi:swift@1/swift/plain.py#swift.helper"
    ]


def test_a_stub_that_cannot_be_parsed_adds_nothing(docs_client: DocsClient) -> None:
    files = {"kit/__init__.py": 'def lamp():\n    """Lights a wombat."""\n', "kit/__init__.pyi": "def lamp( ->"}
    install_distribution(docs_client.root, files, name="kit", version="1")
    docs_client.add("pypi:kit")
    assert "def lamp():" in docs_client.search("lights a wombat")[0].text


def test_star_imports_of_private_modules_lead_to_the_public_name(docs_client: DocsClient) -> None:
    files = {
        "trip/__init__.py": "",
        "trip/lowlevel.py": "from ._core import spawn as spawn\n",
        "trip/_core/__init__.py": "from ._run import spawn\n",
        "trip/_core/_run.py": "from ._generated import *\n",
        "trip/_core/_generated.py": '__all__ = ["spawn"]\n\ndef spawn():\n    """Starts a quokka."""\n',
    }
    install_distribution(docs_client.root, files, name="trip", version="1")
    docs_client.add("pypi:trip")
    assert docs_client.cited("starts a quokka") == ["pypi:trip@1/trip/_core/_generated.py#trip.lowlevel.spawn"]


def test_a_definition_with_several_names_is_documented_under_the_shortest(docs_client: DocsClient) -> None:
    files = {
        "sql/__init__.py": "from .parts.expression import select as select\n",
        "sql/future/__init__.py": "from ..parts._made import select as select\n",
        "sql/parts/__init__.py": "",
        "sql/parts/expression.py": "from ._made import select as select\n",
        "sql/parts/_made.py": 'def select(*what):\n    """Chooses wombats."""\n',
        "sql/tools/__init__.py": "from ..engine import Engine\n",
        "sql/engine.py": 'class Engine:\n    """Runs quokkas."""\n',
    }
    install_distribution(docs_client.root, files, name="sql", version="1")
    docs_client.add("pypi:sql")
    assert docs_client.cited("chooses wombats") == ["pypi:sql@1/sql/parts/_made.py#sql.select"]
    assert docs_client.cited("runs quokkas") == ["pypi:sql@1/sql/engine.py#sql.engine.Engine"]
