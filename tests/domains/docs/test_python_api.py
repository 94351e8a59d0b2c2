"""Public API of Python packages, read from their sources and stubs: import paths, signatures and descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.domains.docs.python_api import describe_module
from deltos.domains.docs.python_names import read_names
from deltos.markup.model import Trait
from tests.domains.docs.test_packages import install_distribution

if TYPE_CHECKING:
    from deltos.markup.model import Section
    from tests.domains.docs.conftest import DocsClient


def describe_definitions(source: str) -> dict[str, Section]:
    """Return the documented definitions of a module `m` by name."""
    module = read_names("m", "m.py", source)
    return {each.anchors[0]: each for each in describe_module(module, {}, source).sections if each.is_definition}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a = 1\nif X:\n    b = 1\nelse:\n    c = 1", ["a", "b", "c"]),
        ("try:\n    a = 1\nexcept E:\n    b = 1\nelse:\n    c = 1", ["a", "b", "c"]),
        ("def f(): ...\n_b = 1\nclass _C: ...", ["f"]),
        ("if typing.TYPE_CHECKING:\n    class A: ...\nelse:\n    A = make()", ["A"]),
    ],
)
def test_the_public_names_that_a_module_defines_are_documented(source: str, names: list[str]) -> None:
    assert list(describe_definitions(source)) == [f"m.{name}" for name in names]


def test_type_checking_imports_are_re_exported_only_if_listed_in_dunder_all() -> None:
    source = 'from .a import A\nif TYPE_CHECKING:\n    from .b import B\n    from .c import C as C\n__all__ = ["B"]\n'
    reexports = read_names("kit", "kit/__init__.py", source).reexports
    assert [(each.origin, each.alias) for each in reexports] == [("kit.a", "A"), ("kit.b", "B")]


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ('def f(text="""x"""):\n    """Says."""', 'def f(text="""x"""):'),
        ("def f(\n    a: int,\n) -> str:\n    return a", "def f(\n    a: int,\n) -> str:"),
        ("@cached(\n    1)\nasync def f():\n    pass", "@cached(\n    1)\nasync def f():"),
        ("class f(B):\n    @cached\n    def g(self): ...", "class f(B):"),
        (
            "class f:\n    x: int\n    def __init__(\n        self, y,\n    ):\n        pass",
            "class f:\n    x: int\n    def __init__(\n        self, y,\n    ):",
        ),
        ('class f:\n    def __init__(self, y):\n        """Made of y."""', "class f:"),
        (
            '@dataclass\nclass f:\n    """Doc."""\n    x: int\n    """The x."""\n    _z = 1',
            '@dataclass\nclass f:\n    x: int\n    """The x."""',
        ),
        (
            "@overload\ndef f(a: int):\n    ...\n@overload\ndef f(a: str):\n    ...\ndef f(a):\n    return a",
            "@overload\ndef f(a: int):\n@overload\ndef f(a: str):\ndef f(a):",
        ),
    ],
)
def test_a_signature_shows_only_what_callers_need(source: str, code: str) -> None:
    assert describe_definitions(source)["m.f"].blocks[0].text == f"```python\n{code}\n```"


@pytest.mark.parametrize(
    ("source", "traits"),
    [
        ('def f(a):\n    "Does it."', Trait(0)),
        ("def f(a): ...", Trait.UNDOCUMENTED),
        ("class f(B): pass", Trait.UNDOCUMENTED),
        ("class f:\n    x = 1", Trait(0)),
        ('class f(ValueError):\n    "Raised."', Trait.ERROR),
        ('class f(TypedDict):\n    "Keys."', Trait.TYPE),
        ('def f():\n    ".. deprecated:: 2"', Trait.DEPRECATED),
        ('@warnings.deprecated("x")\ndef f():\n    "Does it."', Trait.DEPRECATED),
    ],
)
def test_traits_that_lower_the_rank_of_a_definition_are_detected(source: str, traits: Trait) -> None:
    assert describe_definitions(source)["m.f"].traits == traits


def test_form_feeds_move_no_lines() -> None:
    source = 'def f():\n    """Does it."""\n\x0c\ndef g(a):\n    """Does more."""\n'
    assert describe_definitions(source)["m.g"].blocks[0].text == "```python\ndef g(a):\n```"


def test_a_stub_documents_a_compiled_module(docs_client: DocsClient) -> None:
    files = {
        "swift/__init__.py": "from ._core import decode, Record\n",
        "swift/_core.pyi": "class Record:\n    def as_dict(self) -> dict: ...\n"
        "@overload\ndef decode(data: bytes) -> object: ...\n@overload\ndef decode(data: str) -> object: ...\n",
        "swift/_core.cpython-311-x86_64-linux-gnu.so": "",
    }
    install_distribution(docs_client.root, files, name="swift", version="1")
    assert docs_client.add("pypi:swift").failures == ()
    decode = docs_client.search("swift.decode")[0]
    assert decode.citation == "pypi:swift@1/swift/_core.pyi#swift.decode"
    assert "@overload\ndef decode(data: bytes) -> object: ...\n@overload\ndef decode(data: str)" in decode.text
    assert "def as_dict(self) -> dict:" in docs_client.search("swift.Record.as_dict")[0].text


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
    assert docs_client.find_citations("starts a quokka") == ["pypi:trip@1/trip/_core/_generated.py#trip.lowlevel.spawn"]


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
    assert docs_client.find_citations("chooses wombats") == ["pypi:sql@1/sql/parts/_made.py#sql.select"]
    assert docs_client.find_citations("runs quokkas") == ["pypi:sql@1/sql/engine.py#sql.engine.Engine"]
