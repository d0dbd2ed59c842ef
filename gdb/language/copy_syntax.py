"""The statement that imports files: COPY."""

from __future__ import annotations

from gdb.language.clauses import Copy
from gdb.language.syntax import Name, NodePattern, PathPattern, RelationshipPattern
from gdb.language.writing_clauses import WritingClauses
from gdb.storage.format.direction import Direction

_CURE = "Write (:Label), or ()-[:TYPE]->(), or (:Label)-[:TYPE]->(:Label), or FROM at once."


class CopyStatement(WritingClauses):
    """Reads COPY."""

    def copy(self, start: int) -> Copy:
        """From behind its first word."""
        cursor = self.cursor
        pattern = None if cursor.is_word("FROM") else self.path()
        if not cursor.accept_word("FROM"):
            raise cursor.unexpected("FROM", ["FROM"], "Write COPY (:Label) FROM 'people.csv'.")
        sources = cursor.separated(self.read)
        options = self.read() if cursor.accept_word("OPTIONS") else None
        end = sources, options, cursor.since(start)
        if pattern is None:
            return Copy("graph", None, True, *end)
        self._check(pattern)
        if not pattern.relationships:
            (node,) = pattern.nodes
            label = self._one([name for term in node.labels for name in term], node, "label")
            return Copy("nodes", label, True, *end)
        (relationship,) = pattern.relationships
        type_ = self._one(relationship.types, relationship, "type")
        directed = relationship.direction is not Direction.ANY
        return Copy("relationships", type_, directed, *end, self._ends(pattern))

    def _ends(self, pattern: PathPattern) -> tuple[Name, Name] | None:
        """The labels of both ends of a pattern of relationships, None where it has none."""
        start, end = (
            self._one([name for term in node.labels for name in term], node, "label")
            for node in pattern.nodes
        )
        if start is not None and end is not None:
            return start, end
        if start is None and end is None:
            return None
        message = "one end of the relationships of COPY has a label, the other has none."
        cure = "Write both, as in (:Person)-[:LIVES_IN]->(:City), or ()-[:LIVES_IN]->()."
        raise self.cursor.error(pattern.nodes[start is not None].place, message, cure)

    def _check(self, pattern: PathPattern) -> None:
        """Refuse what says more than a label or a type."""
        parts = pattern.parts
        more = pattern.name is not None or pattern.selector is not None or len(parts) > 3
        for part in parts:
            details = (part.variable, part.given, part.where)
            bare = details == (None, None, None) and not part.properties
            if more or not bare or (isinstance(part, RelationshipPattern) and part.length):
                message = "COPY takes a label or a type, and nothing else of a pattern."
                raise self.cursor.error(part.place, message, _CURE)
        if pattern.relationships and pattern.relationships[0].direction is Direction.IN:
            message = "the relationships of COPY go from the first to the second node."
            raise self.cursor.error(pattern.relationships[0].place, message, "Write -[:TYPE]->.")

    def _one(
        self,
        names: tuple[Name, ...] | list[Name],
        part: NodePattern | RelationshipPattern,
        what: str,
    ) -> Name | None:
        if len(names) > 1:
            message = f"COPY takes one {what}."
            cure = "Nodes of several labels have a column :LABEL, and relationships :TYPE."
            raise self.cursor.error(part.place, message, cure)
        return names[0] if names else None
