"""Generate a short text that matches a regular expression."""

from __future__ import annotations

from dataclasses import dataclass

MAX_PATTERN_CHARACTERS = 1_000
MAX_TEXT_CHARACTERS = 500
MAX_NESTING = 40
_ESCAPES = {"d": "1", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a", "b": "", "B": "", "A": "", "z": "", "Z": ""}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_CLASSES = {"d": "0123456789", "w": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", "s": " \t\n"}
_NEGATED_CLASS_CANDIDATES = "a1A-_ .:/@#é"


def text_matching(pattern: str, *, repeats: int = 0) -> str:
    """Return a text that should match; the caller must verify it.

    Optional repetitions are included up to `repeats` times.
    """
    return _PatternReader(pattern[:MAX_PATTERN_CHARACTERS], repeats).alternatives(0)


@dataclass(slots=True)
class _PatternReader:
    """A cursor over a pattern; every step consumes at least one character."""

    pattern: str
    repeats: int
    at: int = 0

    def alternatives(self, depth: int) -> str:
        """Return the text of the first alternative of a group; skip the others."""
        first = self._sequence(depth)
        while self._peek() == "|":
            self.at += 1
            self._sequence(depth)
        return first

    def _peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _take(self) -> str:
        character = self._peek()
        self.at += 1
        return character

    def _sequence(self, depth: int) -> str:
        text = ""
        while (character := self._peek()) and character not in "|)":
            atom = self._atom(depth)
            minimum, maximum = self._quantifier()
            count = max(minimum, min(maximum, self.repeats))
            room = MAX_TEXT_CHARACTERS - len(text)
            text += (atom * min(count, room))[:room]
        return text

    def _atom(self, depth: int) -> str:
        match self._take():
            case "^" | "$":
                return ""
            case ".":
                return "a"
            case "\\":
                return self._escape()
            case "[":
                return self._class()
            case "(":
                return self._group(depth)
            case character:
                return character

    def _group(self, depth: int) -> str:
        is_consuming = True
        if self._peek() == "?":
            self.at += 1
            kind = self._take()
            if kind in "=!" or (kind == "<" and self._peek() in "=!"):
                is_consuming = False  # lookaround does not consume text
            elif kind in "<P":
                self.at = self.pattern.find(">", self.at) + 1 or len(self.pattern)
            elif kind != ":":
                while self._peek() and self._peek() not in ":)":
                    self.at += 1
                self.at += self._peek() == ":"
        text = self.alternatives(depth + 1) if depth < MAX_NESTING else ""
        self.at += self._peek() == ")"
        return text if is_consuming else ""

    def _escape(self) -> str:
        character = self._take()
        if character in "pP" and self._peek() == "{":
            name = self.pattern[self.at + 1 : self.pattern.find("}", self.at)]
            self.at += len(name) + 2
            return "1" if name.startswith("N") else "A" if name == "Lu" else " " if name.startswith("Z") else "a"
        if character in "xu" and self._code_point():
            return self._hexadecimal(2 if character == "x" else 4)
        return _ESCAPES.get(character, _CONTROLS.get(character, character))

    def _code_point(self) -> bool:
        return self._peek() in "0123456789abcdefABCDEF" and bool(self._peek())

    def _hexadecimal(self, digits: int) -> str:
        code = self.pattern[self.at : self.at + digits]
        self.at += digits
        try:
            return chr(int(code, 16))
        except (ValueError, OverflowError):
            return ""

    def _class(self) -> str:
        is_negated = self._peek() == "^"
        self.at += is_negated
        inside: list[tuple[str, str]] = []
        is_first = True
        while (character := self._peek()) and (character != "]" or is_first):
            is_first = False
            inside += self._range()
        self.at += 1
        if not is_negated:
            return _sample_character(inside)
        return next(
            (one for one in _NEGATED_CLASS_CANDIDATES if not any(low <= one <= high for low, high in inside)), ""
        )

    def _range(self) -> list[tuple[str, str]]:
        low = self._take()
        if low == "\\":
            if (known := _CLASSES.get(self._peek())) is not None:
                self.at += 1
                return [(one, one) for one in known]
            low = self._escape()
        if self._peek() != "-" or self.pattern[self.at + 1 : self.at + 2] in ("]", ""):
            return [(low, low)]
        self.at += 1
        high = self._take()
        return [(low, self._escape() if high == "\\" else high)]

    def _quantifier(self) -> tuple[int, int]:
        minimum, maximum = 1, 1
        match self._peek():
            case "?":
                minimum, maximum = 0, 1
            case "*":
                minimum, maximum = 0, MAX_TEXT_CHARACTERS
            case "+":
                minimum, maximum = 1, MAX_TEXT_CHARACTERS
            case "{":
                return self._counted()
            case _:
                return minimum, maximum
        self.at += 1
        self.at += self._peek() in ("?", "+")
        return minimum, maximum

    def _counted(self) -> tuple[int, int]:
        end = self.pattern.find("}", self.at)
        minimum, comma, maximum = self.pattern[self.at + 1 : max(end, self.at)].partition(",")
        if end < 0 or not minimum.strip().isdecimal() or len(minimum) > 6 or len(maximum) > 6:
            self.at += 1  # a literal brace
            return 1, 1
        self.at = end + 1
        self.at += self._peek() == "?"
        lower = int(minimum)
        return lower, int(maximum) if maximum.strip().isdecimal() else (MAX_TEXT_CHARACTERS if comma else lower)


def _sample_character(inside: list[tuple[str, str]]) -> str:
    """Return one character of a class, preferably a letter or digit."""
    for wanted in "a1A":
        if any(low <= wanted <= high for low, high in inside):
            return wanted
    return inside[0][0] if inside else ""
