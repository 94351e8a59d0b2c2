"""A repository's commit history in the shell."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.cli.test_commands import run_command
from tests.domains.history.repositories import commit, create_repository
from tests.repositories import git

if TYPE_CHECKING:
    from pathlib import Path

SHOP = "def price(order):\n    return order\n"
SHOP_WITH_HALVED_PRICE = "def price(order):\n    return order / 2\n"


@pytest.fixture
def shop(tmp_path: Path, home: Path) -> Path:
    root = create_repository(tmp_path / "shop")
    assert home
    commit(root, "Begin the shop", {"shop.py": SHOP, "rates.json": "0"})
    for number in range(3):
        commit(root, f"Rates of week {number}", {"shop.py": f"{SHOP}#{number}\n", "rates.json": str(number + 1)})
    commit(root, "Halve every price\n\nCustomers asked for it.\n", {"shop.py": f"{SHOP_WITH_HALVED_PRICE}#2\n"}, day=9)
    return root


def test_index_status_and_doctor_report_the_indexed_history(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = "5 commits since 2020-09-13"
    assert f"history: {known}" in run_command(capsys, "index", str(shop))[1]
    assert f"history: {known}" in run_command(capsys, "status")[1]
    assert json.loads(run_command(capsys, "status", "--json")[1])["history"] == known
    assert f"history: {known}" in run_command(capsys, "doctor")[1]


def test_every_command_reports_a_shallow_clone(shop: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{shop}", str(clone))
    assert "shallow clone" in run_command(capsys, "index", str(clone))[1]
    assert "shallow clone" in run_command(capsys, "status")[1]
    assert "shallow clone" in run_command(capsys, "doctor")[1]
    assert "shallow clone" in run_command(capsys, "search", "when were prices halved", "--project", str(clone))[1]


def test_a_folder_without_git_is_reported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "history: none" in run_command(capsys, "index", str(project))[1]
    assert "history" not in run_command(capsys, "status")[1]


def test_commits_are_searched_fetched_and_listed_with_code(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = git(shop, "rev-parse", "HEAD")[:10]
    place = ("--project", str(shop))
    found = run_command(capsys, "search", "why is the price halved", *place)[1]
    assert f"commit:{made}  2020-09-22 Ada: Halve every price (1 file)" in found.splitlines()[0]
    whole = run_command(capsys, "fetch", f"commit:{made}", *place)[1]
    assert "Customers asked for it." in whole
    assert "+    return order / 2" in whole
    assert (
        f"commit:{made} 2020-09-22 Ada: Halve every price"
        in run_command(capsys, "graph", "context", "price", *place)[1]
    )
    assert "rates.json changed together 4 of 5 times" in run_command(capsys, "graph", "impact", "price", *place)[1]


def test_force_indexes_the_history_again(shop: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_command(capsys, "index", str(shop))
    assert "history: 5 commits" in run_command(capsys, "index", str(shop), "--force")[1]
