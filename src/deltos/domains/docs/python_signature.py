"""How Python's functions and classes are called: signatures, the fields of classes, what is said of each of them."""

from __future__ import annotations

import ast
import inspect
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.docs.python_source import Definition, Function, last_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LONGEST_CODE = 8_000
_LONGEST_LINE = 100
_LONGEST_FIELD = 200
_LONGEST_TOLD = 600
_INDENTED = "    "


class Shown(NamedTuple):
    """A definition as it is shown: its code, and what is said of each parameter or field. `is_bare` when nobody says
    what it does, and a class not even what it is made of."""

    code: str
    told: tuple[str, ...]
    is_bare: bool


def show_function(node: Function, lines: Sequence[str], overloads: Sequence[Function]) -> Shown:
    """A function's signature as it is written, below its overloads; without the `Doc(…)` in its annotations, which
    tells of a parameter."""
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    told = [(arg.arg, text) for arg in given if arg and (text := _doc_of(arg.annotation))]
    code = _without_docs(node) if told else _as_written(node, lines)
    forms = [_as_written(each, lines) for each in overloads]
    return Shown(_cut("\n".join([*forms, code]), _LONGEST_CODE), _items(told), _is_untold(node, told))


def show_class(node: ast.ClassDef, lines: Sequence[str]) -> Shown:
    """A class's first lines, its public fields, and how it is made where that is not told elsewhere."""
    fields = [*_fields(node), *_told_attributes(node)]
    inside = [field.code for field in fields]
    if maker := maker_of(node):
        inside.extend(_as_written(maker, lines).split("\n"))
    code = "\n".join([_as_written(node, lines), *(_INDENTED + line for line in inside)])
    told = [(field.name, field.told) for field in fields if field.told]
    return Shown(_cut(code, _LONGEST_CODE), _items(told), not inside and _is_untold(node, told))


def _is_untold(node: Definition, told: Sequence[tuple[str, str]]) -> bool:
    return not told and not ast.get_docstring(node)


def maker_of(node: ast.ClassDef) -> Function | None:
    """The `__init__` of a class, where its signature is all that there is to it: it is shown with the class."""
    found = [each for each in node.body if isinstance(each, Function) and each.name == "__init__"]
    is_told = any(ast.get_docstring(each) or any(map(_doc_of, _annotations(each))) for each in found)
    return found[0] if len(found) == 1 and not is_told else None


def _annotations(node: Function) -> list[ast.expr | None]:
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    return [arg.annotation for arg in given if arg]


def is_overload(node: Function) -> bool:
    """Whether a function is only one of the forms in which another can be called."""
    return any(last_name(decorator) == "overload" for decorator in node.decorator_list)


def is_typed(node: Definition) -> bool:
    """Whether a definition says the type of anything."""
    if isinstance(node, ast.ClassDef):
        return any(
            isinstance(each, ast.AnnAssign) or (isinstance(each, Function) and is_typed(each)) for each in node.body
        )
    return node.returns is not None or any(annotation is not None for annotation in _annotations(node))


class _Field(NamedTuple):
    name: str
    code: str
    told: str


def _fields(node: ast.ClassDef) -> Iterator[_Field]:
    """Public names that a class gives a type or a value, each with the text below or inside its annotation."""
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
        code = target.id + _typed(annotation) + (f" = {_unparsed(statement.value)}" if statement.value else "")
        yield _Field(target.id, _cut(code, _LONGEST_FIELD), _doc_of(annotation) or _text_below(following))


def _told_attributes(node: ast.ClassDef) -> Iterator[_Field]:
    """Public attributes that `__init__` gives a type and a text."""
    for maker in node.body:
        if not isinstance(maker, Function) or maker.name != "__init__":
            continue
        for statement, following in zip(maker.body, [*maker.body[1:], None], strict=True):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Attribute):
                told = _doc_of(statement.annotation) or _text_below(following)
                name = statement.target.attr
                if told and not name.startswith("_"):
                    yield _Field(name, _cut(name + _typed(statement.annotation), _LONGEST_FIELD), told)


def _text_below(statement: ast.stmt | None) -> str:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return statement.value.value if isinstance(statement.value.value, str) else ""
    return ""


def _as_written(node: Definition, lines: Sequence[str]) -> str:
    """The source from decorators to the colon before the body."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    body = node.body[0]
    last, beside = body.lineno, body.col_offset
    if isinstance(body, Definition):
        last = min([last, *(decorator.lineno for decorator in body.decorator_list)])
    written = [*lines[first - 1 : last - 1], lines[last - 1].encode()[:beside].decode("utf-8", "ignore")]
    while len(written) > 1 and (not written[-1].strip(" @\t") or written[-1].lstrip().startswith("#")):
        written.pop()
    return inspect.cleandoc("\n".join(written)).rstrip()


def _without_docs(node: Function) -> str:
    """A signature, one parameter a line where it is long."""
    keyword = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    parameters = list(_parameters(node.args))
    ending = f"){_typed(node.returns, ' -> ')}:"
    line = f"{keyword} {node.name}({', '.join(parameters)}{ending}"
    if len(line) > _LONGEST_LINE:
        listed = "".join(f"{_INDENTED}{parameter},\n" for parameter in parameters)
        line = f"{keyword} {node.name}(\n{listed}{ending}"
    return "\n".join([*(f"@{_unparsed(decorator)}" for decorator in node.decorator_list), line])


def _parameters(given: ast.arguments) -> Iterator[str]:
    positional = [*given.posonlyargs, *given.args]
    defaults = [*[None] * (len(positional) - len(given.defaults)), *given.defaults]
    for place, (arg, default) in enumerate(zip(positional, defaults, strict=True), start=1):
        yield _parameter(arg, default)
        if place == len(given.posonlyargs):
            yield "/"
    if given.vararg:
        yield f"*{_parameter(given.vararg, None)}"
    elif given.kwonlyargs:
        yield "*"
    for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield _parameter(arg, default)
    if given.kwarg:
        yield f"**{_parameter(given.kwarg, None)}"


def _parameter(arg: ast.arg, default: ast.expr | None) -> str:
    between = " = " if arg.annotation else "="
    return arg.arg + _typed(arg.annotation) + (between + _unparsed(default) if default else "")


def _typed(annotation: ast.expr | None, before: str = ": ") -> str:
    """An annotation as it is read: the type alone where it carries a text."""
    if annotation is None:
        return ""
    return before + _unparsed(_parts(annotation)[0] if _doc_of(annotation) else annotation)


def _doc_of(annotation: ast.expr | None) -> str:
    """The text of `Annotated[T, Doc("…")]`."""
    for part in _parts(annotation)[1:]:
        if isinstance(part, ast.Call) and last_name(part.func) == "Doc" and part.args:
            text = part.args[0]
            return text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""
    return ""


def _parts(annotation: ast.expr | None) -> list[ast.expr]:
    """What stands in the brackets of `Annotated[…]`."""
    if not isinstance(annotation, ast.Subscript) or last_name(annotation.value) != "Annotated":
        return []
    return annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else []


def _items(told: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"- `{name}`: {_cut(_flowing(text), _LONGEST_TOLD)}" for name, text in told)


def _flowing(text: str) -> str:
    """A text without the white space that its place in the source gave it; examples keep their lines."""
    paragraphs = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(each if "```" in each else " ".join(each.split()) for each in paragraphs)


def _unparsed(node: ast.expr) -> str:
    """An expression as code; one that is nested too deeply is left out."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return "…"


def _cut(text: str, most_characters: int) -> str:
    return text if len(text) <= most_characters else f"{text[:most_characters].rstrip()} …"
