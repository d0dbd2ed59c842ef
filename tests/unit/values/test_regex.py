"""Java's regular expressions in Python."""

import pytest

from gdb.values.problems import ValueProblem
from gdb.values.regex import compiled


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
        (r"(?<x>a)\k<x>", "aa", True),
        (r"(?<!b)a", "a", True),
        (r"\p{Lu}\p{L}*", "Äße", True),
        (r"\p{L}+", "a1", False),
        (r"[\p{L}1]+", "ä1", True),
        (r"\P{Digit}", "a", True),
        (r"\P{Digit}", "1", False),
        (r"\p{Alpha}+", "ab", True),
        (r"\Qa.b\E+", "a.bb", True),
        (r"\Qa.b\E", "axb", False),
        (r"a++", "aaa", True),
        (r"[a\]]+", "a]", True),
        (r"a\z", "a", True),
        ("[a||~~]+", "a|~", True),
        (r"\R", "\r\n", True),
    ],
)
def test_matches(pattern, text, expected):
    assert (compiled(pattern).fullmatch(text) is not None) is expected


@pytest.mark.parametrize("pattern", ["(", "[a", "*", r"\p{Xx}", "[a-z&&[^b]]", "[a[b]]"])
def test_what_is_no_expression_is_told_with_a_cure(pattern):
    with pytest.raises(ValueProblem) as caught:
        compiled(pattern)
    assert caught.value.kind == "argument"
    assert caught.value.cure
