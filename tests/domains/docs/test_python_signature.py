"""Signatures and descriptions of Python functions and classes, read from their source."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from deltos.domains.docs.python_api import describe_module
from deltos.domains.docs.python_names import DocumentedModule
from deltos.domains.docs.python_signature import DefinitionText, format_class, format_function
from deltos.markup.model import Trait


def show_last_definition(source: str) -> DefinitionText:
    """Return the last definition of a source; preceding functions with the same name are its overloads."""
    source = dedent(source).strip() + "\n"
    *others, node = ast.parse(source).body
    if isinstance(node, ast.ClassDef):
        return format_class(node, source.split("\n"))
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    overloads = [each for each in others if isinstance(each, ast.FunctionDef)]
    return format_function(node, source.split("\n"), overloads)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("def f(a, b=1): return a", "def f(a, b=1):"),
        ('def f(text="""x"""):\n    """Says."""', 'def f(text="""x"""):'),
        ('def f(a): "Says."', "def f(a):"),
        ("def f(\n    a: int,\n) -> str: ...", "def f(\n    a: int,\n) -> str:"),
        ("def f(a):\n    # why\n\n    return a", "def f(a):"),
        ("@cached(\n    1)\nasync def f(): ...", "@cached(\n    1)\nasync def f():"),
        ("def f(é, x): ...", "def f(é, x):"),
        ("class A: ...", "class A:"),
        ("class A(B):\n    @cached\n    def f(self): ...", "class A(B):"),
        (
            "class A:\n    x: int\n    def __init__(\n        self, y,\n    ): ...",
            "class A:\n    x: int\n    def __init__(\n        self, y,\n    ):",
        ),
        ('class A:\n    def __init__(self, y):\n        """Made of y."""', "class A:"),
        ("class Colour(Enum): RED = 1; BLUE = 2", "class Colour(Enum):\n    RED = 1\n    BLUE = 2"),
        (
            "@dataclass\nclass P:\n    x: int\n    y: int = 0\n    _z = 1",
            "@dataclass\nclass P:\n    x: int\n    y: int = 0",
        ),
    ],
)
def test_a_signature_shows_only_what_callers_need(source: str, code: str) -> None:
    assert show_last_definition(source)[:2] == (code, ())


def test_overloads_are_shown_above_their_implementation() -> None:
    source = "@overload\ndef f(a: int) -> int: ...\n@overload\ndef f(a: str) -> str: ...\ndef f(a): return a"
    assert (
        show_last_definition(source)[0]
        == "@overload\ndef f(a: int) -> int:\n@overload\ndef f(a: str) -> str:\ndef f(a):"
    )


def test_descriptions_in_annotations_move_from_the_signature_to_the_parameters() -> None:
    code, descriptions, _ = show_last_definition(
        '''
        async def g(
            item: Annotated[int, Doc("""
                The item.

                Counted   from one.
            """)],
            /, *rest: str,
            mode: Annotated[str | None, deprecated("no"), typing_extensions.Doc("How.")] = None,
            plain: Annotated[int, Gt(3)] = 5,
            **others,
        ) -> dict: ...
        '''
    )
    assert code == (
        "async def g(item: int, /, *rest: str, mode: str | None=None,"
        " plain: Annotated[int, Gt(3)]=5, **others) -> dict:"
    )
    assert descriptions == ("- `item`: The item.\n\nCounted from one.", "- `mode`: How.")


def test_fields_are_described_by_the_string_below_or_inside_their_annotation() -> None:
    code, descriptions, _ = show_last_definition(
        '''
        class Settings(BaseModel):
            """For all."""
            host: str = "localhost"
            """Where it listens."""
            port: Annotated[int, Doc("Above 1023.")] = 8080
            debug = False
            def run(self): ...
        '''
    )
    assert code.split("\n")[1:] == ["    host: str = 'localhost'", "    port: int = 8080", "    debug = False"]
    assert descriptions == ("- `host`: Where it listens.", "- `port`: Above 1023.")


def test_described_attributes_of_the_constructor_are_fields() -> None:
    code, descriptions, _ = show_last_definition(
        """
        class App:
            def __init__(self, *, debug: Annotated[bool, Doc("Prints more.")] = False):
                self.debug = debug
                self.overrides: Annotated[dict[str, int], Doc("Replaces dependencies.")] = {}
                self._hidden: Annotated[int, Doc("Hidden.")] = 1
                self.plain: int = 1
        """
    )
    assert code == "class App:\n    overrides: dict[str, int]"
    assert descriptions == ("- `overrides`: Replaces dependencies.",)


@pytest.mark.parametrize(
    ("source", "is_undocumented"),
    [
        ("def f(a): ...", True),
        ('def f(a): "Told."', False),
        ('def f(a: Annotated[int, Doc("Told.")]): ...', False),
        ("class A(B): pass", True),
        ("class A: x = 1", False),
        ("class A:\n    def __init__(self, x): ...", False),
    ],
)
def test_definitions_without_any_description_are_undocumented(source: str, is_undocumented: bool) -> None:
    assert show_last_definition(source).is_undocumented is is_undocumented


def test_a_value_nested_too_deeply_is_omitted() -> None:
    deep = "-" * 700 + "1"
    assert (
        show_last_definition(f"class A:\n    deep = {deep}\n    other: int")[0]
        == "class A:\n    deep = …\n    other: int"
    )


def test_undocumented_definitions_are_marked_and_form_feeds_move_no_lines() -> None:
    source = 'def told():\n    """Told."""\n\x0c\ndef untold(a): ...\n\n@overload\ndef told_last(a: int): ...\ndef told_last(a):\n    """Told."""\n'
    sections = describe_module(DocumentedModule("m.py", "m", is_public=True, exports={}), source).sections
    found = {
        section.anchors[0]: (section.traits, section.blocks[0].text) for section in sections if section.is_definition
    }
    assert found == {
        "m.told": (Trait(0), "```python\ndef told():\n```"),
        "m.untold": (Trait.UNDOCUMENTED, "```python\ndef untold(a):\n```"),
        "m.told_last": (Trait(0), "```python\n@overload\ndef told_last(a: int):\ndef told_last(a):\n```"),
    }
