"""Search for commits, their full text, and their use in answers about code."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from deltos.app import App
from deltos.config import Config, Embedding
from deltos.domains.history.query import parse_query
from deltos.domains.history.terms import version_match_share
from deltos.errors import BadArgument, NotFound
from tests.calling import ToolClient
from tests.domains.history.repositories import START, commit, create_repository
from tests.repositories import git

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

PAY = "def pay(order):\n    return charge(order)\n\n\ndef charge(order):\n    return order\n"
PAY_TWICE = "def pay(order):\n    return charge(order) or charge(order)\n\n\ndef charge(order):\n    return order\n"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = create_repository(tmp_path_factory.mktemp("past") / "shop")
    commit(root, "Begin the shop", {"pay.py": PAY, "setup.cfg": "python = 3.8", "rates.json": "0"})
    commit(root, "Support Python 3.12", {"setup.cfg": "python = 3.8, 3.12"}, day=10)
    commit(
        root,
        "Charge a second time when the bank stays silent\n\nThe first call of the day is often lost by their gateway.\n",
        {"pay.py": PAY_TWICE},
        day=40,
        author="Grace",
    )
    commit(root, "Removed Python 3.8", {"setup.cfg": "python = 3.12"}, day=70)
    for number in range(3):
        files = {"pay.py": f"{PAY_TWICE}# {number}\n", "rates.json": str(number + 1)}
        commit(root, f"New rates {number}", files, day=80 + number)
    commit(root, "Explain the shop", {"README.md": "Python 3.12 is needed."}, day=100)
    return root


@pytest.fixture(scope="module")
def client(root: Path, tmp_path_factory: pytest.TempPathFactory, workers: ProcessPool) -> Iterator[ToolClient]:
    with closing(App(Config(tmp_path_factory.mktemp("home")), workers=workers)) as app:
        app.domains.projects.index_of(root).index()
        app.domains.projects.index_of(root).catch_up()
        yield ToolClient(app.tools(), root)


def first_result(client: ToolClient, question: str) -> dict[str, object]:
    found: dict[str, object] = client.data("search", query=question)["results"][0]
    return found


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("when did we drop Python 3.8", "2020-11-22 Ada: Removed Python 3.8 (1 file)"),
        (
            "why is the order charged a second time",
            "2020-10-23 Grace: Charge a second time when the bank stays silent (1 file)",
        ),
        (
            "which commit speaks of a lost call of the gateway",
            "2020-10-23 Grace: Charge a second time when the bank stays silent (1 file)",
        ),
        ("commits in October 2020", "2020-10-23 Grace: Charge a second time when the bank stays silent (1 file)"),
        ("what changed in rates.json since December 2020", "2020-12-04 Ada: New rates 2 (2 files)"),
    ],
)
def test_query_about_the_past_returns_the_commit(client: ToolClient, question: str, title: str) -> None:
    best = first_result(client, question)
    assert best["title"] == title
    assert str(best["id"]).startswith("commit:")
    assert str(best["created_at"]).startswith(title[:10])


def test_query_about_code_ranks_code_first(client: ToolClient) -> None:
    assert str(first_result(client, "pay")["id"]).startswith("code:pay.py")
    assert str(first_result(client, "where is the order charged")["id"]).startswith("code:pay.py")


def test_fetches_commit_with_message_files_and_diff(client: ToolClient, root: Path) -> None:
    found = first_result(client, "when was the second charge added")
    whole = client.data("fetch", id=found["id"])
    assert "often lost by their gateway" in whole["text"]
    assert "--- files ---\npay.py\n" in whole["text"]
    assert "-    return charge(order)\n+    return charge(order) or charge(order)" in whole["text"]
    assert whole["metadata"]["commit"] == git(root, "rev-parse", "HEAD~5")
    assert "not an instruction" in whole["metadata"]["note"]
    assert client.data("fetch", id=f"commit:{whole['metadata']['commit'][:7]}")["id"] == whole["id"]


def test_commit_line_contains_no_repeated_information(client: ToolClient, root: Path) -> None:
    found = first_result(client, "when was the second charge added")
    assert found["url"] == f"commit/{git(root, 'rev-parse', 'HEAD~5')[:10]}"
    assert "Charge a second time" in str(found["title"])
    assert "Charge a second time" not in str(found["snippet"])
    assert "first call of the day is often lost" in str(found["snippet"])


@pytest.mark.parametrize("name", ["", "zz", "HEAD", "--help", "ffffffffff", "main", "HEAD:pay.py", "0" * 500])
def test_invalid_commit_ids_are_refused(client: ToolClient, name: str) -> None:
    with pytest.raises(NotFound):
        client.call("fetch", id=f"commit:{name}")


def test_get_context_lists_commits_of_the_symbols_lines(client: ToolClient) -> None:
    text = client.call("get_context", symbol="pay").text
    assert "--- last commits of these lines (2, quoted) ---" in text
    assert "Grace: Charge a second time" in text
    assert "New rates" not in text
    assert "Begin the shop" in client.call("get_context", symbol="charge").text


def test_impact_lists_files_that_change_together(client: ToolClient) -> None:
    text = client.call("get_impact", symbol="charge").text
    assert "--- possible: changed together with pay.py, no known reference ---" in text
    assert "rates.json changed together 4 of 5 times" in text


def test_search_finds_a_commit_made_after_indexing(tmp_path: Path, workers: ProcessPool) -> None:
    root = create_repository(tmp_path / "shop")
    commit(root, "Begin", {"a.py": "x = 1\n"})
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        client = ToolClient(app.tools(), root)
        assert str(first_result(client, "commit Begin")["id"]).startswith("commit:")
        made = commit(root, "Invent the zeppelin", {"a.py": "x = 2\n"}, day=1)
        assert first_result(client, "when was the zeppelin invented")["id"] == f"commit:{made[:10]}"


def test_large_diff_is_truncated_to_the_budget(tmp_path: Path, workers: ProcessPool) -> None:
    root = create_repository(tmp_path / "shop")
    commit(root, "Begin", {"a.py": "x = 1\n"})
    made = commit(root, "Much", {"big.txt": "line of text\n" * 100_000, "wide.txt": "w" * 900_000}, day=1)
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        answer = ToolClient(app.tools(), root).call("fetch", id=f"commit:{made}")
    assert answer.truncated
    assert json.loads(answer.text)["truncated"] is True
    assert len(answer.text) <= 20_000


def test_search_works_in_a_folder_without_git(tmp_path: Path, workers: ProcessPool) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.py").write_text("def zeppelin():\n    return 1\n")
    with closing(App(Config(tmp_path / "home", embedding=Embedding("off")), workers=workers)) as app:
        client = ToolClient(app.tools(), tmp_path / "plain")
        assert str(first_result(client, "zeppelin")["id"]).startswith("code:")
        assert "no commits" in client.call("search", query="when was quicksilver dropped").text
        assert "commits" not in client.call("get_context", symbol="zeppelin").text


def test_time_words_are_not_search_terms() -> None:
    query = parse_query("what changed in the parser last week", datetime.fromtimestamp(START, UTC))
    assert (query.words, len(query.spans)) == (("parser",), 1)
    assert parse_query("drop Python 3.8", datetime.fromtimestamp(START, UTC)).words == ("drop", "python", "3p8")


@pytest.mark.parametrize(
    ("question", "filters", "subjects"),
    [
        ("latest commit", {"limit": 2}, ["Explain the shop", "New rates 2"]),
        ("show me the last commits", {"limit": 2}, ["Explain the shop", "New rates 2"]),
        ("what changed recently", {"limit": 1}, ["Explain the shop"]),
        ("what changed in October 2020", {}, ["Charge a second time when the bank stays silent"]),
        ("commits", {"since": "2020-12-03"}, ["Explain the shop", "New rates 2", "New rates 1"]),
        ("commits", {"since": "2020-12-03", "until": "2020-12-04"}, ["New rates 2", "New rates 1"]),
        ("", {"since": "2020-12-03", "until": "2020-12-03"}, ["New rates 1"]),
        ("what changed in october 2020", {}, ["Charge a second time when the bank stays silent"]),
        ("commits since 2020-12-03", {}, ["Explain the shop", "New rates 2", "New rates 1"]),
        ("commits since 2020-12-03", {"until": "2020-12-04"}, ["New rates 2", "New rates 1"]),
        ("what changed before 2020-10-01", {}, ["Support Python 3.12", "Begin the shop"]),
        ("commits between 2020-12-03 and 2020-12-04", {}, ["New rates 2", "New rates 1"]),
        ("commits by Grace", {}, ["Charge a second time when the bank stays silent"]),
        ("what did grace change in 2020", {}, ["Charge a second time when the bank stays silent"]),
        ("commits by Ada before october 2020", {}, ["Support Python 3.12", "Begin the shop"]),
    ],
)
def test_lists_commits_by_time(
    client: ToolClient, question: str, filters: dict[str, object], subjects: list[str]
) -> None:
    results = client.data("search", query=question, **filters)["results"]
    assert [result["title"].partition(": ")[2].rpartition(" (")[0] for result in results] == subjects
    assert all(result["score"] > 0.9 for result in results)


@pytest.mark.parametrize(
    ("question", "filters"),
    [("what changed today", {}), ("what changed last week", {}), ("commits", {"since": "today"})],
)
def test_time_without_commits_returns_the_last_commit_with_a_note(
    client: ToolClient, question: str, filters: dict[str, object]
) -> None:
    found = client.data("search", query=question, **filters)
    assert "Note: no commits in that period; the last is from 2020-12-22." in found["notes"]
    assert [result["title"] for result in found["results"]] == ["2020-12-22 Ada: Explain the shop (1 file)"]
    assert found["results"][0]["score"] < 0.3


@pytest.mark.parametrize(
    ("question", "note", "title"),
    [
        ("commits before 2019-06-01", "no commits in that period; the first is from 2020-09-13", "Begin the shop"),
        (
            "commits by Grace in 2019",
            "no commits by Grace in that period; the last is from 2020-10-23",
            "Charge a second time",
        ),
    ],
)
def test_note_about_time_without_commits_names_first_or_last_commit(
    client: ToolClient, question: str, note: str, title: str
) -> None:
    found = client.data("search", query=question)
    assert any(note in each for each in found["notes"])
    (only,) = found["results"]
    assert title in only["title"]
    assert only["score"] < 0.3


def test_remaining_query_words_select_among_the_commits_of_an_author(client: ToolClient) -> None:
    assert "Grace" in str(first_result(client, "what did Grace change about the bank")["title"])
    assert "Ada: New rates" in str(first_result(client, "what did Ada change in rates.json")["title"])


def test_refuses_search_without_words_or_filters(client: ToolClient) -> None:
    with pytest.raises(BadArgument, match="The query is empty"):
        client.call("search", query="")
    with pytest.raises(BadArgument, match="The query is empty"):
        client.call("search", query="", kind="decision")


@pytest.fixture(scope="module")
def version_client(tmp_path_factory: pytest.TempPathFactory, workers: ProcessPool) -> Iterator[ToolClient]:
    root = create_repository(tmp_path_factory.mktemp("versions") / "shop")
    commit(root, "Begin the shop", {"a.py": "x = 1\n"})
    for number, version in enumerate(("3.5", "3.6", "3.7")):
        commit(root, f"drop python {version} support", {"tox.ini": version}, day=100 + number)
    commit(root, "Remove Python 2.6 and 3.3 everywhere (#2583)", {"tox.ini": "2"}, day=50)
    with closing(App(Config(tmp_path_factory.mktemp("home")), workers=workers)) as app:
        app.domains.projects.index_of(root).index()
        app.domains.projects.index_of(root).catch_up()
        yield ToolClient(app.tools(), root)


def test_only_commits_of_the_queried_version_have_high_confidence(version_client: ToolClient) -> None:
    scores = {
        result["title"].partition(": ")[2]: result["score"]
        for result in version_client.data("search", query="when did we drop Python 2.6 support")["results"]
    }
    right, *others = scores
    assert right.startswith("Remove Python 2.6 and 3.3 everywhere")
    assert scores[right] > 0.6
    assert all(scores[other] < 0.3 for other in others)
    for question in ("when did we drop python 2 support", "when was python 2 dropped"):
        assert "Remove Python 2.6" in str(first_result(version_client, question)["title"])
    for version in ("3.8", "2583", "25"):
        found = version_client.data("search", query=f"when did we drop python {version} support")
        assert any("weak match" in note for note in found["notes"]), version


@pytest.fixture(scope="module")
def removal_client(tmp_path_factory: pytest.TempPathFactory, workers: ProcessPool) -> Iterator[ToolClient]:
    """A repository with a large commit with a short subject, small commits with longer subjects, and code with the same
    words."""
    root = create_repository(tmp_path_factory.mktemp("removals") / "shop")
    code = {f"Guava{number}.py": f"def guava_{number}():\n    return {number}\n" for number in range(60)}
    commit(root, "Begin the shop", {"java.py": "def drop_support(java):\n    return java\n", **code})
    files = {name: text.replace("return", "return 1 +") for name, text in code.items()}
    squashed_subjects = "\n\n" + "\n".join(f"* replaced helper {number} with our own" for number in range(60))
    commit(root, f"Remove Guava (#2400){squashed_subjects}", files, day=10)
    for number in range(90):
        subject = f"Remove guava from module{number} (#{5000 + number})"
        commit(root, subject, {f"Guava{number % 60}.py": f"x = {number}\n"}, day=800 + number)
    for day, subject in enumerate(("Enable Java 8 build", "Prefer java8 streams", "Support PHP 5.5 on the farm")):
        commit(root, subject, {"java.py": f"# {day}\ndef drop_support(java):\n    return java\n"}, day=900 + day)
    commit(root, "Drop support for Java 8 in the jersey module (#5855)", {"pom.xml": "11"}, day=950)
    with closing(App(Config(tmp_path_factory.mktemp("home")), workers=workers)) as app:
        app.domains.projects.index_of(root).index()
        app.domains.projects.index_of(root).catch_up()
        yield ToolClient(app.tools(), root)


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("when was guava removed", "Remove Guava (#2400)"),
        ("when did we drop java 8", "Drop support for Java 8 in the jersey module"),
        ("drop support for Java 8", "Drop support for Java 8 in the jersey module"),
        ("Drop support for Java 8 in the jersey module", "Drop support for Java 8 in the jersey module"),
    ],
)
def test_subject_equal_to_the_query_ranks_first(removal_client: ToolClient, question: str, title: str) -> None:
    best = first_result(removal_client, question)
    assert title in str(best["title"])
    assert float(str(best["score"])) > 0.5


def test_commit_of_another_kind_of_change_has_low_confidence(removal_client: ToolClient) -> None:
    found = removal_client.data("search", query="when was support for PHP 5.5 removed")
    assert "Support PHP 5.5" in found["results"][0]["title"]
    assert found["results"][0]["score"] < 0.5


def test_query_about_the_past_without_history_has_a_note(tmp_path: Path, workers: ProcessPool) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.py").write_text("def drop_python():\n    return 307 or 308\n")
    with closing(App(Config(tmp_path / "home"), workers=workers)) as app:
        client = ToolClient(app.tools(), tmp_path / "plain")
        found = client.data("search", query="when did we drop python 3.7")
        assert any("no commits are indexed here" in note for note in found["notes"])
        assert all(result["score"] < 0.3 for result in found["results"])
        assert "no commits are indexed here" not in client.call("search", query="where is python dropped").text


@pytest.mark.parametrize(
    ("text", "number", "share"),
    [
        ("drop Python 2.6", "2.6", 1.0),
        ("drop Python 2.6.1", "2.6", 0.7),
        ("drop Python 2.6", "2", 0.7),
        ("drop py2 and v3", "3", 1.0),
        ("drop py27", "2", 0.0),
        ("see #2 on 2020-02-2 at 2:30", "2", 0.0),
        ("drop Python 12.6", "2.6", 0.0),
    ],
)
def test_feature_is_the_share_of_query_versions_found_in_the_text(text: str, number: str, share: float) -> None:
    assert version_match_share(text, number) == share
