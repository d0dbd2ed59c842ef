"""Relationships that a query has made and that are not in its transaction yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from gdb.records import dataclass, field

if TYPE_CHECKING:
    from gdb.base.values.elements import NodeValue, RelationshipValue
    from gdb.base.values.kinds import Value


def there(properties: dict[str, Value]) -> dict[str, Value]:
    """The properties that are not null."""
    if type(None) in map(type, properties.values()):
        return {key: value for key, value in properties.items() if value is not None}
    return properties


@dataclass(slots=True)
class NewEdges:
    """Relationships of one type that are not in the transaction yet, [n] each. objects : None for one without a name,
    which nothing but its ends can find before it is flushed."""

    starts: list[NodeValue] = field(default_factory=list)
    ends: list[NodeValue] = field(default_factory=list)
    properties: list[Mapping[str, Value]] = field(default_factory=list)
    objects: list[RelationshipValue | None] = field(default_factory=list)

    def add(
        self,
        start: NodeValue,
        end: NodeValue,
        properties: Mapping[str, Value],
        one: RelationshipValue | None,
    ) -> None:
        """Note one more."""
        self.starts.append(start)
        self.ends.append(end)
        self.properties.append(properties)
        self.objects.append(one)

    def keep(self, places: Sequence[int]) -> None:
        """Forget all but some."""
        if len(places) < len(self.starts):
            self.starts = [self.starts[k] for k in places]
            self.ends = [self.ends[k] for k in places]
            self.properties = [self.properties[k] for k in places]
            self.objects = [self.objects[k] for k in places]
