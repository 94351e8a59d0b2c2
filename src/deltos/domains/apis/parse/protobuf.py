"""Parser for Protocol Buffers that reads services and messages with comments, and resolves imported types."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import structs

from deltos.domains.apis.model import ApiDescription, Content, Operation, Overview, Response, Schema
from deltos.domains.apis.spec_text import first_sentence, split_words

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from deltos.domains.apis.model import Json

# An unterminated string extends to the end of its line, an unterminated comment to the end of the file.
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|[\w.]+|\n|[^\s]""", re.DOTALL
)
_SCALAR_TYPES = {
    **dict.fromkeys(("int32", "sint32", "sfixed32", "uint32", "fixed32"), "integer"),
    **dict.fromkeys(("int64", "sint64", "sfixed64", "uint64", "fixed64"), "integer"),
    **dict.fromkeys(("double", "float"), "number"),
    "bool": "boolean",
    "string": "string",
    "bytes": "bytes",
}
_HOST = re.compile(r"[\w.-]+(?::\d+)?")
_HTTP_METHODS = ("get", "put", "post", "delete", "patch")
MAX_IMPORTS = 10_000
MAX_NESTING = 64  # maximum nesting level of messages
MAX_PACKAGE_CHARACTERS = 500  # limited, because every type name contains the package name


@dataclass(slots=True)
class _Token:
    """A token of the file, and the comment that belongs to it."""

    text: str
    comment: str


@dataclass(slots=True)
class _ProtoFile:
    """Declarations in one file; type names are still unresolved and stored with their scopes."""

    package: str = ""
    syntax: str = "proto2"
    imports: list[str] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    schemas: dict[str, Schema] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def parse_protobuf(text: str, read_import: Callable[[str], str | None]) -> ApiDescription:
    """Parse one `.proto` file; types from readable imported files become fragments."""
    file = _ProtoParser(text).parse()
    imported_types = _imported_types(file, read_import)
    return _describe_package([file], {**imported_types, **file.schemas})


def parse_protobuf_files(texts: Sequence[str], imported: Iterable[str]) -> list[ProtobufPackage]:
    """Parse several files together; the files of a package form one API, and types are resolved across packages."""
    packages: dict[str, list[int]] = {}
    files: list[_ProtoFile] = []
    for position, text in enumerate(texts):
        files.append(_ProtoParser(text).parse())
        packages.setdefault(files[-1].package, []).append(position)
    types: dict[str, Schema] = {}
    for file in (*(_ProtoParser(text).parse() for text in imported), *files):
        types.update(file.schemas)
    return [
        ProtobufPackage(tuple(positions), _describe_package([files[position] for position in positions], types))
        for positions in packages.values()
    ]


@dataclass(frozen=True, slots=True)
class ProtobufPackage:
    """The API in the files of one package, and the positions of these files in the input."""

    positions: tuple[int, ...]
    description: ApiDescription


def _describe_package(files: Sequence[_ProtoFile], types: Mapping[str, Schema]) -> ApiDescription:
    """Convert the files of one package to an `ApiDescription`, including the types that it uses from other packages."""
    own = {schema.pointer: schema for file in files for schema in file.schemas.values()}
    schemas = tuple(_resolve_schema(schema, types) for schema in own.values())
    operations = tuple(
        _resolve_operation(operation, file.package, types) for file in files for operation in file.operations
    )
    first = next((file for file in files if file.operations), files[0])
    warnings = () if operations else dict.fromkeys(warning for file in files for warning in file.warnings)
    kept = (*(first.warnings if operations else warnings), *(() if operations else ("The file declares no services.",)))
    overview = Overview(
        title=first.package,
        version=_version(first.package),
        kind=f"Protocol Buffers {first.syntax}",
        description="",
        servers=tuple(dict.fromkeys(operation.server for operation in operations if operation.server)),
    )
    distinct = tuple({operation.key: operation for operation in operations}.values())
    return ApiDescription(overview, distinct, schemas, _referenced_foreign_types(schemas, distinct, own, types), kept)


def _referenced_foreign_types(
    schemas: Iterable[Schema], operations: Iterable[Operation], own: Mapping[str, Schema], types: Mapping[str, Schema]
) -> dict[str, Json]:
    """Return the types from other packages that the package uses directly or indirectly, by pointer."""
    foreign: dict[str, Json] = {}
    pending = [target for schema in schemas for target in _reference_targets(schema)]
    for operation in operations:
        contents = (*operation.bodies, *(one for response in operation.responses for one in response.contents))
        pending += [content.schema["$ref"] for content in contents]
    while pending:
        pointer = pending.pop()
        found = types.get(pointer.removeprefix("#/"))
        if found is not None and pointer not in own and pointer not in foreign:
            foreign[pointer] = _resolve_schema(found, types).schema
            pending += _reference_targets(found)
    return foreign


def _reference_holders(schema: Schema) -> Iterator[dict[str, Json]]:
    """Yield the schemas of the fields of a message that refer to types."""
    for member in schema.schema.get("properties", {}).values():
        for holder in (member, member.get("items"), member.get("additionalProperties")):
            if isinstance(holder, dict) and "$ref" in holder:
                yield holder


def _reference_targets(schema: Schema) -> list[str]:
    return [holder["$ref"] for holder in _reference_holders(schema)]


def _imported_types(importing: _ProtoFile, read_import: Callable[[str], str | None]) -> dict[str, Schema]:
    """Return the types in all files that are reachable through imports."""
    types: dict[str, Schema] = {}
    seen: set[str] = set()
    pending = list(importing.imports)
    while pending and len(seen) < MAX_IMPORTS:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        text = read_import(name)
        if text is not None:
            file = _ProtoParser(text).parse()
            types.update(file.schemas)
            pending.extend(file.imports)
    if pending:
        importing.warnings.append(f"There are more than {MAX_IMPORTS:,} imported files; the others were not read.")
    return types


def _version(package: str) -> str:
    """Return the version at the end of a package name, such as `v1`; empty if there is none."""
    last = package.rsplit(".", 1)[-1]
    return last if re.match(r"v\d", last) else ""


class _ProtoParser:
    """Parser that reads a list of tokens; every step consumes at least one token, so that parsing always ends."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokenize(text)
        self._at = 0
        self._file = _ProtoFile()

    def parse(self) -> _ProtoFile:
        """Parse all declarations of the file."""
        while self._at < len(self._tokens):
            token = self._next()
            match token.text:
                case "package":
                    self._parse_package(self._next().text)
                case "syntax" | "edition":
                    self._parse_syntax()
                case "import":
                    self._parse_import()
                case "service":
                    self._parse_service()
                case "message":
                    self._parse_message(token.comment, self._file.package, 0)
                case "enum":
                    self._parse_enum(token.comment, self._file.package)
                case _:
                    self._skip_statement(token.text)
        return self._file

    def _peek(self) -> str:
        return self._tokens[self._at].text if self._at < len(self._tokens) else ""

    def _next(self) -> _Token:
        token = self._tokens[self._at] if self._at < len(self._tokens) else _Token("", "")
        self._at += 1
        return token

    def _take(self, text: str) -> bool:
        """Consume the next token if it is `text`; return whether the token was consumed."""
        if self._peek() != text:
            return False
        self._at += 1
        return True

    def _parse_syntax(self) -> None:
        if self._take("="):
            self._file.syntax = self._next().text.strip("\"'")

    def _parse_import(self) -> None:
        name = self._next().text
        if name in ("public", "weak"):
            name = self._next().text
        self._file.imports.append(name.strip("\"'"))

    def _skip_statement(self, first: str) -> None:
        """Skip to the `;` or the closing brace of a statement."""
        depth = 1 if first == "{" else 0
        while first != ";" and self._at < len(self._tokens):
            text = self._next().text
            depth += (text == "{") - (text == "}")
            if depth <= 0 and text in (";", "}"):
                return

    def _parse_service(self) -> None:
        """Parse a service and its operations."""
        service, host = self._next().text, ""
        before = len(self._file.operations)
        self._take("{")
        while self._peek() not in ("}", ""):
            token = self._next()
            if token.text == "rpc":
                self._parse_rpc(service, token.comment)
            elif token.text == "option":
                host = _default_host(self._parse_statement_tail()) or host
            else:
                self._skip_statement(token.text)
        self._next()
        if host:
            own = self._file.operations[before:]
            self._file.operations[before:] = [structs.replace(operation, server=host) for operation in own]

    def _parse_rpc(self, service: str, comment: str) -> None:
        name = self._next().text
        request, request_streams = self._parse_rpc_type()
        if self._peek() == "returns":
            self._next()
        response, response_streams = self._parse_rpc_type()
        options = self._braced_tokens() if self._peek() == "{" else []
        http = _http_rule(options)
        scope = self._file.package
        full = f"{scope}.{service}" if scope else service
        stream = " (stream)" if response_streams else ""
        self._file.operations.append(
            Operation(
                method="RPC",
                path=f"{full}/{name}",
                pointer=f"#/{full}/{name}",
                name=name,
                summary=first_sentence(comment) or split_words(name).capitalize(),
                description="\n\n".join(filter(None, (comment, f"HTTP: {http}" if http else ""))),
                tags=(service,),
                bodies=(Content("protobuf stream" if request_streams else "protobuf", {"$ref": request}),),
                body_required=True,
                responses=(Response(f"returns{stream}", "", (Content("protobuf", {"$ref": response}),)),),
                deprecated="deprecated" in options and "true" in options,
            )
        )

    def _parse_rpc_type(self) -> tuple[str, bool]:
        """Return the name of a request or response type, and whether it is streamed."""
        self._take("(")
        streams = self._take("stream")
        name = self._next().text
        self._take(")")
        return name, streams

    def _braced_tokens(self) -> list[str]:
        """Return the tokens of a block in braces, including nested blocks."""
        depth, texts = 0, []
        while self._at < len(self._tokens):
            text = self._next().text
            depth += (text == "{") - (text == "}")
            if depth <= 0:
                break
            texts.append(text)
        return texts

    def _parse_package(self, name: str) -> None:
        if len(name) > MAX_PACKAGE_CHARACTERS:
            self._file.warnings.append(f"The package name was ignored because it has {len(name):,} characters.")
        else:
            self._file.package = name

    def _parse_message(self, comment: str, scope: str, depth: int) -> None:
        name = self._next().text
        full = f"{scope}.{name}" if scope else name
        schema: dict[str, Json] = {"x-kind": "message", "type": "object", "properties": {}}
        self._file.schemas[full] = Schema(full, f"#/{full}", schema, comment)
        self._take("{")
        self._parse_members(schema, full, depth)

    def _warn_too_deep(self) -> None:
        warning = f"Declarations nested deeper than {MAX_NESTING} levels were ignored."
        if warning not in self._file.warnings:
            self._file.warnings.append(warning)

    def _parse_members(self, message: dict[str, Json], scope: str, depth: int, oneof: str = "") -> None:
        """Parse the fields and nested types of a message or `oneof`."""
        while self._peek() not in ("}", ""):
            token = self._next()
            match token.text:
                case "message" if self._declares_type():
                    if depth >= MAX_NESTING:
                        self._warn_too_deep()
                        self._skip_statement("message")
                    else:
                        self._parse_message(token.comment, scope, depth + 1)
                case "enum" if self._declares_type():
                    self._parse_enum(token.comment, scope)
                case "oneof" if self._declares_type():
                    name = self._next().text
                    self._take("{")
                    if depth < MAX_NESTING:
                        self._parse_members(message, scope, depth + 1, name)
                    else:
                        self._warn_too_deep()
                case "option" | "reserved" | "extensions" | "extend" | ";":
                    self._skip_statement(token.text)
                case _:
                    self._parse_field(token, message, scope, oneof)
        self._next()

    def _declares_type(self) -> bool:
        """Whether the current keyword starts a declaration and is not a field type."""
        following = self._tokens[self._at + 1].text if self._at + 1 < len(self._tokens) else ""
        return following == "{"

    def _parse_field(self, first: _Token, message: dict[str, Json], scope: str, oneof: str) -> None:
        label, type_name = "", first.text
        if type_name in ("repeated", "optional", "required"):
            label, type_name = type_name, self._next().text
        if type_name == "group" or type_name == "{":
            self._skip_statement(type_name)
            return
        schema = self._parse_map_schema(scope) if type_name == "map" else _type_schema(type_name, scope)
        if label == "repeated":
            schema = {"type": "array", "items": schema}
        name = self._next().text
        tail = self._parse_statement_tail()
        if first.comment:
            schema["description"] = first.comment
        if oneof:
            schema["x-oneof"] = oneof
        if "deprecated" in tail:
            schema["deprecated"] = True
        if "OUTPUT_ONLY" in tail:
            schema["readOnly"] = True
        message["properties"][name] = schema
        if label == "required" or "REQUIRED" in tail or (".required" in tail and "true" in tail):
            message.setdefault("required", []).append(name)

    def _parse_map_schema(self, scope: str) -> dict[str, Json]:
        """Parse a map type and return its schema."""
        self._take("<")
        self._next()
        self._take(",")
        value = self._next().text
        self._take(">")
        return {"type": "object", "additionalProperties": _type_schema(value, scope)}

    def _parse_statement_tail(self) -> list[str]:
        """Return the remaining tokens of a statement."""
        texts = []
        while self._at < len(self._tokens) and self._peek() != "}":
            text = self._next().text
            if text == ";":
                break
            if text == "{":
                self._at -= 1
                texts += self._braced_tokens()
            else:
                texts.append(text)
        return texts

    def _parse_enum(self, comment: str, scope: str) -> None:
        name = self._next().text
        full = f"{scope}.{name}" if scope else name
        values, notes = [], []
        self._take("{")
        while self._peek() not in ("}", ""):
            token = self._next()
            if token.text in ("option", "reserved", ";"):
                self._skip_statement(token.text)
                continue
            values.append(token.text)
            notes.append(f"{token.text}: {token.comment}" if token.comment else "")
            self._parse_statement_tail()
        self._next()
        description = "\n".join(filter(None, (comment, *notes)))
        schema = {"x-kind": "enum", "type": "string", "enum": values}
        self._file.schemas[full] = Schema(full, f"#/{full}", schema, description)


def _tokenize(text: str) -> list[_Token]:
    """Return the tokens of a file, each with the comment before it or at the end of its line."""
    tokens: list[_Token] = []
    comment: list[str] = []
    line_started = 0
    is_blank = False
    statement = 0
    for match in _TOKEN.finditer(text):
        lexeme = match[0]
        if lexeme == "\n":
            if is_blank:
                comment.clear()
            is_blank, line_started = True, len(tokens)
        elif lexeme.startswith(("//", "/*")):
            is_blank = False
            if len(tokens) > line_started and tokens[-1].text in (";", "{", "}"):
                _attach_trailing_comment(tokens, statement, lexeme)
            else:
                comment.append(_comment_text(lexeme))
        else:
            is_blank = False
            if not tokens or tokens[-1].text in (";", "{", "}"):
                statement = len(tokens)
            tokens.append(_Token(lexeme, "\n".join(comment).strip()))
            comment.clear()
    return tokens


def _attach_trailing_comment(tokens: list[_Token], statement: int, comment: str) -> None:
    """Use a comment at the end of a line as the comment of the statement before it, unless that statement has one."""
    if tokens[-1].text == ";" and not tokens[statement].comment:
        tokens[statement].comment = _comment_text(comment).strip()


def _comment_text(token: str) -> str:
    """Return the text of a comment without its markers."""
    if token.startswith("//"):
        return token.lstrip("/").removeprefix(" ")
    return "\n".join(line.strip().removeprefix("*").strip() for line in token[2:-2].splitlines())


def _default_host(option: list[str]) -> str:
    """Return the host in an option such as `(google.api.default_host) = "pubsub.googleapis.com"`."""
    host = option[-1].strip("\"'") if "google.api.default_host" in option else ""
    return host if _HOST.fullmatch(host) else ""


def _http_rule(options: list[str]) -> str:
    """Return the HTTP rule in the options: `GET /v1/{name}` for `option (google.api.http) = { get: "/v1/{name}" }`."""
    for position, text in enumerate(options[:-2]):
        if text in _HTTP_METHODS and options[position + 1] == ":" and options[position + 2][:1] in "\"'":
            return f"{text.upper()} {options[position + 2][1:-1]}"
    return ""


def _type_schema(type_name: str, scope: str) -> dict[str, Json]:
    """Return the schema of a scalar type, or an unresolved reference to another type."""
    if type_name in _SCALAR_TYPES:
        return {"type": _SCALAR_TYPES[type_name], "format": type_name}
    return {"$ref": type_name, "x-scope": scope}


def _resolve_schema(schema: Schema, known: Container[str]) -> Schema:
    """Return a schema with its references resolved to full names."""
    for holder in _reference_holders(schema):
        if "x-scope" in holder:
            holder["$ref"] = _full_name(holder["$ref"], holder.pop("x-scope"), known)
    return schema


def _resolve_operation(operation: Operation, package: str, known: Container[str]) -> Operation:
    """Resolve the request and response types of an operation."""
    for content in (*operation.bodies, *operation.responses[0].contents):
        content.schema["$ref"] = _full_name(content.schema["$ref"], package, known)
    return operation


def _full_name(name: str, scope: str, known: Container[str]) -> str:
    """Return the pointer of a type, found in the innermost scope that defines the name."""
    if name.startswith("."):
        return f"#/{name[1:]}"
    while scope:
        if f"{scope}.{name}" in known:
            return f"#/{scope}.{name}"
        scope = scope.rpartition(".")[0]
    return f"#/{name}"
