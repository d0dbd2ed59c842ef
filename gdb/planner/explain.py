"""EXPLAIN: what the planner decided, as text for a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from gdb.executor.choose_device import Choice, shown
from gdb.executor.nest.nest import (
    Cache,
    Check,
    EdgeLevel,
    Formula,
    Kind,
    LoopNest,
    Member,
    Op,
    Operand,
    Order,
    PairsApart,
    Slice,
    VertexLevel,
    WithinBounds,
)
from gdb.executor.nest.optional_parts import ends_of_trees, first_loops
from gdb.executor.nest.prepare import both_ways, loop_nest, needs_no_roots, stage
from gdb.executor.plan.plan import (
    Apart,
    Between,
    BindEdge,
    Compare,
    Eliminate,
    Extend,
    OptionalPart,
    Phase,
    Plan,
    Rules,
    Scan,
    ViewSpec,
)
from gdb.executor.plan.source import GraphSource
from gdb.executor.run import Options
from gdb.executor.work.scheduler import Budget
from gdb.storage.graph.adjacency import I64

if TYPE_CHECKING:
    from gdb.executor.cluster.cluster import Cluster

UNLIMITED = 1 << 60


Bound = Mapping[int, I64]
_NOTHING = np.zeros(0, np.int64)


def explain(plan: Plan, graph: GraphSource, options: Options, bound: Bound | None = None) -> str:
    """The plan in lines: decomposition, restrictions, phases with estimates, loop nest, device.

    bound : for the plan and each term, by its `id`, how often a run bound each loop (PROFILE). Estimates are
        marked by ~, what was counted by =.
    """
    notes, name = plan.notes, plan.names
    choice = shown(
        plan, options.device, graph, ran=bound is not None, gpu_memory=options.gpu_memory
    )
    bound = bound or {}
    lines = [
        f"core: {_names(notes.core, name)}   forest: {_names(notes.forest, name)}   "
        f"leaves: {_names(notes.leaves, name)}",
        f"matching order: {_names(plan.order, name)}",
        _restrictions(plan),
        *(["relationships differ within each MATCH only"] if notes.several else []),
        *(f"warning: {w}" for w in notes.warnings),
    ]
    if notes.switched_off:
        lines.append(f"passes switched off: {', '.join(sorted(notes.switched_off))}")
    if plan.ranked:
        lines.append("vertices are numbered by degree, the highest first")
    lines.append("stage 1 (fused: every partition in memory):")
    expected = dict(zip(plan.order, notes.estimates, strict=True))
    lines += [f"  {line}" for p in plan.phases for line in _phase(p, plan, expected)]
    lines += [f"  {line}" for part in plan.optional for line in _optional(part, plan, expected)]
    lines.append("loop nest:")
    shared = options.on is not None
    windows = choice.windows and needs_no_roots(plan, options.memory, shared=shared)
    lines += [f"  {line}" for line in _nest(graph, plan, bound, windows=windows)]
    for factor, term in plan.terms:
        lines.append(
            f"{_times(factor)} the embeddings in which some are the same vertex or relationship:"
        )
        lines += [f"  {line}" for line in _nest(graph, term, bound, windows=windows)]
    if plan.divisor > 1:
        lines.append(f"divided by {plan.divisor}: the embeddings of one subgraph")
    if notes.too_many:
        lines.append("more embeddings than a count holds (2^63 - 1): it will be refused")
    if notes.cut and options.on is None:
        lines.append("the search for a cheaper plan goes on while it runs")
    lines.append(f"device: {choice.device} ({choice.why})")
    if options.on is not None:
        lines.append(_elsewhere(plan, graph, options.on))
    if options.memory is not None and choice.device == "cpu":
        lines += _memory(plan, graph, options)
    lines += _residency(plan, graph, options, choice)
    return "\n".join(lines)


def _memory(plan: Plan, graph: GraphSource, options: Options) -> list[str]:
    """How many workers a budget leaves, how large they are, and in how many passes they go over the graph."""
    from gdb.executor.cpu import launch  # brings the compiler

    windows = needs_no_roots(plan, options.memory)
    prepared, budget = stage(plan, graph, windows=windows), Budget(options.memory)
    size, wanted = launch.workers_under(prepared, budget, options.threads)
    fits = size.bytes * size.threads <= (options.memory or 0)
    where = "" if fits else ", in part in temporary files"
    many = f"{size.threads} of {wanted} workers of about {size.bytes:,} bytes"
    passes = launch.passes_under(prepared, budget)
    several = [] if passes is None else [f"  {passes.describe(prepared)}"]
    return [f"memory: {options.memory:,} bytes for {many}{where}", *several]


def _residency(plan: Plan, graph: GraphSource, options: Options, choice: Choice) -> list[str]:
    """Where a plan runs on a GPU, what of the graph lies there and what is read from the host."""
    if choice.device == "cpu":
        return []
    from gdb.executor.gpu import launch  # here: only on a GPU

    rooms = options.gpu_memory, options.memory
    return launch.describe_residency(stage(plan, graph), choice.ordinals[0], *rooms)


def _elsewhere(plan: Plan, graph: GraphSource, on: Cluster) -> str:
    """Whether other processes share the work."""
    from gdb.executor.cluster import cluster  # here: only on a cluster

    plans = [plan, *(term for _, term in plan.terms)]
    seconds = sum(each for each in cluster.shares(plans, graph, on) if each is not None)
    if not seconds:
        return f"cluster: not used, expected to take less than {on.least:g} s"
    tasks = cluster.tasks_for(seconds, on.workers)
    return f"cluster: {on.workers} workers, about {seconds:.3g} s of work for one in {tasks} tasks"


def _times(factor: int) -> str:
    sign = "less" if factor < 0 else "and again"
    return sign if abs(factor) == 1 else f"{sign} {abs(factor)} times"


def _names(vertices: tuple[int, ...], name: tuple[str, ...]) -> str:
    return ", ".join(name[v] for v in vertices) or "-"


def _restrictions(plan: Plan) -> str:
    notes, name = plan.notes, plan.names
    if not notes.restrictions:
        return "restrictions: none (no symmetry that could be broken)"
    pairs = ", ".join(f"{name[b]} < {name[a]}" for a, b in notes.restrictions)
    if plan.counting and plan.multiplicity > 1:
        effect = f"counts x {plan.multiplicity}"
    elif plan.twins:
        effect = f"rows written out for {len(plan.twins)} twins"
    else:
        effect = "one embedding of each class is wanted"
    return f"restrictions: {pairs}   ({notes.automorphisms} automorphisms; {effect})"


def _view(spec: ViewSpec) -> str:
    types = ":" + "|".join(spec.types) if spec.types and spec.types != ("",) else ""
    types = ":(no such type)" if spec.types == ("",) else types
    left, right = ("<-", "-") if spec.direction == "<-" else ("-", "->")
    right = "-" if spec.direction == "--" else right
    return f"{left}[{types}]{right}"


def _rules(rules: Rules, name: tuple[str, ...]) -> str:
    parts = [f"< {name[u]}" for u in rules.below] + [f"> {name[u]}" for u in rules.above]
    parts += [f"<> {name[u]}" for u in rules.differs]
    return f"  [{', '.join(parts)}]" if parts else ""


def _phase(phase: Phase, plan: Plan, expected: dict[int, float]) -> list[str]:
    name = plan.names
    match phase:
        case Scan(vertex=v, rules=rules):
            c = plan.candidates[v]
            label = f":{c.label}" if c.label else "any"
            head = f"scan {name[v]}: {label}, {c.count:,} candidates"
            return [f"{head}{_rules(rules, name)}  ~{expected[v]:.3g}"]
        case Extend(pattern=p, steps=steps):
            return [
                f"extend (pattern {p}) {name[s.source]}{_view(plan.views[s.view])}{name[s.vertex]}"
                f"{_label(plan, s.vertex)}{_rules(s.rules, name)}  ~{expected[s.vertex]:.3g}"
                for s in steps
            ]
        case Eliminate(view=w, arcs=arcs):
            shown = (f"{name[a.source]}{_view(plan.views[w])}{name[a.target]}" for a in arcs)
            return [f"eliminate by {', '.join(shown)}"]
        case BindEdge(edge=e, source=s, target=t, view=w):
            return [f"bind edge {e}: {name[s]}{_view(plan.views[w])}{name[t]}"]
        case Apart(a=a, b=b, c=c, d=d):
            return [f"keep apart ({name[a]}, {name[b]}) and ({name[c]}, {name[d]})"]
        case Between(view=w, source=s, target=t, count=n):
            number = f"exactly {n} edges" if n else "no edge"
            return [f"{number} {name[s]}{_view(plan.views[w])}{name[t]}"]
        case Compare(text=text):
            return [f"compare {text}"]


def _optional(part: OptionalPart, plan: Plan, expected: dict[int, float]) -> list[str]:
    """The phases of an optional part and of those within it."""
    inner = [line for phase in part.phases for line in _phase(phase, plan, expected)]
    inner += [line for one in part.parts for line in _optional(one, plan, expected)]
    return ["optional, counts at least one:", *(f"  {line}" for line in inner)]


def _label(plan: Plan, vertex: int) -> str:
    label = plan.candidates[vertex].label
    return f":{label}" if label else ""


def _nest(graph: GraphSource, plan: Plan, bound: Bound, *, windows: bool) -> list[str]:
    nest = loop_nest(plan, graph, windows=windows)
    lines: list[str] = []
    sampled = () if plan.compares and not windows else plan.notes.bound  # walks are the CPU's
    counted = bound.get(id(plan), _NOTHING)
    arounds, least = nest.arounds, {*first_loops(nest).values()}
    tabs: dict[int, int] = {-1: 0}  # of what is in a loop
    for k in range(nest.loops):
        tab = tabs[arounds[k]]
        line = "  " * tab + f"for {_variable(nest, k, plan)} in {_base(nest, k, plan)}:"
        line += "  [at least 1]" if k in least else ""
        line += _cached(nest, k, plan) if windows else ""
        line += f"  ~{sampled[k]:.3g}" if k < len(sampled) else ""
        lines.append(line + (f"  ={counted[k]:,}" if k < len(counted) else ""))
        tabs[k] = tab = tab + 1
        for op in nest.sets:
            if op.depth == k:
                sign = "&" if op.op is Op.INTERSECT else "-"
                left, right = _operand(nest, op.left, plan), _operand(nest, op.right, plan)
                cut = _cut(nest, op.cut, (), plan)
                lines.append("  " * tab + f"s{op.slot} = {left} {sign} {right}{cut}")
        if not nest.counting:
            continue
        trees, inner = _tail(nest, plan, k), arounds[: nest.loops].count(k)
        if inner + bool(trees) > 1:
            lines.append("  " * tab + "multiply:")
            tabs[k] = tab = tab + 1
        if trees or not inner:
            lines.append("  " * tab + "count " + _counted(nest, k, plan, kept=windows))
    if not nest.counting:
        lines.append("  " * tabs[nest.loops - 1] + "write a row")
    elif nest.loops == 0:
        lines.append("count " + " * ".join(_tail(nest, plan, -1)))
    return lines


def _cached(nest: LoopNest, loop: int, plan: Plan) -> str:
    """By what the count of a loop is kept."""
    found = (one for one in nest.caches if one.level == loop and not one.tail)
    return next((_kept(nest, one, plan) for one in found), "")


def _kept(nest: LoopNest, one: Cache, plan: Plan) -> str:
    keys = [_variable(nest, k, plan) for k in one.keys]
    keys += [f"{_variable(nest, s.level, plan)} where it matters" for s in one.strangers]
    return f"  [kept by {', '.join(keys) or 'nothing'}]"


def _counted(nest: LoopNest, loop: int, plan: Plan, *, kept: bool) -> str:
    """What the trees in a loop count, those that are kept by the same first."""
    begin, found = 0, []
    for one in nest.caches if kept else ():
        if one.tail and one.level == loop:
            some = _tail(nest, plan, loop, begin, one.until)
            found.append(" * ".join(some) + _kept(nest, one, plan))
            begin = one.until
    found += _tail(nest, plan, loop, begin)
    return " * ".join(found) or "1"


def _tail(
    nest: LoopNest, plan: Plan, loop: int, begin: int = 0, end: int | None = None
) -> list[str]:
    """A factor for each root of the tail in a loop, of nodes [begin, end)."""
    factors: list[str] = []
    paired, optional = False, ends_of_trees(nest)
    for k, node in list(enumerate(nest.tail))[begin:end]:
        if node.parent >= 0 or nest.arounds[node.levels[0]] != loop:
            continue
        base = _base(nest, node.levels[0], plan)
        if node.formula is Formula.PAIR:
            paired = not paired
            factors += [f"different pairs of {base} and"] if paired else []
            factors[-1] += "" if paired else f" {base}"
        else:
            factors.append(_weight(nest, k, plan))
        if k in optional and not paired:
            factors[-1] = f"max(1, {factors[-1]})"
    return factors


def _weight(nest: LoopNest, at: int, plan: Plan) -> str:
    """What a node of the tail counts, for one vertex of its parent."""
    node = nest.tail[at]
    children = [k for k, n in enumerate(nest.tail) if n.parent == at]
    base = _base(nest, node.levels[0], plan)
    if node.parent >= 0:
        up = _variable(nest, nest.tail[node.parent].levels[0], plan)
        row = f"N({up}{_view(both_ways(plan)[0][node.view])})"
        order = {Order.NONE: "", Order.BELOW: f"[< {up}]", Order.ABOVE: f"[> {up}]"}[node.order]
        base = f"{row}{order}{base}" if node.free else f"{row}{order} & {base}"
    counted = f"|{base}|"
    if children:
        name = _variable(nest, node.levels[0], plan)
        below = " * ".join(_weight(nest, k, plan) for k in children)
        reached = "reached vertices" if node.free and node.parent < 0 else base
        counted = f"sum({below} for {name} in {reached})"
    size = len(node.levels)
    if size == 1:
        return counted
    shape = {Formula.POWER: "^", Formula.FALLING: "falling", Formula.BINOMIAL: "binomial"}
    word = shape[node.formula]
    return f"{counted}^{size}" if word == "^" else f"{word}({counted}, {size})"


def _variable(nest: LoopNest, k: int, plan: Plan) -> str:
    level = nest.levels[k]
    return plan.names[level.vertex] if isinstance(level, VertexLevel) else f"edge{level.edge}"


def _operand(nest: LoopNest, operand: Operand, plan: Plan) -> str:
    match operand.kind:
        case Kind.LIST:
            return f"candidates({plan.names[operand.a]})"
        case Kind.ROW:
            return f"N({_variable(nest, operand.b, plan)}{_view(plan.views[operand.a])})"
        case Kind.SET:
            return f"s{operand.a}"
        case Kind.END:
            return f"end({_variable(nest, operand.b, plan)})"
        case _:
            return ""


def _base(nest: LoopNest, k: int, plan: Plan) -> str:
    level = nest.levels[k]
    if isinstance(level, EdgeLevel) and level.target < 0:
        row = f"{_variable(nest, level.source, plan)}{_view(both_ways(plan)[0][level.view])}"
        within = " and ".join(plan.compares[w.number].text for w in level.windows)
        window = f" in the window {within}" if within else ""
        return f"edges({row}){window}{_checks(nest, level.checks, plan)}"
    if isinstance(level, EdgeLevel):
        ends = _variable(nest, level.source, plan), _variable(nest, level.target, plan)
        text = f"edges({ends[0]}{_view(plan.views[level.view])}{ends[1]})"
        return text + _checks(nest, level.checks, plan)
    text = _operand(nest, level.base, plan) + _cut(nest, level.cut, level.differs, plan)
    return text + _checks(nest, level.checks, plan)


def _checks(nest: LoopNest, checks: tuple[Check, ...], plan: Plan) -> str:
    shown = [_check(nest, c, plan) for c in checks if isinstance(c, Member)]
    pairs = sum(isinstance(c, PairsApart) for c in checks)
    shown += [f"{pairs} pairs apart"] if pairs else []
    shown += [plan.compares[c.number].text for c in checks if isinstance(c, WithinBounds)]
    return f" if {' and '.join(shown)}" if shown else ""


def _check(nest: LoopNest, check: Member, plan: Plan) -> str:
    source, target = _variable(nest, check.source, plan), _variable(nest, check.target, plan)
    shown = f"{source}{_view(both_ways(plan)[0][check.view])}{target}"
    if check.most > UNLIMITED:
        return shown
    return f"{check.most} edges {shown}" if check.most else f"no edge {shown}"


def _cut(nest: LoopNest, cut: Slice, differs: tuple[int, ...], plan: Plan) -> str:
    parts = [f"< {_variable(nest, b, plan)}" for b in cut.below]
    parts += [f"> {_variable(nest, a, plan)}" for a in cut.above]
    parts += [f"<> {_variable(nest, d, plan)}" for d in differs]
    if cut.lo > 0 or cut.hi < UNLIMITED:
        parts.insert(0, f"{cut.lo}..{cut.hi}")
    if cut.bits >= 0:
        parts.append(f"in candidates({plan.names[cut.bits]})")
    return f"[{', '.join(parts)}]" if parts else ""
