"""GraphQL schema language and introspection give the same API."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltos.domains.apis.description import read_description
from deltos.domains.apis.document import ApiDocument
from deltos.domains.apis.endpoints import Filter, show_endpoints
from deltos.domains.apis.model import Api, ApiDescription
from deltos.domains.apis.parse.graphql_sdl import parse_sdl

if TYPE_CHECKING:
    from deltos.domains.apis.domain import Apis

Add = Callable[..., Api]

SDL = '''
"The whole graph"
schema { query: Root, mutation: Change }

directive @auth(requires: [Role!] = [ADMIN]) repeatable on FIELD_DEFINITION | OBJECT

"""
What can be asked. Not much; just this.
"""
type Root implements Node & Other @key(fields: "id") {
  """Finds a user. By id."""
  user(
    "Which one"
    id: ID!
    filter: Filter = {a: 1, b: [2, 3]}
    first: Int = 10
  ): User
  users: [User!]! @deprecated(reason: "too many")
}

type Change { removeUser(id: ID!): Boolean }
extend type Change { rename(input: Rename!): User }

interface Node { id: ID! }
type User implements Node { id: ID!, name: String, friends(first: Int): [User!]!, role: Role, pet: Pet, x: Missing }
input Rename { id: ID!, name: String = "x" }
enum Role { "May do all" ADMIN, GUEST @deprecated }
union Pet = | Cat | Dog
scalar Date @specifiedBy(url: "https://x.example")
type Cat { lives: Int }
type Dog { tricks: [[String]] }
input Filter { a: Int }
'''


def parse_description(text: str) -> ApiDescription:
    return read_description(ApiDocument(text.encode(), "graph"))


def test_root_fields_become_operations_and_other_types_become_schemas() -> None:
    description = parse_description(SDL)
    assert [operation.key for operation in description.operations] == [
        "QUERY user",
        "QUERY users",
        "MUTATION removeUser",
        "MUTATION rename",
    ]
    assert {schema.name for schema in description.schemas} == {
        *("Root", "Change", "Node", "User", "Rename", "Role", "Pet", "Date", "Cat", "Dog", "Filter")
    }
    assert description.overview.description == "The whole graph"
    assert description.warnings == ()


def test_arguments_have_types_defaults_and_descriptions() -> None:
    user = parse_description(SDL).operations[0]
    assert user.summary == "Finds a user"
    identifier, wanted, first = user.parameters
    assert (identifier.required, identifier.description) == (True, "Which one")
    assert wanted.schema == {"$ref": "#/Filter", "default": "{ a : 1 b : [ 2 3 ] }"}
    assert (first.schema, first.required) == ({"type": "integer", "default": "10"}, False)


def test_types_become_schemas() -> None:
    schemas = {schema.name: schema.schema for schema in parse_description(SDL).schemas}
    assert schemas["User"]["required"] == ["id", "friends"]
    assert schemas["User"]["properties"]["friends"]["x-arguments"] == "first: Int"
    assert schemas["Role"]["enum"] == ["ADMIN", "GUEST"]
    assert schemas["Pet"]["oneOf"] == [{"$ref": "#/Cat"}, {"$ref": "#/Dog"}]
    assert schemas["Dog"]["properties"]["tricks"]["items"]["items"] == {"type": "string"}
    assert schemas["Root"]["x-implements"] == ["Node", "Other"]
    assert schemas["Root"]["properties"]["users"]["deprecated"] is True


def test_example_query_selects_scalar_fields(apis: Apis, add: Add) -> None:
    add(SDL, "graph")
    shown = show_endpoints(apis.library, "graph", Filter(path="user", method="query"), page=1, token_budget=5_000).text
    assert "| id* | argument | ID |" in shown
    assert "friends(first: Int)*: array of User" in shown
    assert 'curl "$BASE_URL" -H' in shown
    assert 'query { user(id: \\"string\\") { id name role x } }' in shown
    removed = show_endpoints(apis.library, "graph", Filter(path="removeUser"), page=1, token_budget=5_000).text
    assert 'removeUser(id: \\"string\\") }' in removed


def test_warns_about_words_outside_definitions() -> None:
    description = parse_description("type Query { a: Int }\nfragment F on Query { a }\n")
    assert len(description.operations) == 1
    assert description.warnings[0] == "Skipped 7 words outside of definitions."


def test_warns_about_schema_without_root_types() -> None:
    assert parse_description("type User {\n  id: ID\n}\n").warnings == ("The schema has no queries or mutations.",)


@pytest.mark.parametrize(
    "text",
    [
        "type Query {\n  a" + "(a" * 10_000 + "\n}",
        "type Query {\n  a: " + "[" * 10_000 + "Int" + "]" * 10_000 + "\n}",
        "type Query {\n  a(x: Int = " + "{a:" * 10_000 + "): Int\n}",
        "type Query {",
        "type Query {\n a(",
        "union",
        "enum E { A B",
        "schema {",
        "directive @a(",
    ],
)
def test_parser_terminates_on_invalid_schemas(text: str) -> None:
    assert parse_sdl(text) is not None


@given(st.text(alphabet='{}()[]:!=|&@"#\n abtypequery1.,', max_size=200))
def test_parser_terminates_on_any_text(text: str) -> None:
    assert parse_sdl(f"type Query {{ {text}") is not None


def _named(kind: str, name: str) -> dict[str, Any]:
    return {"kind": kind, "name": name}


INTROSPECTION = {
    "data": {
        "__schema": {
            "queryType": {"name": "Root"},
            "mutationType": None,
            "types": [
                {
                    **_named("OBJECT", "Root"),
                    "fields": [
                        {
                            "name": "user",
                            "description": "Finds a user.",
                            "isDeprecated": True,
                            "args": [
                                {
                                    "name": "id",
                                    "type": {"kind": "NON_NULL", "ofType": _named("SCALAR", "ID")},
                                    "args": [{"name": "nested"}],
                                }
                            ],
                            "type": {
                                "kind": "LIST",
                                "ofType": {"kind": "NON_NULL", "ofType": _named("OBJECT", "User")},
                            },
                        }
                    ],
                },
                {
                    **_named("OBJECT", "User"),
                    "fields": [{"name": "role", "type": _named("ENUM", "Role")}],
                    "interfaces": [],
                },
                {**_named("ENUM", "Role"), "enumValues": [{"name": "ADMIN"}]},
                {**_named("UNION", "Any"), "possibleTypes": [{"name": "User"}]},
                {
                    **_named("INPUT_OBJECT", "In"),
                    "inputFields": [{"name": "a", "type": _named("SCALAR", "Int"), "defaultValue": "1"}],
                },
                _named("SCALAR", "String"),
                _named("OBJECT", "__Type"),
            ],
        }
    }
}


@pytest.mark.parametrize("answer", [INTROSPECTION, INTROSPECTION["data"]])
def test_introspection_gives_the_same_result_as_schema_language(answer: dict[str, Any]) -> None:
    description = parse_description(json.dumps(answer))
    (user,) = description.operations
    assert (user.key, user.deprecated, user.responses[0].description) == ("QUERY user", True, "[User!]")
    assert user.parameters[0].required
    assert [schema.name for schema in description.schemas] == ["Root", "User", "Role", "Any", "In"]
    assert description.schemas[3].schema["oneOf"] == [{"$ref": "#/User"}]


def test_ignores_unknown_root_kinds() -> None:
    description = parse_description(
        "schema { query: Q " + "".join(f"r{n}: Q " for n in range(50)) + "} type Q { a: Int }"
    )
    assert [operation.key for operation in description.operations] == ["QUERY a"]
    assert "50 entries of `schema` are not query, mutation or subscription." in description.warnings


REVIEWS = """
type Query { pullRequest(number: Int!): PullRequest }
type Mutation { addReview(input: AddReviewInput!): AddReviewPayload, merge(input: MergeInput!): AddReviewPayload }
input AddReviewInput {
  body: String
  comments: [CommentInput!]
  event: ReviewEvent = COMMENT
  limit: Int! = 10
  pullRequestId: ID!
}
input MergeInput { commitTitle: String, mergeMethod: MergeMethod, pullRequestId: ID! }
input CommentInput { line: Int, path: String! }
enum ReviewEvent { APPROVE COMMENT REQUEST_CHANGES }
enum MergeMethod { MERGE SQUASH }
type AddReviewPayload { clientMutationId: String, review: Review }
type Review { author: User, body: String, createdAt: String, id: ID!, pullRequest: PullRequest, state: String }
type PullRequest { additions: Int, base: String, closed: Boolean, deletions: Int, diff: String, id: ID!, number: Int!,
  reviews: [Review!], state: String, title: String, url: String }
type User { avatarUrl: String, login: String, reviews: [Review!] }
"""


def show_operation(apis: Apis, path: str) -> str:
    return show_endpoints(apis.library, "reviews", Filter(path=path), page=1, token_budget=5_000).text


def test_example_selects_identifying_fields_first(apis: Apis, add: Add) -> None:
    add(REVIEWS, "reviews")
    assert "pullRequest(number: 1) { id number title url state }" in show_operation(apis, "pullRequest")


def test_mutation_results_list_input_fields(apis: Apis, add: Add) -> None:
    add(REVIEWS, "reviews")
    first, second = apis.searcher.search("add a review, merge", types=["endpoint"], limit=2)
    assert "  event: ReviewEvent (APPROVE | COMMENT | REQUEST_CHANGES) = COMMENT" in first.text
    assert "input.pullRequestId*, " in second.text
    assert "input.mergeMethod" in second.text
    found = apis.searcher.search("commit title", types=["endpoint"])[0]
    assert found.title.startswith("MUTATION merge")


@pytest.mark.parametrize("question", ["AddReviewInput", "addReviewinput", "what does AddReviewInput take?"])
def test_type_named_in_the_query_comes_first(apis: Apis, add: Add, question: str) -> None:
    add(REVIEWS, "reviews")
    first = apis.searcher.search(question, api_name="reviews")[0]
    assert (first.title, first.is_clear) == ("AddReviewInput", True)


def test_operation_named_in_the_query_comes_first(apis: Apis, add: Add) -> None:
    add("""
    type Query { a: Int }
    type Mutation {
      "Adds a new thread to a pending review"
      addReviewThread: Int
      "Says what somebody thinks"
      addReview: Int
    }
    """)
    assert apis.searcher.search("addReview")[0].title.startswith("MUTATION addReview ")
    assert apis.searcher.search("how is addReview called")[0].title.startswith("MUTATION addReview ")


def test_case_distinguishes_type_and_operation_names(apis: Apis, add: Add) -> None:
    add(REVIEWS, "reviews")
    assert apis.searcher.search("PullRequest")[0].title == "PullRequest"
    assert apis.searcher.search("pullRequest")[0].title.startswith("QUERY pullRequest ")
