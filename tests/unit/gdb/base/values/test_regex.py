"""Java's regular expressions in Python."""

import threading
import time

import pytest

from gdb.base.allowance import Allowance
from gdb.base.values.problems import ValueProblem
from gdb.base.values.regex import compile_regex
from gdb.errors import QueryTimeout


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a.*", "abc", True),
        ("b", "abc", False),  # the whole text must match
        ("(?i)AB.", "abc", True),
        ("(?iu)Ä", "ä", True),
        ("(?i)Ä", "ä", False),  # as in Java
        ("(?s).", "\n", True),
        (r"\d+", "٣", False),
        (r"(?<x>a)|b", "a", True),
        (r"\p{Lu}\p{L}*", "Äße", True),
        (r"\p{L}+", "a1", False),
        (r"[\p{L}1]+", "ä1", True),
        (r"\P{Digit}", "a", True),
        (r"\P{Digit}", "1", False),
        (r"\p{Alpha}+", "ab", True),
        (r"\Qa.b\E+", "a.bb", True),
        (r"\Qa.b\E", "axb", False),
        (r"a+?", "aaa", True),
        (r"[a\]]+", "a]", True),
        (r"a\z", "a", True),
        ("[a||~~]+", "a|~", True),
        (r"\R", "\r\n", True),
        (".", "\u2028", False),  # it ends a line, in Java
        ("(?d).", "\u2028", True),
        ("(?d).", "\n", False),
        (r"\s+", " \x0b\t", True),
        (r"\S", "\x0b", False),
        (r"[\s\S]+", "\x0ba", True),
        (r"\h", "\u2003", True),
        (r"\d", "٣", False),
        (r"(?U)\d", "٣", True),
        (r"(?u)\d", "٣", False),  # u is about case alone
        (r"(?U)\w+", "äß", True),
        (r"\w+", "äß", False),
        ("(?i)[a-c]+", "aBC", True),
        ("(?i)[^a]", "A", False),
        ("(?i)s", "ſ", False),
        ("(?iu)s", "ſ", True),
        ("(?i:a)b", "Ab", True),
        ("(?i:a)b", "AB", False),
        ("(a(?i)b)b", "aBb", True),
        ("(a(?i)b)b", "aBB", False),
        ("(?i)a(?-i)b", "AB", False),
        ("(?x) a b # a comment", "ab", True),
        (r"(?x)a\ b", "a b", True),
        (r"\u0041\x42\x{43}\0104", "ABCD", True),
        (r"\uD83D\uDE00", "\U0001f600", True),
        (r"\t\e\cA", "\t\x1b\x01", True),
        (r"[\]\-a]+", "]-a", True),
        ("[]a]+", "]a", True),
        (r"[\Q]-\E]+", "]-", True),
        (r"\p{IsGreek}+", "αβγ", True),
        (r"\p{script=Greek}", "a", False),
        (r"[^\p{Alpha}]", "1", True),
        (r"[\P{Digit}]", "1", False),
        (r"\p{IsAlphabetic}\P{IsAlphabetic}", "ä1", True),
        ("a{2,3}", "aaa", True),
        ("a{b", "a{b", True),
        ("", "", True),
        ("a|b", "ab", False),
        ("(?m)a$\nb", "a\nb", True),
        (r"\bab\b", "ab", True),
    ],
)
def test_matches(pattern, text, expected):
    assert compile_regex(pattern).fits(text) is expected


@pytest.mark.parametrize(
    "pattern",
    ["(", "[a", "*", r"\p{Xx}", "[a-z&&[^b]]", "[a[b]]", "(?y)a", r"\y", "[z-a]", "a{1001}", ")"],
)
def test_what_is_no_expression_is_told_with_a_cure(pattern):
    with pytest.raises(ValueProblem) as caught:
        compile_regex(pattern)
    assert caught.value.kind == "argument"
    assert caught.value.cure


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("(?=a)a", "look-around"),
        ("(?!a)b", "look-around"),
        ("(?<=a)b", "look-around"),
        ("(?<!a)b", "look-around"),
        (r"(a)\1", "a backreference"),
        (r"(?<x>a)\k<x>", "a backreference"),
        ("(?>a)", "an atomic group"),
        ("a++", "a possessive quantifier"),
        ("a{2}+", "a possessive quantifier"),
        ("[a&&b]", "an intersection of sets"),
    ],
)
def test_what_takes_backtracking_is_refused_by_name(pattern, what):
    with pytest.raises(ValueProblem, match=what) as caught:
        compile_regex(pattern)
    assert caught.value.cure


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a*)*b", "(.*.*.*.*)*x", "(a|b|ab)*c"])
def test_no_pattern_backtracks(pattern):
    assert not compile_regex(pattern).fits("a" * 100_000 + "!")


def test_the_memory_of_a_pattern_is_bounded():
    for pattern in ("(" * 3 + "a" + "{100})" * 3, "a" * 30_000, r"(\p{L}{1000}){1}" * 50):
        with pytest.raises(ValueProblem) as caught:
            compile_regex(pattern)
        assert caught.value.cure
        assert len(caught.value.message) < 400


def test_a_long_match_looks_at_the_clock():
    """An automaton that is slow: as many states as instructions, and none of them seen twice."""
    slow = compile_regex("(?:a|b)*a(?:a|b){900}")
    text = "ab" * 500 + "aab" * 60_000
    with Allowance(deadline=time.monotonic() + 0.1) as allowance, pytest.raises(QueryTimeout):
        slow.fits(text)
    assert allowance.kept == 0
    for thread in threading.enumerate():
        if thread.name == "gdb-value":
            thread.join(60)
            assert not thread.is_alive()


def test_a_text_that_is_too_long_is_refused():
    with pytest.raises(ValueProblem, match="too long") as caught:
        compile_regex(r"(?:a|b)*a(?:a|b){900}").fits("a" * 3_000_000)
    assert "left(" in caught.value.cure
    assert compile_regex("a*").fits("a" * 20_000_000)
