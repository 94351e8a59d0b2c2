"""Resolution of plain names by scope."""

from __future__ import annotations

from tests.domains.graph.marked import Sources, check


def test_a_local_name_shadows_the_global_one() -> None:
    check(
        a_py=(
            """\
def f(): ...
def g(f):
    f()  # !-> f
def h():
    f = 1
    f()  # !-> f
def i():
    f()  # -> f
"""
        )
    )


def test_names_assigned_later_in_a_function_are_local_throughout() -> None:
    check(
        a_py="""\
def f(): ...
def g():
    f()  # !-> f
    f = None
"""
    )


def test_global_and_nonlocal_refer_to_outer_names() -> None:
    check(
        a_py="""
class C:
    def m(self): ...
thing = None  # -> thing
def g():
    global thing  # this line names nothing
    thing = C()  # -> thing, C
    thing.m()  # -> thing, C.m
def outer():
    def inner():
        nonlocal x
        x = C()  # -> C
        x.m()  # -> C.m
    x = None
"""
    )


def test_comprehension_variables_are_local_to_the_comprehension() -> None:
    check(
        a_py="""
def f(): ...
class C:
    def m(self): ...
[f for f in [1]]  # !-> f
f()  # -> f
def g(cs: list[C]):  # -> C
    [c.m() for c in cs]  # -> C.m
    {c: c.m() for c in cs if c.m()}  # -> C.m
    {c.m() for c in cs}  # -> C.m
    any(c.m() for c in cs)  # -> C.m
    [a.m() for a, b in zip(cs, cs)]  # -> C.m
    (lambda f: f())(1)  # !-> f
"""
    )


def test_class_names_are_not_visible_in_methods() -> None:
    check(
        a_py="""\
class C:
    def f(self): ...
    f  # -> C.f
    def g(self):
        f()  # !-> C.f
"""
    )


def test_closures_see_the_names_of_enclosing_functions() -> None:
    check(
        a_py="""
class C:
    def m(self): ...
def outer(p: C):  # -> C
    c = C()  # -> C
    def helper(): ...
    def inner():
        c.m()  # -> C.m
        p.m()  # -> C.m
        helper()  # -> outer.helper
    class Local:
        def go(self):
            helper()  # -> outer.helper
    Local().go()  # -> outer.Local, outer.Local.go
"""
    )


def test_a_use_refers_to_all_conditional_definitions() -> None:
    check(
        a_py="""\
try:
    def f(): ...
except ImportError:
    def f(): ...
f()  # -> f, f#2
"""
    )


def test_module_constants_and_class_attributes_are_symbols() -> None:
    resolved = check(
        a_py=(
            """\
LIMIT = 3  # -> LIMIT
class C:
    size: int = 1  # -> C.size
    def __init__(self):
        self.own = LIMIT  # -> LIMIT, C.own
C.size  # -> C, C.size
C().own  # -> C, C.__init__, C.own
LIMIT += 1  # -> LIMIT
"""
        )
    )
    writes = {(edge.line, edge.target_key) for edge in resolved["a.py"].edges if edge.kind == "write"}
    assert {(1, "LIMIT"), (5, "C.own"), (8, "LIMIT")} <= writes


def test_the_source_of_an_edge_is_the_enclosing_definition() -> None:
    resolved = check(
        a_py=(
            """\
def f(): ...
class C:
    def m(self):
        f()  # -> f
@f  # -> f
def g(x=f): ...  # -> f
class D(C): ...  # -> C
"""
        )
    )
    sources = {(edge.line, edge.kind): edge.source_key for edge in resolved["a.py"].edges}
    assert sources == {(4, "call"): "C.m", (5, "decorate"): "g", (6, "read"): "g", (7, "inherit"): "D"}


def test_every_kind_of_statement_is_resolved() -> None:
    check(
        a_py="""
def f(*a): ...
class E(Exception): ...
assert f(), f()  # -> f
del f.x  # -> f
def r():
    raise E from f  # -> E, f
def g():
    while f():  # -> f
        break
    else:
        f()  # -> f
    for x in f(): continue  # -> f
    else:
        f()  # -> f
    try:
        f()  # -> f
    except (E, ValueError) as error:  # -> E
        error.args
    except* E:  # -> E
        pass
    else:
        f()  # -> f
    finally:
        f()  # -> f
    with f() as y, f():  # -> f
        y
    yield f()  # -> f
    yield from f()  # -> f
    print(f"{f()!r:>{f()}}", f() if f() else f(), not f(), -f(), f() + f(), [*f()], {**f()})  # -> f
    x[f()] = f()  # -> f
    x[f():f()]  # -> f
    f() and f() or f()  # -> f
    if (n := f()): n  # -> f
    return f()  # -> f
async def h():
    async with f() as z:  # -> f
        await f()  # -> f
    async for q in f(): q  # -> f
"""
    )


def test_an_assignment_creates_one_edge() -> None:
    assert not Sources({"a.py": "x = 1\n"}).resolve()["a.py"].edges[1:]
