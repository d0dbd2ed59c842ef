r"""Java's syntax of regular expressions in RE2's spelling.

The reader goes through the pattern once. It knows the flags in force, which (?i) changes up to the end of its group,
and writes out what they mean.
"""

from __future__ import annotations

import re
from typing import NoReturn

_POSIX = {
    *("Lower", "Upper", "ASCII", "Alpha", "Digit", "Alnum", "Punct", "Graph", "Print", "Blank"),
    *("Cntrl", "XDigit", "Space"),
}
_PROPERTIES = {
    "IsAlphabetic": r"\p{L}\p{Nl}",
    "IsLetter": r"\p{L}",
    "IsDigit": r"\p{Nd}",
    "IsLowercase": r"\p{Ll}",
    "IsUppercase": r"\p{Lu}",
    "IsPunctuation": r"\p{P}",
    "IsControl": r"\p{Cc}",
    "IsWhite_Space": r"\t-\r \x{85}\p{Z}",
    "javaLowerCase": r"\p{Ll}",
    "javaUpperCase": r"\p{Lu}",
    "LC": r"\p{Lu}\p{Ll}\p{Lt}",
}
_ENDS = r"\n\r\x{85}\x{2028}\x{2029}"  # of lines
_HORIZONTAL = r" \t\x{a0}\x{1680}\x{180e}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}"
_VERTICAL = r"\n\x0b\f\r\x{85}\x{2028}\x{2029}"
_SETS = {"d": "0-9", "w": "0-9A-Za-z_", "s": r"\t-\r ", "h": _HORIZONTAL, "v": _VERTICAL}
_UNICODE_SETS = {
    "d": r"\p{Nd}",
    "w": r"\p{L}\p{Nl}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}",
    "s": _PROPERTIES["IsWhite_Space"],
}
_PLACES = {"A": r"\A", "z": r"\z", "Z": r"\z", "b": r"\b", "B": r"\B"}
_CONTROLS = {"t": 9, "n": 10, "r": 13, "f": 12, "a": 7, "e": 27}
_FLAGS = frozenset("idmsuxU")
_GROUP = re.compile(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_COUNT = re.compile(r"\{[0-9]+(,[0-9]*)?\}")
_PROPERTY = re.compile(r"\\([pP])(?:\{\^?([\w=. -]+)\}|(\w))")
_CODE = re.compile(
    r"\\(?:x\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|0([0-3]?[0-7]{1,2}))"
)


class Refused(Exception):
    """What RE2 has not, or what is no regular expression of Java. what : of the pattern, as the rest of a sentence."""

    def __init__(self, what: str, cure: str) -> None:
        super().__init__(what)
        self.what, self.cure = what, cure


def translate_pattern(pattern: str) -> str:
    r"""The pattern for RE2.

    Raises
    ------
    Refused : it has what RE2 has not.

    Examples
    --------
    >>> translate_pattern(r"(?<x>a|b)\d"), translate_pattern("(?i)a[b-d]")
    ('(?:a|b)[0-9]', '[aA][b-dB-D]')
    """
    return _RegexReader(pattern).all()


class _RegexReader:
    def __init__(self, pattern: str) -> None:
        self.pattern, self.at = pattern, 0
        self.flags: frozenset[str] = frozenset()
        self.outer: list[frozenset[str]] = []  # the flags around each open group
        self.parts: list[str] = []

    def all(self) -> str:
        while self.at < len(self.pattern):
            self.parts.append(self.part())
        return "".join(self.parts)

    def part(self) -> str:
        """The next part, translated."""
        character = self.pattern[self.at]
        match character:
            case "\\":
                return self.escape()
            case "[":
                return self.set()
            case "(":
                return self.group()
            case ")":
                if self.outer:
                    self.flags = self.outer.pop()
            case ".":
                self.at += 1
                if "s" in self.flags:
                    return "(?s:.)"
                return r"[^\n]" if "d" in self.flags else f"[^{_ENDS}]"
            case "^" | "$":
                self.at += 1
                return f"(?m:{character})" if "m" in self.flags else character
            case "*" | "+" | "?" | "{":
                return self.quantifier()
            case "|":
                pass
            case _ if "x" in self.flags and (character in " \t\n\x0b\f\r#"):
                return self.comment()
            case _:
                self.at += 1
                return self.literal(ord(character))
        self.at += 1
        return character

    def comment(self) -> str:
        if self.pattern[self.at] == "#":
            end = self.pattern.find("\n", self.at)
            self.at = len(self.pattern) if end < 0 else end
        self.at += 1
        return ""

    # ---- groups and quantifiers --------------------------------------------------------------------

    def group(self) -> str:
        rest = self.pattern[self.at : self.at + 4]
        if rest.startswith(("(?=", "(?!", "(?<=", "(?<!")):
            self.refuse("look-around", "Test the parts one by one: x =~ 'a.*' AND NOT x =~ '.*b'.")
        if rest.startswith("(?>"):
            self.refuse("an atomic group", "Write (?:...).")
        if not rest.startswith("(?"):
            self.at += 1
        elif rest.startswith("(?<"):
            end = self.pattern.find(">", self.at)
            if end < 0 or not self.pattern[self.at + 3 : end].isalnum():
                self.wrong("has a group whose name is not ended", "Write (?<name>...).")
            self.at = end + 1
        else:
            return self.flagged()
        self.outer.append(self.flags)
        return "(?:"

    def flagged(self) -> str:
        """(?flags) or (?flags:...)"""
        found = _GROUP.match(self.pattern, self.at)
        if found is None or not _FLAGS.issuperset((found[1] or "") + (found[2] or "")):
            self.wrong(
                "has a group that begins with (? and is none",
                "Flags are i, m, s, x, d, u and U, as in (?i).",
            )
        flags = (self.flags | set(found[1])) - set(found[2] or "")
        self.at = found.end()
        if found[3] == ")":
            self.flags = flags
            return ""
        self.outer.append(self.flags)
        self.flags = flags
        return "(?:"

    def quantifier(self) -> str:
        found = _COUNT.match(self.pattern, self.at)
        if self.pattern[self.at] == "{" and found is None:
            self.at += 1
            return r"\{"
        text = self.pattern[self.at] if found is None else found[0]
        self.at += len(text)
        after = self.pattern[self.at : self.at + 1]
        if after == "+":
            self.refuse("a possessive quantifier", f"Write {text} without the + after it.")
        if after == "?":  # lazy or not: the whole text fits, or it does not
            self.at += 1
        return text

    # ---- escapes -----------------------------------------------------------------------------------

    def escape(self) -> str:
        """A backslash and what it escapes, outside of a set."""
        letter = self.pattern[self.at + 1 : self.at + 2]
        if letter == "Q":
            return self.quoted()
        if letter in "pP" and letter:
            return self.property(in_set=False)
        if letter == "R":
            self.at += 2
            return rf"(?:\r\n|[{_VERTICAL}])"
        if letter in _PLACES and letter:
            if letter in "bB" and "U" in self.flags:
                self.refuse(r"\b with the flag U", r"Without U \b knows the words of ASCII.")
            self.at += 2
            return _PLACES[letter]
        if letter.lower() in _SETS and letter:
            self.at += 2
            inside = self.class_of(letter.lower())
            return f"[^{inside}]" if letter.isupper() else f"[{inside}]"
        return self.literal(self.code())

    def class_of(self, letter: str) -> str:
        if "U" in self.flags and letter in _UNICODE_SETS:
            return _UNICODE_SETS[letter]
        return _SETS[letter]

    def quoted(self) -> str:
        start = self.at + 2
        end = self.pattern.find(r"\E", start)
        end = len(self.pattern) if end < 0 else end
        self.at = end + 2
        return "".join(self.literal(ord(one)) for one in self.pattern[start:end])

    def code(self) -> int:
        """The character that an escape denotes."""
        begin, letter = self.at, self.pattern[self.at + 1 : self.at + 2]
        found = _CODE.match(self.pattern, begin)
        if found is not None:
            self.at = found.end()
            digits = found[1] or found[2] or found[3]
            number = int(digits, 16) if digits else int(found[4], 8)
            if 0xD800 <= number < 0xDC00 and self.pattern.startswith("\\u", self.at):
                return 0x10000 + ((number - 0xD800) << 10) + (self.code() - 0xDC00)
            return number
        self.at += 2
        if letter in _CONTROLS and letter:
            return _CONTROLS[letter]
        if letter == "c" and self.at < len(self.pattern):
            self.at += 1
            return ord(self.pattern[self.at - 1]) ^ 64
        if letter == "k" or letter.isdigit():
            self.refuse("a backreference", "Compare the parts with = after split() or substring().")
        if not letter or (letter.isascii() and letter.isalpha()):
            self.wrong(
                rf"has the escape \{letter}, which is none",
                r"Write \\ before a special character that is meant literally, as in '\\('.",
            )
        return ord(letter)

    def property(self, in_set: bool) -> str:
        r"""\p{name} or \P{name}"""
        found = _PROPERTY.match(self.pattern, self.at)
        if found is None:
            self.wrong(r"has a \p without a name", r"Write \\p{L}, as in '\\p{Lu}+'.")
        self.at = found.end()
        name, negated = found[2] or found[3], found[1] == "P"
        if name in _POSIX:
            inside = f"[:{'^' if negated else ''}{name.lower()}:]"
            return inside if in_set else f"[{inside}]"
        for prefix in ("general_category=", "gc=", "script=", "sc="):
            name = name.removeprefix(prefix)
        several = _PROPERTIES.get(name)
        if several is None:
            letter = name.removeprefix("Is")
            return rf"\{'P' if negated else 'p'}{{{letter}}}"
        if not in_set:
            return f"[{'^' if negated else ''}{several}]"
        if negated:
            self.refuse(rf"\P{{{name}}} inside a set", "Write it outside of the set, after a |.")
        return several

    # ---- characters and sets -----------------------------------------------------------------------

    def literal(self, code: int) -> str:
        """One character, as the flags take it."""
        plain = _written(code)
        if "i" not in self.flags:
            return plain
        if "u" in self.flags or "U" in self.flags:
            return f"(?i:{plain})"
        return f"[{_folded(code, code)}]" if chr(code).isalpha() and code < 128 else plain

    def set(self) -> str:
        """[...]: a list of characters, ranges and classes."""
        begin = self.at
        self.at += 1
        negated = self.pattern.startswith("^", self.at)
        self.at += negated
        parts: list[str] = []
        while not (self.pattern.startswith("]", self.at) and parts):
            if self.at >= len(self.pattern):
                self.wrong("has a [ without its ]", r"Write \\[ for the character.")
            parts.append(self.item())
        self.at += 1
        inside = "".join(parts)
        if inside == "":  # only white space, with (?x)
            self.wrong(f"has an empty set at {begin + 1}", "Write a character into it.")
        text = f"[{'^' if negated else ''}{inside}]"
        folds = "i" in self.flags and self.flags & {"u", "U"}
        return f"(?i:{text})" if folds else text

    def item(self) -> str:
        if self.pattern.startswith("&&", self.at):
            self.refuse("an intersection of sets", "Test the parts one by one, with AND.")
        if self.pattern.startswith("[", self.at):
            self.refuse(
                "a set inside a set", r"Write one set of all, or \\[ for the character itself."
            )
        if self.pattern[self.at] == "\\":
            letter = self.pattern[self.at + 1 : self.at + 2]
            if letter in "pP" and letter:
                return self.property(in_set=True)
            if letter == "Q":
                start = len(self.pattern) if self.pattern.find(r"\E", self.at) < 0 else None
                end = start or self.pattern.index(r"\E", self.at)
                text = self.pattern[self.at + 2 : end]
                self.at = end + 2
                return "".join(self.range(ord(one), ord(one)) for one in text)
            if letter.lower() in _SETS and letter:
                self.at += 2
                if letter.islower():
                    return self.class_of(letter)
                if letter in "DWS" and "U" not in self.flags:
                    return rf"\{letter}" if letter != "S" else "[:^space:]"
                self.refuse(rf"\{letter} inside a set", "Write it outside of the set, after a |.")
        elif "x" in self.flags and self.pattern[self.at] in " \t\n\x0b\f\r":
            self.at += 1
            return ""
        low = high = self.character()
        if self.pattern.startswith("-", self.at) and self.pattern[
            self.at + 1 : self.at + 2
        ] not in (*("", "]", "["),):
            self.at += 1
            high = self.character()
            if high < low:
                self.wrong("has a range whose end is before its begin", "Write a-z, not z-a.")
        return self.range(low, high)

    def character(self) -> int:
        if self.pattern[self.at] == "\\":
            return self.code()
        self.at += 1
        return ord(self.pattern[self.at - 1])

    def range(self, low: int, high: int) -> str:
        folds = "i" in self.flags and not self.flags & {"u", "U"}
        return _folded(low, high) if folds else _ranged(low, high)

    # ---- refusals ----------------------------------------------------------------------------------

    def refuse(self, what: str, cure: str) -> NoReturn:
        raise Refused(f"has {what}, which the engine (RE2) does not know", cure)

    def wrong(self, what: str, cure: str) -> NoReturn:
        raise Refused(what, cure)


def _written(code: int) -> str:
    """One character, outside of a set or in one."""
    character = chr(code)
    if character.isascii() and not character.isalnum():
        return rf"\x{{{code:x}}}"
    return character


def _ranged(low: int, high: int) -> str:
    return _written(low) if low == high else f"{_written(low)}-{_written(high)}"


def _folded(low: int, high: int) -> str:
    """A range and the other case of the letters of ASCII that it has."""
    parts = [_ranged(low, high)]
    for first, last, step in ((65, 90, 32), (97, 122, -32)):
        start, stop = max(low, first), min(high, last)
        if start <= stop:
            parts.append(_ranged(start + step, stop + step))
    return "".join(parts)
