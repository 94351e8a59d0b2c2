"""Impact of a change: dependants, tests and possible uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.domains.graph.small_project import certain_locations

if TYPE_CHECKING:
    from tests.domains.graph.small_project import SmallProject


def test_possible_uses_are_listed_separately(project: SmallProject) -> None:
    project.write(
        {
            "store.py": "class Store:\n    def flush_all(self):\n        pass\n",
            "user.py": "def use(thing):\n    thing.flush_all()\n",
        }
    )
    graph = project.graph()
    impact = graph.impact(graph.targets("Store.flush_all")[0])
    assert impact.levels == ()
    assert [use.location for use in impact.possible] == [("user.py", 2)]


def test_a_member_that_calls_the_overridden_one_is_not_its_own_dependant(project: SmallProject) -> None:
    project.write(
        {
            "m.py": "class Base:\n    def run(self): ...\n\n\nclass Sub(Base):\n    def run(self):\n        super().run()\n"
        }
    )
    graph = project.graph()
    impact = graph.impact(graph.targets("Sub.run")[0])
    assert (impact.levels, impact.indirect_ids) == ((), frozenset())


def test_a_file_is_not_listed_next_to_its_own_dependent_definitions(project: SmallProject) -> None:
    project.write(
        {
            "store.py": "def load():\n    pass\n",
            "user.py": "from store import load\n\n\ndef use():\n    load()\n",
            "only.py": "from store import load\n",
        }
    )
    graph = project.graph()
    impact = graph.impact(graph.targets("load")[0])
    assert [(row.path, row.key) for row in impact.levels[0]] == [("only.py", ""), ("user.py", "use")]


def test_reopened_ruby_modules_are_one_symbol(project: SmallProject) -> None:
    project.write(
        {
            "a.rb": "module Acme\n  def self.go\n  end\nend\n",
            "b.rb": "module Acme\n  def self.stop\n  end\nend\n",
            "c.rb": "class Other\n  def use\n    Acme.go\n  end\nend\n",
        }
    )
    graph = project.graph()
    (target,) = graph.targets("Acme")
    assert len(target.node_ids) == 2
    for part in (target, graph.target_on_line("a.rb:1"), graph.target_on_line("b.rb:1")):
        assert "c.rb:3" in certain_locations(graph.references(part))


def test_impact_through_an_exported_object_follows_only_the_member(project: SmallProject) -> None:
    project.write(
        {
            "utils.js": "function isForm(x) {}\nfunction other(x) {}\nexport default { isForm, other }\n",
            "form.js": "import utils from './utils'\nexport function send(x) { return utils.isForm(x) }\n",
            "far.js": "import utils from './utils'\nexport function unrelated(x) { return utils.other(x) }\n",
            "old.js": "function load() {}\nfunction save() {}\nmodule.exports = { load, save }\n",
            "newer.js": "const old = require('./old')\nfunction go() { old.load() }\nfunction stay() { old.save() }\n",
        }
    )
    graph = project.graph()
    for name, reached in (("isForm", {("form.js", "send")}), ("load", {("newer.js", "go")})):
        impact = graph.impact(graph.targets(name)[0])
        assert {(row.path, row.key) for level in impact.levels for row in level if row.key} == reached
        assert impact.possible == ()
