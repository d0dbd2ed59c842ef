"""The clauses that change the graph: CREATE, MERGE, SET, REMOVE, DELETE, FOREACH."""

from __future__ import annotations

from abc import abstractmethod

from gdb.language import dialects
from gdb.language.clauses import (
    Clause,
    Create,
    Delete,
    Foreach,
    Merge,
    Remove,
    Set,
    SetAll,
    SetItem,
    SetLabels,
    SetProperty,
)
from gdb.language.reading import ReadingClauses
from gdb.language.syntax import (
    Expression,
    HasLabels,
    Index,
    Name,
    Property,
    Variable,
)


class WritingClauses(ReadingClauses):
    """Reads the clauses that write, each from behind its first words."""

    @abstractmethod
    def writing_clause(self) -> Clause:
        """A clause that may stand in FOREACH."""

    def create(self, start: int) -> Create:
        cursor = self.cursor
        refused = dialects.CREATED.get(cursor.tokens[cursor.at].word)
        if refused is not None and not cursor.is_sign("=", ahead=1):
            raise cursor.not_supported(cursor.here, *refused)
        return Create(self.patterns(), cursor.since(start))

    def merge(self, start: int) -> Merge:
        cursor, pattern = self.cursor, self.path()
        on_create: list[SetItem] = []
        on_match: list[SetItem] = []
        while cursor.accept_word("ON"):
            items = on_create if cursor.is_word("CREATE") else on_match
            if not cursor.accept_word("CREATE") and not cursor.accept_word("MATCH"):
                raise cursor.unexpected("CREATE or MATCH after ON", ["CREATE", "MATCH"])
            if not cursor.accept_word("SET"):
                raise cursor.unexpected("SET", ["SET"])
            items += self._set_items()
        return Merge(pattern, tuple(on_create), tuple(on_match), cursor.since(start))

    # ---- SET, REMOVE -----------------------------------------------------------------------------

    def set_(self, start: int) -> Set:
        items = self._set_items()
        return Set(items, self.cursor.since(start))

    def _set_items(self) -> tuple[SetItem, ...]:
        found = [self._set_item()]
        while self.cursor.accept_sign(","):
            found.append(self._set_item())
        return tuple(found)

    def _set_item(self) -> SetItem:
        cursor, start = self.cursor, self.cursor.at
        target = self.operand()
        if isinstance(target, HasLabels) and isinstance(target.subject, Variable):
            return SetLabels(target.subject, self._labels(target), cursor.since(start))
        if isinstance(target, (Property, Index)):
            cursor.expect_sign("=", "of SET", "Write SET n.key = value.")
            return SetProperty(target, self.read(), cursor.since(start))
        if isinstance(target, Variable):
            add = cursor.accept_sign("+=")
            if not add:
                cursor.expect_sign("=", "of SET", "Write SET n.key = value, n += map or n:Label.")
            return SetAll(target, self.read(), add, cursor.since(start))
        raise cursor.error(
            target.place, "SET takes a property, a variable or labels.", "Write SET n.key = value."
        )

    def _labels(self, test: HasLabels) -> tuple[Name, ...]:
        for term in test.labels:
            if len(term) > 1:
                raise self.cursor.error(
                    test.place, "a label that is set or removed stands alone.", "Write n:A:B."
                )
        return tuple(term[0] for term in test.labels)

    def remove(self, start: int) -> Remove:
        found: list[Property | Index | HasLabels] = []
        while not found or self.cursor.accept_sign(","):
            target = self.operand()
            if isinstance(target, HasLabels):
                self._labels(target)
            if not isinstance(target, (Property, Index, HasLabels)):
                raise self.cursor.error(
                    target.place, "REMOVE takes a property or labels.", "Write REMOVE n.key."
                )
            found.append(target)
        return Remove(tuple(found), self.cursor.since(start))

    # ---- DELETE, FOREACH -------------------------------------------------------------------------

    def delete(self, start: int, detach: bool) -> Delete:
        targets: list[Expression] = [self.read()]
        while self.cursor.accept_sign(","):
            targets.append(self.read())
        return Delete(tuple(targets), detach, self.cursor.since(start))

    def foreach(self, start: int) -> Foreach:
        cursor, opening = self.cursor, self.cursor.at
        cursor.expect_sign("(", "of FOREACH", "Write FOREACH (x IN list | SET ...).")
        self.awaiting.add(opening)
        variable, of = self.variable_in()
        self.awaiting.discard(opening)
        cursor.expect_sign("|", "before what FOREACH does")
        clauses = [self.writing_clause()]
        while not cursor.is_sign(")"):
            clauses.append(self.writing_clause())
        cursor.take()
        return Foreach(variable, of, tuple(clauses), cursor.since(start))
