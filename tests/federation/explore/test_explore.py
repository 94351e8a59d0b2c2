"""Answers of `explore`: relevant code, its callers and callees, and query words that do not occur."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from deltos.app import App
from deltos.budget import CHARACTERS_PER_TOKEN
from deltos.config import Config
from deltos.errors import BadRequest
from tests.calling import ToolClient
from tests.repositories import write_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

LONG_BODY = "\n\n".join(f"    step_{n} = load_section({n})\n    check_section(step_{n})" for n in range(60))
FILES = {
    "shop/transport.py": '''\
"""Transports deliver parcels."""

MAX_PARCEL_GRAMS = 31_500
ALLOWED_COUNTRIES = (
    "CH",
    "LI",
)


class Transport:
    """Base of all transports."""

    def __init__(self, name: str) -> None:
        self.name = name

    def deliver_parcel(self, grams: int, country: str) -> bool:
        """Deliver a parcel to a country."""
        raise NotImplementedError


class Courier(Transport):
    """Delivers by bicycle."""

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def deliver_parcel(self, grams: int, country: str) -> bool:
        if grams > MAX_PARCEL_GRAMS:
            return False
        return country in ALLOWED_COUNTRIES


def deliver(courier: Courier, grams: int, country: str) -> bool:
    """Deliver a parcel."""
    return courier.deliver_parcel(grams, country)


def send_order(grams: int) -> bool:
    return deliver(Courier("velo"), grams, "CH")
''',
    "shop/report.py": f'''\
"""Yearly reports."""


def check_section(section: object) -> None:
    """Check one section."""


def load_section(number: int) -> object:
    return number


def write_yearly_report(path: str) -> None:
    """Write the yearly report with all sections."""
{LONG_BODY}

    if not path.endswith(".pdf"):
        raise ValueError("the yearly report must be a portable document")
''',
    "tests/test_transport.py": """\
from shop.transport import Courier, deliver


def test_a_courier_delivers_a_parcel():
    assert deliver(Courier("velo"), 10, "CH")
""",
    "settings.yaml": "deliver:\n  parcel: true\n",
}


@pytest.fixture
def client(tmp_path: Path, workers: ProcessPool) -> Iterator[ToolClient]:
    write_files(tmp_path / "shop", FILES)
    with closing(App(Config(tmp_path / "home"), workers=workers, ends_with_its_answer=True)) as app:
        yield ToolClient(app.tools(), tmp_path / "shop", repeat=False)


def explore_text(client: ToolClient, question: str, **arguments: Any) -> str:
    return client.call("explore", question=question, **arguments).text


def test_shown_lines_equal_the_numbered_lines_of_the_file(client: ToolClient) -> None:
    text = explore_text(client, "how does a courier deliver a parcel to a country")
    source = FILES["shop/transport.py"].split("\n")
    numbered = [line.split("\t", 1) for line in text.split("\n") if line.split("\t")[0].isdigit()]
    assert numbered
    assert all(source[int(number) - 1] == line for number, line in numbered)
    assert "the current text on disk" in text.split("\n")[0]


def test_a_stub_is_followed_by_its_implementation(client: ToolClient) -> None:
    text = explore_text(client, "Transport.deliver_parcel")
    assert "return country in ALLOWED_COUNTRIES" in text


def test_a_wrapper_is_followed_by_the_wrapped_function(client: ToolClient) -> None:
    text = explore_text(client, "deliver function that wraps the courier")
    assert "if grams > MAX_PARCEL_GRAMS:" in text


def test_callers_are_shown_as_source_lines_and_tests_only_by_name(client: ToolClient) -> None:
    text = explore_text(client, "how does a courier deliver a parcel to a country")
    assert 'shop/transport.py:39  return deliver(Courier("velo"), grams, "CH")' in text
    assert "tests/test_transport.py:5 test_a_courier_delivers_a_parcel" in text
    assert "assert deliver" not in text


def test_tests_are_shown_if_the_question_is_about_them(client: ToolClient) -> None:
    assert "assert deliver" in explore_text(client, "which test covers the courier that delivers a parcel")


def test_constants_and_tables_are_shown(client: ToolClient) -> None:
    text = explore_text(client, "which countries are allowed and what is the maximum weight in grams of a parcel")
    assert "MAX_PARCEL_GRAMS = 31_500" in text
    assert '\t    "LI",' in text


def test_a_long_function_is_shortened_to_whole_statements_about_the_question(client: ToolClient) -> None:
    text = explore_text(client, "why must the yearly report be a portable document", budget=500)
    assert "def write_yearly_report(path: str) -> None:" in text
    assert '\t    if not path.endswith(".pdf"):\n' in text
    assert 'raise ValueError("the yearly report must be a portable document")' in text
    assert "left out" in text


@pytest.mark.parametrize("budget", [500, 700, 2500])
def test_an_answer_fits_its_budget(client: ToolClient, budget: int) -> None:
    text = explore_text(client, "how is the yearly report written and a parcel delivered", budget=budget)
    assert len(text) <= budget * CHARACTERS_PER_TOKEN


def test_query_words_that_do_not_occur_are_listed(client: ToolClient) -> None:
    text = explore_text(client, "does the courier that delivers a parcel register an atexit handler")
    assert "Not in any of 4 files: " in text
    assert "atexit" in text.rpartition("Not in any of")[2]


def test_the_first_line_says_that_the_project_may_not_answer_the_question(client: ToolClient) -> None:
    first_line = explore_text(client, "how does a courier sign in with OAuth").partition("\n")[0]
    assert "Not in any of 4 files: sign, oauth. This project may not do what the question asks." in first_line
    assert "may not" not in explore_text(client, "how is a parcel delivered").partition("\n")[0]


def test_the_first_line_names_decisive_words_that_the_shown_code_does_not_contain(client: ToolClient) -> None:
    write_files(client.root, {"docs/notes.md": "# Notes\n\nThe warehouse was closed.\n"})
    first_line = explore_text(client, "where does a parcel reach the warehouse").partition("\n")[0]
    assert "The code below does not contain: warehouse." in first_line


def test_code_that_was_already_shown_is_only_named_until_it_changes(client: ToolClient) -> None:
    first = explore_text(client, "how does a courier deliver a parcel to a country")
    assert "if grams > MAX_PARCEL_GRAMS:" in first
    reworded = explore_text(client, "delivery of a parcel to a country by a courier")
    assert "\t        if grams > MAX_PARCEL_GRAMS:" not in reworded
    assert "Courier (shown before in this session, unchanged)" in reworded
    path = client.root / "shop" / "transport.py"
    path.write_text(path.read_text().replace("if grams > MAX_PARCEL_GRAMS:", "if grams >= MAX_PARCEL_GRAMS:"))
    changed = explore_text(client, "a courier who delivers a parcel to some country")
    assert "if grams >= MAX_PARCEL_GRAMS:" in changed


def test_a_shortened_function_that_was_already_shown_is_only_named(client: ToolClient) -> None:
    explore_text(client, "why must the yearly report be a portable document", budget=500)
    reworded = explore_text(client, "the yearly report must be a portable document", budget=500)
    assert "write_yearly_report (shown before in this session, unchanged)" in reworded
    assert "raise ValueError" not in reworded


def test_a_repeated_question_shows_the_code_again(client: ToolClient) -> None:
    question = "how does a courier deliver a parcel to a country"
    assert explore_text(client, question) == explore_text(client, question)


def test_a_common_name_in_the_question_does_not_fill_the_answer(client: ToolClient) -> None:
    write_files(
        client.root,
        {f"shop/part_{n}.py": f"class Part{n}:\n    def __init__(self):\n        self.n = {n}\n" for n in range(8)},
    )
    text = explore_text(client, "does __init__ of the courier deliver a parcel")
    assert "class Courier(Transport)" in text
    assert "self.n = " not in text


def test_only_files_below_the_path_are_explored(client: ToolClient) -> None:
    write_files(client.root, {"other/transport.py": "def deliver_parcel(grams):\n    return grams < 5\n"})
    text = explore_text(client, "how is a parcel delivered", path="other")
    assert "other/transport.py:1-2 deliver_parcel" in text
    assert "shop/transport.py" not in text


def test_an_answer_about_several_projects_names_the_project_of_each_location(
    client: ToolClient, tmp_path: Path
) -> None:
    write_files(tmp_path / "depot", {"depot.py": "def store_parcel(grams):\n    return grams > 0\n"})
    text = explore_text(
        client, "where is a parcel stored and delivered", project_id=f"{tmp_path / 'shop'},{tmp_path / 'depot'}"
    )
    assert "[depot] depot.py:1-2 store_parcel" in text
    assert "[shop] shop/transport.py:" in text


def test_an_empty_question_is_an_error(client: ToolClient) -> None:
    with pytest.raises(BadRequest):
        explore_text(client, " ")


def test_an_empty_result_states_the_number_of_searched_files(client: ToolClient) -> None:
    assert "Searched 4 files" in explore_text(
        client, '"no such literal anywhere"'
    ) or "closest by words" in explore_text(client, "xyzzy")
