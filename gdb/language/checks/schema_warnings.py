"""Warnings from the schema: labels, types and properties that the graph does not have, and comparisons of properties
with values that they never equal. They are no errors, for the query runs; every way of running has the same.

The names are followed from clause to clause: a node that two patterns name has the labels of both. Names that the query
itself makes (CREATE, MERGE, SET) are not missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from gdb.functions.types import OF_STORE, Type, TypeName, alike, type_of
from gdb.language import clauses, syntax
from gdb.language.checks.pattern_checks import is_like_type, may_be_type, named_as_type
from gdb.language.clauses import Clause, Query
from gdb.language.pattern_syntax import NodePattern, PathPattern, RelationshipPattern
from gdb.language.report import located_message
from gdb.language.scope import has_labels
from gdb.language.suggest import did_you_mean
from gdb.language.syntax import Comparator, Expression, LabelTerms, Name, Place, children
from gdb.records import dataclass, field, replace

if TYPE_CHECKING:
    from gdb.executor.relational.relational_tail import Value
    from gdb.storage.columns.model import Kind as StoreKind
    from gdb.storage.graph.snapshot import Snapshot

Keys: TypeAlias = "Mapping[str, StoreKind]"


@dataclass(frozen=True, slots=True)
class _Named:
    """What a variable may be: a node with these labels, or else a relationship of one of these types."""

    node: bool
    labels: LabelTerms = ()
    types: tuple[Name, ...] = ()


_Names: TypeAlias = dict[str, _Named]


@dataclass(slots=True)
class _MadeNames:
    """The names that the query itself makes. anything : it may set any property."""

    labels: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    anything: bool = False


def warnings_of(
    query: Query, snapshot: Snapshot, parameters: Mapping[str, Value]
) -> tuple[str, ...]:
    """The warnings, one sentence each, with line and column, in the order of the text.

    query : in which `gdb.language.checks.check` found nothing wrong.
    """
    reader = _SchemaReader(query.text, snapshot, parameters)
    for side in query.parts:
        reader.made_by(side)
    for side in query.parts:
        reader.side(side, {})
    found = sorted(reader.found, key=lambda one: one[0].start)
    return tuple(dict.fromkeys(located_message(query.text, *one) for one in found))


class _SchemaReader:
    def __init__(self, text: str, snapshot: Snapshot, parameters: Mapping[str, Value]) -> None:
        self.text, self.snapshot, self.parameters = text, snapshot, parameters
        self.found: list[tuple[Place, str]] = []
        self.labels = set(snapshot.labels)
        self.types = {type_.name for type_ in snapshot.edge_types}
        self.made = _MadeNames()
        self.reported = set[tuple[str, str]]()  # labels, types and properties that were warned of

    def warn(self, place: Place, message: str) -> None:
        self.found.append((place, message))

    # ---- what the query makes --------------------------------------------------------------------

    def made_by(self, side: Iterable[Clause]) -> None:
        for clause in side:
            match clause:
                case clauses.Create(patterns=patterns):
                    for pattern in patterns:
                        self._made_by_pattern(pattern)
                case clauses.Merge(pattern=pattern, on_create=first, on_match=second):
                    self._made_by_pattern(pattern)
                    self._made_by_items((*first, *second))
                case clauses.Set(items=items):
                    self._made_by_items(items)
                case clauses.Foreach(clauses=inner):
                    self.made_by(inner)
                case clauses.CallSubquery(query=inner_query):
                    for part in inner_query.parts:
                        self.made_by(part)
                case clauses.CallProcedure():
                    self.made.anything = True
                case _:
                    pass

    def _made_by_pattern(self, pattern: PathPattern) -> None:
        for node in pattern.nodes:
            self.made.labels.update(name.text for term in node.labels for name in term)
            self._made_by_map(node)
        for one in pattern.relationships:
            self.made.types.update(name.text for name in one.types)
            self._made_by_map(one)

    def _made_by_map(self, part: NodePattern | RelationshipPattern) -> None:
        self.made.keys.update(key.text for key, _ in part.properties)
        self.made.anything |= part.given is not None

    def _made_by_items(self, items: Iterable[object]) -> None:
        for item in items:
            match item:
                case clauses.SetProperty(target=syntax.Property(key=key)):
                    self.made.keys.add(key.text)
                case clauses.SetLabels(labels=labels):
                    self.made.labels.update(name.text for name in labels)
                case clauses.SetProperty() | clauses.SetAll():
                    self.made.anything = True
                case _:
                    pass

    # ---- clauses ---------------------------------------------------------------------------------

    def side(self, side: Iterable[Clause], names: _Names) -> None:
        """Read one side of UNION. names : what is known before it; changed as it goes on."""
        for clause in side:
            self._clause(clause, names)

    def _clause(self, clause: Clause, names: _Names) -> None:
        match clause:
            case clauses.Match(patterns=patterns, where=where):
                for pattern in patterns:
                    self._learn(pattern, names)
                for pattern in patterns:
                    self._pattern(pattern, names)
                self._read(where, names)
            case clauses.Create(patterns=patterns):
                for pattern in patterns:
                    self._created(pattern, names)
                    self._forget(pattern, names)
            case clauses.Merge(pattern=pattern):
                self._forget(pattern, names)
            case clauses.With(projection=projection, where=where):
                self._projected(projection, names)
                self._read(where, names)
            case clauses.Return():
                self._projected(clause, names)
            case clauses.Unwind(list=of, variable=variable):
                self._read(of, names)
                names.pop(variable.text, None)
            case clauses.LoadCsv(variable=variable):
                names.pop(variable.text, None)
            case clauses.CallSubquery(query=query):
                for part in query.parts:
                    self.side(part, dict(names))
            case _:
                pass

    def _projected(self, projection: clauses.Return, names: _Names) -> None:
        for item in projection.items:
            self._read(item.expression, names)
        passed = dict(names) if projection.everything else {}
        for item in projection.items:
            passed.pop(item.name, None)
            if isinstance(item.expression, syntax.Variable) and item.expression.name in names:
                passed[item.name] = names[item.expression.name]
        seen = {**names, **passed}
        for item in projection.items:  # a column hides what had its name
            if item.name not in passed:
                seen.pop(item.name, None)
        for sort in projection.order:
            self._read(sort.expression, seen)
        names.clear()
        names.update(passed)

    # ---- patterns --------------------------------------------------------------------------------

    def _learn(self, pattern: PathPattern, names: _Names) -> None:
        """Take the variables of a pattern into account."""
        for node in pattern.nodes:
            if node.variable is not None:
                before = names.get(node.variable.text, _Named(True))
                names[node.variable.text] = replace(before, labels=before.labels + node.labels)
        for one in pattern.relationships:
            if one.repeated is not None:
                continue
            if one.variable is not None and one.length is None:
                names[one.variable.text] = _Named(False, types=one.types)
            elif one.variable is not None:
                names.pop(one.variable.text, None)  # a list
        if pattern.name is not None:
            names.pop(pattern.name.text, None)

    def _forget(self, pattern: PathPattern, names: _Names) -> None:
        """Know nothing of what a pattern makes: it has what the query gives it."""
        nodes = (node.variable for node in pattern.nodes)
        relationships = (one.variable for one in pattern.relationships)
        for variable in (*nodes, *relationships, pattern.name):
            if variable is not None:
                names.pop(variable.text, None)

    def _pattern(self, pattern: PathPattern, names: _Names) -> None:
        for node in pattern.nodes:
            known = _Named(True, node.labels)
            if node.variable is not None:
                known = names.get(node.variable.text, known)
                if not known.labels and node.variable.text in self.labels:
                    self._named_as_label(node)
            self._labels(node.labels)
            self._map(node, known, names)
        for one in pattern.relationships:
            if one.repeated is not None:
                inner = dict(names)
                self._learn(one.repeated, inner)
                self._pattern(one.repeated, inner)
                self._read(one.where, inner)
                continue
            self._types(one.types)
            if (name := one.variable) is not None:
                self._named_as_type(one, name)
            inner = names
            if one.variable is not None and one.length is not None:
                inner = {**names, one.variable.text: _Named(False, types=one.types)}
            self._map(one, _Named(False, types=one.types), inner)

    def _map(self, part: NodePattern | RelationshipPattern, known: _Named, names: _Names) -> None:
        shown = _shown(known, part.variable.text if part.variable else None)
        for key, value in part.properties:
            self._key(shown, known, key)
            self._compared(
                syntax.Comparison(
                    Comparator.EQUAL,
                    syntax.Property(value, key, key.place),
                    value,
                    key.place.to(value.place),
                ),
                self._kind_of_key(known, key.text),
                self._kind(value, names),
                key.text,
            )
            self._read(value, names)
        self._read(part.where, names)

    def _named_as_type(self, one: RelationshipPattern, name: Name) -> None:
        reported = is_like_type(name)  # by the checks, which know no types
        if name.text in self.types and not reported and may_be_type(one, self.text):
            self.warn(name.place, named_as_type(name))

    def _named_as_label(self, node: NodePattern, what: str = "any node matches") -> None:
        assert node.variable is not None
        name = node.variable.text
        self.warn(
            node.place,
            f"the node variable {name} is named as a label, and {what}. "
            f"If it is the label, write (:{name}).",
        )

    def _created(self, pattern: PathPattern, names: _Names) -> None:
        for node in pattern.nodes:
            if node.variable is None or node.labels or node.named or not node.properties:
                continue
            if node.variable.text in self.labels and node.variable.text not in names:
                self._named_as_label(node, "the new node has no label")

    # ---- expressions -----------------------------------------------------------------------------

    def _read(self, expression: Expression | None, names: _Names) -> None:
        waiting: list[tuple[Expression, _Names]] = (
            [] if expression is None else [(expression, names)]
        )
        while waiting:
            part, seen = waiting.pop()
            match part:
                case syntax.Property(subject=syntax.Variable(name=name), key=key) if name in seen:
                    self._key(_shown(seen[name], name), seen[name], key)
                case syntax.Comparison(left=left, right=right):
                    self._compared(part, self._kind(left, seen), self._kind(right, seen))
                case syntax.StringTest(left=left, operator=operator):
                    self._tested(part.place, left, self._kind(left, seen), operator)
                case syntax.In(item=item, list=syntax.ListLiteral(items=items)) if items:
                    self._listed(part.place, item, items, seen)
                case syntax.HasLabels(subject=syntax.Variable(name=name), labels=labels) if (
                    name in seen
                ):
                    if seen[name].node:
                        self._labels(labels)
                    else:
                        self._types([one for term in labels for one in term])
                case (
                    syntax.ListComprehension(variable=variable)
                    | syntax.Quantified(variable=variable)
                    | syntax.Reduce(variable=variable)
                ):
                    seen = {k: v for k, v in seen.items() if k != variable.text}
                case syntax.PatternTest(pattern=pattern):
                    inner = dict(seen)
                    self._learn(pattern, inner)
                    self._pattern(pattern, inner)
                case syntax.PatternComprehension(pattern=pattern):
                    seen = dict(seen)
                    self._learn(pattern, seen)
                    self._pattern(pattern, seen)
                case syntax.Subquery(query=query):
                    for side in query.parts:
                        self.side(side, dict(seen))
                case _:
                    pass
            waiting.extend((child, seen) for child in reversed(children(part)))

    def _compared(
        self, part: syntax.Comparison, left: Type | None, right: Type | None, name: str = ""
    ) -> None:
        if left is None or right is None or TypeName.NULL in (left.kind, right.kind):
            return
        equality = part.operator in (Comparator.EQUAL, Comparator.UNEQUAL)
        if alike(left.kind, right.kind, equality):
            return
        if TypeName.LIST is left.kind is right.kind or TypeName.DURATION is left.kind is right.kind:
            return
        from gdb.language.unlike_types import unlike  # most queries have no such comparison

        self.warn(part.place, unlike(part, left, right, self.text, name))

    def _tested(self, place: Place, left: Expression, kind: Type | None, operator: str) -> None:
        if kind is None or kind.kind in (TypeName.STRING, TypeName.NULL):
            return
        from gdb.language.unlike_types import written  # here: only a warning needs it

        what = written(left, self.text)
        self.warn(
            place,
            f"{what} is {kind.kind}, and {operator} is null for all but strings. Write toString({what}).",
        )

    def _listed(
        self, place: Place, item: Expression, items: Sequence[Expression], names: _Names
    ) -> None:
        """Of item IN [values], where no value can be equal to the item."""
        kind = self._kind(item, names)
        kinds = [self._kind(one, names) for one in items]
        if kind is None or kind.kind in (TypeName.NULL, TypeName.LIST) or None in kinds:
            return
        others = [one for one in kinds if one is not None]
        if any(one.kind is TypeName.NULL or alike(kind.kind, one.kind, True) for one in others):
            return
        from gdb.language.unlike_types import unlike  # here: only a warning needs it

        first = syntax.Comparison(Comparator.EQUAL, item, items[0], place)
        self.warn(place, unlike(first, kind, others[0], self.text))

    def _kind(self, expression: Expression, names: _Names) -> Type | None:
        """The type of a value, where it is known for every row."""
        match expression:
            case syntax.Literal(value=value):
                return type_of(value)
            case syntax.Parameter(name=name) if name in self.parameters:
                argument = self.parameters[name]
                known = argument is None or isinstance(argument, (bool, int, float, str))
                return type_of(argument) if known else None
            case syntax.Negative(operand=syntax.Literal(value=value)):
                return type_of(value)
            case syntax.Property(subject=syntax.Variable(name=name), key=key) if name in names:
                return self._kind_of_key(names[name], key.text)
            case syntax.Call(
                function=Name(text=function), arguments=(syntax.Variable(name=name),)
            ) if name in names:
                return self._kind_of_id(names[name]) if function.lower() == "id" else None
            case _:
                return None

    # ---- what the graph has ----------------------------------------------------------------------

    def _groups(self, known: _Named) -> list[int]:
        groups = self.snapshot.groups
        return [k for k, group in enumerate(groups) if has_labels(group.labels, known.labels)]

    def _keys(self, known: _Named) -> list[Keys]:
        """The properties of each group of nodes, or each type of relationships, that a variable may be."""
        if known.node:
            return [self.snapshot.groups[k].keys for k in self._groups(known)]
        types = {name.text for name in known.types}
        return [t.keys for t in self.snapshot.edge_types if not types or t.name in types]

    def _kind_of_key(self, known: _Named, key: str) -> Type | None:
        if self.made.anything or key in self.made.keys:
            return None
        kinds = {keys[key] for keys in self._keys(known) if key in keys}
        types = {OF_STORE[kind] for kind in kinds if kind in OF_STORE}
        if len(types) != len(kinds) or not types:
            return None
        return types.pop() if len(types) == 1 else None

    def _kind_of_id(self, known: _Named) -> Type | None:
        if not known.node:
            return Type(TypeName.INTEGER)
        kinds = {self.snapshot.id_column(group).kind for group in self._groups(known)}
        if len(kinds) != 1:
            return None
        return Type(TypeName.STRING if kinds == {"string"} else TypeName.INTEGER)

    def _key(self, shown: str, known: _Named, key: Name) -> None:
        if self.made.anything or key.text in self.made.keys or (shown, key.text) in self.reported:
            return
        keys = self._keys(known)
        if not keys or any(key.text in part for part in keys):
            return
        self.reported.add((shown, key.text))
        names = sorted({name for part in keys for name in part})
        hint = did_you_mean(key.text, names, ".")
        if not hint:
            hint = f"It has {', '.join(names)}." if 0 < len(names) <= 8 else ""
        message = f"{shown} never has the property {key.text}, so it is null. {hint}"
        self.warn(key.place, message.rstrip())

    def _labels(self, terms: LabelTerms) -> None:
        names = [name for term in terms for name in term]
        self._unknown(names, self.labels, self.made.labels, "no node has the label")

    def _types(self, names: Sequence[Name]) -> None:
        self._unknown(names, self.types, self.made.types, "no relationship has the type")

    def _unknown(
        self, names: Iterable[Name], known: set[str], creates: set[str], message: str
    ) -> None:
        for name in names:
            if name.text in known or name.text in creates or (message, name.text) in self.reported:
                continue
            self.reported.add((message, name.text))
            hint = did_you_mean(name.text, sorted(known), ":")
            self.warn(name.place, f"{message} :{name.text}. {hint}".rstrip())


def _shown(known: _Named, name: str | None) -> str:
    if known.node:
        return f"the node '{name}'" if name else "a node"
    return f"the relationship '{name}'" if name else "a relationship"
