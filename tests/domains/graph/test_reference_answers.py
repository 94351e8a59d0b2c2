"""Answers of the graph tools: overrides, patterns with several matches, completeness, impact counts."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from deltos.domains.graph.budgeted_lines import BudgetedLines
from deltos.domains.graph.line_format import first_sentence
from deltos.domains.graph.overrides import OverrideFinder
from deltos.domains.graph.render import render_references
from deltos.domains.graph.symbol_query import parse_query
from deltos.errors import NotFound
from tests.calling import ToolClient
from tests.domains.graph.small_project import SmallProject

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.isolated.process_pool import ProcessPool
    from deltos.store.graph import Graph

TYPES_WITH_OVERRIDES = {
    "java/Runner.java": "package p;\ninterface Runner { void run(int n); }\n",
    "java/Worker.java": "package p;\nclass Worker implements Runner {\n  public void run(int n) { }\n  void run() { }\n}\n",
    "java/Use.java": "package p;\nclass Use {\n  void go(Runner r, Worker w) {\n    r.run(1);\n    w.run(2);\n  }\n}\n",
    "php/out.php": "<?php\ninterface Out { public function write(string $s): void; }\n"
    "class File implements Out {\n  public function write(string $s): void {}\n}\n"
    "function emit(Out $o, File $f) {\n  $o->write('a');\n  $f->write('b');\n}\n",
    "cs/Sender.cs": "namespace P {\ninterface ISender { void Send(string s); }\n"
    "class Mail : ISender {\n  public void Send(string s) {}\n}\n"
    "class Use {\n  void Go(ISender o, Mail f) {\n    o.Send(\"a\");\n    f.Send(\"b\");\n  }\n}\n}\n",
    "kt/Sink.kt": "package k\n\ninterface Sink {\n  fun push(s: String)\n}\n\n"
    "class FileSink : Sink {\n  override fun push(s: String) {}\n}\n\n"
    "fun fill(o: Sink, f: FileSink) {\n  o.push(\"a\")\n  f.push(\"b\")\n}\n",
    "rs/shape.rs": "pub trait Shape {\n    fn area(&self) -> f64;\n}\n\npub struct Square {\n    a: f64,\n}\n\n"
    "impl Shape for Square {\n    fn area(&self) -> f64 {\n        self.a\n    }\n}\n\n"
    "fn total(s: &dyn Shape, q: &Square) {\n    s.area();\n    q.area();\n}\n",
    "go.mod": "module example.com/a\n",
    "g/keep.go": "package g\n\ntype Keeper interface {\n\tKeep(k string)\n\tDrop()\n}\n\n"
    "func all(p Keeper, d *Disk) {\n\tp.Keep(\"a\")\n\td.Keep(\"b\")\n}\n",
    "g/disk.go": "package g\n\ntype Disk struct{}\n\nfunc (d *Disk) Keep(k string) {}\n",
    "g/more.go": "package g\n\nfunc (d *Disk) Drop() {}\n\ntype Other struct{}\n\nfunc (o *Other) Keep(k string) {}\n",
    "cpp/animal.h": "class Animal {\n public:\n  virtual int Speak(int n) = 0;\n};\n\n"
    "class Dog : public Animal {\n public:\n  int Speak(int n) override;\n};\n",
    "cpp/dog.cc": '#include "animal.h"\n\nint Dog::Speak(int n) { return n; }\n\n'
    "int hear(Animal* a, Dog* d) {\n  a->Speak(1);\n  return d->Speak(2);\n}\n",
    "cpp/cat.h": "class Cat {\n public:\n  virtual int Purr(int n);\n};\n",
    "cpp/cat.cc": '#include "cat.h"\n\nint Cat::Purr(int n) { return n; }\n\n'
    "int calm(Cat* c, Lion* l) {\n  c->Purr(1);\n  return l->Purr(2);\n}\n",
    "cpp/lion.h": '#include "cat.h"\n\nclass Lion : public Cat {\n public:\n  int Purr(int n) override;\n};\n',
    "cpp/lion.cc": '#include "lion.h"\n\nint Lion::Purr(int n) { return n; }\n',
    "zoo/include/zoo/cage.h": "class Cage {\n public:\n  virtual int Lock(int n);\n};\n\n"
    "class Tank : public Cage {\n public:\n  int Lock(int n) override;\n};\n",
    "zoo/src/cage.cc": '#include "zoo/cage.h"\n\nint Cage::Lock(int n) { return n; }\n',
    "zoo/src/tank.cc": '#include "zoo/cage.h"\n\nint Tank::Lock(int n) { return n; }\n\n'
    "int close_all(Cage* c, Tank* t) {\n  c->Lock(1);\n  return t->Lock(2);\n}\n",
    "py/base.py": "class Base:\n    def put(self, key): ...\n\n\nclass Store(Base):\n    def put(self, key):\n        return key\n\n\n"
    "def use(b: Base, s: Store):\n    b.put(1)\n    s.put(2)\n",
}  # fmt: skip


_NAMES = [f"load_what_is_kept_under_a_long_name_{n}" for n in range(150)]
SHARED_FILES = {
    # a symbol with only possible uses and an unused symbol
    "a.py": "class Alone:\n    def flush(self): ...\n\n\ndef unused(): ...\n",
    "b.py": "def run(thing):\n    thing.flush()\n",
    "lib.dart": "void swim() {}\n\nvoid dive() { swim(); }\n",
    "One.java": "class One { static One make() { return new One(); } void f() { One.make(); } }\n",
    "build.gradle": "apply plugin: 'java'\n",
    "api.ts": "export function load() { return 1; }\n",
    "App.vue": '<script setup lang="ts">\nimport { load } from "./api";\nload();\n</script>\n',
    "tests/a.json": "{}\n",
    "tests/b.dart": "void paddle() {}\n",
    "tests/c.test.ts": "export const c = 1;\n",
    # hundreds of types that implement an interface
    "go.mod": "module example.com/a\n",
    "run/a.go": "package run\n\n"
    + "".join(f"type T{n} struct{{}}\n\nfunc (t *T{n}) Run() {{}}\n\n" for n in range(300)),
    "run/z.go": "package run\n\ntype Runner interface {\n\tRun()\n}\n\nfunc all(r Runner) {\n\tr.Run()\n}\n",
    # a module with the same name in three languages
    "pkg/foo.py": "".join(f"def {name}(first, second): ...\n" for name in _NAMES),
    "pkg/foo.ts": "".join(f"export function {name}(first: number, second: string) {{}}\n" for name in _NAMES),
    "pkg/foo.go": "package pkg\n" + "".join(f"func {name}(first int, second string) {{}}\n" for name in _NAMES),
}


@pytest.fixture(scope="module")
def shared_project(tmp_path_factory: pytest.TempPathFactory, workers: ProcessPool) -> Iterator[SmallProject]:
    """Yield a project that no test changes."""
    project = SmallProject(tmp_path_factory.mktemp("still"), workers).write(SHARED_FILES)
    project.index()
    yield project
    project.close()


def graph_client(project: SmallProject) -> ToolClient:
    return ToolClient([tool for tool in project.app.tools() if tool.toolset == "graph"], project.root)


def test_a_call_of_a_base_member_is_listed_for_its_overrides_and_vice_versa(project: SmallProject) -> None:
    project.write(TYPES_WITH_OVERRIDES).index()
    client = graph_client(project)
    expected = {
        ("Runner.run", "Worker.run"): ("r.run(1)", "w.run(2)"),
        ("Out.write", "File.write"): ("$o->write('a')", "$f->write('b')"),
        ("ISender.Send", "Mail.Send"): ('o.Send("a")', 'f.Send("b")'),
        ("Sink.push", "FileSink.push"): ('o.push("a")', 'f.push("b")'),
        ("Shape.area", "Square.area"): ("s.area()", "q.area()"),
        ("Keeper.Keep", "Disk.Keep"): ('p.Keep("a")', 'd.Keep("b")'),
        ("Animal.Speak", "Dog.Speak"): ("a->Speak(1)", "d->Speak(2)"),
        ("Cat.Purr", "Lion.Purr"): ("c->Purr(1)", "l->Purr(2)"),
        ("Cage.Lock", "Tank.Lock"): ("c->Lock(1)", "t->Lock(2)"),
        ("Base.put", "Store.put"): ("b.put(1)", "s.put(2)"),
    }
    for (upper, lower), (on_upper, on_lower) in expected.items():
        text = client.call("find_references", symbol=upper).text
        direct, _, through = text.partition(f"{lower}, which overrides it or a common base ---")
        assert on_upper in direct, text
        assert on_lower in through, text
        overriding = text.partition("--- overridden by ")[2]
        assert lower.partition(".")[0] in overriding, text
        text = client.call("find_references", symbol=lower).text
        direct, _, through = text.partition(f"{upper}, which it implements or overrides ---")
        assert on_lower in direct, text
        assert on_upper in through, text
        text = client.call("get_impact", symbol=lower).text
        assert on_upper.partition("(")[0] in text or "(+1 line)" in text, text
    assert "Other.Keep" not in client.call("find_references", symbol="Keeper.Keep").text.partition("---")[2]


class CountingReader:
    """Graph reader that counts its calls."""

    def __init__(self, reader: Graph) -> None:
        self._reader = reader
        self.expected: Counter[str] = Counter()

    def __getattr__(self, name: str) -> Any:
        self.expected[name] += 1
        return getattr(self._reader, name)


def test_an_interface_is_found_among_hundreds_of_implementations_with_few_reads(shared_project: SmallProject) -> None:
    text = graph_client(shared_project).call("find_references", symbol="T7.Run").text
    assert "1 through a base or override" in text
    assert "run/z.go\n 8 call r.Run()  all" in text
    graph = shared_project.graph()
    (lower,), (upper,) = graph.find("T7.Run"), graph.find("Runner.Run")
    reader = CountingReader(graph.reader)
    relatives = OverrideFinder(cast("Graph", reader), graph._facts)
    assert relatives.implemented_members(lower) == [upper]
    assert len(relatives.overriding_members(upper)) == 300
    assert reader.expected.total() < 20, reader.expected
    assert not relatives.is_truncated
    bounded = OverrideFinder(graph.reader, graph._facts, max_symbols=20)
    assert bounded.implemented_members(lower) == []
    assert bounded.is_truncated
    found = graph.references(graph.targets("T7.Run")[0])
    cut = replace(found, completeness=replace(found.completeness, is_truncated=True))
    page = BudgetedLines(token_budget=1_000)
    text = render_references(cut, graph.source, limit=9, page=page, is_complete=True).text
    assert "Too many definitions have this name to compare all of them; some overrides may be missing." in text
    assert "No other uses" not in text


def test_json_rows_state_how_a_use_reaches_the_symbol(
    project: SmallProject, capsys: pytest.CaptureFixture[str]
) -> None:
    from deltos.cli.main import main

    project.write({
        "m.py": "class Base:\n    def put(self): ...\n\n\nclass Store(Base):\n    def put(self): ...\n\n\ndef f(): ...\n",
        "u.py": "import m as y\nfrom m import f as g\n\n\ndef run(s: y.Store, b: y.Base, other):\n    s.put()\n    b.put()\n    g()\n    y.f()\n    other.put()\n",
        "v.ts": "export function h() {}\n",
        "w.ts": 'import { h as k } from "./v";\nk();\n',
    })  # fmt: skip

    def via_rows(symbol: str) -> list[tuple[int, bool, str]]:
        assert main(["graph", "refs", symbol, "--json", "--project", str(project.root)]) == 0
        (answer,) = map(json.loads, capsys.readouterr().out.splitlines())
        return [(row["line"], row["certain"], row["via"]) for row in answer["references"]]

    assert via_rows("m.f") == [(2, True, "direct"), (9, True, "direct"), (8, True, "alias")]
    assert via_rows("h") == [(1, True, "direct"), (2, True, "alias")]
    assert via_rows("Base.put") == [
        (7, True, "direct"),
        (6, False, "override"),
        (6, False, "override"),
        (10, False, "text"),
    ]
    assert via_rows("Store.put") == [(6, True, "direct"), (7, False, "interface"), (10, False, "text")]


def test_a_pattern_that_matches_several_definitions_is_answered_for_each(project: SmallProject) -> None:
    many = "".join(f"def item_{n}(): ...\n\n\n" for n in range(7))
    project.write({
        "a.py": f"def get_one(): ...\n\n\ndef get_two():\n    get_one()\n\n\n{many}get_two()\nget_two()\n",
        "web/my-app/util.py": "def clean():\n    pass\n\n\nclean()\n",
        "b.py": "class get:\n    pass\n",
    })  # fmt: skip
    client = graph_client(project)
    for tool, wanted in {
        "find_references": ("get_one()  get_two", "call get_two()"),
        "get_impact": ("call get_one()  get_two", "call get_two()"),
        "get_context": ("--- callers (1) ---", "--- callees (1) ---"),
    }.items():
        text = client.call(tool, symbol="^get_").text
        assert text.startswith("'^get_' matches 2 definitions\n\ndef get_two a.py:4-5"), text
        assert "\n\ndef get_one a.py:1-1 function" in text
        assert all(each in text for each in wanted), text
    text = client.call("find_references", symbol="item_.").text
    assert text.startswith("'item_.' matches 7 definitions; answers for the 5 most used follow\n")
    assert text.count("\ndef item_") == 5
    assert text.endswith("--- not shown: a.item_5 a.py:23 function, a.item_6 a.py:26 function ---")
    assert "web.my-app.util.clean" not in text
    assert "call clean()" in client.call("find_references", symbol="web/my-app/util.clean").text
    assert parse_query("web.my-app.util.clean").form == "dotted"


def test_a_module_whose_name_contains_a_hyphen_is_found(project: SmallProject) -> None:
    project.write(
        {"lib/big-tool.ts": "export const x = 1;\n", "use.ts": 'import * as t from "./lib/big-tool";\nt.x;\n'}
    )
    assert "import" in graph_client(project).call("find_references", symbol="big-tool").text


def test_a_ruby_module_has_the_members_of_all_its_reopenings(project: SmallProject) -> None:
    part = (
        "module Acme\n  class Engine\n    def step{0}\n      help{0}()\n    end\n    def help{0}\n    end\n  end\nend\n"
    )
    project.write({f"lib/part{number}.rb": part.format(number) for number in (1, 2)})
    text = graph_client(project).call("get_context", symbol="Acme::Engine").text
    assert "--- members (4) ---\nlib/part1.rb\n 3 step1\n 6 help1\nlib/part2.rb\n 3 step2\n 6 help2" in text
    assert "--- callees (2) ---" in text


def test_a_method_of_an_anonymous_java_class_overrides_the_method_of_its_base(project: SmallProject) -> None:
    project.write({
        "Shape.java": "abstract class Shape {\n  abstract int area(int n);\n}\n",
        "Use.java": "class Use {\n  Shape make() {\n    return new Shape() {\n      int area(int n) { return n; }\n    };\n  }\n"
        "  int go(Shape s) {\n    return s.area(1);\n  }\n}\n",
    })  # fmt: skip
    client = graph_client(project)
    text = client.call("find_references", symbol="Shape.area").text
    assert text.endswith("--- overridden by 1 definition ---\nUse.java 4 make")
    assert "--- through Shape.area, which it implements" in client.call("find_references", symbol="make.area").text
    assert "subclasses" not in client.call("get_context", symbol="Shape").text


def test_lines_of_unresolved_files_are_named_and_only_test_files_are_counted_as_tests(
    shared_project: SmallProject,
) -> None:
    client = graph_client(shared_project)
    unresolved = "1 more line contains the name but could not be resolved: App.vue:3."
    text = client.call("find_references", symbol="load").text
    assert text.endswith(f"0 references in 0 files; none in 1 test file. {unresolved}")
    assert client.call("get_impact", symbol="load").text.endswith(f"No use found. {unresolved}")
    text = client.call("find_references", symbol="unused").text
    assert text.endswith(
        "0 references in 0 files; no test files. "
        "No other uses in code (checked against every line that contains the name)."
    )
    assert "test" not in client.call("find_references", symbol="paddle").text.replace("tests/b.dart", "")
    assert "No other uses" in client.call("find_references", symbol="One.make").text


def test_maps_of_several_files_share_one_budget(shared_project: SmallProject) -> None:
    text = graph_client(shared_project).call("get_context", symbol="pkg.foo").text
    assert text.startswith("'pkg.foo' matches 3 definitions\n")
    assert len(text) < 20_500
    assert {target.name for target in shared_project.graph().targets("pkg.foo")} == {"pkg.foo"}


def test_every_empty_result_is_explained(shared_project: SmallProject) -> None:
    client = graph_client(shared_project)
    alone = client.call("get_impact", symbol="Alone").text
    assert "affects 0 symbols and 0 tests in 0 files\n" in alone
    assert "Not followed: 1 possible reference in 1 file (b.py:2; find_references lists them)." in alone
    assert "No use found: nothing in the project" in client.call("get_impact", symbol="unused").text
    for tool in ("get_impact", "find_references"):
        text = client.call(tool, symbol="swim").text
        assert "Only definitions are indexed in this language" in text
        assert "No other uses" not in text
    text = client.call("find_references", symbol="One.make").text
    assert "1 reference in 1 file" in text
    assert "One.java\n 1" in text


def test_tables_and_rulers_are_not_part_of_the_first_sentence() -> None:
    assert first_sentence("Codes of a reply\n\n====  ====\n1     ok\n====  ====\n") == "Codes of a reply"
    assert first_sentence("+---+---+\n| a | b |\n+---+---+\n\nWhat it holds. More.\n") == "What it holds."
    assert first_sentence("Title\n=====\nmore") == "Title"
    assert first_sentence("One line\ngoes on. And ends.") == "One line goes on."


def test_generated_code_is_in_the_graph_and_marked_but_not_in_search_results(project: SmallProject) -> None:
    project.write({
        "shop_pb2.py": "# Generated by the protocol buffer compiler.  DO NOT EDIT!\nclass Order:\n    def total(self):\n"
        "        return 1\n\n\ndef sum_of(order: Order):\n    return order.total()\n",
        "app.py": "from shop_pb2 import Order\n\n\ndef run():\n    return Order().total()\n",
        "bundle.min.js": "function minified(){}\n",
    })  # fmt: skip
    client = graph_client(project)
    found = client.call("find_symbol", symbol="Order").text
    assert found == "1 definition of 'Order'\ndef Order shop_pb2.py:2-4 (generated) class"
    text = client.call("find_references", symbol="Order.total").text
    assert "app.py\n 5 call return Order().total()  run\nshop_pb2.py (generated)\n 8 call" in text
    assert "shop_pb2.py (generated)\n" in client.call("get_impact", symbol="Order").text
    assert "minified" not in client.call("get_stats").text
    code = ToolClient([tool for tool in project.app.tools() if tool.toolset == "code"], project.root)
    for question in ("Order total", "sum_of", '"DO NOT EDIT"', "/protocol.*compiler/"):
        assert "shop_pb2.py" not in code.call("search_code", query=question).text
    totals = project.index().store.totals()
    assert (totals.files, totals.skipped) == (1, {"generated": 1, "minified": 1})
    project.write({"shop_pb2.py": "class Order:\n    def total(self):\n        return 2\n"})
    assert "shop_pb2.py" in code.call("search_code", query="Order total").text
    assert "(generated)" not in client.call("find_symbol", symbol="Order").text


def test_names_in_a_macro_that_is_not_parsed_as_code_are_possible_uses(project: SmallProject) -> None:
    project.write(
        {
            "src/lib.rs": "mod job;\nmod rules;\nmock! {\n    pub Mock {\n        fn start(&self) -> Job;\n    }\n}\n",
            "src/job.rs": "pub struct Job {}\n\npub struct Idle {}\n",
            "src/rules.rs": "macro_rules! mock { () => {} }\n",
        }
    )
    client = ToolClient([tool for tool in project.app.tools() if tool.toolset == "graph"], project.root)
    text = client.call("find_references", symbol="Job").text
    assert "0 references in 0 files, 1 possible" in text
    assert "5 read fn start(&self) -> Job" in text
    assert "src/lib.rs:5" in client.call("get_impact", symbol="Job").text
    assert "No other uses in code" in client.call("find_references", symbol="Idle").text
    text = client.call("find_references", symbol="mock").text
    assert "not parsed as code" in text
    assert "3 token mock! {" in text


def test_a_file_that_was_not_indexed_prevents_a_complete_answer(project: SmallProject) -> None:
    project.write(
        {
            "a.py": "def alpha():\n    pass\n",
            "big.py": "from a import alpha\nalpha()\n" + "# filler\n" * 500_000,
            "data.json": "[" + "1,\n" * 500_000 + "1]",
            "c.go": "package c\n\nfunc beta() {}\n",
        }
    )
    client = ToolClient([tool for tool in project.app.tools() if tool.toolset == "graph"], project.root)
    for tool in ("find_references", "get_impact"):
        text = client.call(tool, symbol="alpha").text
        assert "1 file that may contain uses was not indexed completely: big.py (too large)." in text
        assert "No other uses" not in text
        assert "nothing in the project" not in text
    assert "No other uses in code" in client.call("find_references", symbol="beta").text


def test_answers_about_a_repository_folder_state_that_other_folders_were_not_searched(project: SmallProject) -> None:
    project.write({".git/HEAD": "ref: refs/heads/main\n", "src/a.py": "def alpha():\n    pass\n", "b.py": "import a\n"})
    client = ToolClient([tool for tool in project.app.tools() if tool.toolset == "graph"], project.root / "src")
    text = client.call("find_references", symbol="alpha").text
    assert "No other uses in code below src/ (the rest of the repository was not searched)." in text
    impact = client.call("get_impact", symbol="alpha").text
    assert "nothing in src/ refers to it by this name (the rest of the repository was not searched)." in impact
    with pytest.raises(NotFound) as raised:
        client.call("find_symbol", symbol="omega")
    assert "Only src was searched" in raised.value.hint


def test_the_counts_of_an_impact_add_up_to_its_dependants(project: SmallProject) -> None:
    project.write(
        {
            "store.py": "def load():\n    pass\n\n\ndef save():\n    pass\n",
            "top.py": "from store import load\n\nload()\n",
            "user.py": "from store import load\n\n\ndef use():\n    load()\n",
            "tests/test_store.py": "from store import load, save\n\n\ndef test_a():\n    load()\n\n\ndef test_b():\n    save()\n",
        }
    ).index()
    client = graph_client(project)
    text = client.call("get_impact", symbol="load", limit=1).text
    assert text.startswith("Showing 1 of 3 dependants (increase limit for more).\n")
    assert "affects 1 symbol, the top level of 1 file and 1 test in 3 files, up to distance 1\n" in text
    assert "affects 0 symbols and 1 test in 1 file, up to distance 1\n" in client.call("get_impact", symbol="save").text


def test_distances_also_count_steps_through_tests(project: SmallProject) -> None:
    project.write(
        {
            "store.py": "def load():\n    pass\n",
            "tests/test_helper.py": "from store import load\n\n\ndef given():\n    load()\n",
            "tool.py": "from tests.test_helper import given\n\n\ndef run():\n    given()\n",
        }
    ).index()
    text = graph_client(project).call("get_impact", symbol="load").text
    assert "affects 1 symbol and 1 test in 2 files, up to distance 2\n" in text
    assert "--- distance 2 ---\ntool.py 4 run\n" in text
