"""References in Python code: one small project per feature of the language.

In each case the definition has the comment `# def`, every line that refers to it `# ref`, and every possible reference
`# maybe`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.domains.graph.small_project import SmallProject, certain_locations, marked_lines, possible_locations

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

CASES: dict[str, dict[str, str]] = {
    "absolute import": {
        "pkg/__init__.py": "x = 1\n",
        "pkg/a.py": "def f():  # def\n    pass\n",
        "main.py": "from pkg.a import f  # ref\nimport pkg.a\n\nf()  # ref\npkg.a.f()  # ref\n",
    },
    "relative import": {
        "pkg/__init__.py": "x = 1\n",
        "pkg/a.py": "def f():  # def\n    pass\n",
        "pkg/sub/__init__.py": "y = 1\n",
        "pkg/sub/b.py": "from ..a import f as g  # ref\nfrom .. import a\n\ng()  # ref\na.f()  # ref\n",
    },
    "namespace package": {
        "space/a.py": "class A:  # def\n    pass\n",
        "main.py": "from space.a import A  # ref\nfrom space import a\n\na.A()  # ref\n",
    },
    "star import with __all__": {
        "a.py": '__all__ = ["shown"]\n\n\ndef shown():  # def\n    pass\n\n\ndef hidden():\n    pass\n',
        "main.py": "from a import *\n\nshown()  # ref\nhidden()\n",
    },
    "re-export through __init__": {
        "pkg/__init__.py": "from .a import f as f  # ref\n",
        "pkg/a.py": "def f():  # def\n    pass\n",
        "main.py": "import pkg\nfrom pkg import f  # ref\n\npkg.f()  # ref\nf()  # ref\n",
    },
    "import under TYPE_CHECKING and string annotation": {
        "a.py": "class A:  # def\n    pass\n",
        "main.py": (
            "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from a import A  # ref\n\n\n"
            'def f(x: "A") -> "list[A]":  # ref\n    return [x]\n'
        ),
    },
    "function-local import": {
        "a.py": "def f():  # def\n    pass\n",
        "main.py": "def g():\n    from a import f  # ref\n\n    f()  # ref\n",
    },
    "shadowing by a local, a parameter and a comprehension": {
        "a.py": (
            "def f():  # def\n    pass\n\n\ndef g(f):\n    f()\n\n\ndef h():\n    f = 1\n    return f\n\n\n"
            "def i():\n    return [f for f in range(3)]\n\n\ndef j():\n    return f()  # ref\n"
        ),
    },
    "method through self, cls and super": {
        "a.py": (
            "class A:\n    def m(self):  # def\n        pass\n\n    def n(self):\n        self.m()  # ref\n\n"
            "    @classmethod\n    def c(cls):\n        cls().m()  # ref\n\n\n"
            "class B(A):\n    def k(self):\n        super().m()  # ref\n        self.m()  # ref\n"
        ),
    },
    "an override is another method": {
        "a.py": (
            "class A:\n    def m(self):  # def\n        pass\n\n\nclass B(A):\n    def m(self):\n        pass\n\n\n"
            "A().m()  # ref\nB().m()\n"
        ),
    },
    "method resolution order of several bases": {
        "a.py": (
            "class A:\n    def m(self):\n        pass\n\n\nclass B(A):\n    def m(self):  # def\n        pass\n\n\n"
            "class C(A):\n    pass\n\n\nclass D(C, B):\n    pass\n\n\nD().m()  # ref\n"
        ),
    },
    "attribute set in __init__": {
        "a.py": "class A:\n    def m(self):  # def\n        pass\n",
        "main.py": (
            "from a import A\n\n\nclass B:\n    def __init__(self):\n        self.a = A()\n\n"
            "    def n(self):\n        self.a.m()  # ref\n\n\nB().a.m()  # ref\n"
        ),
    },
    "parameter and return annotations": {
        "a.py": "class A:\n    def m(self):  # def\n        pass\n",
        "main.py": (
            "from a import A\n\n\ndef make() -> A:\n    return load()\n\n\ndef use(x: A, y: A | None):\n    x.m()  # ref\n"
            "    if y:\n        y.m()  # ref\n\n\nmake().m()  # ref\n"
        ),
    },
    "inferred return type": {
        "a.py": (
            "class A:\n    def m(self):  # def\n        return self\n\n\ndef make():\n    return A()\n\n\n"
            "make().m().m()  # ref\n"
        ),
    },
    "dataclass field": {
        "a.py": (
            "from dataclasses import dataclass\n\n\nclass A:\n    def m(self):  # def\n        pass\n\n\n"
            "@dataclass\nclass D:\n    a: A\n\n\ndef use(d: D):\n    d.a.m()  # ref\n"
        ),
    },
    "property": {
        "a.py": (
            "class A:\n    @property\n    def p(self):  # def\n        return 1\n\n    def q(self):\n"
            "        return self.p  # ref\n\n\nprint(A().p)  # ref\n"
        ),
    },
    "type of a property": {
        "a.py": (
            "class A:\n    def m(self):  # def\n        pass\n\n\nclass B:\n    @property\n    def a(self) -> A:\n"
            "        return A()\n\n\nB().a.m()  # ref\n"
        ),
    },
    "context manager": {
        "a.py": (
            "class A:\n    def __enter__(self):\n        return self\n\n    def __exit__(self, *a):\n        pass\n\n"
            "    def m(self):  # def\n        pass\n\n\nwith A() as a:\n    a.m()  # ref\n"
        ),
    },
    "isinstance narrows": {
        "a.py": (
            "class A:\n    def m(self):  # def\n        pass\n\n\ndef f(x):\n    if isinstance(x, A):\n        x.m()  # ref\n"
        ),
    },
    "an unknown receiver is only possible": {
        "a.py": "class A:\n    def m(self):  # def\n        pass\n\n\ndef f(x):\n    x.m()  # maybe\n",
    },
    "decorator": {
        "a.py": "def deco(f):  # def\n    return f\n\n\n@deco  # ref\ndef g():\n    pass\n",
    },
    "class attribute": {
        "a.py": (
            "class A:\n    limit = 1  # def\n\n    def f(self):\n        return self.limit  # ref\n\n\nprint(A.limit)  # ref\n"
        ),
    },
    "module constant": {
        "a.py": "LIMIT = 1  # def\n\n\ndef f():\n    return LIMIT  # ref\n",
        "main.py": "import a\nfrom a import LIMIT  # ref\n\nprint(a.LIMIT, LIMIT)  # ref\n",
    },
    "loop over a typed list": {
        "a.py": (
            "class A:\n    def m(self):  # def\n        pass\n\n\ndef f(items: list[A], by: dict[str, A]):\n"
            "    for a in items:\n        a.m()  # ref\n    for b in by.values():\n        b.m()  # ref\n"
            "    by['x'].m()  # ref\n    [c.m() for c in items]  # ref\n"
        ),
    },
    "walrus, tuple and chained assignment": {
        "a.py": (
            "class A:\n    def m(self):  # def\n        pass\n\n\nif a := A():\n    a.m()  # ref\n"
            "b, c = A(), 1\nb.m()  # ref\nd = e = A()\ne.m()  # ref\n"
        ),
    },
    "inheritance": {
        "a.py": "class A:  # def\n    pass\n",
        "main.py": "import a\n\n\nclass B(a.A):  # ref\n    pass\n",
    },
    "type use in a generic": {
        "a.py": "class A:  # def\n    pass\n\n\ndef f(x: dict[str, list[A]]) -> A | None:  # ref\n    return None\n",
    },
    "exception": {
        "a.py": (
            "class Bad(Exception):  # def\n    pass\n\n\ntry:\n    raise Bad()  # ref\nexcept Bad as exc:  # ref\n    print(exc)\n"
        ),
    },
    "match statement": {
        "a.py": (
            "class A:  # def\n    pass\n\n\ndef f(x):\n    match x:\n        case A():  # ref\n            return 1\n"
        ),
    },
    "async function": {
        "a.py": "async def f():  # def\n    pass\n\n\nasync def g():\n    await f()  # ref\n",
    },
    "global written in a function": {
        "a.py": "count = 0  # def\n\n\ndef f():\n    global count\n    count = 1  # ref\n",
    },
    "class method and static method": {
        "a.py": (
            "class A:\n    @classmethod\n    def make(cls):  # def\n        return cls()\n\n\nA.make()  # ref\nA().make()  # ref\n"
        ),
    },
    "circular inheritance": {
        "a.py": (
            "from b import B\n\n\nclass A(B):\n    def m(self):  # def\n        self.m()  # ref\n        self.absent()\n"
        ),
        "b.py": "from a import A\n\n\nclass B(A):\n    pass\n",
    },
    "circular re-exports": {
        "a.py": "from b import f  # ref\n\n\ndef g():\n    f()  # ref\n",
        "b.py": "from a import g\n\n\ndef f():  # def\n    g()\n",
    },
    "a file with a syntax error still has its definitions": {
        "a.py": "def f():  # def\n    pass\n\n\nf()  # ref\n\ndef broken(:\n",
    },
}


@pytest.mark.parametrize("name", CASES)
def test_references_are_exactly_the_marked_lines(name: str, tmp_path: Path, workers: ProcessPool) -> None:
    files = CASES[name]
    project = SmallProject(tmp_path, workers).write(files)
    (definition,) = marked_lines(files, "def")
    graph = project.graph()
    references = graph.references(graph.target_on_line(definition))
    project.close()
    assert certain_locations(references) - {definition} == marked_lines(files, "ref")
    assert marked_lines(files, "maybe") <= possible_locations(references)
