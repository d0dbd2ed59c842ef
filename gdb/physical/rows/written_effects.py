"""Effects of clauses that write, as far as their text says them: what they make, look for, set and read. They decide
whether one clause for all rows and then the next gives the same graph as all clauses for one row after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from gdb.language.clauses import Clause, Create, Foreach, Merge, Set, SetItem, SetProperty
from gdb.language.mentioned_names import all_expressions, asks
from gdb.language.pattern_syntax import NodePattern, PathPattern, RelationshipPattern
from gdb.language.syntax import Call, Expression, Property, walk
from gdb.physical.rows.merge_independence import reads_all_properties
from gdb.records import dataclass

Element = tuple[frozenset[str], frozenset[str]]
"""Labels, or the type, and the keys of the properties of what a clause makes or looks for."""


@dataclass(frozen=True, slots=True)
class _Effects:
    """Of one clause. makes, seeks : nodes and relationships; what MERGE looks for it also makes. gets : of these what
    is the same, whichever clause made it. sets : keys of properties. reads : keys that its expressions read."""

    makes: frozenset[Element]
    seeks: frozenset[Element]
    gets: frozenset[Element]
    sets: frozenset[str]
    reads: frozenset[str]

    @property
    def touches(self) -> frozenset[str]:
        """The keys of properties whose values matter to it."""
        return self.sets | self.reads.union(*(keys for _, keys in self.seeks))


class _Unknown(Exception):
    """The text does not say it."""


def order_is_free(clauses: Sequence[Clause], names: Iterable[str]) -> bool:
    """Whether the order in which some clauses are done for several rows is of no consequence, as long as the clauses of
    each row, and the rows of each clause, are in order. names : that the rows have.

    Sufficient: no clause looks for what another one makes, unless both get or create the same; none reads, looks for or
    sets a property that another one sets.
    """
    known = set(names)
    try:
        every = list(_all(clauses, known))
    except _Unknown:
        return False
    return not any(_meet(one, other) or _meet(other, one) for one, other in combinations(every, 2))


def _meet(one: _Effects, other: _Effects) -> bool:
    """Whether one clause sets what another one touches, or makes what that may find and would not have made."""
    return not one.sets.isdisjoint(other.touches) or any(
        labels <= made[0] and keys <= made[1]
        for made in one.makes
        for labels, keys in other.seeks
        if not (made == (labels, keys) and made in one.gets and made in other.gets)
    )


def _all(clauses: Sequence[Clause], known: set[str]) -> Iterator[_Effects]:
    for clause in clauses:
        expressions = list(all_expressions(clause))
        if any(map(asks, expressions)):
            raise _Unknown
        makes = seeks = gets = frozenset[Element]()
        sets = frozenset[str]()
        match clause:
            case Create(patterns=patterns):
                makes = frozenset(one for path in patterns for one in _elements(path, known, True))
            case Merge(pattern=path, on_create=created, on_match=matched):
                makes = seeks = frozenset(_elements(path, known, False))
                sets = frozenset(map(_key, (*created, *matched)))
                gets = frozenset() if sets else makes
            case Set(items=items):
                sets = frozenset(map(_key, items))
            case Foreach(variable=variable, list=items, clauses=inner):
                yield from _all(inner, {*known, variable.text})
                expressions = [items]
            case _:
                raise _Unknown
        reads = keys_read(expressions)
        if reads is None:
            raise _Unknown
        yield _Effects(makes, seeks, gets, sets, reads)


def _elements(path: PathPattern, known: set[str], created: bool) -> Iterator[Element]:
    """What a path makes of its own; its names are known from then on. Of MERGE one node, or relationships between nodes
    that the rows have."""
    new = [node for node in path.nodes if node.variable is None or node.variable.text not in known]
    if not created and path.relationships and new:
        raise _Unknown
    for node in new:
        if any(len(term) != 1 for term in node.labels):
            raise _Unknown
        yield _element(node, [term[0].text for term in node.labels])
    for one in path.relationships:
        yield _element(one, [f":{type_.text}" for type_ in one.types])  # no label is a type
    known.update(part.variable.text for part in path.parts if part.variable is not None)


def _element(part: NodePattern | RelationshipPattern, names: Iterable[str]) -> Element:
    if part.named or part.given is not None or part.where is not None:
        raise _Unknown
    return frozenset(names), frozenset(key.text for key, _ in part.properties)


def _key(item: SetItem) -> str:
    if isinstance(item, SetProperty) and isinstance(item.target, Property):
        return item.target.key.text
    raise _Unknown


def keys_read(expressions: Iterable[Expression]) -> frozenset[str] | None:
    """The keys of the properties that some expressions read; None where their text does not say it, or they read the
    labels of an element."""
    found: set[str] = set()
    for expression in expressions:
        for part in walk(expression):
            if isinstance(part, Property):
                found.add(part.key.text)
            elif reads_all_properties(part) or _reads_labels(part):
                return None
    return frozenset(found)


def _reads_labels(part: Expression) -> bool:
    return isinstance(part, Call) and part.function.text.lower() == "labels"
