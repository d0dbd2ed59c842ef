"""The clauses that change the graph: CREATE, MERGE, SET, REMOVE, DELETE, FOREACH."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

from gdb.language import clauses, dialects, syntax
from gdb.language.clauses import Clause, SetItem
from gdb.language.dynamic_labels import HasNamed
from gdb.language.hidden_names import is_hidden
from gdb.language.pattern_syntax import NodePattern, PathPattern, RelationshipPattern
from gdb.language.reading import ReadingClauses
from gdb.language.syntax import Connective, Expression, Name
from gdb.records import replace


class WritingClauses(ReadingClauses):
    """Reads the clauses that write, each from behind its first words."""

    @abstractmethod
    def writing_clause(self) -> Clause:
        """A clause that is allowed in FOREACH."""

    def create(self, start: int) -> clauses.Create:
        """CREATE, behind its word. start : the token that the clause begins with; and so in the others."""
        cursor = self.cursor
        refused = dialects.CREATED.get(cursor.tokens[cursor.at].word)
        if refused is not None and not cursor.is_sign("=", ahead=1):
            raise cursor.not_supported(cursor.here, *refused)
        return clauses.Create(tuple(map(_created, self.patterns())), cursor.since(start))

    def merge(self, start: int) -> clauses.Merge:
        """MERGE with its ON CREATE and ON MATCH."""
        cursor, pattern = self.cursor, self.path()
        for part in pattern.parts:
            if isinstance(part.where, HasNamed):
                instead = "Write its name, or SET n:$(...) behind."
                raise cursor.not_supported(
                    part.where.place, "a label by $(...) in MERGE is", instead
                )
        on_create: list[SetItem] = []
        on_match: list[SetItem] = []
        while cursor.accept_word("ON"):
            items = on_create if cursor.is_word("CREATE") else on_match
            if not cursor.accept_word("CREATE") and not cursor.accept_word("MATCH"):
                raise cursor.unexpected("CREATE or MATCH after ON", ["CREATE", "MATCH"])
            if not cursor.accept_word("SET"):
                raise cursor.unexpected("SET", ["SET"])
            items += self._set_items()
        return clauses.Merge(pattern, tuple(on_create), tuple(on_match), cursor.since(start))

    # ---- SET, REMOVE -----------------------------------------------------------------------------

    def set_(self, start: int) -> clauses.Set:
        """SET."""
        items = self._set_items()
        return clauses.Set(items, self.cursor.since(start))

    def _set_items(self) -> tuple[SetItem, ...]:
        return self.cursor.separated(self._set_item)

    def _set_item(self) -> SetItem:
        cursor, start = self.cursor, self.cursor.at
        target = self.operand()
        parts = _of_labels(target)
        if parts and isinstance(parts[0].subject, syntax.Variable):
            labels, named = self._labels(parts)
            return clauses.SetLabels(parts[0].subject, labels, cursor.since(start), named)
        if isinstance(target, (syntax.Property, syntax.Index)):
            cursor.expect_sign("=", "of SET", "Write SET n.key = value.")
            return clauses.SetProperty(target, self.read(), cursor.since(start))
        if isinstance(target, syntax.Variable):
            add = cursor.accept_sign("+=")
            if not add:
                cursor.expect_sign("=", "of SET", "Write SET n.key = value, n += map or n:Label.")
            return clauses.SetAll(target, self.read(), add, cursor.since(start))
        raise cursor.error(
            target.place, "SET takes a property, a variable or labels.", "Write SET n.key = value."
        )

    def _labels(
        self, parts: tuple[syntax.HasLabels | HasNamed, ...]
    ) -> tuple[tuple[Name, ...], tuple[Expression, ...]]:
        """The labels to set or remove, and the expressions that name some."""
        labels: list[Name] = []
        for part in parts:
            alone = (
                all(len(t) == 1 for t in part.labels)
                if isinstance(part, syntax.HasLabels)
                else not part.any
            )
            if not alone:
                message = "a label that is set or removed is a single name."
                raise self.cursor.error(part.place, message, "Write n:A:B.")
            if isinstance(part, syntax.HasLabels):
                labels += (term[0] for term in part.labels)
        named = tuple(part.names for part in parts if isinstance(part, HasNamed))
        return tuple(labels), named

    def remove(self, start: int) -> clauses.Remove:
        """REMOVE."""
        found: list[syntax.Property | syntax.Index | syntax.HasLabels | HasNamed] = []
        while not found or self.cursor.accept_sign(","):
            target = self.operand()
            parts = _of_labels(target)
            if parts:
                self._labels(parts)
                found += parts
                continue
            if not isinstance(target, (syntax.Property, syntax.Index)):
                raise self.cursor.error(
                    target.place, "REMOVE takes a property or labels.", "Write REMOVE n.key."
                )
            found.append(target)
        return clauses.Remove(tuple(found), self.cursor.since(start))

    # ---- DELETE, FOREACH -------------------------------------------------------------------------

    def delete(self, start: int, detach: bool) -> clauses.Delete:
        """DELETE. detach : and the relationships of a node with it."""
        targets = self.cursor.separated(self.read)
        return clauses.Delete(targets, detach, self.cursor.since(start))

    def foreach(self, start: int) -> clauses.Foreach:
        """FOREACH with the clauses in it."""
        cursor, opening = self.cursor, self.cursor.at
        cursor.expect_sign("(", "of FOREACH", "Write FOREACH (x IN list | SET ...).")
        self.awaiting[opening] = 0
        variable, of = self.variable_in()
        self.awaiting.pop(opening, None)
        cursor.expect_sign("|", "before what FOREACH does")
        inner = [self.writing_clause()]
        while not cursor.is_sign(")"):
            inner.append(self.writing_clause())
        cursor.take()
        return clauses.Foreach(variable, of, tuple(inner), cursor.since(start))


def _of_labels(target: Expression) -> tuple[syntax.HasLabels | HasNamed, ...]:
    """The parts of n:A:$(x); none where it is something else."""
    whole = isinstance(target, syntax.Connected) and target.connective is Connective.AND
    several = target.operands if whole and isinstance(target, syntax.Connected) else (target,)
    found = tuple(part for part in several if isinstance(part, (syntax.HasLabels, HasNamed)))
    return found if len(found) == len(several) else ()


def _created(path: PathPattern) -> PathPattern:
    """The pattern with the labels and types of $(...) as what is to be made, and no condition."""
    nodes = tuple(_by_names(node) for node in path.nodes)
    relationships = tuple(_by_names(one) for one in path.relationships)
    if nodes == path.nodes and relationships == path.relationships:
        return path
    return replace(path, nodes=nodes, relationships=relationships)


Part = TypeVar("Part", NodePattern, RelationshipPattern)


def _by_names(part: Part) -> Part:
    tests = () if part.where is None else _of_labels(part.where)
    named = tuple(test.names for test in tests if isinstance(test, HasNamed) and not test.any)
    if not tests or len(named) < len(tests):
        return part
    hidden = part.variable is not None and is_hidden(part.variable.text)
    return replace(part, variable=None if hidden else part.variable, where=None, named=named)
