"""Run every target on some fixed mutated inputs, in a child process that may hang or die.

Only exceptions and hanging inputs fail: `make fuzz` measures time and memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fuzz.targets import all_targets

from deltos.markup.formats import SUFFIXES, format_of

if TYPE_CHECKING:
    from tests.fuzz.runner import Runner

EXECUTIONS = 40
MAX_BYTES = 2_000


@pytest.mark.parametrize("name", all_targets())
def test_no_mutated_input_breaks_a_target(runner: Runner, name: str) -> None:
    broken = runner.findings(do="fuzz", target=name, seed=1, executions=EXECUTIONS, max_bytes=MAX_BYTES)
    assert not broken, "\n\n".join(broken)


def test_every_page_format_has_a_target() -> None:
    assert {format_of(f"page{suffix}") for suffix in SUFFIXES} <= set(all_targets())
