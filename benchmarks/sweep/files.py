"""Checks of single files without an index. They take so little time that files of every repository can be checked."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from benchmarks.sweep.generated import generated_rule
from benchmarks.sweep.names import MAX_FILE_BYTES, definitions
from deltos import wording
from deltos.domains.code.chunk import chunk_lines, lines_of
from deltos.domains.code.index import CodeIndexer, definitions_of
from deltos.domains.graph.index import GraphIndexer
from deltos.files import FileTree
from deltos.languages import grammar
from deltos.languages.table import detect
from deltos.workspace.admission import BINARY_SUFFIXES, GENERATED_NAMES, Admitted, admit
from deltos.workspace.extract import FileToRead, extract_file, parse_file
from deltos.workspace.walk import stamp

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.sweep.checks import Result
    from benchmarks.sweep.names import Definition
    from deltos.languages.model import Definition as Outlined
    from deltos.languages.table import Language

_NAME_SEPARATOR = re.compile(r"::|[.:#]")
_WORD = re.compile(r"\w+")
# Lines with a real definition, for kinds for which ctags also reports constraints, arguments and casts.
_DEFINITION_PATTERNS = {
    ("OCaml", "type"): r"^(?!.*(?<!\w)(?:with|and)\s+type\s|\s*module\s).*(?<!\w)(?:type|and)(?!\w)",
    ("Haskell", "function"): r"^(?!\s*(?:infix[lr]?|class|pattern|newtype)(?!\w))(?!\s*[A-Z]|.*\$\()"
    r"(?!.*\bNAME\s+(?:`|(?!=\s|\||::|[!~@])[!#$%&*+./<=>?@\\^|~-]))",
    ("Ruby", "singletonMethod"): r"^(?!.*\bNAME\.)",
    ("Kotlin", "method"): r"(?<!\w)fun(?!\w)",
    ("TypeScript", "alias"): r"(?<!\w)type\s+NAME\s*(?:[=<]|$)",
    ("C#", "method"): r"[\w>\]?](?<!\bawait)(?<!\breturn)(?<!\bnew)\s+(?:[\w<>, ]+\.)*NAME\s*[<(]",
    ("Lua", "function"): r"function\s+[\w.:]*NAME\s*\(|NAME\W*=\s*function",
    ("C", "typedef"): r"^(?!\s*typedef\s+NAME(?!\w))",
    ("C++", "typedef"): r"^(?!\s*typedef\s+NAME(?!\w))",
}
_MAX_SIGNATURE_LINES = 40
_MAX_LINES_TO_NAME = 3  # maximum distance between the line that ctags reports and the line in the outline
# Headings and keys of data files may be any text, so they are not checked as names.
_TEXT_KINDS = frozenset({"section", "property"})


class RepositoryFiles:
    """The files of a source tree, their languages and their lines."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.count = self.lines = 0
        self.by_language: dict[str, list[Path]] = defaultdict(list)
        for path in sorted(root.rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            self.count += 1
            language = detect(path.name)
            if language is None or not language.grammar or path.suffix in BINARY_SUFFIXES:
                continue
            self.lines += path.read_bytes().count(b"\n")
            if grammar.is_installed(language):
                self.by_language[language.name].append(path)

    def sample(self, size: int, seed: int) -> list[Path]:
        """Return a random sample with the same number of files of each language, if there are enough files."""
        source = random.Random(seed)
        shuffled = [source.sample(paths, len(paths)) for _, paths in sorted(self.by_language.items())]
        return [path for row in zip_longest(*shuffled) for path in row if path is not None][:size]


def check_files(result: Result, files: RepositoryFiles, sample: list[Path]) -> int:
    """Checks 1, 2, 4, 5, 9: extract each file of the sample as an indexer does. Return the number of lines."""
    lines = 0
    small = [path for path in sample if path.stat().st_size <= MAX_FILE_BYTES]
    by_path: dict[str, list[Definition]] = defaultdict(list)
    for each in definitions(files.root, [path.relative_to(files.root).as_posix() for path in small]):
        by_path[each.path].append(each)
    with FileTree(files.root) as tree:
        for path in small:
            name = path.relative_to(files.root).as_posix()
            data = path.read_bytes()
            admitted = admit(tree, name, len(data), with_generated=True)
            _check_generated(result, name, data, admitted)
            if isinstance(admitted, str) or admitted.language is None:
                continue
            lines += data.count(b"\n")
            has_plain_error = check_file(result, name, admitted, by_path[name])
            current = stamp(tree, name)
            if current is not None:
                indexers = (CodeIndexer(makes_vectors=False), GraphIndexer())
                extracted = extract_file(files.root, indexers, FileToRead(name, current))
                # A plain parse also fails, so the file itself is invalid.
                failures = [each for each in extracted.failures if not (has_plain_error and _is_parse_error(each[1]))]
                reason = extracted.skip_reason or "; ".join(f"{indexer}: {reason}" for indexer, reason in failures)
                result.check("extraction", name, reason, holds=not reason)
    return lines


def _check_generated(result: Result, name: str, data: bytes, admitted: Admitted | str) -> None:
    rule = generated_rule(name, data)
    reason = admitted if isinstance(admitted, str) else "generated" if admitted.is_generated else ""
    if rule:
        result.check("generated", name, f"Linguist: {rule}; ours: source", holds=bool(reason))
    elif not isinstance(admitted, str) or reason in {"generated", "minified"}:
        is_named = name.rpartition("/")[2] in GENERATED_NAMES
        is_wrong = reason == "generated" and not is_named and b"generated" not in data[:2_000].lower()
        is_wrong |= reason == "minified" and name.endswith((".js", ".css"))
        result.check("source", name, f"taken for {reason}", holds=not is_wrong)


def _is_parse_error(reason: str) -> bool:
    return reason.startswith(wording.parse_error(1, 2).partition(" at ")[0])


def check_file(result: Result, name: str, admitted: Admitted, tagged: list[Definition]) -> bool:
    """Checks 2, 4, 5: the tree equals that of a plain parse, and definitions and chunks match the source.

    Return whether a plain parse has errors.
    """
    assert admitted.language is not None
    try:
        file = parse_file(name, admitted)
        outline = list(definitions_of(file))
    except Exception as exc:  # noqa: BLE001 - any exception is a violation
        result.check("parsing", name, f"{type(exc).__name__}: {exc}", holds=False)
        return False
    has_plain_error = _check_tree(result, name, admitted.language, admitted.data, file.tree)
    lines = lines_of(admitted.data)
    for each in outline:
        _check_definition(result, name, each, lines)
    _check_chunks(result, name, lines, outline)
    code = code_lines(admitted.language, admitted.data)
    for tag in tagged:
        text = code[tag.line - 1] if tag.line <= len(code) else ""
        if is_misread(tag, text):
            continue
        holds = any(_is_same_definition(each, tag) for each in outline)
        # A macro may hide a definition from the grammar. Such definitions are counted separately.
        check = f"outline names {tag.language}" + (" (parse errors)" if has_plain_error else "")
        result.check(check, f"{name}:{tag.line}", f"{tag.kind} {tag.simple}: {text.strip()}", holds=holds)
    return has_plain_error


def is_misread(tag: Definition, text: str) -> bool:
    """Return whether ctags mistook a comment, a string, a macro call or a type constraint for a definition."""
    last = _NAME_SEPARATOR.split(tag.simple)[-1]
    is_macro_call = tag.language in {"C", "C++"} and tag.kind == "function" and tag.simple.isupper()
    form = _DEFINITION_PATTERNS.get((tag.language, tag.kind), "")
    return last not in text or is_macro_call or re.search(form.replace("NAME", re.escape(last)), text) is None


def _is_same_definition(definition: Outlined, tag: Definition) -> bool:
    """Return whether a definition has the name and the position of a ctags entry."""
    if not (
        abs(definition.line - tag.line) <= _MAX_LINES_TO_NAME
        or definition.start_line <= tag.line <= definition.end_line
    ):
        return False
    steps = (_NAME_SEPARATOR.split(text) for text in (definition.name, tag.simple))
    return tag.simple in {definition.name, definition.qualified_name} or len({parts[-1] for parts in steps}) == 1


def code_lines(language: Language, data: bytes) -> list[str]:
    """Return the lines of a file without comments and strings, which are found by a plain tree-sitter parse."""
    import tree_sitter

    if not language.grammar or not grammar.is_installed(language):
        return []
    tree = tree_sitter.Parser(grammar._load_grammar(language.grammar)).parse(data)  # noqa: SLF001 - the same grammar
    out = bytearray(data)
    pending = [tree.root_node]
    while pending:
        node = pending.pop()
        if "comment" in node.type or _is_text(node):
            out[node.start_byte : node.end_byte] = re.sub(rb"[^\n]", b" ", data[node.start_byte : node.end_byte])
        else:
            pending += node.children
    return out.decode("utf-8", "replace").split("\n")


def _is_text(node: Any) -> bool:
    """Return whether a node is a string that contains no code."""
    is_string = any(word in node.type for word in ("string", "heredoc", "char_literal", "regex", "quoted"))
    return is_string and not any(
        word in child.type
        for child in node.named_children
        for word in ("interpol", "substitution", "expression", "expansion")
    )


def _check_tree(result: Result, name: str, language: Language, data: bytes, tree: Any) -> bool:
    """Compare the tree with a plain parse of the file. Return whether the plain parse has errors."""
    import tree_sitter

    plain = tree_sitter.Parser(grammar._load_grammar(language.grammar)).parse(data)  # noqa: SLF001 - the same grammar
    if plain.root_node.has_error:
        return True
    is_rewritten = bool(language.macros or language.item_macros or language.directives)
    has_error = tree is None or tree.root_node.has_error
    is_same = is_rewritten or (tree is not None and _tree_shape(tree) == _tree_shape(plain))
    result.check("parsing", name, "error" if has_error else "another tree", holds=is_same and not has_error)
    return False


def _tree_shape(tree: Any) -> list[tuple[int, int, int]]:
    """Yield the kind and range of each node of a tree, in order."""
    nodes = []
    cursor = tree.walk()
    is_up = False
    while True:
        if not is_up:
            node = cursor.node
            nodes.append((node.kind_id, node.start_byte, node.end_byte))
            if cursor.goto_first_child():
                continue
        if cursor.goto_next_sibling():
            is_up = False
        elif cursor.goto_parent():
            is_up = True
        else:
            return nodes


def _check_definition(result: Result, name: str, definition: Outlined, lines: list[str]) -> None:
    """Check 4: a definition has a name that its line contains, a range in the file, and a signature from the source."""
    place = f"{name}:{definition.line}"
    in_file = 1 <= definition.start_line <= definition.line <= definition.end_line <= max(1, len(lines))
    result.check(
        "ranges",
        place,
        f"{definition.kind} {definition.name}: {definition.start_line}-{definition.end_line}",
        holds=in_file,
    )
    if not in_file:
        return
    text = "\n".join(lines[definition.line - 1 : definition.line + _MAX_SIGNATURE_LINES])
    is_named = bool(definition.name.strip())
    if definition.kind not in _TEXT_KINDS:
        is_named = is_named and all(word in text for word in _WORD.findall(definition.name))
    result.check("definition names", place, f"{definition.kind} {definition.name!r}: {text[:80]!r}", holds=is_named)
    around = "\n".join(lines[definition.start_line - 1 : max(definition.end_line, definition.line + 1)])
    missing = [word for word in _WORD.findall(definition.signature.rstrip("…")) if word not in around]
    result.check("signatures", place, f"{definition.signature[:120]!r}: {missing[:3]}", holds=not missing)


def _check_chunks(result: Result, name: str, lines: list[str], outline: list[Outlined]) -> None:
    """Check 5: chunks cover each non-blank line exactly once."""
    seen = [0] * (len(lines) + 1)
    for chunk in chunk_lines(lines, outline):
        for number in range(max(1, chunk.start_line), min(chunk.end_line, len(lines)) + 1):
            seen[number] += 1
    wrong = [number for number, line in enumerate(lines, 1) if seen[number] > 1 or (line.strip() and not seen[number])]
    result.check("chunks", name, f"lines {wrong[:5]} are in no chunk or in several", holds=not wrong)
