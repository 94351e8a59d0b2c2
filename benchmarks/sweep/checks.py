"""Invariants of an index: each check records the violations that it finds in one repository."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.sweep.files import code_lines, is_misread
from deltos.languages.table import detect

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.sweep.client import Server
    from benchmarks.sweep.names import Definition

NAMES_PER_LANGUAGE = 25
MAX_OUTLINED_FILES = 15
MAX_REFERENCED_SYMBOLS = 12
MAX_PARSED_BYTES = 200_000
_LINE_OF_DEFINITION = re.compile(r"^def (\S+) (.+?):(\d+)-(\d+) ")
LINE_OF_USE = re.compile(r"^ (\d[\d,:|…]*) (\S+) (.*)$")
_OUTLINE_ENTRY = re.compile(r"^\s+(\d+)-(\d+)(?: (.*))?$")
_RECEIVER = re.compile(r"(\w*)[)\]]*\s*(?:\.|->)\s*$")
_CALL_FORM = re.compile(r"\S+\(")  # a name before a parenthesis, even if it is a keyword or an operator
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
# Definitions that ctags may not find: methods of an object, and functions that are assigned to a name.
_OTHER_DEFINITION_FORMS = re.compile(
    r"[\w$]+\s*(?:=\s*(?:async\s+)?(?:function\b|[\w$]+\s*=>|\([^()]*\)\s*=>)|\([^()]*\)\s*\{\s*$)"
)
_KEYWORDS = frozenset(
    "class struct interface enum type func function def fn method trait impl union object namespace module public"
    " private protected static final abstract const let var void int uint8 string bool export default async extern"
    " typedef".split()
)


@dataclass(frozen=True, slots=True)
class Violation:
    """A violated invariant, with the details needed to reproduce it."""

    check: str
    place: str
    detail: str


@dataclass(slots=True)
class Result:
    """Numbers of checks and the violations in one repository."""

    violations: list[Violation] = field(default_factory=list)
    checked: Counter[str] = field(default_factory=Counter)

    def check(self, name: str, place: str, detail: str, *, holds: bool) -> None:
        """Count a check. Record a violation if the checked condition does not hold."""
        self.checked[name] += 1
        if not holds:
            self.violations.append(Violation(name, place, detail[:300]))


def check_errors(result: Result, indexed: dict[str, Any]) -> None:
    """Check 1: no file is skipped because of an error in Deltos."""
    result.checked["errors"] += max(1, indexed["files_indexed"])
    for error in indexed["errors"]:
        text = error if isinstance(error, str) else f"{error.get('path')}: {error.get('reason')}"
        result.violations.append(Violation("errors", text.partition(":")[0], text[:300]))


def sample_definitions(every: list[Definition], seed: int) -> tuple[list[Definition], Counter[str]]:
    """Return a sample of the definitions that ctags finds, equally many of each language.

    Also return how often each name is defined.
    """
    by_language: dict[str, list[Definition]] = defaultdict(list)
    counts: Counter[str] = Counter()
    for definition in every:
        by_language[definition.language].append(definition)
        counts[definition.simple] += 1
    chosen: list[Definition] = []
    for rows in by_language.values():
        chosen += random.Random(seed).sample(rows, min(NAMES_PER_LANGUAGE, len(rows)))
    return chosen, counts


def check_names(result: Result, server: Server, root: Path, sample: list[Definition]) -> None:
    """Check 3: the definitions that ctags finds are found by their simple names and by their qualified names."""
    for each in sample:
        lines = (root / each.path).read_text("utf-8", "replace").split("\n")
        if each.line > len(lines) or is_misread(each, lines[each.line - 1]):
            continue
        for form, name in (("simple", each.simple), ("qualified", each.qualified)):
            found, text = _is_found(server, name, each)
            place = f"{each.path}:{each.line}"
            result.check(f"names {form} {each.language}", place, f"{name} ({each.kind}): {text[:120]}", holds=found)


def _is_found(server: Server, name: str, wanted: Definition) -> tuple[bool, str]:
    text, _, _ = server.call("find_symbol", symbol=name, limit=200, path=wanted.path)
    for line in text.splitlines():
        match = _LINE_OF_DEFINITION.match(line)
        if match and match[2] == wanted.path and int(match[3]) - 3 <= wanted.line <= int(match[4]):
            return True, ""
        # Overload signatures of TypeScript belong to the implementation that follows them.
        is_overload = wanted.language == "TypeScript" and wanted.kind in {"function", "method"}
        if match and is_overload and match[2] == wanted.path and wanted.line < int(match[3]):
            return True, ""
    return False, text


def check_outlines(result: Result, server: Server, paths: list[str]) -> None:
    """Check 4: every outline entry has a name."""
    for path in paths[:MAX_OUTLINED_FILES]:
        text, _, is_error = server.call("get_context", symbol=path)
        if is_error:
            continue
        for line in text.splitlines():
            match = _OUTLINE_ENTRY.match(line)
            if match:
                entry = (match[3] or "").partition(" — ")[0]
                is_named = bool(set(_WORD.findall(entry)) - _KEYWORDS or _CALL_FORM.match(entry))
                result.check("outline", f"{path}:{match[1]}", line.strip(), holds=is_named)


def check_references(
    result: Result, server: Server, root: Path, sample: list[Definition], counts: Counter[str]
) -> None:
    """Checks 4, 5, 6: shown lines equal the lines of the file, and a "complete" list has every line with the name."""
    for each in sample[:MAX_REFERENCED_SYMBOLS]:
        text, _, is_error = server.call("find_references", symbol=f"{each.path}:{each.line}", limit=200, tests=True)
        if is_error:
            continue
        shown: set[tuple[str, int]] = set()
        path = ""
        for line in text.splitlines():
            match = LINE_OF_USE.match(line)
            if match and path:
                for number in used_lines(match[1]):
                    shown.add((path, number))
                    holds = _equals_source_line(root, path, number, match[2], match[3])
                    result.check("shown lines", f"{path}:{number}", line, holds=holds)
            elif len(line) < 250 and (root / line.partition(" (")[0].strip()).is_file():
                path = line.partition(" (")[0].strip()
        claims = [line for line in text.splitlines()[:6] if "No other uses" in line or "; complete" in line]
        place = f" {each.path}:{each.line}-"
        is_asked = any(line.startswith("def ") and place in line for line in text.splitlines()[:3])
        # Only unique names are checked, because other lines with the name may use another definition.
        is_only_one = counts[each.simple] == 1
        if claims and is_asked and is_only_one and "howing" not in text[:40]:
            for place in _missing_lines(root, each, shown):
                result.check("complete", place, f"{each.simple} of {each.path}:{each.line}", holds=False)
            result.checked["complete"] += 1


def used_lines(places: str) -> list[int]:
    """Return the line numbers in a row of uses: `12,14`.

    In `12:5,9`, several uses on line 12 are listed with their columns.
    """
    numbers = []
    for place in places.replace("|", ",").split(","):
        line, colon, _ = place.partition(":")
        if colon or ":" not in places:
            numbers.append(int(line))
    return numbers


def _equals_source_line(root: Path, path: str, number: int, kind: str, shown: str) -> bool:
    """Return whether a shown line equals that line of the file.

    The kind of use precedes the text, unless the text starts with it; the enclosing definition follows after two
    spaces.
    """
    lines = (root / path).read_text("utf-8", "replace").split("\n")
    if number > len(lines):
        return False
    actual = " ".join(lines[number - 1].split())
    forms = (shown, shown.rpartition("  ")[0], f"{kind} {shown}", f"{kind} {shown.rpartition('  ')[0]}")
    return any(actual.startswith(" ".join(form.partition("…")[0].split())) for form in forms if form.strip())


def _missing_lines(root: Path, definition: Definition, shown: set[tuple[str, int]]) -> list[str]:
    """Return the lines of code that contain the name but were not listed.

    If the name has several definitions, return no lines.
    """
    missing = []
    pattern = re.compile(rf"(?<![\w$]){re.escape(definition.simple)}(?![\w$])")
    language = detect(definition.path)
    for path in sorted(root.rglob(f"*{'.' + definition.path.rpartition('.')[2]}")):
        name = path.relative_to(root).as_posix()
        if language is None or not path.is_file() or path.is_symlink() or path.stat().st_size > MAX_PARSED_BYTES:
            continue
        data = path.read_bytes()
        if definition.simple.encode() not in data:
            continue
        for number, line in enumerate(code_lines(language, data), 1):
            is_definition = name == definition.path and number == definition.line
            uses = [] if is_definition else [*pattern.finditer(line)]
            if any(_OTHER_DEFINITION_FORMS.match(line[found.start() :]) for found in uses):
                return []
            if (name, number) in shown:
                continue
            if any(_may_refer(definition, line[: found.start()], data) for found in uses):
                missing.append(f"{name}:{number}")
    return missing


def _may_refer(definition: Definition, before: str, data: bytes) -> bool:
    """Return whether a name may refer to a definition, given the text before the name and the file.

    `client.close` does not refer to a function `close` outside of classes, unless `client` is its module, nor to a
    method if `client` is an imported module.
    """
    if definition.kind == "property" and before.rstrip().endswith("new"):
        return False  # The line uses a type with the name of the property.
    receiver = _RECEIVER.search(before)
    if receiver and receiver[1] and re.search(rf"(?m)^\s*(?:import|from)\b.*\b{receiver[1]}\b".encode(), data):
        return receiver[1] in definition.path
    stem = definition.path.rpartition("/")[2].partition(".")[0]
    return definition.is_member or receiver is None or receiver[1] in {stem, *definition.path.split("/")[-2:-1]}


def check_hits(result: Result, server: Server, root: Path, sample: list[Definition]) -> None:
    """Check 5: the code in a search result equals the text of the file."""
    for each in sample[:MAX_REFERENCED_SYMBOLS]:
        words = " ".join(re.findall(r"[A-Z]?[a-z]+|[A-Z]+", each.simple)) or each.simple
        for query in (each.simple, words):
            _, data, is_error = server.call("search_code", query=query, limit=5)
            for hit in () if is_error or not data else data["results"][:1]:
                lines = (root / hit["file_path"]).read_text("utf-8", "replace").split("\n")
                allowed = {" ".join(line.split()) for line in lines}
                place = f"{hit['file_path']}:{hit['start_line']}"
                has_name = bool(hit["file_path"]) and hit["start_line"] > 0
                result.check("hit place", place, str(hit)[:200], holds=has_name)
                shown = (hit["content"] or "").split("\n")
                for line in (
                    shown if len(shown) > 1 else ()
                ):  # A result that shows one line may contain a signature with documentation.
                    text = " ".join(line.split())
                    if text and "…" not in text:
                        result.check("hit lines", place, text, holds=any(text in one for one in allowed))
