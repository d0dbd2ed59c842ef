"""Expressions row by row. `Evaluator` is all that other rooms use, and `Subqueries` what they give it."""

from gdb.physical.evaluator.context import Compiled, Condition, Subqueries
from gdb.physical.evaluator.evaluate import Evaluator

__all__ = ["Compiled", "Condition", "Evaluator", "Subqueries"]
