"""Parse Python modules: statements, imports, defined names, and names in `__all__`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from deltos.errors import SourceError
from deltos.languages.parser_limits import bounded_memory

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


def parse_module(source: str) -> ast.Module:
    """Return the syntax tree of a module; raise SourceError if it cannot be parsed."""
    try:
        with bounded_memory(len(source)):
            return ast.parse(source)
    except MemoryError as exc:
        raise SourceError("Cannot parse the module (it needs too much memory)") from exc
    except (SyntaxError, ValueError, RecursionError) as exc:
        raise SourceError(f"Cannot parse the module ({exc})") from exc


def split_source_lines(source: str) -> list[str]:
    """Split source into lines in the same way as the Python parser, for which a form feed does not end a line."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


class _Statements:
    """Top-level statements of a module: statements executed at run time, and statements only for type checking."""

    def __init__(self, tree: ast.Module) -> None:
        self.at_run_time: list[ast.stmt] = []
        self.for_type_checking: list[ast.stmt] = []
        self._collect(tree.body, self.at_run_time)

    def _collect(self, body: list[ast.stmt], into: list[ast.stmt]) -> None:
        """Append the statements in `body`, including statements inside `if` and `try`, to `into`."""
        for node in body:
            if isinstance(node, ast.If):
                is_for_type_checking = last_dotted_part(node.test) == "TYPE_CHECKING"
                if not _is_main_check(node.test):
                    self._collect(node.body, self.for_type_checking if is_for_type_checking else into)
                self._collect(node.orelse, into)
            elif isinstance(node, ast.Try):
                handled = (statement for handler in node.handlers for statement in handler.body)
                self._collect([*node.body, *handled, *node.orelse], into)
            else:
                into.append(node)

    @property
    def deleted_names(self) -> set[str]:
        """Names that the module deletes with `del`."""
        gone = (target for node in self.at_run_time if isinstance(node, ast.Delete) for target in node.targets)
        return {target.id for target in gone if isinstance(target, ast.Name)}


def statements(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements that are executed when a module is imported, including conditional statements.

    Statements for type checking are included if they define names that exist at run time or are in `__all__`.
    """
    found = _Statements(tree)
    known = {name for node in found.at_run_time for name in defined_names(node)} | _names_in_all(found.at_run_time)
    typed = [node for node in found.for_type_checking if not known.isdisjoint(defined_names(node))]
    return [node for node in (*typed, *found.at_run_time) if found.deleted_names.isdisjoint(defined_names(node))]


def imports(tree: ast.Module) -> Iterator[tuple[ast.ImportFrom, ast.alias, bool]]:
    """Yield each `from … import` statement with one of the imported names, and whether it is only for type checking."""
    found = _Statements(tree)
    deleted_names = found.deleted_names
    for body, is_for_type_checking in ((found.at_run_time, False), (found.for_type_checking, True)):
        for node in body:
            if isinstance(node, ast.ImportFrom):
                kept = (alias for alias in node.names if (alias.asname or alias.name) not in deleted_names)
                yield from ((node, alias, is_for_type_checking) for alias in kept)


def is_explicit_reexport(alias: ast.alias, names_in_all: Container[str], *, is_for_type_checking: bool) -> bool:
    """Whether a module re-exports an imported name, either in `__all__` or by `import name as name`."""
    return (alias.asname or alias.name) in names_in_all or (alias.asname == alias.name and not is_for_type_checking)


def _is_main_check(test: ast.expr) -> bool:
    """Whether a condition is a check such as `__name__ == "__main__"`."""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def defined_names(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(node, Definition):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [target.id for target in targets if isinstance(target, ast.Name)]
    return []


def names_in_all(tree: ast.Module) -> set[str]:
    """Return the names in `__all__` that are string literals."""
    return _names_in_all(_Statements(tree).at_run_time)


def _names_in_all(body: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            value = getattr(node, "value", None)
            for element in value.elts if isinstance(value, ast.List | ast.Tuple | ast.Set) else ():
                if isinstance(element, ast.Constant) and isinstance(element.value, str):
                    found.add(element.value)
    return found


def literal_all_names(tree: ast.Module) -> set[str] | None:
    """Return the names in `__all__`, or None if `__all__` is missing or is not a single literal list."""
    mentions = sum(_is_dunder_all(node) for node in ast.walk(tree))
    given = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and _is_dunder_all(node.targets[0] if isinstance(node, ast.Assign) else node.target)
    ]
    value = given[0] if len(given) == mentions == 1 else None
    if not isinstance(value, ast.List | ast.Tuple):
        return None
    names = {each.value for each in value.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return names if len(names) == len(value.elts) else None


def _is_dunder_all(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "__all__"


def last_dotted_part(node: ast.expr) -> str:
    """Return the last part of a dotted expression: `Field` for `pydantic.Field`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
