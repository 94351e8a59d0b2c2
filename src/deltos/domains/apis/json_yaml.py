"""Parse JSON or YAML with limits on depth and aliases; all YAML scalars except null are returned as strings."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from deltos.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deltos.domains.apis.model import Json

MAX_DEPTH = 400  # maximum nesting level of a document
MAX_ALIASED_NODES = 1_000_000  # maximum number of values in a document after all YAML aliases are expanded
MAX_NAMED_DUPLICATES = 10
_TOO_DEEP_MESSAGE = "The description is nested too deeply to be read"
_NO_KEY = object()  # means that a mapping has no key without a value
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Tree:
    """A parsed document, with warnings about irregularities such as duplicate keys."""

    value: Json
    warnings: tuple[str, ...] = ()


def decode_text(data: bytes) -> str:
    """Return a file decoded as UTF-16 or UTF-8; invalid bytes are replaced."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")


def load_tree(data: bytes) -> Tree:
    """Parse JSON or YAML; raise SourceError with the line number if it is invalid."""
    if data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
        return _load_json(data)
    return load_yaml(decode_text(data))


def _load_json(data: bytes) -> Tree:
    """Parse JSON, leniently if it is not strict JSON."""
    try:
        value = msgspec.json.decode(data)
    except RecursionError:
        raise SourceError(_TOO_DEEP_MESSAGE, hint=f"The limit is about {MAX_DEPTH} levels.") from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _load_lenient_json(data)
    return Tree(value)


def _load_lenient_json(data: bytes) -> Tree:
    """Parse JSON that has a byte order mark, control characters, NaN, comments or trailing commas."""
    text = decode_text(data)
    try:
        return Tree(_replace_lone_surrogates(json.loads(text, strict=False)), ("The file is not strict JSON.",))
    except RecursionError:
        raise SourceError(_TOO_DEEP_MESSAGE, hint=f"The limit is about {MAX_DEPTH} levels.") from None
    except ValueError as exc:
        raise SourceError(f"Not valid JSON: {exc}", hint="The file may be truncated; fetch it again.") from None


def _replace_lone_surrogates(value: Json) -> Json:
    r"""Replace lone surrogates such as `\\ud800` in a value, because the database rejects them."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-8", "replace"))
    return value


class _DuplicateMerger:
    """Merges the values of keys that occur twice in a mapping, and records warnings."""

    def __init__(self) -> None:
        self.keys: list[str] = []

    def warnings(self) -> tuple[str, ...]:
        """Return warnings about the first duplicate keys, and about the number of other duplicate keys."""
        named = tuple(
            f"'{key}' occurs twice in one mapping; both were used." for key in self.keys[:MAX_NAMED_DUPLICATES]
        )
        more = len(self.keys) - len(named)
        return (*named, f"{more} more keys occur twice; all were used.") if more else named

    def replace(self, mapping: dict[str, Any], key: str, value: Any) -> None:
        """Replace the value of `key`, or merge both values if they are mappings."""
        self.keys.append(key)
        first = mapping[key]
        mapping[key] = {**first, **value} if isinstance(first, dict) and isinstance(value, dict) else value


def load_yaml(text: str) -> Tree:
    """Parse the first YAML document of `text`."""
    import yaml  # imported here, because few calls read a YAML file

    try:
        return _YamlBuilder().build(_parser_events(yaml, text))
    except yaml.reader.ReaderError:
        cleaned = _UNPRINTABLE.sub(" ", text)
        if cleaned == text:
            raise SourceError("Not valid YAML: it contains characters that YAML forbids") from None
        tree = load_yaml(cleaned)
        return Tree(tree.value, ("Unprintable characters were replaced.", *tree.warnings))
    except yaml.YAMLError as exc:
        raise SourceError(f"Not valid YAML: {_yaml_problem(exc)}", hint="Check whether the file is complete.") from exc


def _parser_events(yaml: Any, text: str) -> Iterator[Any]:
    """Yield PyYAML's parser events."""
    # Use the parser events directly, because PyYAML's resolver and composer take four times as long.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)(text)
    try:
        while loader.check_event():
            yield loader.get_event()
    finally:
        loader.dispose()


def _yaml_problem(exc: Exception) -> str:
    """Return the line number and the description of a YAML error."""
    mark = getattr(exc, "problem_mark", None)
    problem = getattr(exc, "problem", None) or "cannot be read"
    return f"line {mark.line + 1}: {problem}" if mark else str(problem)


class _YamlBuilder:
    """Builds a tree from parser events without recursion, so that depth and aliases can be limited."""

    def __init__(self) -> None:
        self.duplicates = _DuplicateMerger()
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.nodes = 0
        self.aliased = 0

    def build(self, events: Iterator[Any]) -> Tree:
        """Return the tree of one document, built from parser events."""
        parents: list[tuple[Any, Any, str | None, int]] = []
        container: Any = []
        key: Any = _NO_KEY
        for event in events:
            name = event.__class__.__name__
            if name == "ScalarEvent":
                value: Any = event.value
                if not event.style and value in _NULL_SCALARS and event.implicit[0]:
                    value = None if key is not _NO_KEY or isinstance(container, list) else value
                self.nodes += 1
                if event.anchor:
                    self.anchors[event.anchor] = (value, 1)
            elif name == "MappingStartEvent" or name == "SequenceStartEvent":
                if len(parents) >= MAX_DEPTH:
                    raise SourceError(_TOO_DEEP_MESSAGE, hint=f"The limit is {MAX_DEPTH} levels.")
                parents.append((container, key, event.anchor, self.nodes))
                container, key = {} if name == "MappingStartEvent" else [], _NO_KEY
                continue
            elif name == "MappingEndEvent" or name == "SequenceEndEvent":
                value = _apply_merge_key(container) if name == "MappingEndEvent" and "<<" in container else container
                container, key, anchor, start = parents.pop()
                self.nodes += 1
                if anchor:
                    self.anchors[anchor] = (value, self.nodes - start)
            elif name == "AliasEvent":
                value = self.resolve_alias(event.anchor)
            elif name == "DocumentEndEvent" and container:
                return Tree(container[0], self.duplicates.warnings())
            else:
                continue
            key = self.add_value(container, key, value)
        return Tree(container[0] if container else None, self.duplicates.warnings())

    def add_value(self, container: Any, key: Any, value: Any) -> Any:
        """Add a value or key to the container that is being read.

        Returns the key that waits for a value, or `_NO_KEY` if there is none.
        """
        if container.__class__ is list:
            container.append(value)
            return _NO_KEY
        if key is _NO_KEY:
            return value if isinstance(value, str) else json.dumps(value)[:200]
        if key in container:
            self.duplicates.replace(container, key, value)
        else:
            container[key] = value
        return _NO_KEY

    def resolve_alias(self, name: str) -> Any:
        """Return the value of a YAML alias; raise SourceError if all aliased values together are too large."""
        value, size = self.anchors.get(name, (f"*{name}", 1))
        self.aliased += size
        self.nodes += size
        if self.aliased > MAX_ALIASED_NODES:
            raise SourceError(
                "The YAML's aliases expand to more than a million values",
                hint="The file may be an alias bomb.",
            )
        return value


_NULL_SCALARS = frozenset(("", "~", "null", "Null", "NULL"))


def _apply_merge_key(mapping: dict[str, Any]) -> dict[str, Any]:
    """Apply the YAML merge key `<<`; keys that the mapping itself contains take precedence."""
    parents = mapping.pop("<<")
    for parent in parents if isinstance(parents, list) else [parents]:
        if isinstance(parent, dict):
            mapping = {**parent, **mapping}
    return mapping
