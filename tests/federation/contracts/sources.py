"""Fixtures of frameworks: source files and expected endpoints in one text file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from deltos.federation.contracts.endpoints import find_endpoints
from deltos.federation.contracts.scan import SourceToScan, collect_facts, extract_file
from deltos.languages.table import detect
from deltos.store.symbols import Symbol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deltos.federation.contracts.model import CodeEndpoint

FIXTURES = Path(__file__).with_name("fixtures")


class Fixture(NamedTuple):
    """Source files by path, and the expected endpoints, one per line."""

    files: dict[str, str]
    expected: list[str]


def load_fixture(name: str) -> Fixture:
    """Return the fixture of a framework."""
    sections: dict[str, list[str]] = {}
    for line in (FIXTURES / f"{name}.txt").read_text("utf-8").splitlines():
        if line.startswith("### "):
            lines = sections.setdefault(line.removeprefix("### "), [])
        else:
            lines.append(line)
    expected = [line.strip() for line in sections.pop("expected") if line.strip()]
    return Fixture({path: "\n".join(lines) + "\n" for path, lines in sections.items()}, expected)


def endpoints_in(files: Mapping[str, str]) -> list[CodeEndpoint]:
    """Return the endpoints in some files, as the scan of a project finds them."""
    sources = {path: SourceToScan(_language(path), path, text.encode()) for path, text in files.items()}
    active, parsed, _ = collect_facts(
        list(files),
        lambda paths: (sources[path] for path in paths if path in sources),
        lambda read: {each.path: facts for each in read if (facts := extract_file(each))},
    )
    return find_endpoints(list(files), parsed, active, lambda name: _definitions(list(sources.values()), name))


def _language(path: str) -> str:
    language = detect(path)
    assert language is not None
    return language.name


def _definitions(sources: Sequence[SourceToScan], name: str) -> list[Symbol]:
    """Return the definitions of a name in all files, as the graph does."""
    found = []
    for source in sources:
        facts = extract_file(source)
        for each in (*facts.functions.values(), *facts.classes.values()) if facts else ():
            if each.name == name:
                key = f"{each.container}.{name}" if each.container else name
                found.append(Symbol(key, name, "function", each.line, each.line, path=source.path))
    return found


def format_endpoint(endpoint: CodeEndpoint) -> str:
    """Return an endpoint in the form of the fixtures."""
    kind = "call " if endpoint.side == "client" else ""
    return f"{kind}{endpoint.key} {endpoint.at or '-'} {endpoint.function}".strip()
