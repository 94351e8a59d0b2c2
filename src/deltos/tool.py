"""Definitions of tools for agents, independent of MCP and the command line."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from deltos.errors import BadArgument
from deltos.shown_excerpts import ShownExcerpts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from deltos.progress import Progress

ParameterType = Literal["string", "integer", "boolean", "array"]
Value = str | int | bool | list[str] | None
Arguments = dict[str, Value]
JsonObject = dict[str, Any]

# Minimal output schema, because a full schema would use tokens in every client.
ANY_OBJECT: JsonObject = {"type": "object"}

ALWAYS_LOAD_KEY = "anthropic/alwaysLoad"  # key in the `_meta` of a tool

_REQUIRED = object()
_MAX_SHOWN_CHARACTERS = 80  # maximum length of a value in an error message


@dataclass(frozen=True, slots=True)
class Parameter:
    """A tool parameter, which is required if it has no default. Numbers are clamped to their range.

    An array with `takes_text` may also be passed as comma-separated text. `booleans` are the strings used for `false`
    and `true`. Aliases are accepted but not documented.
    """

    name: str
    type: ParameterType
    description: str
    default: Any = _REQUIRED
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    takes_text: bool = False
    booleans: tuple[str, str] | None = None
    aliases: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        """Whether every call must pass this parameter."""
        return self.default is _REQUIRED

    def schema(self) -> JsonObject:
        """Return the JSON Schema of this parameter."""
        kind = ["array", "string"] if self.takes_text else self.type
        schema: JsonObject = {"type": kind, "description": self.description}
        if self.type == "array":
            schema["items"] = {"type": "string"}
        if self.choices:
            (schema["items"] if self.type == "array" else schema)["enum"] = list(self.choices)
        for name, limit in (("minimum", self.minimum), ("maximum", self.maximum)):
            if limit is not None:
                schema[name] = limit
        if not self.required and self.default not in (None, "", []):
            schema["default"] = self.default
        return schema


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a tool: text and, for some tools, the same content as structured data."""

    text: str
    structured: JsonObject | None = None
    truncated: bool = False
    original_characters: int = 0

    def with_notes(self, notes: Sequence[str]) -> Answer:
        """Return a copy with notes appended to the text and structured data."""
        if not notes:
            return self
        if self.structured is None:
            return replace(self, text="\n".join([self.text, *notes]))
        data = {**self.structured, "notes": [*self.structured.get("notes", ()), *notes]}
        is_data = self.text == compact_json(self.structured)
        return replace(self, text=compact_json(data) if is_data else "\n".join([self.text, *notes]), structured=data)


@dataclass(frozen=True, slots=True)
class CallNote:
    """Data about a finished tool call, for the call log."""

    tool: str
    client: str
    arguments: Mapping[str, Any]
    seconds: float
    shown_characters: int
    original_characters: int
    is_error: bool


class Session(Protocol):
    """Interface of the state of a client's session."""

    @property
    def excerpts(self) -> ShownExcerpts:
        """The excerpts that the session has already seen in full."""

    def project_root(self) -> Path:
        """Return the default project folder."""

    def set_project_root(self, root: Path) -> None:
        """Set the default project folder."""

    def project_roots(self) -> Sequence[Path]:
        """Return the default folders for calls that accept several projects."""

    def set_project_roots(self, roots: Sequence[Path]) -> None:
        """Set one or more default folders."""

    def granted_roots(self) -> Sequence[Path]:
        """Return the folders to which the user granted access: the start folder and the roots of the client."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call in progress: its validated arguments, session and progress listener."""

    arguments: Arguments
    session: Session
    progress: Progress
    repeat: bool = False

    @property
    def excerpts(self) -> ShownExcerpts:
        """The excerpts that the session has already seen in full, or none if the call requests repetition."""
        return ShownExcerpts() if self.repeat else self.session.excerpts

    def text(self, name: str) -> str:
        """Return a string argument, or an empty string if it was not passed."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int:
        """Return an integer argument."""
        value = self.arguments[name]
        return value if isinstance(value, int) else 0

    def flag(self, name: str) -> bool:
        """Return a boolean argument."""
        return self.arguments.get(name) is True

    def texts(self, name: str) -> list[str]:
        """Return a list argument, or an empty list if it was not passed."""
        value = self.arguments.get(name)
        return value if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that agents can call."""

    name: str
    toolset: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    run: Callable[[Call], Answer]
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    open_world: bool = False
    output_schema: JsonObject | None = None  # set if all answers contain structured data
    always_loaded: bool = False  # whether clients should load the tool at the start, not on demand

    def answer(self, given: Mapping[str, Any], session: Session, progress: Progress, *, repeat: bool = False) -> Answer:
        """Validate the arguments, run the tool and return its answer."""
        answer = self.run(Call(check_arguments(self.parameters, given), session, progress, repeat))
        return answer.with_notes(_clamping_notes(self.parameters, given))

    def listing(self) -> JsonObject:
        """Return the entry of the tool in `tools/list`."""
        properties = {parameter.name: parameter.schema() for parameter in self.parameters}
        input_schema: JsonObject = {"type": "object", "properties": properties, "additionalProperties": False}
        if required := [p.name for p in self.parameters if p.required]:
            input_schema["required"] = required
        listing: JsonObject = {
            "name": self.name,
            "description": self.description,
            "inputSchema": input_schema,
            "annotations": {
                "title": self.title,
                "readOnlyHint": self.read_only,
                "destructiveHint": self.destructive,
                "idempotentHint": self.idempotent,
                "openWorldHint": self.open_world,
            },
        }
        if self.output_schema is not None:
            listing["outputSchema"] = self.output_schema
        if self.always_loaded:
            listing["_meta"] = {ALWAYS_LOAD_KEY: True}
        return listing


class PageData(Protocol):
    """Interface for the data of the web page. Each view is a named JSON object."""

    def show(self, name: str, given: Mapping[str, str], session: Session) -> bytes:
        """Return the data of a view."""

    def change(self, name: str, given: Mapping[str, str], session: Session) -> bytes:
        """Apply a change and return its result."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of a server. `close` closes their files, threads and processes."""

    tools: tuple[Tool, ...]
    close: Callable[[], None]
    repeat_excerpts: bool = False
    # Function that opens the web UI, whose modules are imported only then.
    open_pages: Callable[[], PageData] | None = None
    note_call: Callable[[CallNote], None] | None = None


def compact_json(value: JsonObject) -> str:
    """Serialise a value as JSON without spaces."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_PROJECT_PARAMETERS = ("project_id", "project_path", "repo_path")
# Synonyms of parameter names. Callers use them by mistake, because other tools have parameters with these names.
_SYNONYMS = {
    "limit": ("max_results",),
    "max_results": ("limit",),
    "top_k": ("limit", "max_results"),
    "project": _PROJECT_PARAMETERS,
    **dict.fromkeys(_PROJECT_PARAMETERS, _PROJECT_PARAMETERS),
    "directory": ("path",),
    "folder": ("directory", "path"),
    "path": ("directory",),
    "id": ("ids",),
    "name": ("symbol",),
    "query": ("symbol", "question"),
    "symbol": ("query",),
    "text": ("content", "query"),
    "question": ("query",),
}


def snake_case(name: str) -> str:
    """Convert `search-docs` or `searchDocs` to `search_docs`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()


def check_arguments(parameters: Iterable[Parameter], given: Mapping[str, Any]) -> Arguments:
    """Validate arguments: accept camelCase and synonyms, convert unambiguous types, clamp numbers, fill in defaults.

    Raise BadArgument for unknown, missing and invalid arguments.
    """
    known = {parameter.name: parameter for parameter in parameters}
    arguments: Arguments = {name: p.default for name, p in known.items() if not p.required}
    arguments |= {parameter.name: _coerce(parameter, value) for parameter, value in _match_parameters(known, given)}
    missing = [name for name in known if name not in arguments]
    if missing:
        raise BadArgument(f"Missing argument '{missing[0]}'", hint=known[missing[0]].description)
    return arguments


def _match_parameters(known: Mapping[str, Parameter], given: Mapping[str, Any]) -> Iterator[tuple[Parameter, Any]]:
    """Yield the parameter and value of each given argument."""
    by_name = {alias: parameter for parameter in known.values() for alias in parameter.aliases} | dict(known)
    for name, value in given.items():
        plain = snake_case(name)
        synonym = next((each for each in _SYNONYMS.get(plain, ()) if each in known and each not in given), "")
        parameter = by_name.get(name) or by_name.get(plain) or known.get(synonym)
        if parameter is None:
            shown = name[:_MAX_SHOWN_CHARACTERS]
            raise BadArgument(f"Unknown argument '{shown}'", hint=f"Known: {', '.join(known) or 'none'}.")
        if value is not None:
            yield parameter, value


def _clamping_notes(parameters: Iterable[Parameter], given: Mapping[str, Any]) -> list[str]:
    """Return a note for each number that is out of range."""
    known = {parameter.name: parameter for parameter in parameters}
    numbers = [(each, value) for each, value in _match_parameters(known, given) if each.type == "integer"]
    taken = [
        (each.name, str(value)[:_MAX_SHOWN_CHARACTERS], _whole_number(each, value), each) for each, value in numbers
    ]
    return [
        f"Note: {name}={shown} is out of range; {_clamp(parameter, number)} is used."
        for name, shown, number, parameter in taken
        if _clamp(parameter, number) != number
    ]


def _coerce(parameter: Parameter, value: Any) -> Value:
    match parameter.type, value:
        case "string", str():
            result: Value = value
        case "string", bool() if parameter.booleans:
            result = parameter.booleans[value]
        case "string", int() | float() if not isinstance(value, bool):
            result = str(value)
        case "integer", int() | float() | str() if not isinstance(value, bool):
            result = _clamp(parameter, _whole_number(parameter, value))
        case "boolean", bool():
            result = value
        case "boolean", str() if value.lower() in ("true", "false"):
            result = value.lower() == "true"
        case "array", list() if all(isinstance(item, str) for item in value):
            result = list(value)
        case "array", str():
            result = _split_list(value)
        case "array", list():
            other = next(type(item).__name__ for item in value if not isinstance(item, str))
            raise BadArgument(
                f"Argument '{parameter.name}' must be an array of strings, but an item is of type {other}",
                hint=parameter.description,
            )
        case _:
            raise BadArgument(
                f"Argument '{parameter.name}' must be of type {parameter.type}, not {type(value).__name__}",
                hint=parameter.description,
            )
    _check_text(parameter, result)
    _check_choice(parameter, result)
    return result


def _split_list(text: str) -> list[str]:
    """Parse a list that was passed as text: a JSON array or comma-separated words."""
    if text.lstrip().startswith("["):
        try:
            return [item if isinstance(item, str) else json.dumps(item) for item in json.loads(text)]
        except (ValueError, RecursionError):
            pass
    return [item.strip() for item in text.split(",") if item.strip()]


def _whole_number(parameter: Parameter, value: float | str) -> int:
    try:
        return int(value)
    except (ValueError, OverflowError):
        shown = repr(value)[:_MAX_SHOWN_CHARACTERS]
        raise BadArgument(
            f"Argument '{parameter.name}' must be a whole number, not {shown}", hint=parameter.description
        ) from None


def _clamp(parameter: Parameter, number: int) -> int:
    if parameter.minimum is not None:
        number = max(parameter.minimum, number)
    if parameter.maximum is not None:
        number = min(parameter.maximum, number)
    return number


def _check_text(parameter: Parameter, value: Value) -> None:
    """Refuse text with lone surrogates, which cannot be stored."""
    # Lone surrogates are caused by JSON escapes, and by invalid bytes on a command line.
    texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise BadArgument(f"Argument '{parameter.name}' is not valid Unicode", hint="Send it as UTF-8.") from None


def _check_choice(parameter: Parameter, value: Value) -> None:
    if not parameter.choices:
        return
    for item in value if isinstance(value, list) else [value]:
        if item not in parameter.choices:
            raise BadArgument(
                f"Argument '{parameter.name}' cannot be {repr(item)[:_MAX_SHOWN_CHARACTERS]}",
                hint=f"Choose from {', '.join(parameter.choices)}.",
            )
