from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest
from training.archives import members, project_name
from training.mine import main, mine_all, mine_package

from tests.training.packages import GUIDE, INSTALL, OPERATIONS, SHAPES, tarball, wheel

if TYPE_CHECKING:
    from pathlib import Path

    from training.pairs import Pair


def texts_by_query(pairs: list[Pair], kind: str) -> dict[str, str]:
    return {pair.query: pair.text for pair in pairs if pair.kind == kind}


def read_mined_pairs(out: Path) -> list[dict[str, str]]:
    return [json.loads(line) for part in sorted(out.iterdir()) for line in gzip.open(part, "rt", encoding="utf-8")]


def test_pairs_are_mined_from_docstrings_comments_and_test_names(tmp_path: Path) -> None:
    pairs = mine_package(wheel(tmp_path / "shapes-1.0-py3-none-any.whl", {"shapes/circle.py": SHAPES}))
    docs = texts_by_query(pairs, "doc")
    assert set(docs) == {"A round shape that knows its own radius", "Compute how much of the plane the circle covers"}
    area = docs["Compute how much of the plane the circle covers"]
    assert area.startswith("shapes/circle.py\nCircle.area\n")
    assert "covers" not in area
    assert "squared = radius * radius" in area
    (comment,) = texts_by_query(pairs, "comment").items()
    assert comment[0] == "multiply the squared radius by the constant of circles"
    assert "constant" not in comment[1]
    assert list(texts_by_query(pairs, "test")) == ["area grows with the radius"]


def test_pairs_are_mined_from_headings_first_sentences_and_links(tmp_path: Path) -> None:
    files = {"docs/guide.md": GUIDE, "docs/install.md": INSTALL}
    pairs = mine_package(tarball(tmp_path / "shapes-1.0.tgz", files))
    headings = texts_by_query(pairs, "heading")
    assert {"Install the drawing package", "Draw many circles"} <= set(headings)
    assert "setup program" in headings["Install the drawing package"]
    assert "A mirror holds the same files as the index itself" in texts_by_query(pairs, "sentence")
    assert "faster where the network is slow" in texts_by_query(pairs, "link")["how the package gets installed"]


def test_pairs_are_mined_from_api_operations(tmp_path: Path) -> None:
    files = {"api/openapi.json": OPERATIONS + " " * 2000}
    pairs = mine_package(wheel(tmp_path / "api-1.0-py3-none-any.whl", files))
    assert texts_by_query(pairs, "operation") == {
        "Remove a user account for good": "DELETE /users/{id}\nremoveUser\nid\ndeletion_reason",
    }


def test_descriptions_of_excluded_services_are_skipped_in_any_package(tmp_path: Path) -> None:
    files = {f"documents/{service}.v1.json": OPERATIONS + " " * 2000 for service in ("pubsub", "firestore")}
    assert not mine_package(wheel(tmp_path / "api-1.0-py3-none-any.whl", files))


@pytest.mark.parametrize(
    "description",
    [
        {
            "metadata": {"serviceFullName": "Shape Store"},
            "operations": {
                "DeleteShape": {
                    "http": {"method": "DELETE", "requestUri": "/shapes/{name}"},
                    "documentation": "<p>Deletes a shape from the store.</p>",
                    "input": {"shape": "DeleteShapeRequest"},
                }
            },
            "shapes": {"DeleteShapeRequest": {"members": {"name": {}}}},
        },
        {
            "kind": "discovery#restDescription",
            "title": "Shape Store",
            "resources": {
                "shapes": {
                    "methods": {
                        "delete": {
                            "id": "store.shapes.DeleteShape",
                            "httpMethod": "DELETE",
                            "path": "/shapes/{name}",
                            "description": "Deletes a shape from the store.",
                            "parameters": {"name": {}},
                        }
                    }
                }
            },
        },
    ],
    ids=["aws", "google"],
)
def test_pairs_are_mined_from_operations_in_aws_and_google_formats(
    tmp_path: Path, description: dict[str, object]
) -> None:
    text = json.dumps(description) + " " * 2000
    pairs = mine_package(wheel(tmp_path / "api-1.0-py3-none-any.whl", {"service.json": text}))
    (operation,) = texts_by_query(pairs, "operation").items()
    assert operation[0] == "Deletes a shape from the store"
    for part in ("Shape Store", "DELETE /shapes/{name}", "DeleteShape", "\nname"):
        assert part in operation[1]


def test_a_broken_archive_is_reported_and_the_others_are_mined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = tmp_path / "broken-1.0.tgz"
    broken.write_bytes(b"no tarball")
    sound = tarball(tmp_path / "shapes_1.0.orig.tar.xz", {"shapes-1.0/circle.py": SHAPES})
    out = tmp_path / "out"
    out.mkdir()
    mine_all([broken, sound], out)
    assert {row["package"] for row in read_mined_pairs(out)} == {"shapes"}
    assert "broken-1.0.tgz: " in capsys.readouterr().out


def test_excluded_projects_are_never_mined_and_texts_are_unique(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages, out = tmp_path / "packages", tmp_path / "out"
    packages.mkdir()
    for name in ("flask-3.0", "shapes-1.0", "forms-1.0"):
        wheel(packages / f"{name}-py3-none-any.whl", {"shapes/circle.py": SHAPES})
    monkeypatch.setattr("sys.argv", ["mine", str(out), str(packages)])
    main()
    rows = read_mined_pairs(out)
    assert len({row["text"] for row in rows}) == len(rows) > 0
    assert {row["package"] for row in rows} in ({"shapes"}, {"forms"})


def test_too_large_files_are_skipped_and_compressed_ones_decompressed(tmp_path: Path) -> None:
    archive = tmp_path / "data-1.0-py3-none-any.whl"
    wheel(archive, {"large.py": "x" * 400_000, "large.json": "1" * 400_000, "empty.py": "", "broken.md.gz": "no"})
    assert {file.path: len(file.data) for file in members(archive)} == {"large.json": 400_000, "broken.md.gz": 0}


@pytest.mark.parametrize(
    ("archive", "project"),
    [
        ("Shapes_And_Forms-1.0-py3-none-any.whl", "shapes_and_forms"),
        ("vue-core-3.4.1.tgz", "vue-core"),
        ("python3-shapes_1.0-2_all.deb", "python3-shapes"),
        ("shapes_1.0.orig.tar.xz", "shapes"),
    ],
)
def test_a_project_is_named_without_its_version(tmp_path: Path, archive: str, project: str) -> None:
    assert project_name(tmp_path / archive) == project
