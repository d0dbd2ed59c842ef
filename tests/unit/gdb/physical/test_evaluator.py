"""The reference evaluator of expressions, from text to value."""

import math
from itertools import product
from typing import Any

import pytest

from gdb.base.allowance import Allowance
from gdb.base.values.elements import NodeValue, PathValue, RelationshipValue
from gdb.base.values.problems import ValueProblem
from gdb.errors import (
    ArgumentProblem,
    ArithmeticProblem,
    DeletedProblem,
    InternalError,
    QueryTimeout,
    TypeProblem,
)
from gdb.language.clauses import Return
from gdb.language.parser import parse
from gdb.physical.evaluator import Evaluator
from gdb.physical.rows.values import UserValues

ANN, BOB = NodeValue(1, frozenset({"Person", "A"}), {"name": "Ann", "age": 3}), NodeValue(2)
KNOWS = RelationshipValue(7, "KNOWS", ANN, BOB, {"since": 1})
ROW: dict[str, Any] = {
    "n": ANN,
    "r": KNOWS,
    "p": PathValue((ANN, BOB), (KNOWS,)),
    "none": None,
    "m": {"a": 1, "b": None},
    "list": [1, 2, 3],
    "x": "of the row",
}


def tree(text):
    query = parse(f"RETURN {text} AS it")
    clause = query.parts[0][0]
    assert isinstance(clause, Return)
    return query.text, clause.items[0].expression


def value(text, row=ROW, subqueries=None, **parameters):
    whole, expression = tree(text)
    return Evaluator(whole, parameters, subqueries).compiled(expression)(row)


# ---- the logic of true, false and null -----------------------------------------------------------

LOGIC = [True, False, None]
NAMES = {True: "true", False: "false", None: "null"}


@pytest.mark.parametrize(("a", "b"), list(product(LOGIC, LOGIC)))
def test_and_or_xor(a, b):
    known = None not in (a, b)
    expected = {
        "AND": False if False in (a, b) else True if known else None,
        "OR": True if True in (a, b) else False if known else None,
        "XOR": a is not b if known else None,
    }
    for operator, result in expected.items():
        assert value(f"{NAMES[a]} {operator} {NAMES[b]}") is result
        assert value("$a " + operator + " $b", a=a, b=b) is result


@pytest.mark.parametrize("items", list(product(LOGIC, repeat=3)))
def test_quantifiers(items):
    true, false, null = (items.count(answer) for answer in LOGIC)
    expected = {
        "any": True if true else None if null else False,
        "all": False if false else None if null else True,
        "none": False if true else None if null else True,
        "single": False if true > 1 else None if null else true == 1,
    }
    for name, result in expected.items():
        assert value(f"{name}(x IN $items WHERE x)", items=list(items)) is result


@pytest.mark.parametrize("name", ["any", "all", "none", "single"])
def test_a_quantifier_of_null_is_null(name):
    assert value(f"{name}(x IN null WHERE x)") is None


@pytest.mark.parametrize(
    "text", ["1 AND true", "false AND 1", "NOT 'a'", "[] OR true", "true XOR {}", "m OR true"]
)
def test_logic_wants_booleans(text):
    with pytest.raises(TypeProblem):
        value(text)


def test_what_stands_behind_the_decision_is_not_evaluated():
    assert value("false AND 1/0 = 1") is False
    assert value("true OR 1/0 = 1") is True


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2 * 3 - 4", 3),
        ("2 ^ 3 ^ 2", 64.0),
        ("-(2)", -2),
        ("-9223372036854775808", -(2**63)),
        ("7 % 4 / 2", 1),
        ("1 < 2 <= 2", True),
        ("1 < 2 > 3", False),
        ("1 = null", None),
        ("1 <> 1.0", False),
        ("null <> null", None),
        ("0.0 / 0.0 <> 0.0 / 0.0", True),
        ("'abc' STARTS WITH 'ab'", True),
        ("'abc' ENDS WITH 'b'", False),
        ("'abc' CONTAINS 1", None),
        ("null CONTAINS 'a'", None),
        ("'ABC' =~ '(?i)ab.'", True),
        ("1 IN [1, null]", True),
        ("2 IN [1, null]", None),
        ("2 IN [1, 3]", False),
        ("null IN []", False),
        ("null IN [1]", None),
        ("1 IN null", None),
        ("[1, 2] IN [[null, 2], [1, 3]]", None),
        ("none IS NULL", True),
        ("n.name IS NOT NULL", True),
        ("n.name", "Ann"),
        ("n.missing", None),
        ("r['since']", 1),
        ("m.a", 1),
        ("m['b']", None),
        ("none.a", None),
        ("none[0]", None),
        ("m[null]", None),
        ("list[0]", 1),
        ("list[-1]", 3),
        ("list[3]", None),
        ("list[-4]", None),
        ("list[null]", None),
        ("list[1..]", [2, 3]),
        ("list[..-1]", [1, 2]),
        ("list[3..1]", []),
        ("list[null..1]", None),
        ("list[-9..9]", [1, 2, 3]),
        ("{a: 3, b: [2]}", {"a": 3, "b": [2]}),
        (
            "n{.name, .missing, x, two: 2}",
            {"name": "Ann", "missing": None, "x": "of the row", "two": 2},
        ),
        ("n{.*, age: 4}", {"name": "Ann", "age": 4}),
        ("none{.*}", None),
        ("CASE 2 WHEN 1 THEN 'a' WHEN 2.0 THEN 'b' END", "b"),
        ("CASE null WHEN null THEN 1 ELSE 2 END", 2),
        ("CASE WHEN null THEN 1 WHEN true THEN 2 END", 2),
        ("CASE WHEN false THEN 1 END", None),
        ("[x IN list WHERE x > 1 | x * x]", [4, 9]),
        ("[x IN list]", [1, 2, 3]),
        ("[x IN list WHERE null]", []),
        ("[x IN null | x]", None),
        ("[x IN [1, 2] | [x IN [x] | x + 1]]", [[2], [3]]),
        ("[y IN [1] | x]", ["of the row"]),
        ("[x IN list | x] + x", [1, 2, 3, "of the row"]),
        ("reduce(x = 0, y IN list | x + y)", 6),
        ("reduce(x = 0, y IN null | x + y)", None),
        ("reduce(a = [], y IN list | [y] + a)", [3, 2, 1]),
        ("n:Person", True),
        ("n:Person:B", False),
        ("r:KNOWS", True),
        ("none:Person", None),
        ("labels(n)", ["A", "Person"]),
        ("SIZE(nodes(p)) = length(p) + 1", True),
        ("coalesce(none, m.b, 5)", 5),
        ("$p + 1", 3),
    ],
)
def test_values(text, expected):
    found = value(text, p=2)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize("item", [None, True, 1, 1.0, 2, "1", math.nan, [1], {}])
@pytest.mark.parametrize("values", [[], [1], [None], [None, 1], [True], ["1", 2.0], [math.nan, 3]])
def test_in_is_the_same_whether_the_list_is_of_the_query_or_of_the_row(item, values):
    of_row = value("item IN values", {"item": item, "values": values})
    of_query = value("item IN $values", {"item": item}, values=values)
    assert of_row is of_query


def test_a_row_is_left_as_it_is():
    before = dict(ROW)
    value("[x IN list | reduce(n = 0, r IN list | n + r + x)]")
    assert before == ROW


def test_a_list_is_made_anew_for_each_row():
    text, expression = tree("[1, {a: 2}]")
    evaluate = Evaluator(text, {}).compiled(expression)
    assert evaluate({}) == evaluate({})
    assert evaluate({}) is not evaluate({})


def test_nan_in_arithmetic():
    assert math.isnan(value("0.0 / 0.0"))


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "underlined"),
    [
        ("1 + 1/0", ArithmeticProblem, "1/0"),
        ("1 + 9223372036854775807 + 1", ArithmeticProblem, "1 + 9223372036854775807"),
        ("2 + 1 + {}", TypeProblem, "2 + 1 + {}"),
        ("list['a']", TypeProblem, "list['a']"),
        ("list[1.0]", TypeProblem, "list[1.0]"),
        ("m[0]", TypeProblem, "m[0]"),
        ("x[0]", TypeProblem, "x[0]"),
        ("list[true..]", TypeProblem, "list[true..]"),
        ("x.a", TypeProblem, "x.a"),
        ("p.a", TypeProblem, "p.a"),
        ("1 IN x", TypeProblem, "1 IN x"),
        ("[a IN x | a]", TypeProblem, "x"),
        ("m:Person", TypeProblem, "m:Person"),
        ("labels(list[0])", TypeProblem, "labels(list[0])"),
        ("range(1, 2, 0)", ArgumentProblem, "range(1, 2, 0)"),
        ("'a' =~ '('", ArgumentProblem, "'a' =~ '('"),
        ("CASE WHEN 1 THEN 2 END", TypeProblem, "1"),
        ("[a IN list WHERE a | a]", TypeProblem, "a"),
    ],
)
def test_errors_show_their_place(text, kind, underlined):
    with pytest.raises(kind) as caught:
        value(text)
    start = len("RETURN ") + text.index(underlined)
    if text == "[a IN list WHERE a | a]":
        start = len("RETURN ") + text.index("a | a")
    assert (caught.value.column, caught.value.length) == (start + 1, len(underlined))


def test_reading_what_is_deleted():
    gone = NodeValue(1, frozenset({"A"}), {"a": 1}, deleted=True)
    for text in ("n.a", "n['a']", "n:A", "labels(n)", "n{.*}", "keys(n)"):
        with pytest.raises(DeletedProblem):
            value(text, {"n": gone})
    assert value("id(n)", {"n": gone}) == 1


# ---- conditions ----------------------------------------------------------------------------------


def condition(text, row=ROW):
    whole, expression = tree(text)
    return Evaluator(whole, {}).condition(expression)(row)


def test_conditions():
    assert condition("n.age > 2") is True
    assert condition("n.missing > 2") is None
    assert condition("n.missing") is None
    assert condition("true") is True
    with pytest.raises(TypeProblem):
        condition("n.age")


# ---- patterns and subqueries ---------------------------------------------------------------------


class Friends:
    """Answers every pattern and query with the same rows, and keeps its arguments."""

    def __init__(self, *names):
        self.found = [{"b": NodeValue(0, properties={"name": name})} for name in names]
        self.asked = []

    def matches(self, pattern, where, row, *, once=False):
        self.asked.append((where, row))
        for match in self.found:
            yield {**row, **match}

    def rows(self, query, row, *, once=False):
        self.asked.append((None, row))
        return [{"name": match["b"].properties["name"]} for match in self.found]


def test_patterns_and_subqueries_are_asked_with_the_row():
    friends = Friends("Bob", "Eve")
    assert value("[(n)-->(b) WHERE b.age > 1 | b.name + x]", subqueries=friends) == [
        "Bobof the row",
        "Eveof the row",
    ]
    assert friends.asked[0][0] is not None
    assert value("EXISTS { (n)-->(b) }", subqueries=friends) is True
    assert value("COUNT { (n)-->(b) }", subqueries=friends) == 2
    assert value("COLLECT { MATCH (n)-->(b) RETURN b.name }", subqueries=friends) == ["Bob", "Eve"]
    assert all(row == ROW for _, row in friends.asked)


def test_what_a_value_refuses_gets_its_place():
    whole, expression = tree("x")
    evaluator = Evaluator(whole, {})
    error = evaluator.located(ValueProblem("argument", "No such thing.", "Cure."), expression.place)
    assert isinstance(error, ArgumentProblem)
    assert "line 1, column 8: no such thing. Cure." in str(error)


def test_a_pattern_as_a_condition():
    whole, expression = tree("CASE WHEN (n)-->() THEN 1 ELSE 2 END")
    assert Evaluator(whole, {}, Friends("Bob")).compiled(expression)(ROW) == 1
    assert Evaluator(whole, {}, Friends()).compiled(expression)(ROW) == 2


def test_comprehensions_variables_reach_subqueries():
    friends = Friends("Bob")
    value("[a IN [1] WHERE EXISTS { (n)-->(b) } | a]", subqueries=friends)
    assert friends.asked[0][1]["a"] == 1


def test_patterns_without_an_answer_are_our_fault():
    with pytest.raises(InternalError):
        value("EXISTS { (n)-->(b) }")


def test_a_long_list_is_handed_out_in_steps() -> None:
    with Allowance(deadline=0.0), pytest.raises(QueryTimeout):
        UserValues().cell([*range(1000)])
    assert UserValues().cell([1, [None, {"a": 2.5}]]) == [1, [None, {"a": 2.5}]]
