"""The end of a comprehension, behind its list or pattern: [WHERE condition] [| result]

A `|` may also be part of a label expression or of a type in the condition: `[(a)-->(b) WHERE b:A|B | b.k]`. The first
one before which there is a condition and behind which there is a result is the comprehension's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gdb.errors import SyntaxProblem

if TYPE_CHECKING:
    from gdb.language.atoms import AtomReader
    from gdb.language.syntax import Expression


def where_and_result(
    reader: AtomReader, start: int, *, needed: bool
) -> tuple[Expression | None, Expression | None]:
    """The condition and the result at the cursor, up to the closing bracket, which is read.

    start : the opening bracket. needed : whether there must be a result.

    Raises
    ------
    SyntaxProblem : at the first `|` that was tried.
    """
    cursor, begin, depth = reader.cursor, reader.cursor.at, reader.depth
    if start in reader.chosen:  # it is read once more, as a part of what is
        bars = [reader.chosen[start]]
    else:
        bars = [bar for bar in cursor.brackets.with_bar.get(start, ()) if bar >= begin] or [0]
    failed: SyntaxProblem | None = None
    for bar in bars:
        cursor.at, reader.depth = begin, depth
        reader.awaiting[start] = bar
        try:
            where = reader.read() if cursor.accept_word("WHERE") else None
            reader.awaiting.pop(start, None)
            result = None
            if needed or cursor.is_sign("|"):
                cursor.expect_sign("|", "before the result of the comprehension")
                result = reader.read()
            cursor.expect_sign("]", "to close the comprehension")
        except SyntaxProblem as problem:
            failed = failed or problem
            continue
        finally:
            reader.awaiting.pop(start, None)
        reader.chosen[start] = bar
        return where, result
    assert failed is not None
    reader.chosen[start] = bars[0]
    raise failed
