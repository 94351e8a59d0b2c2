"""Every published benchmark result has a command that reproduces it."""

from __future__ import annotations

import pytest
from benchmarks.__main__ import Figure, choose_figures, read_figures
from benchmarks.paths import REPOSITORY


@pytest.mark.parametrize("figure", read_figures(), ids=lambda figure: figure.command)
def test_every_figure_has_a_benchmark_with_a_main_function(figure: Figure) -> None:
    path = REPOSITORY / "benchmarks" / figure.module
    source = path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
    assert "\ndef main(" in source.read_text("utf-8")
    assert figure.needs in ("registries", "shared")


def test_the_target_prove_runs_only_benchmarks_that_need_package_registries() -> None:
    figures = read_figures()
    assert all(figure.needs == "registries" for figure in choose_figures(figures, ["prove"]))
    assert choose_figures(figures, ["prove-all"]) == figures
    assert {figure.module for figure in choose_figures(figures, ["startup"])} == {"startup"}
