"""Calls through interfaces of other packages are possible references of the methods that implement them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.errors import NotFound
from tests.calling import ToolClient

if TYPE_CHECKING:
    from tests.domains.graph.small_project import SmallProject

ENGINE = """package app

import (
	"io"
	"net/http"

	"example.org/ext"
)

type Engine struct{ Name string }

func (e *Engine) ServeHTTP(w http.ResponseWriter, req *http.Request) {}
func (e *Engine) Close() error                                      { return nil }
func (e *Engine) Read(data []byte) error                            { return nil }
func (e *Engine) Visit(name string)                                 {}

func finish(c io.Closer, conn io.ReadWriteCloser, req *http.Request) {
	c.Close()
	conn.Close()
	req.Close()
}

func visit(walker ext.Walker, pointer *ext.Node) {
	walker.Visit("a")
	pointer.Visit("a")
	walker.Visit("a", "b")
}
"""
TESTS = """package app

import (
	"net/http"
	"testing"
)

func perform(r http.Handler, w http.ResponseWriter, q *http.Request) {
	r.ServeHTTP(w, q)
}

func TestIt(t *testing.T) {
	perform(&Engine{Name: "a"}, nil, nil)
}
"""


def graph_client(project: SmallProject) -> ToolClient:
    """Return the graph tools of a project."""
    return ToolClient([tool for tool in project.app.tools() if tool.toolset == "graph"], project.root)


@pytest.fixture
def go_project(project: SmallProject) -> SmallProject:
    project.write({"go.mod": "module example.com/app\n", "a.go": ENGINE, "a_test.go": TESTS})
    return project


def test_a_call_of_a_standard_interface_is_a_possible_reference_of_its_implementation(
    go_project: SmallProject,
) -> None:
    text = graph_client(go_project).call("find_references", symbol="Engine.ServeHTTP").text
    assert "1 possible reference (through net/http.Handler, which its type implements)" in text
    assert "a_test.go\n 9 call r.ServeHTTP(w, q)  perform" in text


def test_only_interfaces_whose_methods_the_type_has_are_possible(go_project: SmallProject) -> None:
    text = graph_client(go_project).call("find_references", symbol="Engine.Close").text
    assert "1 possible reference (through io.Closer, which its type implements)" in text
    assert " 18 call c.Close()" in text
    assert "conn.Close()" not in text
    assert "req.Close()" not in text


def test_a_type_of_another_module_may_be_an_interface_unless_it_is_used_by_pointer(go_project: SmallProject) -> None:
    text = graph_client(go_project).call("find_references", symbol="Engine.Visit").text
    assert "1 possible reference (through a type of another package, which its type may implement)" in text
    assert 'walker.Visit("a")' in text
    assert "pointer" not in text
    assert "1 possible call with a different number of arguments is not listed." in text


def test_the_impact_of_a_method_reaches_the_tests_behind_an_interface(go_project: SmallProject) -> None:
    text = graph_client(go_project).call("get_impact", symbol="Engine.ServeHTTP").text
    assert "TestIt" in text
    assert "r.ServeHTTP(w, q)" in text


@pytest.mark.parametrize("symbol", ["*Engine.ServeHTTP", "func (e *Engine) ServeHTTP(w http.ResponseWriter)"])
def test_a_method_is_found_by_its_name_in_go_notation(go_project: SmallProject, symbol: str) -> None:
    assert "def Engine.ServeHTTP" in graph_client(go_project).call("find_symbol", symbol=symbol).text


def test_struct_fields_are_symbols_with_references(go_project: SmallProject) -> None:
    text = graph_client(go_project).call("find_references", symbol="Engine.Name").text
    assert "def Engine.Name a.go:10-10 property" in text
    assert 'perform(&Engine{Name: "a"}, nil, nil)' in text


def test_keys_of_struct_literals_refer_to_fields(project: SmallProject) -> None:
    project.write(
        {
            "go.mod": "module example.com/app\n",
            "a.go": """package app

import "net/http"

const Key = "key"

type Param struct{ Key, Value string }
type List []Param

var one = Param{Key: "a"}
var listed = []Param{{Key: "b"}}
var nested = map[string][]*Param{"x": {{Key: "c"}}}
var named = List{{Key: "d"}}
var table = map[string]int{Key: 1}
var server = http.Server{Key: "e"}
""",
        }
    )
    text = graph_client(project).call("find_references", symbol="Param.Key").text
    assert "4 references in 1 file" in text
    assert "1 reference in 1 file" in graph_client(project).call("find_references", symbol="a.go:5").text


def test_the_name_of_a_field_is_no_reference_to_the_type_of_the_same_name(project: SmallProject) -> None:
    project.write(
        {"go.mod": "module a\n", "a.go": "package a\n\ntype Params []string\ntype C struct {\n\tParams Params\n}\n"}
    )
    text = graph_client(project).call("find_references", symbol="Params").text
    assert " 5 type Params Params  C" in text


def test_the_context_of_an_interface_lists_the_types_that_implement_it(project: SmallProject) -> None:
    project.write(
        {
            "go.mod": "module example.com/app\n",
            "a.go": """package app

type Reader interface{ Read() }
type File interface {
	Reader
	Close()
}
type Disk struct{}

func (d *Disk) Read() {}

type Cached struct{ Disk }

func (c *Cached) Close() {}
func use(f File)         { f.Read() }
""",
        }
    )
    client = graph_client(project)
    assert "--- implementations (1) ---\na.go\n 12 Cached" in client.call("get_context", symbol="File").text
    assert "--- implementations (2) ---" in client.call("get_context", symbol="Reader").text
    assert "15 call func use(f File)         { f.Read() }" in client.call("find_references", symbol="Disk.Read").text


OTHER_LANGUAGES = {
    "Job.java": """import java.util.function.Supplier;
import org.example.Logger;
class Job implements Supplier<String> { public String get() { return ""; } }
class Plain { public String get() { return ""; } }
class Use {
  String take(Supplier<String> s) { return s.get(); }
  String log(Logger logger) { return logger.get(); }
}
""",
    "lib.rs": """use tower::Service;
pub struct Job;
impl Service<u8> for Job { fn call(&mut self, r: u8) {} }
pub fn run<S: Service<u8>>(mut s: S) { s.call(1); }
""",
    "job.php": """<?php
use Psr\\Log\\LoggerInterface;
class Job implements LoggerInterface { public function info($m) {} }
function log_it(LoggerInterface $l) { $l->info("x"); }
""",
    "job.cpp": """#include <ext/handler.h>
class Job : public ext::Handler { public: void handle(int x) override {} };
void run(ext::Handler& h) { h.handle(1); }
""",
}


@pytest.mark.parametrize(
    ("path", "symbol", "type_name", "line"),
    [
        ("Job.java", "Job.get", "Supplier", "s.get()"),
        ("lib.rs", "Job.call", "Service", "s.call(1)"),
        ("job.php", "Job.info", "LoggerInterface", "$l->info"),
        ("job.cpp", "Job.handle", "Handler", "h.handle(1)"),
    ],
)
def test_a_call_through_a_base_type_of_another_package_is_possible(
    project: SmallProject, path: str, symbol: str, type_name: str, line: str
) -> None:
    project.write({path: OTHER_LANGUAGES[path]})
    text = graph_client(project).call("find_references", symbol=symbol).text
    assert f"1 possible reference (through {type_name}, which its type implements" in text
    assert line in text


def test_a_type_without_bases_is_not_called_through_types_of_other_packages(project: SmallProject) -> None:
    project.write({"Job.java": OTHER_LANGUAGES["Job.java"]})
    assert "possible" not in graph_client(project).call("find_references", symbol="Plain.get").text


def test_a_location_in_a_missing_file_is_an_error_that_names_the_file(go_project: SmallProject) -> None:
    with pytest.raises(NotFound, match=r"No file 'tree\.go' in the graph"):
        graph_client(go_project).call("find_references", symbol="tree.go:133")
