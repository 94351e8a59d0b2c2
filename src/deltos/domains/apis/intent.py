"""What a question wants done and what an operation does: read, create, update or delete. Knows words, not storage."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from deltos.domains.apis.prose import is_parameter_segment, path_segments
from deltos.text.identifiers import split_identifier
from deltos.text.words import TOKEN, stemmer

if TYPE_CHECKING:
    from deltos.store.apis import UnitRow

READ, CREATE, UPDATE, DELETE = "read", "create", "update", "delete"
_WORDS = {
    READ: """get list show view fetch read find search look lookup retrieve describe download export check count see
        browse display inspect query return load obtain enumerate compare preview watch poll verify validate test sync
        information details history status state lookup filter explain tell give estimate calculate""",
    CREATE: """create add new make insert register generate open submit start post spin rent buy purchase upload attach
        write send text publish deploy ship roll schedule plan invite store define subscribe mount draft record found
        propose reserve bill charge pay ask share comment answer reply launch run trigger build issue book order sign
        enter join assign label star copy clone duplicate fork begin provision install import request dial call ring
        notify establish initiate grant report tag post simulate fake hand execute fire apply react thumbs drain take
        confirm capture onboard enroll bookmark follow connect link pin forward sell expose protect commit collect""",
    UPDATE: """update patch edit modify change set replace alter adjust rename move resize scale grow shrink tune
        restrict mark mute unmute switch reorder fix correct configure enable disable close reopen archive
        unarchive lock unlock
        merge restore upgrade raise lower point promote demote rotate reset extend renew transfer swap overwrite reboot
        restart pause resume hold suspend activate deactivate increase decrease put turn power boot rebuild redirect
        stop end finish complete approve reject accept customize amend toggle limit""",
    DELETE: """delete remove destroy drop erase wipe throw discard forget kill kick revoke invalidate release detach
        disconnect unsubscribe unassign clear purge cancel void abort terminate retract ban leave uninstall unlink unset
        unpin unstar unfollow withdraw dismiss expel evict quit exit undo unregister deregister trash delist""",
}
# Two words that mean something else together than the first alone.
_PHRASES = {
    READ: "look up|look at|show me|give me|tell me|is there|log of|take a",
    CREATE: "set up|sign up|spin up|put into|put onto|put on|hook up|send out|give a|hand over",
    UPDATE: "turn on|turn off|power on|power off|shut down|switch on|switch off|change the",
    DELETE: "get rid|throw away|throw out|take down|take off|take away|take back|take out|call off|kick out|opt out"
    "|hang up|stop sharing|no longer|cut off|give in|strip of",
}
_FILLERS = frozenset(
    """i we you my our a an the please want need would like to can could should let me us how do does did it be able
    somebody someone just now then bot one of another""".split()
)
_ASKS = frozenset("what which who whose whom where when why is are was were has have had how if whether".split())
# Said of nothing else: they count wherever they stand in a question.
_CERTAIN = {
    CREATE: frozenset("create add upload send publish deploy register".split()),
    UPDATE: frozenset("update edit modify rename resize".split()),
    DELETE: frozenset("delete remove destroy erase wipe revoke quit".split()),
}
_OF_METHOD = {
    **dict.fromkeys(("GET", "HEAD", "OPTIONS", "QUERY", "SUBSCRIPTION", "RECEIVE"), READ),
    **dict.fromkeys(("PUT", "PATCH"), UPDATE),
    "DELETE": DELETE,
}


def wanted_of(question: str) -> str:
    """What a question wants done; empty for one that names no action."""
    words = [word.lower() for word in TOKEN.findall(question)]
    rest = [word for word in words if word not in _FILLERS] or words
    if not rest:
        return READ
    if len(words) > 1 and words[0] in _ASKS and not (words[0] == "how" and words[1] in ("to", "do", "can", "should")):
        return READ
    spoken = " ".join(words)
    for intent, phrases in _phrases().items():
        if any(spoken.startswith(f"{phrase} ") for phrase in phrases):
            return intent
    if intent := _exact().get(rest[0], ""):
        return intent
    certain = (intent for word in rest for intent, known in _CERTAIN.items() if word in known)
    return next(certain, "")


@lru_cache(maxsize=20_000)  # keys come from descriptions: there is no end of them
def done_by(method: str, path: str, title: str) -> str:
    """What an operation does, by its method, the verb its path ends with and the verb its title begins with."""
    if intent := _OF_METHOD.get(method):
        return intent
    segments = path_segments(path)
    last = segments[-1] if segments else ""
    if last and is_parameter_segment(last):
        return UPDATE
    said = [part.lower() for part in split_identifier(last)[:1]] + [word.lower() for word in TOKEN.findall(title)[:1]]
    stems = stemmer("porter").stemWords(said)
    for stem in stems:
        if intent := _stemmed().get(stem, ""):
            return intent
    return CREATE


def intent_of(row: UnitRow) -> str:
    """What the operation in a unit does; nothing for other units."""
    return done_by(row.method, row.path, row.title) if row.kind == "operation" else ""


@cache
def _exact() -> dict[str, str]:
    return {word: intent for intent, words in _WORDS.items() for word in words.split()}


@cache
def _stemmed() -> dict[str, str]:
    stem = stemmer("porter").stemWord
    known: dict[str, str] = {}
    for word, intent in _exact().items():
        known.setdefault(stem(word), intent)
    return known


@cache
def _phrases() -> dict[str, tuple[str, ...]]:
    return {intent: tuple(phrases.split("|")) for intent, phrases in _PHRASES.items()}
