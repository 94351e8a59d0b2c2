"""JavaScript: CommonJS modules, prototypes, and types in comments."""

from tests.domains.graph.typescript.resolving import resolve


def test_a_required_module_is_an_alias_of_its_exported_value() -> None:
    graph = resolve(
        {
            "pool.js": "class Pool { drain() {} }\nmodule.exports = Pool\n",
            "use.js": "const Pool = require('./pool')\nnew Pool().drain()\n",
        }
    )
    assert graph.references("pool.js#Pool") == ["pool.js:2", "use.js:1", "use.js:2"]
    assert graph.references("use.js#Pool") == ["use.js:2"]
    assert graph.references("pool.js#Pool.drain") == ["use.js:2"]
    assert graph.imports("use.js") == [("pool.js", "runtime")]


def test_exported_properties_reexport_the_named_declarations() -> None:
    graph = resolve(
        {
            "util.js": ("function f() {}\nexports.g = function () {}\nexports.f = f\nmodule.exports.h = () => 1\n"),
            "whole.js": "function k() {}\nmodule.exports = { k, m() {}, n: 1 }\n",
            "use.js": (
                "const { f, g } = require('./util')\nconst util = require('./util')\nf()\ng()\n"
                "util.f()\nutil.h()\n"
                "const whole = require('./whole')\nwhole.k()\nwhole.m()\n"
                "const k = require('./whole').k\nk()\n"
            ),
        }
    )
    assert graph.references("util.js#exports.g") == ["use.js:1", "use.js:4"]
    assert graph.references("util.js#exports.f") == ["use.js:1", "use.js:3", "use.js:5"]
    assert graph.references("util.js#f") == ["use.js:1", "use.js:3", "use.js:5", "util.js:3"]
    assert graph.possible_references("util.js#f") == []
    assert graph.references("util.js#exports.h") == ["use.js:6"]
    assert graph.references("whole.js#module.exports.m") == ["use.js:9"]
    assert graph.references("whole.js#k") == ["use.js:10", "use.js:11", "use.js:8", "whole.js:2"]
    assert "module.exports.k" not in graph.kinds("whole.js")


def test_an_exported_object_reexports_the_declarations_in_it() -> None:
    graph = resolve(
        {
            "utils.js": (
                "function isForm(x) {}\nconst isBlob = kindOf('Blob')\nfunction other() {}\n"
                "export default {\n  isForm,\n  isBlob,\n  renamed: other,\n  own() {},\n}\n"
            ),
            "use.js": (
                "import utils from './utils'\nutils.isForm(1)\nutils.isBlob(2)\nutils.renamed()\nutils.own()\n"
                "const { isForm } = utils\nisForm()\n"
            ),
            "parts.js": "function part() {}\nmodule.exports = { part }\n",
            "index.js": "const { part } = require('./parts')\nmodule.exports = { part }\n",
            "far.js": "const all = require('./index')\nall.part()\n",
            "round.js": "const { part } = require('./round')\nmodule.exports = { part }\nrequire('./round').part()\n",
        }
    )
    assert graph.references("utils.js#isForm") == ["use.js:2", "use.js:6", "utils.js:5"]
    assert graph.references("utils.js#isBlob") == ["use.js:3", "utils.js:6"]
    assert graph.references("utils.js#other") == ["use.js:4", "utils.js:7"]
    assert graph.references("utils.js#default.own") == ["use.js:5"]
    assert "default.isForm" not in graph.kinds("utils.js")
    assert "far.js:2" in graph.references("parts.js#part")


def test_chained_exports_are_only_possible_aliases() -> None:
    graph = resolve(
        {
            "app.js": ("var app = exports = module.exports = {}\napp.run = function run() { return this.run() }\n"),
            "use.js": ("const app = require('./app')\napp.run()\nfunction later() { return require('./app') }\n"),
        }
    )
    assert graph.references("app.js#app.run") == ["app.js:2", "use.js:2"]
    assert graph.references("app.js#app") == ["app.js:2"]
    assert graph.possible_references("app.js#app") == ["use.js:1", "use.js:2", "use.js:3"]
    assert graph.imports("use.js") == [("app.js", "runtime"), ("app.js", "deferred")]


def test_anonymous_exported_classes_and_functions_are_found_by_importers() -> None:
    graph = resolve(
        {
            "a.js": "module.exports = class Application { start() { this.start() } }\n",
            "b.js": "module.exports = function () {}\n",
            "c.js": "const App = require('./a')\nnew App().start()\nrequire('./b')()\n",
            "d.ts": "import App from './a'\nnew App().start()\n",
        }
    )
    assert graph.references("a.js#Application.start") == ["a.js:1", "c.js:2", "d.ts:2"]
    assert graph.possible_references("b.js#module.exports") == ["c.js:3"]


def test_constructor_functions_create_typed_objects() -> None:
    graph = resolve(
        {
            "a.js": (
                "function Queue() { this.items = []; this.head = new Node() }\n"
                "Queue.prototype.push = function (x) { this.head.link(); return this.push(x) }\n"
                "Queue.create = () => new Queue()\nfunction Node() { this.n = 1 }\n"
                "Node.prototype.link = function () {}\n"
                "Queue.create().push(1)\nnew Queue().head.link()\nQueue.create = null\n"
            )
        }
    )
    assert graph.references("a.js#Queue.push") == ["a.js:2", "a.js:6"]
    assert graph.references("a.js#Node.link") == ["a.js:2", "a.js:7"]
    assert graph.references("a.js#Queue.create") == ["a.js:6", "a.js:8"]
    assert graph.kinds("a.js")["Queue.items"] == "variable"


def test_fields_assigned_in_methods_are_members() -> None:
    graph = resolve(
        {
            "a.js": (
                "const kLog = Symbol('log')\nclass Log { write() {} }\n"
                "class A {\n  constructor() { this.log = new Log(); this[kLog] = new Log() }\n"
                "  m() { this.log.write(); this[kLog].write() }\n  [kLog]() {}\n}\n"
            )
        }
    )
    assert graph.references("a.js#Log.write") == ["a.js:5"]
    assert graph.kinds("a.js")["A.log"] == "variable"


def test_links_in_comments_are_references() -> None:
    graph = resolve(
        {
            "a.ts": (
                "export class A { m() {} }\n"
                "/** See {@link A} and {@link A#m}, {@linkcode A.m}. */\nexport const x = 1\n"
                "/** @see A */\nexport const y = 1\n"
            ),
            "b.js": "import { A } from './a'\n/** @extends A<string> */\nclass B extends A {}\n",
        }
    )
    assert graph.references("a.ts#A") == ["a.ts:2", "a.ts:4", "b.js:1", "b.js:2", "b.js:3"]
    assert graph.references("a.ts#A.m") == ["a.ts:2"]


def test_invalid_comments_are_ignored() -> None:
    graph = resolve(
        {"a.js": "/** @type {((((} */\nconst x = 1\n/** @param {{a: [b, {c: d} x */\nfunction f(x) { x.y }\n"}
    )
    assert graph.kinds("a.js") == {"x": "variable", "f": "function"}


def test_functions_assigned_to_members_inside_a_function_are_symbols() -> None:
    source = """(function (root) {
  function Plot() {
    this.init = function () { return start() }
  }
  function start() {}
  Plot.prototype.draw = function () {
    start()
  }
  Plot.prototype.tools = { zoom: function () { start() }, pan() {} }
  Grid.prototype = { cells: function () {} }
  root.open = () => start()
})(this)
"""
    graph = resolve({"plot.js": source})
    keys = {"Plot.init", "Plot.draw", "Plot.tools.zoom", "Plot.tools.pan", "Grid.cells", "root.open"}
    assert keys <= graph.kinds("plot.js").keys()
    assert graph.references("plot.js#start") == ["plot.js:11", "plot.js:3", "plot.js:7", "plot.js:9"]
    draw = next(symbol for symbol in graph.facts["plot.js"].symbols if symbol.key == "Plot.draw")
    assert (draw.line, draw.end_line) == (6, 8)
