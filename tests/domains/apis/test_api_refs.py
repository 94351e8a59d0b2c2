"""References are resolved across the allowed documents, refused elsewhere, and may be cyclic."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from deltos.domains.apis.endpoints import Filter, show_endpoints
from deltos.domains.apis.refs import ReferenceFollower, find_references, reference_name, walk_pointer
from deltos.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.domains.apis.domain import Apis


def test_finds_references_in_json_and_yaml() -> None:
    data = b"""{"$ref": "#/a"} $ref: '#/b'\n$ref: c.yaml#/d\n- {$ref: "#/a"}\n$ref: #comment\n"""
    assert find_references(data) == ["#/a", "#/b", "c.yaml#/d"]


def test_pointers_resolve_mappings_lists_and_escapes() -> None:
    document = {"a/b": [{"c~d": 1}], "e f": 2}
    assert walk_pointer(document, "/a~1b/0/c~0d") == 1
    assert walk_pointer(document, "/e%20f") == 2
    assert walk_pointer(document, "/a~1b/7") is None
    assert walk_pointer(document, "") == document


def test_reference_cycle_ends() -> None:
    references = ReferenceFollower({"a": {"$ref": "#/b"}, "b": {"$ref": "#/a"}})
    assert references.follow({"$ref": "#/a"}) == {}


def test_dangling_reference_is_reported_once() -> None:
    references = ReferenceFollower({})
    assert references.resolve("#/gone") == references.resolve("#/gone") == {}
    assert references.warnings() == ["1 reference without a target: #/gone."]


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "https://elsewhere.example/x.yaml#/a", "//host/x", "/etc/passwd"]
)
def test_refuses_external_references(target: str) -> None:
    read: list[str] = []

    def reader(path: str) -> bytes:
        read.append(path)
        return b"{}"

    references = ReferenceFollower({}, "root.yaml", reader)
    assert references.resolve(target) == {}
    assert read == []
    assert "not followed" in references.warnings()[0]


def test_unreadable_neighbour_is_reported_with_the_reason() -> None:
    def reader(path: str) -> bytes:
        raise SourceError("no such file")

    references = ReferenceFollower({}, "root.yaml", reader)
    for name in ("a", "b", "c", "d"):
        references.resolve(f"{name}.yaml#/x")
    (warning,) = references.warnings()
    assert "a.yaml (no such file)" in warning
    assert warning.endswith(", ….")


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("#/components/schemas/Pet", "Pet"),
        ("pet.yaml", "pet.yaml"),
        ("#/x/a~1b", "a/b"),
        ("#Anchor", "Anchor"),
    ],
)
def test_reference_name_is_its_last_token(target: str, name: str) -> None:
    assert reference_name(target) == name


def _write_tree(folder: Path) -> Path:
    (folder / "schemas").mkdir(parents=True)
    (folder / "paths").mkdir()
    root = folder / "openapi.yaml"
    root.write_text(
        "openapi: 3.0.0\ninfo: {title: Pets, version: '1'}\n"
        "paths:\n  /pets: {$ref: paths/pets.yaml}\n"
        "components:\n  schemas:\n    Error: {type: object, properties: {code: {type: integer}}}\n"
    )
    (folder / "paths" / "pets.yaml").write_text(
        "get:\n  summary: List pets\n  responses:\n    '200':\n      description: ok\n      content:\n"
        "        application/json:\n          schema: {$ref: '../schemas/pet.json#/Pet'}\n"
        "    '500':\n      description: bad\n      content:\n        application/json:\n"
        "          schema: {$ref: '../openapi.yaml#/components/schemas/Error'}\n"
    )
    pet = {
        "Pet": {
            "type": "object",
            "properties": {
                "owner": {"$ref": "#/Owner"},
                "friends": {"type": "array", "items": {"$ref": "#/Pet"}},
            },
        },
        "Owner": {"type": "object", "properties": {"email": {"type": "string"}}},
    }
    (folder / "schemas" / "pet.json").write_text(json.dumps(pet))
    return root


def test_references_between_files_are_resolved_and_stored(apis: Apis, tmp_path: Path) -> None:
    root = _write_tree(tmp_path / "spec")
    (api,) = apis.indexer.add(str(root)).apis
    assert (api.operation_count, api.warnings) == (1, ())
    for file in (tmp_path / "spec").rglob("*.*"):
        file.unlink()
    shown = show_endpoints(apis.library, "pets", Filter(path="/pets"), page=1, token_budget=5_000).text
    assert "owner: Owner" in shown
    assert "email: string" in shown
    assert "friends: array of Pet" in shown
    assert "500 bad (Error)" in shown


def test_folder_with_referenced_files_is_one_api(apis: Apis, tmp_path: Path) -> None:
    _write_tree(tmp_path / "spec")
    (api,) = apis.indexer.add(str(tmp_path / "spec")).apis
    assert (api.name, api.citation) == ("pets", "spec/openapi.yaml")


def test_reads_nothing_outside_the_allowed_folder(apis: Apis, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("Key: {type: string, description: TOP-SECRET}")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    (inside / "api.yaml").write_text(
        "openapi: 3.0.0\ninfo: {title: Sly}\npaths:\n  /a:\n    get:\n      responses:\n"
        "        '200':\n          content:\n"
        "            a/a: {schema: {$ref: '../secret.yaml#/Key'}}\n"
        "            b/b: {schema: {$ref: 'link.yaml#/Key'}}\n"
        "            c/c: {schema: {$ref: 'file:///etc/passwd'}}\n"
    )
    (api,) = apis.indexer.add(str(inside / "api.yaml")).apis
    shown = show_endpoints(apis.library, "sly", Filter(path="/a"), page=1, token_budget=5_000).text
    assert "TOP-SECRET" not in shown
    assert "3 external references not followed" in api.warnings[0]
    assert "outside the allowed folder" in api.warnings[0]


def test_wider_root_allows_references_above_the_folder(apis: Apis, tmp_path: Path) -> None:
    (tmp_path / "shared.yaml").write_text("Key: {type: object, properties: {deep: {type: string}}}")
    spec = tmp_path / "service" / "api.yaml"
    spec.parent.mkdir()
    spec.write_text(
        "openapi: 3.0.0\ninfo: {title: Wide}\npaths:\n  /a:\n    get:\n      responses:\n"
        "        '200': {content: {a/a: {schema: {$ref: '../shared.yaml#/Key'}}}}\n"
    )
    (api,) = apis.indexer.add(str(spec), root=tmp_path).apis
    assert api.warnings == ()
    assert "deep: string" in show_endpoints(apis.library, "wide", Filter(path="/a"), page=1, token_budget=5_000).text


def test_resolves_references_across_more_than_a_thousand_files(apis: Apis, tmp_path: Path) -> None:
    folder = tmp_path / "tree"
    (folder / "resources" / "responses").mkdir(parents=True)
    paths = []
    for number in range(1_200):
        paths.append(f"  /things{number}: {{$ref: resources/path{number}.yml}}")
        path = f"post: {{requestBody: {{content: {{application/json: {{schema: {{$ref: 'responses/b{number}.yml'}}}}}}}}}}\n"
        (folder / "resources" / f"path{number}.yml").write_text(path)
        body = f"type: object\nrequired: [name{number}]\nproperties: {{name{number}: {{type: string}}}}\n"
        (folder / "resources" / "responses" / f"b{number}.yml").write_text(body)
    (folder / "openapi.yml").write_text("openapi: 3.0.0\ninfo: {title: Tree}\npaths:\n" + "\n".join(paths) + "\n")
    (api,) = apis.indexer.add(str(folder)).apis
    assert (api.operation_count, api.warnings) == (1_200, ())
    shown = show_endpoints(apis.library, "tree", Filter(path="/things1199"), page=1, token_budget=5_000).text
    assert '-d \'{"name1199": "string"}\'' in shown
