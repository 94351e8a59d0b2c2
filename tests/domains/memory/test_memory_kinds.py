"""Classification of prompts and answers as decision, preference, note or neither."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

import pytest
from benchmarks.hook_capture import capture
from benchmarks.memory_kinds import QUESTIONS, REGISTERS, TRAINING, is_right, read_labelled

from deltos.domains.memory.capture.classify import DECISION, PREFERENCE, find_findings, judge
from deltos.domains.memory.core.model import NOTE
from deltos.text.sentences import count_words

if TYPE_CHECKING:
    from pathlib import Path

    from deltos.domains.memory.core.memory import Memory
    from deltos.store.observations import Observation

RULE = "We never use raw SQL in handlers, everything goes through the repository classes."
ORDINARY = (
    "I always get this error after switching branches, any idea?",
    "the scheduler never picks up jobs from the second queue",
    "Add pagination to the users endpoint, 50 per page, never more than 200.",
    "please fix the linter errors first",
    "I want to add a login page",
    "The docs say you should never call this from the main thread. Do we?",
    "use the staging database for this query",
    "let's try with a smaller learning rate and see",
    "what did we decide about the retry limit?",
    "instead of a list return a tuple from parse_args",
)


def run_hook(memory: Memory, root: Path, event: str, **fields: str) -> None:
    raw = json.dumps({"session_id": "s1", "cwd": str(root), **fields}).encode()
    capture(memory, event, raw, folder=root, identify=lambda _: "p")


def stored_kinds(memory: Memory) -> list[Observation]:
    return memory.session_observations("s1", limit=100)


def start_context(memory: Memory, root: Path) -> str:
    raw = json.dumps({"session_id": "s2", "source": "startup", "cwd": str(root)}).encode()
    return capture(memory, "SessionStart", raw, folder=root, identify=lambda _: "p")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("From now on use pathlib", PREFERENCE),
        ("ok, from now on please use pathlib.", PREFERENCE),
        ("Use pathlib from now on.", PREFERENCE),
        ("Always run the linter before committing.", PREFERENCE),
        ("In this repo we use tabs.", PREFERENCE),
        ("Stop adding comments to every line.", PREFERENCE),
        ("We decided to use Postgres.", DECISION),
        ("We go with Redis for the cache.", DECISION),
        ("Ab sofort bitte pathlib verwenden.", PREFERENCE),
        ("A partir de ahora usa pathlib.", PREFERENCE),
        ("今後は pathlib を使う。", PREFERENCE),
        ("以后用 pathlib。", PREFERENCE),
        ("From now on use pathlib?", ""),
        ("He said from now on use pathlib", ""),
        ("From now on it fails every time", ""),
        ("Always fails on CI", ""),
        ("Should we go with Redis?", ""),
    ],
)
def test_unambiguous_rules_are_recognised_and_similar_sentences_are_not(text: str, kind: str) -> None:
    assert judge(text).kind == kind
    among_others = judge(f"{text}\nAnd please fix the failing test.").kind
    assert (among_others if among_others in (DECISION, PREFERENCE) else "") == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("We always use tabs in this repository, never spaces.", PREFERENCE),
        (RULE, PREFERENCE),
        ("We decided to use PostgreSQL because we need row locks.", DECISION),
        ("Wir nehmen jetzt doch Postgres, MySQL kann die Geodaten nicht vernünftig.", DECISION),
        ("In diesem Projekt loggen wir nie Kundendaten, auch nicht im Debug.", PREFERENCE),
        ("Al final nos quedamos con MySQL, el hosting cobra Postgres aparte.", DECISION),
        ("Todas las tablas llevan created_at y updated_at, sin excepción.", PREFERENCE),
        ("那就用 Flutter 吧，两套原生我们养不起", DECISION),
        ("提交信息一律用英文，祈使句", PREFERENCE),
        ("データベースは Postgres に決めました。MySQL は位置検索が弱いので。", DECISION),
        ("コミットメッセージは必ず英語で、命令形で書いてください", PREFERENCE),
    ],
)
def test_decisions_and_lasting_rules_are_distinguished_in_five_languages(text: str, kind: str) -> None:
    assert judge(text).kind == kind


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_sentences_with_words_like_always_are_not_rules(text: str) -> None:
    assert judge(text).kind not in (DECISION, PREFERENCE)


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{RULE}\n```\nwhat does this comment mean?",
        f"> {RULE}\n\nthat is from their guide. do we break it?",
        f'A reviewer wrote: "{RULE}" Is that true for us?',
    ],
)
def test_quoted_rules_are_not_rules_of_the_writer(text: str) -> None:
    assert judge(text).kind not in (DECISION, PREFERENCE)


def test_an_agents_own_choice_is_not_a_decision() -> None:
    assert judge("I used a map instead of a list here since order does not matter.", is_agent=True).kind != DECISION


def test_ordinary_prompts_do_not_displace_a_rule_from_the_session_context(memory: Memory, tmp_path: Path) -> None:
    run_hook(memory, tmp_path, "UserPromptSubmit", prompt=RULE)
    for prompt in ORDINARY:
        run_hook(memory, tmp_path, "UserPromptSubmit", prompt=prompt)
    assert [row.text for row in stored_kinds(memory) if row.kind in (DECISION, PREFERENCE)] == [RULE]
    context = start_context(memory, tmp_path)
    section = context.partition("Preferences and decisions:")[2].partition("\\n")[2].partition(":\\n")[0]
    assert "raw SQL" in section
    assert all(prompt[:30] not in section for prompt in ORDINARY)


def test_the_confidence_of_a_classified_kind_is_stored_and_shown(memory: Memory, tmp_path: Path) -> None:
    run_hook(memory, tmp_path, "UserPromptSubmit", prompt=RULE)
    [row] = stored_kinds(memory)
    assert row.score is not None
    assert 0.5 < row.score <= 1
    assert f"preference ({row.score:.2f})" in start_context(memory, tmp_path)


def test_an_uncertain_statement_is_a_note_and_not_in_the_session_context(memory: Memory, tmp_path: Path) -> None:
    texts = [item.text for item in read_labelled(TRAINING, part="development") if item.role == "user"]
    unsure = next(text for text in texts if judge(text).kind == NOTE)
    run_hook(memory, tmp_path, "UserPromptSubmit", prompt=unsure)
    [row] = stored_kinds(memory)
    assert row.kind == NOTE
    assert start_context(memory, tmp_path) == ""


def test_the_session_context_shows_the_deciding_sentence_of_a_long_prompt(memory: Memory, tmp_path: Path) -> None:
    prompt = (
        "Hi, I'd like a CSV import for contacts. Users upload a file, map the columns, see a preview of ten rows, "
        "and confirm. Duplicates by email are merged. Max 5 MB for a start. All long-running work in this project "
        "goes into a job, never into the request. The design is in Figma, ask Tom for access. " + "More details. " * 40
    )
    run_hook(memory, tmp_path, "UserPromptSubmit", prompt=prompt)
    [row] = stored_kinds(memory)
    assert row.kind == PREFERENCE
    assert row.text == prompt.strip()
    assert "All long-running work in this project goes into a job" in start_context(memory, tmp_path)


@pytest.mark.parametrize(
    "sentence",
    [
        "The export was empty because the cursor was read twice.",
        "Der Export war leer, weil die Kennung des Amtes falsch übergeben wurde.",
        "集成测试超时的原因是端口 6379 被旧的容器占用。",
    ],
)
def test_an_explained_cause_is_a_finding(sentence: str) -> None:
    assert find_findings(sentence) == [sentence]


@pytest.mark.parametrize("prompt", ["为什么服务总是重启？", "なぜサービスがいつも再起動するのでしょうか"])
def test_prompts_in_scripts_without_spaces_are_long_enough(memory: Memory, tmp_path: Path, prompt: str) -> None:
    run_hook(memory, tmp_path, "UserPromptSubmit", prompt=prompt)
    assert [(row.kind, row.text) for row in stored_kinds(memory)] == [("request", prompt)]


@pytest.mark.parametrize("prompt", ["继续", "続けて", "weiter"])
def test_a_single_word_is_not_stored_in_any_script(memory: Memory, tmp_path: Path, prompt: str) -> None:
    run_hook(memory, tmp_path, "UserPromptSubmit", prompt=prompt)
    assert stored_kinds(memory) == []


def test_words_are_counted_in_scripts_without_spaces() -> None:
    assert [count_words(text) for text in ("a b c", "继续", "这个仓库用 pnpm", "")] == [3, 1, 4, 0]


@pytest.mark.parametrize(
    "repeated_text", ["„", '"', ". ", "？", "we decided ", "always never ", "```\n", "我们决定", "\n> ", "a: "]
)
def test_hostile_texts_are_classified_in_linear_time(repeated_text: str) -> None:
    start = time.process_time()
    judge(repeated_text * (1_000_000 // len(repeated_text)))
    assert time.process_time() - start < 20  # a quadratic classifier would need minutes


def test_a_quotation_stays_in_the_stored_sentence() -> None:
    text = 'In this repository we never write "the system could not do it" in a message, always the cause.'
    assert judge(text).sentence == text


def test_an_answer_is_split_into_sentences_like_the_classifier_does(memory: Memory, tmp_path: Path) -> None:
    answer = "I read the handler. The fix: e.g. `close()` was missing because of an early return.\n```\nbecause x\n```\nDone!"
    run_hook(memory, tmp_path, "Stop", last_assistant_message=answer)
    assert [row.text for row in stored_kinds(memory)] == [
        "The fix: e.g. `close()` was missing because of an early return."
    ]


def test_the_weights_are_precise_on_the_development_set() -> None:
    items = [item for path in (QUESTIONS, REGISTERS, TRAINING) for item in read_labelled(path, part="development")]
    context = [(item, judge(item.text, is_agent=item.is_agent).kind) for item in items]
    positive = [(item, kind) for item, kind in context if kind in (DECISION, PREFERENCE)]
    either = sum(item.label != "none" for item, _ in positive)
    right = sum(is_right(item, kind) for item, kind in positive)
    assert either / len(positive) > 0.98
    assert right / either > 0.96
    assert either / sum(item.label != "none" for item in items) > 0.45
