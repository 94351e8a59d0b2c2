"""What an agent is offered: tools with described parameters, resources, prompts. Knows no MCP and no shell."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import unquote

from deltos.errors import BadArgument
from deltos.excerpts import Excerpts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from deltos.progress import Progress

ParameterType = Literal["string", "integer", "boolean", "array"]
Value = str | int | bool | list[str] | None
Arguments = dict[str, Value]
JsonObject = dict[str, Any]

# As much of a schema as a client needs to expect data; more would cost every client the same words again.
ANY_OBJECT: JsonObject = {"type": "object"}

_REQUIRED = object()
_SHOWN_CHARACTERS = 80
_ANY = "{id}"
_PLAIN_NAME = re.compile(r"[^/\\\x00-\x1f\x7f]{1,200}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool, required without a default. Numbers out of range are clamped, not refused, and the answer
    says so.

    One that is not `listed` is understood all the same: the tool's description names it, with its `hint`, which costs
    a fifth. Aliases are understood and never shown.
    """

    name: str
    type: ParameterType
    description: str
    default: Any = _REQUIRED
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    listed: bool = True
    hint: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is _REQUIRED

    def schema(self) -> JsonObject:
        """Its JSON Schema. Bounds are stated in the description only: clients would refuse what we clamp."""
        schema: JsonObject = {"type": self.type, "description": self.description}
        if self.type == "array":
            schema["items"] = {"type": "string"}
        if self.choices:
            (schema["items"] if self.type == "array" else schema)["enum"] = list(self.choices)
        if not self.required and self.default not in (None, "", [], False):
            schema["default"] = self.default
        return schema


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool says: text for a reader and, where the contract asks for it, the same as data."""

    text: str
    structured: JsonObject | None = None
    truncated: bool = False
    original_characters: int = 0

    def with_notes(self, notes: Sequence[str]) -> Answer:
        """The same with notes at its end, in the text and as data."""
        if not notes:
            return self
        if self.structured is None:
            return replace(self, text="\n".join([self.text, *notes]))
        told = {**self.structured, "notes": [*self.structured.get("notes", ()), *notes]}
        is_data = self.text == compact_json(self.structured)
        return replace(self, text=compact_json(told) if is_data else "\n".join([self.text, *notes]), structured=told)


@dataclass(frozen=True, slots=True)
class CallNote:
    """What is told of a call that has ended, for whoever keeps a log of them."""

    tool: str
    client: str
    arguments: Mapping[str, Any]
    seconds: float
    shown_characters: int
    original_characters: int
    is_error: bool


class Session(Protocol):
    """What one client's conversation remembers between calls."""

    @property
    def excerpts(self) -> Excerpts:
        """What was shown in full already."""

    def project_root(self) -> Path:
        """The folder that calls mean when they name none."""

    def set_project_root(self, root: Path) -> None:
        """Make `root` the default from now on."""

    def project_roots(self) -> Sequence[Path]:
        """All folders that calls mean which name none and can be about several: at least `project_root`."""

    def set_project_roots(self, roots: Sequence[Path]) -> None:
        """Make several folders, at least one, the default from now on."""

    def granted_roots(self) -> Sequence[Path]:
        """The folders that the user gave it: where it began and its client's, whatever calls have chosen since."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call in progress: its checked arguments, its session and who listens to its progress."""

    arguments: Arguments
    session: Session
    progress: Progress
    repeat: bool = False

    @property
    def excerpts(self) -> Excerpts:
        """What the session has shown in full; nothing where excerpts are to be repeated."""
        return Excerpts() if self.repeat else self.session.excerpts

    def text(self, name: str) -> str:
        """The string argument `name`; empty when it was not given."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int:
        """The integer argument `name`."""
        value = self.arguments[name]
        return value if isinstance(value, int) else 0

    def flag(self, name: str) -> bool:
        """The boolean argument `name`."""
        return self.arguments.get(name) is True

    def texts(self, name: str) -> list[str]:
        """The list argument `name`; empty when it was not given."""
        value = self.arguments.get(name)
        return value if isinstance(value, list) else []


@dataclass(frozen=True, slots=True)
class Tool:
    """A verb that an agent can call."""

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
    output_schema: JsonObject | None = None  # of the tools whose every answer is there as data too

    def answer(self, given: Mapping[str, Any], session: Session, progress: Progress, *, repeat: bool = False) -> Answer:
        """What it says to arguments as they were given; the one way to call it."""
        answer = self.run(Call(check_arguments(self.parameters, given), session, progress, repeat))
        return answer.with_notes(_clamped(self.parameters, given))

    def listing(self, *, whole: bool = False) -> JsonObject:
        """The tool as `tools/list` shows it; whole: with every parameter in the schema."""
        properties = {parameter.name: parameter.schema() for parameter in self.parameters if whole or parameter.listed}
        input_schema: JsonObject = {"type": "object", "properties": properties}
        if required := [p.name for p in self.parameters if p.required]:
            input_schema["required"] = required
        listing: JsonObject = {
            "name": self.name,
            "description": self._described(),
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
        return listing

    def _described(self) -> str:
        """The description, and the parameters that are not listed by their names."""
        others = [p.name + (f" ({p.hint})" if p.hint else "") for p in self.parameters if not p.listed]
        return f"{self.description} Also: {', '.join(others)}." if others else self.description


@dataclass(frozen=True, slots=True)
class Resource:
    """Something that a client can read by its address; `{id}` at the end of `uri` stands for any one name."""

    uri: str
    name: str
    title: str
    description: str
    read: Callable[[Call], str]
    media_type: str = "text/markdown"

    @property
    def is_template(self) -> bool:
        """Whether it stands for many."""
        return self.uri.endswith(_ANY)

    def arguments(self, uri: str) -> Arguments | None:
        """What `uri` means to this resource; None when it means another. A name with a path in it is refused."""
        if not self.is_template:
            return {} if uri == self.uri else None
        prefix = self.uri.removesuffix(_ANY)
        if not uri.startswith(prefix):
            return None
        name = unquote(uri.removeprefix(prefix))
        if not _PLAIN_NAME.fullmatch(name) or ".." in name:
            raise BadArgument(f"Not a resource: {uri[:_SHOWN_CHARACTERS]!r}", hint=f"Give one id: {self.uri}")
        return {"id": name}


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request that a person can choose, written out with what the index knows."""

    name: str
    title: str
    description: str
    parameters: tuple[Parameter, ...]
    write: Callable[[Call], str]


class Pages(Protocol):
    """What the page for people asks for, by name; answers are JSON."""

    def show(self, name: str, given: Mapping[str, str], session: Session) -> bytes:
        """Something to look at."""

    def change(self, name: str, given: Mapping[str, str], session: Session) -> bytes:
        """Change something; what was done."""


@dataclass(frozen=True, slots=True)
class Toolbox:
    """All that is on offer, and how to let go of what it holds: files, threads, processes."""

    tools: tuple[Tool, ...]
    close: Callable[[], None]
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    repeat_excerpts: bool = False
    open_pages: Callable[[], Pages] | None = None  # loaded by the first who looks
    note_call: Callable[[CallNote], None] | None = None


def compact_json(value: JsonObject) -> str:
    """JSON without a wasted character."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_PROJECT = ("project_id", "project_path", "repo_path")
# What a caller may have in mind who takes one tool's word for another's.
_SYNONYMS = {
    "limit": ("max_results",),
    "max_results": ("limit",),
    "top_k": ("limit", "max_results"),
    "project": _PROJECT,
    **dict.fromkeys(_PROJECT, _PROJECT),
    "directory": ("path",),
    "folder": ("directory", "path"),
    "path": ("directory",),
    "id": ("ids",),
    "name": ("symbol",),
    "query": ("symbol",),
    "symbol": ("query",),
    "text": ("content", "query"),
}


def snake_case(name: str) -> str:
    """`search-docs` and `searchDocs` as `search_docs`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()


def check_arguments(parameters: Iterable[Parameter], given: Mapping[str, Any]) -> Arguments:
    """Fill defaults, understand camelCase and what other tools call it, coerce what is unambiguous, clamp numbers;
    refuse the rest."""
    known = {parameter.name: parameter for parameter in parameters}
    arguments: Arguments = {name: p.default for name, p in known.items() if not p.required}
    arguments |= {parameter.name: _coerce(parameter, value) for parameter, value in _understood(known, given)}
    missing = [name for name in known if name not in arguments]
    if missing:
        raise BadArgument(f"Missing argument '{missing[0]}'", hint=known[missing[0]].description)
    return arguments


def _understood(known: Mapping[str, Parameter], given: Mapping[str, Any]) -> Iterator[tuple[Parameter, Any]]:
    """The parameter that each given name means, with the value."""
    understood = {alias: parameter for parameter in known.values() for alias in parameter.aliases} | dict(known)
    for name, value in given.items():
        plain = snake_case(name)
        meant = next((each for each in _SYNONYMS.get(plain, ()) if each in known and each not in given), "")
        parameter = understood.get(name) or understood.get(plain) or known.get(meant)
        if parameter is None:
            shown = name[:_SHOWN_CHARACTERS]
            raise BadArgument(f"Unknown argument '{shown}'", hint=f"Known: {', '.join(known) or 'none'}.")
        if value is not None:
            yield parameter, value


def _clamped(parameters: Iterable[Parameter], given: Mapping[str, Any]) -> list[str]:
    """A note on each number that is out of range."""
    known = {parameter.name: parameter for parameter in parameters}
    numbers = [(each, value) for each, value in _understood(known, given) if each.type == "integer"]
    taken = [(each.name, str(value)[:_SHOWN_CHARACTERS], _whole_number(each, value), each) for each, value in numbers]
    return [
        f"Note: {name}={shown} is out of range: {_clamp(parameter, number)} was taken."
        for name, shown, number, parameter in taken
        if _clamp(parameter, number) != number
    ]


def _coerce(parameter: Parameter, value: Any) -> Value:
    match parameter.type, value:
        case "string", str():
            result: Value = value
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
                f"Argument '{parameter.name}' must be an array of strings; it has an item of type {other}",
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
    """The items of a list that was sent as one string: a JSON array or comma-separated words."""
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
        shown = repr(value)[:_SHOWN_CHARACTERS]
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
    """Refuse lone surrogates, which JSON's escapes and odd bytes of a command line can make: nothing can store them."""
    texts = value if isinstance(value, list) else [value] if isinstance(value, str) else []
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise BadArgument(
            f"Argument '{parameter.name}' is no valid text: it holds half of a character", hint="Send it as UTF-8."
        ) from None


def _check_choice(parameter: Parameter, value: Value) -> None:
    if not parameter.choices:
        return
    for item in value if isinstance(value, list) else [value]:
        if item not in parameter.choices:
            raise BadArgument(
                f"Argument '{parameter.name}' cannot be {repr(item)[:_SHOWN_CHARACTERS]}",
                hint=f"Choose from {', '.join(parameter.choices)}.",
            )
