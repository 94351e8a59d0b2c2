"""Check that every regular expression in src/ runs in linear time, or is listed in linear_patterns.toml with a reason.

Finds the uses of `re` in the syntax trees, evaluates the patterns, and proves each of them with `backtracking`.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from scripts.backtracking import Use, Verdict, prove  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

SOURCES = ROOT / "src"
EXEMPTIONS_FILE = Path(__file__).with_name("linear_patterns.toml")
_USE_BY_METHOD = {"match": Use.MATCH, "fullmatch": Use.FULLMATCH, "search": Use.SEARCH}
_USE_BY_ANY_METHOD = _USE_BY_METHOD | dict.fromkeys(("finditer", "findall", "sub", "subn", "split"), Use.SCAN)
_ATTRIBUTES_WITHOUT_MATCHING = {"pattern", "flags", "groups", "groupindex"}
_FLAGS_ARGUMENT_INDEXES = {"compile": 1, "split": 3, "sub": 4, "subn": 4} | dict.fromkeys(
    (*_USE_BY_METHOD, "finditer", "findall"), 2
)


@dataclass(frozen=True, slots=True)
class PatternUse:
    """One use of a pattern in the sources."""

    file: str
    line: int
    where: str  # name of the constant or function that contains the use
    use: Use
    pattern: str | bytes | None  # source of the pattern; None if it is built at run time
    flags: int = 0
    source: str = ""

    @property
    def location(self) -> str:
        """File and line of the use."""
        return f"{self.file}:{self.line} ({self.where})"

    def verdict(self) -> Verdict:
        """Return the verdict of the proof. A pattern that is built at run time counts as not linear."""
        if self.pattern is None:
            return Verdict(linear=False, reason=f"cannot be evaluated without running the program: {self.source}")
        return _prove(self.pattern, self.flags, self.use)


@lru_cache(maxsize=4096)
def _prove(pattern: str | bytes, flags: int, use: Use) -> Verdict:
    return prove(pattern, flags, use)


def find_pattern_uses(sources: Path = SOURCES) -> list[PatternUse]:
    """Return every use of a regular expression below the folder, by file and line."""
    modules = [_Module(path, sources) for path in sorted(sources.rglob("*.py"))]
    by_name = {module.name: module for module in modules}
    uses: dict[tuple[str, str], set[Use]] = defaultdict(set)
    for module in modules:
        module.record_uses(uses, by_name)
    return [use for module in modules for use in module.patterns(uses)]


class _Module:
    """Syntax tree of one file, with the imports and constants needed to evaluate expressions in it."""

    def __init__(self, path: Path, sources: Path) -> None:
        self.file = path.relative_to(sources.parent).as_posix()
        self.name = ".".join(path.relative_to(sources).with_suffix("").parts).removesuffix(".__init__")
        self.tree = ast.parse(path.read_text("utf-8"), self.file)
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}
        self.imported = dict(self._imported_names())
        self.constants = {
            target.id: node
            for node in self.tree.body
            for target in ([*node.targets] if isinstance(node, ast.Assign) else [getattr(node, "target", None)])
            if isinstance(target, ast.Name)
        }

    def _imported_names(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yield each local name with its module and original name, which is empty for a module."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.asname or alias.name.split(".")[0], (alias.name, "")) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from ((alias.asname or alias.name, (node.module or "", alias.name)) for alias in node.names)

    # Recording how constants with patterns are used

    def record_uses(self, uses: dict[tuple[str, str], set[Use]], modules: Mapping[str, _Module]) -> None:
        """Record how this module uses patterns in its own constants and in constants of other modules."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                owner, name = self._owning_constant(node.id, modules)
                if owner and (use := self._use_of(node)):
                    uses[owner, name].add(use)
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                module, attribute = self.imported.get(node.value.id, ("", ""))
                module = f"{module}.{attribute}" if attribute else module
                if module in modules and (use := self._use_of(node)):
                    uses[module, node.attr].add(use)

    def _owning_constant(self, name: str, modules: Mapping[str, _Module]) -> tuple[str, str]:
        if name in self.constants:
            return self.name, name
        module, attribute = self.imported.get(name, ("", ""))
        return (module, attribute) if module in modules and attribute in modules[module].constants else ("", "")

    def _use_of(self, node: ast.expr) -> Use | None:
        """Return how the pattern of this expression is applied. An unknown use counts as the worst case."""
        parent = self.parents[node]
        if not isinstance(parent, ast.Attribute) or parent.value is not node:
            return Use.SCAN
        if parent.attr in _ATTRIBUTES_WITHOUT_MATCHING:
            return None
        use = _USE_BY_ANY_METHOD.get(parent.attr, Use.SCAN)
        call = self.parents[parent]
        from_position = isinstance(call, ast.Call) and call.func is parent and len(call.args) + len(call.keywords) > 1
        return Use.SCAN if from_position else use

    # Patterns

    def patterns(self, uses: Mapping[tuple[str, str], Iterable[Use]]) -> Iterator[PatternUse]:
        """Yield the patterns that this module compiles or applies."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and (method := self._re_method(node.func)):
                found = self._read_use(node, method)
                for use in sorted(self._uses_of_call(node, method, uses), key=lambda use: use.value):
                    yield replace(found, use=use)

    def _re_method(self, function: ast.expr) -> str:
        """Return the name of the called `re` function, or "" if it is another function."""
        match function:
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if self.imported.get(name) == ("re", ""):
                return attr if attr in _FLAGS_ARGUMENT_INDEXES else ""
            case ast.Name(id=name) if self.imported.get(name, ("", ""))[0] == "re":
                attr = self.imported[name][1]
                return attr if attr in _FLAGS_ARGUMENT_INDEXES else ""
            case _:
                return ""

    def _uses_of_call(self, node: ast.Call, method: str, uses: Mapping[tuple[str, str], Iterable[Use]]) -> set[Use]:
        if method != "compile":
            return {_USE_BY_ANY_METHOD[method]}
        parent = self.parents[node]
        if isinstance(parent, ast.Attribute):
            return {self._use_of(node) or Use.SCAN}
        match parent:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if (
                self.constants.get(name) is parent
            ):
                return set(uses.get((self.name, name), ())) or {Use.SCAN}
            case _:
                return {Use.SCAN}

    def _read_use(self, node: ast.Call, method: str) -> PatternUse:
        arguments: dict[str, ast.expr] = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
        expression = node.args[0] if node.args else arguments["pattern"]
        at = _FLAGS_ARGUMENT_INDEXES[method]
        flags = node.args[at] if len(node.args) > at else arguments.get("flags")
        source = ast.unparse(expression)
        found = PatternUse(self.file, node.lineno, self._enclosing_name(node), Use.SCAN, None, source=source)
        pattern = self._evaluate(expression)
        number = self._evaluate(flags) if flags is not None else 0
        if isinstance(pattern, re.Pattern):
            return replace(found, pattern=pattern.pattern, flags=pattern.flags & ~re.UNICODE)
        if not isinstance(pattern, str | bytes) or not isinstance(number, int):
            return found
        return replace(found, pattern=pattern, flags=int(number))

    def _enclosing_name(self, node: ast.AST) -> str:
        """Return the name of the function or constant that contains a node."""
        names = []
        while (node := self.parents.get(node, self.tree)) is not self.tree:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.append(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node in self.tree.body:
                names += [name for name, value in self.constants.items() if value is node]
        return ".".join(reversed(names)) or "<module>"

    def _evaluate(self, expression: ast.expr) -> Any:
        """Return the value of an expression that uses only constants, or None for other expressions."""
        try:
            return ast.literal_eval(expression)
        except ValueError:
            pass
        names = {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}
        if names & self._local_names(expression):
            return None
        # Names from other modules are evaluated by importing the module, which only runs its definitions.
        known = {"re": re} if names == {"re"} else vars(importlib.import_module(self.name))
        try:
            return eval(compile(ast.Expression(expression), self.file, "eval"), known)  # noqa: S307 - our own sources
        except NameError:
            return None

    def _local_names(self, node: ast.AST) -> set[str]:
        """Return the names that are bound by the functions and comprehensions around a node."""
        names: set[str] = set()
        while (node := self.parents.get(node, self.tree)) is not self.tree:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.comprehension | ast.expr):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.arg):
                        names.add(inner.arg)
                    elif isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                        names.add(inner.id)
        return names


@dataclass(frozen=True, slots=True)
class Exemption:
    """A pattern that needs no proof, or a pattern that is built at run time, with the reason."""

    file: str
    where: str
    reason: str
    proven_by: str = ""  # `module:name` of the built patterns, or of a function that returns them

    def built_patterns(self) -> Iterator[PatternUse]:
        """Yield the patterns in `proven_by`, which are proven instead of a pattern that is built at run time."""
        module, _, name = self.proven_by.partition(":")
        if name:
            value = getattr(importlib.import_module(module), name)
            for pattern, flags in _patterns_in(value() if callable(value) else value):
                yield PatternUse(self.file, 0, f"{self.where}: {self.proven_by}", Use.SCAN, pattern, flags)


def _patterns_in(value: object) -> Iterator[tuple[str | bytes, int]]:
    """Yield the patterns in a value or in nested containers."""
    if isinstance(value, re.Pattern):
        yield value.pattern, value.flags & ~re.UNICODE
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _patterns_in(item)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _patterns_in(item)


def read_exemptions(path: Path = EXEMPTIONS_FILE) -> list[Exemption]:
    """Read linear_patterns.toml."""
    return [Exemption(**entry) for entry in tomllib.loads(path.read_text("utf-8")).get("pattern", [])]


def find_problems(uses: Iterable[PatternUse], listed: Iterable[Exemption]) -> list[str]:
    """Return messages about patterns that are neither proven nor exempt, and about unused exemptions."""
    needed = {(entry.file, entry.where): False for entry in listed}
    found = []
    for use in uses:
        verdict = use.verdict()
        if verdict.linear:
            continue
        if (use.file, use.where) in needed:
            needed[use.file, use.where] = True
        else:
            found.append(_describe_problem(use, verdict))
    for entry in listed:
        found += [
            _describe_problem(use, verdict) for use in entry.built_patterns() if not (verdict := use.verdict()).linear
        ]
    unused = [key for key, is_needed in needed.items() if not is_needed]
    return found + [f"{EXEMPTIONS_FILE.name}: unused entry for {where} of {file}" for file, where in unused]


def _describe_problem(use: PatternUse, verdict: Verdict) -> str:
    pattern = "" if use.pattern is None else f"\n    pattern  {use.pattern!r}"
    attack = "" if verdict.attack is None else f"\n    attack   {verdict.attack}"
    return f"{use.location}: {use.use.value} is not proven linear: {verdict.reason}{pattern}{attack}"


def main() -> int:
    """Check all patterns and print the problems and a count."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="print every use with its verdict")
    options = parser.parse_args()
    sys.path.insert(0, str(SOURCES))
    uses, listed = find_pattern_uses(), read_exemptions()
    for use in uses if options.list else ():
        verdict = use.verdict()
        print("linear" if verdict.linear else "LISTED", verdict.runs, use.use.value, use.location, repr(use.pattern))
    found = find_problems(uses, listed)
    for text in found:
        print(text, file=sys.stderr)
    proven = sum(use.verdict().linear for use in uses)
    print(f"{len(uses)} uses of patterns: {proven} proven linear, {len(listed)} entries listed, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
