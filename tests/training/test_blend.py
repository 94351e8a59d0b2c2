from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from training.blend import blend, parse_weighted_table, unit_scale
from training.export import export
from training.table import Table

from deltos.embed.protocol import TextToEmbed
from deltos.embed.static import StaticModel

ROOT = Path(__file__).parents[2]
RANDOM = np.random.default_rng(5)


def random_vectors(
    words: int, dimensions: int, scale: float = 1.0
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    return (RANDOM.normal(size=(words, dimensions)) * scale).astype(np.float32)


def test_quantised_vectors_differ_by_at_most_half_a_step(tmp_path: Path) -> None:
    exact = random_vectors(20, 8, 0.01)
    exact[3] = 0
    Table.of(exact).write(tmp_path / "new" / "table.npz")
    stored = Table.read(tmp_path / "new" / "table.npz")
    assert stored.rows.dtype == np.int8
    assert np.abs(stored.vectors() - exact).max() <= np.abs(exact).max() / 254 + 1e-9
    assert not stored.vectors()[3].any()


def test_a_blend_with_enough_dimensions_has_the_weighted_dot_products() -> None:
    one, other = random_vectors(30, 4), random_vectors(30, 4, 100.0)
    both = blend([one, other], [0.25, 0.75], dimensions=8)
    expected = 0.25 * unit_scale(one) @ unit_scale(one).T + 0.75 * unit_scale(other) @ unit_scale(other).T
    assert both @ both.T == pytest.approx(expected, abs=1e-4)


def test_a_blend_with_fewer_dimensions_keeps_the_strongest_directions() -> None:
    strong, weak = random_vectors(50, 3), random_vectors(50, 3)
    both = blend([strong, weak], [1.0, 1e-4], dimensions=3)
    assert both.shape == (50, 3)
    assert both @ both.T == pytest.approx(unit_scale(strong) @ unit_scale(strong).T, abs=0.02)


def test_a_blend_weight_is_parsed_after_the_last_equals_sign() -> None:
    assert parse_weighted_table("a=b.npz=0.5") == (Path("a=b.npz"), 0.5)
    for wrong in ("a.npz", "a.npz=much", "a.npz=-1", "a.npz=0"):
        with pytest.raises(ValueError, match=r".+"):
            parse_weighted_table(wrong)


def test_blended_and_exported_tables_can_be_loaded_as_a_model(tmp_path: Path) -> None:
    exact = np.eye(3, 300, dtype=np.float32)
    for name in ("one", "other"):
        Table.of(exact).write(tmp_path / f"{name}.npz")
    arguments = ["blend.npz", "one.npz=0.5", "other.npz=0.5"]
    path = {"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"}
    subprocess.run([sys.executable, "-m", "training.blend", *arguments], cwd=tmp_path, env=path, check=True)
    (tmp_path / "words.txt").write_text("red\ngreen\nblue", "utf-8")
    export(tmp_path / "blend.npz", tmp_path / "words.txt", "tiny-1", tmp_path / "model")
    model = StaticModel.load(tmp_path / "model")
    assert (model.identity, model.dimensions) == ("tiny-1", 256)
    assert json.loads((tmp_path / "model/model.json").read_text("utf-8"))["words"] == 3
    red, green, mixed = model.texts([TextToEmbed("", words) for words in ("red", "green", "red green")])
    assert red @ green == pytest.approx(0, abs=0.01)
    assert red @ mixed == pytest.approx(0.7071, abs=0.01)
