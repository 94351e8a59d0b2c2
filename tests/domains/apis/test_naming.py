"""A question that names an API is asked of that API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from deltos.domains.apis.naming import named_in

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
TALKED_ABOUT = ("kubernetes", "twilio")


def is_topic(_name: str, words: Sequence[str]) -> bool:
    return not set(words).isdisjoint(TALKED_ABOUT)


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
def test_an_api_that_is_named_is_meant_and_its_name_is_no_part_of_what_is_wanted(
    question: str, names: list[str], rest: str
) -> None:
    assert (list(named_in(question, TITLES, is_topic).names), named_in(question, TITLES, is_topic).question) == (
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
def test_a_package_is_named_by_its_own_part_written_as_one_word_or_two(question: str) -> None:
    naming = named_in(question, PACKAGES, is_topic)
    assert naming.names == ("google.pubsub.v1",)
    assert naming.question.removeprefix("v1, ") == "send messages to a topic"


@pytest.mark.parametrize(
    "question", ["read me the news", "publish, subscribe", "list my tasks", "pub food, sub titles"]
)
def test_words_that_only_happen_to_follow_one_another_name_no_api(question: str) -> None:
    assert named_in(question, PACKAGES, is_topic).names == ()


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
def test_ordinary_words_and_what_other_apis_talk_about_name_no_api(question: str) -> None:
    assert named_in(question, TITLES, is_topic).names == ()


def test_an_ordinary_word_names_an_api_where_it_is_written_like_a_name() -> None:
    assert named_in("list the files of a Box folder", TITLES, is_topic).names == ("box",)
    assert named_in("box: list the files of a folder", TITLES, is_topic).question == "list the files of a folder"


def test_of_several_names_those_that_say_where_are_meant_and_two_of_these_leave_the_question_as_it_is() -> None:
    assert named_in("argo cd: kubernetes warnings of an app", TITLES, is_topic).names == ("argo-cd",)
    both = named_in("copy users in gotify, then in argo cd", TITLES, is_topic)
    assert set(both.names) == {"gotify", "argo-cd"}
    assert both.question == "copy users in gotify, then in argo cd"


def test_a_question_that_is_a_name_alone_stays_as_it_is() -> None:
    assert named_in("gotify", TITLES, is_topic) == named_in("gotify", {"gotify": []}, is_topic)
    assert named_in("gotify", TITLES, is_topic).question == "gotify"
