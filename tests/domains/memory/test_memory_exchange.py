"""Two machines exchange memories through files in any order and reach the same state."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from deltos.domains.memory.core.memory import Memory
from deltos.domains.memory.core.model import Draft, ObservationOrigin
from deltos.domains.memory.core.transfer import export, export_changes, import_lines
from deltos.store.sqlite.memory.reader import SqliteObservations
from tests.domains.memory.conftest import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Machine:
    """A memory with its own clock."""

    def __init__(self, home: Path) -> None:
        self.clock = Clock()
        self.memory = Memory(SqliteObservations(home / "memory.db"), clock=self.clock)
        self.exported_up_to = 0

    def remember(self, text: str, kind: str = "finding") -> str:
        self.clock.pass_time(seconds=1)
        return self.memory.remember(Draft(text, kind), ObservationOrigin("p", None, "s1")).id

    def state(self) -> list[str]:
        """Return all exported lines except projects, sorted; project roots differ between machines."""
        return sorted(line for line in export(self.memory) if '"type":"project"' not in line)

    def send_changes(self, other: Machine) -> tuple[int, int]:
        """Export the changes since the last call to another machine; return how many it added and updated."""
        upto = self.memory.store.last_change_number()
        lines = list(export_changes(self.memory, after=self.exported_up_to))
        self.exported_up_to = upto
        done = import_lines(other.memory, lines, project_id="unused")
        assert done.failed == 0, done.problems
        return done.added, done.updated


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Callable[[str], Machine]]:
    made: list[Machine] = []

    def make_machine(name: str) -> Machine:
        made.append(Machine(tmp_path / name))
        return made[-1]

    yield make_machine
    for machine in made:
        machine.memory.store.close()


def test_edits_on_two_machines_converge(machines: Callable[[str], Machine]) -> None:
    laptop, client = machines("laptop"), machines("desk")
    rule = laptop.remember("We use tabs in the Makefile", "decision")
    old = laptop.remember("The limit is 50 requests a second", "decision")
    wrong = laptop.remember("The cache lives in Redis")
    laptop.send_changes(client)
    client.clock.pass_time(minutes=5)
    new = client.remember("The limit is 20, not 50", "decision")
    client.memory.supersede(old, new)
    client.memory.forget([wrong])
    laptop.clock.pass_time(minutes=6)
    laptop.memory.pin([rule])
    laptop.remember("Deploys go through the staging cluster")
    client.send_changes(laptop)
    laptop.send_changes(client)
    assert laptop.state() == client.state()
    assert [row.id for row in laptop.memory.store.all() if row.superseded_by] == [old]
    assert {row.id for row in client.memory.store.all() if row.deleted_at} == {wrong}
    assert {row.id for row in client.memory.store.all() if row.pinned_at} == {rule}
    assert (client.send_changes(laptop), laptop.send_changes(client)) == ((0, 0), (0, 0))
    assert laptop.state() == client.state()


def test_a_later_restore_wins_over_an_earlier_forget(machines: Callable[[str], Machine]) -> None:
    laptop, client = machines("laptop"), machines("desk")
    note = laptop.remember("The build needs Node 22")
    laptop.send_changes(client)
    laptop.memory.forget([note])
    laptop.send_changes(client)
    client.clock.pass_time(hours=1)
    client.memory.forget([note], restore=True)
    before_it_was_restored = list(export(laptop.memory))
    client.send_changes(laptop)
    import_lines(client.memory, before_it_was_restored, project_id="unused")
    assert [row.deleted_at for machine in (laptop, client) for row in machine.memory.store.all()] == [None, None]
    assert laptop.state() == client.state()


def test_unpinning_and_restoring_are_exchanged(machines: Callable[[str], Machine]) -> None:
    laptop, client = machines("laptop"), machines("desk")
    one, two = laptop.remember("Ports begin at 8000"), laptop.remember("Queues are named after their consumers")
    laptop.memory.pin([one])
    laptop.memory.supersede(one, two)
    laptop.send_changes(client)
    client.clock.pass_time(hours=1)
    client.memory.forget([one], restore=True)
    client.memory.pin([two], unpin=True)
    client.send_changes(laptop)
    rows = {str(row.id): row for row in laptop.memory.store.all()}
    assert (rows[one].superseded_by, rows[two].pinned_at) == (None, None)
    assert laptop.state() == client.state()


def test_purged_observations_are_not_imported_again_from_another_machine(machines: Callable[[str], Machine]) -> None:
    laptop, client = machines("laptop"), machines("desk")
    note = laptop.remember("A customer's name that should not be here")
    laptop.send_changes(client)
    laptop.memory.forget([note])
    laptop.clock.pass_time(seconds=1)
    laptop.memory.purge()
    done = import_lines(laptop.memory, export(client.memory), project_id="unused")
    assert (done.added, done.purged, list(laptop.memory.store.all())) == (0, 1, [])


def test_a_third_machine_receives_everything_through_the_second(machines: Callable[[str], Machine]) -> None:
    laptop, client, server = machines("laptop"), machines("desk"), machines("server")
    client.remember("Known long before")
    client.send_changes(server)
    laptop.remember("Said on the laptop")
    laptop.send_changes(client)
    assert client.send_changes(server) == (1, 0)
    assert server.state() == client.state()


@pytest.mark.parametrize("seed", range(12))
def test_random_changes_on_three_machines_converge(machines: Callable[[str], Machine], seed: int) -> None:
    chance = random.Random(seed)
    three = [machines(name) for name in ("a", "b", "c")]
    marks: list[Callable[[Memory, str, str], object]] = [
        lambda memory, one, _: memory.forget([one]),
        lambda memory, one, _: memory.forget([one], restore=True),
        lambda memory, one, _: memory.pin([one]),
        lambda memory, one, _: memory.pin([one], unpin=True),
        lambda memory, one, two: one != two and _can_supersede(memory, one, two) and memory.supersede(one, two),
    ]
    for number in range(60):
        machine = chance.choice(three)
        machine.clock.pass_time(seconds=chance.randint(1, 90))
        ids = [row.id for row in machine.memory.store.all()]
        if not ids or chance.random() < 0.3:
            machine.remember(f"fact {number} about thing {chance.randint(0, 999)}")
        elif chance.random() < 0.2:
            lines = list(export(machine.memory))
            import_lines(chance.choice(three).memory, lines, project_id="unused")
        else:
            chance.choice(marks)(machine.memory, chance.choice(ids), chance.choice(ids))
    for _ in range(2):
        for one in three:
            for other in three:
                if one is not other:
                    import_lines(other.memory, list(export(one.memory)), project_id="unused")
    assert three[0].state() == three[1].state() == three[2].state()


def _can_supersede(memory: Memory, older: str, newer: str) -> bool:
    lookup = memory.look_up([older, newer])
    return len(lookup.found) == 2 and lookup.found[1].superseded_by != older


def test_each_machine_keeps_its_own_project_root(machines: Callable[[str], Machine], tmp_path: Path) -> None:
    laptop, client = machines("laptop"), machines("desk")
    for machine, folder in ((laptop, "src"), (client, "work")):
        (tmp_path / folder).mkdir()
        machine.memory.remember(Draft(f"Kept in {folder}"), ObservationOrigin("host/app", tmp_path / folder))
    laptop.send_changes(client)
    client.send_changes(laptop)
    assert [row.root for machine in (laptop, client) for row in machine.memory.store.projects()] == [
        str(tmp_path / "src"),
        str(tmp_path / "work"),
    ]


def test_different_repositories_with_the_same_path_stay_separate(
    machines: Callable[[str], Machine], tmp_path: Path
) -> None:
    laptop, client = machines("laptop"), machines("desk")
    laptop.memory.remember(Draft("Of the one"), ObservationOrigin("path:1", tmp_path))
    client.memory.remember(Draft("Of the other"), ObservationOrigin("host/other", tmp_path))
    laptop.send_changes(client)
    assert {row.project_id for row in client.memory.store.projects()} == {"path:1", "host/other"}


def test_lines_without_an_id_are_imported_once(machines: Callable[[str], Machine]) -> None:
    memory = machines("one").memory
    lines = [json.dumps({"text": f"note {number}"}) for number in (1, 2, 1)]
    assert import_lines(memory, lines, project_id="p").added == 2
    again = import_lines(memory, lines, project_id="p")
    assert (again.added, again.updated, again.unchanged) == (0, 0, 3)


def test_a_timestamp_in_the_future_is_ignored_on_import(machines: Callable[[str], Machine]) -> None:
    client = machines("desk")
    note = client.remember("Timeouts are 30 seconds")
    ahead = client.clock.now.replace(year=2099).isoformat()
    line = json.dumps({"id": note, "project_id": "p", "text": "Timeouts are 30 seconds", "pinned_at": ahead})
    assert import_lines(client.memory, [line], project_id="p").unchanged == 1
    [row] = client.memory.store.all()
    assert row.pinned_at is None
