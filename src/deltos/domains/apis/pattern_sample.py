"""A text that matches a pattern: the shortest that its first alternatives allow. Knows no schemas."""

from __future__ import annotations

from dataclasses import dataclass

MAX_PATTERN_CHARACTERS = 1_000
MAX_TEXT_CHARACTERS = 500
MAX_NESTING = 40
_ESCAPES = {"d": "1", "w": "a", "s": " ", "D": "a", "W": "-", "S": "a", "b": "", "B": "", "A": "", "z": "", "Z": ""}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_CLASSES = {"d": "0123456789", "w": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", "s": " \t\n"}
_OUTSIDE_A_CLASS = "a1A-_ .:/@#é"


def text_matching(pattern: str, *, repeats: int = 0) -> str:
    """A text that should match; what may be repeated is, up to `repeats` times. The caller checks that it does."""
    return _Reader(pattern[:MAX_PATTERN_CHARACTERS], repeats).alternatives(0)


@dataclass(slots=True)
class _Reader:
    """A cursor over a pattern; every step consumes at least one character."""

    pattern: str
    repeats: int
    at: int = 0

    def alternatives(self, depth: int) -> str:
        """The text of the first alternative up to the end of a group; the others are only read."""
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
            least, most = self._quantifier()
            count = max(least, min(most, self.repeats))
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
        is_shown = True
        if self._peek() == "?":
            self.at += 1
            kind = self._take()
            if kind in "=!" or (kind == "<" and self._peek() in "=!"):
                is_shown = False  # what is looked at is not part of the text
            elif kind in "<P":
                self.at = self.pattern.find(">", self.at) + 1 or len(self.pattern)
            elif kind != ":":
                while self._peek() and self._peek() not in ":)":
                    self.at += 1
                self.at += self._peek() == ":"
        text = self.alternatives(depth + 1) if depth < MAX_NESTING else ""
        self.at += self._peek() == ")"
        return text if is_shown else ""

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
            return _readable(inside)
        return next((one for one in _OUTSIDE_A_CLASS if not any(low <= one <= high for low, high in inside)), "")

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
        least, most = 1, 1
        match self._peek():
            case "?":
                least, most = 0, 1
            case "*":
                least, most = 0, MAX_TEXT_CHARACTERS
            case "+":
                least, most = 1, MAX_TEXT_CHARACTERS
            case "{":
                return self._counted()
            case _:
                return least, most
        self.at += 1
        self.at += self._peek() in ("?", "+")
        return least, most

    def _counted(self) -> tuple[int, int]:
        end = self.pattern.find("}", self.at)
        least, comma, most = self.pattern[self.at + 1 : max(end, self.at)].partition(",")
        if end < 0 or not least.strip().isdecimal() or len(least) > 6 or len(most) > 6:
            self.at += 1  # a brace that counts nothing
            return 1, 1
        self.at = end + 1
        self.at += self._peek() == "?"
        fewest = int(least)
        return fewest, int(most) if most.strip().isdecimal() else (MAX_TEXT_CHARACTERS if comma else fewest)


def _readable(inside: list[tuple[str, str]]) -> str:
    """One character of a class: a letter or digit where there is one."""
    for wanted in "a1A":
        if any(low <= wanted <= high for low, high in inside):
            return wanted
    return inside[0][0] if inside else ""
