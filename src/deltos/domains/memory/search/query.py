"""Parses a query of memory: groups of synonymous terms, names, requested kinds and the expected form of the answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from deltos.domains.memory.search.glossary import translations
from deltos.text.identifiers import names_in_prose
from deltos.text.stop_words import PROSE_STOP_WORDS
from deltos.text.unspaced_scripts import is_single_token, unspaced_words
from deltos.text.words import TOKEN, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_LABEL = r"\s*([^\n:]{1,40}):\s"

# Irregular forms, which the stemmer does not reduce to one stem.
_IRREGULAR = """
    become became|begin began begun|bend bent|bite bit bitten|bleed bled|blow blew blown|break broke broken|
    bring brought|build built|burn burnt|buy bought|catch caught|choose chose chosen|come came|creep crept|
    deal dealt|dig dug|draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|
    fall fell fallen|feed fed|feel felt|fight fought|find found|fly flew flown|forget forgot forgotten|
    forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given|go went gone|grow grew grown|
    hang hung|hear heard|hide hid hidden|hold held|keep kept|know knew known|lead led|leave left|lend lent|
    lose lost|make made|mean meant|meet met|pay paid|ride rode ridden|ring rang rung|rise rose risen|run ran|
    say said|see saw seen|seek sought|sell sold|send sent|shake shook shaken|shoot shot|show shown|sing sang sung|
    sink sank sunk|sit sat|sleep slept|speak spoke spoken|spend spent|spin spun|stand stood|steal stole stolen|
    stick stuck|strike struck|swear swore sworn|sweep swept|swim swam swum|take took taken|teach taught|
    tear tore torn|tell told|think thought|throw threw thrown|understand understood|wake woke woken|wear wore worn|
    win won|write wrote written|child children|man men|woman women|person people|foot feet|tooth teeth|mouse mice|
    life lives|wife wives|leaf leaves|knife knives|half halves|index indices|vertex vertices|matrix matrices"""
# Abbreviations and their long forms.
_SHORT_FORMS = """
    e2e|i18n internationalization internationalisation|l10n localization localisation|k8s kubernetes|a11y accessibility|
    db database databases|repo repository repositories|config configuration configs|env environment environments|
    auth authentication authorization|deps dependency dependencies|lib libs library libraries|
    doc docs documentation|prod production|perf performance|param parameter parameters params|
    arg argument arguments args|msg message messages|pkg package packages|app application applications|
    admin administrator administrators|sync synchronize synchronise synchronization|async asynchronous|
    min minimum|max maximum|temp temporary|dir directory directories|img image images|spec specification|
    mem memory|info information|ops operations|dev development|tz timezone|url urls link links"""
_SHORT_FORM_PHRASES = (
    ("end-to-end", "e2e"), ("end to end", "e2e"), ("time zone", "timezone"), ("log in", "login"), ("sign in", "signin"),
    ("set up", "setup"), ("roll back", "rollback"), ("back up", "backup"), ("check out", "checkout"),
)  # fmt: skip
_CHINESE_QUESTION_WORDS = frozenset("什么 为什 怎么 哪里 在哪 哪个 多少 几个 我们 是否 有没".split())
# One word is not enough to detect a language: German "die" is an English verb, too.
_MIN_LANGUAGE_WORDS = 2
_SMALL_WORDS = {
    "de": frozenset(
        "der die das den dem des ein eine einen einem einer und oder aber ist sind war waren wird werden wurde wir "
        "ihr ich du er sie es uns euch für von vom zu zum zur im in am an auf aus bei mit nach vor über unter um wie "
        "was wer wo wann warum welche welcher welches welchen wohin woher wozu nicht kein keine noch nur auch schon so "
        "dann als wenn ob man hat haben hatte habe kann können gilt gibt geht gehen dürfen sollen muss müssen".split()
    ),
    "es": frozenset(
        "el la los las un una unos unas de del al y o pero es son era fue ser está están se nos lo le les que qué "
        "quién cuál cuáles dónde cuándo cómo cuánto por para con sin en a no ya más como si hay ha han hemos".split()
    ),
    "fr": frozenset(
        "le la les un une des du de et ou mais est sont était être nous vous on il elle que qui quoi quel quelle "
        "quels où quand comment pourquoi combien pour par avec sans dans en sur au aux ne pas plus ce ont".split()
    ),
}
_STATEMENT_KINDS = ("decision", "preference")
# Words of queries that ask for observations of certain kinds.
_WORDS_BY_KIND = (
    (
        ("decision", "preference"),
        frozenset(
            "decide decided decision decisions choose chose chosen choice pick picked agree agreed plan planned settle "
            "settled prefer preferred rule rules convention policy allowed may entschieden entscheidung gewählt "
            "vereinbart regel dürfen decidimos decidió decisión elegimos elegido regla 决定 选择 选了 规则 决策 "
            "決め 決定 選ん 方針".split()
        ),
    ),
    (
        ("error",),
        frozenset(
            "fail failed fails failing failure error errors crash crashed broke broken refused rejected wrong complain "
            "fehler fehlgeschlagen kaputt falló error fallo 失败 报错 错误 超时 エラー 失敗".split()
        ),
    ),
    (
        ("finding",),
        frozenset(
            "fix fixed solve solved solution cause caused reason why warum grund ursache 为什 原因 なぜ 理由".split()
        ),
    ),
    (
        ("finding", "error"),
        frozenset(
            "show showed shown result results outcome measure measured benchmark slow fast faster slower latency "
            "ergab ergebnis gemessen langsam schnell resultado lento rápido 结果 多快 多慢 結果 測定".split()
        ),
    ),
    (
        ("change",),
        frozenset(
            "change changed changes edit edited commit committed merge merged install installed version pr pull "
            "geändert installiert gemergt 修改 改了 安装 版本 変更".split()
        ),
    ),
)
# Words with little meaning that are rare in observations: their low document frequency alone would weigh too much.
_WEAK_WORDS = frozenset(
    "one may might against still ever else much many often until something anything nothing someone somebody anyone "
    "everyone noch immer etwas jemand manchmal algo alguien todavía".split()
)
# Words of dates. If a query names a date, these are dropped, and observations of that time become candidates.
_DATE_WORDS = frozenset(
    "last since ago yesterday monday tuesday wednesday thursday friday saturday sunday gestern vorgestern heute montag "
    "dienstag mittwoch donnerstag freitag samstag sonnabend sonntag letzte letzten letzter seit ayer hoy lunes martes "
    "miércoles jueves viernes sábado domingo pasado pasada desde "
    "昨天 前天 今天 昨日 上周 周一 周二 周三 周四 周五 周六 周日 月曜 火曜 水曜 木曜 金曜 土曜 曜日 先週".split()
)
# Words of queries for a measurement; observations of measurements begin with `_MEASURED_TERM`.
_MEASUREMENT_WORDS = frozenset(
    "fast faster slow slower latency throughput measured benchmark load schnell langsam rápido lento".split()
)
_MEASURED_TERM = ("measured",)
_FORMER_WORDS = frozenset(
    "before was were had earlier former formerly previously first originally used vorher früher war waren antes era "
    "之前 以前 原来 前は".split()
)
_OPEN_WORDS = frozenset("still open remaining noch offen todavía aún pendiente 还在 仍然 まだ".split())
_WHY_WORDS = frozenset("why warum wieso weshalb 为什 为何 なぜ どうして".split())
_SPANISH_WHY = "por qué"
_WE_WORDS = frozenset("we our i wir ich nosotros 我们 私た".split())
_SPANISH_WE_ENDINGS = ("amos", "emos", "imos")
# "Why was it changed": asks about a decision of people, although it does not name them.
_DECIDED_PHRASES = ("was it ", "were they ", "was that ", "was this ", "wurde es", "wurde das", "se cambió", "se quitó")
# Phrases of queries for an agreement or a rule.
_STATED_PHRASES = (
    "how do we", "how should", "how must", "how are we", "how do i", "may i", "can i", "may we", "do we use",
    "we use for", "should i", "should we", "must i", "are we allowed", "am i allowed", "do we still", "wie machen wir",
    "wie sollen", "wie sollten", "darf ich", "dürfen wir", "soll ich", "sollen wir", "nehmen wir", "verwenden wir",
    "cómo debemos",
    "puedo usar", "podemos usar", "usamos", "可以用", "应该用", "必须", "能不能", "すべき", "てもいい", "べきです",
)  # fmt: skip
_ENDINGS = ("ing", "es", "ed", "s")
_GERMAN_ENDINGS = ("en", "er", "es", "em", "e", "n", "s", "")
_MIN_INFLECTED_CHARACTERS = 4
_MIN_STEM_CHARACTERS = 3
_MAX_TRANSLATED_TERMS = 12  # a longer query finds enough in its own language


class AnswerForm(Enum):
    """Form that a query expects of the answer: a frequency, a duration, a version or a number."""

    FREQUENCY = auto()
    DURATION = auto()
    VERSION = auto()
    NUMBER = auto()


_FORM_PHRASES = {
    AnswerForm.FREQUENCY: """
        how often|how frequent|which interval|what interval|the interval|wie oft|con qué frecuencia|cada cuánto|
        多久一次|频率|頻度|何回""",
    AnswerForm.DURATION: """
        how long|how soon|how late|until when|wie lange|bis wann|cuánto tiempo|hasta cuándo|多长时间|多久|いつまで|期間|
        何分|何日""",
    AnswerForm.VERSION: "which version|what version|welche version|qué versión|哪个版本|どのバージョン",
    AnswerForm.NUMBER: """
        how many|how much|how large|how big|how high|how fast|how far|what percentage|largest|smallest|maximum|
        at most|at least|wie viel|wie groß|wie hoch|wie schnell|cuánto|cuánta|多少|几个|多大|多快|いくつ|いくら|
        どのくらい|何人""",
}


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """A parsed query.

    `terms` are groups of words with the same meaning, `words` all words of the query, `names` its code identifiers,
    `kinds` the kinds of observation that it asks for. The flags say whether it asks about a former state, about
    unresolved problems, or for a reason.
    """

    terms: tuple[tuple[str, ...], ...]
    words: frozenset[str]
    names: frozenset[str]
    kinds: frozenset[str] = frozenset()
    form: AnswerForm | None = None
    asks_for_former: bool = False
    asks_for_open: bool = False
    asks_why: bool = False


def parse_query(text: str, *, is_dated: bool = False) -> MemoryQuery:
    """Parse a query; `is_dated` drops the words of its date, because dates are matched separately."""
    asked = _with_short_forms(text)
    words = [word.lower() for token in TOKEN.findall(asked) for word in _words_of(token) if is_single_token(word)]
    language = _language(words)
    small = PROSE_STOP_WORDS | _SMALL_WORDS[language] if language else PROSE_STOP_WORDS
    content_words = [word for word in dict.fromkeys(words) if word not in small and not _is_question_grammar(word)]
    weak = _WEAK_WORDS | _DATE_WORDS if is_dated else _WEAK_WORDS
    useful = [word for word in content_words if word not in weak] or content_words
    forms = _forms()
    groups = dict.fromkeys(_group(word, forms) for word in useful or words)
    if language == "de":
        groups = dict.fromkeys(map(_inflected, groups))
    if len(groups) <= _MAX_TRANSLATED_TERMS:
        groups = dict.fromkeys(map(_in_all_languages, groups))
    if not _MEASUREMENT_WORDS.isdisjoint(words):
        groups[_MEASURED_TERM] = None
    names = frozenset(name.lower() for name in names_in_prose(text))
    return MemoryQuery(
        tuple(groups),
        frozenset(words),
        names,
        _kinds_asked(words, text.lower()),
        _form_asked(text.lower()),
        asks_for_former=not _FORMER_WORDS.isdisjoint(words),
        asks_for_open=not _OPEN_WORDS.isdisjoint(words),
        asks_why=_asks_why(words, text.lower()),
    )


def _kinds_asked(words: Sequence[str], lowered: str) -> frozenset[str]:
    """Return the kinds of observation that words such as "decided" or "failed" ask for."""
    asked = {kind for word in words for kinds, asking in _WORDS_BY_KIND if word in asking for kind in kinds}
    if _asks_why(words, lowered):
        # "Why was it slow after the clocks changed" does not ask for a change. A question about the reason of an action
        # asks for a decision, too.
        is_ours = not _WE_WORDS.isdisjoint(words) or any(word.endswith(_SPANISH_WE_ENDINGS) for word in words)
        is_decided = is_ours or any(phrase in lowered for phrase in _DECIDED_PHRASES)
        asked = asked - {"change"} | {"finding"} | (set(_STATEMENT_KINDS) if is_decided else set())
    if any(phrase in lowered for phrase in _STATED_PHRASES):
        asked |= set(_STATEMENT_KINDS)
    return frozenset(asked)


def _asks_why(words: Iterable[str], lowered: str) -> bool:
    return not _WHY_WORDS.isdisjoint(words) or _SPANISH_WHY in lowered


def _words_of(token: str) -> list[str]:
    """Return the index terms of a token: bigrams in scripts without spaces."""
    return unspaced_words(token) or [token]


def _language(words: Iterable[str]) -> str:
    """Return the language of a query, detected by its function words; empty for English or an unknown language."""
    counts = {language: sum(word in small for word in words) for language, small in _SMALL_WORDS.items()}
    language = max(counts, key=counts.__getitem__)
    return language if counts[language] >= _MIN_LANGUAGE_WORDS else ""


def _with_short_forms(text: str) -> str:
    """Replace phrases that are usually written as one short word: "end to end" becomes "e2e"."""
    lowered = text.lower()
    for phrase, short in _SHORT_FORM_PHRASES:
        if phrase in lowered:
            text = lowered = lowered.replace(phrase, short)
    return text


def _inflected(group: tuple[str, ...]) -> tuple[str, ...]:
    """Return a German word with its other endings; the index stems English only."""
    (word, *_) = group
    if len(group) > 1 or not word.isalpha() or len(word) < _MIN_INFLECTED_CHARACTERS:
        return group
    end = next((end for end in _GERMAN_ENDINGS if end and word.endswith(end)), "")
    stem = word.removesuffix(end)
    if len(stem) < _MIN_STEM_CHARACTERS:
        return group
    return (word, *(stem + other for other in _GERMAN_ENDINGS if other != end))


def _form_asked(lowered: str) -> AnswerForm | None:
    """Return the form that the answer should have; the rarer phrases are checked first."""
    for form, phrases in _FORM_PHRASES.items():
        if any(phrase.strip() in lowered for phrase in phrases.split("|")):
            return form
    return None


def _is_question_grammar(word: str) -> bool:
    """Whether a bigram has no content: hiragana only, or a Chinese question word."""
    return word in _CHINESE_QUESTION_WORDS or all("\u3040" <= letter <= "\u309f" for letter in word)


def label_of(text: str) -> frozenset[str]:
    """Return the words of the label at the start of a text (`Name: …`); empty if there is none."""
    match = re.match(_LABEL, text)
    return frozenset(tokens(match[1])) if match else frozenset()


def _group(word: str, forms: dict[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the word with its synonyms; the words of one group return the same tuple, so that it counts once."""
    candidates = [
        word,
        *(word.removesuffix(end) for end in _ENDINGS if word.endswith(end) and len(word) > len(end) + 2),
    ]
    return next((forms[candidate] for candidate in candidates if candidate in forms), (word,))


def _in_all_languages(group: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a group with their translations."""
    others = (other for word in group for other in translations(word))
    return (*group, *(other for other in dict.fromkeys(others) if other not in group))


def _forms() -> dict[str, tuple[str, ...]]:
    """Return the group of synonyms for each irregular and short form."""
    groups = [tuple(group.split()) for group in (*_IRREGULAR.split("|"), *_SHORT_FORMS.split("|"))]
    return {form: group for group in groups for form in group}
