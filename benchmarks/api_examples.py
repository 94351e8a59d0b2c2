"""Validate every example call of real API descriptions with third-party libraries, and print a Markdown table.

    pip install graphql-core openapi-schema-validator grpcio-tools
    python -m benchmarks.api_examples [--show N] FILE_OR_FOLDER ...

A call is valid if it uses the path of its operation with every required parameter, the values match their schemas, the
media type is accepted by the server and is not a pattern, and the body matches its schema. JSON Schema is checked by
`openapi-schema-validator` (after decoding forms), GraphQL by `graphql-core`, protobuf by `protoc` and
`google.protobuf.json_format`. Bodies that no library can check (XML, files) only have to be present. The descriptions
are read by PyYAML or `json`, not by Deltos.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from deltos.domains.apis.domain import open_apis
from deltos.domains.apis.example import example_call
from deltos.domains.apis.library import api_of
from deltos.store.sqlite.library import SqliteLibrary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deltos.domains.apis.model import Operation

    Check = Callable[[Operation, str], str]

ROOT = "urn:description"
MAX_PRINTED_CHARACTERS = 300
_VARIABLE = re.compile(r"\$\{?[A-Z_][A-Z0-9_]*")
_FLAGS_WITH_VALUE = (
    "-X",
    "-H",
    "-d",
    "--data-raw",
    "--data-binary",
    "--data-urlencode",
    "-F",
    "--form-string",
    "-u",
    "-b",
)


@dataclass(slots=True)
class ExampleCounts:
    """Numbers of valid and invalid example calls of one description."""

    name: str
    calls: int = 0
    valid: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    shown: list[str] = field(default_factory=list)


@dataclass(slots=True)
class CurlCall:
    """A parsed curl command."""

    url: str = ""
    method: str = "GET"
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)
    data: str | None = None
    fields: list[tuple[str, str]] = field(default_factory=list)
    is_multipart: bool = False


def main() -> None:
    """Check the examples of every given description."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", type=int, default=0, help="invalid calls to print for each description")
    parser.add_argument("--least", type=int, default=0, help="omit descriptions with fewer invalid calls")
    parser.add_argument("places", nargs="+", type=Path)
    args = parser.parse_args()
    files = [file for place in args.places for file in _description_files(place)]
    tallies = [tally for tally in map(check_description, files) if tally and tally.calls]
    print("| description | calls | valid | share | most frequent reasons |\n|---|--:|--:|--:|---|")
    for tally in sorted(tallies, key=lambda one: one.name):
        if tally.calls - tally.valid >= args.least:
            reasons = "; ".join(f"{reason} ({count})" for reason, count in tally.reasons.most_common(3))
            print(f"| {tally.name} | {tally.calls} | {tally.valid} | {tally.valid / tally.calls:.3f} | {reasons} |")
    calls, valid = sum(tally.calls for tally in tallies), sum(tally.valid for tally in tallies)
    print(f"| **all {len(tallies)}** | {calls} | {valid} | {valid / max(1, calls):.4f} | |")
    for tally in tallies:
        for text in tally.shown[: args.show]:
            print(f"\n## {tally.name}\n{text}")


def _description_files(place: Path) -> list[Path]:
    return [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.is_file())


def check_description(path: Path) -> ExampleCounts | None:
    """Check all examples of one description."""
    tally = ExampleCounts(path.stem if path.parent.name == "api" else f"{path.parent.name}/{path.stem}")
    with tempfile.TemporaryDirectory() as folder:
        apis = open_apis(SqliteLibrary(Path(folder, "library.db")), network=None, clock=time.time)
        try:
            names = [api.name for api in apis.indexer.add(str(path)).apis]
            check = call_checker(path)
        except Exception as exc:  # noqa: BLE001 (libraries raise arbitrary errors on broken descriptions)
            print(f"{path}: {type(exc).__name__}: {str(exc)[:200]}", file=sys.stderr)
            return None
        for name in names:
            row = apis.library.row(name)
            overview, resolve = api_of(row).overview, apis.library.resolver(row.id)
            for unit in apis.library.store.units(row.id, ("operation",)):
                operation = apis.library.operation(unit)
                call = example_call(operation, overview, resolve)
                if call:
                    check_and_count(tally, operation, call, check)
    return tally


def check_and_count(tally: ExampleCounts, operation: Operation, call: str, check: Check) -> None:
    """Check one call and count it as valid or invalid."""
    try:
        problem = check(operation, call)
    except RecursionError:
        problem = "library: recursion"
    tally.calls += 1
    tally.valid += not problem
    if problem:
        tally.reasons[problem.split(":")[0]] += 1
        tally.shown.append(f"{operation.key}\n{problem[:MAX_PRINTED_CHARACTERS]}\n{call[:1_200]}")


def call_checker(path: Path) -> Check:
    """Return a function that checks the calls of a description, according to the format of the description."""
    data = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix in (".graphql", ".graphqls", ".gql"):
        return graphql_checker(data)
    if path.suffix == ".proto":
        return protobuf_checker(path)
    if data.lstrip()[:1] in "{[":
        root = json.loads(data)
    else:
        import yaml

        root = json.loads(json.dumps(yaml.load(data, Loader=yaml.CSafeLoader), default=str))
    if "__schema" in root or "__schema" in root.get("data", {}):
        from graphql import build_client_schema, print_schema

        return graphql_checker(print_schema(build_client_schema(root.get("data", root))))
    return OpenApiChecker(root).check


# ---------------------------------------------------------------------- GraphQL and protobuf


def graphql_checker(sdl: str) -> Check:
    """Return a function that validates the document of a call against the schema."""
    from graphql import GraphQLError, build_schema, parse, validate

    schema = build_schema(sdl, assume_valid=True)

    def check(_operation: Operation, call: str) -> str:
        body = json.loads(parse_curl_call(call).data or "{}")
        try:
            errors = validate(schema, parse(body["query"]))
        except GraphQLError as exc:
            return f"syntax: {exc.message}"
        return f"graphql: {errors[0].message}" if errors else ""

    return check


def protobuf_checker(path: Path) -> Check:
    """Compile the file with protoc. Return a function that parses a call's message as JSON."""
    from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

    with tempfile.NamedTemporaryFile(suffix=".pb") as out:
        roots = [str(parent) for parent in path.parents if (parent / "google").is_dir()][:1] or [str(path.parent)]
        well_known = [f"-I{Path(place)}" for place in sys.path if Path(place, "grpc_tools/_proto").is_dir()]
        well_known = [f"{one}/grpc_tools/_proto" for one in well_known]
        command = [sys.executable, "-m", "grpc_tools.protoc", *(f"-I{root}" for root in roots), *well_known]
        command += ["--include_imports", f"--descriptor_set_out={out.name}", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(done.stderr[:300])
        files = descriptor_pb2.FileDescriptorSet.FromString(Path(out.name).read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)

    def check(_operation: Operation, call: str) -> str:
        words = shlex.split(call)
        service, _, method = words[-1].rpartition("/")
        wanted = pool.FindServiceByName(service).methods_by_name[method].input_type
        try:
            json_format.Parse(
                words[words.index("-d") + 1], message_factory.GetMessageClass(wanted)(), descriptor_pool=pool
            )
        except json_format.ParseError as exc:
            return f"protobuf: {exc}"
        return ""

    return check


# ---------------------------------------------------------------------- OpenAPI and Swagger


def parse_curl_call(call: str) -> CurlCall:
    """Parse a curl command as a shell and curl do."""
    words = shlex.split(call.replace("\\\n", " "))
    found = CurlCall()
    position = 1
    while position < len(words):
        word = words[position]
        if word not in _FLAGS_WITH_VALUE:
            found.url = word
            position += 1
            continue
        value = words[position + 1]
        position += 2
        if word == "-X":
            found.method = value
        elif word == "-H":
            name, _, text = value.partition(": ")
            found.headers[name.lower()] = text
        elif word == "-b":
            found.cookies.update([value.partition("=")[::2]])
        elif word in ("-d", "--data-raw", "--data-binary"):
            found.data = value
        elif word in ("--data-urlencode", "-F", "--form-string"):
            found.fields.append(value.partition("=")[::2])
            found.is_multipart |= word != "--data-urlencode"
    return found


class OpenApiChecker:
    """Checks the calls for one OpenAPI or Swagger document."""

    def __init__(self, root: dict[str, Any]) -> None:
        from openapi_schema_validator import OAS30WriteValidator, OAS31Validator
        from referencing import Registry, Resource
        from referencing.jsonschema import DRAFT4, DRAFT202012

        self._root = root
        self._is_swagger = "swagger" in root
        is_new = str(root.get("openapi", "")).startswith(("3.1", "3.2"))
        self._validator = OAS31Validator if is_new else OAS30WriteValidator
        specification = DRAFT202012 if is_new else DRAFT4
        resource = Resource.from_contents(root, default_specification=specification)
        self._registry = Registry().with_resource(ROOT, resource)

    def check(self, operation: Operation, call: str) -> str:
        """Return the problem of a call, or "" if it is valid."""
        found = parse_curl_call(call)
        raw, pointer = self._raw_operation(operation)
        if raw is None:
            return "benchmark: the operation was not found"
        if found.method != operation.method:
            return f"method: {found.method}"
        parameters = list(self._resolve_parameters(raw, pointer))
        return self._parameter_problem(operation, found, parameters) or self._body_problem(
            found, raw, pointer, parameters
        )

    def _raw_operation(self, operation: Operation) -> tuple[dict[str, Any] | None, str]:
        item, pointer = self._follow_references(
            self._root.get("paths", {}).get(operation.path), f"/paths/{escape_pointer_token(operation.path)}"
        )
        raw = item.get(operation.method.lower()) if isinstance(item, dict) else None
        if raw is None:
            return None, ""
        return raw, f"{pointer}/{operation.method.lower()}"

    def _follow_references(self, value: Any, pointer: str) -> tuple[Any, str]:
        for _ in range(20):
            if not (isinstance(value, dict) and isinstance(value.get("$ref"), str)):
                break
            pointer = value["$ref"].partition("#")[2]
            value = self._value_at(pointer)
        return value, pointer

    def _value_at(self, pointer: str) -> Any:
        value: Any = self._root
        for part in pointer.split("/")[1:]:
            key = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(value, list):
                value = value[int(key)] if key.isdigit() and int(key) < len(value) else None
            else:
                value = value.get(key) if isinstance(value, dict) else None
        return value

    def _resolve_parameters(self, raw: dict[str, Any], pointer: str) -> Iterator[tuple[dict[str, Any], str]]:
        merged: dict[tuple[str, str], tuple[dict[str, Any], str]] = {}
        item_pointer = pointer.rpartition("/")[0]
        item = self._value_at(item_pointer) or {}
        for holder, place in ((item, item_pointer), (raw, pointer)):
            for position, given in enumerate(holder.get("parameters") or []):
                parameter, where = self._follow_references(given, f"{place}/parameters/{position}")
                if isinstance(parameter, dict):
                    merged[parameter.get("name", ""), parameter.get("in", "")] = (parameter, where)
        return iter(merged.values())

    def _parameter_problem(
        self, operation: Operation, found: CurlCall, parameters: list[tuple[dict[str, Any], str]]
    ) -> str:
        query = dict(pair.partition("=")[::2] for pair in urlsplit(found.url).query.split("&") if pair)
        query = {unquote(name): unquote(value) for name, value in query.items()}
        given_path = path_parameter_values(operation.path, urlsplit(found.url).path or found.url)
        if given_path is None:
            return f"path: {found.url} does not match {operation.path}"
        for parameter, pointer in parameters:
            name, place = parameter.get("name", ""), parameter.get("in")
            given: str | None = None
            match place:
                case "query":
                    given = query.get(name)
                case "header":
                    given = found.headers.get(name.lower())
                case "cookie":
                    given = found.cookies.get(name)
                case "path":
                    given = given_path.get(name)
            if place == "header" and name.lower() in ("content-type", "authorization", "accept") and given is None:
                continue
            if parameter.get("required") is True and place in ("query", "header", "cookie", "path") and not given:
                if place == "path" and f"{{{name}}}" not in operation.path:
                    continue  # The description is invalid: it does not say where the parameter belongs in the request.
                return f"parameter missing: {place} {name}"
            if given and not _VARIABLE.search(given):
                schema = pointer if self._is_swagger and "schema" not in parameter else f"{pointer}/schema"
                if self._value_at(schema) is not None and (
                    problem := self._schema_problem(self._coerce(given, schema), schema)
                ):
                    return f"parameter value: {name} = {given}: {problem}"
        return ""

    def _body_problem(
        self,
        found: CurlCall,
        raw: dict[str, Any],
        pointer: str,
        parameters: list[tuple[dict[str, Any], str]],
    ) -> str:
        if self._is_swagger:
            return self._swagger_body_problem(found, raw, parameters)
        body, place = self._follow_references(raw.get("requestBody"), f"{pointer}/requestBody")
        sent = found.data is not None or bool(found.fields)
        if not isinstance(body, dict) or not body.get("content"):
            return "body: none is taken" if sent else ""
        if not sent:
            return "body missing" if body.get("required") is True and self._needs_fields(body, place) else ""
        media_type = found.headers.get("content-type", "multipart/form-data" if found.is_multipart else "")
        media_type = media_type or "application/x-www-form-urlencoded"
        taken = matching_media_type(media_type, list(body["content"]))
        if not taken:
            return f"media type: {media_type} is not among {', '.join(body['content'])}"
        schema = f"{place}/content/{escape_pointer_token(taken)}/schema"
        return self._content_problem(found, media_type, schema)

    def _needs_fields(self, body: dict[str, Any], place: str) -> bool:
        """Return whether a required body must have content. The body of a form without required fields may be empty."""
        for media_type in body["content"]:
            schema = f"{place}/content/{escape_pointer_token(media_type)}/schema"
            if "form" in media_type and not self._schema_problem({}, schema):
                return False
        return True

    def _swagger_body_problem(
        self, found: CurlCall, raw: dict[str, Any], parameters: list[tuple[dict[str, Any], str]]
    ) -> str:
        consumes = raw.get("consumes") or self._root.get("consumes") or []
        fields = {
            parameter["name"]: (parameter, place) for parameter, place in parameters if parameter["in"] == "formData"
        }
        body = next(((parameter, place) for parameter, place in parameters if parameter["in"] == "body"), None)
        media_type = found.headers.get("content-type", "")
        if media_type and consumes and not matching_media_type(media_type, consumes):
            return f"media type: {media_type} is not among {', '.join(consumes)}"
        if body:
            if found.data is None:
                return "body missing" if body[0].get("required") is True else ""
            return self._content_problem(found, media_type, f"{body[1]}/schema")
        given = defaultdict(list)
        for name, value in found.fields:
            given[name].append(value)
        for name, (parameter, place) in fields.items():
            if parameter.get("required") is True and name not in given:
                return f"form field missing: {name}"
            for value in given.get(name, ()):
                if parameter.get("type") != "file" and (
                    problem := self._schema_problem(self._coerce(value, place), place)
                ):
                    return f"form field: {name} = {value}: {problem}"
        return ""

    def _content_problem(self, found: CurlCall, media_type: str, schema: str) -> str:
        if "*" in media_type:
            return f"media type: {media_type} is a pattern"
        if self._value_at(schema) is None:
            return ""
        if "form" in media_type:
            value = self._coerce(nested_fields(found.fields), schema)
            problem = self._schema_problem(value, schema)
            return f"form: {problem}" if problem else ""
        if found.data and found.data.startswith("@"):
            return "" if "json" not in media_type else "body: in a file that does not exist"
        if "json" in media_type:
            try:
                value = json.loads(found.data or "")
            except ValueError as exc:
                return f"json: {exc}"
            problem = self._schema_problem(value, schema)
            return f"body: {problem}" if problem else ""
        return "" if found.data else "body missing"

    def _schema_problem(self, value: Any, pointer: str) -> str:
        from jsonschema.exceptions import best_match  # type: ignore[import-untyped,unused-ignore]
        from referencing.exceptions import Unresolvable

        validator = self._validator({"$ref": f"{ROOT}#{quote_pointer(pointer)}"}, registry=self._registry)
        try:
            error = best_match(validator.iter_errors(value))
        except Unresolvable:
            return ""  # The description has an error, so the call cannot be checked.
        except Exception:  # noqa: BLE001 (a schema that the library cannot read, such as a broken pattern)
            return ""
        return f"{error.json_path} {error.message[:200]}" if error else ""

    def _coerce(self, value: Any, pointer: str, depth: int = 0) -> Any:
        """Convert strings of a URL or form to the types in their schema, as a server does before it validates them."""
        schema, pointer = self._follow_references(self._value_at(pointer), pointer)
        if not isinstance(schema, dict) or depth > 12:
            return value
        for keyword in ("allOf", "anyOf", "oneOf"):
            for position in range(len(schema.get(keyword) or [])):
                inner = f"{pointer}/{keyword}/{position}"
                changed = self._coerce(value, inner, depth + 1)
                if keyword == "allOf" or not self._schema_problem(changed, inner):
                    value = changed
                    if keyword != "allOf":
                        break
        kind = schema.get("type")
        kinds = kind if isinstance(kind, list) else [kind]
        if "array" in kinds and not isinstance(value, list):
            value = list(value.values()) if isinstance(value, dict) else [value]
        if isinstance(value, list):
            return [self._coerce(part, f"{pointer}/items", depth + 1) for part in value]
        if isinstance(value, dict):
            members = schema.get("properties") or {}
            return {
                name: self._coerce(part, f"{pointer}/properties/{escape_pointer_token(name)}", depth + 1)
                if name in members
                else part
                for name, part in value.items()
            }
        if not isinstance(value, str):
            return value
        if "integer" in kinds or "number" in kinds or "boolean" in kinds:
            try:
                return json.loads(value)
            except ValueError:
                return value
        return value


def path_parameter_values(template: str, path: str) -> dict[str, str] | None:
    """Return the values of the path parameters, or None if the URL does not match the template."""
    parts = re.split(r"\{([^{}]+)\}", template.partition("?")[0].partition("#")[0])
    pattern = "".join(f"(?P<p{n}>[^/]+?)" if n % 2 else re.escape(part) for n, part in enumerate(parts))
    match = re.search(f"{pattern}/?$", path)
    return {parts[n]: unquote(match[f"p{n}"]) for n in range(1, len(parts), 2)} if match else None


def nested_fields(fields: list[tuple[str, str]]) -> dict[str, Any]:
    """Parse form fields such as `a[b]=1` and `a=1&a=2` as nested values."""
    found: dict[str, Any] = {}
    for name, value in fields:
        keys = [name.partition("[")[0], *re.findall(r"\[([^\[\]]*)\]", name)]
        holder = found
        for key in keys[:-1]:
            holder = holder.setdefault(key, {})
        last = keys[-1]
        if last in holder:
            holder[last] = [*(holder[last] if isinstance(holder[last], list) else [holder[last]]), value]
        else:
            holder[last] = value
    return {name: convert_to_lists(value) for name, value in found.items()}


def convert_to_lists(value: Any) -> Any:
    """Convert mappings whose keys are list positions to lists."""
    if not isinstance(value, dict):
        return value
    inner = {name: convert_to_lists(part) for name, part in value.items()}
    return list(inner.values()) if inner and all(name.isdigit() or not name for name in inner) else inner


def matching_media_type(media_type: str, offered: list[str]) -> str:
    """Return the offered media type or pattern that a media type matches."""
    base = media_type.partition(";")[0].strip().lower()
    for one in offered:
        name = one.partition(";")[0].strip().lower()
        if name == base or (name.endswith("/*") and base.startswith(name[:-1])) or name == "*/*":
            return one
    return ""


def escape_pointer_token(key: str) -> str:
    """Escape a key as a token of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def quote_pointer(pointer: str) -> str:
    """Percent-encode a pointer as a URL fragment."""
    return pointer.replace("%", "%25").replace(" ", "%20").replace("{", "%7B").replace("}", "%7D")


if __name__ == "__main__":
    main()
