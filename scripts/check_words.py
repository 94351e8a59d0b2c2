"""Reject prose and names that are not plain technical English, and public names without a docstring.

    python scripts/check_words.py [--summary] [PATH ...]

Reads every tracked Python and Markdown file, or the given files and folders. `words.toml` lists the rules.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOT = Path(__file__).resolve().parent.parent
RULES = Path(__file__).with_name("words.toml")
# Third-party or generated text: fuzzing inputs, benchmark queries and samples of programming languages.
EXCLUDED = (
    "fuzz/seeds/",
    "fuzz/regressions/",
    "benchmarks/questions/",
    "training/lexicon/",
    "tests/languages/samples/",
)
MAX_EXCEPTIONS = 40
MIN_MESSAGE_WORDS = 3
_DIRECTIVE = re.compile(r"#\s*(?:noqa|type:|pragma|!)")
_WORD_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CODE_SPAN = re.compile(r"`[^`\n]*`")
_QUOTED = re.compile(r'"[^"\n]*"|“[^”\n]*”')


class Prose(NamedTuple):
    """Running text of a source file."""

    path: str
    line: int
    text: str


class Problem(NamedTuple):
    """A violation of a rule."""

    path: str
    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Rules:
    """The contents of `words.toml`."""

    idioms: re.Pattern[str]
    advice: tuple[tuple[re.Pattern[str], str], ...]
    name_parts: frozenset[str]
    constant_prefixes: frozenset[str]
    exceptions: tuple[tuple[str, str], ...]

    @classmethod
    def load(cls) -> Rules:
        """Read the rules. Exit with an error if there are too many exceptions."""
        data = tomllib.loads(RULES.read_text("utf-8"))
        exceptions = tuple((row["where"], row["text"]) for row in data["allow"])
        if len(exceptions) > MAX_EXCEPTIONS:
            sys.exit(f"{RULES.name}: {len(exceptions)} exceptions, at most {MAX_EXCEPTIONS} are allowed")
        patterns = [row["pattern"] for row in data["idiom"]]
        return cls(
            re.compile(rf"\b(?:{'|'.join(patterns)})\b", re.IGNORECASE),
            tuple((re.compile(rf"\b(?:{row['pattern']})\b", re.IGNORECASE), row["use"]) for row in data["idiom"]),
            frozenset(data["names"]["parts"]),
            frozenset(data["names"]["constant_prefixes"]),
            exceptions,
        )

    def check_prose(self, prose: Prose) -> Iterator[Problem]:
        """Yield a problem for each rejected idiom in a text, ignoring code spans and quotations."""
        text = _QUOTED.sub("", _CODE_SPAN.sub("", prose.text))
        for match in self.idioms.finditer(text):
            use = next(use for pattern, use in self.advice if pattern.fullmatch(match[0]))
            yield Problem(prose.path, prose.line, f'"{match[0]}": {use}')

    def check_name(self, path: str, line: int, name: str) -> Iterator[Problem]:
        """Yield a problem if an identifier contains rejected words."""
        parts = [part.lower() for part in _WORD_PART.findall(name)]
        bad = [part for part in parts if part in self.name_parts]
        if name.isupper() and parts and parts[0].upper() in self.constant_prefixes:
            bad.append(parts[0])
        if bad:
            yield Problem(path, line, f"name `{name}`: {', '.join(bad)}")

    def allows(self, problem: Problem, line: str) -> bool:
        """Return whether an exception covers a problem."""
        return any(problem.path.startswith(where) and text in line for where, text in self.exceptions)


class PythonFile:
    """Docstrings, comments, messages and names of one Python file."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.tree = ast.parse(text)
        self._nodes = tuple(ast.walk(self.tree))
        self.is_source = path.startswith("src/")
        self.is_test = path.startswith("tests/")

    def docstrings(self) -> Iterator[Prose]:
        """Yield all docstrings."""
        for node in self._nodes:
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                text = ast.get_docstring(node)
                if text:
                    yield Prose(self.path, node.body[0].lineno, text)

    def comments(self) -> Iterator[Prose]:
        """Yield all comments except tool directives."""
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type == tokenize.COMMENT and not _DIRECTIVE.match(token.string):
                yield Prose(self.path, token.start[0], token.string.lstrip("# "))

    def messages(self) -> Iterator[Prose]:
        """Yield the string literals of the package that read like sentences."""
        if not self.is_source:
            return
        docstrings = {id(node.body[0].value) for node in self._nodes if _has_docstring(node)}  # type: ignore[attr-defined]
        for node in self._nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
                words = node.value.split()
                is_sentence = len(words) >= MIN_MESSAGE_WORDS and any(letter in node.value for letter in ".,:;")
                if is_sentence and "\n    " not in node.value:
                    yield Prose(self.path, node.lineno, node.value)

    def names(self) -> Iterator[tuple[int, str]]:
        """Yield the names that the file defines, with their line numbers."""
        for node in self._nodes:
            match node:
                case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                    if not (self.is_test and node.name.startswith("test_")):
                        yield node.lineno, node.name
                case ast.arg():
                    yield node.lineno, node.arg
                case ast.Name(ctx=ast.Store()):
                    yield node.lineno, node.id

    def test_names(self) -> Iterator[Prose]:
        """Yield the names of tests, which are written as sentences."""
        for node in self._nodes:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield Prose(self.path, node.lineno, node.name.removeprefix("test_").replace("_", " "))

    def undocumented(self, protocol_methods: frozenset[str]) -> Iterator[Problem]:
        """Yield the public modules, classes and functions of the package that have no docstring.

        A method may be documented in the protocol or abstract class that declares it.
        """
        if not self.is_source:
            return
        if self.text.strip() and not ast.get_docstring(self.tree):
            yield Problem(self.path, 1, "module without a docstring")
        yield from self._undocumented_in(self.tree, frozenset(), protocol_methods)

    def _undocumented_in(
        self, parent: ast.AST, inherited: frozenset[str], protocol_methods: frozenset[str]
    ) -> Iterator[Problem]:
        for node in ast.iter_child_nodes(parent):
            if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
                continue
            if not ast.get_docstring(node) and not _is_overload(node) and node.name not in inherited:
                yield Problem(self.path, node.lineno, f"`{node.name}` has no docstring")
            if isinstance(node, ast.ClassDef):
                yield from self._undocumented_in(node, protocol_methods, protocol_methods)

    def protocol_methods(self) -> Iterator[str]:
        """Yield the names of the documented methods of protocols, and of documented abstract methods."""
        for node in self._nodes:
            if isinstance(node, ast.ClassDef):
                is_protocol = any("Protocol" in ast.unparse(base) for base in node.bases)
                methods = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
                for method in methods:
                    is_abstract = any("abstractmethod" in ast.unparse(each) for each in method.decorator_list)
                    if (is_protocol or is_abstract) and ast.get_docstring(method):
                        yield method.name

    def public_classes(self) -> Iterator[tuple[str, int]]:
        """Yield the names of all module-level classes of the package."""
        if self.is_source:
            for node in self.tree.body:
                if isinstance(node, ast.ClassDef):
                    yield node.name, node.lineno


def read_markdown(path: str, text: str) -> Iterator[Prose]:
    """Yield the lines of a Markdown page outside of code blocks."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            in_code = not in_code
        elif not in_code and not line.startswith("    "):
            yield Prose(path, number, line)


def list_files(selection: Sequence[str]) -> list[str]:
    """Return the paths of the Python and Markdown files to check."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "--", *(selection or ["*.py", "*.md"])]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    kept = [path for path in listed if path.endswith((".py", ".md")) and not path.startswith(EXCLUDED)]
    return sorted({path for path in kept if (ROOT / path).is_file()})


def main() -> int:
    """Print the problems; return 1 if there are any."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--summary", action="store_true", help="print counts by folder instead of lines")
    parser.add_argument("path", nargs="*", help="files or folders to check (default: everything)")
    arguments = parser.parse_args()
    rules = Rules.load()
    problems: list[Problem] = []
    idioms: Counter[str] = Counter()
    words: Counter[str] = Counter()
    names: Counter[str] = Counter()
    classes: dict[str, list[Problem]] = defaultdict(list)
    texts = {path: (ROOT / path).read_text("utf-8") for path in list_files(["src/*.py"])}
    protocol_methods = frozenset(
        name
        for path, text in texts.items()
        if "Protocol" in text or "abstractmethod" in text
        for name in PythonFile(path, text).protocol_methods()
    )
    for path in list_files(arguments.path):
        text = (ROOT / path).read_text("utf-8")
        lines = text.splitlines()
        folder = _top_folder(path)

        def add_problems(found: Iterable[Problem], lines: list[str] = lines) -> int:
            new = [each for each in found if not rules.allows(each, lines[each.line - 1] if lines else "")]
            problems.extend(new)
            return len(new)

        if path.endswith(".md"):
            prose: list[Prose] = list(read_markdown(path, text))
        else:
            file = PythonFile(path, text)
            prose = [*file.docstrings(), *file.comments()]
            for line, name in file.names():
                names[folder] += 1
                names[f"{folder} odd"] += add_problems(rules.check_name(path, line, name))
            add_problems(
                problem for each in (*file.messages(), *file.test_names()) for problem in rules.check_prose(each)
            )
            add_problems(file.undocumented(protocol_methods))
            for name, line in file.public_classes():
                classes[name].append(Problem(path, line, f"class `{name}` is defined more than once"))
        for each in prose:
            words[folder] += len(each.text.split())
            idioms[folder] += add_problems(rules.check_prose(each))
    problems += [each for same_name in classes.values() if len(same_name) > 1 for each in same_name]
    if arguments.summary:
        _print_summary(words, idioms, names, problems)
    else:
        for path, line, message in sorted(set(problems)):
            print(f"{path}:{line}: {message}")
    print(f"{len(set(problems))} wording problems", file=sys.stderr)
    return 1 if problems else 0


def _print_summary(words: Counter[str], idioms: Counter[str], names: Counter[str], problems: list[Problem]) -> None:
    missing = Counter(_top_folder(each.path) for each in problems if "docstring" in each.message)
    print(f"{'folder':28} {'words':>8} {'idioms':>7} {'/1000':>6} {'odd names':>10} {'of':>7} {'no docstring':>13}")
    for folder in sorted(words):
        rate = 1000 * idioms[folder] / max(1, words[folder])
        odd, undocumented = names[f"{folder} odd"], missing[folder]
        counts = f"{words[folder]:8} {idioms[folder]:7} {rate:6.1f} {odd:10} {names[folder]:7} {undocumented:13}"
        print(f"{folder:28} {counts}")
    print(f"all: {1000 * sum(idioms.values()) / max(1, sum(words.values())):.2f} idioms per 1,000 words")


def _top_folder(path: str) -> str:
    parts = path.split("/")
    depth = 4 if parts[1:3] == ["deltos", "domains"] else 3 if parts[0] == "src" else 2
    return "/".join(parts[: min(depth, len(parts) - 1)]) or "."


def _has_docstring(node: ast.AST) -> bool:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return ast.get_docstring(node) is not None


def _is_overload(node: ast.AST) -> bool:
    decorators = getattr(node, "decorator_list", [])
    return any(ast.unparse(each).rpartition(".")[2] in {"overload", "override", "setter"} for each in decorators)


if __name__ == "__main__":
    sys.exit(main())
