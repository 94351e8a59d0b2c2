"""Quality of routes and client calls found in real repositories.

python -m benchmarks.contracts CHECKOUTS [--only NAME …] [--held-out] [--differences]

CHECKOUTS contains a folder for each case of `contracts_cases.toml`, named `OWNER+NAME`, with the files of one commit.
The truth is a list of endpoints: the operations of the repository's own API description, the routes that the framework
lists when the program runs, or lines that were read by hand. The cases of the held-out half were not used to choose
rules.
"""

from __future__ import annotations

import argparse
import os
import sys
import tomllib
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from deltos.domains.apis.parse.protobuf import parse_protobuf
from deltos.federation.contracts.endpoints import find_endpoints
from deltos.federation.contracts.model import ANY_METHOD
from deltos.federation.contracts.paths import PARAMETER, WILDCARD, join_paths, shape
from deltos.federation.contracts.scan import SourceToScan, collect_facts, extract_file
from deltos.languages.table import detect
from deltos.workspace.admission import refuse_by_content
from deltos.workspace.file_purpose import is_test

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deltos.federation.contracts.facts import ContractFacts
    from deltos.federation.contracts.model import CodeEndpoint

CASES = Path(__file__).with_name("contracts_cases.toml")
MAX_FILE_BYTES = 1_000_000
SKIPPED_FOLDERS = frozenset({".git", "node_modules", "vendor", "dist"})
METHODS = frozenset({"get", "post", "put", "patch", "delete", "head", "options"})

Key = tuple[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Score:
    """Counts of right, wrong and missing endpoints of one case, for routes or for client calls."""

    found: int
    right: int
    expected: int
    matched: int

    def __add__(self, other: Score) -> Score:
        """Return the sum of both counts."""
        return Score(
            self.found + other.found,
            self.right + other.right,
            self.expected + other.expected,
            self.matched + other.matched,
        )

    def __str__(self) -> str:
        """Return precision and recall with the number of endpoints."""
        precision, recall = self.right / max(1, self.found), self.matched / max(1, self.expected)
        return f"{precision:.3f} ({self.right}/{self.found})  {recall:.3f} ({self.matched}/{self.expected})"


def endpoints_in(root: Path) -> list[CodeEndpoint]:
    """Return the routes and client calls in the files of a folder, without an index."""
    sources = {source.path: source for source in _sources(root)}
    active, parsed, _ = collect_facts(list(sources), partial(select_sources, sources), parse_sources)
    return find_endpoints(list(sources), parsed, active, lambda _: ())


def select_sources(sources: Mapping[str, SourceToScan], paths: Iterable[str]) -> Iterator[SourceToScan]:
    """Yield the sources with the given paths."""
    return (sources[path] for path in paths if path in sources)


def parse_sources(sources: Sequence[SourceToScan]) -> dict[str, ContractFacts]:
    """Return the facts of each file by path."""
    return {each.path: facts for each in sources if (facts := extract_file(each)) is not None}


def _sources(root: Path) -> Iterable[SourceToScan]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - SKIPPED_FOLDERS)
        for name in sorted(names):
            path = Path(folder, name)
            relative = path.relative_to(root).as_posix()
            language = detect(relative)
            if language is None or is_test(relative) or path.is_symlink() or path.stat().st_size > MAX_FILE_BYTES:
                continue
            data = path.read_bytes()
            if refuse_by_content(data, language) is None:
                yield SourceToScan(language.name, relative, data)


def operations_in(path: Path, base: str) -> set[Key]:
    """Return the operations of an OpenAPI file."""
    document = yaml.load(path.read_text("utf-8"), yaml.CSafeLoader)
    return {
        (method.upper(), without_parameter_names(join_paths(base, name)))
        for name, item in document["paths"].items()
        for method in item
        if method in METHODS
    }


def rpc_methods_in(path: Path) -> set[Key]:
    """Return the methods of the services in a `.proto` file."""
    operations = parse_protobuf(path.read_text("utf-8"), lambda _: None).operations
    return {("RPC", without_parameter_names("/" + each.path.lstrip("/").rpartition(".")[2])) for each in operations}


def _key(endpoint: CodeEndpoint, expected: set[Key]) -> Key:
    """Return the key of an endpoint.

    If the prefix of its path is unknown, return the only expected key that ends with the path, if there is one.
    """
    path = without_parameter_names(endpoint.path)
    if endpoint.certain or (endpoint.method, path) in expected:
        return endpoint.method, path
    longer = {key for key in expected if key[0] == endpoint.method and key[1][-len(path) :] == path}
    return longer.pop() if len(longer) == 1 else (endpoint.method, path)


def without_parameter_names(path: str) -> tuple[str, ...]:
    """Return a path without the names of its parameters.

    A wildcard at the end becomes a parameter, as in API descriptions.
    """
    found = shape(path)
    return (*found[:-1], PARAMETER) if found[-1:] == (WILDCARD,) else found


def keys_of(rows: Iterable[str]) -> set[Key]:
    """Return method and path of each row in a list, for example `GET /orders/{id}`."""
    return {(row.split()[0], without_parameter_names(row.split()[1])) for row in rows if row.strip()}


def compare(found: Iterable[Key], expected: set[Key]) -> tuple[Score, set[Key], set[Key]]:
    """Return the score, the wrong endpoints and the missing endpoints. A route for any method matches all methods."""
    rows = set(found)
    paths = {path for _, path in expected}
    matched = {key for key in expected if key in rows or (ANY_METHOD, key[1]) in rows}
    wrong = {key for key in rows if key not in expected and not (key[0] == ANY_METHOD and key[1] in paths)}
    return Score(len(rows), len(rows) - len(wrong), len(expected), len(matched)), wrong, expected - matched


def measure(case: dict[str, object], checkouts: Path, *, differences: bool) -> dict[str, Score]:
    """Return the scores of one case for routes and for client calls."""
    root = checkouts / str(case["folder"])
    endpoints = endpoints_in(root)
    scores = {}
    for side, name in (("server", "routes"), ("client", "calls")):
        expected: set[Key] = set()
        for each in case.get(f"{name}_described", ()):  # type: ignore[attr-defined]
            expected |= operations_in(checkouts / each["file"], each.get("base", ""))
        for file in case.get(f"{name}_protos", ()):  # type: ignore[attr-defined]
            expected |= rpc_methods_in(checkouts / file)
        same = name == "calls" and case.get("calls_are_routes", False)
        expected |= keys_of(str(case.get("routes" if same else name, "")).splitlines())
        expected -= keys_of(str(case.get(f"{name}_absent", "")).splitlines())
        if not expected:
            continue
        scope = shape(str(case.get("scope", "")))
        rows = [each for each in endpoints if each.side == side and shape(each.path)[: len(scope)] == scope]
        places = {_key(each, expected): f"{each.declared_at} {each.function}" for each in rows}
        scores[name], wrong, missing = compare(places, expected)
        if case.get("incomplete", False):  # other endpoints may be right, so only recall is measured
            scores[name], wrong = replace(scores[name], found=0, right=0), set()
        if differences:
            for key in sorted(wrong):
                print("  wrong  ", name, key[0], "/" + "/".join(key[1]), places[key])
            for key in sorted(missing):
                print("  missing", name, key[0], "/" + "/".join(key[1]))
    return scores


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the selected cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--differences", action="store_true")
    options = parser.parse_args(arguments)
    total: dict[str, Score] = {}
    for case in tomllib.loads(CASES.read_text("utf-8"))["case"]:
        name = case["folder"]
        if case.get("held_out", False) != options.held_out or (options.only and name not in options.only):
            continue
        for side, score in measure(case, options.checkouts, differences=options.differences).items():
            total[side] = total.get(side, Score(0, 0, 0, 0)) + score
            print(f"{name:60} {side:7} {score}", flush=True)
    for side, score in total.items():
        print(f"{'all':60} {side:7} {score}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
