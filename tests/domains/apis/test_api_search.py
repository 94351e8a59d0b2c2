"""Search over operations and schemas ranks the right one first for many wordings."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from fuzz.inline_parser import InlineParser
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deltos.domains.apis.domain import Apis, open_apis
from deltos.domains.apis.intent import ACTIONS, action_of, requested_actions
from deltos.domains.apis.model import Api
from deltos.domains.apis.query import parse_query, strip_opening, synonyms_in_index
from deltos.embed.embedders import api_embedder
from deltos.errors import NotFound
from deltos.semantic_index import SemanticIndex
from deltos.store.sqlite.library import SqliteLibrary
from deltos.text.words import shared_words

if TYPE_CHECKING:
    from collections.abc import Iterator

Add = Callable[..., Api]

PAYMENTS = """
openapi: 3.0.0
info: {title: Payments, version: "7", description: Moves money.}
servers: [{url: https://pay.example}]
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key, description: From the dashboard}}
  schemas:
    refund: {type: object, description: Money that went back, properties: {amount: {type: integer}}}
    Charge: {type: object, properties: {refunded: {type: boolean}}}
paths:
  /v1/charges:
    get: {operationId: GetCharges, description: Lists charges.}
    post: {operationId: PostCharges, description: Creates a charge.}
  /v1/charges/{charge}/refunds:
    post:
      operationId: PostChargesChargeRefunds
      description: Create a refund.
      responses: {"200": {description: done}, "409": {description: The charge was disputed already.}}
  /v1/refunds:
    get: {operationId: GetRefunds, description: Returns a list of all refunds you created.}
    post: {operationId: PostRefunds, description: Create a refund.}
  /v1/refunds/{refund}:
    get: {operationId: GetRefundsRefund, description: Retrieves the details of an existing refund.}
    post: {operationId: PostRefundsRefund, description: Updates the refund you name.}
  /v1/refunds/{refund}/cancel:
    post: {operationId: PostRefundsRefundCancel, description: Cancels a refund that requires action.}
  /v1/customers/{customer}:
    delete: {operationId: DeleteCustomersCustomer, description: Permanently deletes a customer., tags: [people]}
"""


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ("create a refund", "POST /v1/refunds"),
        ("how do I make a new refund?", "POST /v1/refunds"),
        ("list all refunds", "GET /v1/refunds"),
        ("fetch one refund", "GET /v1/refunds/{refund}"),
        ("modify a refund", "POST /v1/refunds/{refund}"),
        ("abort refund", "POST /v1/refunds/{refund}/cancel"),
        ("remove a client", "DELETE /v1/customers/{customer}"),
        ("which endpoint deletes a customer", "DELETE /v1/customers/{customer}"),
        ("is there an API call to cancel a refund", "POST /v1/refunds/{refund}/cancel"),
        ("operation that lists all refunds", "GET /v1/refunds"),
        ("the charge was disputed already", "POST /v1/charges/{charge}/refunds"),
        ("PostRefundsRefundCancel", "POST /v1/refunds/{refund}/cancel"),
        ("GET /v1/charges", "GET /v1/charges"),
        ("/v1/refunds/{id}/cancel", "POST /v1/refunds/{refund}/cancel"),
    ],
)
def test_ranks_the_right_operation_first(apis: Apis, add: Add, query: str, key: str) -> None:
    add(PAYMENTS)
    first = apis.searcher.search(query, api_name="payments", types=["endpoint"])[0]
    assert first.id == f"api:payments:{key}"


@pytest.mark.parametrize(
    ("question", "remaining_words"),
    [
        ("which endpoint cancels an order", "cancels an order"),
        ("What API call should I use to cancel an order?", "cancel an order?"),
        ("endpoint to cancel an order", "cancel an order"),
        ("is there a route for orders", "orders"),
        ("request an order", "request an order"),
        ("api keys", "api keys"),
        ("which order is open", "which order is open"),
        ("how do I cancel an order", "how do I cancel an order"),
        ("which endpoint", "which endpoint"),
    ],
)
def test_removes_introductory_words_from_questions_about_apis(question: str, remaining_words: str) -> None:
    assert strip_opening(question) == remaining_words


@pytest.mark.parametrize("query", ["refund money", "charge customer details", "the list of it"])
def test_confidence_never_rises_down_the_list(apis: Apis, add: Add, query: str) -> None:
    add(PAYMENTS)
    confidences = [hit.confidence for hit in apis.searcher.search(query, limit=20)]
    assert confidences == sorted(confidences, reverse=True)


def test_unknown_endpoint_path_has_low_confidence(apis: Apis, add: Add) -> None:
    add(PAYMENTS)
    gone, there = (apis.searcher.search(f"POST /v1/refunds/{{id}}/{name}")[0] for name in ("revoke", "cancel"))
    assert gone.confidence < 0.3 < there.confidence
    assert not gone.is_clear
    assert there.id == "api:payments:POST /v1/refunds/{refund}/cancel"


def test_hit_has_citation_and_text(apis: Apis, add: Add) -> None:
    add(PAYMENTS, file_name="pay.yaml")
    hit = apis.searcher.search("create a refund", api_name="payments", types=["endpoint"])[0]
    path, pointer = hit.citation.split("#")
    assert Path(path).is_file(), "a citation must be an absolute path, so that it can be opened from every project"
    assert (Path(path).name, pointer) == ("pay.yaml", "/paths/~1v1~1refunds/post")
    assert hit.section == "Payments > refunds"
    assert (hit.type, hit.api_version) == ("endpoint", "7")
    assert "curl -X POST" in hit.text


def test_types_restrict_the_search(apis: Apis, add: Add) -> None:
    add(PAYMENTS)
    assert {hit.type for hit in apis.searcher.search("refund", types=["schema"])} == {"schema"}
    assert {hit.type for hit in apis.searcher.search("refund", types=["schema", "endpoint"])} == {"schema", "endpoint"}
    assert apis.searcher.search("refund", types=["schema"])[0].title == "refund"
    assert apis.searcher.search("refund", types=["glossary"]) == []


def test_finds_overviews_and_tags(apis: Apis, add: Add) -> None:
    add(PAYMENTS)
    overview, *_ = apis.searcher.search("moves money", types=["overview"])
    assert "Servers: https://pay.example" in overview.text
    assert "Auth: key (apiKey in header 'X-Key') — From the dashboard" in overview.text
    assert "refunds (5)" in overview.text
    tag, *_ = apis.searcher.search("people", types=["overview"])
    assert tag.text == "DELETE /v1/customers/{customer} — Permanently deletes a customer"
    assert tag.section == "Payments > people"


def test_searches_all_apis_unless_one_is_given(apis: Apis, add: Add, shop: dict[str, Any]) -> None:
    add(PAYMENTS)
    add(shop, file_name="shop.json")
    assert apis.searcher.search("create an order")[0].api_name == "shop"
    assert {hit.api_name for hit in apis.searcher.search("create an order", api_name="payments")} == {"payments"}
    with pytest.raises(NotFound):
        apis.searcher.search("order", api_name="nothing-like-it")


def test_fetches_a_hit_by_its_id(apis: Apis, add: Add) -> None:
    add(PAYMENTS)
    for hit in apis.searcher.search("refund money", limit=20):
        assert apis.searcher.fetch(hit.id).title == hit.title
    with pytest.raises(NotFound, match="No operation or schema"):
        apis.searcher.fetch("api:payments:GET /gone")
    with pytest.raises(NotFound):
        apis.searcher.fetch("api:gone:GET /v1/refunds")


def test_no_shared_words_gives_no_results(apis: Apis, add: Add) -> None:
    add(PAYMENTS)
    assert apis.searcher.search("zebra") == []
    assert apis.searcher.search("?!") == []
    assert apis.searcher.count_searchable("payments") == apis.searcher.count_searchable() > 10


def test_query_of_stop_words_still_searches() -> None:
    assert [concept.word for concept in parse_query("how do I").concepts] == ["how", "do", "i"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.text(max_size=80))
def test_query_text_is_never_query_syntax(apis: Apis, query: str) -> None:
    apis.searcher.search(query)


def test_hit_text_is_not_fenced(apis: Apis, add: Add) -> None:
    add(PAYMENTS)
    (first, *_) = apis.searcher.search("create a refund", api_name="payments", types=["endpoint"])
    assert "~~~" not in first.text
    assert first.text.startswith("POST /v1/refunds — Create a refund\nAuth: not specified\n")
    assert len(first.text) <= 2_400


def test_concurrent_reader_never_sees_a_partial_replacement(apis: Apis, add: Add) -> None:
    api = add(PAYMENTS)
    done = threading.Event()

    def replace_again_and_again() -> None:
        for _ in range(15):
            apis.indexer.add(api.source)
        done.set()

    writer = threading.Thread(target=replace_again_and_again)
    writer.start()
    while not done.is_set():
        assert apis.searcher.search("create a refund", api_name="payments")[0].id == "api:payments:POST /v1/refunds"
    writer.join()


@pytest.fixture
def semantic_apis(tmp_path: Path) -> Iterator[Apis]:
    """The API domain with an embedding model."""
    database = SqliteLibrary(tmp_path / "home" / "library.db")
    semantic_index = SemanticIndex(api_embedder(), database.api_vectors)
    yield open_apis(
        database, network=None, parser=InlineParser(), clock=lambda: 1.0, semantic_index=lambda: semantic_index
    )
    database.close()


RECURRING_PAYMENTS = """
openapi: 3.0.0
info: {title: Bank, version: "1"}
components:
  schemas:
    SchedulePaymentDelete: {type: object, description: A scheduled payment that was removed, properties: {id: {type: integer}}}
    SchedulePayment: {type: object, description: A scheduled payment, properties: {amount: {type: integer}}}
paths:
  /schedule-payment:
    get: {summary: All scheduled payments, operationId: ListSchedulePayments}
    post: {summary: Schedule a payment, operationId: CreateSchedulePayment}
  /schedule-payment/{id}:
    delete: {summary: Endpoint for schedule payments, operationId: DeleteSchedulePayment}
  /card/{id}:
    put: {summary: Update the card details, operationId: UpdateCard}
"""


def test_query_in_other_words_ranks_operation_before_schema(semantic_apis: Apis, tmp_path: Path) -> None:
    (tmp_path / "bank.yaml").write_text(RECURRING_PAYMENTS)
    semantic_apis.indexer.add(str(tmp_path / "bank.yaml"), "bank")
    found = [hit.id for hit in semantic_apis.searcher.search("get rid of a standing order")]
    assert found[0] == "api:bank:DELETE /schedule-payment/{id}"
    assert semantic_apis.searcher.search("SchedulePaymentDelete")[0].id.endswith("SchedulePaymentDelete")


def test_finds_and_marks_semantic_match_without_shared_words(semantic_apis: Apis, tmp_path: Path) -> None:
    (tmp_path / "pay.yaml").write_text(PAYMENTS)
    semantic_apis.indexer.add(str(tmp_path / "pay.yaml"), "pay")
    near = semantic_apis.searcher.search("reimburse a shopper", types=["endpoint"])[0]
    assert "refund" in near.id
    assert near.is_semantic_match
    assert not near.is_clear
    word_match = semantic_apis.searcher.search("create a refund", types=["endpoint"])[0]
    assert word_match.id.endswith("POST /v1/refunds")
    assert word_match.is_clear
    assert not word_match.is_semantic_match


@pytest.mark.parametrize(
    "question",
    ["eine Zahlung zurückerstatten", "reembolsar un pago", "退款给客户", "返金する", "rembourser un paiement"],
)
def test_finds_operation_by_query_in_another_language(semantic_apis: Apis, tmp_path: Path, question: str) -> None:
    (tmp_path / "pay.yaml").write_text(PAYMENTS)
    semantic_apis.indexer.add(str(tmp_path / "pay.yaml"), "pay")
    assert "refund" in semantic_apis.searcher.search(question, types=["endpoint"])[0].id


def test_removing_an_api_removes_its_vectors(semantic_apis: Apis, tmp_path: Path) -> None:
    (tmp_path / "pay.yaml").write_text(PAYMENTS)
    semantic_apis.indexer.add(str(tmp_path / "pay.yaml"), "pay")
    assert semantic_apis.searcher.search("reimburse a shopper")
    semantic_apis.indexer.remove("pay")
    assert semantic_apis.searcher.search("reimburse a shopper") == []


def test_query_without_a_similar_operation_gives_no_results(semantic_apis: Apis, tmp_path: Path) -> None:
    (tmp_path / "pay.yaml").write_text(PAYMENTS)
    semantic_apis.indexer.add(str(tmp_path / "pay.yaml"), "pay")
    assert semantic_apis.searcher.search("xyzzy quux") == []


@pytest.mark.parametrize(
    ("question", "action"),
    [
        ("upload my ssh public key", {"create"}),
        ("make an outbound phone call", {"create"}),
        ("mark a node unschedulable", {"update"}),
        ("get rid of a login", {"delete"}),
        ("destroy a virtual machine", {"delete"}),
        ("throw away stored credentials", {"delete"}),
        ("kill a worker", {"delete"}),
        ("power off a machine", {"act"}),
        ("has my batch finished", {"list", "get"}),
        ("how do I remove a label", {"delete"}),
        ("who is in a conference right now", {"list", "get"}),
        ("show one machine", {"get"}),
        ("columns of a board", {"list"}),
        ("", {"list"}),
    ],
)
def test_predicts_the_requested_action(question: str, action: set[str]) -> None:
    probabilities = requested_actions(question)
    assert sum(probabilities) == pytest.approx(1.0)
    assert ACTIONS[probabilities.index(max(probabilities))] in action


@pytest.mark.parametrize(
    ("method", "path", "action"),
    [
        ("GET", "/keys", "list"),
        ("GET", "/keys/{id}", "get"),
        ("DELETE", "/keys/{id}", "delete"),
        ("POST", "/keys", "create"),
        ("POST", "/keys/{id}", "update"),
        ("PATCH", "/keys/{id}", "update"),
        ("POST", "/item/remove", "delete"),
        ("POST", "/accounts/balance/get", "get"),
        ("POST", "/ips/list.json", "list"),
        ("POST", "/orders/{id}/cancel", "act"),
        ("POST", "/orders/{id}/lines", "create"),
        ("RPC", "acme.Shop/DeleteOrder", "delete"),
        ("MUTATION", "createIssue", "create"),
        ("QUERY", "issues", "list"),
    ],
)
def test_predicts_the_action_performed_by_an_operation(method: str, path: str, action: str) -> None:
    assert ACTIONS[action_of(method, path)] == action


def test_words_without_a_literal_match_are_compared_by_similarity(semantic_apis: Apis, tmp_path: Path) -> None:
    resources = {"invoices": "invoice", "employees": "employee", "photos": "photo"}
    paths = {
        f"/{name}{tail}": {method: {"summary": f"{verb} {one}"} for method, verb in methods.items()}
        for name, one in resources.items()
        for tail, methods in (
            ("", {"get": "List every", "post": "Create an"}),
            ("/{id}", {"get": "Get one", "patch": "Update an", "delete": "Delete an"}),
        )
    }
    (tmp_path / "firm.json").write_text(json.dumps({"openapi": "3.0.0", "info": {"title": "Firm"}, "paths": paths}))
    semantic_apis.indexer.add(str(tmp_path / "firm.json"), "firm")
    asked = {
        "throw a picture away": "DELETE /photos/{id}",
        "remove a bill": "DELETE /invoices/{id}",
        "upload a picture": "POST /photos",
        "all bills": "GET /invoices",
    }
    found = {question: semantic_apis.searcher.search(question, types=["endpoint"])[0].id for question in asked}
    assert found == {question: f"api:firm:{key}" for question, key in asked.items()}


def test_delete_operations_do_not_outrank_the_requested_action(apis: Apis, add: Add) -> None:
    summaries = {"post": "Create a key", "get": "List keys"}
    by_id = {"delete": "Delete your ssh public key", "get": "Get an ssh public key"}
    paths = {
        "/account/keys": {
            method: {"summary": text, "description": "An ssh public key."} for method, text in summaries.items()
        },
        "/account/keys/{key}": {method: {"summary": text} for method, text in by_id.items()},
    }
    add({"openapi": "3.0.0", "info": {"title": "Cloud"}, "paths": paths})
    found = [hit.id for hit in apis.searcher.search("upload my ssh public key", types=["endpoint"])]
    assert found.index("api:cloud:POST /account/keys") < found.index("api:cloud:DELETE /account/keys/{key}")
    first = apis.searcher.search("delete my ssh public key", types=["endpoint"])[0]
    assert first.id == "api:cloud:DELETE /account/keys/{key}"


def test_ranks_stable_versions_before_previews_and_older_ones(apis: Apis, add: Add) -> None:
    paths: dict[str, Any] = {
        f"/apis/{version}/namespaces/{{ns}}/scales": {"get": {"summary": "Read the scale of a deployment"}}
        for version in ("v1", "v1beta1", "v2")
    }
    paths["/apis/v3/old"] = {"get": {"summary": "Read the scale of a deployment", "deprecated": True}}
    add({"openapi": "3.0.0", "info": {"title": "Cluster"}, "paths": paths})
    found = [
        hit.id.split("/apis/")[1][:7]
        for hit in apis.searcher.search("read the scale of a deployment", types=["endpoint"])
    ]
    assert found[0].startswith("v2/")
    assert found[1].startswith("v1/")


def test_synonyms_use_index_terms() -> None:
    words = shared_words()
    for asked, other in (("purchase", "order"), ("organization", "org"), ("buyer", "customer")):
        assert words.of(other) in synonyms_in_index(words.of(asked))


def test_operation_id_ranks_its_operation_first(apis: Apis, add: Add) -> None:
    paths = {
        "/issues/{number}/comments": {"post": {"operationId": "issues/create-comment", "summary": "Create an issue"}},
        "/repos/{repo}/issues": {"post": {"operationId": "issues/create", "summary": "Report what is broken"}},
    }
    add({"openapi": "3.0.0", "info": {"title": "Tracker", "version": "1"}, "paths": paths})
    assert apis.searcher.search("issues/create")[0].title.startswith("POST /repos/{repo}/issues")


def test_singular_and_plural_words_match_even_if_the_stemmer_changes_their_stem_again(apis: Apis, add: Add) -> None:
    paths = {f"/{noun}": {"post": {"summary": f"Create {noun}"}} for noun in ("releases", "databases", "licenses")}
    add({"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": paths}, "t")
    for noun in ("release", "database", "license"):
        (first, *_) = apis.searcher.search(f"create a {noun}", api_name="t")
        assert first.id == f"api:t:POST /{noun}s"


def test_a_query_of_a_verb_and_a_noun_ranks_the_matching_operation_first(apis: Apis, add: Add) -> None:
    paths = {
        "/repos/{owner}/{repo}/issues": {"post": {"summary": "Create an issue"}, "get": {"summary": "List issues"}},
        "/repos/{owner}/{repo}/issues/{number}/labels": {"post": {"summary": "Add labels to an issue"}},
        "/repos/{owner}/{repo}/labels": {"post": {"summary": "Create a label"}, "get": {"summary": "List labels"}},
        "/orgs/{org}/labels": {"post": {"summary": "Create a label for an organization"}},
    }
    add({"openapi": "3.1.0", "info": {"title": "Hub", "version": "1"}, "paths": paths}, "hub")
    for query, operation in (
        ("create an issue with labels", "POST /repos/{owner}/{repo}/issues"),
        ("list the issues of a repository", "GET /repos/{owner}/{repo}/issues"),
        ("create a label", "POST /repos/{owner}/{repo}/labels"),
        ("add labels to an issue", "POST /repos/{owner}/{repo}/issues/{number}/labels"),
    ):
        (first, *_) = apis.searcher.search(query, api_name="hub")
        assert first.id == f"api:hub:{operation}", query
