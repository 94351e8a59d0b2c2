"""An error message finds the code that raises it, for any values in its placeholders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config
from deltos.domains.code.query.error_messages import (
    certain_message,
    find_messages,
    fixed_text,
    match_message,
)
from tests.calling import ToolClient
from tests.repositories import write_files

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

FILES = {
    "src/export.py": (
        "def write(rows, most):\n    for row in rows:\n        send(row)\n"
        "    if len(rows) > most:\n"
        '        raise TooLong(f"CSV contains more than {most} bytes")\n\n\n'
        'def more_bytes(csv):\n    """The bytes that a CSV contains, more than enough."""\n    return csv.bytes\n'
    ),
    "tests/test_export.py": 'def test_csv_bytes():\n    assert "CSV contains more than 9 bytes" in seen()\n',
    "src/other.py": "def contains(csv, more):\n    # csv contains more bytes than that\n    return csv\n",
}


@pytest.fixture
def client(tmp_path: Path, workers: ProcessPool) -> ToolClient:
    project = tmp_path / "project"
    write_files(project, FILES)
    return ToolClient(App(Config(tmp_path / "home"), workers=workers).tools(), project)


def test_a_message_is_answered_only_with_the_statement_that_raises_it(client: ToolClient) -> None:
    text = client.call("search_code", query="CSV contains more than 104857600 bytes").text
    first, rest = text.split("\n\n")
    assert first.startswith("src/export.py:1-5 write (line 5)\n")
    assert 'raise TooLong(f"CSV contains more than {most} bytes")' in first
    assert rest.startswith("tests/test_export.py:2 test_csv_bytes")
    assert "weak" not in text


def test_a_concise_answer_to_a_message_shows_the_complete_statement(client: ToolClient) -> None:
    first = client.call("search_code", query="CSV contains more than 104857600 bytes", concise=True).text.split("\n")[0]
    assert first.startswith("src/export.py:5 write")
    assert first.endswith('raise TooLong(f"CSV contains more than {most} bytes")')


def test_a_question_with_the_words_of_a_message_is_a_question(client: ToolClient) -> None:
    text = client.call("search_code", query="where is it that a CSV contains more than so many bytes").text
    assert "src/other.py" in text


@pytest.mark.parametrize(
    ("query", "line", "parts"),
    [
        (
            "page 8: out of bounds: 6 (stack: [3])",
            'err("page %d: out of bounds: %d (stack: %v)")',
            ("page ", ": out of bounds: ", " (stack: "),
        ),
        (
            "cannot open a.txt: no such file",
            "fail(`cannot open ${name}: no such file`)",
            ("cannot open ", ": no such file"),
        ),
        ("cannot open a.txt: no such file", "# no such file", ()),
        ("cannot open a.txt: no such file", "it doesn't matter when there is no such file", ()),
        ("cannot open a.txt: no such file", "    // like 'no such file'", ()),
        ("cannot open a.txt: no such file", '    """There is no such file.', ()),
        ("cannot open a.txt: no such file", "raise Gone(f'cannot open, no such file: {name}')", ("no such file",)),
        ("crash when queue is full", 'errors.New("queue is full")', ("queue is full",)),
        ("crash on start when queue is full", 'errors.New("queue is full")', ()),
        ("fix queue is full", 'errors.New("queue is full")', ()),
        ("no such", '"no such"', ()),
        ("error handlers", 'link("error handlers")', ()),
        ("is of no use", '"is of no use"', ("is of no use",)),
        ("how is of no use", '"is of no use"', ()),
        ("is it of no use?", '"is it of no use"', ()),
        ("one two three four five six seven eight nine ten", '"one two three"', ()),
    ],
)
def test_a_message_matches_string_literals_in_order_or_a_run_of_words(
    query: str, line: str, parts: tuple[str, ...]
) -> None:
    found = [match_message(message, ["other\n" + line]).parts for message in find_messages(query)]
    assert next(filter(None, found), ()) == parts


SEEN_MESSAGE = "The pantry 'cellar' has 3 jars of jam left."


@pytest.mark.parametrize(
    "line",
    [
        """raise Empty("The pantry '%s' has %d jars of %s left." % (name, count, kind))""",
        """raise Empty("The pantry '%(name)s' has %(count)03d jars of %(kind)s left." % values)""",
        """raise Empty(f"The pantry '{self.name!r:>4}' has {count} jars of {kind} left.")""",
        """panic!("The pantry '{}' has {:?} jars of {kind} left.", name, count);""",
        """throw new Error(`The pantry '${pantry.name}' has ${count + 1} jars of ${kind} left.`);""",
        """throw new \\Empty("The pantry '{$this->name}' has $count jars of $kind left.");""",
        """throw new \\Empty('The pantry \\'' . $name . '\\' has ' . $count . ' jars of ' . $kind . ' left.');""",
        """raise Empty, "The pantry '#{name}' has #{count} jars of #{kind} left." """,
        """throw new Empty("The pantry '" + name + "' has " + count + " jars of " + kind + " left.");""",
        """throw new Empty($"The pantry '{name}' has {count:N0} jars of {kind} left.");""",
        """fatalError("The pantry '\\(name)' has \\(count) jars of \\(kind) left.")""",
        """erlang:error(io_lib:format("The pantry '~s' has ~p jars of ~s left.", [Name, Count, Kind]))""",
        """    name="The pantry '{{name}}' has {{count}} jars of {{kind}} left.",""",
        """throw new Empty("The pantry '" + name + "' has "\n        + count + " jars of "\n        + kind + " left.");""",
        """raise Empty(\n    f"The pantry '{name}' has "\n    f"{count} jars of {kind} left."\n)""",
        """die("The pantry \\'" PRIs "\\' has %" PRIu64 " jars of %s left.", name, count, kind);""",
    ],
)
@pytest.mark.parametrize(
    "before", ["", "app.errors.Empty: ", "RuntimeError: ", "Fatal error: Uncaught \\App\\EmptyError: "]
)
def test_a_message_matches_by_its_fixed_parts_in_every_language(line: str, before: str) -> None:
    others = """raise Full("The pantry '%s' has no room left.")\nraise Gone("There are no jars of %s left.")"""
    found = [match_message(message, [others, line]) for message in find_messages(before + SEEN_MESSAGE)]
    best = next(stated for stated in found if stated.parts)
    assert best.is_complete
    assert " jars of " in best.parts
    assert best.parts[0].startswith("The pantry")
    assert best.parts[-1].endswith("left.")


def test_the_fixed_text_of_a_message_has_no_inserted_values() -> None:
    message = certain_message("The pantry 'cellar of mine' has no more than 3 jars in /srv/pantry left over")
    assert fixed_text(message) == "The pantry has no more than jars in left over"
    assert fixed_text(certain_message("I can't stow 'jam' as it isn't closed")) == "I can't stow as it isn't closed"


@pytest.mark.parametrize(
    ("query", "recognised"),
    [
        ("thread 'main' panicked at 'the pantry is quite full', src/main.rs:5:10", ["the pantry is quite full"]),
        ("thread 'main' panicked at 'it isn't really so', src/main.rs:5:10", ["it isn't really so"]),
        ("RuntimeError: The pantry is full.", ["The pantry is full."]),
        ("app.errors.PantryError: shelf 3: no room left", ["shelf 3: no room left"]),
        ("Fatal error: Uncaught Shop\\PantryException: shelf 3 is full", ["shelf 3 is full"]),
        ("panic: runtime error: no room left here", ["runtime error: no room left here"]),
        ('why do I get "no room left here" when I stow', ["no room left here"]),
        ("the user's pantry and the dog's bowl are full", []),
        ("error: full", []),
        ("time: the pantry is full", []),
    ],
)
def test_a_message_is_recognised_by_quotes_or_an_error_kind(query: str, recognised: list[str]) -> None:
    assert [
        message.text for message in find_messages(query) if message.is_certain and message.text != query
    ] == recognised


PANTRY = {
    "src/errors.py": 'FULL = """\\\nThe pantry has no room left.\n\nEat something first.\n"""\n',
    "src/stow.py": "def stow(pantry, jar):\n    # no room is left in a pantry that has no room\n    check(pantry)\n",
    "src/main.py": "def main():\n    stow(pantry(), jar())\n",
    "tests/test_stow.py": 'def test_room():\n    assert "The pantry has no room left." in seen()\n',
    **{f"src/room_{n}.py": f"def room_{n}(pantry):\n    return pantry.room.left.has.no\n" for n in range(12)},
}


TRACE = """\
Traceback (most recent call last):
  File "/app/src/main.py", line 2, in main
    stow(pantry(), jar())
RuntimeError: The pantry has no room left."""


@pytest.mark.parametrize(
    "query",
    [
        "RuntimeError: The pantry has no room left.",
        "thread 'main' panicked at 'The pantry has no room left.', src/main.rs:5:10",
        "worker crashed with 'The pantry has no room left.' in src/main.py:2",
        TRACE,
    ],
)
def test_a_literal_message_comes_first_in_any_context(tmp_path: Path, workers: ProcessPool, query: str) -> None:
    write_files(tmp_path / "pantry", PANTRY)
    client = ToolClient(App(Config(tmp_path / "home"), workers=workers).tools(), tmp_path / "pantry")
    text = client.call("search_code", query=query, concise=True).text
    hits = [line for line in text.split("\n") if not line.startswith("Showing")]
    assert hits[0].startswith("src/errors.py:2 ")
    if "main.py" in query:
        assert hits[1].startswith("src/main.py:2 main")


FILLED = {
    "src/runner.py": (
        "class Runner:\n    def run(self, catalog):\n"
        + "".join(f"        step_{number} = catalog.pipeline.input({number})\n" for number in range(30))
        + '        raise ValueError(\n            f"Pipeline input(s) {unsatisfied} not found in the {type(catalog)}"\n        )\n'
    ),
    "src/stack.php": '<?php\nclass Stack {\n  function find($name) {\n    throw new Gone("Middleware not found: $name");\n  }\n}\n',
    "src/middleware.php": "<?php\n/** Finds middleware by name. */\nclass Middleware {\n  function found($foo) {}\n}\n",
    "src/router.ts": (
        "export function call(type: string, path: string) {\n"
        '  throw new Failure({ code: "NOT_FOUND", message: `No "${type}"-procedure on path "${path}"` });\n}\n'
    ),
    "src/procedure.ts": "// a mutation is a procedure on a path, foo is no path\nexport const mutation = procedure(path);\n",
    "src/catalog.py": 'class Catalog:\n    """Pipeline inputs are found in the catalog."""\n\n    def pipeline_input(self):\n        return 1\n',
    **{
        f"src/step_{n}.py": f"def step_{n}(pipeline, catalog):\n    return pipeline.input(catalog.found)\n"
        for n in range(12)
    },
    "tests/test_runner.py": 'def test_it():\n    assert "Pipeline input(s) {cars} not found in the Catalog" in seen()\n',
}


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("Middleware not found: foo", "src/stack.php:4"),
        ("Middleware not found", "src/stack.php:4"),
        ('"Middleware not found: foo"', "src/stack.php:4"),
        ("Fatal error: Uncaught App\\GoneException: Middleware not found: foo", "src/stack.php:4"),
        ('No "mutation"-procedure on path "foo"', "src/router.ts:2"),
        ('TRPCError: No "mutation"-procedure on path "foo"', "src/router.ts:2"),
        ("Pipeline input(s) {'cars'} not found in the Catalog", "src/runner.py:34"),
        ("kedro.errors.ValueError: Pipeline input(s) {'cars'} not found in the Catalog", "src/runner.py:34"),
    ],
)
def test_a_message_with_values_is_found_where_it_is_raised(
    tmp_path: Path, workers: ProcessPool, query: str, place: str
) -> None:
    write_files(tmp_path / "filled", FILLED)
    client = ToolClient(App(Config(tmp_path / "home"), workers=workers).tools(), tmp_path / "filled")
    lines = client.call("search_code", query=query, concise=True).text.split("\n")
    hits = [line for line in lines if not line.startswith(("Showing", "No exact match"))]
    assert hits[0].startswith(f"{place} ")
    assert any(line.startswith("No exact match for literal") for line in lines) == query.startswith('"')


DATES = {
    "src/parse.py": 'def parse_date(text):\n    """Parse relative dates."""\n    return relative(text)\n',
    "src/menu.py": "HELP = \"Enter a day such as 'last Tuesday' or a number.\"\n",
    "src/relative.py": "def relative(text):\n    return text\n",
}


@pytest.mark.parametrize("query", ["what parses 'last Tuesday'", "relative dates such as 'last Tuesday'"])
def test_quoted_words_in_a_question_do_not_hide_other_results(tmp_path: Path, workers: ProcessPool, query: str) -> None:
    write_files(tmp_path / "dates", DATES)
    client = ToolClient(App(Config(tmp_path / "home"), workers=workers).tools(), tmp_path / "dates")
    found = [hit["file_path"] for hit in client.data("search_code", query=query)["results"]]
    assert {"src/parse.py", "src/menu.py"} <= set(found)


def test_a_quoted_message_in_a_question_comes_first(tmp_path: Path, workers: ProcessPool) -> None:
    write_files(tmp_path / "pantry", PANTRY)
    client = ToolClient(App(Config(tmp_path / "home"), workers=workers).tools(), tmp_path / "pantry")
    query = 'where is "The pantry has no room left." shown to the user'
    found = [hit["file_path"] for hit in client.data("search_code", query=query)["results"]]
    assert found[0] == "src/errors.py"
    assert any(path.startswith("src/room_") for path in found)
