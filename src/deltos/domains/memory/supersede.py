"""When a newer observation takes the place of an older one: it names what it replaces ("20, not 50", "Stripe instead of
Adyen", "from 8 to 12") and speaks of the same matter, or it is an edit that takes out all that an earlier one put in.
One that goes back to what held before ("back to Adyen") replaces what had replaced that; one that takes what was
offered and not chosen ("so per line it is") replaces the choice. A correction of few words ("Releases on Thursdays, not
Tuesdays") replaces the one statement that says little but the old value. Plain scans: hooks run it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from deltos.domains.memory.model import DECIDED, OFFERED_AS_WELL
from deltos.text.scripts import unspaced_words
from deltos.text.stop_words import PROSE_STOP_WORDS
from deltos.text.words import tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from deltos.store.observations import NewObservation, Observation

# What may be replaced, and what may say so. What an agent explains neither replaces nor is
# replaced.
_STATEMENTS = ("decision", "preference", "note", "request", "finding")
_EDIT = "Edited "
_HAPPENED = ("Fixed: ", "Measured with ")  # records of what happened: a later decision does not change what was
_LOOKED_AT = 400  # newest statements of a project that a correction is compared with
_EDITS_LOOKED_AT = 100
# A longer text says more than what is replaced: hiding it would lose the rest.
_MOST_CHARACTERS = 500
_MOST_LINES = 3
_WHOLE_CHARACTERS = 240  # a text that is one statement; of a longer one, only the sentence counts
_REPLACED_WORDS = 5
_REPLACED_CHARACTERS = 12  # of scripts without spaces
_STEM_CHARACTERS = 5
_LEAST_SHARED = 2
_SHARE_OF_TOPIC = 0.5
_SHARE_OF_BIGRAMS = 0.35
_LEAST_MEASURE_WORDS = 3
_FEWEST_LIST_LINES = 3
_LONGEST_LIST = 4_000
_AMENDED = " (no longer: "
_MOST_QUOTED = 160
_SENTENCE_ENDS = ("\n", ". ", "! ", "。", "！", "; ", "；")
_CLAUSE_ENDS = frozenset(".,;:!?()、。，；：！？\n")
# What comes before the thing that no longer holds.
_BEFORE = (
    ", not ", " (not ", " and not ", " instead of ", " rather than ", " no longer ", " in place of ",
    " statt ", " anstatt ", " anstelle von ", ", nicht ", " nicht mehr ", " en vez de ", " en lugar de ", " ya no ",
    "而不是", "，不是", "，不再用", "，不再", "代替", "取代",
)  # fmt: skip
# What comes after it, in Japanese.
_AFTER = ("ではなく", "じゃなくて", "をやめて", "の代わりに")
_PARTICLES = frozenset("はをがにのも、。 ")
# What comes before that to which one goes back, and after it in Japanese.
_BACK_TO = (
    " back to ", " revert to ", " reverting to ", " return to ", " returning to ", " zurück zu ", " zurück auf ",
    " doch wieder ", " volvemos a ", " volver a ", " de vuelta a ", "改回", "换回", "恢复为", "恢复成", "回到",
)  # fmt: skip
_BACK_TO_AFTER = ("に戻す", "に戻し", "に戻る", "に戻り", "へ戻す")
_NOT_BACK = ("never ", " not ", "n't ", " no ", " nie ", " nicht ", " nunca ", "不要", "不再", "ない")
# A time or a reason that follows it is not part of it.
_TIME_OR_REASON = frozenset("since because as when after until from seit weil ab desde porque".split())
# What comes after a measure that no longer holds: "500 MB is still too small".
_TOO = (" too ", " not enough", " demasiado ", *(f" zu {how}" for how in (
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
# What a sentence has that chooses after all.
_CHOOSING = (
    " it is", " after all", " go for ", " go with ", " going with ", " instead", " switch to ", " we take ",
    " let's do ", " let's use ", " doch ", " lieber ", " mejor ", " al final ", "还是", "改成", "改用",
    "にします", "にしよう", "に変え",
)  # fmt: skip
# What stands in a correction of few words between the new value and the old one.
_BETWEEN_VALUES = (
    ", not ", " (not ", " instead of ", " rather than ", " statt ", " anstatt ", ", nicht ", " en vez de ",
    " en lugar de ",
)  # fmt: skip
_SHORT_CORRECTION_CHARACTERS = 120
_MOST_BESIDE_MATTER = 2  # telling words of the older statement, its verbs mostly, that a short correction leaves out
_VALUE_OPENINGS = frozenset(
    "on in at to via with by over through as auf am an im um mit über per als en con por vía".split()
)
_SCOPE_OPENINGS = ("for ", "of ", "in ", "on ", "at ", "für ", "bei ", "im ", "auf ", "von ", "para ", "en ", "de ")
_MIND_CHANGES = frozenset("doch lieber actually mejor".split())
_FILLERS = _MIND_CHANGES | frozenset("ok okay no nein sorry correction korrektur only nur just es dann also".split())
# A correction with one of these says what may be, or what was.
_UNSURE = frozenset(
    "can could may might maybe perhaps if would try unless was were had did never not don't "
    "kann könnte können vielleicht wenn falls würde wäre war waren nie puede quizás si era".split()
)
_JOINING = frozenset("and or but und oder aber sowie y o pero".split())
_REASONS = frozenset("because since weil denn porque".split())
_REASON_OPENINGS = _REASONS | frozenset("so as da damit para".split())  # after a comma
_CHOICE_WORDS = frozenset(
    "decided decide chose chosen choose entschieden entscheiden gewählt nehmen nutzen verwenden setzen elegimos "
    "decidimos usamos use uses".split()
)
_DAYS = frozenset(
    day[:_STEM_CHARACTERS].removesuffix("s")
    for day in "monday tuesday wednesday thursday friday saturday sunday montag dienstag mittwoch donnerstag freitag "
    "samstag sonntag lunes martes miércoles jueves viernes sábado domingo".split()
)
# "from A to B" replaces A only where something is changed.
_CHANGING = ("change", "switch", "move", "migrat", "raise", "lower", "increas", "reduc", "bump", "went ", "go ")
_SMALL_WORDS = PROSE_STOP_WORDS | frozenset(
    "we use used uses using take takes make makes keep keeps go goes put set have has get now also always must should "
    "please never new every per one instead rather longer since because "
    "der die das den dem ein eine einen und ist sind wird wir für von zu im in am um auf bei mit ab jetzt nicht mehr "
    "nehmen läuft bitte immer nie sondern statt "
    "el la los las un una de del y en es se por con para a al que no ya ahora usar usamos va van".split()
)


class _Correction(NamedTuple):
    """What a text says no longer holds (`replaced`), and the matter that it speaks of beside that. A retraction names
    the matter itself; `units` are those of numbers that hold now ("12 MB, not 8"); `measure` is what is replaced word
    for word, where that has a number and a unit ("every 5 seconds"); `found_wanting` a number and its unit of which it
    says that they are too small, too long and so on."""

    replaced: frozenset[str]
    topic: frozenset[str]
    is_retraction: bool = False
    units: frozenset[str] = frozenset()
    measure: str = ""
    found_wanting: tuple[str, str] | None = None


class _ShortCorrection(NamedTuple):
    """A sentence of few words that gives one thing another value: "Releases on Thursdays, not Tuesdays". `opening` is
    the word before the new value, `unit` that of numbers; `matter` may be empty where one changes one's mind."""

    matter: frozenset[str]
    value: frozenset[str]
    replaced: frozenset[str]
    opening: str = ""
    unit: str = ""
    changes_mind: bool = False


class WentBack(NamedTuple):
    """What holds again because a newer observation goes back to it, and what is given up for it."""

    revived: tuple[Observation, ...] = ()
    given_up: tuple[Observation, ...] = ()


class Amended(NamedTuple):
    """An older observation of which some lines no longer hold, and its text with a word about that on each."""

    older: Observation
    text: str


def kinds_to_compare(new: NewObservation | Observation) -> tuple[tuple[str, ...], int]:
    """The kinds of older observations that a new one may replace, and how many of them to look at; mostly none."""
    if new.kind == "change" and new.text.startswith(_EDIT):
        return (("change",), _EDITS_LOOKED_AT) if "\n- " in new.text else ((), 0)
    if new.kind in _STATEMENTS and new.source != "agent":
        changes = any(_corrections(new.text)) or goes_back(new) or any(_choosing(new.text))
        return (_STATEMENTS, _LOOKED_AT) if changes else ((), 0)
    return (), 0


def kinds_that_replace(kind: str) -> tuple[str, ...]:
    """The kinds of later observations that may replace one of some kind."""
    return _STATEMENTS if kind in _STATEMENTS else ("change",) if kind == "change" else ()


def superseded(new: NewObservation | Observation, older: Iterable[Observation]) -> list[Observation]:
    """Those of the older observations in whose place the new one answers from now on."""
    if new.kind == "change":
        return [row for row in older if new.text.startswith(_EDIT) and _is_undone(row, new)]
    if new.source == "agent":
        return []
    corrections, choosing = list(_corrections(new.text)), list(_choosing(new.text))
    said = _stems(new.text) if choosing else frozenset[str]()
    older = list(older)
    replaced = [
        row
        for row in older
        if any(_replaces(correction, row) for correction in corrections) or _takes_another(choosing, said, row)
    ]
    return replaced or _meant_in_short(new.text, older)


def _meant_in_short(text: str, older: Iterable[Observation]) -> list[Observation]:
    """The one statement that a correction of few words gives another value; none where several may be meant."""
    correction = _short_correction(text)
    if correction is None:
        return []
    own = [row for row in older if row.source != "agent" and not row.text.startswith(_HAPPENED)]
    if not correction.matter:  # then nothing else may speak of what is replaced
        own = [row for row in own if correction.replaced <= _stems(row.text)]
        return own if len(own) == 1 and _has_other_value(correction, own[0].text) else []
    meant = [row for row in own if _has_other_value(correction, row.text)]
    return meant if len(meant) == 1 else []


def _short_correction(text: str) -> _ShortCorrection | None:
    """What the first sentence of a text corrects in few words; reasons may follow it."""
    sentence = next((each.strip() for each in _sentences(text) if each.strip()), "")
    lowered = sentence.lower()
    found = [(at, marker) for marker in _BETWEEN_VALUES if (at := lowered.find(marker)) > 0]
    if not found or len(sentence) > _SHORT_CORRECTION_CHARACTERS or sentence.endswith(("?", "？")):
        return None
    at, marker = min(found)
    *openings, before = _clauses(lowered[:at]) or [""]
    after = lowered[at + len(marker) :]
    end = next((at for at, letter in enumerate(after) if letter in _CLAUSE_ENDS), len(after))
    is_scoped = after[end:].lstrip(",.;:!?) ").startswith(_SCOPE_OPENINGS)
    words = list(tokens(before))
    if is_scoped or not _UNSURE.isdisjoint(words) or any(_stems(each) - _FILLERS for each in openings):
        return None
    replaced = " ".join(_phrase(after[:end]))
    found_words = frozenset(words).union(*map(tokens, openings))
    return _with_number(words, replaced) or _with_word_for_word(words, replaced, found_words)


def _with_number(words: Sequence[str], replaced: str) -> _ShortCorrection | None:
    """A correction that gives a thing another number of the same unit: "Backups for 30 days instead of 90"."""
    numbers = frozenset(word for word in tokens(replaced) if word.isdecimal())
    measures = _measures(" ".join(words))
    if len(numbers) != 1 or len(measures) != 1:
        return None
    number, unit = measures[0]
    at = words.index(number)
    if {named for _, named in _measures(replaced)} - {unit}:
        return None
    matter = _stems(" ".join((*words[:at], *words[at + 2 :]))) - _FILLERS
    return _ShortCorrection(matter, frozenset((number,)), numbers, unit=unit) if matter else None


def _with_word_for_word(words: Sequence[str], replaced: str, said: frozenset[str]) -> _ShortCorrection | None:
    """A correction that gives a thing another name or day: "Releases on Thursdays, not Tuesdays"."""
    gone = _stems(replaced)
    openings = [at for at, word in enumerate(words[:-1]) if word in _VALUE_OPENINGS]
    at = openings[-1] + 1 if openings else len(words) - 1
    value = _stems(" ".join(words[at:])) - _FILLERS
    if not gone or not value or len(gone) > _LEAST_SHARED or any(map(str.isdecimal, gone)):
        return None
    matter = _stems(" ".join(words[:at])) - _FILLERS - _VALUE_OPENINGS
    changes_mind = not _MIND_CHANGES.isdisjoint(said)
    if not matter and not changes_mind:
        return None
    opening = words[at - 1] if openings else ""
    return _ShortCorrection(matter, value, gone, opening, changes_mind=changes_mind)


def _has_other_value(correction: _ShortCorrection, text: str) -> bool:
    """Whether a statement says little but that the matter of a correction has the value that is replaced."""
    words = _bare_statement(text)
    said = _stems(" ".join(words))
    named = correction.matter | correction.replaced
    if not words or not named <= said or correction.value & said or not _JOINING.isdisjoint(words):
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
    beside = frozenset[str]().union(*stems[:first]) - named
    if following or len(beside) > _MOST_BESIDE_MATTER:
        return False  # it says of what this holds, or more than that
    if not correction.matter:
        return not _CHOICE_WORDS.isdisjoint(words)
    is_same_form = bool(correction.opening) and first > 0 and words[first - 1] == correction.opening
    return bool(correction.unit) or is_same_form or (correction.replaced | correction.value) <= _DAYS


def _bare_statement(text: str) -> list[str]:
    """The words of a text of one sentence without its reasons; none where it states several things."""
    sentences = [each for each in _sentences(text) if each.strip()]
    if len(sentences) != 1 or len(text) > _MOST_CHARACTERS or text.rstrip().endswith(("?", "？")):
        return []
    first, *others = _clauses(sentences[0].lower()) or [""]
    if others and others[0].split()[0] not in _REASON_OPENINGS:
        return []
    words = first.split()
    end = next((at for at, word in enumerate(words) if at and word in _REASONS), len(words))
    return list(tokens(" ".join(words[:end])))


def _choosing(text: str) -> Iterator[frozenset[str]]:
    """The telling words of sentences that choose something; questions and what is denied choose nothing."""
    if len(text) > 4 * _MOST_CHARACTERS:
        return
    for sentence in _sentences(text):
        lowered = f" {sentence.lower().rstrip('.!。！ ')} "
        is_chosen = any(mark in lowered for mark in _CHOOSING) and not any(word in lowered for word in _NOT_BACK)
        if is_chosen and not sentence.rstrip().endswith(("?", "？")):
            yield _stems(sentence)


def _takes_another(choosing: Iterable[frozenset[str]], said: frozenset[str], older: Observation) -> bool:
    """Whether a sentence takes what a choice had offered as well, in a text that speaks of the same matter."""
    choice, offered, labels = older.text.partition(f"\n{OFFERED_AS_WELL}")
    if not offered or older.pinned_at is not None or older.text.count(DECIDED) > 1:
        return False  # of several choices in one, the others still hold
    matter = _stems(choice.replace(DECIDED, " "))
    for label in labels.partition("\n")[0].split("; "):
        named = _stems(label) - matter
        if named and said & matter and any(named <= sentence for sentence in choosing):
            return True
    return False


def goes_back(new: NewObservation | Observation) -> bool:
    """Whether an observation says that something holds again."""
    return new.kind in _STATEMENTS and new.source != "agent" and any(_returned(new.text))


def went_back(new: NewObservation, statements: Sequence[Observation]) -> WentBack:
    """What of the older statements, newest first and those among them that were replaced, holds again, and what has to
    go for that."""
    by_id: dict[str, Observation] = {row.id: row for row in statements}
    said = _stems(new.text)
    for returned in _returned(new.text):
        pairs = [(row, by) for row in statements if (by := by_id.get(row.superseded_by or "")) is not None]
        candidates = [(row, by) for row, by in pairs if _may_go(by) and _is_returned(returned, said, by, row)]
        # Where two replaced the like, the one is meant that speaks of the same matter, else the newest.
        chosen = max((by for _, by in candidates), key=lambda by: len(_stems(by.text) & said), default=None)
        if chosen is not None:
            return WentBack(tuple(row for row, by in candidates if by is chosen), (chosen,))
        alone = next((row for row in statements if _may_go(row) and _is_returned(returned, said, row)), None)
        if alone is not None:
            return WentBack((), (alone,))
    return WentBack()


def _may_go(row: Observation) -> bool:
    is_live = row.superseded_by is None and row.deleted_at is None and row.pinned_at is None
    return is_live and row.source != "agent" and not row.text.startswith(_HAPPENED)


def _is_returned(
    returned: frozenset[str], said: frozenset[str], newer: Observation, older: Observation | None = None
) -> bool:
    """Whether the newer of two statements had replaced what is named as holding again."""
    taken_back = [each.replaced for each in _corrections(newer.text)]
    if returned <= _stems(newer.text) - frozenset[str]().union(*taken_back):
        return False  # it says the same
    named = next((each for each in taken_back if each and each <= returned), frozenset[str]())
    if not named and older is not None and returned <= _stems(older.text):
        named = returned
    if not named or not all(map(str.isdecimal, named)):
        return bool(named)
    before = _stems(newer.text) | (_stems(older.text) if older is not None else frozenset())
    return any(not word.isdecimal() for word in said & before)  # a number alone may be of anything


def _returned(text: str) -> Iterator[frozenset[str]]:
    """What a text says one goes back to; questions and what is denied do not."""
    if len(text) > 4 * _MOST_CHARACTERS:
        return
    for sentence in _sentences(text):
        lowered = f" {sentence.lower()} "
        if sentence.rstrip().endswith(("?", "？")) or any(word in lowered for word in _NOT_BACK):
            continue
        phrases = [*_following(lowered, _BACK_TO, words=_REPLACED_WORDS), *_preceding(lowered, _BACK_TO_AFTER)]
        yield from filter(None, map(_stems, phrases))


def unamended(text: str, given_up: Iterable[Observation]) -> str:
    """A text without the word that some of its lines no longer hold, where what said so is given up."""
    for row in given_up:
        text = text.replace(amendment_of(row), "")
    return text


def amendment_of(new: NewObservation | Observation) -> str:
    """What is added to a text where a new observation takes it back."""
    said, _, _ = new.text.partition(_AMENDED)  # it may be taken back itself
    return f"{_AMENDED}{_shortened(said)})"


def may_amend(new: NewObservation | Observation) -> bool:
    """Whether an observation takes something back, so that others may quote it."""
    return bool(_taken_back_by(new))


def _taken_back_by(new: NewObservation | Observation) -> list[_Correction]:
    return list(_corrections(new.text)) if new.kind in _STATEMENTS and new.source != "agent" else []


def amended(new: NewObservation | Observation, older: Iterable[Observation]) -> list[Amended]:
    """Plans and other lists of which a new observation takes back single lines, and statements of which it takes back
    one clause: these say so from now on."""
    corrections = _taken_back_by(new)
    if not corrections:
        return []
    since = amendment_of(new)
    found = []
    for row in older:
        if row.pinned_at is not None or row.text.startswith(_HAPPENED) or len(row.text) > _LONGEST_LIST:
            continue  # what the user pinned changes only when the user says so
        lines = row.text.split("\n")
        if len(lines) >= _FEWEST_LIST_LINES:
            lines = [_with_word(line, since, corrections) for line in lines]
        elif row.source != "agent" and _AMENDED not in row.text and _has_clause(row.text, corrections):
            lines[-1] += since
        if (text := "\n".join(lines)) != row.text:
            found.append(Amended(row, text))
    return found


def _has_clause(text: str, corrections: Iterable[_Correction]) -> bool:
    """Whether one of several clauses of a statement is taken back."""
    if len(text) > _MOST_CHARACTERS or text.rstrip().endswith(("?", "？")):
        return False
    clauses = _clauses(text)
    return len(clauses) > 1 and any(_is_replaced(each, clause) for each in corrections for clause in clauses)


def _clauses(text: str) -> list[str]:
    """What stands between the commas and full stops of a text; a point inside a number or a name ends nothing."""
    pieces = [text]
    for end in (*_SENTENCE_ENDS, ", ", ": ", "，", "、"):
        pieces = [part for piece in pieces for part in piece.split(end)]
    return [piece for piece in pieces if piece.strip()]


def _with_word(line: str, since: str, corrections: Iterable[_Correction]) -> str:
    is_item = line.lstrip()[:1] in ("-", "*", "•") or line.lstrip()[:2].strip(".) ").isdecimal()
    if not is_item or _AMENDED in line or not any(_is_replaced(each, line) for each in corrections):
        return line
    return line + since


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_QUOTED else flat[: _MOST_QUOTED - 1].rstrip() + "…"


def _is_undone(older: Observation, new: NewObservation | Observation) -> bool:
    """Whether an edit takes out every line that an earlier one of the same file had put in."""
    if older.files != new.files or "\n… " in older.text or not older.text.startswith(_EDIT):
        return False
    added = {line[2:] for line in older.text.splitlines() if line.startswith("+ ")}
    removed = {line[2:] for line in new.text.splitlines() if line.startswith("- ")}
    return bool(added) and added <= removed


def _replaces(correction: _Correction, older: Observation) -> bool:
    if len(older.text) > _MOST_CHARACTERS or older.text.count("\n") >= _MOST_LINES:
        return False
    if older.source == "agent" or older.text.startswith(_HAPPENED):
        return False
    return _is_replaced(correction, older.text)


def _is_replaced(correction: _Correction, text: str) -> bool:
    """Whether a correction speaks of what a text says."""
    taken_back = frozenset[str]().union(*(each.replaced for each in _corrections(text)))
    said = _stems(text) - taken_back
    if correction.is_retraction:
        shared = correction.replaced & said
        return len(shared) >= _LEAST_SHARED and len(shared) >= _SHARE_OF_TOPIC * len(correction.replaced)
    if not correction.replaced <= said:
        return False
    topic = said - correction.replaced
    if correction.found_wanting:
        shared = frozenset(word for word in correction.topic & topic if not word.isdecimal())
        return bool(shared - {correction.found_wanting[1]}) and correction.found_wanting in _measures(text)
    numbers = {word for word in correction.topic if word.isdecimal()}
    if numbers and numbers <= topic:
        return False  # it speaks of the new value too
    shared = frozenset(word for word in correction.topic & topic if not word.isdecimal())
    if correction.units and correction.replaced <= {
        number for number, unit in _measures(text) if unit in correction.units
    }:
        return len(shared) > _LEAST_SHARED  # the same unit, and two words of the matter beside it
    if shared and correction.measure and f" {correction.measure} " in f" {' '.join(tokens(text))} ":
        return True  # nobody says the same number, unit and word before it of another thing that shares a word
    # Bigrams over the borders of words are shared by chance alone.
    share = _SHARE_OF_TOPIC if all(map(str.isascii, shared)) else _SHARE_OF_BIGRAMS
    if len(shared) >= _LEAST_SHARED and len(shared) > share * min(len(correction.topic), len(topic)):
        return True
    return bool(topic) and topic <= correction.topic  # it says nothing else


def _corrections(text: str) -> Iterator[_Correction]:
    """What a text takes back; questions take nothing back."""
    if len(text) > 4 * _MOST_CHARACTERS:
        return
    for sentence in _sentences(text):
        if sentence.rstrip().endswith(("?", "？")):
            continue
        lowered = f" {sentence.lower()} "
        topic_of = text if len(text) <= _WHOLE_CHARACTERS else sentence
        for phrase in _replaced(lowered):
            if replaced := _stems(phrase):
                is_number = all(map(str.isdecimal, replaced))
                now = _measures(topic_of) if is_number else ()
                units = frozenset(unit for number, unit in now if number not in replaced)
                measure = _whole_measure(phrase)
                yield _Correction(replaced, _stems(topic_of) - replaced, units=units, measure=measure)
        for number, unit in _too_much(lowered):
            replaced = frozenset((number,))
            yield _Correction(replaced, _stems(text) - replaced, found_wanting=(number, unit))
        for phrase in _following(lowered, _RETRACTIONS, words=2 * _REPLACED_WORDS):
            yield _Correction(_stems(phrase), frozenset(), is_retraction=True)


def _whole_measure(phrase: str) -> str:
    """The words of a phrase that is a number with its unit and a word beside them; empty for any other."""
    words = tokens(phrase)
    return " ".join(words) if len(words) >= _LEAST_MEASURE_WORDS and _measures(phrase) else ""


def _measures(text: str) -> list[tuple[str, str]]:
    """The numbers of a text, each with the word after it."""
    words = list(tokens(text))
    return [
        (number, _UNITS.get(stem := unit[:_STEM_CHARACTERS].removesuffix("s"), stem))
        for number, unit in pairwise(words)
        if number.isdecimal() and not unit.isdecimal() and unit not in _SMALL_WORDS
    ]


def _too_much(lowered: str) -> list[tuple[str, str]]:
    """The measure of which a sentence says that it is too small, too long and so on: the last one before that."""
    ends = [at for marker in _TOO if (at := lowered.find(marker)) > 0]
    return _measures(lowered[: min(ends)])[-1:] if ends else []


def _replaced(lowered: str) -> Iterator[str]:
    """The phrases of a sentence that name what no longer holds."""
    yield from _following(lowered, _BEFORE, words=_REPLACED_WORDS)
    yield from _preceding(lowered, _AFTER)
    if any(verb in lowered for verb in _CHANGING):
        for phrase in _following(lowered, (" from ",), words=2 * _REPLACED_WORDS):
            before, found, _ = phrase.partition(" to ")
            if found:
                yield before


def _preceding(lowered: str, markers: Iterable[str]) -> Iterator[str]:
    """What stands before each marker, back to a particle."""
    for marker in markers:
        before, found, _ = lowered.partition(marker)
        before = before.rstrip()  # many set a space between scripts
        if found:
            start = max((at for at, letter in enumerate(before) if letter in _PARTICLES), default=-1)
            yield before[start + 1 :][-_REPLACED_CHARACTERS:]


def _following(lowered: str, markers: Iterable[str], *, words: int) -> Iterator[str]:
    """What follows each marker, up to the end of its clause."""
    for marker in markers:
        _, found, after = lowered.partition(marker)
        if not found:
            continue
        end = next((at for at, letter in enumerate(after) if letter in _CLAUSE_ENDS), len(after))
        clause = after[:end]
        yield clause[:_REPLACED_CHARACTERS] if not marker.isascii() else " ".join(_phrase(clause)[:words])


def _phrase(clause: str) -> list[str]:
    """The words of a clause up to one that begins a time or a reason."""
    words = clause.split()
    return words[: next((at for at, word in enumerate(words) if at and word in _TIME_OR_REASON), len(words))]


def _sentences(text: str) -> list[str]:
    """The sentences of a text, each with what ends it."""
    pieces = [text]
    for end in _SENTENCE_ENDS:
        pieces = [part for piece in pieces for part in _split_after(piece, end)]
    return pieces


def _split_after(text: str, end: str) -> list[str]:
    *heads, last = text.split(end)
    return [head + end for head in heads] + [last]


def _stems(text: str) -> frozenset[str]:
    """The telling words of a text, without their endings; bigrams where it has no spaces between words."""
    found: set[str] = set()
    for token in tokens(text):
        for word in unspaced_words(token) or (token,):
            if word not in _SMALL_WORDS and not all("\u3040" <= letter <= "\u309f" for letter in word):
                found.add(word if word.isdecimal() else word[:_STEM_CHARACTERS].removesuffix("s"))
    return frozenset(found)
