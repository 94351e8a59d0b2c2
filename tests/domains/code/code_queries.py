"""Helpers that search code, and files with many similar functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltos.tool import JsonObject
    from tests.calling import ToolClient

BODY = "".join(f"    first_value_{n} = compute(first_value_{n})\n" for n in range(30))
LONG_FUNCTIONS = {f"many/f{n}.py": f"def compute_{n}():\n{BODY}" for n in range(40)}


def paths(answer: JsonObject) -> list[str]:
    """Return the files of the results, best first."""
    return [result["file_path"] for result in answer["results"]]


def search(client: ToolClient, query: str, **arguments: Any) -> JsonObject:
    """Return the structured answer of a search."""
    return client.data("search_code", query=query, **arguments)
