"""A query that mentions an API searches only that API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.domains.apis.api_mentions import find_api_mentions

if TYPE_CHECKING:
    from collections.abc import Sequence

TITLES = {
    "gotify": ["Gotify REST-API."],
    "argo-cd": ["Consolidate Services"],
    "box": ["Box Platform API"],
    "kubernetes": ["Kubernetes"],
    "kratos": ["Ory Identities API"],
    "twilio-voice-v1": ["Twilio - Voice", "twilio"],
    "twilio-verify-v2": ["Twilio - Verify", "twilio"],
}
TOPICS = ("kubernetes", "twilio")


def is_topic(_name: str, words: Sequence[str]) -> bool:
    return not set(words).isdisjoint(TOPICS)


@pytest.mark.parametrize(
    ("question", "names", "rest"),
    [
        ("gotify: make bob an admin", ["gotify"], "make bob an admin"),
        ("make bob an admin in gotify", ["gotify"], "make bob an admin"),
        ("everyone with an account on our Gotify server", ["gotify"], "everyone with an account"),
        ("how do I roll back an app with the argo cd api", ["argo-cd"], "how do I roll back an app"),
        ("ArgoCD rollback", ["argo-cd"], "rollback"),
        ("ory identities: revoke all sessions of a user", ["kratos"], "revoke all sessions of a user"),
        ("twilio: make an outbound call", ["twilio-voice-v1", "twilio-verify-v2"], "make an outbound call"),
    ],
)
def test_mention_selects_the_api_and_is_removed_from_the_query(question: str, names: list[str], rest: str) -> None:
    assert (
        list(find_api_mentions(question, TITLES, is_topic).names),
        find_api_mentions(question, TITLES, is_topic).question,
    ) == (
        names,
        rest,
    )


PACKAGES: dict[str, list[str]] = {"google.pubsub.v1": ["google.pubsub.v1"], "google.cloud.tasks.v2": [], "readme": []}


@pytest.mark.parametrize(
    "question",
    [
        "in Pub/Sub, send messages to a topic",
        "in pub-sub, send messages to a topic",
        "Pub Sub: send messages to a topic",
        "in pubsub, send messages to a topic",
        "send messages to a topic in Google Pub/Sub",
        "google pubsub: send messages to a topic",
        "in google.pubsub.v1, send messages to a topic",
    ],
)
def test_package_is_mentioned_by_its_last_parts_joined_or_split(question: str) -> None:
    mentions = find_api_mentions(question, PACKAGES, is_topic)
    assert mentions.names == ("google.pubsub.v1",)
    assert mentions.question.removeprefix("v1, ") == "send messages to a topic"


@pytest.mark.parametrize(
    "question", ["read me the news", "publish, subscribe", "list my tasks", "pub food, sub titles"]
)
def test_adjacent_words_without_punctuation_are_not_joined(question: str) -> None:
    assert find_api_mentions(question, PACKAGES, is_topic).names == ()


@pytest.mark.parametrize(
    "question",
    [
        "put a file into a box",
        "fetch the live kubernetes manifest of one app",
        "send a message",
        "new kubernetes cluster",
        "",
    ],
)
def test_ordinary_words_and_topics_of_other_apis_are_not_mentions(question: str) -> None:
    assert find_api_mentions(question, TITLES, is_topic).names == ()


def test_ordinary_word_is_a_mention_if_written_like_a_name() -> None:
    assert find_api_mentions("list the files of a Box folder", TITLES, is_topic).names == ("box",)
    assert (
        find_api_mentions("box: list the files of a folder", TITLES, is_topic).question == "list the files of a folder"
    )


def test_an_api_name_before_a_colon_takes_precedence_and_a_query_with_two_api_names_is_unchanged() -> None:
    assert find_api_mentions("argo cd: kubernetes warnings of an app", TITLES, is_topic).names == ("argo-cd",)
    both = find_api_mentions("copy users in gotify, then in argo cd", TITLES, is_topic)
    assert set(both.names) == {"gotify", "argo-cd"}
    assert both.question == "copy users in gotify, then in argo cd"


def test_query_of_only_a_name_is_unchanged() -> None:
    assert find_api_mentions("gotify", TITLES, is_topic) == find_api_mentions("gotify", {"gotify": []}, is_topic)
    assert find_api_mentions("gotify", TITLES, is_topic).question == "gotify"


def test_title_with_many_parts_is_matched_in_reasonable_time() -> None:
    titles = {"deep": [".".join(["a"] * 50_000)], "gotify": ["Gotify"]}
    assert find_api_mentions("gotify: make bob an admin", titles, is_topic).names == ("gotify",)
