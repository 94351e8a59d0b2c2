"""The intermediate form: storage is lossless, every node has a handler, interfaces have no lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from deltos.domains.graph.facts import encode
from deltos.domains.graph.kernel.node import Node
from deltos.domains.graph.python import nodes
from deltos.domains.graph.python.evaluate import Evaluator
from deltos.domains.graph.python.flow import Flow
from deltos.domains.graph.python.resolver import PythonResolver
from deltos.languages.grammar import parse
from deltos.languages.table import detect
from deltos.workspace.indexer import ParsedFile

if TYPE_CHECKING:
    from deltos.domains.graph.kernel.resolver import FileFacts

SAMPLE_SOURCE = """
import os.path as p, sys
from ..pkg import a as b, c
from d import *
__all__ = ["K"]
T: "list[K]" = [x async for x in f(*y, k=1, **z) if x if not y]
def dec(a, /, b: int = 1, *args: "K", c=None, **kw) -> "K | None":
    global G
    a.b = (q := a[1:2, ...]) or a and b
    G += 1 if a else -b + c
    for i, *rest in a:
        if isinstance(i, K): continue
        elif i: break
        else: pass
    else: yield i
    while a: assert a, "m"
    with a as (s, t), b: raise E from None
    try: yield from a
    except (E, F) as e: del e
    else: return {**a, "k": v}, {1, 2}, [3]
    finally: lambda v, w=a: v
    match a:
        case K(x=1) | m.N() if x: pass
        case {"k": [first, *others]}: pass
@dec.deco(1)
class K(B[T], metaclass=M):
    attribute: int
    @property
    async def m(self): self.n: int = await self.o; return f"{self.n}" + {k: v for k, v in self.p}
type Alias[U] = list[U]
"""


def extract_facts(text: str) -> FileFacts:
    """Return the facts of a Python source."""
    data = text.encode()
    language = detect("a.py")
    assert language is not None
    return PythonResolver().extract(ParsedFile("a.py", data, language, parse(language, data)))


def test_decoded_facts_equal_the_encoded_ones() -> None:
    facts, codec = extract_facts(SAMPLE_SOURCE), PythonResolver.codec
    assert codec.interface(codec.encode(facts.interface)) == facts.interface
    assert codec.body(codec.encode(facts.body)) == facts.body


def test_the_sample_source_has_statements_of_every_kind() -> None:
    pending, seen = [extract_facts(SAMPLE_SOURCE).body], set()
    while pending:
        part = pending.pop()
        seen.add(type(part))
        if isinstance(part, tuple):
            pending.extend(part)
        elif isinstance(part, Node):
            pending.extend(getattr(part, name) for name in part.__struct_fields__)
    assert set(get_args(nodes.Statement)) <= seen


def test_every_expression_and_statement_has_a_handler() -> None:
    assert Evaluator._handlers.keys() == set(get_args(nodes.Expression)) - {type(None)}
    assert Flow._statements.keys() == set(get_args(nodes.Statement))


def test_no_two_nodes_share_a_tag() -> None:
    tagged = [*get_args(nodes.Expression)[:-1], *get_args(nodes.Statement), *get_args(nodes.Binding)]
    assert len({kind.__struct_config__.tag for kind in tagged}) == len(tagged)


def test_moving_lines_does_not_change_the_interface() -> None:
    before, after = (encode("python", extract_facts(text)) for text in (SAMPLE_SOURCE, "\n\n# moved\n" + SAMPLE_SOURCE))
    assert before.interface_hash == after.interface_hash
    assert before.parts == after.parts
    assert before.body != after.body
