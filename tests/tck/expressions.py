"""The evaluator of expressions alone as an engine for the TCK: UNWIND, WITH and RETURN over no graph.

An adapter of the TCK's runner; scenarios that need a graph raise `NeedsGraph`.

    cd TCK && PYTHONPATH=REPOSITORY python run_tck.py tests.tck.expressions --only expressions/
"""

from __future__ import annotations

import time
from itertools import islice

from gdb.errors import ArgumentProblem, NameProblem, QueryError, SyntaxProblem, TypeProblem
from gdb.evaluator import Evaluator
from gdb.language.clauses import Return, Unwind, With
from gdb.language.parser import parse
from gdb.language.syntax import Call
from gdb.values import times
from gdb.values.aggregates import AGGREGATES
from gdb.values.comparison import group_key, sort_key
from gdb.values.temporal_clock import clock_at


class NeedsGraph(Exception):
    """The query has a clause that this engine has not."""


def new_graph():
    return Session()


def error_class(error):
    """The TCK's name of an error; when it was found is not told."""
    match error:
        case SyntaxProblem() | NameProblem():
            return "SyntaxError", None, None
        case TypeProblem():
            return "TypeError", None, None
        case ArgumentProblem():
            return "ArgumentError", None, None
        case QueryError():
            return "ArithmeticError", None, None
    return type(error).__name__, None, None


class Session:
    def run(self, text, parameters):
        query = parse(text)
        if len(query.parts) != 1:
            raise NeedsGraph("UNION")
        evaluator = Evaluator(query.text, parameters)
        rows = [{}]
        with clock_at(time.time_ns()):
            for clause in query.parts[0]:
                rows = clause_rows(clause, rows, evaluator)
        columns = [item.name for item in query.parts[0][-1].items]
        return columns, [[given(row[name]) for name in columns] for row in rows], {}


def given(value):
    """A value as the TCK's runner compares it: temporal ones as text."""
    match value:
        case list():
            return [given(item) for item in value]
        case dict():
            return {key: given(item) for key, item in value.items()}
    return times.text(value) if times.is_temporal(value) else value


def clause_rows(clause, rows, evaluator):
    match clause:
        case Unwind():
            values = evaluator.compiled(clause.list)
            found = ((row, values(row)) for row in rows)
            return [{**row, clause.variable.text: item} for row, of in found for item in of or ()]
        case Return():
            return projected(clause, rows, evaluator)
        case With():
            made = projected(clause.projection, rows, evaluator)
            if clause.where is None:
                return made
            test = evaluator.condition(clause.where)
            return [row for row in made if test(row)]
    raise NeedsGraph(type(clause).__name__)


def projected(clause, rows, evaluator):
    aggregates = [aggregate_of(item.expression) for item in clause.items]
    if any(aggregates):
        return grouped(clause, aggregates, rows, evaluator)
    made = [(item.name, evaluator.compiled(item.expression)) for item in clause.items]
    result = []
    for row in rows:
        kept = dict(row) if clause.everything else {}
        result.append((row, {**kept, **{name: value(row) for name, value in made}}))
    if clause.distinct:
        result = list({group_key(new): (old, new) for old, new in reversed(result)}.values())[::-1]
    for item in reversed(clause.order):
        key = evaluator.compiled(item.expression)
        result.sort(key=lambda pair: sort_key(key({**pair[0], **pair[1]})), reverse=item.descending)
    start = evaluator.compiled(clause.skip)({}) if clause.skip else 0
    count = evaluator.compiled(clause.limit)({}) if clause.limit else None
    return [new for _, new in islice(result, start, None if count is None else start + count)]


def aggregate_of(expression):
    if isinstance(expression, Call):
        return AGGREGATES.get(expression.function.text.lower())
    return None


def grouped(clause, aggregates, rows, evaluator):
    if clause.order or clause.skip or clause.limit:
        raise NeedsGraph("aggregates in order")
    groups = {}
    keys = [
        None if a else evaluator.compiled(i.expression)
        for i, a in zip(clause.items, aggregates, strict=True)
    ]
    inputs = [
        [evaluator.compiled(argument) for argument in item.expression.arguments] if a else None
        for item, a in zip(clause.items, aggregates, strict=True)
    ]
    for row in rows or ([] if any(keys) else [None]):
        values = [key(row) if key else None for key in keys]
        group = groups.setdefault(
            group_key(values),
            [
                a.over(i.expression.distinct) if a else v
                for i, a, v in zip(clause.items, aggregates, values, strict=True)
            ],
        )
        if row is not None:
            for gathering, of in zip(group, inputs, strict=True):
                if of is not None:
                    gathering.add(*[value(row) for value in of])
    names = [item.name for item in clause.items]
    return [
        {n: g.result() if a else g for n, g, a in zip(names, group, aggregates, strict=True)}
        for group in groups.values()
    ]
