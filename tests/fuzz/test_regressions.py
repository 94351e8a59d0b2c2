"""Inputs that once broke a parser are parsed without failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fuzz.corpus import REGRESSIONS, regression_inputs
from fuzz.targets import all_targets

if TYPE_CHECKING:
    from tests.fuzz.runner import Runner


@pytest.mark.parametrize("name", sorted(path.name for path in REGRESSIONS.iterdir()))
def test_inputs_that_once_broke_a_target_no_longer_break_it(runner: Runner, name: str) -> None:
    files = [str(path) for path in regression_inputs(all_targets()[name])]
    assert files
    broken = runner.findings(do="replay", target=name, files=files)
    assert not broken, "\n\n".join(broken)
