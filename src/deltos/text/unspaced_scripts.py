"""Character bigrams (pairs of adjacent characters), which replace words in scripts without spaces."""

import re

# A sequence of Chinese, Japanese, Korean, Thai, Lao or Khmer characters.
UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)

_TOKEN = re.compile(r"[^\W_]+")


def bigrams(word: str) -> list[str]:
    """Return the character bigrams of the parts of a word in scripts without spaces."""
    if word.isascii():
        return []
    return [run[start : start + 2] for run in UNSPACED.findall(word) for start in range(len(run) - 1)]


def unspaced_words(text: str) -> list[str]:
    """Split tokens that contain scripts without spaces into bigrams and words.

    SQLite's tokenizer treats an entire clause such as `用Redis缓存` as one word.
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
    """Whether it is certain that SQLite's tokenizer does not split a word."""
    if word.isascii():
        return True
    import unicodedata  # imported here, because hooks (short processes started by the coding agent) do not need it

    # Unicode 3.2 is used, because SQLite's Unicode tables are older than Python's and have fewer letters.
    return all(unicodedata.ucd_3_2_0.category(letter)[0] in "LN" for letter in word)
