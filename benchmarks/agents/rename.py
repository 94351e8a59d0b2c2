"""Rename the definitions of a project (identifiers, files and folders) by a seeded map; line numbers do not change.

    python -m benchmarks.agents.rename SOURCE TARGET --seed 7 --brand rq

A model that saw the project in training does not recognise the result. Names of the language and of dependencies stay
unchanged. Prose stays unchanged too, except for renamed identifiers in it. No lines are added or
removed, so facts of the form `file:line` about the original are right for the copy after the paths are renamed.
"""

from __future__ import annotations

import argparse
import builtins
import collections
import hashlib
import io
import keyword
import logging
import pathlib
import random
import re
import subprocess
import sys
import threading
import types
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from deltos.languages.grammar import parse
from deltos.languages.table import detect
from deltos.languages.table import language as language_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import tree_sitter

SYNONYMS = Path(__file__).with_name("synonyms.txt")
LANGUAGES = {"python", "javascript", "typescript", "tsx", "go", "rust", "java"}
MIN_NAME_LENGTH = 4
MIN_BRAND_PREFIX = 4  # shorter project names are often the beginning of other words
MAX_FILE_BYTES = 1_000_000
# Files that identify the project and contain little else. They are not copied.
EXCLUDED_FILES = re.compile(
    r"(?i)^(licen[cs]e|copying|authors|contributors|maintainers|owners|codeowners|changelog|changes|history|news)"
)
EXCLUDED_FOLDERS = {".git", ".github", ".circleci", "node_modules", "changelog", "logo"}
KEPT_STEMS = set(
    "__init__ __main__ __about__ conftest setup index main mod lib src test tests docs doc readme contributing "
    "cargo go package "
    "pyproject makefile dockerfile tsconfig example examples cmd internal java resources pom build tox requirements "
    "com org io net "
    "github google spf13 etcd benches bin scripts metadata record wheel top_level entry_points".split()
)
_TOKEN = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_HYPHENED = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*(?:-[A-Za-z0-9_$]+)*")
_WORDS = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+")
_DEFINING_NODES = re.compile(
    r"definition|declaration|declarator|_item$|_spec$|parameter|variant|signature|specification"
)
_REFERRING_NODES = re.compile(r"import|export|^use_|call|package|preproc|implements")
_IMPORT_NODES = {
    "import_statement", "import_from_statement", "import_declaration", "import_spec", "use_declaration",
    "extern_crate_declaration", "package_clause", "package_declaration",
}  # fmt: skip
_MEMBER_ACCESS_NODES = {
    "attribute", "selector_expression", "member_expression", "field_access", "scoped_identifier", "method_invocation",
    "scoped_type_identifier", "qualified_type", "field_expression",
}  # fmt: skip
_INTERPOLATIONS = {"interpolation", "template_substitution", "format_expression"}
_BRAND_NAMES = (
    "velmora", "tarnix", "oskelo", "brivant", "quillon", "fendara", "morvek", "sabrell", "zentari", "holvane",
    "pellucor", "drastan", "ulvexa", "kormine", "wistrel", "jandoro", "ravelle", "thessan", "cindrel", "maltrix",
)  # fmt: skip
_EXTRA_WORDS = ("unit", "piece", "part", "aspect", "member", "side")
# Names in standard libraries of other languages. The names of Python are found by introspection.
_STANDARD_LIBRARY_NAMES = set(
    "Error String Read Write Close Open Print Printf Println Sprintf Fprintf Errorf Len Less Swap Add Done Wait "
    "Lock Unlock RLock "
    "RUnlock Seek Flush Reset Bytes Name Size Mode Sync Stat Next Scan Value Key True False None Some Result Option "
    "Self Vec Box Arc Rc "
    "Path PathBuf OsStr OsString Iterator Into From Default Clone Debug Display Send clone into from unwrap expect "
    "iter next "
    "collect push insert remove contains len is_empty as_ref as_str to_string default drop deref join split trim "
    "lines chars take skip find "
    "Object Integer Long Double Float Boolean Character Class Type Override List Map Set Collection ArrayList "
    "HashMap Exception "
    "IllegalArgumentException IllegalStateException IOException equals hashCode toString getClass length size "
    "isEmpty contains "
    "valueOf append charAt substring indexOf startsWith endsWith entrySet keySet values hasNext iterator close "
    "write read flush "
    "public private protected static final void abstract extends implements return this super interface "
    "Array Promise Map Set Object String Number Symbol Date RegExp JSON Math Error concat filter forEach includes "
    "reduce slice splice "
    "sort then catch finally replace match test toLowerCase toUpperCase prototype constructor undefined console "
    "process window document "
    "module exports require function const async await import export string number boolean unknown never void null "
    "true false any "
    "func struct type interface package range chan defer select switch case default fallthrough goto make append "
    "copy delete panic "
    "recover error byte rune uint uint8 uint16 uint32 uint64 int8 int16 int32 int64 float32 float64 bool uintptr "
    "string "
    "impl trait enum match where dyn crate self super pub unsafe static mut move loop while else break continue "
    "usize isize i32 u32 "
    "i64 u64 u8 char main init test tests self args kwargs cls name value data path file type index".split()
)


@cache
def python_names() -> frozenset[str]:
    """Return names that belong to Python: keywords, builtins, and members of common types and modules."""
    types_asked: list[object] = [
        object, str, bytes, int, float, list, dict, set, tuple, property, type, BaseException, OSError, io.BytesIO,
        io.TextIOWrapper, re, re.Pattern, re.Match, pathlib.Path, logging, logging.Logger, logging.Handler,
        logging.LogRecord, argparse.ArgumentParser, argparse.Namespace, subprocess, subprocess.Popen, threading,
        threading.Thread, threading.Event, collections, collections.OrderedDict, collections.deque, random, sys, types,
        types.FunctionType, types.CodeType, types.FrameType, types.GeneratorType,
    ]  # fmt: skip
    found = {name for asked in types_asked for name in dir(asked)}
    return frozenset(
        found | set(dir(builtins)) | set(keyword.kwlist) | set(keyword.softkwlist) | set(sys.stdlib_module_names)
    )


@dataclass(slots=True)
class Survey:
    """Names that a project defines, imports and uses."""

    defined: set[str] = field(default_factory=set)
    foreign: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)
    stems: set[str] = field(default_factory=set)

    def own_names(self) -> set[str]:
        """Return the names that only the project defines."""
        kept = self.foreign | python_names() | _STANDARD_LIBRARY_NAMES
        named = {
            name
            for name in self.defined
            if name not in kept and len(name.strip("_$")) >= MIN_NAME_LENGTH and not _is_dunder(name)
        }
        stems = {
            stem
            for stem in self.stems
            if stem not in kept and stem.lower() not in KEPT_STEMS and stem.lower() not in keyword.kwlist
        }
        return named | stems


@dataclass(frozen=True, slots=True)
class Renaming:
    """Maps old names to new ones in code, prose and paths."""

    names: Mapping[str, str]
    brands: Mapping[str, str]

    def name(self, token: str) -> str:
        """Rename a name in code."""
        return self.names.get(token) or self._rename_brand(token)

    def prose(self, text: str) -> str:
        """Rename identifiers in prose if they cannot be ordinary words.

        Also rename a text that consists only of a name.
        """
        if text in self.names:
            return self.names[text]
        parts: list[str] = []
        end = 0
        for found in _HYPHENED.finditer(text):
            parts += (text[end : found.start()], self._rename_prose_word(text, found))
            end = found.end()
        return "".join((*parts, text[end:]))

    def path(self, path: str) -> str:
        """Return the renamed path of a file."""
        return "/".join(self._rename_path_part(part) for part in path.split("/"))

    def _rename_path_part(self, part: str) -> str:
        if part.startswith("."):
            return part
        *stems, extension = part.split(".") if "." in part else (part, "")
        return ".".join(
            [*(self.names.get(stem) or self._rename_brand(stem) for stem in stems), *filter(None, [extension])]
        )

    def _rename_prose_word(self, text: str, found: re.Match[str]) -> str:
        token = found.group()
        if "-" in token:
            if token in self.names:
                return self.names[token]
            return "-".join(self._rename_brand(piece) for piece in token.split("-"))
        if token in self.names and (_is_distinct(token) or _is_in_code(text, found.start(), found.end())):
            return self.names[token]
        return self._rename_brand(token)

    def _rename_brand(self, token: str) -> str:
        """Rename a word of an identifier if it equals the project's name or begins with it."""
        if whole := self.brands.get(token.lower()):
            return _match_case(token, whole)
        parts: list[str] = []
        end = 0
        for word in _WORDS.finditer(token):
            parts += (token[end : word.start()], self.rename_brand_in_word(word.group()))
            end = word.end()
        return "".join((*parts, token[end:]))

    def rename_brand_in_word(self, word: str) -> str:
        """Rename a word that equals or starts with the project name."""
        for brand, new in self.brands.items():
            if word.lower() == brand or (len(brand) >= MIN_BRAND_PREFIX and word.lower().startswith(brand)):
                return _match_case(word[: len(brand)], new) + word[len(brand) :]
        return word


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_distinct(token: str) -> bool:
    """Return whether an identifier cannot be an ordinary word of a sentence."""
    inner = token.strip("_$")
    return (
        "_" in inner
        or token[0] in "_$"
        or any(letter.isupper() for letter in inner[1:])
        or (inner[:1].isupper() and len(inner) > 2)
    )


def _is_in_code(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    if (before and before in "/.`@") or (after and after in "`/("):
        return True
    if before and before == after and before in "'\"":
        return True
    # the name of a parameter in a docstring: `:param str name:`
    if after == ":" and "param" in text[text.rfind("\n", 0, start) + 1 : start]:
        return True
    return after == "=" or (after == "." and text[end + 1 : end + 2].isalpha())


def survey_names(root: Path) -> Survey:
    """Collect the names that the source files of a project define and import."""
    found = Survey()
    files = [path for path in files_to_copy(root) if _source_language(path)]
    everything = [path.relative_to(root) for path in files_to_copy(root)]
    shown = [part for path in everything for part in path.parts if not part.startswith(".")]
    found.stems = {part.split(".")[0] for part in shown} | {piece for part in shown for piece in part.split(".")[:-1]}
    found.stems = {stem for stem in found.stems if len(stem) >= MIN_NAME_LENGTH}
    inside = {part.split(".")[0] for path in everything for part in path.parts}
    for path in files:
        _NameCollector(found, inside, path.read_bytes()).read(_source_language(path))
    return found


def files_to_copy(root: Path) -> list[Path]:
    """Return the files of a project that are copied."""
    return [
        path
        for path in sorted(root.rglob("*"))
        if path.is_file()
        and not path.is_symlink()
        and path.stat().st_size <= MAX_FILE_BYTES
        and _is_copied(path.relative_to(root))
    ]


def _is_copied(path: Path) -> bool:
    return not EXCLUDED_FILES.match(path.name) and not any(part.lower() in EXCLUDED_FOLDERS for part in path.parts[:-1])


def _source_language(path: Path) -> str:
    language = detect(path.name)
    return language.name if language and language.name in LANGUAGES else ""


class _NameCollector:
    """Adds the names in the syntax tree of one file to a survey."""

    def __init__(self, survey_result: Survey, inside: set[str], data: bytes) -> None:
        self._survey = survey_result
        self._inside = inside
        self._data = data
        self._external: set[str] = set()

    def read(self, language: str) -> None:
        tree = parse_tree(language, self._data)
        if tree is None:
            return
        nodes = list(_walk_tree(tree.root_node))
        for node in nodes:
            if node.type in _IMPORT_NODES:
                self._collect_import(node)
        for node in nodes:
            self._collect_node(node)

    def _collect_node(self, node: tree_sitter.Node) -> None:
        if _is_name(node):
            self._survey.used.add(self._node_text(node))
        if node.type in _MEMBER_ACCESS_NODES:
            self._collect_member_access(node)
        elif node.type in ("class_definition", "impl_item", "class_declaration"):
            self._collect_inherited_members(node)
        for name in _defined_names(node):
            self._survey.defined.add(self._node_text(name))

    def _collect_import(self, node: tree_sitter.Node) -> None:
        names = [self._node_text(leaf) for leaf in _walk_tree(node) if _is_name(leaf)]
        if not self._is_own_import(node, names):
            self._survey.foreign.update(names)
            self._external.update(names)
            self._external.update(
                _last_part(self._node_text(leaf)) for leaf in _walk_tree(node) if "string" in leaf.type
            )

    def _is_own_import(self, node: tree_sitter.Node, names: list[str]) -> bool:
        text = self._node_text(node)
        quoted = re.search(r"""["']([^"'\n]*)["']""", text)
        if quoted:
            target = quoted.group(1)
            return target.startswith(".") or (target.count("/") > 1 and _last_part(target) in self._inside)
        if node.type in ("use_declaration", "extern_crate_declaration"):
            return bool(re.match(r"(pub(\([a-z]+\))?\s+)?use\s+(crate|self|super)\b", text))
        if re.match(r"from\s+\.", text) or node.type.startswith("package"):
            return True
        return bool(names) and names[0] in self._inside and names[0] not in sys.stdlib_module_names

    def _collect_member_access(self, node: tree_sitter.Node) -> None:
        first = node
        while first.children and not _is_name(first):
            first = first.children[0]
        if _is_name(first) and self._node_text(first) in self._external:
            self._survey.foreign.update(self._node_text(leaf) for leaf in node.children if _is_name(leaf))
            if node.parent is not None and node.parent.type == "call":
                self._survey.foreign.update(self._keyword_names(node.parent))

    def _keyword_names(self, call: tree_sitter.Node) -> Iterator[str]:
        arguments = call.child_by_field_name("arguments")
        for argument in arguments.children if arguments else ():
            name = argument.child_by_field_name("name")
            if argument.type == "keyword_argument" and name is not None:
                yield self._node_text(name)

    def _collect_inherited_members(self, node: tree_sitter.Node) -> None:
        bases = [node.child_by_field_name(name) for name in ("superclasses", "trait", "superclass", "interfaces")]
        named = {self._node_text(leaf) for base in bases if base for leaf in _walk_tree(base) if _is_name(leaf)}
        body = node.child_by_field_name("body")
        if body is None or not (
            named & self._external or (node.type == "impl_item" and named and not named & self._survey.defined)
        ):
            return
        for member in _walk_tree(body):
            if member.type in ("function_definition", "function_item", "method_declaration"):
                name = member.child_by_field_name("name")
                if name is not None:
                    self._survey.foreign.add(self._node_text(name))

    def _node_text(self, node: tree_sitter.Node) -> str:
        return self._data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _last_part(text: str) -> str:
    return re.split(r"[/.]", text.strip("\"'`"))[-1]


def _defined_names(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """Yield the nodes of the names that a node defines."""
    kind = node.type
    if kind in ("assignment", "short_var_declaration", "let_declaration", "augmented_assignment"):
        left = node.child_by_field_name("left") or node.child_by_field_name("pattern")
        if left is not None:
            yield from _assigned_names(left)
    elif kind in ("parameters", "lambda_parameters"):
        yield from filter(_is_name, node.children)
    elif kind in ("default_parameter", "typed_parameter", "typed_default_parameter", "required_parameter", "parameter"):
        target = (
            node.child_by_field_name("name")
            or node.child_by_field_name("pattern")
            or (node.children[0] if node.children else None)
        )
        if target is not None and _is_name(target):
            yield target
    elif _DEFINING_NODES.search(kind) and not _REFERRING_NODES.search(kind):
        yield from filter(_is_name, node.children_by_field_name("name"))


def _assigned_names(left: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    if _is_name(left):
        yield left
    elif left.type == "attribute":
        first, name = left.children[0], left.child_by_field_name("attribute")
        if name is not None and first.type == "identifier" and first.text in (b"self", b"cls"):
            yield name
    elif left.type in ("pattern_list", "tuple_pattern", "expression_list", "identifier_pattern"):
        for child in left.children:
            yield from _assigned_names(child)


def _is_name(node: tree_sitter.Node) -> bool:
    return not node.children and node.type.endswith("identifier")


def _walk_tree(root: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def parse_tree(language: str, data: bytes) -> tree_sitter.Tree | None:
    """Parse a source with a long time limit."""
    row = language_named(language)
    return parse(row, data, limit_seconds=20) if row else None


def make_renaming(found: Survey, seed: int, brands: Iterable[str]) -> Renaming:
    """Choose a new name for each name that only this project defines. The same seed always gives the same names."""
    branded = _brand_names(seed, brands)
    taken = set(found.used) | found.foreign | found.defined | set(python_names()) | _STANDARD_LIBRARY_NAMES
    names: dict[str, str] = {}
    for name in sorted(found.own_names()):
        new = _new_name(name, seed, branded)
        if new == name and name not in found.defined:
            continue  # A word of a file name is kept if it has no synonym.
        for ending in (*_EXTRA_WORDS, *(f"{ending}{number}" for number in range(2, 90) for ending in _EXTRA_WORDS)):
            if new != name and new not in taken:
                break
            new = _join_like(name, [*_split_words(_new_name(name, seed, branded)), ending])
        taken.add(new)
        names[name] = new
    return Renaming(names, branded)


def _brand_names(seed: int, brands: Iterable[str]) -> dict[str, str]:
    invented = list(_BRAND_NAMES)
    random.Random(seed).shuffle(invented)
    return dict(zip([brand.lower() for brand in brands], invented, strict=False))


def _new_name(name: str, seed: int, brands: Mapping[str, str]) -> str:
    words: list[str] = []
    for word in _split_words(name):
        branded = Renaming({}, brands).rename_brand_in_word(word).lower()
        words += (branded if branded != word.lower() else _find_synonym(word.lower(), seed)).split("_")
    return _join_like(name, words)


def _split_words(name: str) -> list[str]:
    return _WORDS.findall(name) or [name]


def _find_synonym(word: str, seed: int) -> str:
    """Return the synonym that the seed selects for a word, or the word itself."""
    table = _read_synonyms()
    digits = word[len(word.rstrip("0123456789")) :]
    if digits and digits != word:
        return _find_synonym(word.removesuffix(digits), seed) + digits
    if word in table:
        choices = table[word]
        return choices[hashlib.sha256(f"{seed} {word}".encode()).digest()[0] % len(choices)]
    for ending in ("s", "ed", "ing", "er"):
        stem = word.removesuffix(ending)
        if stem != word and stem in table:
            return _inflect(_find_synonym(stem, seed), ending)
    return word


def _inflect(word: str, ending: str) -> str:
    if ending == "s" and word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    if ending == "s" and word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    return word.removesuffix("e") + ending if ending != "s" else word + ending


@cache
def _read_synonyms() -> dict[str, tuple[str, ...]]:
    rows = (line.split() for line in SYNONYMS.read_text("utf-8").splitlines() if line and not line.startswith("#"))
    return {word: tuple(others) for word, *others in rows}


def _join_like(name: str, words: list[str]) -> str:
    """Join words in the style of another name: snake_case, CONSTANT_CASE, camelCase, PascalCase or kebab-case."""
    lead = name[: len(name) - len(name.lstrip("_$"))]
    trail = name[len(name.rstrip("_$")) :] if name.strip("_$") else ""
    core = name.strip("_$")
    if "-" in core:
        return lead + "-".join(word.lower() for word in words) + trail
    if core.isupper():
        return lead + "_".join(word.upper() for word in words) + trail
    if "_" in core or core.islower():
        joined = ("_" if "_" in core or len(words) > 1 else "").join(word.lower() for word in words)
        return lead + (joined[:1].upper() + joined[1:] if core[0].isupper() else joined) + trail
    first, *others = words
    head = first[:1].upper() + first[1:].lower() if core[0].isupper() else first.lower()
    return lead + head + "".join(word[:1].upper() + word[1:].lower() for word in others) + trail


def _match_case(word: str, new: str) -> str:
    if word.isupper() and len(word) > 1:
        return new.upper()
    return new.capitalize() if word[:1].isupper() else new


def rename_source(renaming: Renaming, language: str, data: bytes) -> bytes:
    """Rename the identifiers in a source file, and the renamed words in its strings and comments."""
    tree = parse_tree(language, data)
    if tree is None:
        return renaming.prose(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    parts: list[bytes] = []
    end = 0
    for start, stop, is_prose in _renamable_spans(tree.root_node):
        parts.append(data[end:start])
        text = data[start:stop].decode("utf-8", "surrogateescape")
        new = renaming.prose(text) if is_prose else renaming.name(text)
        parts.append(new.encode("utf-8", "surrogateescape"))
        end = stop
    return b"".join((*parts, data[end:]))


def _renamable_spans(root: tree_sitter.Node) -> Iterator[tuple[int, int, bool]]:
    """Yield the ranges of identifiers and of prose in a syntax tree, in their order in the file."""
    waiting: list[tuple[tree_sitter.Node, bool] | tuple[int, int]] = [(root, False)]
    while waiting:
        item = waiting.pop()
        if isinstance(item[0], int):
            yield item[0], int(item[1]), True
            continue
        node, inside = item[0], bool(item[1])
        inside = (inside or "string" in node.type or "comment" in node.type) and node.type not in _INTERPOLATIONS
        if not node.children:
            if inside:
                yield node.start_byte, node.end_byte, True
            elif _is_name(node):
                yield node.start_byte, node.end_byte, False
            continue
        waiting += reversed(list(_children_and_text(node, inside)))


def _children_and_text(
    node: tree_sitter.Node, inside: bool
) -> Iterator[tuple[tree_sitter.Node, bool] | tuple[int, int]]:
    """Yield the children of a node. For strings and comments, also yield the text between the children."""
    end = node.start_byte
    for child in node.children:
        if inside and child.start_byte > end:
            yield end, child.start_byte
        yield child, inside
        end = max(end, child.end_byte)
    if inside and node.end_byte > end:
        yield end, node.end_byte


@dataclass(frozen=True, slots=True)
class Report:
    """Result of renaming a project. `broken` lists files that have more parse errors than before."""

    renaming: Renaming
    files: int
    broken: tuple[str, ...]


def rename_tree(source: Path, target: Path, seed: int, brands: Iterable[str]) -> Report:
    """Copy a project with its names replaced, and report files with more parse errors than before."""
    renaming = make_renaming(survey_names(source), seed, brands)
    broken: list[str] = []
    files = files_to_copy(source)
    for path in files:
        data = path.read_bytes()
        new = renamed_file(renaming, path, data)
        place = target / renaming.path(path.relative_to(source).as_posix())
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(new)
        if not parses_as_well(_source_language(path), data, new):
            broken.append(place.relative_to(target).as_posix())
    return Report(renaming, len(files), tuple(broken))


def renamed_file(renaming: Renaming, path: Path, data: bytes) -> bytes:
    """Return the renamed content of a file.

    In source code, identifiers are renamed by syntax; other texts are renamed as prose; binary files stay unchanged.
    """
    if b"\0" in data[:8_000]:
        return data
    language = _source_language(path)
    if language:
        return rename_source(renaming, language, data)
    return renaming.prose(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def parses_as_well(language: str, old: bytes, new: bytes) -> bool:
    """Return whether a renamed source still compiles, or has no more syntax errors and as many lines as before."""
    if old.count(b"\n") != new.count(b"\n"):
        return False
    if language == "python" and _is_valid_python(old):
        return _is_valid_python(new)
    return _count_errors(language, new) <= _count_errors(language, old)


def _is_valid_python(source: bytes) -> bool:
    try:
        compile(source, "renamed", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _count_errors(language: str, data: bytes) -> int:
    tree = parse_tree(language, data) if language else None
    return sum(node.is_error or node.is_missing for node in _walk_tree(tree.root_node)) if tree else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--brand", action="append", default=[], help="project name to replace; may be repeated")
    given = parser.parse_args()
    report = rename_tree(given.source, given.target, given.seed, given.brand)
    print(f"{report.files} files, {len(report.renaming.names)} names; broken: {', '.join(report.broken) or 'none'}")
    return bool(report.broken)


if __name__ == "__main__":
    sys.exit(main())
