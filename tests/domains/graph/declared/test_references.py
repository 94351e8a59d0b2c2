"""References that are resolved through imports and declared types."""

from __future__ import annotations

from tests.domains.graph.marked import Sources, check_files


def test_go_packages_are_folders_named_by_go_mod() -> None:
    check_files(
        {
            "go.mod": "module example.com/shop\n\ngo 1.22\n",
            "store/db.go": """package store

type DB struct { Path string }

func Open(path string) *DB { return &DB{Path: path} } // -> DB, store/db.go:DB.Path

func (d *DB) Close() error { return nil }  // -> DB

func (d *DB) Find(id int) *Row { return nil } // -> DB, store/row.go:Row
""",
            "store/row.go": "package store\n\ntype Row struct{}\n\nfunc (r *Row) Delete() {}\n",
            "server/server.go": """package server

import (
	"fmt"
	s "example.com/shop/store"  // -> store/db.go:, store/row.go:
	"github.com/other/pkg"
)

type Base struct{}

func (b *Base) Log() {}  // -> Base

type Server struct {
	Base // -> Base
	db *s.DB // -> store/db.go:DB
}

func (v *Server) Run(limit int) {  // -> Server
	v.db.Close() // -> store/db.go:DB.Close, server/server.go:Server.db
	v.Log() // -> Base.Log
	x := s.Open("a") // -> store/db.go:Open
	x.Find(1).Delete() // -> DB.Find, Row.Delete
	var y Server = helper() // -> Server, helper
	y.Run(2) // -> Server.Run
	fmt.Println(limit) // !-> Println
	pkg.Open() // !-> Open
	unknown().Close() // ?-> Close
}

func helper() Server { return Server{} } // -> Server
""",
        }
    )


def test_java_names_come_from_imports_packages_and_types() -> None:
    check_files(
        {
            "src/com/acme/util/Strings.java": (
                "package com.acme.util;\npublic class Strings { public static String trim(String s) { return s; } }\n"
            ),
            "src/com/acme/util/Maths.java": (
                "package com.acme.util;\npublic class Maths { public static int top(int a) { return a; } }\n"
            ),
            "src/com/acme/model/Order.java": (
                "package com.acme.model;\npublic class Order { public int total() { return 1; } }\n"
            ),
            "src/com/acme/app/Base.java": (
                "package com.acme.app;\npublic abstract class Base {\n  protected void log() {}\n"
                "  Base self() { return this; }\n}\n"
            ),
            "src/com/acme/app/Runner.java": "package com.acme.app;\npublic interface Runner { void run(Order o); }\n",
            "src/com/acme/app/App.java": """package com.acme.app;
import com.acme.util.Strings; // -> Strings
import com.acme.model.*;
import static com.acme.util.Maths.top;  // -> Maths.top
import java.util.List;
public class App extends Base implements Runner { // -> Base, Runner
    private Order last;  // -> Order
    public App(Order first) { this.last = first; } // -> Order, App.last
    @Override
    public void run(Order order) { // -> Order
        Strings.trim("x"); // -> Strings, Strings.trim
        order.total(); // -> Order.total
        last.total(); // -> App.last, Order.total
        log(); // -> Base.log
        this.helper().total(); // -> App.helper, Order.total
        super.log(); // -> Base.log
        self().log(); // -> Base.self, Base.log
        var made = new Order(); // -> Order
        made.total(); // -> Order.total
        for (Order each : orders()) each.total(); // -> Order, Order.total
        int m = top(1); // -> Maths.top
        List.of(1); // !-> of
        other().total(); // ?-> total
        App again = new App(null); // -> App, App.App
    }
    private Order helper() { return null; } // -> Order
}
""",
        }
    )


def test_kotlin_and_java_files_can_refer_to_each_other() -> None:
    check_files(
        {
            "j/Strings.java": (
                "package util;\npublic class Strings {\n  public static String trim(String s) { return s; }\n}\n"
            ),
            "k/model.kt": (
                "package model\n\nclass Order(val id: Int) {\n    fun total(): Int = 1\n}\n\n"
                "fun load(): Order = Order(1)\n"
            ),
            "k/app.kt": """package app

import util.Strings  // -> Strings
import model.Order  // -> Order
import model.load as fetch  // -> load

open class Base {
    fun log() {}
}

class App(private val first: Order) : Base() { // -> Order, Base
    val kept: Order = Order(2) // -> Order

    fun run(user: Order) {  // -> Order
        Strings.trim("x") // -> Strings, Strings.trim
        user.total() // -> Order.total
        first.total() // -> Order.total
        kept.total() // -> App.kept, Order.total
        log() // -> Base.log
        this.helper() // -> App.helper
        fetch() // -> load
        val o = Order(3) // -> Order
        o.total() // -> Order.total
    }

    fun helper() {}
}
""",
        }
    )


def test_a_property_with_the_name_of_its_type_does_not_hide_the_type() -> None:
    check_files(
        {
            "Person.cs": "namespace N;\npublic class Person {}\n",
            "Store.cs": """namespace N;
public class Store {
  public Set<Person> Person { get; }  // -> Person
  public void Fill() { var set = Of<Person>(); }  // -> Person
}
""",
        }
    )


def test_csharp_names_are_looked_up_in_enclosing_namespaces_and_usings() -> None:
    check_files(
        {
            "Util.cs": "namespace Acme.Util {\n  public static class Strings { public static void Trim() {} }\n}\n",
            "Fmt.cs": "namespace Acme.Fmt {\n  public class Formatter { public void Go() {} }\n}\n",
            "Order.cs": "namespace Acme {\n  public class Order {\n    public void Total() {}\n  }\n}\n",
            "App.cs": """using System;
using Acme.Util;
using F = Acme.Fmt.Formatter;  // -> Acme.Fmt.Formatter
namespace Acme.App {
  public class Base {
    protected void Log() {}
  }
  public class App : Base { // -> Acme.App.Base
    private readonly Order _order;  // -> Acme.Order
    public Order Current { get; set; }  // -> Acme.Order
    public App(Order order) { _order = order; } // -> Acme.Order, Acme.App.App._order
    public void Run() {
      Strings.Trim(); // -> Acme.Util.Strings, Acme.Util.Strings.Trim
      _order.Total(); // -> Acme.App.App._order, Acme.Order.Total
      Current.Total(); // -> Acme.App.App.Current, Acme.Order.Total
      this.Log(); // -> Acme.App.Base.Log
      base.Log(); // -> Acme.App.Base.Log
      Make<int>(); // -> Acme.App.App.Make
      var f = new F(); // -> Acme.Fmt.Formatter
      f.Go(); // -> Acme.Fmt.Formatter.Go
      Console.WriteLine(); // !-> WriteLine
    }
    private void Make<T>() {}
  }
}
""",
        }
    )


def test_rust_paths_are_resolved_from_the_crate_root() -> None:
    check_files(
        {
            "src/lib.rs": "pub mod store;\npub mod net;\n",
            "src/store.rs": """pub struct Db { path: String }

impl Db {  // -> Db
    pub fn new() -> Self { Db { path: String::new() } } // -> Db
    pub fn get(&self, id: u32) -> Row { Row } // -> Row
}

pub struct Row;

impl Row {  // -> Row
    pub fn delete(&self) {}
}

pub fn open() -> Db { Db::new() } // -> Db, Db.new
""",
            "src/net/mod.rs": "pub mod util;\npub mod server;\n",
            "src/net/util.rs": "pub fn helper() {}\n",
            "src/net/server.rs": """use crate::store::{Db, open as open_db};  // -> Db, open
use super::util;  // -> src/net/util.rs:

pub trait Handler {
    fn handle(&mut self);
}

pub struct Server {
    db: Db, // -> Db
}

impl Server {  // -> Server
    pub fn run(&self, other: &Db) {  // -> Db
        self.db.get(1).delete(); // -> Db.get, Row.delete
        other.get(2); // -> Db.get
        util::helper(); // -> helper
        open_db().get(3); // -> open, Db.get
        crate::store::open(); // -> open
        let d = Db::new(); // -> Db, Db.new
        d.get(4); // -> Db.get
        self.stop(); // -> Server.stop
        unknown.get(5); // ?-> get
    }
    fn stop(&self) {}
}
""",
        }
    )


def test_c_names_come_from_included_headers_and_their_sources() -> None:
    resolved = check_files(
        {
            "include/store.h": "struct store { int size; };\nint store_save(struct store *s);\n#define LIMIT 3\n",
            "src/store.c": """\
#include "store.h"
int store_save(struct store *s) { return s->size; }
""",
            "src/far.c": "int far_away(void) { return 1; }\nstatic int hidden(void) { return 1; }\n",
            "src/main.c": """#include "store.h"  // -> include/store.h:
#include "missing.h"
#include <stdio.h>
static int helper(struct store *s) { return LIMIT; } // -> include/store.h:store, LIMIT
int main(void) {
  struct store s; // -> include/store.h:store
  store_save(&s); // -> src/store.c:store_save
  helper(&s); // -> helper
  far_away(); // -> src/far.c:far_away
  hidden(); // !-> hidden
  return 0;
}
""",
        }
    )
    assert (resolved["src/main.c"].external_imports, resolved["src/main.c"].unresolved_imports) == (1, 1)
    assert [item.target_path for item in resolved["src/main.c"].imports] == ["include/store.h"]


def test_cpp_methods_belong_to_the_class_of_their_header() -> None:
    check_files(
        {
            "app.hpp": """#include "base.hpp"  // -> base.hpp:
namespace acme {
class Store {
 public:
  void save() {}
};
class App : public Base { // -> acme.Base
 public:
  void run();
  void helper() {}
 private:
  Store* store_;  // -> acme.Store
};
}
""",
            "base.hpp": "namespace acme {\nclass Base {\n public:\n  void log() {}\n};\n}\n",
            "app.cpp": """#include "app.hpp"  // -> app.hpp:
namespace acme {
void App::run() {  // -> acme.App
  helper(); // -> acme.App.helper
  this->helper(); // -> acme.App.helper
  log(); // -> acme.Base.log
  Store other; // -> acme.Store
  other.save(); // -> acme.Store.save
  auto made = new Store(); // -> acme.Store
  made->save(); // -> acme.Store.save
}
}
""",
        }
    )


def test_php_names_come_from_use_and_namespace() -> None:
    check_files(
        {
            "src/Util/Strings.php": (
                "<?php\nnamespace Acme\\Util;\nclass Strings { public static function trim() {} }\n"
                "function helper() {}\n"
            ),
            "src/Model/Order.php": (
                "<?php\nnamespace Acme\\Model;\nclass Order { public function total() {} }\nclass User {}\n"
            ),
            "src/App/Base.php": "<?php\nnamespace Acme\\App;\nabstract class Base { protected function log() {} }\n",
            "src/App/App.php": """<?php
namespace Acme\\App; // !-> App
use Acme\\Util\\Strings; // -> Strings
use Acme\\Model\\{User, Order as Ord}; // -> User, Order
use function Acme\\Util\\helper; // -> helper
class App extends Base { // -> Base
  private Ord $order;  // -> Order
  public function __construct(Ord $order) { $this->order = $order; } // -> Order, App.order
  public function run(User $user): Ord { // -> Order, User
    Strings::trim(); // -> Strings, Strings.trim
    $this->order->total(); // -> App.order, Order.total
    helper(); // -> helper
    $this->log(); // -> Base.log
    parent::log(); // -> Base.log
    self::make(); // -> App.make
    $o = new Ord();  // -> Order
    $o->total(); // -> Order.total
    $unknown->total(); // ?-> total
    return $o;
  }
  private static function make() { return new static(); }
}
""",
        }
    )


def test_ruby_constants_are_global_and_methods_belong_to_their_class() -> None:
    resolved = check_files(
        {
            "lib/store.rb": "class Store\n  def save(x)\n  end\nend\n",
            "lib/app.rb": """require_relative "store"  # -> lib/store.rb:
require "json"
module Acme
  class Base
    def log
    end
  end
  class App < Base # -> Acme.Base
    LIMIT = 3
    def run(user)
      helper # -> Acme.App.helper
      self.helper # -> Acme.App.helper
      log # -> Acme.Base.log
      o = Store.new # -> Store
      o.save(LIMIT) # -> Store.save, Acme.App.LIMIT
      user.save # ?-> save
    end
    def helper
    end
  end
end
""",
        }
    )
    assert [item.target_path for item in resolved["lib/app.rb"].imports] == ["lib/store.rb"]


def test_a_name_with_a_single_definition_is_a_possible_reference_without_an_import() -> None:
    check_files(
        {
            "a/Thing.java": "package a;\npublic class Thing {}\n",
            "b/User.java": """\
package b;
public class User {
  Thing t; // ?-> Thing
}
""",
        }
    )


def test_circular_inheritance_terminates() -> None:
    check_files(
        {
            "A.java": "class A extends B { void f() { g(); h(); } } // -> B, B.g\n",
            "B.java": "class B extends A { void g() {} }\n",
        }
    )


def test_code_around_a_syntax_error_is_resolved() -> None:
    check_files(
        {
            "a.go": """\
package a

func ok() {}

func broken( {

func user() {
	ok() // -> ok
}
"""
        }
    )


def test_other_languages_have_definitions_only() -> None:
    sources = Sources(
        {"a.lua": "local function f(a)\n  return a\nend\n", "README.md": "# Title\n", "data.json": '{"a": 1}'}
    )
    facts = sources.facts("a.lua")
    assert facts is not None
    assert [(symbol.key, symbol.kind) for symbol in facts.symbols] == [("f", "function")]
    for path in ("README.md", "data.json"):
        prose = sources.facts(path)
        assert prose is not None
        assert prose.symbols == ()


def test_rust_items_inside_macros_are_definitions() -> None:
    check_files(
        {
            "src/lib.rs": """cfg_rt! {
    pub mod task; // -> src/task.rs:
    pub use task::spawn; // -> spawn
    mod inner {
        use crate::task::Task; // -> Task
        impl Default for Task { // -> Task
            fn default() -> Self { Task { } } // -> Task
        }
    }
}
""",
            "src/task.rs": """pub struct Task {}

impl Task { // -> Task
    cfg_rt! {
        pub fn run(&self) {}
    }
}

cfg_rt! {
    pub fn spawn(task: Task) { // -> Task
        task.run(); // -> Task.run
    }
}
""",
            "src/other.rs": "use crate::spawn; // -> spawn\n\nfn go() {\n    spawn(1); // -> spawn\n}\n",
        }
    )


def test_a_rust_path_that_begins_with_an_external_type_is_not_a_possible_reference() -> None:
    sources = Sources(
        {
            "src/lib.rs": """mod job;
fn go<T>(unknown: T, list: Vec<u8>) {
    Vec::new();
    std::collections::HashMap::new();
    T::new();
    unknown.new();
    Vec::sized();
    Vec::shared();
}
""",
            "src/job.rs": """pub struct Job {}

impl Job {
    pub fn new() -> Job { Job {} }
}

pub trait Sized { fn sized(); }

impl Vec { fn shared() {} }
""",
        }
    )
    possible = {(edge.line, edge.target_key) for edge in sources.resolve()["src/lib.rs"].edges if not edge.certain}
    assert not {(3, "new"), (4, "new")} & possible
    assert {line for line, _ in possible} >= {5, 6}
    assert {7, 8} <= {edge.line for edge in sources.resolve()["src/lib.rs"].edges}


def test_a_rust_path_through_an_unknown_type_refers_only_to_members_of_types_with_that_name() -> None:
    resolved = Sources(
        {
            "src/lib.rs": "pub mod a;\npub mod b;\npub mod used;\n",
            "src/a.rs": "pub struct Builder;\nimpl Builder { pub fn new() {} }\npub struct Empty;\n",
            "src/b.rs": "pub struct Runtime;\nimpl Runtime { pub fn new() {} }\npub type Rt = Runtime;\n",
            "src/used.rs": """fn use_them() {
    given::Builder::new(); // of a type of that name
    std::fs::Builder::new();
    core::Builder::new();
    given::Empty::new();
    given::Rt::new(); // of any type, for it may be another name of it
}
""",
        }
    ).resolve()
    possible = {(edge.line, edge.target_key) for edge in resolved["src/used.rs"].edges if not edge.certain}
    assert possible == {(2, "Builder"), (2, "Builder.new"), (5, "Empty"), (6, "Rt"), (6, "new")}


def test_java_switch_labels_refer_to_enum_constants_or_constants_in_scope() -> None:
    check_files(
        {
            "a/T.java": "package a;\npublic enum T { ALIVE, READY }\n",
            "a/U.java": """package a;

class U {
  static final int ONE = 1;
  T make() { return T.ALIVE; } // -> T, T.ALIVE
  int f(T t, int n) { // -> T
    switch (n) {
      case ONE: return 1; // -> U.ONE
    }
    switch (make()) { // -> U.make
      case ALIVE: return 1; // -> T.ALIVE
    }
    return switch (t) {
      case READY -> 2; // -> T.READY
      default -> 3;
    };
  }
}
""",
        }
    )
