"""Definitions that Universal Ctags finds, with qualified names in the notation of their languages."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

CTAGS_TIMEOUT_SECONDS = 300
MAX_FILE_BYTES = 400_000

# Kinds of Universal Ctags that `find_symbol` supports, by language. Local variables, parameters, macro arguments,
# labels, anonymous scopes, and members of data formats are not supported and not compared.
KINDS = {
    "C": "function struct union enum typedef macro",
    "C++": "function class struct union enum typedef",
    "C#": "class interface method struct enum property",
    "Go": "func type struct interface methodSpec",
    "Java": "class interface method enum annotation",
    "JavaScript": "class function method generator",
    "Kotlin": "class interface method object",
    "Lua": "function",
    "Perl": "subroutine",
    "PHP": "class interface trait function",
    "Python": "class function member",
    "Ruby": "class module method singletonMethod",
    "Rust": "function struct enum interface typedef method macro module",
    "TypeScript": "class interface function method enum alias",
    "Elixir": "module function",
    "ObjectiveC": "class method protocol interface",
    "Julia": "function struct",
    "PowerShell": "function",
    "Sh": "function",
    "Haskell": "function type",
    "OCaml": "type",
    "Erlang": "function",
}
_SEPARATORS = {"C++": "::", "Rust": "::", "PHP": "\\", "Ruby": "::", "Perl": "::"}
_SCRIPT_LANGUAGES = frozenset({"JavaScript", "TypeScript"})
_MODIFIERS = (
    r"(?:(?:public|private|protected|static|declare|abstract|async|export|default|override|readonly|get|set)\s+|\*\s*)*"
)
_EXPLICIT_DEFINITION = (
    rf"(?:^|[;}}])\s*{_MODIFIERS}(?:class|function\*?|interface|enum|type)\s+NAME(?![\w$])",
    r"(?<![\w$])NAME\s*[:=]\s*(?:async\s*)?(?:function(?![\w$])|class(?![\w$])|\([^()]*\)\s*=>|[\w$]+\s*=>)",
    rf"^\s*{_MODIFIERS}NAME\s*(?:<[^(]*>)?\([^()]*\)[^;=]*\{{\s*$",
)
_ANONYMOUS = re.compile(r"(?i)__anon|anonymous|^\W|[<>(){}\s\"'`$*&,|@=]")
_LOCAL_SCOPES = frozenset({"function", "method", "member", "func", "subroutine", "singletonMethod"})


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition, and the name by which a developer would search for it."""

    language: str
    kind: str
    simple: str
    qualified: str
    path: str
    line: int
    is_member: bool = False  # whether the definition is a member of a class


def definitions(root: Path, paths: Sequence[str] | None = None) -> Iterator[Definition]:
    """Yield the definitions of a source tree, or of some of its files, that can be compared."""
    languages = ",".join(KINDS)
    command = [
        "ctags", "--options=NONE", "--links=no", "--output-format=json", "--fields=+neKsSlr", "--sort=no",
        f"--languages={languages}", "--map-Sh=-.m4", "-f", "-", *(("-R", ".") if paths is None else ("-L", "-")),
    ]  # fmt: skip
    listed = "\n".join(path for path in paths or () if "\n" not in path).encode()
    done = subprocess.run(
        command, cwd=root, input=listed, capture_output=True, timeout=CTAGS_TIMEOUT_SECONDS, check=False
    )
    for line in done.stdout.splitlines():
        try:
            tag = json.loads(line)
        except ValueError:
            continue  # The name is not valid UTF-8.
        definition = _parse_tag(root, tag)
        if definition is not None:
            yield definition


def _parse_tag(root: Path, tag: dict[str, object]) -> Definition | None:
    language, kind, name = str(tag.get("language", "")), str(tag.get("kind", "")), str(tag.get("name", ""))
    is_wanted = kind in KINDS.get(language, "").split() and tag.get("roles", "def") == "def"
    if not is_wanted or not name or _ANONYMOUS.search(name) or (language in _SCRIPT_LANGUAGES and name == "exports"):
        return None
    scope = str(tag.get("scope", ""))
    is_local = str(tag.get("scopeKind")) in _LOCAL_SCOPES
    if scope and (is_local or _ANONYMOUS.search(scope)):
        return None
    path = str(tag["path"]).removeprefix("./")
    is_member = bool(scope) and str(tag.get("scopeKind")) not in {"package", "namespace", "module"}
    line = int(str(tag["line"]))
    is_scope_known = not _is_indented_more(root / path, line, language, scope)
    qualified = _qualified_name(root, language, kind, name, scope, path, is_member=is_member)
    definition = Definition(language, kind, name, qualified if is_scope_known else name, path, line, is_member)
    return definition if language not in _SCRIPT_LANGUAGES or _is_explicitly_defined(root, definition) else None


def _is_indented_more(path: Path, line: int, language: str, scope: str) -> bool:
    """Return whether a definition is indented more than its scope explains.

    ctags misreads such code in Rust and Ruby.
    """
    width = {"Rust": 4, "Ruby": 2}.get(language)
    lines = _lines_of(path) if width else []
    if width is None or line > len(lines):
        return False
    text = lines[line - 1]
    return len(text) - len(text.lstrip(" ")) > width * len([part for part in re.split(r"::|\.", scope) if part])


def _is_explicitly_defined(root: Path, definition: Definition) -> bool:
    """Return whether a line of JavaScript defines the name as a class, a function or a method.

    ctags also reports objects as classes, properties with any value as methods, and named function expressions, whose
    names exist only within themselves.
    """
    lines = _lines_of(root / definition.path)
    text = lines[definition.line - 1] if definition.line <= len(lines) else ""
    return any(re.search(form.replace("NAME", re.escape(definition.simple)), text) for form in _EXPLICIT_DEFINITION)


@lru_cache(maxsize=64)
def _lines_of(path: Path) -> list[str]:
    return path.read_text("utf-8", "replace").split("\n")


def _qualified_name(root: Path, language: str, kind: str, name: str, scope: str, path: str, *, is_member: bool) -> str:
    """Return the qualified name in the notation of the language."""
    separator = _SEPARATORS.get(language, ".")
    parts = [part for part in re.split(r"::|\\|\.|/", scope) if part]
    prefix = _module_name(root, language, path)
    if language in _SCRIPT_LANGUAGES and scope.startswith(("module.exports", "exports")):
        return name
    if language == "PHP" and is_member:
        return f"{separator.join(parts)}::{name}"
    if language == "Ruby" and scope and kind in {"method", "singletonMethod"}:
        return f"{separator.join(parts)}{'#' if kind == 'method' else '.'}{name}"
    return separator.join((*prefix, *parts, name))


def _module_name(root: Path, language: str, path: str) -> tuple[str, ...]:
    """Return the package or module of a file if ctags omits it from the scope in this language."""
    if language == "Java":
        package = _java_package(root / path)
        return tuple(package.split(".")) if package else ()
    steps = [*path.split("/")]
    stem = steps.pop().rpartition(".")[0]
    if language == "Python":
        if not stem.isidentifier():
            return ()
        packages = _package_steps(root, steps)
        return (*packages, stem) if stem != "__init__" else tuple(packages)
    if language == "Rust" and "src" in steps:
        inner = steps[len(steps) - steps[::-1].index("src") :]
        return ("crate", *inner, *(() if stem in {"lib", "main", "mod"} else (stem,)))
    return ()


def _package_steps(root: Path, steps: list[str]) -> list[str]:
    """Return the folders above a Python module that are packages."""
    first = len(steps)
    while first and (root.joinpath(*steps[:first]) / "__init__.py").is_file():
        first -= 1
    return steps[first:]


@cache
def _java_package(path: Path) -> str:
    try:
        text = path.read_text("utf-8", "replace")
    except OSError:
        return ""
    found = re.search(r"^\s*package\s+([\w.]+)\s*;", text, re.MULTILINE)
    return found[1] if found else ""
