"""C macros are hidden from the grammar without moving any other byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.languages.c_macros import mask_macros


@pytest.mark.parametrize(
    ("source", "hidden"),
    [
        ("NAMESPACE_BEGIN\n\nint a;\n", "               \n\nint a;\n"),
        ("  WARN_UNUSED\n  int f();\n", "             \n  int f();\n"),
        ("ALWAYS_INLINE static int f();\n", "              static int f();\n"),
        ("class EXPORT_API Queue : Base {", "class            Queue : Base {"),
        ("struct ALIGNED(8) Item final {", "struct            Item final {"),
        ("class EXPORT_API Queue;", "class            Queue;"),
        ("  int count GUARDED_BY(mutex_);\n", "  int count                   ;\n"),
        ("  Node* head GUARDED_BY(mutex_) = 0;\n", "  Node* head                    = 0;\n"),
        ("Status A::run(int n) REQUIRES(mutex_) {\n", "Status A::run(int n)                  {\n"),
        ("  virtual int f() REQUIRES(mutex_) = 0;\n", "  virtual int f()                  = 0;\n"),
        ("void run()\n    REQUIRES(m) {\n", "void run()\n                {\n"),
        ("static FORCE_INLINE int mix ( int x )\n{", "static              int mix ( int x )\n{"),
        ("const char * ZEXPORT text(int x) {", "const char *         text(int x) {"),
        ("static DWORD WINAPI Run(int x) {", "static DWORD        Run(int x) {"),
        ("Code * CALL_CONVENTION\ncopy(int x) {", "Code *                \ncopy(int x) {"),
        ('  OLD_API("use g(int) (or h)")\n  void f();\n', "                              \n  void f();\n"),
    ],
)
def test_a_macro_is_replaced_by_spaces(source: str, hidden: str) -> None:
    assert mask_macros(source.encode()).decode() == hidden


@pytest.mark.parametrize(
    "source",
    [
        "enum a {\n  FIRST,\n  LAST_ONE\n};\n",
        "f(\n  SOME_CONSTANT\n);\n",
        "struct LIST head;\n",
        "int a = SIZE_MAX;\n",
        "class Queue : Base {",
        "#define NAME value\n",
        "#define NAME(x) OTHER(x) {\n",
        "  if (a) ASSERT(b);\n",
        "  for (;;) FOREACH(b) {\n",
        "static int XHASH(int a) {\n",
        "  return CHECK(b);\n",
        "  return LIMIT call(b);\n",
        "static struct NODE make(int x) {",
        "static DWORD make(int x) {",
        "  a = b + LIMIT(c);\n",
        "int f() REQUIRES(a,\n  b) {\n",
        'TEST_CASE("one (of two)") {\n  run();\n',
        "BOOST_AUTO_TEST_SUITE(suite)\n\nBOOST_AUTO_TEST_CASE(one) {\n",
        "// see start()\nTEST_CASE(x) {\n",
        "  // see start()\n  TEST_CASE(x) {\n",
        "/* see start()\n   TEST_CASE(x) { */\n",
        " * see start()\n   TEST_CASE(x) {\n",
        "int a;  // see start()\n  TEST_CASE(x) {\n",
        "  BOOST_AUTO_TEST_SUITE(suite)\n\n  BOOST_AUTO_TEST_CASE(one) {\n",
    ],
)
def test_other_code_is_not_masked(source: str) -> None:
    assert mask_macros(source.encode()).decode() == source


@given(st.text("AB_(){}\n \tclass:intx;", max_size=80).map(str.encode))
def test_masking_keeps_byte_positions(source: bytes) -> None:
    hidden = mask_macros(source)
    assert len(hidden) == len(source)
    assert all(new in (old, ord(" ")) for old, new in zip(source, hidden, strict=True))
    assert hidden.count(b"\n") == source.count(b"\n")
