"""References to members that are resolved by the type of their receiver, where a lookup by name would be wrong."""

from __future__ import annotations

from tests.domains.graph.marked import Sources, check_files


def test_a_go_method_is_not_visible_as_a_package_name() -> None:
    check_files(
        {
            "flags.go": "package a\n\ntype Command struct{}\n\nfunc MarkRequired(name string) error { return nil }\n",
            "marks.go": """package a

func (c *Command) MarkRequired(name string) error { // -> flags.go:Command
	return MarkRequired(name) // -> flags.go:MarkRequired
}

func use(c *Command) { // -> flags.go:Command
	c.MarkRequired("x") // -> marks.go:Command.MarkRequired
}
""",
        }
    )


def test_unnamed_go_results_refer_to_their_types() -> None:
    check_files(
        {
            "a.go": """package a

type Level int

func f() (string, Level) { // -> Level
	return "", 0
}

var g = func(x int) ([]string, Level) { // -> Level
	return nil, 0
}

type Box struct {
	Level Level // -> Level
}
"""
        }
    )


def test_the_root_package_of_a_go_module_is_imported_by_its_package_clause_name() -> None:
    check_files(
        {
            "go.mod": "module example.com/go-tool/v2\n",
            "tool.go": "package tool\n\ntype Command struct{}\n\nfunc (c *Command) Run() {}\n\nfunc New() *Command { return nil }\n",
            "doc/doc.go": """package doc

import "example.com/go-tool/v2" // -> tool.go:

var root = &tool.Command{} // -> tool.go:Command

func use() {
	root.Run() // -> root, tool.go:Command.Run
	tool.New().Run() // -> tool.go:New, tool.go:Command.Run
}
""",
        }
    )


def test_go_types_come_from_results_loops_closures_and_assertions() -> None:
    check_files(
        {
            "a.go": """package a

type Item struct { next *Item; subs []*Item; byName map[string]*Item } // -> Item

func (i *Item) Do() *Item { return i } // -> Item
func find() (*Item, error) { return nil, nil } // -> Item
func all() []*Item { return nil } // -> Item

type Other struct{}

func (o *Other) Do() {} // -> Other

func use(any interface{}) {
	c, _ := find() // -> find
	c.Do() // -> Item.Do
	for _, each := range all() { // -> all
		each.Do() // -> Item.Do
		for name, sub := range each.byName { // -> Item.byName
			sub.Do() // -> Item.Do
			name.Do() // ?-> Do
		}
	}
	c.subs[0].next.Do().Do() // -> Item.Do, Item.subs, Item.next
	run(func(o *Other) { o.Do() }) // -> run, Other, Other.Do
	any.(*Item).Do() // -> Item, Item.Do
	switch v := any.(type) {
	case *Item: // -> Item
		v.Do() // -> Item.Do
	case *Other: // -> Other
		v.Do() // -> Other.Do
	}
	if c := all(); len(c) > 0 { // -> all
		c[0].Do() // -> Item.Do
	}
	list := []Other{{}} // -> Other
	list[0].Do() // -> Other.Do
}

func run(f func(o *Other)) {} // -> Other
"""
        }
    )


def test_a_parameter_with_the_name_of_its_type_does_not_hide_the_type() -> None:
    check_files(
        {
            "server.h": """typedef struct client { int id; } client;
void freeClient(client *client); // -> client, server.c:freeClient
void resetClient(client *client); // -> client
struct list { client *head; }; // -> client
""",
            "server.c": """#include "server.h" // -> server.h:
void freeClient(client *client) { // -> server.h:client
  client->id = 0;
}
static client *current; // -> server.h:client
""",
        }
    )


def test_java_constructors_are_called_by_new_this_and_super() -> None:
    check_files(
        {
            "A.java": """package a;
class Base<T> {
  Base(int n) {}
}
class Sub extends Base<String> { // -> Base
  Sub(int n) {
    super(n); // -> Base.Base
  }
  Sub() {
    this(1); // -> Sub.Sub, Sub.Sub#2
  }
  Base<String> other() { // -> Base
    return new Base<>(2); // -> Base, Base.Base
  }
}
"""
        }
    )


def test_java_local_classes_and_variables_are_visible_inside_their_method() -> None:
    check_files(
        {
            "T.java": """package a;
class Point { void move() {} }
class T {
  void first() {
    record Local(int a) {}
    new Local(1); // -> T.first.Local
  }
  void second() {
    record Local(int b) {}
    Point point = new Point(); // -> Point
    run(() -> new Local(2)); // -> T.run, T.second.Local
    run(new Runnable() { // -> T.run
      public void run() { point.move(); } // -> Point.move
    });
  }
  void run(Object o) {}
}
"""
        }
    )


def test_java_distinguishes_a_field_from_a_method_of_the_same_name() -> None:
    check_files(
        {
            "G.java": """package a;
class G {
  boolean safe;
  boolean safe() {
    return safe; // -> G.safe
  }
  void use(G g) { // -> G
    g.safe(); // -> G.safe#2
    g.safe = true; // -> G.safe
    safe(); // -> G.safe#2
  }
}
"""
        }
    )


def test_java_members_come_through_generic_bases_and_collections() -> None:
    check_files(
        {
            "A.java": """package a;
import java.util.List;
import java.util.Map;
class Item { void go() {} }
class Store<T> { Item top() { return null; } } // -> Item
class Shop extends Store<String> { // -> Store
  List<Item> items; // -> Item
  Map<String, Item> named; // -> Item
  void use(Object o) {
    top().go(); // -> Store.top, Item.go
    items.get(0).go(); // -> Shop.items, Item.go
    named.get("x").go(); // -> Shop.named, Item.go
    for (var each : items) each.go(); // -> Shop.items, Item.go
    if (o instanceof Item i) i.go(); // -> Item, Item.go
    ((Item) o).go(); // -> Item, Item.go
  }
  <Item> Item generic(Item item) { return item; } // !-> Item
}
"""
        }
    )


def test_php_namespaces_do_not_refer_to_classes_nor_fields_to_methods() -> None:
    check_files(
        {
            "src/Input/Input.php": """<?php
namespace App\\Input; // !-> Input
class Input {
  private $options;
  public function options() { return $this->options; } // -> Input.options
}
""",
            "src/Use.php": """<?php
namespace App;
use App\\Input\\Input; // -> Input
class Run {
  public function go(Input $input) { // -> Input
    $input->options(); // -> Input.options#2
    $f = fn (self $run) => $run->go($input); // -> Run.go
  }
}
""",
        }
    )


def test_rust_follows_re_exports_and_reports_each_import_on_its_line() -> None:
    check_files(
        {
            "src/lib.rs": "pub mod nfa;\npub mod user;\n",
            "src/nfa/mod.rs": "mod inner;\nmod more;\npub use self::inner::{Nfa, Error as BuildError};\npub use more::*;\n",
            "src/nfa/inner.rs": "pub struct Nfa;\n\nimpl Nfa {\n    pub fn len(&self) -> usize { 0 }\n}\n\npub struct Error;\n",
            "src/nfa/more.rs": "pub struct More;\n",
            "src/user.rs": """use crate::{
    nfa::{
        Nfa, // -> src/nfa/inner.rs:Nfa
        BuildError, // -> src/nfa/inner.rs:Error
    },
};
use crate::nfa; // -> src/nfa/mod.rs:

fn use_it(n: &nfa::Nfa, more: nfa::More) -> Result<Nfa, BuildError> { // -> Nfa, More, Error
    n.len(); // -> Nfa.len
    use_it(n, more)?.len() // -> use_it, Nfa.len
}
""",
        }
    )


def test_rust_builder_chains_tuple_fields_and_nested_functions_are_resolved() -> None:
    check_files(
        {
            "src/lib.rs": """pub struct Config;

impl Config { // -> Config
    pub fn new() -> Config { Config } // -> Config
    pub fn limit(mut self, n: usize) -> Self { self }
    pub fn build(&self) -> Option<Engine> { None } // -> Engine
}

pub struct Engine;

impl Engine { // -> Engine
    pub fn run(&self) {}
}

struct Wrapper(Box<Engine>, Vec<Config>); // -> Engine, Config

impl Wrapper { // -> Wrapper
    fn go(&self) {
        fn helper() {}
        helper(); // -> Wrapper.go.helper
        self.0.run(); // -> Engine.run
        self.1[0].build(); // -> Config.build
        Config::new().limit(1).limit(2).build().unwrap().run(); // -> Config, Config.new, Config.limit, Config.build, Engine.run
        if let Some(engine) = Config::new().build() { // -> Config, Config.new, Config.build
            engine.run(); // -> Engine.run
        }
        for config in self.1.iter() {
            config.build(); // -> Config.build
        }
        assert!(self.0.run()); // -> Engine.run
        let len = len(1); // -> len
        len.run(); // ?-> run
    }
}

fn len(n: usize) -> usize { n }

mod inside {
    use super::Engine; // -> Engine
    use crate::other::Config; // -> src/other.rs:Config

    fn use_it(e: Engine, c: Config) { // -> Engine, src/other.rs:Config
        helper(); // -> inside.helper
    }
    fn helper() {}
}
""",
            "src/other.rs": "pub struct Config;\n",
        }
    )


def test_a_plain_cpp_name_does_not_refer_to_methods_of_other_classes() -> None:
    check_files(
        {
            "batch.h": "namespace db {\nclass Batch {\n public:\n  void Put(int k);\n};\n}\n",
            "batch.cc": """#include "batch.h" // -> batch.h:
namespace db {
void Batch::Put(int k) { if (k) Put(0); } // -> db.Batch, db.Batch.Put
Batch::~Batch() {} // -> db.Batch
}
""",
            "test.cc": """#include "batch.h" // -> batch.h:
namespace db {
namespace port {
int Cores() { return 1; }
}
class Test {
 public:
  void Fill() {
    Put(1); // !-> Put
    Batch batch; // -> db.Batch
    batch.Put(1); // -> db.Batch.Put
    Batch* many[3]; // -> db.Batch
    many[1]->Put(2); // -> db.Batch.Put
    static_cast<Batch*>(any)->Put(3); // -> db.Batch, db.Batch.Put
    port::Cores(); // -> db.port.Cores
  }
};
}
""",
        }
    )


def test_rust_traits_are_bases_of_implementing_types_and_bounded_parameters() -> None:
    resolved = check_files(
        {
            "src/lib.rs": """pub trait Endian {
    fn write(n: u16);
    fn name(&self) -> String { String::new() }
}

pub struct Little;

impl Endian for Little { // -> Endian, Little
    fn write(n: u16) {}
}

fn encode<E: Endian>(e: &E, little: Little) { // -> Endian, Little
    E::write(1); // -> Endian.write
    e.name(); // -> Endian.name
    little.name(); // -> Endian.name
    Little::write(2); // -> Little, Little.write
}
"""
        }
    )
    inherits = [(edge.source_key, edge.target_key) for edge in resolved["src/lib.rs"].edges if edge.kind == "inherit"]
    assert inherits == [("Little", "Endian")]


def test_a_reopened_ruby_module_is_referred_to_once() -> None:
    resolved = check_files(
        {
            "a.rb": "module Acme\n  class One\n    def go\n    end\n  end\nend\n",
            "b.rb": "module Acme\n  class One\n    def stop\n    end\n  end\nend\n",
            "c.rb": """module Acme
  class Two
    def use
      Acme # -> a.rb:Acme
      one = One.new # -> a.rb:Acme.One
      one.go # -> a.rb:Acme.One.go
      one.stop # -> b.rb:Acme.One.stop
    end
  end
end
""",
        }
    )
    assert len([edge for edge in resolved["c.rb"].edges if edge.line == 4]) == 1


def test_very_deeply_nested_source_is_visited_once() -> None:
    deep = "class A { " * 3_000 + "B b;" + " }" * 3_000
    calls = "package a\nfunc f() { " + "g(" * 5_000 + ")" * 5_000 + " }\n"
    types = "struct S { a: " + "Vec<" * 5_000 + "T" + ">" * 5_000 + " }\n"
    resolved = Sources({"A.java": deep, "a.go": calls, "src/lib.rs": types}).resolve()
    assert set(resolved) == {"A.java", "a.go", "src/lib.rs"}


def test_cpp_macros_after_declarators_pure_virtual_methods_and_qualified_names_are_parsed() -> None:
    resolved = check_files(
        {
            "include/shop/slice.h": "namespace shop {\nclass EXPORT_API Slice;\nclass EXPORT_API Slice {\n"
            " public:\n  int size() const { return 1; }\n};\n}\n",
            "include/shop/cursor.h": '#include "shop/slice.h"\nnamespace shop {\nclass Cursor {\n public:\n'
            "  virtual Slice key() const = 0;\n  Slice* value(int n);\n};\n}\n",
            "db/table.h": """#include "shop/cursor.h" // -> include/shop/cursor.h:
#include <poll.h> // !-> poll.h
namespace shop {
namespace test { int Seed(int n) { return n; } }
int Seed(int n) { return n; }
class Table {
 public:
  void Run() REQUIRES(mutex_) { rows_->key().size(); } // -> shop.Cursor.key, shop.Slice.size
  void Fill(int n) {}
 private:
  Cursor* rows_ GUARDED_BY(mutex_); // -> shop.Cursor
  typedef struct Point {
    int x;
  } Point;
};
}
""",
            "db/poll.h": "int mine(int a) { return a; }\n",
            "db/table_test.cc": """#include "table.h" // -> db/table.h:
using shop::Table; // -> shop.Table
namespace shop {
class TableTest : public Table { // -> shop.Table
 public:
  explicit TableTest(int n); // -> shop.TableTest
};
class Other : public TableTest {}; // -> shop.TableTest
TEST_F(TableTest, Fills) { Fill(1); } // -> shop.Table.Fill, shop.TableTest
void go(Cursor* c) { // -> shop.Cursor
  Table t(open()); // -> shop.Table
  t.Fill(test::Seed(2)); // -> shop.Table.Fill, shop.test.Seed
  c->value(1)->size(); // -> shop.Slice.size
}
}
""",
        }
    )
    assert [each.target_path for each in resolved["db/table.h"].imports] == ["include/shop/cursor.h"]
    check_files(
        {
            "local.cc": """class Item {};
void f(int n) {
  int count(int); // -> count
  Item made(Item item); // -> Item, made
  Item bare(); // -> Item, bare
  Item count_of(n); // -> Item
  count(3); // -> count
  made(n); // -> made
  bare(); // -> bare
  count_of(n); // !-> count_of
}
int count(int x) { return x; }
Item made(Item item) { return item; } // -> Item
Item bare() { return Item(); } // -> Item
int count_of(int x) { return x; }
"""
        }
    )
    table = Sources({"t.h": "typedef struct point {\n  int x;\n} point;\nint area(point *p);\n"})
    facts = table.facts("t.h")
    assert facts is not None
    assert [(symbol.key, symbol.line, symbol.end_line) for symbol in facts.symbols] == [("point", 1, 3)]


def test_anonymous_java_class_methods_access_and_override_methods_of_their_base() -> None:
    check_files(
        {
            "T.java": """package a;
abstract class Shape {
  int size() { return 1; }
  abstract int area(int n);
}
class Square extends Shape { // -> Shape
  Square(int n) {}
  int area(int n) { return size(); } // -> Shape.size
}
enum Op {
  ADD {
    int run(int n) { return twice(n); } // -> Op.twice
  };
  abstract int run(int n);
  int twice(int n) { return 2 * n; }
}
class T {
  void size() {}
  void use() {
    run(new Shape() { // -> T.run, Shape
      int area(int n) {
        return size() + super.size() + n; // -> Shape.size
      }
    });
    size(); // -> T.size
    map(Square::new); // -> T.map, Square, Square.Square
  }
  void run(Shape s) {} // -> Shape
  void map(Object o) {}
}
"""
        }
    )


def test_promoted_parameters_of_php_constructors_are_properties() -> None:
    check_files(
        {
            "a.php": """<?php
namespace App;
interface Reader { public function read(int $n): string; }
abstract class Base implements Reader { } // -> Reader
class App {
  public function __construct(private Reader $reader, protected readonly Base $base) {} // -> Reader, Base
  public function run(): void {
    $this->reader->read(1); // -> App.reader, Reader.read
    $this->base->read(2); // -> App.base, Reader.read
  }
}
"""
        }
    )


def test_uses_of_c_macros_refer_to_the_names_in_their_bodies() -> None:
    resolved = check_files(
        {
            "log.h": """void write_log(const char *m); // -> log.c:write_log
#define LOG(x) write_log(x) // -> log.c:write_log
#define LEVEL current_level // -> log.c:current_level
#define GLUE(a) a ## write_log(a)
""",
            "twice.h": """#include "log.h"
#define LOG_TWICE(x) do { LOG(x); /* other_log(x) */ \\
    LOG(x); } while (0)
""",
            "log.c": "void write_log(const char *m) {}\nint current_level;\nvoid other_log(void) {}\n",
            "main.c": """#include "twice.h" // -> twice.h:
int main(void) {
  LOG("write_log"); // -> log.h:LOG, log.c:write_log
  LOG_TWICE("x"); // -> twice.h:LOG_TWICE, log.h:LOG, log.c:write_log
  GLUE(x); // -> log.h:GLUE
  return LEVEL; // -> log.h:LEVEL, log.c:current_level
}
""",
        }
    )
    ways = {(edge.line, edge.target_key): edge.origin for edge in resolved["main.c"].edges}
    assert ways[3, "LOG"] == "scope"
    assert ways[3, "write_log"] == "alias"


def test_a_call_on_the_same_line_as_the_called_method_is_a_reference() -> None:
    check_files(
        {
            "a.cpp": """class Job {
 public:
  void put(int a) { put(a, 1); } // -> Job.put, Job.put#2
  void put(int a, int b) {}
};
""",
        }
    )


def test_a_use_under_another_name_has_the_origin_alias() -> None:
    resolved = check_files(
        {
            "src/lib.rs": "pub mod a;\npub mod b;\n",
            "src/a.rs": "pub struct Total;\n",
            "src/b.rs": """use crate::a::Total as Sum; // -> Total
pub fn f(s: Sum) {} // -> Total
""",
            "A.php": "<?php\nnamespace App;\nclass Order {}\n",
            "B.php": """<?php
namespace Web;
use App\\Order as Ord; // -> Order
function f(Ord $o) {} // -> Order
""",
        }
    )
    assert [edge.origin for edge in resolved["src/b.rs"].edges] == ["scope", "alias"]
    assert [edge.origin for edge in resolved["B.php"].edges] == ["scope", "alias"]


def test_go_types_of_new_constants_named_lists_and_anonymous_structs_are_inferred() -> None:
    check_files(
        {
            "a.go": """package a

type Level int

func (l Level) String() string { return "" } // -> Level

const (
	High Level = iota // -> Level
	Low
)

type Item struct { Level Level; next *Item } // -> Level, Item

func (i *Item) Do() *Item { return i } // -> Item

func Next() {}

type Items []*Item // -> Item

type ByName map[string]Items // -> Items

type Same = Item // -> Item

func use(items Items, names ByName, same Same) { // -> Items, ByName, Same
	new(Item).Do() // -> Item, Item.Do
	made := make([]*Item, 3) // -> Item
	made[0].Do() // -> Item.Do
	Low.String() // -> Low, Level.String
	items[0].Do() // -> Item.Do
	names["x"][0].Do() // -> Item.Do
	same.Do() // -> Item.Do
	for _, each := range items {
		each.Do() // -> Item.Do
	}
	tests := []struct {
		name string
		item *Item // -> Item
		level, other Level // -> Level
	}{{name: "x"}}
	for _, test := range tests {
		test.item.Do() // -> Item.Do
		test.other.String() // -> Level.String
	}
	_ = Item{Level: Low, Next: nil} // -> Item, Low, Item.Level
	_ = map[Level]string{High: "x"} // -> Level, High
}
"""
        }
    )


def test_c_functions_behind_a_macro_and_names_shared_with_a_tag_are_resolved() -> None:
    check_files(
        {
            "a.h": """typedef long number;
typedef void *(*maker)(int);
enum code { one };
static inline enum code code(int n) { return one; } // -> code, code.one
""",
            "a.c": """#include "a.h" // -> a.h:
LUA_API number lua_len (int idx) { // -> a.h:number
  maker make = 0; // -> maker
  return code(idx); // -> code#2
}
#define SET(a) { number *held = (a); *held = 1; } // -> a.h:number
void use(void) {
  lua_len(1); // -> lua_len
  SET(0); // -> SET, a.h:number
}
""",
        }
    )


def test_a_java_instanceof_does_not_narrow_later_code_and_inner_classes_are_created_through_an_outer_object() -> None:
    check_files(
        {
            "A.java": """package a;
class Reader { boolean more() { return true; } }
class TreeReader extends Reader { boolean more() { return true; } Object element() { return null; } } // -> Reader
class Outer {
  class Inner {
    Inner(int x) {}
  }
}
class Use {
  void read(Reader in) { // -> Reader
    if (in instanceof TreeReader) { // -> TreeReader
      ((TreeReader) in).element(); // -> TreeReader, TreeReader.element
    }
    in.more(); // -> Reader.more
  }
  void make(Outer outer) { // -> Outer
    Outer.Inner made = outer.new Inner(1); // -> Outer, Outer.Inner, Outer.Inner.Inner
  }
}
"""
        }
    )


def test_phpdoc_declares_types_that_code_does_not_declare() -> None:
    check_files(
        {
            "src/Items.php": """<?php
namespace Acme\\Model;
class Item {
    /** @return static */
    public function next() {}
    public function go() {}
}
class Other { public function go() {} }
interface Shelf {
    /**
     * @return Item[] // -> Item
     */
    public function all();
}
class Drawer implements Shelf { // -> Shelf
    public function all() {}
}
""",
            "src/Use.php": """<?php
namespace Acme\\App;
use Acme\\Model\\Item; // -> Item
use Acme\\Model\\Drawer; // -> Drawer
use Acme\\Model;
/**
 * @property Item $magic     // -> Item
 * @method static Item make(Drawer $in)     // -> Item, Drawer
 * @method remake()
 * @property-read Model\\Item $read     // -> Item
 * @phpstan-type Row array<string, Item>     // -> Item
 * @phpstan-import-type Other from Drawer     // -> Drawer
 * @template-covariant T of Item     // -> Item
 */
class Use_ {
    /** @var Item|null */ // -> Item
    private $one;
    /** @var array<string, Model\\Item> */ // -> Item
    private array $many = [];
    private $held;
    private $mixed;
    /** @phpstan-var Other|Row */
    private $aliases;
    /** @var T */
    private $bound;

    /**
     * @param Item   $a // -> Item
     * @param \\Acme\\Model\\Item ...$rest // -> Item
     * @param callable(Item): Drawer $call // -> Item, Drawer
     * @param array{Other: int, x?: list<Item>} $shape // -> Item
     * @throws \\Acme\\Model\\Other when it is late // -> Other
     * @see Item::go() // -> Item, Item.go
     */
    public function __construct($a, Drawer $held, $call, $shape, ...$rest) { // -> Drawer
        $this->held = $held; // -> Use_.held
        $this->mixed = $held; // -> Use_.mixed
        $this->mixed = $a; // -> Use_.mixed
        $a->next()->go(); // -> Item.next, Item.go
        $rest[0]->go(); // -> Item.go
    }

    public function run() {
        $this->one->go(); // -> Use_.one, Item.go
        $this->magic->go(); // -> Item.go
        $this->read->go(); // -> Item.go
        self::make()->go(); // -> Item.go
        $this->bound->go(); // -> Use_.bound, Item.go
        $this->mixed->go(); // -> Use_.mixed
        foreach ($this->many as $key => $item) { // -> Use_.many
            $item->go(); // -> Item.go
        }
        foreach ($this->held->all() as $each) { // -> Use_.held, Drawer.all
            $each->go(); // -> Item.go
        }
        /** @var Item $told */ // -> Item
        $told = unknown();
        $told->go(); // -> Item.go
        $copy = clone $told;
        $copy->go(); // -> Item.go
    }
}
""",
        }
    )


def test_php_conditions_narrow_variables_and_assignments_change_their_type() -> None:
    check_files(
        {
            "a.php": """<?php
class Item { public function go() {} }
class Other extends Item { public function go() {} } // -> Item
class Use_ {
    public function go() {}
    public function narrow($x, $y, Item $z, Item $w) { // -> Item
        if ($x instanceof Item && $x->go()) { // -> Item, Item.go
            $x->go(); // -> Item.go
        } else {
            $x->go(); // ?-> go
        }
        $a = $x instanceof Other ? $x->go() : null; // -> Other, Other.go
        if (!$y instanceof Item) { // -> Item
            return;
        }
        $y->go(); // -> Item.go
        $z = new Other(); // -> Other
        $z->go(); // -> Other.go
        if ($a) {
            $w = new Other(); // -> Other
        }
        $w->go(); // ?-> go
        try {
        } catch (\\Other | int $e) { // -> Other
            $e->go(); // -> Other.go
        }
        array_map([$this, 'go'], [1]); // -> Use_.go
        array_map([Item::class, 'go'], ['item', 'go']); // -> Item, Item.go
        \\count([$this, 'nothing']);
    }
}
"""
        }
    )


def test_hostile_php_comments_are_parsed_within_limits() -> None:
    hostile = [
        "array<" * 5_000,
        "(" * 5_000,
        "Foo|" * 5_000,
        "?" * 5_000,
        "Foo[" * 5_000,
        "array{a:" * 5_000,
        "callable(" * 5_000,
        "'" * 5_001,
        "Foo::" * 5_000,
        "\\" * 5_000,
        "$" * 5_000,
        "&" * 5_000,
        "Foo<" + "a," * 5_000,
        "static " * 5_000,
    ]
    tags = ["param", "var", "return", "method", "property", "template", "see", "throws", "template T of"]
    for text in hostile:
        lines = "".join(f" * @{tag} {text}\n" for tag in tags)
        resolved = Sources({"a.php": f"<?php\n/**\n{lines} */\nfunction f($x) {{}}\nclass Foo {{}}\n"}).resolve()
        assert set(resolved) == {"a.php"}


def test_php_namespace_blocks_are_read_with_or_without_a_name() -> None:
    check_files(
        {
            "a.php": """<?php
namespace Acme {
    class Item { public function go() {} }
}
namespace {
    use Acme\\Item; // -> Item
    function run(Item $item) { // -> Item
        $item->go(); // -> Item.go
    }
}
"""
        }
    )


def test_every_name_of_a_cpp_path_is_resolved_and_names_of_tests_are_not_references() -> None:
    check_files(
        {
            "prog.h": """class Prog {
 public:
  class Inst {
   public:
    void Init(int out);
    static void Go();
  };
};
class Set {};
class Fix {};
""",
            "prog.cc": """#include "prog.h" // -> prog.h:
void Prog::Inst::Init(int out) { // -> Prog, Prog.Inst
  Prog::Inst::Init(1); // -> Prog, Prog.Inst, prog.cc:Prog.Inst.Init
}
TEST(Set, Prog) {
  Set set; // -> Set
}
TEST_F(Fix, Set) { // -> Fix
  Set set; // -> Set
}
""",
        }
    )


def test_calling_a_go_function_value_has_the_result_type_of_its_signature() -> None:
    check_files(
        {
            "a.go": """package a

type Matcher struct{}

func (m Matcher) Match() {} // -> Matcher

type Factory func(int) (Matcher, error) // -> Matcher

func use(fac any, make func() Matcher) { // -> Matcher
	f, ok := fac.(Factory) // -> Factory
	m, err := f(1)
	m.Match() // -> Matcher.Match
	made := make()
	made.Match() // -> Matcher.Match
}
"""
        }
    )


def test_a_call_of_a_rust_tuple_field_does_not_prevent_resolution_of_the_file() -> None:
    check_files(
        {
            "src/lib.rs": """pub struct Store;

impl Store { // -> Store
    pub fn open(&self) {}
}

fn use_it(pair: (fn() -> Store, Store)) { // -> Store
    pair.1.open(); // -> Store.open
    (pair.0)().open(); // -> Store.open
    trace!(pair.0().x);
}
"""
        }
    )
