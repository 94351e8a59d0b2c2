"""Format Python functions and classes: signatures, class fields, and descriptions of parameters and fields."""

from __future__ import annotations

import ast
import inspect
from copy import copy, deepcopy
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.docs.python_source import Definition, Function, last_dotted_part

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_MAX_CODE_CHARACTERS = 8_000  # maximum length of the code of a definition; longer code is truncated
_MAX_FIELD_CHARACTERS = 200
_MAX_DESCRIPTION_CHARACTERS = 600
_INDENT = "    "


class DefinitionText(NamedTuple):
    """Text of a definition: the code, and the descriptions of parameters or fields.

    `is_undocumented` marks a definition without docstring and descriptions; a class must also lack fields and a
    constructor.
    """

    code: str
    descriptions: tuple[str, ...]
    is_undocumented: bool


def format_function(node: Function, lines: Sequence[str], overloads: Sequence[Function]) -> DefinitionText:
    """Format a function's overloads and signature.

    Parameter descriptions in `Doc(…)` annotations are moved from the signature to `descriptions`.
    """
    descriptions = [(arg.arg, text) for arg in _arguments(node) if (text := _description_of(arg.annotation))]
    code = _signature_without_docs(node) if descriptions else _signature_source(node, lines)
    forms = [_signature_source(each, lines) for each in overloads]
    return DefinitionText(
        _truncate("\n".join([*forms, code]), _MAX_CODE_CHARACTERS),
        _as_list_items(descriptions),
        _is_undocumented(node, descriptions),
    )


def format_class(node: ast.ClassDef, lines: Sequence[str]) -> DefinitionText:
    """Format a class with its header, its public fields and, if it is undocumented, the constructor."""
    fields = [*_fields(node), *_described_attributes(node)]
    inside = [field.code for field in fields]
    if constructor := inline_constructor(node):
        inside.extend(_signature_source(constructor, lines).split("\n"))
    code = "\n".join([_signature_source(node, lines), *(_INDENT + line for line in inside)])
    descriptions = [(field.name, field.description) for field in fields if field.description]
    return DefinitionText(
        _truncate(code, _MAX_CODE_CHARACTERS),
        _as_list_items(descriptions),
        not inside and _is_undocumented(node, descriptions),
    )


def _is_undocumented(node: Definition, descriptions: Sequence[tuple[str, str]]) -> bool:
    """Whether a definition has no docstring and no descriptions."""
    return not descriptions and not ast.get_docstring(node)


def inline_constructor(node: ast.ClassDef) -> Function | None:
    """Return the `__init__` method of a class if it is undocumented, or None."""
    found = [each for each in node.body if isinstance(each, Function) and each.name == "__init__"]
    is_documented = any(
        ast.get_docstring(each) or any(_description_of(arg.annotation) for arg in _arguments(each)) for each in found
    )
    return found[0] if len(found) == 1 and not is_documented else None


def _arguments(node: Function) -> list[ast.arg]:
    """Return all parameters of a function."""
    found = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
    return [arg for arg in found if arg]


def is_overload(node: Function) -> bool:
    """Whether a function is marked with `@overload`."""
    return any(last_dotted_part(decorator) == "overload" for decorator in node.decorator_list)


def is_typed(node: Definition) -> bool:
    """Whether a definition has any type annotation."""
    if isinstance(node, ast.ClassDef):
        return any(
            isinstance(each, ast.AnnAssign) or (isinstance(each, Function) and is_typed(each)) for each in node.body
        )
    return node.returns is not None or any(arg.annotation is not None for arg in _arguments(node))


class _ClassField(NamedTuple):
    """A class attribute with its code and description."""

    name: str
    code: str
    description: str


def _fields(node: ast.ClassDef) -> Iterator[_ClassField]:
    """Yield the public class attributes with a type or value, each with its description."""
    for statement, following in zip(node.body, [*node.body[1:], None], strict=True):
        target: ast.expr
        annotation: ast.expr | None = None
        if isinstance(statement, ast.AnnAssign):
            target, annotation = statement.target, statement.annotation
        elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
        else:
            continue
        if not isinstance(target, ast.Name) or target.id.startswith("_"):
            continue
        code = (
            target.id + _format_annotation(annotation) + (f" = {_unparse(statement.value)}" if statement.value else "")
        )
        yield _ClassField(
            target.id,
            _truncate(code, _MAX_FIELD_CHARACTERS),
            _description_of(annotation) or _attribute_docstring(following),
        )


def _described_attributes(node: ast.ClassDef) -> Iterator[_ClassField]:
    """Yield the public attributes that `__init__` declares with a type and a description."""
    for constructor in node.body:
        if not isinstance(constructor, Function) or constructor.name != "__init__":
            continue
        for statement, following in zip(constructor.body, [*constructor.body[1:], None], strict=True):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Attribute):
                description = _description_of(statement.annotation) or _attribute_docstring(following)
                name = statement.target.attr
                if description and not name.startswith("_"):
                    yield _ClassField(
                        name,
                        _truncate(name + _format_annotation(statement.annotation), _MAX_FIELD_CHARACTERS),
                        description,
                    )


def _attribute_docstring(statement: ast.stmt | None) -> str:
    """Return the attribute docstring in a statement; empty if the statement is not a string."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return statement.value.value if isinstance(statement.value.value, str) else ""
    return ""


def _signature_source(node: Definition, lines: Sequence[str]) -> str:
    """Return the source of a definition from its decorators to the colon before its body."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    body = node.body[0]
    last, body_column = body.lineno, body.col_offset
    if isinstance(body, Definition):
        last = min([last, *(decorator.lineno for decorator in body.decorator_list)])
    written = [*lines[first - 1 : last - 1], lines[last - 1].encode()[:body_column].decode("utf-8", "ignore")]
    while len(written) > 1 and (not written[-1].strip(" @\t") or written[-1].lstrip().startswith("#")):
        written.pop()
    return inspect.cleandoc("\n".join(written)).rstrip()


def _signature_without_docs(node: Function) -> str:
    """Return a signature in one line, without `Doc(…)` annotations."""
    bare = copy(node)
    bare.args, bare.body = deepcopy(node.args), [ast.Expr(ast.Constant(...))]
    for arg in _arguments(bare):
        if _description_of(arg.annotation):
            arg.annotation = _annotated_parts(arg.annotation)[0]
    return _unparse(bare).removesuffix("...").rstrip()


def _format_annotation(annotation: ast.expr | None) -> str:
    """Return an annotation, preceded by a colon, without the `Doc(…)` description; empty if there is no annotation."""
    if annotation is None:
        return ""
    return ": " + _unparse(_annotated_parts(annotation)[0] if _description_of(annotation) else annotation)


def _description_of(annotation: ast.expr | None) -> str:
    """Return the description in `Annotated[T, Doc("…")]`."""
    for part in _annotated_parts(annotation)[1:]:
        if isinstance(part, ast.Call) and last_dotted_part(part.func) == "Doc" and part.args:
            text = part.args[0]
            return text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""
    return ""


def _annotated_parts(annotation: ast.expr | None) -> list[ast.expr]:
    """Return the arguments of `Annotated[…]`; empty for other annotations."""
    if not isinstance(annotation, ast.Subscript) or last_dotted_part(annotation.value) != "Annotated":
        return []
    return annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else []


def _as_list_items(descriptions: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Return names and descriptions as Markdown list items."""
    return tuple(f"- `{name}`: {_truncate(_unwrap(text), _MAX_DESCRIPTION_CHARACTERS)}" for name, text in descriptions)


def _unwrap(text: str) -> str:
    """Return a description without the indentation and line breaks of the source; examples keep their line breaks."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(each if "```" in each else " ".join(each.split()) for each in paragraphs)


def _unparse(node: ast.expr | Function) -> str:
    """Return an expression as source code, or "…" if it is nested too deeply."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return "…"


def _truncate(text: str, max_characters: int) -> str:
    return text if len(text) <= max_characters else f"{text[:max_characters].rstrip()} …"
