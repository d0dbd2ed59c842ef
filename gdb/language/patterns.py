"""Patterns: nodes in parentheses, relationships as arrows between them, and which paths are meant."""

from __future__ import annotations

from gdb.language import syntax
from gdb.language.expressions import ExpressionReader
from gdb.language.hidden_names import HIDDEN
from gdb.language.labels import LabelExpression, label_expression
from gdb.language.mentioned_names import mentioned, of_pattern
from gdb.language.pattern_syntax import (
    Length,
    NodePattern,
    PathMode,
    PathPattern,
    RelationshipPattern,
    Selector,
)
from gdb.language.syntax import Connective, Expression, Name, Place, walk
from gdb.language.tokens import TokenKind
from gdb.records import dataclass, quick, replace
from gdb.storage.format.direction import Direction

_NAMES = (TokenKind.NAME, TokenKind.QUOTED)
PATH_WORDS = (
    *("ANY", "ALL", "SHORTEST", "WALK", "TRAIL", "ACYCLIC", "SIMPLE"),
    *("SHORTESTPATH", "ALLSHORTESTPATHS"),
)


@quick
@dataclass(frozen=True, slots=True)
class _Filling:
    """The property map of a node or relationship, and the WHERE after it."""

    properties: tuple[tuple[Name, Expression], ...] = ()
    given: Expression | None = None
    where: Expression | None = None


_EMPTY = _Filling()
_NOWHERE = Place(0, 0)
_NOBODY = NodePattern(None, (), (), _NOWHERE)
# A word that goes on behind a pattern: what is open before it was to be closed.
_ENDS = (
    "RETURN",
    "WITH",
    "WHERE",
    "LIMIT",
    "ORDER BY",
    "SET",
    "CREATE",
    "MERGE",
    "DELETE",
    "UNWIND",
)
_ANY_LABELS = LabelExpression((), (), Place(0, 0))


@quick
@dataclass(frozen=True, slots=True)
class _Bracket:
    """The part between [ and ]."""

    variable: Name | None = None
    types: tuple[Name, ...] = ()
    length: Length | None = None
    filling: _Filling = _EMPTY


def both(first: Expression | None, second: Expression | None) -> Expression | None:
    """first AND second, as far as they are there."""
    if first is None or second is None:
        return first or second
    operands = [
        operand
        for part in (first, second)
        for operand in (
            part.operands
            if isinstance(part, syntax.Connected) and part.connective is Connective.AND
            else (part,)
        )
    ]
    return syntax.Connected(Connective.AND, tuple(operands), first.place.to(second.place))


class PatternReader(ExpressionReader):
    """Reads patterns."""

    def patterns(self) -> tuple[PathPattern, ...]:
        """Patterns separated by commas."""
        return self.cursor.separated(self.path)

    def path(self, inside_expression: bool = False) -> PathPattern:
        """One pattern. inside_expression : a minus may follow, which is no relationship."""
        cursor, name = self.cursor, None
        if cursor.at > cursor.next_pulse:
            cursor.beat()
        if cursor.tokens[cursor.at].sign == "(":  # most patterns begin with their first node
            return PathPattern(*self._chain(inside_expression))
        if cursor.peek().kind in _NAMES and cursor.is_sign("=", ahead=1):
            name = cursor.name("a name for the path")
            cursor.take()
        if cursor.is_word("SHORTESTPATH", "ALLSHORTESTPATHS") and cursor.is_sign("(", ahead=1):
            return self._shortest_path(name)
        selector = self._selector()
        mode = self._mode_of_path()
        start = cursor.at
        nodes, relationships = self._chain(inside_expression)
        if selector is not None and any(one.repeated for one in relationships):
            what = "a shortest path through a pattern that is repeated is"
            instead = (
                "Repeat a relationship, as in ANY SHORTEST (a)-[:T]->+(b), or ORDER BY length(p)."
            )
            raise cursor.not_supported(cursor.place(start), what, instead)
        return PathPattern(nodes, relationships, name, selector, mode)

    def _chain(
        self, inside_expression: bool
    ) -> tuple[tuple[NodePattern, ...], tuple[RelationshipPattern, ...]]:
        cursor = self.cursor
        nodes: list[NodePattern] = []
        relationships: list[RelationshipPattern] = []
        if self._parenthesis_begins():
            start = cursor.at
            first = self._in_parentheses()
            if not cursor.is_sign("{", "+", "*"):
                return self._grouped(first, start)
            nodes.append(self._nobody())
            relationships.append(self._repeated(first, start))
            nodes.append(self._node_or_nobody())
        else:
            nodes.append(self._node())
        while (sign := cursor.tokens[cursor.at].sign) in ("-", "<", "("):
            if sign == "(" and not self._parenthesis_begins():
                break
            if inside_expression and sign != "(" and not self.relationship_begins(cursor.at):
                break
            if sign == "(":
                start = cursor.at
                relationships.append(self._repeated(self._in_parentheses(), start))
                nodes.append(self._node_or_nobody())
            else:
                relationships.append(self._relationship())
                nodes.append(self._node())
        return tuple(nodes), tuple(relationships)

    def _parenthesis_begins(self) -> bool:
        cursor = self.cursor
        return cursor.tokens[cursor.at].sign == "(" and cursor.tokens[cursor.at + 1].sign == "("

    # ---- patterns in parentheses -----------------------------------------------------------------

    def _in_parentheses(self) -> tuple[PathPattern, Expression | None]:
        """A pattern in parentheses, and its WHERE."""
        cursor = self.cursor
        cursor.take()
        nodes, relationships = self._chain(False)
        where = self.read() if cursor.accept_word("WHERE") else None
        cursor.expect_sign(")", "to close the pattern")
        return PathPattern(nodes, relationships), where

    def _grouped(
        self, found: tuple[PathPattern, Expression | None], start: int
    ) -> tuple[tuple[NodePattern, ...], tuple[RelationshipPattern, ...]]:
        """The pattern of parentheses that nothing repeats."""
        cursor, (path, where) = self.cursor, found
        if where is not None:
            what, instead = "WHERE in a pattern in parentheses is", "Write it after the pattern."
            raise cursor.not_supported(cursor.place(start), what, instead)
        if cursor.is_sign("-", "<", "("):
            what = "a pattern that goes on behind parentheses is"
            raise cursor.not_supported(cursor.place(start), what, "Leave the parentheses out.")
        return path.nodes, path.relationships

    def _repeated(
        self, found: tuple[PathPattern, Expression | None], start: int
    ) -> RelationshipPattern:
        """A pattern in parentheses that is repeated; one relationship and nothing else is itself repeated."""
        cursor, (path, where) = self.cursor, found
        length = self._quantifier(None)
        place = cursor.since(start)
        if length is None:
            cure = "Write how often behind it, as in ((x)-->(y)){1,3}."
            raise cursor.error(place, "a pattern in parentheses follows another.", cure)
        plain = all(replace(node, place=_NOWHERE) == _NOBODY for node in path.nodes)
        if len(path.relationships) == 1 and plain and where is None:
            (only,) = path.relationships
            if only.length is None and only.repeated is None:
                return replace(only, length=length)
        self._check_repeated(path, where, place)
        if length.high is None:
            what = "repeating a pattern any number of times is"
            instead = "Write a bound, as in {1,10}; a single relationship needs none: -[:T]->+."
            raise cursor.not_supported(place, what, instead)
        return RelationshipPattern(
            *(None, (), (), Direction.ANY, place, length, None, where), repeated=path
        )

    def _check_repeated(self, path: PathPattern, where: Expression | None, place: Place) -> None:
        cursor = self.cursor
        if not path.relationships:
            raise cursor.error(place, "a pattern that is repeated has a relationship.")
        for one in path.relationships:
            if one.length is not None:
                what = "a length inside a pattern that is repeated is"
                raise cursor.not_supported(one.place, what, "Write its relationships out.")
        own = of_pattern(path)
        inner = [value for part in path.parts for _, value in part.properties]
        inner += [part.where for part in path.parts if part.where is not None]
        inner += [] if where is None else [where]
        for part in (part for one in inner for part in walk(one)):
            scoped = isinstance(
                part, (syntax.PatternTest, syntax.PatternComprehension, syntax.Subquery)
            )
            if scoped and mentioned(part) & own:
                what = "a pattern or subquery inside a pattern that is repeated is"
                raise cursor.not_supported(
                    part.place, what, "Write it behind, with all() or any()."
                )

    def _nobody(self) -> NodePattern:
        return NodePattern(None, (), (), self.cursor.here)

    def _node_or_nobody(self) -> NodePattern:
        if self.cursor.is_sign("(") and not self._parenthesis_begins():
            return self._node()
        return self._nobody()

    # ---- which paths -----------------------------------------------------------------------------

    def _shortest_path(self, name: Name | None) -> PathPattern:
        cursor, start = self.cursor, self.cursor.at
        word = cursor.take()
        cursor.take()
        nodes, relationships = self._chain(False)
        place = cursor.place(start).to(cursor.here)
        cursor.expect_sign(")", f"to close {word.text}()")
        if len(relationships) != 1:
            raise cursor.error(
                place,
                f"{word.text}() takes a pattern of one relationship.",
                f"Write {word.text}((a)-[*]-(b)).",
            )
        one = word.word == "SHORTESTPATH"
        return PathPattern(
            nodes, relationships, name, Selector("SHORTEST" if one else "ALL SHORTEST")
        )

    def _selector(self) -> Selector | None:
        """ANY, ANY k, ANY SHORTEST, ALL SHORTEST, SHORTEST k; the word PATHS may follow. ALL alone selects nothing."""
        cursor = self.cursor
        if cursor.accept_word("ANY SHORTEST"):
            return Selector("SHORTEST")
        if cursor.accept_word("ALL SHORTEST"):
            return Selector("ALL SHORTEST")
        if cursor.accept_word("SHORTEST"):
            return Selector("SHORTEST", self._count_of_paths())
        if cursor.accept_word("ANY"):
            return Selector("ANY", self._count_of_paths())
        cursor.accept_word("ALL")
        return None

    def _count_of_paths(self) -> int:
        cursor = self.cursor
        if cursor.peek().kind is not TokenKind.INTEGER:
            return 1
        count = self._whole()
        if count == 0:
            raise cursor.error(cursor.last, "a number of paths is 1 or more.")
        return count

    def _mode_of_path(self) -> PathMode:
        """The mode, and the words PATH and PATHS, which say nothing."""
        cursor, mode = self.cursor, PathMode.TRAIL
        if cursor.is_word("SIMPLE"):
            raise cursor.not_supported(cursor.here, "SIMPLE is", "ACYCLIC is near it.")
        for other in PathMode:
            if cursor.accept_word(other):
                mode = other
                break
        if not cursor.accept_word("PATHS"):
            cursor.accept_word("PATH")
        if cursor.is_word("GROUP", "GROUPS"):
            raise cursor.not_supported(
                cursor.here, "GROUPS is", "ALL SHORTEST gives the first group."
            )
        return mode

    # ---- nodes -----------------------------------------------------------------------------------

    def _node(self) -> NodePattern:
        cursor, start = self.cursor, self.cursor.at
        if not cursor.is_sign("("):
            comma = start > 0 and cursor.tokens[start - 1].sign == "," and cursor.is_word(*_ENDS)
            cure = "Leave out the comma before it." if comma else "A node is written (name:Label)."
            raise cursor.unexpected("'(' of a node", cure=cure)
        cursor.at += 1
        variable = self._variable("node", ":", "{", ")", "$")
        labels = label_expression(self) if cursor.is_sign(":") else _ANY_LABELS
        filling = _EMPTY if cursor.is_sign(")") else self._filling()
        if not cursor.accept_sign(")"):
            raise cursor.unexpected("')' to close the node", cure=self._node_cure(start))
        place = cursor.since(start)
        where = filling.where
        if labels.others:
            variable = variable or Name(f"{HIDDEN}n{start}", place)
            subject = syntax.Variable(variable.text, labels.place)
            where = both(labels.condition(subject, "node"), where)
        return NodePattern(variable, labels.terms, filling.properties, place, filling.given, where)

    def _node_cure(self, start: int) -> str:
        """start : the token of its parenthesis."""
        cursor, token = self.cursor, self.cursor.peek()
        if cursor.at > start + 1 and (token.kind is TokenKind.END or cursor.is_word(*_ENDS)):
            return f"Close it: {cursor.text[cursor.starts[start] : cursor.ends[cursor.at - 1]]})"
        if token.kind in _NAMES:
            return "A label is written with a colon, as in (a:Person)."
        if token.is_sign("|"):
            return "Alternatives follow one colon, as in (a:Person|City)."
        return "A node is written (name:Label {key: value})."

    def _variable(self, what: str, *ends: str) -> Name | None:
        """The name, unless one of the signs or WHERE comes first."""
        cursor = self.cursor
        token = cursor.tokens[cursor.at]
        if token.sign in ends:
            return None
        if (
            token.word == "WHERE"
            and cursor.is_word("WHERE")
            and not cursor.is_sign(":", ")", "]", "*", ahead=1)
        ):
            return None
        return cursor.name(f"a name, a label or the end of the {what}")

    def _filling(self) -> _Filling:
        """{key: value} or $parameter, and WHERE."""
        cursor = self.cursor
        properties: tuple[tuple[Name, Expression], ...] = ()
        property_map: Expression | None = None
        if cursor.is_sign("{"):
            properties = self.map_entries()
        elif cursor.is_sign("$"):
            property_map = self.atom()
        where = self.read() if cursor.accept_word("WHERE") else None
        return _Filling(properties, property_map, where)

    # ---- relationships ---------------------------------------------------------------------------

    def _relationship(self) -> RelationshipPattern:
        cursor, start = self.cursor, self.cursor.at
        arrow_in = cursor.accept_sign("<")
        cursor.expect_sign("-", "of a relationship", "Write --> or -[r:TYPE]-> between nodes.")
        inside = self._bracket() if cursor.is_sign("[") else _Bracket()
        if not cursor.is_sign("-"):
            raise cursor.unexpected(
                "'-' of a relationship", cure="Write --> or -[r:TYPE]->, <-- or --."
            )
        cursor.take()
        arrow_out = cursor.accept_sign(">")
        place = cursor.since(start)
        length = self._quantifier(inside.length)
        if arrow_in == arrow_out:
            direction = Direction.ANY
        else:
            direction = Direction.IN if arrow_in else Direction.OUT
        filling = inside.filling
        return RelationshipPattern(
            *(inside.variable, inside.types, filling.properties, direction, place),
            *(length, filling.given, filling.where),
        )

    def _bracket(self) -> _Bracket:
        cursor, start = self.cursor, self.cursor.at
        cursor.take()
        variable = self._variable("relationship", ":", "{", "]", "*", "$")
        of_type = _ANY_LABELS
        if cursor.is_sign(":"):
            of_type = label_expression(self, what="a relationship type")
        types = self._one_of(of_type) if of_type.terms else ()
        length = self._star() if cursor.is_sign("*") else None
        filling = self._filling()
        if of_type.others:
            variable = variable or Name(f"{HIDDEN}r{start}", of_type.place)
            subject = syntax.Variable(variable.text, of_type.place)
            where = both(of_type.condition(subject, "relationship"), filling.where)
            filling = replace(filling, where=where)
        if not cursor.is_sign("]"):
            named = cursor.peek().kind in _NAMES
            cure = (
                "A type is written with a colon, as in -[r:KNOWS]->."
                if named
                else "Write ] before it."
            )
            raise cursor.unexpected("']' to close the relationship", cure=cure)
        cursor.take()
        return _Bracket(variable, types, length, filling)

    def _one_of(self, of_type: LabelExpression) -> tuple[Name, ...]:
        """The types that a relationship may have, any one of them; none for all."""
        if not of_type.terms:
            return ()
        first, *others = of_type.terms
        names = set.intersection(*({name.text for name in term} for term in of_type.terms))
        if not names:
            message, cure = "a relationship has one type.", "Write alternatives as [:A|B]."
            raise self.cursor.error(of_type.place, message, cure)
        return tuple(name for name in first if name.text in names) if others else first

    # ---- lengths ---------------------------------------------------------------------------------

    def _star(self) -> Length:
        """*, *2, *1..3, *..5, *0.."""
        cursor = self.cursor
        cursor.take()
        low = self._whole() if cursor.peek().kind is TokenKind.INTEGER else None
        if not cursor.accept_sign(".."):
            return Length(1, None) if low is None else Length(low, low)
        if cursor.is_sign("."):
            raise cursor.unexpected("the largest length", cure="Write two dots, as in *1..3.")
        high = self._whole() if cursor.peek().kind is TokenKind.INTEGER else None
        return Length(1 if low is None else low, high)

    def _quantifier(self, written: Length | None) -> Length | None:
        """{2}, {1,3}, {,3}, + or * after a relationship."""
        cursor, start = self.cursor, self.cursor.at
        sign = cursor.peek().sign
        if sign not in ("{", "+", "*"):
            return written
        cursor.take()
        length = self._braces() if sign == "{" else Length(1 if sign == "+" else 0, None)
        if written is not None:
            raise cursor.error(
                cursor.since(start), "a relationship has two lengths.", "Leave one of them out."
            )
        return length

    def _braces(self) -> Length:
        cursor = self.cursor
        low = self._whole() if cursor.peek().kind is TokenKind.INTEGER else None
        if cursor.accept_sign(","):
            high = self._whole() if cursor.peek().kind is TokenKind.INTEGER else None
            low = low or 0
        elif low is None:
            raise cursor.unexpected("a number of repetitions", cure="Write {2} or {1,3}.")
        else:
            high = low
        cursor.expect_sign("}", "after the number of repetitions")
        return Length(low, high)

    def _whole(self) -> int:
        value = self.number(self.cursor.at, 1).value
        assert isinstance(value, int)
        return value
