"""The plan: phases that bind query vertices and edges one after another.

Phases follow GENEVA (geneva-tpds §5-§6): an extension binds one or more vertices from the
neighbours of bound ones, an elimination drops partial embeddings that miss a query edge.
`reference.py` walks a plan literally and so defines what every executor must return; `nest.py`
lowers it to loops.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from gdb.errors import CountOverflow
from gdb.records import dataclass, field, quick
from gdb.storage.format.direction import Direction

if TYPE_CHECKING:
    from .source import GraphSource


_LARGEST_COUNT = 2**63 - 1


class ViewSpec(NamedTuple):
    """Which adjacency a query edge reads: edge types (sorted; () = all) and the direction seen from
    the bound vertex. A tuple: planning compares and looks up very many."""

    types: tuple[str, ...]
    direction: Direction


@quick
@dataclass(frozen=True, slots=True)
class Candidates:
    """Where the data vertices of one query vertex may come from.

    ranges : half-open vid ranges, ascending, disjoint.
    allowed : u32[k] ascending subset of the ranges, or None for all of them.
    count : number of candidates.
    label : text of the label condition, for EXPLAIN and for "same vertex label" of the matching
        patterns.
    """

    ranges: tuple[tuple[int, int], ...]
    allowed: npt.NDArray[np.uint32] | None = field(default=None, compare=False)
    count: int = 0
    label: str = ""

    def vids(self) -> npt.NDArray[np.uint32]:
        """All candidates, u32[count] ascending."""
        if self.allowed is not None:
            return self.allowed
        if not self.ranges:
            return np.zeros(0, np.uint32)
        return np.concatenate([np.arange(a, b, dtype=np.uint32) for a, b in self.ranges])


@quick
@dataclass(frozen=True, slots=True)
class Rules:
    """What a vertex must satisfy against vertices bound before it, besides edges.

    below : its vid is smaller than theirs (restrictions; hubs have small vids, so lists stay
        short).
    above : its vid is larger than theirs.
    differs : its vid is another than theirs.
    """

    below: tuple[int, ...] = ()
    above: tuple[int, ...] = ()
    differs: tuple[int, ...] = ()

    def reads(self) -> frozenset[int]:
        """The query vertices that it compares with; they must be bound before."""
        return frozenset((*self.below, *self.above, *self.differs))


@dataclass(frozen=True, slots=True)
class Scan:
    """Bind `vertex` to each of its candidates (the first vertex, or the first of an unconnected
    part)."""

    vertex: int
    rules: Rules = Rules()


@quick
@dataclass(frozen=True, slots=True)
class Step:
    """Bind `vertex` to the distinct neighbours of bound `source` in view `view` along query edge
    `edge`."""

    vertex: int
    source: int
    edge: int
    view: int
    rules: Rules = Rules()


@quick
@dataclass(frozen=True, slots=True)
class Extend:
    """Bind the steps' vertices by matching pattern 0 to 7 (geneva-tpds Fig. 1); steps do not read
    one another's vertices except through their rules."""

    pattern: int
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Arc:
    """Query edge `edge`, to be checked: `target` must be a neighbour of `source` in the phase's
    view."""

    edge: int
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class Eliminate:
    """Keep embeddings in which every arc is matched; one phase holds all backward edges of one view
    (§5.6)."""

    view: int
    arcs: tuple[Arc, ...]


@dataclass(frozen=True, slots=True)
class BindEdge:
    """Bind query edge `edge` to each data edge between bound `source` and `target`.

    differs : bound query edges whose data edge must be another.
    above : bound query edges whose edge id must be smaller (parallel twins in SUBGRAPHS).
    allowed : i64[k] ascending, or None.
    """

    edge: int
    source: int
    target: int
    view: int
    differs: tuple[int, ...] = ()
    above: tuple[int, ...] = ()
    allowed: npt.NDArray[np.int64] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Apart:
    """Keep embeddings in which the pair (a, b) is not the pair (c, d); with `either_way` also not
    (d, c).

    This is "two relationships differ" for edges where at most one joins two vertices."""

    a: int
    b: int
    c: int
    d: int
    either_way: bool


@dataclass(frozen=True, slots=True)
class Between:
    """Keep embeddings in which exactly `count` edges of view `view` lead from `source` to `target`
    (INDUCED; 0: anti-edge)."""

    view: int
    source: int
    target: int
    count: int


MISSING = -(1 << 63)  # the value of an element that has none


@dataclass(frozen=True, slots=True)
class Compare:
    """Keep embeddings in which the value of `right` less that of `left` is within [least, most], or with not `inside`
    is not, and neither is missing.

    left, right : query vertices, or with `left_is_edge`, `right_is_edge` bound query edges.
    left_values, right_values : i64 for every vid, or edge id; `MISSING` for none, the others within 2^61 of 0, so that
        no difference overflows.
    """

    left: int
    right: int
    left_is_edge: bool
    right_is_edge: bool
    least: int
    most: int
    left_values: npt.NDArray[np.int64] = field(compare=False)
    right_values: npt.NDArray[np.int64] = field(compare=False)
    text: str = ""
    inside: bool = True
    implied: bool = False

    def holds(self, left: int, right: int) -> bool:
        """Whether it holds of two values."""
        known = MISSING not in (left, right)
        return known and (self.least <= right - left <= self.most) is self.inside

    @property
    def vertices(self) -> set[int]:
        """The query vertices that it reads."""
        sides = (self.left, self.left_is_edge), (self.right, self.right_is_edge)
        return {element for element, is_edge in sides if not is_edge}

    @property
    def edges(self) -> set[int]:
        """The bound query edges that it reads."""
        sides = (self.left, self.left_is_edge), (self.right, self.right_is_edge)
        return {element for element, is_edge in sides if is_edge}


Phase = Scan | Extend | Eliminate | BindEdge | Apart | Between | Compare


@dataclass(frozen=True, slots=True)
class OptionalPart:
    """A part of a counted pattern that need not be there (OPTIONAL MATCH): each embedding of what is around it counts
    as often as the part has embeddings beside it, but at least once.

    phases : bind its own vertices and edges, and may read those bound around it. parts : within it, which may read what
        it binds as well.
    """

    phases: tuple[Phase, ...]
    parts: tuple[OptionalPart, ...] = ()

    @property
    def every(self) -> tuple[Phase, ...]:
        """Its phases and those of the parts within it."""
        return (*self.phases, *(phase for part in self.parts for phase in part.every))


@dataclass(frozen=True, slots=True)
class Twin:
    """One automorphism: row r is also the row with vids r[vertices] and eids r[edges]."""

    vertices: tuple[int, ...]
    edges: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Notes:
    """What the planner found out, for EXPLAIN.

    estimates : expected partial embeddings after each vertex of the order, from mean degrees or, of a large pattern,
        from samples.
    steps : expected steps of the CPU's kernel for the plan and its terms, from sampled walks or embeddings; None where
        the stage is too small to be worth it. bound : from such walks, how often each loop is bound.
    several : there are query edges of different MATCH that may be the same data edge.
    too_many : there are surely more than 2^63 - 1 embeddings (`gdb.planner.magnitude`).
    cut : a longer search may find a way to count in fewer steps, and a run takes so long that it is worth it.
    """

    core: tuple[int, ...] = ()
    forest: tuple[int, ...] = ()
    leaves: tuple[int, ...] = ()
    components: int = 1
    automorphisms: int = 1
    restrictions: tuple[tuple[int, int], ...] = ()
    estimates: tuple[float, ...] = ()
    steps: float | None = None
    bound: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()
    switched_off: frozenset[str] = frozenset()
    several: bool = False
    too_many: bool = False
    cut: bool = False


@dataclass(slots=True)
class Runs:
    """What runs of one plan took.

    last : seconds of the last run, by the kind of device ("cpu", "cuda"). since : seconds of all runs on other devices
    since then, or since the first run. latest : the device of the last run; None before the first. gpus : the number of
    runs, and seconds of the shortest, by the name of the GPUs that shared it ("cuda:0", "cuda:0,1").
    worked : seconds of one thread, or one GPU, that all tasks of the last run in other processes took, by the kind of
    their device.
    better : a plan of the same pattern that takes fewer steps, found while this one ran; it runs from then on.
    """

    last: dict[str, float] = field(default_factory=dict)
    since: dict[str, float] = field(default_factory=dict)
    latest: str | None = None
    gpus: dict[str, tuple[int, float]] = field(default_factory=dict)
    worked: dict[str, float] = field(default_factory=dict)
    better: Plan | None = None

    @property
    def on_gpus(self) -> int:
        """The number of runs on GPUs."""
        return sum(number for number, _ in self.gpus.values())

    def add(self, device: str, seconds: float) -> None:
        """Note a run."""
        kind = device.partition(":")[0]
        self.latest = device
        self.last[kind] = seconds
        for other in ("cpu", "cuda"):
            self.since[other] = 0.0 if other == kind else self.since.get(other, 0.0) + seconds
        if kind == "cuda":
            number, least = self.gpus.get(device, (0, math.inf))
            self.gpus[device] = number + 1, min(least, seconds)


@quick
@dataclass(frozen=True, slots=True)
class Plan:
    """Phases over a query graph of `vertices` vertices and `edges` edges.

    candidates : one for each query vertex.
    multiplicity : counts are multiplied by it (restrictions kept one of so many twins).
    twins : rows are written once for each; () when rows need no expansion.
    counting : only the number of embeddings is needed.
    ranked : vertices are numbered by degree (`gdb.storage.graph.degree_order`), which no answer of this plan shows.
    tail : how many vertices at the end of the order are meant to be counted without loops; 0: as many as
        can be.
    divisor : the sum of all counts is divided by it (SUBGRAPHS: the embeddings of one subgraph).
    terms : further plans whose counts, each times its coefficient, are added to this one's (conditions
        that this plan leaves out, by inclusion and exclusion).
    optional : parts that need not be there, of a counting plan; `vertices`, `edges` and `candidates` include theirs.
    extended : the graph that it is for, where that is the one given and more (`gdb.planner.equal_values`); its last
        `further` query vertices are that.
    stages : what `gdb.executor.nest.prepare` made of this plan and keeps with it. runs : what its runs took.
    """

    vertices: int
    edges: int
    views: tuple[ViewSpec, ...]
    candidates: tuple[Candidates, ...]
    phases: tuple[Phase, ...]
    multiplicity: int = 1
    twins: tuple[Twin, ...] = ()
    counting: bool = False
    names: tuple[str, ...] = ()
    notes: Notes = Notes()
    ranked: bool = False
    tail: int = 0
    divisor: int = 1
    terms: tuple[tuple[int, Plan], ...] = ()
    optional: tuple[OptionalPart, ...] = ()
    extended: GraphSource | None = field(default=None, compare=False, repr=False)
    further: int = 0
    stages: dict[tuple[int, bool], tuple[object, object]] = field(
        default_factory=dict, compare=False, repr=False
    )
    runs: Runs = field(default_factory=Runs, compare=False, repr=False)

    def over(self, graph: GraphSource) -> GraphSource:
        """The graph that it runs over."""
        return graph if self.extended is None else self.extended

    @property
    def every(self) -> tuple[Phase, ...]:
        """Its phases and those of its optional parts."""
        return OptionalPart(self.phases, self.optional).every

    @property
    def order(self) -> tuple[int, ...]:
        """Query vertices in the order in which they are bound."""
        found: list[int] = []
        for phase in self.every:
            match phase:
                case Scan(vertex=v):
                    found.append(v)
                case Extend(steps=steps):
                    found += [s.vertex for s in steps]
                case _:
                    pass
        return tuple(found)

    @property
    def compares(self) -> tuple[Compare, ...]:
        """Its comparisons of values, in their order."""
        return tuple(p for p in self.every if isinstance(p, Compare))

    @property
    def has_compares(self) -> bool:
        """Whether there are any."""
        return Compare in map(type, self.every if self.optional else self.phases)

    @property
    def best(self) -> Plan:
        """The plan that runs: this one, or what was found since."""
        return self.runs.better or self

    @property
    def without_loops(self) -> bool:
        """Whether all of it is meant to be counted as a forest, from its leaves to its roots."""
        return 1 < self.tail == self.vertices

    @property
    def bound_edges(self) -> tuple[int, ...]:
        """Query edges that have a column of edge ids, in binding order."""
        return tuple(p.edge for p in self.every if isinstance(p, BindEdge))


def overflow(plan: Plan) -> CountOverflow:
    """Of more embeddings than a count holds: about how many."""
    expected = plan.notes.estimates[-1] if plan.notes.estimates else 0.0
    about = f": about {expected:.2g}" if expected > _LARGEST_COUNT else ""
    return CountOverflow(
        f"There are more embeddings than a count holds (2^63 - 1){about}.",
        "Query a smaller pattern or part of it, or take rows with a LIMIT.",
    )
