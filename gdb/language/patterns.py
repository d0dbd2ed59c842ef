"""Patterns: nodes in parentheses, relationships as arrows between them."""

from __future__ import annotations

from gdb.language.cursor import Cursor
from gdb.language.expressions import ExpressionReader
from gdb.language.labels import alternatives, label_terms
from gdb.language.syntax import (
    Expression,
    LabelTerms,
    Name,
    NodePattern,
    PathPattern,
    Place,
    RelationshipPattern,
)
from gdb.language.tokens import Kind, Token
from gdb.storage.adjacency import Direction

_HOPS = "Write each relationship out, one query for each length."


class PatternReader:
    """Reads the comma-separated patterns of a MATCH."""

    def __init__(self, cursor: Cursor, expressions: ExpressionReader) -> None:
        self.cursor = cursor
        self.expressions = expressions

    def read(self) -> tuple[PathPattern, ...]:
        found = [self._path()]
        while self.cursor.accept_sign(","):
            found.append(self._path())
        return tuple(found)

    def _path(self) -> PathPattern:
        self._refuse_named()
        nodes, relationships = [self._node()], []
        while self.cursor.is_sign("-", "<"):
            relationships.append(self._relationship())
            self._refuse_quantified()
            nodes.append(self._node())
        return PathPattern(tuple(nodes), tuple(relationships))

    def _refuse_named(self) -> None:
        cursor, token = self.cursor, self.cursor.peek()
        named = token.kind in (Kind.NAME, Kind.QUOTED)
        if named and cursor.is_sign("=", ahead=1):
            raise cursor.not_supported(
                token.place.to(cursor.peek(1).place),
                "a name for a whole path is",
                "Name its nodes and relationships instead.",
            )
        if token.word in ("SHORTESTPATH", "ALLSHORTESTPATHS") and cursor.is_sign("(", ahead=1):
            raise cursor.not_supported(token.place, f"{token.text}() is", _HOPS)
        if token.word in ("ANY", "ALL", "SHORTEST", "WALK", "TRAIL", "ACYCLIC", "SIMPLE"):
            raise cursor.not_supported(token.place, "a path selector is", _HOPS)

    def _refuse_quantified(self) -> None:
        token = self.cursor.peek()
        if token.is_sign("{", "+", "*"):
            raise self.cursor.not_supported(token.place, "repeating a relationship is", _HOPS)

    # ---- nodes -----------------------------------------------------------------------------------

    def _node(self) -> NodePattern:
        cursor = self.cursor
        start = cursor.expect_sign("(", "of a node", "A node is written (name:Label).")
        if cursor.is_sign("("):
            raise cursor.not_supported(
                start.place, "a pattern in parentheses is", "Leave the parentheses out."
            )
        variable = None if cursor.is_sign(":", "{", ")") else self._variable("node")
        labels: LabelTerms = label_terms(cursor) if cursor.is_sign(":") else ()
        properties = self._properties()
        self._refuse_where()
        if not cursor.is_sign(")"):
            raise cursor.unexpected("')' to close the node", cure=self._node_cure(start))
        cursor.take()
        return NodePattern(variable, labels, properties, cursor.since(start))

    def _node_cure(self, start: Token) -> str:
        token = self.cursor.peek()
        if token.kind in (Kind.NAME, Kind.QUOTED):
            return "A label is written with a colon, as in (a:Person)."
        if token.is_sign("|"):
            return "Alternatives stand after one colon, as in (a:Person|City)."
        return "A node is written (name:Label {key: value})."

    def _variable(self, what: str) -> Name:
        return self.cursor.name(f"a name, a label or the end of the {what}")

    def _refuse_where(self) -> None:
        if self.cursor.is_word("WHERE"):
            raise self.cursor.not_supported(
                self.cursor.peek().place,
                "WHERE inside a pattern is",
                "Write WHERE after the last pattern.",
            )

    # ---- relationships ---------------------------------------------------------------------------

    def _relationship(self) -> RelationshipPattern:
        cursor = self.cursor
        start = cursor.peek()
        arrow_in = cursor.accept_sign("<") is not None
        cursor.expect_sign("-", "of a relationship", "Write --> or -[r:TYPE]-> between nodes.")
        variable, types, properties = self._bracket() if cursor.is_sign("[") else (None, (), ())
        if not cursor.is_sign("-"):
            raise cursor.unexpected(
                "'-' of a relationship", cure="Write --> or -[r:TYPE]->, <-- or --."
            )
        cursor.take()
        arrow_out = cursor.accept_sign(">") is not None
        place = cursor.since(start)
        if arrow_in == arrow_out:
            direction = Direction.ANY
        else:
            direction = Direction.IN if arrow_in else Direction.OUT
        return RelationshipPattern(variable, types, properties, direction, place)

    def _bracket(
        self,
    ) -> tuple[Name | None, tuple[Name, ...], tuple[tuple[Name, Expression], ...]]:
        cursor = self.cursor
        cursor.take()
        variable = None
        if not cursor.is_sign(":", "{", "]", "*"):
            variable = self._variable("relationship")
        types: tuple[Name, ...] = ()
        if cursor.accept_sign(":"):
            types = alternatives(cursor, "a relationship type")
        if cursor.is_sign("*"):
            raise cursor.not_supported(
                cursor.peek().place, "a relationship of variable length is", _HOPS
            )
        if cursor.is_sign("&", ":"):
            raise cursor.error(
                cursor.peek().place,
                "a relationship has one type.",
                "Write alternatives as [:A|B].",
            )
        properties = self._properties()
        self._refuse_where()
        if not cursor.is_sign("]"):
            named = cursor.peek().kind in (Kind.NAME, Kind.QUOTED)
            cure = "A type is written with a colon, as in -[r:KNOWS]->." if named else ""
            raise cursor.unexpected("']' to close the relationship", cure=cure)
        cursor.take()
        return variable, types, properties

    # ---- property maps ---------------------------------------------------------------------------

    def _properties(self) -> tuple[tuple[Name, Expression], ...]:
        cursor = self.cursor
        if cursor.is_sign("$"):
            raise cursor.not_supported(
                Place(cursor.peek().place.start, cursor.peek(1).place.end),
                "a parameter for a whole property map is",
                "Write {key: $value} for each key.",
            )
        if not cursor.accept_sign("{"):
            return ()
        found: list[tuple[Name, Expression]] = []
        while not cursor.is_sign("}"):
            key = cursor.name("the name of a property")
            cursor.expect_sign(
                ":", "after the name of a property", "A property map is written {key: value}."
            )
            found.append((key, self.expressions.read()))
            if not cursor.accept_sign(","):
                break
        cursor.expect_sign("}", "or ',' in a property map")
        return tuple(found)
