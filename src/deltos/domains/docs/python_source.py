"""A Python module as it is written: its statements, the names that it defines, those that it lists as public."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from deltos.errors import SourceError
from deltos.languages.bounds import bounded_memory

if TYPE_CHECKING:
    from collections.abc import Iterator

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef


def parsed(source: str) -> ast.Module:
    """The syntax tree; SourceError where there is none, or it takes far too much memory, as deep nesting can."""
    try:
        with bounded_memory(len(source)):
            return ast.parse(source)
    except MemoryError as exc:
        raise SourceError("Cannot parse the module (it takes too much memory)") from exc
    except (SyntaxError, ValueError, RecursionError) as exc:
        raise SourceError(f"Cannot parse the module ({exc})") from exc


def lines_of(source: str) -> list[str]:
    """As the parser counts them: a form feed ends none."""
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


class _Statements:
    """Those of a module, under conditions and not: what takes effect, and what only type checkers see."""

    def __init__(self, tree: ast.Module) -> None:
        self.seen: list[ast.stmt] = []
        self.for_checkers: list[ast.stmt] = []
        self._divide(tree.body, self.seen)

    def _divide(self, body: list[ast.stmt], into: list[ast.stmt]) -> None:
        for node in body:
            if isinstance(node, ast.If):
                is_for_checkers = last_name(node.test) == "TYPE_CHECKING"
                if not _asks_for_script(node.test):
                    self._divide(node.body, self.for_checkers if is_for_checkers else into)
                self._divide(node.orelse, into)
            elif isinstance(node, ast.Try):
                handled = (statement for handler in node.handlers for statement in handler.body)
                self._divide([*node.body, *handled, *node.orelse], into)
            else:
                into.append(node)

    @property
    def deleted(self) -> set[str]:
        """Names that the module has no longer once it is imported."""
        gone = (target for node in self.seen if isinstance(node, ast.Delete) for target in node.targets)
        return {target.id for target in gone if isinstance(target, ast.Name)}


def statements(tree: ast.Module) -> list[ast.stmt]:
    """Statements that take effect when a module is imported, those under conditions included. What only type checkers
    see counts where the module has that name for everybody, or lists it."""
    found = _Statements(tree)
    known = {name for node in found.seen for name in names_of(node)} | _listed(found.seen)
    typed = [node for node in found.for_checkers if not known.isdisjoint(names_of(node))]
    return [node for node in (*typed, *found.seen) if found.deleted.isdisjoint(names_of(node))]


def imports(tree: ast.Module) -> Iterator[tuple[ast.ImportFrom, ast.alias, bool]]:
    """Each name that a module takes from another one, and whether only type checkers see that."""
    found = _Statements(tree)
    deleted = found.deleted
    for body, is_for_checkers in ((found.seen, False), (found.for_checkers, True)):
        for node in body:
            if isinstance(node, ast.ImportFrom):
                kept = (alias for alias in node.names if (alias.asname or alias.name) not in deleted)
                yield from ((node, alias, is_for_checkers) for alias in kept)


def _asks_for_script(test: ast.expr) -> bool:
    """Whether a condition asks whether the module is run as a program."""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def names_of(node: ast.stmt) -> list[str]:
    """The names that a statement of a module defines."""
    if isinstance(node, Definition):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [target.id for target in targets if isinstance(target, ast.Name)]
    return []


def listed(tree: ast.Module) -> set[str]:
    """The names that a module lists in `__all__`, as far as they are written there."""
    return _listed(_Statements(tree).seen)


def _listed(body: list[ast.stmt]) -> set[str]:
    found: set[str] = set()
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            value = getattr(node, "value", None)
            for element in value.elts if isinstance(value, ast.List | ast.Tuple | ast.Set) else ():
                if isinstance(element, ast.Constant) and isinstance(element.value, str):
                    found.add(element.value)
    return found


def wholly_listed(tree: ast.Module) -> set[str] | None:
    """All names of `__all__`; None where there is none, or not all of it is written there."""
    mentions = sum(_is_list_of_names(node) for node in ast.walk(tree))
    given = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        and _is_list_of_names(node.targets[0] if isinstance(node, ast.Assign) else node.target)
    ]
    value = given[0] if len(given) == mentions == 1 else None
    if not isinstance(value, ast.List | ast.Tuple):
        return None
    names = {each.value for each in value.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return names if len(names) == len(value.elts) else None


def _is_list_of_names(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "__all__"


def last_name(node: ast.expr) -> str:
    """What an expression is called: `Field` for `pydantic.Field`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
