"""Scripts without spaces between words, in which character bigrams replace words."""

import re

# Chinese, Japanese, Korean, Thai, Lao and Khmer, which put no spaces between words.
UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)

_TOKEN = re.compile(r"[^\W_]+")


def bigrams(word: str) -> list[str]:
    """Return the character bigrams that replace the unspaced parts of a word."""
    if word.isascii():
        return []
    return [run[start : start + 2] for run in UNSPACED.findall(word) for start in range(len(run) - 1)]


def unspaced_words(text: str) -> list[str]:
    """Return the substitutes for words in unspaced text: bigrams, and the text between unspaced runs.

    SQLite's tokenizer makes one word of a whole clause such as `用Redis缓存`.
    """
    if text.isascii():
        return []
    words: list[str] = []
    for token in _TOKEN.findall(text):
        if not token.isascii() and UNSPACED.search(token):
            words += (piece for piece in UNSPACED.split(token) if piece)
            words += (run for run in UNSPACED.findall(token) if len(run) == 1)
            words += bigrams(token)
    return words


def is_single_token(word: str) -> bool:
    """Whether SQLite's tokenizer certainly sees one word, as its Unicode tables have fewer letters than Python's."""
    if word.isascii():
        return True
    import unicodedata  # deferred: hooks do not need it

    return all(unicodedata.ucd_3_2_0.category(letter)[0] in "LN" for letter in word)
