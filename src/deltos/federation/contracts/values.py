"""Evaluate string expressions in code, such as constants and concatenations, to path templates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltos.federation.contracts.paths import UNKNOWN, join_paths

if TYPE_CHECKING:
    from deltos.federation.contracts.facts import Assignment, CodeDefinition, ContractFacts, Expression, Invocation
    from deltos.federation.contracts.names import ContractNames

_MAX_CONSTANT_CHAIN = 10  # maximum length of a chain of constants that refer to each other
_MAX_VALUE_CHARACTERS = 2_000
_FORMATTERS = frozenset({"Sprintf", "sprintf", "format", "String.format", "Errorf", "formatted"})
_JOINERS = frozenset({"urljoin", "JoinPath", "Join", "join", "url_join", "urlJoin", "resolve", "Combine"})
_CONVERSIONS = frozenset(
    "URL URI Uri create parse Parse from to_string toString String str as_str trim rstrip strip removesuffix "
    "TrimSuffix TrimRight".split()
)
_ENVIRONMENT_READERS = frozenset({"getenv", "get", "env", "Getenv", "config", "var", "GetValue", "getProperty"})


class Values:
    """Evaluates expressions to path templates, which contain placeholders for unknown values."""

    def __init__(self, names: ContractNames) -> None:
        self._names = names
        self.bindings: dict[tuple[str, int, int], str] = {}  # value of each parameter by file, function id and position
        # The function of each parameter that was used since the last reset; the keys are those of `bindings`.
        self.parameters: dict[tuple[str, int, int], CodeDefinition] = {}

    def text(self, file: ContractFacts, value: Expression | None, offset: int, steps: int = 0) -> str | None:
        """Evaluate an expression at a byte offset to a template, or return None if it is not a string."""
        if value is None or steps > _MAX_CONSTANT_CHAIN:
            return None
        if value.kind == "text":
            return value.text[:_MAX_VALUE_CHARACTERS]
        if value.kind == "join":
            return self._join(file, value, offset, steps)
        if value.kind == "name":
            return self._resolve_name(file, value.text, offset, steps)
        if value.kind == "call":
            return self._evaluate_call(file, file.calls.get(value.place), offset, steps)
        return None

    def texts(self, file: ContractFacts, value: Expression | None, offset: int) -> list[str]:
        """Evaluate a string, or a list of strings, to templates."""
        if value is not None and value.kind == "list":
            return [text for part in value.parts if (text := self.text(file, part, offset)) is not None]
        found = self._names.assignment(file, value.text) if value is not None and value.kind == "name" else None
        if found and found[1].value.kind == "list":
            return self.texts(found[0], found[1].value, found[1].start)
        text = self.text(file, value, offset)
        return [] if text is None else [text]

    def part(self, file: ContractFacts, value: Expression, offset: int, steps: int = 0) -> str:
        """Evaluate a part of a string, or return a placeholder with the name of the part."""
        text = self.text(file, value, offset, steps + 1)
        return text if text is not None else f"{UNKNOWN}{self._placeholder(file, value)}}}"

    def _placeholder(self, file: ContractFacts, value: Expression) -> str:
        if value.kind == "call" and (call := file.calls.get(value.place)):
            inner = call.arguments[0] if call.arguments else call.on
            return (
                self._placeholder(file, inner) if inner is not None and inner.kind == "name" else call.name or "value"
            )
        name = value.text.rpartition(".")[2] if value.kind == "name" else ""
        return "".join(each for each in name if each.isalnum() or each == "_") or "value"

    def _join(self, file: ContractFacts, value: Expression, offset: int, steps: int) -> str | None:
        if value.text == "%":
            template = self.text(file, value.parts[0], offset, steps + 1)
            rest = [inner for part in value.parts[1:] for inner in (part.parts if part.kind == "list" else (part,))]
            return None if template is None else self._fill(file, template, tuple(rest), offset, steps)
        parts = [self.part(file, each, offset, steps) for each in value.parts]
        is_text = len(parts) == 1 or any(each.kind in ("text", "join") for each in value.parts)
        is_text = is_text or any("/" in part for part in parts)
        if not is_text:
            return None
        return (join_paths(*parts) if value.text == "/" else "".join(parts))[:_MAX_VALUE_CHARACTERS]

    def _resolve_name(self, file: ContractFacts, name: str, offset: int, steps: int) -> str | None:
        if (parameter := self._parameter(file, name, offset)) is not None:
            return self.bindings.get(parameter)
        if found := self._variable(file, name, offset):
            # The value refers to the variable itself, as in `url = url + "/orders"`.
            if found[1].start <= offset <= found[1].end and found[0] is file:
                return None
            return self.text(found[0], found[1].value, found[1].start, steps + 1)
        owner, _, key = name.rpartition(".")
        found = self._variable(file, owner, offset) if owner else None
        if found and found[1].value.kind == "map":
            value = next((value for each, value in found[1].value.keywords if each == key), None)
            return self.text(found[0], value, found[1].start, steps + 1)
        return self._attribute(owner, key, found, steps) if owner and found else None

    def _parameter(self, file: ContractFacts, name: str, offset: int) -> tuple[str, int, int] | None:
        """Return the key of the parameter to which a name refers at a byte offset, and record the use."""
        for scope in file.scopes(offset):
            if any(each.scope == scope.id and each.start < offset for each in file.assigned(name)):
                return None
            for number, (parameter, _) in enumerate(scope.parameters):
                if parameter == name:
                    self.parameters[file.path, scope.id, number] = scope
                    return file.path, scope.id, number
        return None

    def member(self, file: ContractFacts, name: str, key: str, offset: int) -> Expression | None:
        """Return the value of `key` in the map to which a name refers, or None."""
        found = self._variable(file, name, offset)
        pairs = found[1].value.keywords if found and found[1].value.kind == "map" else ()
        return next((value for each, value in pairs if each == key), None)

    def _attribute(self, owner: str, key: str, found: tuple[ContractFacts, Assignment], steps: int) -> str | None:
        """Evaluate a class attribute of an instance, such as `settings.PREFIX` after `settings = Settings()`."""
        call = found[0].calls.get(found[1].value.place) if found[1].value.kind == "call" else None
        own = found[0].assigned(f"{call.name}.{key}") if call is not None else []
        return self.text(found[0], own[-1].value, own[-1].start, steps + 1) if own and owner else None

    def _variable(self, file: ContractFacts, name: str, offset: int) -> tuple[ContractFacts, Assignment] | None:
        """Return the assignment to which a name refers at a byte offset. Inner functions are searched first."""
        for scope in file.scopes(offset):
            own = [each for each in file.assigned(name) if each.scope == scope.id and each.start < offset]
            if own:
                return file, own[-1]
            if any(parameter == name for parameter, _ in scope.parameters):
                return None
        if name.startswith("self."):
            own = file.assigned(name) or file.assigned(name.removeprefix("self."))
            return (file, own[0]) if own else None
        return self._names.assignment(file, name)

    def _evaluate_call(self, file: ContractFacts, call: Invocation | None, offset: int, steps: int) -> str | None:
        if call is None:
            return None
        first = call.arguments[0] if call.arguments else None
        if call.name in _FORMATTERS and call.on is not None and call.on.kind in ("text", "join"):
            return self._filled(file, call.on, call.arguments, offset, steps)
        if call.name in _FORMATTERS and first is not None:
            return self._filled(file, first, call.arguments[1:], offset, steps)
        if call.name == "URL" and len(call.arguments) == 2:
            return self._joined(file, call.arguments[::-1], offset, steps)
        if call.name in _JOINERS and len(call.arguments) > 1:
            return self._joined(file, call.arguments, offset, steps)
        if (
            call.name in _ENVIRONMENT_READERS and len(call.arguments) == 2
        ):  # evaluate the default value of an environment variable
            return self.text(file, call.arguments[1], offset, steps + 1)
        if call.name in _CONVERSIONS:
            return self.text(file, first if first is not None else call.on, offset, steps + 1)
        return None

    def _joined(self, file: ContractFacts, parts: tuple[Expression, ...], offset: int, steps: int) -> str:
        """Join the parts of a URL with slashes. The base may be a placeholder: `{base}/orders`."""
        joined = join_paths(*(self.part(file, each, offset, steps) for each in parts))
        return joined.lstrip("/") if "://" in joined or joined.startswith(f"/{UNKNOWN}") else joined

    def _filled(
        self, file: ContractFacts, template: Expression, values: tuple[Expression, ...], offset: int, steps: int
    ) -> str | None:
        text = self.text(file, template, offset, steps + 1)
        return None if text is None else self._fill(file, text, values, offset, steps)

    def _fill(self, file: ContractFacts, text: str, values: tuple[Expression, ...], offset: int, steps: int) -> str:
        """Replace placeholders such as `%s`, `%d`, `{}` and `{0}` in a format string by values."""
        rest = [self.part(file, each, offset, steps) for each in values]
        out, at = "", 0
        while at < len(text):
            if text[at] == "%" and at + 1 < len(text) and text[at + 1] != "%":
                end = at + 1
                while end < len(text) and not text[end].isalpha() and text[end] not in "/(":
                    end += 1
                out += rest.pop(0) if rest else f"{UNKNOWN}value}}"
                at = end + 1
            elif text.startswith("{}", at) or (text[at] == "{" and text[at + 1 : at + 2].isdigit()):
                out += rest.pop(0) if rest else f"{UNKNOWN}value}}"
                at = text.find("}", at) + 1 or len(text)
            else:
                out += text[at]
                at += 1
        return out[:_MAX_VALUE_CHARACTERS]
