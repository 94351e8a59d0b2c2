"""Detects which older observations a new one supersedes.

A new statement supersedes an older one if it names the replaced value ("20, not 50", "Stripe instead of Adyen", "from 8
to 12") and has the same topic. A reversal ("back to Adyen") supersedes the replacement. Picking an offered alternative
("so per line it is") supersedes the choice. A short correction ("Releases on Thursdays, not Tuesdays") supersedes the
only statement that says little more than the old value. An edit supersedes an earlier edit whose added lines it
removes.

Uses plain string scans, because hooks run it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.memory.core.model import ALTERNATIVES_PREFIX, DECISION_PREFIX
from deltos.text.stop_words import PROSE_STOP_WORDS
from deltos.text.unspaced_scripts import unspaced_words
from deltos.text.words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.store.observations import NewObservation, Observation

# Kinds that can supersede and be superseded. Explanations by an agent can do neither.
_STATEMENTS = ("decision", "preference", "note", "request", "finding")
_EDIT = "Edited "
_RECORD_PREFIXES = ("Fixed: ", "Measured with ")  # records of events, which no later decision can supersede
_MAX_STATEMENTS_COMPARED = 400  # newest statements of a project that a correction is compared with
_MAX_EDITS_COMPARED = 100
# A longer text says more than the replaced value: superseding it would hide the rest.
_MAX_REPLACEABLE_CHARACTERS = 500
_MAX_REPLACEABLE_LINES = 3
_MAX_SINGLE_STATEMENT_CHARACTERS = 240  # in longer texts, the topic of a correction is its sentence only
_MAX_REPLACED_WORDS = 5
_MAX_REPLACED_CHARACTERS = 12  # in scripts without spaces
_STEM_CHARACTERS = 5
_MIN_SHARED_WORDS = 2
_MIN_TOPIC_SHARE = 0.5
_MIN_BIGRAM_SHARE = 0.35
_MIN_MEASURE_WORDS = 3
_MIN_LIST_LINES = 3
_MAX_LIST_CHARACTERS = 4_000
_AMENDMENT_PREFIX = " (no longer: "
_MAX_QUOTED_CHARACTERS = 160
_SENTENCE_ENDS = ("\n", ". ", "! ", "。", "！", "; ", "；")
_CLAUSE_ENDS = frozenset(".,;:!?()、。，；：！？\n")
# Markers before the replaced value.
_MARKERS_BEFORE_REPLACED = (
    ", not ", " (not ", " and not ", " instead of ", " rather than ", " no longer ", " in place of ",
    " statt ", " anstatt ", " anstelle von ", ", nicht ", " nicht mehr ", " en vez de ", " en lugar de ", " ya no ",
    "而不是", "，不是", "，不再用", "，不再", "代替", "取代",
)  # fmt: skip
# Markers after the replaced value, in Japanese.
_MARKERS_AFTER_REPLACED = ("ではなく", "じゃなくて", "をやめて", "の代わりに")
_PARTICLES = frozenset("はをがにのも、。 ")
# Markers before the restored value, and after it in Japanese.
_MARKERS_BEFORE_RESTORED = (
    " back to ", " revert to ", " reverting to ", " return to ", " returning to ", " zurück zu ", " zurück auf ",
    " doch wieder ", " volvemos a ", " volver a ", " de vuelta a ", "改回", "换回", "恢复为", "恢复成", "回到",
)  # fmt: skip
_MARKERS_AFTER_RESTORED = ("に戻す", "に戻し", "に戻る", "に戻り", "へ戻す")
_NEGATIONS = ("never ", " not ", "n't ", " no ", " nie ", " nicht ", " nunca ", "不要", "不再", "ない")
# A time or reason that follows the replaced value is not part of it.
_TIME_OR_REASON = frozenset("since because as when after until from seit weil ab desde porque".split())
# Markers after a measure that is replaced because it does not fit: "500 MB is still too small".
_UNSUITABLE_MARKERS = (" too ", " not enough", " demasiado ", *(f" zu {how}" for how in (
    "klein", "groß", "kurz", "lang", "wenig", "viel", "grob", "selten", "oft", "hoch", "niedrig", "knapp", "teuer",
)))  # fmt: skip
_UNITS = {
    "min": "minut", "mins": "minut", "sec": "secon", "secs": "secon", "s": "secon", "h": "hour", "hr": "hour",
    "hrs": "hour", "d": "day", "sekun": "secon", "segun": "secon", "stund": "hour", "hora": "hour", "tag": "day",
    "tage": "day", "tagen": "day", "día": "day", "woche": "week", "seman": "week", "monat": "month", "mes": "month",
    "mese": "month", "jahr": "year", "jahre": "year", "año": "year", "mib": "mb", "gib": "gb", "kib": "kb",
}  # fmt: skip
_RETRACTIONS = (
    "changed my mind about ", "changed my mind on ", " take back ", " taking back ", " i was wrong about ",
    "habe es mir anders überlegt mit ",
)  # fmt: skip
# Markers of a sentence that picks another option.
_CHOICE_MARKERS = (
    " it is", " after all", " go for ", " go with ", " going with ", " instead", " switch to ", " we take ",
    " let's do ", " let's use ", " doch ", " lieber ", " mejor ", " al final ", "还是", "改成", "改用",
    "にします", "にしよう", "に変え",
)  # fmt: skip
# Separators between the new and the old value in a short correction.
_VALUE_SEPARATORS = (
    ", not ", " (not ", " instead of ", " rather than ", " statt ", " anstatt ", ", nicht ", " en vez de ",
    " en lugar de ",
)  # fmt: skip
_SHORT_CORRECTION_CHARACTERS = 120
_MAX_OTHER_WORDS = 2  # content words of the older statement, usually verbs, that a short correction may omit
_VALUE_PREPOSITIONS = frozenset(
    "on in at to via with by over through as auf am an im um mit über per als en con por vía".split()
)
_SCOPE_PREPOSITIONS = ("for ", "of ", "in ", "on ", "at ", "für ", "bei ", "im ", "auf ", "von ", "para ", "en ", "de ")
_MIND_CHANGES = frozenset("doch lieber actually mejor".split())
_FILLER_WORDS = _MIND_CHANGES | frozenset(
    "ok okay no nein sorry correction korrektur only nur just es dann also".split()
)
# A sentence with one of these words is about a possibility or the past, and corrects nothing.
_UNCERTAINTY_WORDS = frozenset(
    "can could may might maybe perhaps if would try unless was were had did never not don't "
    "kann könnte können vielleicht wenn falls würde wäre war waren nie puede quizás si era".split()
)
_CONJUNCTIONS = frozenset("and or but und oder aber sowie y o pero".split())
_REASON_WORDS = frozenset("because since weil denn porque".split())
_REASON_OPENINGS = _REASON_WORDS | frozenset("so as da damit para".split())  # after a comma
_CHOICE_WORDS = frozenset(
    "decided decide chose chosen choose entschieden entscheiden gewählt nehmen nutzen verwenden setzen elegimos "
    "decidimos usamos use uses".split()
)
_DAY_STEMS = frozenset(
    day[:_STEM_CHARACTERS].removesuffix("s")
    for day in "monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag "
    "samstag sonntag lunes martes miércoles jueves viernes sábado domingo".split()
)
# "from A to B" replaces A only together with one of these verbs.
_CHANGE_VERBS = ("change", "switch", "move", "migrat", "raise", "lower", "increas", "reduc", "bump", "went ", "go ")
_SMALL_WORDS = PROSE_STOP_WORDS | frozenset(
    "we use used uses using take takes make makes keep keeps go goes put set have has get now also always must should "
    "please never new every per one instead rather longer since because "
    "der die das den dem ein eine einen und ist sind wird wir für von zu im in am um auf bei mit ab jetzt nicht mehr "
    "nehmen läuft bitte immer nie sondern statt "
    "el la los las un una de del y en es se por con para a al que no ya ahora usar usamos va van".split()
)


class _Correction(NamedTuple):
    """A correction in a text: the stems of the replaced value, and the topic of the text.

    A retraction has its topic in `replaced`. `units` are the units of the new numbers ("12 MB, not 8"). `measure` is
    the replaced phrase if it has a number and a unit ("every 5 seconds"). `unsuitable` is a number with its unit that
    the text calls too small, too long and so on.
    """

    replaced: frozenset[str]
    topic: frozenset[str]
    is_retraction: bool = False
    units: frozenset[str] = frozenset()
    measure: str = ""
    unsuitable: tuple[str, str] | None = None


class _ShortCorrection(NamedTuple):
    """A short sentence that gives a thing another value: "Releases on Thursdays, not Tuesdays".

    `preposition` precedes the new value, `unit` is the unit of the numbers. `topic` may be empty if `changes_mind` is
    set.
    """

    topic: frozenset[str]
    value: frozenset[str]
    replaced: frozenset[str]
    preposition: str = ""
    unit: str = ""
    changes_mind: bool = False


class Reversal(NamedTuple):
    """A return to an earlier statement: the restored observations, and their former replacements."""

    restored: tuple[Observation, ...] = ()
    withdrawn: tuple[Observation, ...] = ()


class Amendment(NamedTuple):
    """An older observation and its new text, in which single lines are marked as replaced."""

    older: Observation
    text: str


def kinds_to_compare(new: NewObservation | Observation) -> tuple[tuple[str, ...], int]:
    """Return the kinds of older observations that a new one may supersede, and how many of them to compare; usually
    none."""
    if new.kind == "change" and new.text.startswith(_EDIT):
        return (("change",), _MAX_EDITS_COMPARED) if "\n- " in new.text else ((), 0)
    if new.kind in _STATEMENTS and new.source != "agent":
        changes = any(_corrections(new.text)) or is_reversal(new) or any(_choice_sentences(new.text))
        return (_STATEMENTS, _MAX_STATEMENTS_COMPARED) if changes else ((), 0)
    return (), 0


def kinds_that_replace(kind: str) -> tuple[str, ...]:
    """Return the kinds of later observations that can supersede this kind."""
    return _STATEMENTS if kind in _STATEMENTS else ("change",) if kind == "change" else ()


def find_superseded(new: NewObservation | Observation, older: Iterable[Observation]) -> list[Observation]:
    """Return the older observations that the new one supersedes."""
    if new.kind == "change":
        return [row for row in older if new.text.startswith(_EDIT) and _is_undone(row, new)]
    if new.source == "agent":
        return []
    corrections, choices = list(_corrections(new.text)), list(_choice_sentences(new.text))
    stated_words = _stems(new.text) if choices else frozenset[str]()
    older = list(older)
    replaced = [
        row
        for row in older
        if any(_replaces(correction, row) for correction in corrections)
        or _picks_alternative(choices, stated_words, row)
    ]
    return replaced or _find_short_correction_target(new.text, older)


def _find_short_correction_target(text: str, older: Iterable[Observation]) -> list[Observation]:
    """Return the only statement to which a short correction applies; an empty list if several are possible."""
    correction = _parse_short_correction(text)
    if correction is None:
        return []
    own = [row for row in older if row.source != "agent" and not row.text.startswith(_RECORD_PREFIXES)]
    if not correction.topic:  # then no other statement may mention the replaced value
        own = [row for row in own if correction.replaced <= _stems(row.text)]
        return own if len(own) == 1 and _states_old_value(correction, own[0].text) else []
    matching = [row for row in own if _states_old_value(correction, row.text)]
    return matching if len(matching) == 1 else []


def _parse_short_correction(text: str) -> _ShortCorrection | None:
    """Parse the first sentence of a text as a short correction; None if it is none."""
    sentence = next((each.strip() for each in _sentences(text) if each.strip()), "")
    lowered = sentence.lower()
    found = [(at, marker) for marker in _VALUE_SEPARATORS if (at := lowered.find(marker)) > 0]
    if not found or len(sentence) > _SHORT_CORRECTION_CHARACTERS or sentence.endswith(("?", "？")):
        return None
    at, marker = min(found)
    *prepositions, before = _clauses(lowered[:at]) or [""]
    after = lowered[at + len(marker) :]
    end = next((at for at, letter in enumerate(after) if letter in _CLAUSE_ENDS), len(after))
    is_scoped = after[end:].lstrip(",.;:!?) ").startswith(_SCOPE_PREPOSITIONS)
    words = list(tokens(before))
    if (
        is_scoped
        or not _UNCERTAINTY_WORDS.isdisjoint(words)
        or any(_stems(each) - _FILLER_WORDS for each in prepositions)
    ):
        return None
    replaced = " ".join(_trim_phrase(after[:end]))
    found_words = frozenset(words).union(*map(tokens, prepositions))
    return _number_correction(words, replaced) or _word_correction(words, replaced, found_words)


def _number_correction(words: Sequence[str], replaced: str) -> _ShortCorrection | None:
    """Return a correction that replaces a number by another one with the same unit: "Backups for 30 days instead of
    90"."""
    numbers = frozenset(word for word in tokens(replaced) if word.isdecimal())
    measures = _measures(" ".join(words))
    if len(numbers) != 1 or len(measures) != 1:
        return None
    number, unit = measures[0]
    at = words.index(number)
    if {mentioned for _, mentioned in _measures(replaced)} - {unit}:
        return None
    topic = _stems(" ".join((*words[:at], *words[at + 2 :]))) - _FILLER_WORDS
    return _ShortCorrection(topic, frozenset((number,)), numbers, unit=unit) if topic else None


def _word_correction(words: Sequence[str], replaced: str, stated_words: frozenset[str]) -> _ShortCorrection | None:
    """Return a correction that replaces a name or a day: "Releases on Thursdays, not Tuesdays"."""
    replaced_stems = _stems(replaced)
    prepositions = [at for at, word in enumerate(words[:-1]) if word in _VALUE_PREPOSITIONS]
    at = prepositions[-1] + 1 if prepositions else len(words) - 1
    value = _stems(" ".join(words[at:])) - _FILLER_WORDS
    if (
        not replaced_stems
        or not value
        or len(replaced_stems) > _MIN_SHARED_WORDS
        or any(map(str.isdecimal, replaced_stems))
    ):
        return None
    topic = _stems(" ".join(words[:at])) - _FILLER_WORDS - _VALUE_PREPOSITIONS
    changes_mind = not _MIND_CHANGES.isdisjoint(stated_words)
    if not topic and not changes_mind:
        return None
    preposition = words[at - 1] if prepositions else ""
    return _ShortCorrection(topic, value, replaced_stems, preposition, changes_mind=changes_mind)


def _states_old_value(correction: _ShortCorrection, text: str) -> bool:
    """Whether a statement says little more than that the correction's topic has the replaced value."""
    words = _statement_words(text)
    stated_words = _stems(" ".join(words))
    mentioned = correction.topic | correction.replaced
    if (
        not words
        or not mentioned <= stated_words
        or correction.value & stated_words
        or not _CONJUNCTIONS.isdisjoint(words)
    ):
        return False
    stems = list(map(_stems, words))
    places = [at for at, each in enumerate(stems) if each & correction.replaced]
    if not places:
        return False
    first, last = places[0], places[-1]
    if correction.unit:
        last += 1  # the unit comes after the number
        if (words[first], correction.unit) not in _measures(" ".join(words[first : last + 1])):
            return False
    following = [at for at in range(last + 1, len(words)) if stems[at] and words[at] not in _CHOICE_WORDS]
    other_words = frozenset[str]().union(*stems[:first]) - mentioned
    if following or len(other_words) > _MAX_OTHER_WORDS:
        return False  # the statement has a condition, or says more than the value
    if not correction.topic:
        return not _CHOICE_WORDS.isdisjoint(words)
    is_same_form = bool(correction.preposition) and first > 0 and words[first - 1] == correction.preposition
    return bool(correction.unit) or is_same_form or (correction.replaced | correction.value) <= _DAY_STEMS


def _statement_words(text: str) -> list[str]:
    """Return the words of a one-sentence text without its reasons; empty if it states several things."""
    sentences = [each for each in _sentences(text) if each.strip()]
    if len(sentences) != 1 or len(text) > _MAX_REPLACEABLE_CHARACTERS or text.rstrip().endswith(("?", "？")):
        return []
    first, *others = _clauses(sentences[0].lower()) or [""]
    if others and others[0].split()[0] not in _REASON_OPENINGS:
        return []
    words = first.split()
    end = next((at for at, word in enumerate(words) if at and word in _REASON_WORDS), len(words))
    return list(tokens(" ".join(words[:end])))


def _choice_sentences(text: str) -> Iterator[frozenset[str]]:
    """Yield the stems of sentences that choose something; questions and negated sentences choose nothing."""
    if len(text) > 4 * _MAX_REPLACEABLE_CHARACTERS:
        return
    for sentence in _sentences(text):
        lowered = f" {sentence.lower().rstrip('.!。！ ')} "
        is_chosen = any(mark in lowered for mark in _CHOICE_MARKERS) and not any(word in lowered for word in _NEGATIONS)
        if is_chosen and not sentence.rstrip().endswith(("?", "？")):
            yield _stems(sentence)


def _picks_alternative(choices: Iterable[frozenset[str]], stated_words: frozenset[str], older: Observation) -> bool:
    """Whether a sentence picks an option that an earlier choice had offered, in a text about the same topic."""
    choice, offered, labels = older.text.partition(f"\n{ALTERNATIVES_PREFIX}")
    if not offered or older.pinned_at is not None or older.text.count(DECISION_PREFIX) > 1:
        return False  # an observation with several choices: the others remain valid
    topic = _stems(choice.replace(DECISION_PREFIX, " "))
    for label in labels.partition("\n")[0].split("; "):
        mentioned = _stems(label) - topic
        if mentioned and stated_words & topic and any(mentioned <= sentence for sentence in choices):
            return True
    return False


def is_reversal(new: NewObservation | Observation) -> bool:
    """Whether an observation restores an earlier statement."""
    return new.kind in _STATEMENTS and new.source != "agent" and any(_restored_phrases(new.text))


def find_reversal(new: NewObservation, statements: Sequence[Observation]) -> Reversal:
    """Return the statements that an observation restores, and their replacements, which it withdraws.

    `statements` are older statements, newest first, including superseded ones.
    """
    by_id: dict[str, Observation] = {row.id: row for row in statements}
    stated_words = _stems(new.text)
    for restored_stems in _restored_phrases(new.text):
        pairs = [(row, by) for row in statements if (by := by_id.get(row.superseded_by or "")) is not None]
        candidates = [
            (row, by)
            for row, by in pairs
            if _is_replaceable(by) and _had_replaced(restored_stems, stated_words, by, row)
        ]
        # Of several replacements of the same value, the one closest in topic is withdrawn, otherwise the newest.
        chosen = max((by for _, by in candidates), key=lambda by: len(_stems(by.text) & stated_words), default=None)
        if chosen is not None:
            return Reversal(tuple(row for row, by in candidates if by is chosen), (chosen,))
        single = next(
            (row for row in statements if _is_replaceable(row) and _had_replaced(restored_stems, stated_words, row)),
            None,
        )
        if single is not None:
            return Reversal((), (single,))
    return Reversal()


def _is_replaceable(row: Observation) -> bool:
    """Whether a statement is neither superseded, forgotten, pinned nor recorded by the agent."""
    is_live = row.superseded_by is None and row.deleted_at is None and row.pinned_at is None
    return is_live and row.source != "agent" and not row.text.startswith(_RECORD_PREFIXES)


def _had_replaced(
    restored_stems: frozenset[str], stated_words: frozenset[str], newer: Observation, older: Observation | None = None
) -> bool:
    """Whether the newer of two statements had replaced the value that is now restored."""
    replaced_sets = [each.replaced for each in _corrections(newer.text)]
    if restored_stems <= _stems(newer.text) - frozenset[str]().union(*replaced_sets):
        return False  # the newer statement already has the restored value
    mentioned = next((each for each in replaced_sets if each and each <= restored_stems), frozenset[str]())
    if not mentioned and older is not None and restored_stems <= _stems(older.text):
        mentioned = restored_stems
    if not mentioned or not all(map(str.isdecimal, mentioned)):
        return bool(mentioned)
    before = _stems(newer.text) | (_stems(older.text) if older is not None else frozenset())
    return any(not word.isdecimal() for word in stated_words & before)  # a number alone may belong to any topic


def _restored_phrases(text: str) -> Iterator[frozenset[str]]:
    """Yield the stems of the values that a text restores; questions and negated sentences restore nothing."""
    if len(text) > 4 * _MAX_REPLACEABLE_CHARACTERS:
        return
    for sentence in _sentences(text):
        lowered = f" {sentence.lower()} "
        if sentence.rstrip().endswith(("?", "？")) or any(word in lowered for word in _NEGATIONS):
            continue
        phrases = [
            *_phrases_after(lowered, _MARKERS_BEFORE_RESTORED, words=_MAX_REPLACED_WORDS),
            *_phrases_before(lowered, _MARKERS_AFTER_RESTORED),
        ]
        yield from filter(None, map(_stems, phrases))


def without_amendments(text: str, withdrawn: Iterable[Observation]) -> str:
    """Remove the amendments that withdrawn observations added to a text."""
    for row in withdrawn:
        text = text.replace(amendment_text(row), "")
    return text


def amendment_text(new: NewObservation | Observation) -> str:
    """Return the text that is appended to a line that the new observation replaces."""
    own_text, _, _ = new.text.partition(_AMENDMENT_PREFIX)  # the new observation may be amended itself
    return f"{_AMENDMENT_PREFIX}{_shorten(own_text)})"


def may_amend(new: NewObservation | Observation) -> bool:
    """Whether an observation corrects something, so that other texts may quote it as an amendment."""
    return bool(_corrections_by(new))


def _corrections_by(new: NewObservation | Observation) -> list[_Correction]:
    """Return the corrections of an observation; empty for kinds and authors that cannot correct."""
    return list(_corrections(new.text)) if new.kind in _STATEMENTS and new.source != "agent" else []


def find_amendments(new: NewObservation | Observation, older: Iterable[Observation]) -> list[Amendment]:
    """Return amendments of older plans and lists of which the new observation replaces single lines, and of statements
    of which it replaces one clause."""
    corrections = _corrections_by(new)
    if not corrections:
        return []
    amendment = amendment_text(new)
    found = []
    for row in older:
        if row.pinned_at is not None or row.text.startswith(_RECORD_PREFIXES) or len(row.text) > _MAX_LIST_CHARACTERS:
            continue  # only the user changes pinned observations
        lines = row.text.split("\n")
        if len(lines) >= _MIN_LIST_LINES:
            lines = [_amend_line(line, amendment, corrections) for line in lines]
        elif (
            row.source != "agent" and _AMENDMENT_PREFIX not in row.text and _has_replaced_clause(row.text, corrections)
        ):
            lines[-1] += amendment
        if (text := "\n".join(lines)) != row.text:
            found.append(Amendment(row, text))
    return found


def _has_replaced_clause(text: str, corrections: Iterable[_Correction]) -> bool:
    """Whether one of several clauses of a statement is replaced."""
    if len(text) > _MAX_REPLACEABLE_CHARACTERS or text.rstrip().endswith(("?", "？")):
        return False
    clauses = _clauses(text)
    return len(clauses) > 1 and any(_applies_to(each, clause) for each in corrections for clause in clauses)


def _clauses(text: str) -> list[str]:
    """Return the parts of a text between commas and sentence ends; a point inside a number or name does not end a
    clause."""
    pieces = [text]
    for end in (*_SENTENCE_ENDS, ", ", ": ", "，", "、"):
        pieces = [part for piece in pieces for part in piece.split(end)]
    return [piece for piece in pieces if piece.strip()]


def _amend_line(line: str, amendment: str, corrections: Iterable[_Correction]) -> str:
    """Return a list item with the amendment if a correction applies to it, other lines unchanged."""
    is_item = line.lstrip()[:1] in ("-", "*", "•") or line.lstrip()[:2].strip(".) ").isdecimal()
    if not is_item or _AMENDMENT_PREFIX in line or not any(_applies_to(each, line) for each in corrections):
        return line
    return line + amendment


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MAX_QUOTED_CHARACTERS else flat[: _MAX_QUOTED_CHARACTERS - 1].rstrip() + "…"


def _is_undone(older: Observation, new: NewObservation | Observation) -> bool:
    """Whether an edit removes every line that an earlier edit of the same file added."""
    if older.files != new.files or "\n… " in older.text or not older.text.startswith(_EDIT):
        return False
    added = {line[2:] for line in older.text.splitlines() if line.startswith("+ ")}
    removed = {line[2:] for line in new.text.splitlines() if line.startswith("- ")}
    return bool(added) and added <= removed


def _replaces(correction: _Correction, older: Observation) -> bool:
    """Whether a correction supersedes a whole observation."""
    if len(older.text) > _MAX_REPLACEABLE_CHARACTERS or older.text.count("\n") >= _MAX_REPLACEABLE_LINES:
        return False
    if older.source == "agent" or older.text.startswith(_RECORD_PREFIXES):
        return False
    return _applies_to(correction, older.text)


def _applies_to(correction: _Correction, text: str) -> bool:
    """Whether a correction is about the value and the topic of a text."""
    replaced_by_text = frozenset[str]().union(*(each.replaced for each in _corrections(text)))
    stated_words = _stems(text) - replaced_by_text
    if correction.is_retraction:
        shared = correction.replaced & stated_words
        return len(shared) >= _MIN_SHARED_WORDS and len(shared) >= _MIN_TOPIC_SHARE * len(correction.replaced)
    if not correction.replaced <= stated_words:
        return False
    topic = stated_words - correction.replaced
    if correction.unsuitable:
        shared = frozenset(word for word in correction.topic & topic if not word.isdecimal())
        return bool(shared - {correction.unsuitable[1]}) and correction.unsuitable in _measures(text)
    numbers = {word for word in correction.topic if word.isdecimal()}
    if numbers and numbers <= topic:
        return False  # the text already has the new value
    shared = frozenset(word for word in correction.topic & topic if not word.isdecimal())
    if correction.units and correction.replaced <= {
        number for number, unit in _measures(text) if unit in correction.units
    }:
        return len(shared) > _MIN_SHARED_WORDS  # the unit and two words of the topic
    if shared and correction.measure and f" {correction.measure} " in f" {' '.join(tokens(text))} ":
        return True  # the same number, unit and preceding word: another topic is improbable
    # Bigrams across word boundaries match by chance.
    share = _MIN_TOPIC_SHARE if all(map(str.isascii, shared)) else _MIN_BIGRAM_SHARE
    if len(shared) >= _MIN_SHARED_WORDS and len(shared) > share * min(len(correction.topic), len(topic)):
        return True
    return bool(topic) and topic <= correction.topic  # the text has no other topic


def _corrections(text: str) -> Iterator[_Correction]:
    """Yield the corrections in a text; questions correct nothing."""
    if len(text) > 4 * _MAX_REPLACEABLE_CHARACTERS:
        return
    for sentence in _sentences(text):
        if sentence.rstrip().endswith(("?", "？")):
            continue
        lowered = f" {sentence.lower()} "
        topic_of = text if len(text) <= _MAX_SINGLE_STATEMENT_CHARACTERS else sentence
        for phrase in _replaced_phrases(lowered):
            if replaced := _stems(phrase):
                is_number = all(map(str.isdecimal, replaced))
                now = _measures(topic_of) if is_number else ()
                units = frozenset(unit for number, unit in now if number not in replaced)
                measure = _measure_phrase(phrase)
                yield _Correction(replaced, _stems(topic_of) - replaced, units=units, measure=measure)
        for number, unit in _unsuitable_measures(lowered):
            replaced = frozenset((number,))
            yield _Correction(replaced, _stems(text) - replaced, unsuitable=(number, unit))
        for phrase in _phrases_after(lowered, _RETRACTIONS, words=2 * _MAX_REPLACED_WORDS):
            yield _Correction(_stems(phrase), frozenset(), is_retraction=True)


def _measure_phrase(phrase: str) -> str:
    """Return the words of a phrase that has a number, a unit and another word; empty for other phrases."""
    words = tokens(phrase)
    return " ".join(words) if len(words) >= _MIN_MEASURE_WORDS and _measures(phrase) else ""


def _measures(text: str) -> list[tuple[str, str]]:
    """Return the numbers of a text, each with the following word as its unit."""
    words = list(tokens(text))
    return [
        (number, _UNITS.get(stem := unit[:_STEM_CHARACTERS].removesuffix("s"), stem))
        for number, unit in pairwise(words)
        if number.isdecimal() and not unit.isdecimal() and unit not in _SMALL_WORDS
    ]


def _unsuitable_measures(lowered: str) -> list[tuple[str, str]]:
    """Return the last measure before a marker such as "too small", which the sentence calls unsuitable."""
    ends = [at for marker in _UNSUITABLE_MARKERS if (at := lowered.find(marker)) > 0]
    return _measures(lowered[: min(ends)])[-1:] if ends else []


def _replaced_phrases(lowered: str) -> Iterator[str]:
    """Yield the phrases of a sentence that name a replaced value."""
    yield from _phrases_after(lowered, _MARKERS_BEFORE_REPLACED, words=_MAX_REPLACED_WORDS)
    yield from _phrases_before(lowered, _MARKERS_AFTER_REPLACED)
    if any(verb in lowered for verb in _CHANGE_VERBS):
        for phrase in _phrases_after(lowered, (" from ",), words=2 * _MAX_REPLACED_WORDS):
            before, found, _ = phrase.partition(" to ")
            if found:
                yield before


def _phrases_before(lowered: str, markers: Iterable[str]) -> Iterator[str]:
    """Yield the phrase before each marker, back to the previous particle."""
    for marker in markers:
        before, found, _ = lowered.partition(marker)
        before = before.rstrip()  # some writers put a space between scripts
        if found:
            start = max((at for at, letter in enumerate(before) if letter in _PARTICLES), default=-1)
            yield before[start + 1 :][-_MAX_REPLACED_CHARACTERS:]


def _phrases_after(lowered: str, markers: Iterable[str], *, words: int) -> Iterator[str]:
    """Yield the phrase after each marker, up to the end of its clause."""
    for marker in markers:
        _, found, after = lowered.partition(marker)
        if not found:
            continue
        end = next((at for at, letter in enumerate(after) if letter in _CLAUSE_ENDS), len(after))
        clause = after[:end]
        yield clause[:_MAX_REPLACED_CHARACTERS] if not marker.isascii() else " ".join(_trim_phrase(clause)[:words])


def _trim_phrase(clause: str) -> list[str]:
    """Return the words of a clause up to a word that starts a time or a reason."""
    words = clause.split()
    return words[: next((at for at, word in enumerate(words) if at and word in _TIME_OR_REASON), len(words))]


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text, each with its end mark."""
    pieces = [text]
    for end in _SENTENCE_ENDS:
        pieces = [part for piece in pieces for part in _split_after(piece, end)]
    return pieces


def _split_after(text: str, end: str) -> list[str]:
    *heads, last = text.split(end)
    return [head + end for head in heads] + [last]


def _stems(text: str) -> frozenset[str]:
    """Return the stems of the content words of a text; bigrams in scripts without spaces."""
    found: set[str] = set()
    for token in tokens(text):
        for word in unspaced_words(token) or (token,):
            if word not in _SMALL_WORDS and not all("\u3040" <= letter <= "\u309f" for letter in word):
                found.add(word if word.isdecimal() else word[:_STEM_CHARACTERS].removesuffix("s"))
    return frozenset(found)
