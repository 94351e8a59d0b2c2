"""Edits of single entries in YAML block mappings. Entire lines are changed, so comments are preserved."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from deltos.errors import BadConfiguration

if TYPE_CHECKING:
    from deltos.clients.json_edit import Path
    from deltos.clients.jsonc import Json

_INDENT = 2  # default indentation of entries


def read(text: str) -> Json:
    """Parse YAML text to plain data. Raise BadConfiguration if it is invalid."""
    import yaml  # deferred import: only clients with YAML files need it

    try:
        value = yaml.safe_load(text)
        return {} if value is None else cast("Json", value)
    except (yaml.YAMLError, RecursionError, ValueError) as exc:
        raise BadConfiguration(" ".join(str(exc).split())[:200] or "it is nested too deeply") from None


def put(text: str, path: Path, value: Json) -> str:
    """Set `value` at `path`, which leads to an entry of a top-level mapping or a value inside it."""
    servers, name, *inside = (str(step) for step in path)
    if inside:
        entry = _parse_entry(text, servers, name)
        holder = entry
        for step in inside[:-1]:
            holder = cast("dict[str, Json]", holder[step])
        holder[inside[-1]] = value
        value = entry
    return _insert_entry(
        remove(text, (servers, name)) if _has_entry(text, servers, name) else text, servers, name, value
    )


def remove(text: str, path: Path) -> str:
    """Remove the entry at `path`, and the enclosing mapping if it becomes empty."""
    servers, name = (str(step) for step in path)
    lines = text.splitlines(keepends=True)
    header, end = _find_block(lines, servers)
    if header is None:
        return text
    indent = _child_indent(lines[header + 1 : end])
    start = next((at for at in range(header + 1, end) if _is_key(lines[at], name, indent)), None)
    if start is None:
        raise BadConfiguration("its layout cannot be edited safely")
    stop = next((at for at in range(start + 1, end) if _content_indent(lines[at]) <= indent), end)
    while stop - 1 > start and not lines[stop - 1].strip():  # blank lines belong to the next entry
        stop -= 1
    rest = [*lines[header + 1 : start], *lines[stop:end]]
    if not any(_content_indent(line) < _BLANK_LINE_INDENT for line in rest):
        return "".join([*lines[:header], *lines[end:]])
    return "".join([*lines[:start], *lines[stop:]])


def _insert_entry(text: str, servers: str, name: str, value: Json) -> str:
    import yaml

    lines = text.splitlines(keepends=True)
    header, end = _find_block(lines, servers)
    if header is None:
        gap = "" if not text or text.endswith("\n") else "\n"
        lines, header, end = [*lines, gap, f"{servers}:\n"], len(lines) + 1, len(lines) + 2
    elif lines[header].partition("#")[0].split(":", 1)[1].strip() in ("{}", "null", "~"):
        lines[header] = f"{servers}:\n"
    indent = _child_indent(lines[header + 1 : end])
    dumped = yaml.safe_dump({name: value}, sort_keys=False, default_flow_style=False, allow_unicode=True)
    block = [" " * indent + line for line in dumped.splitlines(keepends=True)]
    return "".join([*lines[: header + 1], *block, *lines[header + 1 :]])


def _find_block(lines: list[str], servers: str) -> tuple[int | None, int]:
    """Return the line indexes of a top-level key and of the first line after the block of that key."""
    header = next((at for at, line in enumerate(lines) if _is_key(line, servers, 0)), None)
    if header is None:
        return None, len(lines)
    end = next((at for at in range(header + 1, len(lines)) if _content_indent(lines[at]) == 0), len(lines))
    return header, end


_BLANK_LINE_INDENT = 1_000  # indentation assigned to blank lines and comments, so that they do not end a block


def _content_indent(line: str) -> int:
    """Return the indentation of a line. Blank lines and comments have a very large indentation."""
    inner = line.lstrip(" ")
    return _BLANK_LINE_INDENT if not inner.strip() or inner.startswith("#") else len(line) - len(inner)


def _child_indent(lines: list[str]) -> int:
    return min(
        (indent for line in lines if 0 < (indent := _content_indent(line)) < _BLANK_LINE_INDENT),
        default=_INDENT,
    )


def _is_key(line: str, name: str, indent: int) -> bool:
    key = line.partition(":")[0]
    return ":" in line and len(key) - len(key.lstrip(" ")) == indent and key.strip().strip("\"'") == name


def _has_entry(text: str, servers: str, name: str) -> bool:
    table = read(text)
    held = table.get(servers) if isinstance(table, dict) else None
    return isinstance(held, dict) and name in held


def _parse_entry(text: str, servers: str, name: str) -> dict[str, Json]:
    table = cast("dict[str, dict[str, dict[str, Json]]]", read(text))
    return dict(table[servers][name])
