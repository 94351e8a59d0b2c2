"""`search` filtered by kind, time or tag, which only observations and commits have."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from deltos.app import App
from deltos.cli.main import main
from deltos.config import Config
from deltos.errors import BadArgument, NotFound
from deltos.federation.filters import parse_filters
from deltos.model import LAST_MOMENT, Filters
from deltos.text.times import micros
from tests.calling import ToolClient
from tests.domains.history.repositories import commit, create_repository

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool


def utc_time(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(year, month, day, hour, minute, tzinfo=UTC)


NOW = utc_time(2026, 11, 16, 12)  # this date is a Monday


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = create_repository(tmp_path_factory.mktemp("filters") / "shop")
    commit(root, "Retry payments twice, see #77", {"pay.py": "def retry_payment():\n    return 2\n"})
    commit(root, "Retry payments three times", {"pay.py": "def retry_payment():\n    return 3\n"}, day=60)
    return root


@pytest.fixture(scope="module")
def client(root: Path, home: Path, workers: ProcessPool) -> Iterator[ToolClient]:
    with closing(App(Config(home), workers=workers)) as app:
        app.domains.projects.index_of(root).index()
        app.domains.projects.index_of(root).catch_up()
        client = ToolClient(app.tools(), root)
        client.call("remember", text="We retry a payment at most three times", kind="decision", tags=["billing"])
        client.call("remember", text="The payment gateway drops the first retry #gateway", kind="finding")
        yield client


def result_kinds(client: ToolClient, **filters: str) -> list[str]:
    found = client.data("search", query="retry payment", **filters)["results"]
    return sorted(result["id"].partition(":")[0] for result in found)


def result_titles(client: ToolClient, **filters: str) -> list[str]:
    return sorted(result["title"] for result in client.data("search", query="retry payment", **filters)["results"])


def test_searches_every_kind_without_filters(client: ToolClient) -> None:
    assert set(result_kinds(client)) == {"code", "commit", "obs"}


def test_kind_filter_selects_observations_or_commits(client: ToolClient) -> None:
    assert result_titles(client, kind="decision") == ["We retry a payment at most three times"]
    assert result_kinds(client, kind="finding,decision") == ["obs", "obs"]
    assert result_kinds(client, kind="commit") == ["commit", "commit"]
    assert result_kinds(client, kind="decision,commit") == ["commit", "commit", "obs"]


def test_kinds_without_filters_are_skipped_and_named(client: ToolClient) -> None:
    answer = client.call("search", query="retry payment", since="1 year ago")
    assert "Not searched, as kind, since, until and tag do not apply: code" in answer.text
    assert answer.structured is not None
    assert answer.structured == json.loads(answer.text)
    with pytest.raises(BadArgument, match="neither is in scope"):
        client.call("search", query="retry payment", scope=["docs"], kind="decision")


def test_since_and_until_filter_observations_and_commits(client: ToolClient) -> None:
    yesterday = (datetime.now(UTC) - timedelta(days=1)).date().isoformat()
    assert result_kinds(client, since=yesterday) == ["obs", "obs"]
    assert result_kinds(client, since="yesterday") == ["obs", "obs"]
    assert result_kinds(client, until=yesterday) == ["commit", "commit"]
    every = [str(each["created_at"]) for each in client.data("search", query="retry payment", kind="commit")["results"]]
    first, second = sorted(every)
    assert result_titles(client, until=first) == [
        title for title in result_titles(client, kind="commit") if "twice" in title
    ]
    assert result_titles(client, kind="commit", since=second) == [
        each for each in result_titles(client, kind="commit") if "three" in each
    ]


def test_tag_filter_matches_hashtags(client: ToolClient) -> None:
    assert result_titles(client, tag="billing") == ["We retry a payment at most three times"]
    assert result_kinds(client, tag="#gateway") == ["obs"]
    assert result_kinds(client, tag="77") == ["commit"]
    answer = client.call("search", query="retry payment", tag="nothing-has-it")
    assert answer.text.startswith("No observations found matching 'retry payment'.")
    assert "Not searched" in answer.text


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"kind": "banana"}, "Argument 'kind' cannot be 'banana'"),
        ({"since": "the day of reckoning"}, "`since` is not a time"),
        ({"until": "x" * 5_000}, "`until` is not a time"),
        ({"since": "2026-02-01", "until": "2026-01-01"}, "`since` is not before `until`"),
        ({"tag": "###"}, "`tag` is not a word"),
    ],
)
def test_refuses_invalid_filters(client: ToolClient, filters: dict[str, Any], words: str) -> None:
    with pytest.raises(BadArgument, match=words):
        client.call("search", query="retry payment", **filters)


@pytest.mark.parametrize(
    ("since", "until", "start", "end"),
    [
        ("2026-11-10", "2026-11-11", utc_time(2026, 11, 10), utc_time(2026, 11, 12)),
        ("2026-11-10T09:30", "", utc_time(2026, 11, 10, 9, 30), None),
        ("yesterday", "yesterday", utc_time(2026, 11, 15), utc_time(2026, 11, 16)),
        ("last week", "", utc_time(2026, 11, 9), None),
        ("last Tuesday", "", utc_time(2026, 11, 10), None),
    ],
)
def test_parses_dates_times_and_phrases(since: str, until: str, start: datetime, end: datetime | None) -> None:
    found = parse_filters(kind="", since=since, until=until, tag="", now=NOW)
    assert found == Filters((), micros(start), micros(end) if end else LAST_MOMENT)


def test_command_line_supports_filters(
    client: ToolClient, root: Path, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DELTOS_HOME", str(home))
    assert main(["search", "retry payment", "--kind", "decision", "--project", str(root), "--json"]) == 0
    assert [json.loads(line)["id"].partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["obs"]


def test_unknown_project_gives_suggestions(client: ToolClient) -> None:
    with pytest.raises(NotFound, match="Memory knows no project shpo") as refused:
        client.call("search", query="payment", scope="memory", project_id="shpo")
    assert refused.value.hint == "Did you mean shop?"
