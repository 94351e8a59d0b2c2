"""Whether what a user or an agent said is a decision, a standing preference, or neither; with the probability and
the sentence that carries it. Judges by the form of sentences: word classes, position, context. The classes of five
languages are in kind_words.json, the learned weights in kind_weights.json; pure Python and linear: hooks run it."""

import re
from itertools import pairwise
from math import exp
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

DECISION = "decision"
PREFERENCE = "preference"
NOTE = "note"  # may be one of the two, too unsure to be shown unasked
NEITHER = ""

# Longer texts are pasted material for the most part: a person's own words stand at the start or at the end.
_START_CHARACTERS = 12_000
_END_CHARACTERS = 4_000
_START_SENTENCES = 30
_END_SENTENCES = 15
_LANGUAGE_CHARACTERS = 2_000
_QUOTED_WORDS = 4  # a shorter quotation is a name
_FEW_SENTENCES = 4  # in a text of so many, every sentence is the context of the others
_CJK_PER_WORD = 2

_SPACELESS_CHARACTER = r"[\u3040-\u30ff\u3400-\u9fff]"
_GERMAN_MONTHS = ("jan", "feb", "mär", "apr", "mai", "jun", "jul", "aug", "sep", "okt", "nov", "dez")
_SENTENCE_END = r"[.!?。！？…]"
_TOKEN = r"[\w$'+#/%-]+|[^\w\s]"  # noqa: S105 - a pattern
_QUOTE_MARK = "$QUOTE"
_CLOSING = {'"': '"', "“": "”", "„": "“", "«": "»", "「": "」", "『": "』"}
_LOG_STARTS = (
    "at ", 'file "', "[19", "[20", "e (", "w (", "i (", "traceback", "caused by", "warning:", "error:", "error[",
    "fatal:", "panic:", "goroutine ", "level=", ">", "|", "#", "npm err", "build completed", "completed 4",
    "completed 5",
)  # fmt: skip
_ERROR_NAMES = ("error:", "exception:", "warning:", "violation", "deadlocked")
_SPACELESS = ("zh", "ja")
# Small words that tell a language; what two of them share tells nothing and is left out.
_COMMON = {
    "en": frozenset(
        "the a an is are of to in on for and it that this with we i you not be at by from or but so if do "
        "don't it's can as only when".split()
    ),
    "de": frozenset(
        "der die das und ist nicht ich wir du ein eine einen mit auf für von zu im den dem es sich auch bitte bei als "
        "noch nur kein keine aber oder wenn wird sind hab habe".split()
    ),
    "es": frozenset(
        "el la los las de que y en un una es se por con para lo al del está son nos como más pero si ya su le te "
        "hay vale".split()
    ),
}  # fmt: skip
_LETTERS = {"de": frozenset("äöüßÄÖÜ"), "es": frozenset("áéíóúñ¿¡")}
_UNCLEAN = frozenset({"q", "ask", "hedge", "undecided", "oneoff", "bug", "i_did"})
_NOT_PLAIN = frozenset({"q", "hedge", "undecided"})
_SAID_OF_OTHERS = frozenset({"ask", "attrib", "oneoff"})
_FORM_CHARACTERS = 400
_LONGEST_OPENING = 8  # words
_NOT_PLURAL = frozenset(
    "is was does has this us it's that's let's as yes its his less unless always perhaps sometimes besides thanks "
    "thus".split()
)
_DETERMINERS = frozenset("the a an this that these those it its my our your their his her there".split())
_ARTICLES = frozenset("the der die das el la los las".split())
_SPANISH_WE = ("amos", "emos", "imos")
_CONDITIONS = ("if", "wenn", "falls", "si")
_TECHNOLOGY = "tech"
_SUBJECTS = frozenset("i we you he it det dem tech name s not all wh do1 code".split())
_VERBS = frozenset("be was have do can must will ed do1".split())
# What the endings of words that belong to no closed class tell, longer endings first.
_ENDINGS = {
    "en": {"ing": "ing", "ly": "ly", "ed": "ed", "s": "s"},
    "de": {"eln": "infinitive", "ern": "infinitive", "en": "infinitive", "t": "ed"},
    "es": {"amos": "we", "emos": "we", "imos": "we", "ado": "ed", "ada": "ed", "ido": "ed", "ida": "ed"}
    | {"ar": "infinitive", "er": "infinitive", "ir": "infinitive", "s": "s"},
}
_OPEN_CLASSES = frozenset("x name code ed ing s ly tech number infinitive".split())
_CLAUSE_MARKS = "，。、；："
_MOST_CLAUSES = 4
_CJK_ENDS = "。！!.… "
_CJK_CONDITIONS = ("如果", "要是", "もし")
# What of the sentences around is worth knowing.
_CONTEXT = frozenset(
    "q ask hedge undecided oneoff attrib task bug ack i_did done past isg reason contrast p_again p_always p_scope "
    "p_rule p_enforce p_neg d_act d_state d_we fact advice system p_when p_like we s_work s_ui".split()
)


class Judgement(NamedTuple):
    """What a text is, how sure it is that it is no ordinary talk (0 to 1), and the sentence that says it."""

    kind: str
    score: float
    sentence: str


class Sentence(NamedTuple):
    """A sentence with everything that the weights know about. `form`: the kind that it plainly has by how it begins."""

    text: str
    features: frozenset[str]
    form: str = NEITHER


class _Lexicon(NamedTuple):
    """The word classes of a language: classes by phrase, and of phrases with several words the most words by the
    first."""

    classes: "Mapping[str, tuple[str, ...]]"
    longest: "Mapping[str, int]"
    tags: "Mapping[str, str]"  # of the words of closed classes, and of names of technologies


class _Model(NamedTuple):
    """The data files as they are; the words of a language are put in order when a text is in it."""

    words: "Mapping[str, Mapping[str, Sequence[str]]]"
    tags: "Mapping[str, Mapping[str, Sequence[str]]]"
    technologies: "Sequence[str]"
    forms: "Mapping[str, Mapping[str, Any]]"  # how plain rules and decisions begin and end
    lexicons: dict[str, _Lexicon]
    constant: "Sequence[float]"
    places: "Mapping[str, int]"  # of features among the weights
    weights: "Sequence[int]"  # thousandths: for a decision, for a preference, feature by feature
    pairs: "Sequence[tuple[str, str, float, float]]"  # weights of two features in one sentence
    sure: float
    unsure: float

    def lexicon(self, language: str) -> _Lexicon:
        """The word classes of a language."""
        if language not in self.lexicons:
            tags = dict.fromkeys(self.technologies, _TECHNOLOGY)
            tags |= {word: tag for tag, words in self.tags.get(language, {}).items() for word in words}
            self.lexicons[language] = _lexicon(self.words[language], tags)
        return self.lexicons[language]


_loaded: list[_Model] = []


def judge(text: str, *, is_agent: bool = False) -> Judgement:
    """What a prompt, or the answer of an agent, is."""
    model = _model()
    best = Judgement(NEITHER, 0.0, "")
    for sentence in sentences_of(text, is_agent=is_agent):
        decision, preference = _probabilities(model, sentence.features)
        kind, score = DECISION if decision >= preference else PREFERENCE, decision + preference
        if sentence.form and score < model.sure:
            # Weights learned from texts that are hard to tell apart think little of the plainest ones.
            kind, score = sentence.form, model.sure
        if score > best.score:
            best = Judgement(kind, score, sentence.text)
    if best.score >= model.sure:
        return best
    return best._replace(kind=NOTE if best.score >= model.unsure else NEITHER)


def said_in_short(text: str, characters: int, *, is_agent: bool = False) -> str:
    """The sentences of a decision or a rule that carry it, as many as there is room for, in their order: the likeliest
    first of all."""
    model = _model()
    scores = {s.text: sum(_probabilities(model, s.features)) for s in sentences_of(text, is_agent=is_agent)}
    chosen: set[str] = set()
    room = characters
    for sentence in sorted(scores, key=scores.__getitem__, reverse=True):
        if not chosen or len(sentence) < room:
            chosen.add(sentence)
            room -= len(sentence) + 1
    return " ".join(sentence for sentence in scores if sentence in chosen) or text


def count_words(text: str) -> int:
    """How many words a text has; scripts that write no spaces have one for every two characters."""
    if text.isascii():
        return len(text.split())
    spaced, spaceless = re.subn(_SPACELESS_CHARACTER, " ", text)
    return len(spaced.split()) + -(-spaceless // _CJK_PER_WORD)


def sentences_of(text: str, *, is_agent: bool) -> list[Sentence]:
    """The sentences of a text in its writer's own words, with their features."""
    if len(text) > _START_CHARACTERS + _END_CHARACTERS:
        text = f"{text[:_START_CHARACTERS]}\n{text[-_END_CHARACTERS:]}"
    own, shown, has_foreign = _own_sentences(text)
    if not own:
        return []
    language = language_of(" ".join(own)[:_LANGUAGE_CHARACTERS])
    if len(own) > _START_SENTENCES + _END_SENTENCES:
        own, shown = (all_[:_START_SENTENCES] + all_[-_END_SENTENCES:] for all_ in (own, shown))
    lexicon = _model().lexicon(language)
    if language in _SPACELESS:
        lexicon = _occurring(lexicon, own)
    alone = [_features(sentence, language, lexicon) for sentence in own]
    # "Never delete the original" among many sentences says how one task is to be done.
    is_task = is_agent or len(own) > _FEW_SENTENCES
    around = {"assistant"} if is_agent else set()
    around |= {"stripped"} if has_foreign else set()
    around.add("n1" if len(own) == 1 else "n2" if len(own) == 2 else "n34" if len(own) <= _FEW_SENTENCES else "n5")
    return [
        Sentence(
            sentence,
            frozenset(alone[at] | around | _position(at, len(own)) | _context(alone, at)),
            NEITHER if is_task or alone[at] & _NOT_PLAIN else _plain_form(own[at], alone[at]),
        )
        for at, sentence in enumerate(shown)
    ]


def _plain_form(sentence: str, features: "set[str]") -> str:
    """The kind of a sentence that begins, or ends, as only rules and decisions do: "From now on use …"."""
    forms = _model().forms
    # A few words do not always tell their language, but how they begin does.
    for row in () if sentence.isascii() else (row for each in _SPACELESS for row in forms[each]["begin"]):
        if sentence.startswith(tuple(row["phrases"])) and features.isdisjoint(row["unless"]):
            return str(row["kind"])
    found = (_form_in(sentence, features, forms[each]) for each in _COMMON)
    return next(filter(None, found), NEITHER)


def _form_in(sentence: str, features: "set[str]", forms: "Mapping[str, Any]") -> str:
    """The kind that a sentence plainly has in one language."""
    tokens = [token.lower() for token in re.findall(_TOKEN, sentence[:_FORM_CHARACTERS].replace("’", "'"))]
    while tokens and tokens[0] in forms["lead"]:
        tokens = tokens[1:]
    for row in forms["begin"]:
        if features.isdisjoint(row.get("unless", ())) and _begins_so(tokens, row, forms["soft"]):
            return str(row["kind"])
    spoken = " ".join(tokens).rstrip(" .!")
    for row in forms["end"] if features.isdisjoint(_SAID_OF_OTHERS) else ():
        if tokens and tokens[0] in row["first"] and spoken.endswith(tuple(f" {phrase}" for phrase in row["phrases"])):
            return str(row["kind"])
    return NEITHER


def _begins_so(tokens: "Sequence[str]", row: "Mapping[str, Any]", soft: "Sequence[str]") -> bool:
    spoken = f"{' '.join(tokens[:_LONGEST_OPENING])} "
    for phrase in row["phrases"]:
        if spoken.startswith(f"{phrase} "):
            rest = [token for token in tokens[phrase.count(" ") + 1 :][:_LONGEST_OPENING] if token not in soft]
            if rest and rest[0] not in row.get("not_then", ()) and rest[0] in row.get("then", rest):
                return True
    return False


def language_of(text: str) -> str:
    """The language of a text among those with a lexicon; English when nothing tells."""
    wide = [] if text.isascii() else [character for character in text if character > "\u3000"]
    kana = sum("\u3040" <= character <= "\u30ff" for character in wide)
    han = sum("\u4e00" <= character <= "\u9fff" for character in wide)
    if kana + han > 8 or (kana + han >= 2 and 12 * (kana + han) >= len(text)):
        return "ja" if kana * 5 > han else "zh"
    words = text.lower().replace(",", " ").replace(".", " ").split()
    scores = {language: float(sum(word in common for word in words)) for language, common in _COMMON.items()}
    for language, letters in _LETTERS.items():
        scores[language] += 0.0 if text.isascii() else 0.7 * sum(map(letters.__contains__, text))
    return max(scores, key=lambda language: scores[language])


def prose_lines(text: str) -> tuple[list[str], bool]:
    """The lines of a text outside of code fences, without the marks of lists; and whether it has such code."""
    lines: list[str] = []
    in_fence = has_fence = False
    for line in text.split("\n"):
        bare = line.strip()
        if bare.startswith("```"):
            in_fence, has_fence = not in_fence, True
        elif bare and not in_fence:
            lines.append(bare.lstrip("-* \t"))
    return lines, has_fence


def _own_sentences(text: str) -> tuple[list[str], list[str], bool]:
    """The sentences that the writer wrote, with marks for quotations and as they are; no code, logs or tables, and
    whether there were any of these."""
    marked: list[str] = []
    quotations: list[str] = []
    lines, has_foreign = prose_lines(text)
    for line in lines:
        if _is_log(line.lower()):
            has_foreign = True
            continue
        unquoted, quoted = _without_quotations(line)
        quotations += quoted
        marked += split_sentences(unquoted)
    following = iter(quotations)
    return marked, [_with_quotations(sentence, following) for sentence in marked], has_foreign or bool(quotations)


def _is_log(line: str) -> bool:
    first = line.partition(" ")[0]
    return (
        line.startswith(_LOG_STARTS)
        or (len(first) > 6 and first.endswith(_ERROR_NAMES))
        or (line.startswith("<") and line.endswith(">"))
        or (first.count("/") > 0 and ":in" in line)
    )


def _without_quotations(line: str) -> tuple[str, list[str]]:
    """A line with its quotations replaced by a mark, and these; short ones are names and stay."""
    if not any(opening in line for opening in _CLOSING):
        return line, []
    kept: list[str] = []
    quotations: list[str] = []
    unclosed: set[str] = set()  # looked for once: else a row of opening marks would cost the square of its length
    at = start = 0
    while at < len(line):
        closing = _CLOSING.get(line[at], "")
        end = line.find(closing, at + 1) if closing and closing not in unclosed else -1
        if end < 0:
            unclosed.add(closing)
            at += 1
            continue
        inner = line[at + 1 : end]
        if count_words(inner) >= _QUOTED_WORDS:
            kept += [line[start:at], f" {_QUOTE_MARK} "]
            quotations.append(line[at : end + 1])
        else:
            kept += [line[start:at], f" {inner} "]
        at = start = end + 1
    return "".join([*kept, line[start:]]), quotations


def _with_quotations(sentence: str, following: "Iterator[str]") -> str:
    """A sentence with the next quotations in the places of its marks."""
    first, *others = (part.strip() for part in sentence.split(_QUOTE_MARK))
    return " ".join([first, *(f"{next(following, _QUOTE_MARK)} {other}" for other in others)]).strip()


def split_sentences(line: str) -> list[str]:
    """The sentences of a line."""
    sentences: list[str] = []
    start = 0
    for found in re.finditer(_SENTENCE_END, line):
        end = found.end()
        if _ends_sentence(line, start, found.start()):
            sentences.append(line[start:end].strip())
            start = end
    sentences.append(line[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _ends_sentence(line: str, start: int, at: int) -> bool:
    mark, after = line[at], line[at + 1 : at + 2]
    if mark in "。！？":
        return True
    if after and after not in ' ")”':
        return False
    if mark == "…":
        return after == " "
    is_list_number = line[at - 1 : at].isdigit() and at - start < 4
    abbreviated = line[max(0, at - 3) : at].lower() in ("e.g", "i.e", "z.b", " ca")
    is_date = line[at - 1 : at].isdigit() and line[at + 2 : at + 5].lower() in _GERMAN_MONTHS
    return not (mark == "." and (at - start < 2 or is_list_number or abbreviated or is_date))


def _features(sentence: str, language: str, lexicon: _Lexicon) -> set[str]:
    """What can be said of a sentence by itself."""
    if language in _SPACELESS:
        features = _features_without_spaces(sentence, language, lexicon)
    else:
        features = _features_of_words(sentence, language, lexicon)
    bare = sentence.rstrip(' )"”')
    words = count_words(sentence)
    facts = {
        "q": bare.endswith(("?", "？")) or "¿" in sentence,
        "excl": bare.endswith(("!", "！")),
        "dots": bare.endswith("…"),
        "num": re.search(r"\d", sentence) is not None,
        "code": "`" in sentence or "()" in sentence or "_" in sentence,
        "head": _has_heading(sentence),
        "noaux": "aux" not in features,
        f"len{sum(words > most for most in (3, 6, 12, 22))}": True,
    }
    features |= {name for name, holds in facts.items() if holds}
    features.discard("aux")
    if not features & _UNCLEAN:
        features.add("clean")
    return features


def _features_without_spaces(sentence: str, language: str, lexicon: _Lexicon) -> set[str]:
    marked = f"^{sentence.lower()}$"
    features = {name for phrase, names in lexicon.classes.items() if phrase in marked for name in names}
    features |= {f"{language}:{pair}" for pair in map("".join, pairwise(marked)) if not pair.isascii()}
    features |= {"comma"} if any(mark in sentence for mark in "，、,") else set()
    features.add(f"clauses{min(_MOST_CLAUSES, 1 + sum(map(sentence.count, _CLAUSE_MARKS)))}")
    named = sum(token in lexicon.tags for token in re.findall(_TOKEN, sentence.lower()))
    features |= {"tech"} if named else set()
    features |= {"tech2"} if named > 1 else set()
    features |= {f"{language}:{sentence.lower().rstrip(_CJK_ENDS)[-length:]}$" for length in (2, 3)}
    features |= {"proper"} if any(character.isascii() and character.isalpha() for character in sentence) else set()
    return features | ({"if1"} if sentence.startswith(_CJK_CONDITIONS) else set())


def _features_of_words(sentence: str, language: str, lexicon: _Lexicon) -> set[str]:
    spoken = sentence.replace("’", "'").replace(_QUOTE_MARK, "$quote")
    written: list[str] = re.findall(_TOKEN, spoken)
    tokens = ["$num" if token[0].isdigit() else token.lower() for token in written]
    features = _classes_of(["^", *tokens, "$"], lexicon) | _form(written, language, lexicon.tags)
    features |= {f"{language}:{token}" for token in tokens if token[0].isalpha()}
    if not tokens:
        return features
    features.add(f"{language}:^{tokens[0]}")
    later = spoken.split()[1:]
    facts = {
        "comma": "," in tokens,
        "det1": tokens[0] in _ARTICLES,
        "if1": tokens[0] in _CONDITIONS,
        # Every German noun is written like a name.
        "proper": language != "de" and any(_is_name(word) for word in later),
        "we": language == "es" and any(token.endswith(_SPANISH_WE) for token in tokens),
    }
    if language == "en":
        facts |= _english_forms(tokens)
    return features | {name for name, holds in facts.items() if holds}


def _form(tokens: "Sequence[str]", language: str, tags: "Mapping[str, str]") -> set[str]:
    """Who does what in which mood, and with which kinds of words a sentence begins and ends."""
    kinds = [_tag(token, language, tags, is_first=at == 0) for at, token in enumerate(tokens)]
    spoken = _closed_words(tokens, kinds)
    while kinds and kinds[-1] in (".", "!"):
        kinds.pop()
    row = ["^", *kinds, "$"]
    subject = next((kind for kind in kinds if kind in _SUBJECTS), "none")
    verb = next((kind for kind in kinds if kind in _VERBS), "none")
    named = kinds.count(_TECHNOLOGY)
    return {
        *(f"/{kind}" for kind in kinds),
        *(f"/{' '.join(row[:length])}" for length in (2, 3, 4)),
        *(f"/{' '.join(row[-length:])}" for length in (2, 3)),
        *(f"/{language} {' '.join(pair)}" for pair in pairwise(spoken)),
        f"/subject {subject}",
        f"/verb {verb}",
        f"/subject {subject} verb {verb}",
        *(("tech",) if named else ()),
        *(("tech2",) if named > 1 else ()),
    }


def _closed_words(tokens: "Sequence[str]", kinds: "Sequence[str]") -> "list[str]":
    """A sentence as its small words in their order; what belongs to an open class stands for its class."""
    spoken = (kind if kind in _OPEN_CLASSES else token.lower() for token, kind in zip(tokens, kinds, strict=True))
    return ["^", *spoken, "$"]


def _tag(token: str, language: str, tags: "Mapping[str, str]", *, is_first: bool) -> str:
    """The class of a word that belongs to a closed one; else how it is written."""
    lower, initial = token.lower(), token[0]
    if known := tags.get(lower):
        return known
    if not initial.isalnum():
        return initial if initial in ",;:?!." else "code" if initial == "`" else "mark"
    if initial.isdigit():
        return "number"
    if "_" in token or "/" in token or token[1:] != lower[1:]:
        return "code"
    if token != lower and not is_first and language != "de":
        return "name"
    endings = _ENDINGS[language].items()
    return next((tag for ending, tag in endings if lower.endswith(ending) and len(lower) > len(ending) + 2), "x")


def _english_forms(tokens: "Sequence[str]") -> dict[str, bool]:
    """A plural without article at the start is the subject of a rule, mostly."""
    second = tokens[1] if len(tokens) > 1 else ""
    return {
        "plural1": _is_plural(tokens[0]),
        "plural2": _is_plural(second) and tokens[0] not in _DETERMINERS and not tokens[0].endswith("s"),
        "ed": any(token.endswith("ed") and len(token) > 4 for token in tokens[:6]),
        "ing": any(token.endswith("ing") for token in tokens[:3]),
    }


def _is_plural(word: str) -> bool:
    return word.endswith("s") and len(word) > 3 and word not in _NOT_PLURAL and "'" not in word


def _is_name(word: str) -> bool:
    """Whether a word has a capital or a digit, as names of products have."""
    if not word[:1].isalpha() or word == "I" or word.startswith("I'"):
        return False
    return word != word.lower() or re.search(r"\d", word) is not None


def _classes_of(tokens: "Sequence[str]", lexicon: _Lexicon) -> set[str]:
    """The classes of all phrases in a row of tokens."""
    found: set[str] = set()
    for at, token in enumerate(tokens):
        found.update(lexicon.classes.get(token, ()))
        for words in range(2, lexicon.longest.get(token, 1) + 1):
            found.update(lexicon.classes.get(" ".join(tokens[at : at + words]), ()))
    return found


def _has_heading(sentence: str) -> bool:
    """Whether it begins with a few words and a colon."""
    places = [place for place in (sentence.find(": ", 0, 40), sentence.find("：", 0, 40)) if place > 0]
    return bool(places) and min(places) < 30 and count_words(sentence[: min(places)]) <= 4


def _position(at: int, count: int) -> set[str]:
    if count == 1:
        return set()
    return ({"first"} if at == 0 else set()) | ({"last"} if at == count - 1 else set())


def _context(alone: "Sequence[set[str]]", at: int) -> set[str]:
    """What the other sentences have, or only the neighbours in a long text."""
    reach = len(alone) if len(alone) <= _FEW_SENTENCES else 1
    near: Iterable[int] = range(max(0, at - reach), min(len(alone), at + reach + 1))
    others = set().union(*(alone[place] & _CONTEXT for place in near if place != at))
    return {f"~{name}" for name in others}


def _probabilities(model: _Model, features: "frozenset[str]") -> tuple[float, float]:
    decision, preference = model.constant
    for name in features & model.places.keys():
        place = 2 * model.places[name]
        decision += model.weights[place] / 1000
        preference += model.weights[place + 1] / 1000
    for one, other, for_decision, for_preference in model.pairs:
        if one in features and other in features:
            decision += for_decision
            preference += for_preference
    top = max(decision, preference, 0.0)
    parts = exp(decision - top), exp(preference - top), exp(-top)
    return parts[0] / sum(parts), parts[1] / sum(parts)


def _occurring(lexicon: _Lexicon, sentences: "Sequence[str]") -> _Lexicon:
    """A lexicon without the phrases that no sentence has."""
    marked = "".join(f"^{sentence.lower()}$" for sentence in sentences)
    return lexicon._replace(classes={phrase: names for phrase, names in lexicon.classes.items() if phrase in marked})


def _model() -> _Model:
    if not _loaded:
        import json  # deferred: hooks that keep no text never need it
        from pathlib import Path

        words, learned = (
            json.loads(Path(__file__).with_name(name).read_text("utf-8"))
            for name in ("kind_words.json", "kind_weights.json")
        )
        # One string and one list of whole numbers are read in a third of the time that a mapping takes.
        names = learned.pop("names").split("\n")
        places = dict(zip(names, range(len(names)), strict=True))
        described = (words["classes"], words["tags"], words["technologies"], words["forms"])
        _loaded.append(_Model(*described, {}, places=places, **learned))
    return _loaded[0]


def _lexicon(classes: "Mapping[str, Sequence[str]]", tags: "Mapping[str, str]") -> _Lexicon:
    by_phrase: dict[str, tuple[str, ...]] = {}
    longest: dict[str, int] = {}
    for name, phrases in classes.items():
        for phrase in phrases:
            by_phrase[phrase] = (*by_phrase.get(phrase, ()), name)
            words = phrase.split()
            longest[words[0]] = max(longest.get(words[0], 1), len(words))
    return _Lexicon(by_phrase, longest, tags)
