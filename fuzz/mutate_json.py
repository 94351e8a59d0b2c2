"""Mutate JSON documents so that they stay valid JSON.

Values get other types or odd strings, members are removed or repeated, and containers are nested deeply.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from random import Random

MAX_REPEATED_CHARACTERS = 50_000
_DEEP_VALUES = "@@deep@@"
_DEPTHS = (5, 50, 400, 1_500, 20_000)
_ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 1e308, 2**31, 2**63, 2**70, 10**400, "", " ", "\0", "\ud800", "a" * 5_000, "é" * 300, "..", "/", "#/", "#",
    "\u202e", "\x1b[2J", "{}", [], {}, [[]], {"": {}}, [None], {"$ref": "#"}, {"$ref": "#/"}, {"a": {"b": {"c": []}}}, ["x"] * 300, float("nan"),
    float("inf"), "2026-02-30T25:61:61Z", "https://[::1", "http://a:b@c:99999999/", "file:///etc/passwd", "🙂" * 20, "\r\n" * 50, "(" * 200,
)  # fmt: skip


def mutate_json(rng: Random, data: bytes, other: bytes) -> bytes | None:
    """Mutate one to five values of `data`; return None if it is not JSON."""
    if len(data) + len(other) > 2 * MAX_REPEATED_CHARACTERS:
        return None
    try:
        document = json.loads(data)
        donor = json.loads(other)
    except (ValueError, RecursionError):
        return None
    try:
        for _ in range(rng.randint(1, 5)):
            document = _mutate_value(rng, document, donor)
        text = json.dumps(document, ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, None, 1)))
    except (RecursionError, ValueError):
        return None
    depth = rng.choice(_DEPTHS)
    opening, closing = rng.choice((("[", "]"), ('{"a":', "}")))
    text = text.replace(f'"{_DEEP_VALUES}"', f"{opening * depth}0{closing * depth}")
    return text.encode("utf-8", "surrogatepass")


def _mutate_value(rng: Random, document: Any, donor: Any) -> Any:
    """Mutate one value of the document, in place if it is in a container."""
    places = list(_value_positions(document))
    if not places:
        return _replacement_value(rng, document, donor)
    holder, key = rng.choice(places)
    action = rng.randrange(8)
    if action == 0:
        del holder[key]
    elif action == 1 and isinstance(holder, dict):
        holder[_new_key(rng, key, donor)] = holder.pop(key)
    elif action == 2:
        _add_member(rng, holder, _copy(holder[key]))
    else:
        holder[key] = _replacement_value(rng, holder[key], donor)
    return document


def _replacement_value(rng: Random, value: Any, donor: Any) -> Any:
    choice = rng.random()
    if choice < 0.05:
        return _DEEP_VALUES
    if choice < 0.25 and (places := list(_value_positions(donor))):
        holder, key = rng.choice(places)
        return _copy(holder[key])
    if choice < 0.35:
        return [value] if rng.random() < 0.5 else {"a": value}
    if choice < 0.55 and isinstance(value, str | list):
        times = min(rng.choice((2, 50, 1_000)), MAX_REPEATED_CHARACTERS // max(1, len(json.dumps(value))))
        return _copy(value * times)  # `value * times` repeats references to the same members, so they are copied.
    return _copy(rng.choice(_ODD_VALUES))


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _add_member(rng: Random, container: Any, member: Any) -> None:
    if isinstance(container, dict):
        container[f"k{rng.randrange(100)}"] = member
    else:
        container.append(member)


def _new_key(rng: Random, key: str, donor: Any) -> str:
    keys = [name for holder, name in _value_positions(donor) if isinstance(holder, dict)]
    return str(rng.choice([*keys, "", "\0", "$ref", key + " ", key * 50, "\ud800"]))


def _value_positions(document: Any) -> list[tuple[Any, Any]]:
    """Return the container and key of every value below the root."""
    sample_files: list[tuple[Any, Any]] = []
    pending = [document]
    while pending and len(sample_files) < 3_000:
        value = pending.pop()
        entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, child in entries:
            sample_files.append((value, key))
            if isinstance(child, dict | list):
                pending.append(child)
    return sample_files
