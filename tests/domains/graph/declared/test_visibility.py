"""Names that another definition hides, renames or makes visible: macros, parameters, wildcards, record components."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.domains.graph.small_project import SmallProject, certain_locations, possible_locations


class Case(NamedTuple):
    """Files of a project, and the certain references to a symbol."""

    files: dict[str, str]
    symbol: str
    certain: set[str]


JAVA = {
    "p/Outer.java": (
        "package p;\npublic class Outer {\n  public static class Inner {\n"
        "    public static int make() { return 1; }\n  }\n  public static void top() {}\n}\n"
    ),
    "q/Star.java": "package q;\nimport static p.Outer.Inner.*;\nclass Star {\n  int f() { return make(); }\n}\n",
    "q/Use.java": "package q;\nimport static p.Outer.*;\nclass Use {\n  void f() { top(); }\n}\n",
}
COMPATIBLE = {
    "src/sds.h": "int sdsnew(void);\n",
    "src/sds.c": '#include "sds.h"\nint sdsnew(void) { return 1; }\n',
    "src/server.c": '#include "sds.h"\nint run(void) { return sdsnew(); }\n',
    "deps/hisds.h": "int hi_sdsnew(void);\n",
    "deps/hisds.c": '#include "hisds.h"\nint hi_sdsnew(void) { return 1; }\n',
    "deps/sdscompat.h": '#include "hisds.h"\n#define sdsnew hi_sdsnew\n',
    "src/cli.c": '#include "sds.h"\n#include <sdscompat.h>\nint main(void) { return sdsnew(); }\n',
}
SHADOWED = {
    "a.hpp": "#pragma once\nnamespace n {\nint begin(int);\nint format(int a);\n}\n",
    "a.cpp": (
        '#include "a.hpp"\n#include <vector>\nnamespace n {\nint begin(int a) { return a; }\n'
        "int format(int a) { return a; }\nint use() {\n  std::vector<int> list;\n  auto it = list.begin();\n"
        "  auto format = [](int x) { return x; };\n  return format(1) + *it;\n}\n"
        "int other(int (*format)(int)) { return format(2); }\nint third() { return format(3) + begin(4); }\n}\n"
    ),
}
RECORDS = {
    "r/Rec.java": "package r;\npublic record Rec(int count) {\n  int twice() { return count * 2 + count(); }\n}\n",
    "r/Use.java": "package r;\nclass Use {\n  int f(Rec r) { return r.count(); }\n}\n",
    "C.cs": "namespace N;\npublic record Point(int X)\n{\n    public int Twice() => X + X;\n}\n",
    "D.cs": "namespace N;\npublic class D { int F(Point p) { return p.X; } }\n",
    "k/P.kt": "package k\ndata class P(val size: Int)\nfun use(p: P): Int = p.size\n",
}
CASES = {
    "a wildcard import of a nested type": Case(JAVA, "Inner.make", {"q/Star.java:4"}),
    "a wildcard import of a type": Case(JAVA, "Outer.top", {"q/Use.java:4"}),
    "a macro that renames hides the function": Case(COMPATIBLE, "src/sds.c:2", {"src/sds.h:1", "src/server.c:2"}),
    "a macro that renames leads to its target": Case(
        COMPATIBLE, "hi_sdsnew", {"deps/hisds.h:1", "deps/sdscompat.h:2", "src/cli.c:3"}
    ),
    "a parameter or variable hides a function": Case(SHADOWED, "n::format", {"a.hpp:4", "a.cpp:13"}),
    "a method of another library is not a function": Case(SHADOWED, "n::begin", {"a.hpp:3", "a.cpp:13"}),
    "a component of a Java record": Case(RECORDS, "Rec.count", {"r/Rec.java:3", "r/Use.java:3"}),
    "a component of a C# record": Case(RECORDS, "Point.X", {"C.cs:4", "D.cs:2"}),
    "a property in a Kotlin constructor": Case(RECORDS, "P.size", {"k/P.kt:3"}),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_references_follow_the_visibility_rules_of_the_language(project: SmallProject, case: Case) -> None:
    graph = project.write(case.files).graph()
    (target,) = graph.targets(case.symbol)
    found = graph.references(target)
    assert (certain_locations(found), possible_locations(found)) == (case.certain, set())
