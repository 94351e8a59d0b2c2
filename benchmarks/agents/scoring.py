"""Scoring of answers.

Lists of files must be exact. Sets of code locations are scored by precision and recall. Expected names must occur in
the answer. API calls are checked against the description.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import jsonschema  # type: ignore[import-untyped]

from benchmarks.agents import rename_spec
from benchmarks.agents.trees import repositories

if TYPE_CHECKING:
    from benchmarks.agents.tasks import Task

MIN_PRECISION_AND_RECALL = 0.9  # threshold above which a set of code locations counts as right
_METHODS = ("get", "put", "post", "delete", "patch", "head", "options")


@dataclass(frozen=True, slots=True)
class Score:
    """Quality of an answer; `problem` describes its error."""

    right: bool
    precision: float
    recall: float
    problem: str = ""


def last_answer(text: str) -> str:
    """Return the text after the last `ANSWER:` in an agent's output, or "" if there is none."""
    lines = [line for line in text.splitlines() if "ANSWER:" in line]
    return lines[-1].split("ANSWER:", 1)[1].strip().strip("`*").strip() if lines else ""


def score(task: Task, answer: str) -> Score:
    """Score the text after `ANSWER:`."""
    if not answer:
        return Score(False, 0.0, 0.0, "no answer")
    if task.form == "call":
        return _score_call(task, answer)
    if task.form == "names":
        return _score_names(task, answer)
    return _score_places(task, answer)


def _score_places(task: Task, answer: str) -> Score:
    given = {_strip_markup(part) for part in re.split(r"[,\s;]+", answer) if part.strip()}
    truth = set(task.answer)
    if task.form == "line":
        right = len(given) == 1 and given <= {*truth, *task.also}
        return Score(right, float(right), float(right), "" if right else f"expected {task.answer}")
    harmless = set(task.also)
    counted = given - (harmless - truth)
    hits = len(counted & truth)
    precision = hits / len(counted) if counted else 0.0
    recall = hits / len(truth)
    exact = counted == truth
    right = (
        exact if task.form == "files" and task.kind != "impact" else min(precision, recall) >= MIN_PRECISION_AND_RECALL
    )
    missing, extra = sorted(truth - counted), sorted(counted - truth)
    problem = "" if right else f"missing {missing[:5]}, wrong {extra[:5]}"
    return Score(right, precision, recall, problem)


def _strip_markup(part: str) -> str:
    return part.strip().strip("`'\"()[]").removeprefix("./")


def _score_names(task: Task, answer: str) -> Score:
    """Score an answer that must contain each expected name as a whole word.

    A limited amount of other text is allowed.
    """
    text = answer.lower()
    found = [name for name in task.answer if any(_has_word(text, choice.lower()) for choice in name.split("|"))]
    recall = len(found) / len(task.answer)
    brief = len(answer) <= 60 + 4 * sum(map(len, task.answer))
    right = recall == 1.0 and brief
    return Score(
        right,
        1.0 if brief else 0.0,
        recall,
        "" if right else f"expected {task.answer}" + ("" if brief else ", and less other text"),
    )


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(word)}(?![\w])", text) is not None


def _score_call(task: Task, answer: str) -> Score:
    try:
        call = json.loads(answer)
        problem = check_call(task, call)
    except (ValueError, AttributeError, TypeError) as error:
        problem = f"not a call: {error}"
    right = not problem
    return Score(right, float(right), float(right), problem)


def check_call(task: Task, call: dict[str, Any]) -> str:
    """Check the operation, the values and the schemas of an API call.

    Return the problem, or "" if the call is right.
    """
    truth = task.answer
    description = rename_spec.load(repositories()[task.repository].tree / "services" / f"{truth['service']}.yaml")
    method = str(call.get("method", "")).lower()
    path = str(call.get("path", "")).split("?")[0]
    if method != truth["method"].lower():
        return f"method {method}"
    variables = _path_variables(truth["template"], path, description.get("basePath", ""))
    if variables != truth.get("variables", {}):
        return f"path {path}"
    operation = {**description["paths"][truth["template"]], **description["paths"][truth["template"]][method]}
    shared = description["paths"][truth["template"]].get("parameters", [])
    parameters = [
        _resolve_reference(description, one)
        for one in (*shared, *description["paths"][truth["template"]][method].get("parameters", []))
    ]
    return (
        _first_difference(truth.get("query", {}), call.get("query") or {}, "query")
        or _first_difference(truth.get("body", {}), call.get("body") or {}, "body")
        or _query_problem(parameters, call.get("query") or {})
        or _body_problem(description, operation, parameters, call.get("body"))
    )


def _path_variables(template: str, path: str, base: str) -> dict[str, str] | None:
    """Return the values of the variables with which a path template yields a path, or None if there are none."""
    if base and base != "/" and path.startswith(base + "/"):
        path = path.removeprefix(base)
    parts, given = template.strip("/").split("/"), path.strip("/").split("/")
    if len(parts) != len(given):
        return None
    variables: dict[str, str] = {}
    for part, value in zip(parts, given, strict=True):
        if part.startswith("{"):
            variables[part[1:-1]] = unquote(value)
        elif part != value:
            return None
    return variables


def _first_difference(expected: Any, given: Any, where: str) -> str:
    """Describe the first expected value that is missing or different."""
    if isinstance(expected, dict):
        if not isinstance(given, dict):
            return f"{where} is not an object"
        problems = (_first_difference(value, given.get(key), f"{where}.{key}") for key, value in expected.items())
        return next(filter(None, problems), "")
    if isinstance(expected, list):
        if not isinstance(given, list) or len(given) != len(expected):
            return f"{where} is {given!r}"
        return next(
            filter(None, (_first_difference(one, other, where) for one, other in zip(expected, given, strict=True))), ""
        )
    return "" if str(expected).lower() == str(given).lower() else f"{where} is {given!r}, not {expected!r}"


def _query_problem(parameters: list[dict[str, Any]], query: dict[str, Any]) -> str:
    known = {one["name"] for one in parameters if one.get("in") == "query"}
    required = {one["name"] for one in parameters if one.get("in") == "query" and one.get("required") is True}
    if unknown := set(query) - known:
        return f"unknown query parameters: {', '.join(sorted(unknown))}"
    return f"missing query parameters: {', '.join(sorted(required - set(query)))}" if required - set(query) else ""


def _body_problem(
    description: dict[str, Any], operation: dict[str, Any], parameters: list[dict[str, Any]], body: Any
) -> str:
    schema = _body_schema(description, operation, parameters)
    if schema is None:
        return "" if not body else "this operation takes no body"
    if not body and not schema.get("required"):
        return ""
    unknown = (
        sorted(set(body) - set(_properties(description, schema)))
        if isinstance(body, dict) and _properties(description, schema)
        else []
    )
    if unknown:
        return f"unknown properties: {', '.join(unknown)}"
    whole = {
        **schema,
        "definitions": description.get("definitions", {}),
        "components": description.get("components", {}),
    }
    error = next(iter(jsonschema.Draft202012Validator(_to_json_schema(whole)).iter_errors(body)), None)
    return f"body: {error.message[:200]}" if error else ""


def _body_schema(
    description: dict[str, Any], operation: dict[str, Any], parameters: list[dict[str, Any]]
) -> dict[str, Any] | None:
    """Return the schema of a request body.

    The schema comes from OpenAPI's `requestBody`, or from Swagger's body parameter or form fields.
    """
    if "requestBody" in operation:
        content = _resolve_reference(description, operation["requestBody"]).get("content", {})
        media: dict[str, Any] = next(iter(content.values()), {})
        return _resolve_reference(description, media.get("schema", {}))
    for one in parameters:
        if one.get("in") == "body":
            return _resolve_reference(description, one.get("schema", {}))
    fields = [one for one in parameters if one.get("in") == "formData"]
    if not fields:
        return None
    required = [one["name"] for one in fields if one.get("required") is True]
    return {"type": "object", "properties": {one["name"]: {} for one in fields}, "required": required}


def _properties(description: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    found = dict(schema.get("properties", {}))
    for part in schema.get("allOf", ()):
        found |= _properties(description, _resolve_reference(description, part))
    return found


def _resolve_reference(description: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in value:
        target: Any = description
        for part in value["$ref"].removeprefix("#/").split("/"):
            target = target[part.replace("~1", "/").replace("~0", "~")]
        value = target
    return value


def _to_json_schema(value: Any) -> Any:
    """Convert an OpenAPI schema to JSON Schema."""
    if isinstance(value, list):
        return [_to_json_schema(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {
        key: _to_json_schema(one)
        for key, one in value.items()
        if key not in ("example", "examples", "format", "xml", "discriminator", "readOnly")
    }
    if isinstance(kept.get("required"), bool):
        del kept["required"]
    return kept


__all__ = ["MIN_PRECISION_AND_RECALL", "Score", "check_call", "last_answer", "score"]
