"""Items inside the braces of Rust macros are definitions, and no byte moves."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.languages.grammar import parse
from deltos.languages.outline import outline
from deltos.languages.rust_macros import find_item_macros, unwrap_macros
from deltos.languages.table import language

RUST = language("rust")
assert RUST is not None


def defined_names(source: str) -> list[str]:
    assert RUST is not None
    tree = parse(RUST, source.encode())
    assert tree is not None
    return [f"{each.line} {each.qualified_name}" for each in outline(RUST, tree, source.encode())]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("cfg_rt! {\n    /// Runs.\n    #[inline]\n    pub fn spawn() {}\n}\nfn last() {}\n", ["4 spawn", "6 last"]),
        ("cfg_rt!{\nfn a() {}\n}\n", ["2 a"]),
        ("a::cfg_rt! {\n    cfg_unix! {\n        mod m {\n            cfg_net! { fn f() {} }\n        }\n    }\n}\n", ["3 m", "4 m.f"]),
        ("impl Db {\n    cfg_rt! {\n        pub fn get(&self) {}\n    }\n}\ntrait T {\n    read! { fn r(&self) -> R; }\n}\n", ["3 Db.get", "6 T", "7 T.r"]),
        ("cfg_if::cfg_if! {\n    if #[cfg(unix)] {\n        fn a() {}\n    } else if #[cfg(x)] {\n    } else {\n        fn b() {}\n    }\n}\n", ["3 a", "6 b"]),
        ("both! {\n    stable: {\n        fn a() {}\n    },\n    unstable: { fn b() {} }\n}\n", ["3 a", "5 b"]),
        ("thread_local! {\n    static A: u8 = 1\n}\nlazy_static! {\n    static ref B: u8 = 1;\n}\n", ["2 A", "5 B"]),
        ("macro_rules! m {\n    () => { cfg! { fn a() {} } };\n}\n", ["1 m"]),
        ("mock! {\n    pub File {\n        fn a(&self);\n    }\n}\nfn last() {}\n", ["6 last"]),
        ("proptest! {\n    fn a(x in 0..9) {}\n}\nfn last() {}\n", ["4 last"]),
        ("fn f() {\n    select! { fn inner() {} }\n}\n", ["1 f"]),
    ],
)  # fmt: skip
def test_definitions_inside_macros_are_found_on_their_lines(source: str, names: list[str]) -> None:
    assert defined_names(source) == names


@given(st.lists(st.sampled_from([*"{}()!;#[]\n ", "cfg_a! {", "fn f() {}", "pub ", "if ", "else ", "x: {", "//", '"'])))
def test_unwrapped_macros_keep_byte_positions(parts: list[str]) -> None:
    data = " ".join(parts).encode()
    assert RUST is not None
    tree = parse(RUST, data)
    assert tree is not None
    macros = find_item_macros(tree.root_node, data)
    unwrapped = unwrap_macros(data, macros)
    assert len(unwrapped) == len(data)
    assert unwrapped.count(b"\n") == data.count(b"\n")
    for start, end in [part for macro in macros for part in macro.parts]:
        assert unwrapped[start:end] == data[start:end] or len(macros) > 1


HOSTILE_SOURCES = {
    "nested": lambda size: "a! { " * size + "fn f() {} " + "}" * size,
    "many": lambda size: "a! { fn f() {} }\n" * size,
    "broken": lambda size: "a! { fn f( => {} }\n" * size,
    "one huge": lambda size: "a! { " + "fn f() { g(1); }\n" * size + "}",
    "cases": lambda size: "a! { " + "if #[x] { fn f() {} } else " * size + "{ } }",
    "open": lambda size: "a! { fn f() {\n" * size,
}


@pytest.mark.parametrize("kind", HOSTILE_SOURCES)
def test_hostile_macros_take_linear_time(kind: str) -> None:
    def outline_seconds(size: int) -> float:
        data = HOSTILE_SOURCES[kind](size).encode()
        assert RUST is not None
        started = time.thread_time()
        parse(RUST, data)
        return time.thread_time() - started

    small = max(min(outline_seconds(1_000) for _ in range(2)), 0.01)
    assert outline_seconds(8_000) < 8 * 4 * small
