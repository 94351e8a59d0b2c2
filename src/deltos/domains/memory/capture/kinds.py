"""Classifies a text of a user or an agent as a decision, a lasting preference, or neither, with a probability and the
deciding sentence.

A linear model over the form of sentences: word classes, position, context. The word classes of five languages are in
kind_words.json, the learned weights in kind_weights.json. Pure Python and linear time, because hooks run it.
"""

import re
from itertools import pairwise
from math import exp
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

DECISION = "decision"
PREFERENCE = "preference"
NOTE = "note"  # may be a decision or a preference, but too uncertain to be shown without a query
NEITHER = ""

# Longer texts are mostly pasted material: the user's own words are at the start or the end.
_START_CHARACTERS = 12_000
_END_CHARACTERS = 4_000
_START_SENTENCES = 30
_END_SENTENCES = 15
_LANGUAGE_CHARACTERS = 2_000
_QUOTED_WORDS = 4  # a shorter quotation is a name
_MAX_SENTENCES_AS_CONTEXT = 4  # in texts up to this length, every sentence is context of the others
_CJK_PER_WORD = 2

_SPACELESS_CHARACTER = r"[\u3040-\u30ff\u3400-\u9fff]"
_GERMAN_MONTHS = ("jan", "feb", "mär", "apr", "mai", "jun", "jul", "aug", "sep", "okt", "nov", "dez")
_SENTENCE_END = r"[.!?。！？…]"
_TOKEN = r"[\w$'+#/%-]+|[^\w\s]"  # noqa: S105 - a pattern
_QUOTE_MARK = "$QUOTE"
_CLOSING_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "「": "」", "『": "』"}
_LOG_STARTS = (
    "at ", 'file "', "[19", "[20", "e (", "w (", "i (", "traceback", "caused by", "warning:", "error:", "error[",
    "fatal:", "panic:", "goroutine ", "level=", ">", "|", "#", "npm err", "build completed", "completed 4",
    "completed 5",
)  # fmt: skip
_ERROR_NAMES = ("error:", "exception:", "warning:", "violation", "deadlocked")
_SPACELESS = ("zh", "ja")
# Function words by which a language is detected; words of two languages are left out.
_COMMON_WORDS = {
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
_LANGUAGE_LETTERS = {"de": frozenset("äöüßÄÖÜ"), "es": frozenset("áéíóúñ¿¡")}
_UNCLEAN_FEATURES = frozenset({"q", "ask", "hedge", "undecided", "oneoff", "bug", "i_did"})
_AMBIGUOUS_FEATURES = frozenset({"q", "hedge", "undecided"})
_NOT_OWN_RULE = frozenset({"ask", "attrib", "oneoff"})
_FORM_CHARACTERS = 400
_MAX_OPENING_WORDS = 8  # words
_NON_PLURALS = frozenset(
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
# Tags of open-class words by their endings, longer endings first.
_ENDINGS = {
    "en": {"ing": "ing", "ly": "ly", "ed": "ed", "s": "s"},
    "de": {"eln": "infinitive", "ern": "infinitive", "en": "infinitive", "t": "ed"},
    "es": {"amos": "we", "emos": "we", "imos": "we", "ado": "ed", "ada": "ed", "ido": "ed", "ida": "ed"}
    | {"ar": "infinitive", "er": "infinitive", "ir": "infinitive", "s": "s"},
}
_OPEN_CLASSES = frozenset("x name code ed ing s ly tech number infinitive".split())
_CLAUSE_MARKS = "，。、；："
_MAX_CLAUSES = 4
_CJK_ENDS = "。！!.… "
_CJK_CONDITIONS = ("如果", "要是", "もし")
# Features of neighbouring sentences that are used as context.
_CONTEXT_FEATURES = frozenset(
    "q ask hedge undecided oneoff attrib task bug ack i_did done past isg reason contrast p_again p_always p_scope "
    "p_rule p_enforce p_neg d_act d_state d_we fact advice system p_when p_like we s_work s_ui".split()
)


class Judgement(NamedTuple):
    """Kind of a text, the probability that it is a decision or preference (0 to 1), and the deciding sentence."""

    kind: str
    score: float
    sentence: str


class Sentence(NamedTuple):
    """A sentence with its features; `form` is its kind if its beginning or end leaves no doubt."""

    text: str
    features: frozenset[str]
    form: str = NEITHER


class _Lexicon(NamedTuple):
    """Word classes of a language by phrase; `longest` is the number of words of the longest phrase by first word."""

    classes: "Mapping[str, tuple[str, ...]]"
    longest: "Mapping[str, int]"
    tags: "Mapping[str, str]"  # part-of-speech tags of function words and of technology names


class _Model(NamedTuple):
    """Contents of the data files; lexicons are built when a text in their language is classified."""

    words: "Mapping[str, Mapping[str, Sequence[str]]]"
    tags: "Mapping[str, Mapping[str, Sequence[str]]]"
    technologies: "Sequence[str]"
    forms: "Mapping[str, Mapping[str, Any]]"  # beginnings and ends of unambiguous rules and decisions
    lexicons: dict[str, _Lexicon]
    constant: "Sequence[float]"
    places: "Mapping[str, int]"  # of features among the weights
    weights: "Sequence[int]"  # thousandths: for a decision, for a preference, feature by feature
    pairs: "Sequence[tuple[str, str, float, float]]"  # weights of two features in one sentence
    sure: float
    unsure: float

    def lexicon(self, language: str) -> _Lexicon:
        """Return the lexicon of a language; built on first use."""
        if language not in self.lexicons:
            tags = dict.fromkeys(self.technologies, _TECHNOLOGY)
            tags |= {word: tag for tag, words in self.tags.get(language, {}).items() for word in words}
            self.lexicons[language] = _lexicon(self.words[language], tags)
        return self.lexicons[language]


_loaded: list[_Model] = []


def judge(text: str, *, is_agent: bool = False) -> Judgement:
    """Classify a prompt, or an answer of an agent."""
    model = _model()
    best = Judgement(NEITHER, 0.0, "")
    for sentence in sentences_of(text, is_agent=is_agent):
        decision, preference = _probabilities(model, sentence.features)
        kind, score = DECISION if decision >= preference else PREFERENCE, decision + preference
        if sentence.form and score < model.sure:
            # The weights were learned from difficult texts, and score unambiguous ones too low.
            kind, score = sentence.form, model.sure
        if score > best.score:
            best = Judgement(kind, score, sentence.text)
    if best.score >= model.sure:
        return best
    return best._replace(kind=NOTE if best.score >= model.unsure else NEITHER)


def shorten_statement(text: str, characters: int, *, is_agent: bool = False) -> str:
    """Return the deciding sentences of a decision or rule, as many as fit, in their order; at least the best one."""
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
    """Return the number of words; scripts without spaces count one word per two characters."""
    if text.isascii():
        return len(text.split())
    spaced, spaceless = re.subn(_SPACELESS_CHARACTER, " ", text)
    return len(spaced.split()) + -(-spaceless // _CJK_PER_WORD)


def sentences_of(text: str, *, is_agent: bool) -> list[Sentence]:
    """Return the sentences in the writer's own words, with their features; code, logs and quotations are left out."""
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
        lexicon = _restrict_lexicon(lexicon, own)
    own_features = [_features(sentence, language, lexicon) for sentence in own]
    # In a long text, "Never delete the original" is an instruction for one task, not a rule.
    is_task = is_agent or len(own) > _MAX_SENTENCES_AS_CONTEXT
    shared_features = {"assistant"} if is_agent else set()
    shared_features |= {"stripped"} if has_foreign else set()
    shared_features.add(
        "n1" if len(own) == 1 else "n2" if len(own) == 2 else "n34" if len(own) <= _MAX_SENTENCES_AS_CONTEXT else "n5"
    )
    return [
        Sentence(
            sentence,
            frozenset(
                own_features[at]
                | shared_features
                | _position_features(at, len(own))
                | _context_features(own_features, at)
            ),
            NEITHER
            if is_task or own_features[at] & _AMBIGUOUS_FEATURES
            else _unambiguous_kind(own[at], own_features[at]),
        )
        for at, sentence in enumerate(shown)
    ]


def _unambiguous_kind(sentence: str, features: "set[str]") -> str:
    """Return the kind of a sentence that begins or ends as only rules and decisions do: "From now on use …"."""
    forms = _model().forms
    # The language of a few words cannot always be detected, but their beginning is unambiguous.
    for row in () if sentence.isascii() else (row for each in _SPACELESS for row in forms[each]["begin"]):
        if sentence.startswith(tuple(row["phrases"])) and features.isdisjoint(row["unless"]):
            return str(row["kind"])
    found = (_unambiguous_kind_in(sentence, features, forms[each]) for each in _COMMON_WORDS)
    return next(filter(None, found), NEITHER)


def _unambiguous_kind_in(sentence: str, features: "set[str]", forms: "Mapping[str, Any]") -> str:
    """Return the unambiguous kind of a sentence according to the forms of one language."""
    tokens = [token.lower() for token in re.findall(_TOKEN, sentence[:_FORM_CHARACTERS].replace("’", "'"))]
    while tokens and tokens[0] in forms["lead"]:
        tokens = tokens[1:]
    for row in forms["begin"]:
        if features.isdisjoint(row.get("unless", ())) and _matches_opening(tokens, row, forms["soft"]):
            return str(row["kind"])
    normalized = " ".join(tokens).rstrip(" .!")
    for row in forms["end"] if features.isdisjoint(_NOT_OWN_RULE) else ():
        if (
            tokens
            and tokens[0] in row["first"]
            and normalized.endswith(tuple(f" {phrase}" for phrase in row["phrases"]))
        ):
            return str(row["kind"])
    return NEITHER


def _matches_opening(tokens: "Sequence[str]", row: "Mapping[str, Any]", soft: "Sequence[str]") -> bool:
    """Whether the tokens start with a phrase of the row, followed by an allowed word."""
    normalized = f"{' '.join(tokens[:_MAX_OPENING_WORDS])} "
    for phrase in row["phrases"]:
        if normalized.startswith(f"{phrase} "):
            rest = [token for token in tokens[phrase.count(" ") + 1 :][:_MAX_OPENING_WORDS] if token not in soft]
            if rest and rest[0] not in row.get("not_then", ()) and rest[0] in row.get("then", rest):
                return True
    return False


def language_of(text: str) -> str:
    """Return the language of a text among those with a lexicon; English if undecided."""
    wide = [] if text.isascii() else [character for character in text if character > "\u3000"]
    kana = sum("\u3040" <= character <= "\u30ff" for character in wide)
    han = sum("\u4e00" <= character <= "\u9fff" for character in wide)
    if kana + han > 8 or (kana + han >= 2 and 12 * (kana + han) >= len(text)):
        return "ja" if kana * 5 > han else "zh"
    words = text.lower().replace(",", " ").replace(".", " ").split()
    scores = {language: float(sum(word in common for word in words)) for language, common in _COMMON_WORDS.items()}
    for language, letters in _LANGUAGE_LETTERS.items():
        scores[language] += 0.0 if text.isascii() else 0.7 * sum(map(letters.__contains__, text))
    return max(scores, key=lambda language: scores[language])


def prose_lines(text: str) -> tuple[list[str], bool]:
    """Return the lines outside of code fences without list marks, and whether there are code fences."""
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
    """Return the writer's sentences twice, with quotation placeholders and as written, and whether code, logs or
    quotations were found."""
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
    remaining = iter(quotations)
    return marked, [_with_quotations(sentence, remaining) for sentence in marked], has_foreign or bool(quotations)


def _is_log(line: str) -> bool:
    """Whether a line belongs to a log, a table or markup; expects lower case."""
    first = line.partition(" ")[0]
    return (
        line.startswith(_LOG_STARTS)
        or (len(first) > 6 and first.endswith(_ERROR_NAMES))
        or (line.startswith("<") and line.endswith(">"))
        or (first.count("/") > 0 and ":in" in line)
    )


def _without_quotations(line: str) -> tuple[str, list[str]]:
    """Replace the quotations of a line by placeholders and return both; short quotations are names and stay."""
    if not any(opening in line for opening in _CLOSING_QUOTES):
        return line, []
    kept: list[str] = []
    quotations: list[str] = []
    unclosed: set[str] = set()  # searched only once: a row of opening marks would otherwise take quadratic time
    at = start = 0
    while at < len(line):
        closing = _CLOSING_QUOTES.get(line[at], "")
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


def _with_quotations(sentence: str, remaining: "Iterator[str]") -> str:
    """Put the next quotations back into the placeholders of a sentence."""
    first, *others = (part.strip() for part in sentence.split(_QUOTE_MARK))
    return " ".join([first, *(f"{next(remaining, _QUOTE_MARK)} {other}" for other in others)]).strip()


def split_sentences(line: str) -> list[str]:
    """Split a line into sentences."""
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
    """Whether the mark at `at` ends a sentence: not in abbreviations, list numbers and German dates."""
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
    """Return the features of a sentence by itself."""
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
    if not features & _UNCLEAN_FEATURES:
        features.add("clean")
    return features


def _features_without_spaces(sentence: str, language: str, lexicon: _Lexicon) -> set[str]:
    """Return the features of a Chinese or Japanese sentence, based on substrings."""
    marked = f"^{sentence.lower()}$"
    features = {name for phrase, names in lexicon.classes.items() if phrase in marked for name in names}
    features |= {f"{language}:{pair}" for pair in map("".join, pairwise(marked)) if not pair.isascii()}
    features |= {"comma"} if any(mark in sentence for mark in "，、,") else set()
    features.add(f"clauses{min(_MAX_CLAUSES, 1 + sum(map(sentence.count, _CLAUSE_MARKS)))}")
    named = sum(token in lexicon.tags for token in re.findall(_TOKEN, sentence.lower()))
    features |= {"tech"} if named else set()
    features |= {"tech2"} if named > 1 else set()
    features |= {f"{language}:{sentence.lower().rstrip(_CJK_ENDS)[-length:]}$" for length in (2, 3)}
    features |= {"proper"} if any(character.isascii() and character.isalpha() for character in sentence) else set()
    return features | ({"if1"} if sentence.startswith(_CJK_CONDITIONS) else set())


def _features_of_words(sentence: str, language: str, lexicon: _Lexicon) -> set[str]:
    """Return the features of a sentence in a language with spaces, based on tokens."""
    normalized = sentence.replace("’", "'").replace(_QUOTE_MARK, "$quote")
    written: list[str] = re.findall(_TOKEN, normalized)
    tokens = ["$num" if token[0].isdigit() else token.lower() for token in written]
    features = _classes_of(["^", *tokens, "$"], lexicon) | _grammar_features(written, language, lexicon.tags)
    features |= {f"{language}:{token}" for token in tokens if token[0].isalpha()}
    if not tokens:
        return features
    features.add(f"{language}:^{tokens[0]}")
    later = normalized.split()[1:]
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


def _grammar_features(tokens: "Sequence[str]", language: str, tags: "Mapping[str, str]") -> set[str]:
    """Return the features of subject, verb and word tags at the beginning and end of a sentence."""
    kinds = [_tag(token, language, tags, is_first=at == 0) for at, token in enumerate(tokens)]
    normalized = _closed_words(tokens, kinds)
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
        *(f"/{language} {' '.join(pair)}" for pair in pairwise(normalized)),
        f"/subject {subject}",
        f"/verb {verb}",
        f"/subject {subject} verb {verb}",
        *(("tech",) if named else ()),
        *(("tech2",) if named > 1 else ()),
    }


def _closed_words(tokens: "Sequence[str]", kinds: "Sequence[str]") -> "list[str]":
    """Return the function words of a sentence in order; open-class words are represented by their tag."""
    normalized = (kind if kind in _OPEN_CLASSES else token.lower() for token, kind in zip(tokens, kinds, strict=True))
    return ["^", *normalized, "$"]


def _tag(token: str, language: str, tags: "Mapping[str, str]", *, is_first: bool) -> str:
    """Return the part-of-speech tag of a known word, otherwise a tag by spelling and ending."""
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
    """Return features of English endings; a plural without article at the start is usually the subject of a rule."""
    second = tokens[1] if len(tokens) > 1 else ""
    return {
        "plural1": _is_plural(tokens[0]),
        "plural2": _is_plural(second) and tokens[0] not in _DETERMINERS and not tokens[0].endswith("s"),
        "ed": any(token.endswith("ed") and len(token) > 4 for token in tokens[:6]),
        "ing": any(token.endswith("ing") for token in tokens[:3]),
    }


def _is_plural(word: str) -> bool:
    return word.endswith("s") and len(word) > 3 and word not in _NON_PLURALS and "'" not in word


def _is_name(word: str) -> bool:
    """Whether a word has a capital or a digit, as product names do."""
    if not word[:1].isalpha() or word == "I" or word.startswith("I'"):
        return False
    return word != word.lower() or re.search(r"\d", word) is not None


def _classes_of(tokens: "Sequence[str]", lexicon: _Lexicon) -> set[str]:
    """Return the classes of all phrases in a token sequence."""
    found: set[str] = set()
    for at, token in enumerate(tokens):
        found.update(lexicon.classes.get(token, ()))
        for words in range(2, lexicon.longest.get(token, 1) + 1):
            found.update(lexicon.classes.get(" ".join(tokens[at : at + words]), ()))
    return found


def _has_heading(sentence: str) -> bool:
    """Whether a sentence begins with a few words and a colon."""
    places = [place for place in (sentence.find(": ", 0, 40), sentence.find("：", 0, 40)) if place > 0]
    return bool(places) and min(places) < 30 and count_words(sentence[: min(places)]) <= 4


def _position_features(at: int, count: int) -> set[str]:
    """Return whether a sentence is the first or the last one of several."""
    if count == 1:
        return set()
    return ({"first"} if at == 0 else set()) | ({"last"} if at == count - 1 else set())


def _context_features(own_features: "Sequence[set[str]]", at: int) -> set[str]:
    """Return the context features of the other sentences; in a long text, of the neighbours only."""
    reach = len(own_features) if len(own_features) <= _MAX_SENTENCES_AS_CONTEXT else 1
    near: Iterable[int] = range(max(0, at - reach), min(len(own_features), at + reach + 1))
    others = set().union(*(own_features[place] & _CONTEXT_FEATURES for place in near if place != at))
    return {f"~{name}" for name in others}


def _probabilities(model: _Model, features: "frozenset[str]") -> tuple[float, float]:
    """Return the probabilities of a decision and of a preference."""
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


def _restrict_lexicon(lexicon: _Lexicon, sentences: "Sequence[str]") -> _Lexicon:
    """Return a lexicon with only the phrases that occur in the sentences."""
    marked = "".join(f"^{sentence.lower()}$" for sentence in sentences)
    return lexicon._replace(classes={phrase: names for phrase, names in lexicon.classes.items() if phrase in marked})


def _model() -> _Model:
    """Return the model; it is loaded on first use."""
    if not _loaded:
        import json  # deferred: hooks that store no text do not need it
        from pathlib import Path

        words, learned = (
            json.loads(Path(__file__).with_name(name).read_text("utf-8"))
            for name in ("kind_words.json", "kind_weights.json")
        )
        # One string and one list of integers load three times as fast as a mapping.
        names = learned.pop("names").split("\n")
        places = dict(zip(names, range(len(names)), strict=True))
        described = (words["classes"], words["tags"], words["technologies"], words["forms"])
        _loaded.append(_Model(*described, {}, places=places, **learned))
    return _loaded[0]


def _lexicon(classes: "Mapping[str, Sequence[str]]", tags: "Mapping[str, str]") -> _Lexicon:
    """Build the lexicon of a language from its word classes."""
    by_phrase: dict[str, tuple[str, ...]] = {}
    longest: dict[str, int] = {}
    for name, phrases in classes.items():
        for phrase in phrases:
            by_phrase[phrase] = (*by_phrase.get(phrase, ()), name)
            words = phrase.split()
            longest[words[0]] = max(longest.get(words[0], 1), len(words))
    return _Lexicon(by_phrase, longest, tags)
