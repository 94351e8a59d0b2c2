"""Descriptions are parsed in child processes within limits; failures are reported and retried after a change."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from fuzz.inline_parser import InlineParser

from deltos.domains.apis.domain import Apis, open_apis
from deltos.domains.apis.index import MAX_LISTED_UNREAD_DOCUMENTS, MAX_STOPPED_DOCUMENTS, MAX_WARNINGS
from deltos.domains.apis.prepare import PreparedDocuments, RawDocument, prepare
from deltos.domains.apis.source import MAX_FILES
from deltos.domains.apis.tools import render_list
from deltos.errors import NothingToIndex, ParserStopped, SourceError
from deltos.isolated_parser import IsolatedParser
from deltos.store.apis import UnreadableDocument
from deltos.store.sqlite.apis import read_unreadable_documents
from deltos.store.sqlite.library import SqliteLibrary
from tests.poison import PoisonedParser, short_limits

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deltos.isolated.process_pool import ProcessPool

NESTING_DEPTH = 100_000
RETRY_NOTE = "It is not tried again until it changes."
REASONS = {
    "poison-loop": f"reading it took more than 1 s of CPU time. {RETRY_NOTE}",
    "poison-devour": f"reading it took more than 300 MB of memory. {RETRY_NOTE}",
    "poison-die": f"the parser crashed (SIGSEGV). {RETRY_NOTE}",
    "poison-raise": "The document could not be parsed (RecursionError: too deep)",
}


def openapi_text(title: str, summary: str = "Find things") -> str:
    return f"openapi: 3.0.0\ninfo: {{title: {title}}}\npaths: {{/a: {{get: {{summary: {summary}}}}}}}\n"


def proto_text(package: str, message: str = "M") -> str:
    return f'syntax = "proto3";\npackage {package};\nservice S {{ rpc Get({message}) returns ({message}); }}\n'


def schema_with_many_roots(number: int) -> str:
    """Return a GraphQL schema with `number` root types of `number` fields each; every pair is an operation."""
    roots = "".join(f"r{index}: T\n" for index in range(number))
    fields = "".join(f"f{index}: T\n" for index in range(number))
    return f"schema {{\n{roots}}}\ntype T {{\n{fields}}}\n"


def description_with_shared_path_item(number: int) -> str:
    """Return an OpenAPI description with `number` paths that share one item of `number` parameters."""
    item = {"get": {"parameters": [{"name": f"a{index}", "in": "query"} for index in range(number)]}}
    paths = {f"/p{index}": {"$ref": "#/components/pathItems/Shared"} for index in range(number)}
    info = {"title": "slow"}
    return json.dumps({"openapi": "3.1.0", "info": info, "paths": paths, "components": {"pathItems": {"Shared": item}}})


def proto_with_long_package(parts: int) -> str:
    """Return a file whose types are looked up in a package name of `parts` parts."""
    fields = "".join(f"X{index} f{index} = 1; " for index in range(20))
    return f'syntax = "proto3";\npackage {"a." * parts}a;\nmessage M {{ {fields} }}\n'


@pytest.fixture
def parser(tmp_path: Path, workers: ProcessPool) -> Iterator[PoisonedParser]:
    with closing(SqliteLibrary(tmp_path / "home" / "library.db")) as database:
        parser = PoisonedParser(workers, database.unreadable_content, limits=short_limits)
        parser.log = tmp_path / "hostile.log"
        yield parser


@pytest.fixture
def guarded_apis(tmp_path: Path, parser: PoisonedParser) -> Iterator[Apis]:
    with closing(SqliteLibrary(tmp_path / "home" / "library.db")) as database:
        yield open_apis(database, network=None, parser=parser, clock=lambda: 0.0)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    return folder


def count_attempts(parser: PoisonedParser) -> int:
    return len(parser.log.read_text().split()) if parser.log.exists() else 0


def unread_documents(apis: Apis) -> dict[str, str]:
    return {row.document: row.reason for row in apis.library.unread_documents()}


@pytest.mark.parametrize("poison", REASONS)
def test_description_over_limits_is_reported_and_retried_only_after_a_change(
    guarded_apis: Apis, parser: PoisonedParser, shop: Path, poison: str
) -> None:
    (shop / "good.yaml").write_text(openapi_text("Good"))
    (shop / "bad.yaml").write_text(openapi_text("Bad", poison))
    report = guarded_apis.indexer.add(str(shop), "shop")
    assert [api.name for api in report.apis] == ["shop"]
    assert unread_documents(guarded_apis) == {"shop/bad.yaml": REASONS[poison]}
    tried = count_attempts(parser)
    (failure,) = guarded_apis.indexer.refresh("shop").failures
    assert failure.document == "shop/bad.yaml"
    if poison != "poison-raise":  # one retry is cheap, and the parser may have been fixed
        assert count_attempts(parser) == tried
    assert "1 API; 1 document could not be read." in render_list(guarded_apis.library, 5_000).text
    assert f"- not read: shop/bad.yaml: {REASONS[poison]}" in render_list(guarded_apis.library, 5_000).text
    (shop / "bad.yaml").write_text(openapi_text("Bad", "Harmless"))
    assert guarded_apis.indexer.refresh("shop").failures == ()
    assert unread_documents(guarded_apis) == {}
    assert "could not be read" not in render_list(guarded_apis.library, 5_000).text


def test_parser_failure_gives_a_readable_error(guarded_apis: Apis, shop: Path) -> None:
    (shop / "bad.yaml").write_text(openapi_text("Bad", "poison-raise"))
    with pytest.raises(SourceError, match=r"bad\.yaml: The document could not be parsed \(RecursionError: too deep\)"):
        guarded_apis.indexer.add(str(shop / "bad.yaml"))


def test_hostile_update_keeps_the_old_index_and_is_reported(guarded_apis: Apis, shop: Path, tmp_path: Path) -> None:
    path = shop / "openapi.yaml"
    path.write_text(openapi_text("Shop"))
    guarded_apis.indexer.add(str(path))
    path.write_text(openapi_text("Shop", "poison-die"))
    with pytest.raises(ParserStopped, match=r"openapi\.yaml: the parser crashed .* The old version was kept"):
        guarded_apis.indexer.refresh("shop")
    assert guarded_apis.searcher.search("find things")
    assert unread_documents(guarded_apis) == {"openapi.yaml": REASONS["poison-die"]}
    assert read_unreadable_documents(tmp_path / "home" / "library.db") == [
        UnreadableDocument(str(path), "openapi.yaml", REASONS["poison-die"])
    ]
    guarded_apis.indexer.remove("shop")
    assert unread_documents(guarded_apis) == {}


def test_unavailable_library_lists_nothing(tmp_path: Path) -> None:
    assert read_unreadable_documents(tmp_path / "missing.db") == []


def test_hostile_file_of_a_package_does_not_affect_the_others(guarded_apis: Apis, shop: Path) -> None:
    (shop / "a.proto").write_text(proto_text("shop.v1"))
    (shop / "b.proto").write_text('syntax = "proto3";\npackage shop.v1;\nmessage M { string poison_free = 1; }\n')
    (shop / "c.proto").write_text(proto_text("shop.v1", "PoisonDie") + "// poison-die\n")
    report = guarded_apis.indexer.add(str(shop))
    assert [(api.name, api.operation_count, api.schema_count) for api in report.apis] == [("shop.v1", 1, 1)]
    assert unread_documents(guarded_apis) == {"shop/c.proto": REASONS["poison-die"]}


def test_files_that_together_exceed_limits_are_all_reported(shop: Path, tmp_path: Path) -> None:
    class SingleDocumentParser(InlineParser):
        """A parser that accepts one document at a time."""

        def run(self, function, *arguments, content):  # type: ignore[no-untyped-def]
            if function is prepare and len(arguments[0]) > 1:
                raise ParserStopped("too much")
            return super().run(function, *arguments, content=content)

    for name in ("a", "b"):
        (shop / f"{name}.proto").write_text(proto_text(f"shop.{name}"))
    with closing(SqliteLibrary(tmp_path / "library.db")) as database:
        apis = open_apis(database, network=None, parser=SingleDocumentParser(), clock=lambda: 0.0)
        with pytest.raises(SourceError, match=r"a\.proto: too much"):
            apis.indexer.add(str(shop))


@pytest.mark.parametrize("suffix", ["yaml", "proto"])
def test_source_with_many_descriptions_over_limits_is_abandoned(
    guarded_apis: Apis, parser: PoisonedParser, shop: Path, suffix: str
) -> None:
    (shop / "a.yaml").write_text(openapi_text("First"))
    for number in range(MAX_STOPPED_DOCUMENTS + 5):
        text = (
            openapi_text(f"Bad {number}", "poison-die")
            if suffix == "yaml"
            else f"{proto_text(f'a{number}')} // poison-die"
        )
        (shop / f"b{number:02}.{suffix}").write_text(text)
    report = guarded_apis.indexer.add(str(shop), "many")
    assert [api.name for api in report.apis] == ["many"]
    assert len(report.failures) == MAX_STOPPED_DOCUMENTS + 1
    assert (
        report.failures[-1].reason == "20 documents exceeded the parsing limits; the remaining documents were skipped."
    )
    assert count_attempts(parser) <= 3 * (
        MAX_STOPPED_DOCUMENTS + 1
    )  # a document that kills a reused child process is retried in a fresh one


def test_long_list_of_unread_documents_is_truncated_with_a_count(apis: Apis, shop: Path) -> None:
    (shop / "good.yaml").write_text(openapi_text("Good"))
    for number in range(MAX_LISTED_UNREAD_DOCUMENTS + 7):
        (shop / f"{number:03}.json").write_text('{"openapi": "3.0.0", "paths": ')
    apis.indexer.add(str(shop))
    assert len(unread_documents(apis)) == MAX_LISTED_UNREAD_DOCUMENTS + 1
    assert unread_documents(apis)["further documents"] == "7 more could not be read."


def test_long_list_of_warnings_is_truncated_with_a_count(apis: Apis, shop: Path) -> None:
    odd = "".join(f"  /a{number}: {{get: 1}}\n" for number in range(15))
    twice = "".join(f"  /b{number}: {{get: {{}}}}\n  /b{number}: {{post: {{}}}}\n" for number in range(12))
    (shop / "a.yaml").write_text(f"openapi: 3.0.0\ninfo: {{title: A}}\npaths:\n{odd}{twice}")
    (api,) = apis.indexer.add(str(shop)).apis
    assert api.warnings[10] == "2 more keys occur twice; all were used."
    assert api.warnings[MAX_WARNINGS:] == ("6 more warnings were omitted.",)


# ---------------------------------------------------------------------- attacks on the parsers

REFUSED_FILES = {
    "deep.json": '{"openapi": "3.0.0", "paths": ' + '{"a": ' * NESTING_DEPTH + "1" + "}" * NESTING_DEPTH + "}",
    "lists.json": '{"openapi": "3.0.0", "paths": ' + "[" * NESTING_DEPTH + "]" * NESTING_DEPTH + "}",
    "odd.json": '{"openapi": "3.0.0", "paths": NaN, "x": ' + "[" * NESTING_DEPTH + "]" * NESTING_DEPTH + "}",
    "deep.yaml": "openapi: 3.0.0\npaths: " + "{a: " * NESTING_DEPTH + "1" + "}" * NESTING_DEPTH,
    "lists.yaml": "openapi: 3.0.0\npaths: " + "[" * NESTING_DEPTH + "]" * NESTING_DEPTH,
    "blocks.yaml": "openapi: 3.0.0\npaths:\n " + "- " * NESTING_DEPTH + "a",
    "postman.json": '{"info": {"schema": "getpostman.com"}, "item": '
    + '[{"item": ' * NESTING_DEPTH
    + "[]"
    + "}]" * NESTING_DEPTH
    + "}",
    "introspected.json": '{"data": {"__schema": {"types": '
    + '[{"ofType": ' * NESTING_DEPTH
    + "1"
    + "}]" * NESTING_DEPTH
    + "}}}",
    "async.yaml": "asyncapi: 2.0.0\nchannels: " + "{a: " * NESTING_DEPTH + "1" + "}" * NESTING_DEPTH,
    "aliases.yaml": "openapi: 3.0.0\na: &a0 [1, 1]\n"
    + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)),
    "merges.yaml": "openapi: 3.0.0\na: &a0 {k: 1}\n"
    + "".join(f"a{n}: &a{n} {{x{n}: *a{n - 1}, y{n}: *a{n - 1}, <<: *a{n - 1}}}\n" for n in range(1, 60)),
}
STOPPED_FILES = {"shared.json": description_with_shared_path_item(4_000)}
# Parsing each of these files once took minutes.
LINEAR_TIME_FILES = {"roots.graphql": schema_with_many_roots(3_000), "scopes.proto": proto_with_long_package(100_000)}
READABLE_FILES = {
    "braces.proto": proto_text("a") + "message M {" * NESTING_DEPTH,
    "closed.proto": proto_text("a") + "message M {" * NESTING_DEPTH + "}" * NESTING_DEPTH,
    "oneofs.proto": proto_text("a") + "message M {" + "oneof o {" * NESTING_DEPTH + "}" * NESTING_DEPTH,
    "options.proto": proto_text("a") + "option (x) = " + "{" * NESTING_DEPTH + "}" * NESTING_DEPTH + ";",
    "lists.graphql": "type Query {\n  a(x: Int = "
    + "[" * NESTING_DEPTH
    + "]" * NESTING_DEPTH
    + "): "
    + "[" * NESTING_DEPTH
    + "Int"
    + "]" * NESTING_DEPTH
    + "}",
    "braces.graphql": "type Query { a: Int }\n" + "type A {" * NESTING_DEPTH,
    "arguments.graphql": "type Query { a: Int }\ntype B { f" + "(a" * NESTING_DEPTH + ")" * NESTING_DEPTH + ": Int }",
}


@pytest.fixture
def apis_with_short_limits(tmp_path: Path, workers: ProcessPool) -> Iterator[Apis]:
    with closing(SqliteLibrary(tmp_path / "short.db")) as database:
        parser = IsolatedParser(workers, database.unreadable_content, limits=short_limits)
        yield open_apis(database, network=None, parser=parser, clock=lambda: 0.0)


@pytest.fixture
def apis_with_default_limits(tmp_path: Path, workers: ProcessPool) -> Iterator[Apis]:
    with closing(SqliteLibrary(tmp_path / "roomy.db")) as database:
        parser = IsolatedParser(workers, database.unreadable_content)
        yield open_apis(database, network=None, parser=parser, clock=lambda: 0.0)


@pytest.mark.parametrize("name", REFUSED_FILES)
def test_too_deep_nesting_or_repetition_gives_a_readable_error(
    apis_with_default_limits: Apis, shop: Path, name: str
) -> None:
    (shop / name).write_text(REFUSED_FILES[name])
    with pytest.raises(SourceError, match=r"nested too deeply|alias bomb"):
        apis_with_default_limits.indexer.add(str(shop))


@pytest.mark.parametrize("name", STOPPED_FILES)
def test_slow_small_description_is_stopped_at_its_limit(apis_with_short_limits: Apis, shop: Path, name: str) -> None:
    (shop / name).write_text(STOPPED_FILES[name])
    for _ in range(2):
        with pytest.raises(ParserStopped, match=rf"{name}: reading it took more than .* {RETRY_NOTE}"):
            apis_with_short_limits.indexer.add(str(shop / name))


@pytest.mark.parametrize("name", READABLE_FILES)
def test_endless_nesting_keeps_earlier_definitions(apis_with_default_limits: Apis, shop: Path, name: str) -> None:
    (shop / name).write_text(READABLE_FILES[name])
    (api,) = apis_with_default_limits.indexer.add(str(shop)).apis
    assert api.operation_count == 1


@pytest.mark.parametrize("name", LINEAR_TIME_FILES)
def test_many_roots_and_long_packages_take_linear_time(apis_with_default_limits: Apis, shop: Path, name: str) -> None:
    (shop / name).write_text(LINEAR_TIME_FILES[name])
    (api,) = apis_with_default_limits.indexer.add(str(shop)).apis
    assert api.schema_count == 1


# ---------------------------------------------------------------------- folders


def test_folder_with_too_many_files_reports_it(apis: Apis, shop: Path) -> None:
    (shop / "a.yaml").write_text(openapi_text("First"))
    (shop / "z.yaml").write_text(openapi_text("Last"))
    for number in range(MAX_FILES):  # links are counted but not read
        (shop / f"link{number}").symlink_to("nowhere")
    report = apis.indexer.add(str(shop))
    assert [api.name for api in report.apis] == ["first"]
    assert "more than 50,000 files and folders; the others were skipped" in unread_documents(apis)["shop"]
    (shop / "a.yaml").unlink()
    (shop / "another").symlink_to("nowhere")
    with pytest.raises(NothingToIndex, match="among the first 50,000 files and folders of"):
        apis.indexer.add(str(shop))


def test_too_large_description_of_a_folder_is_reported(apis: Apis, shop: Path) -> None:
    (shop / "a.yaml").write_text(openapi_text("Small"))
    for name in ("large.json", "film.mp4"):
        with (shop / name).open("wb") as file:
            file.truncate(100_000_001)
    apis.indexer.add(str(shop))
    assert list(unread_documents(apis)) == ["shop/large.json"]
    assert "100,000,001 bytes" in unread_documents(apis)["shop/large.json"]


def test_skips_binary_files_but_not_utf_16(apis: Apis, shop: Path) -> None:
    (shop / "a.bin").write_bytes(b"openapi: 3.0.0\n\x00")
    (shop / "b.yaml").write_bytes(openapi_text("Wide").encode("utf-16"))
    assert [api.name for api in apis.indexer.add(str(shop)).apis] == ["wide"]


def test_reports_files_whose_format_cannot_be_detected(shop: Path, tmp_path: Path) -> None:
    class UndetectingParser(InlineParser):
        """A parser that cannot detect any format."""

        def run_all(self, tasks):  # type: ignore[no-untyped-def]
            return [reply._replace(error=ValueError("odd")) for reply in super().run_all(tasks)]

    (shop / "a.yaml").write_text(openapi_text("A"))
    with closing(SqliteLibrary(tmp_path / "library.db")) as database:
        apis = open_apis(database, network=None, parser=UndetectingParser(), clock=lambda: 0.0)
        with pytest.raises(SourceError, match=r"a\.yaml: The document could not be parsed \(ValueError: odd\)"):
            apis.indexer.add(str(shop))


# ---------------------------------------------------------------------- child processes


def test_child_process_requests_missing_neighbours() -> None:
    document = RawDocument(
        b"openapi: 3.0.0\npaths: {/a: {$ref: 'paths/a.yaml'}}\n", "o.yaml", "o.yaml", can_follow_references=True
    )
    missing = prepare([document], {}, False)
    assert missing == ((((0, ("paths/a.yaml",)),)),)
    other_path = b"get: {summary: Found, responses: {'200': {$ref: '../b.yaml#/r'}}}\n"
    missing = prepare([document], {(0, "paths/a.yaml"): other_path}, False)
    assert missing == ((((0, ("b.yaml",)),)),)
    prepared = prepare([document], {(0, "paths/a.yaml"): other_path, (0, "b.yaml"): "refused"}, True)
    assert isinstance(prepared, PreparedDocuments)
    (api,) = prepared.apis
    assert (api.operation_count, api.warnings) == (1, ("1 external reference not followed: b.yaml (refused).",))


def test_long_chain_of_document_references_ends(apis: Apis, shop: Path) -> None:
    for number in range(60):
        (shop / f"{number}.yaml").write_text(f"get: {{summary: '{number}'}}\nx: {{$ref: '{number + 1}.yaml'}}\n")
    (shop / "o.yaml").write_text("openapi: 3.0.0\ninfo: {title: Long}\npaths: {/a: {$ref: '0.yaml'}}\n")
    (api,) = apis.indexer.add(str(shop / "o.yaml")).apis
    assert api.operation_count == 1


def test_unread_documents_are_stored_by_source(tmp_path: Path) -> None:
    with closing(SqliteLibrary(tmp_path / "library.db")) as database:
        store = database.apis
        store.replace_unreadable("/a", [UnreadableDocument("/a", "x", "1"), UnreadableDocument("/a", "y", "2")])
        store.replace_unreadable("/b", [UnreadableDocument("/b", "x", "3")])
        store.replace_unreadable("/a", [UnreadableDocument("/a", "y", "4")])
        assert store.unreadable_documents() == [("/a", "y", "4"), ("/b", "x", "3")]
