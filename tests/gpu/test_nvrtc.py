"""The kernel compiles for every architecture we name, by NVRTC, which needs neither driver nor device."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from gdb import planner
from gdb.errors import DeviceError
from gdb.executor.gpu import compiler, render, special
from gdb.executor.gpu.layout import Job
from gdb.executor.gpu.stage import SHARED, Share, Stage
from gdb.executor.nest.by_edge import by_edge
from gdb.executor.nest.nest import Formula, Kind, Op
from gdb.executor.nest.prepare import prepare
from gdb.executor.plan.embeddings import NO_COLUMNS
from gdb.executor.plan.plan import Compare
from gdb.executor.table_fields import Role
from gdb.query_graph import REPEATABLE_ELEMENTS, SUBGRAPHS, QueryEdge, QueryGraph, QueryVertex
from gdb.storage.format.direction import Direction
from tests.support.compiler_results import kept, nvrtc_version
from tests.support.small_graph import SmallGraph

ARCHITECTURES = (75, 80, 90)  # those between them have the instructions of the one below
# bytes; more would mean that a change has put the interpreter's loop into local memory
SPILL_LIMIT = 640
SPLIT_SPILL_LIMIT = 800  # where each row is looked for in two memories


@cache
def compiled_here(source: str, architecture: int) -> tuple[bytes, str]:
    """(machine code, compiler's log)."""
    version = nvrtc_version()
    name, option = f"sm_{architecture}", "--ptxas-options=-v"

    def compiled() -> bytes:
        code, log = compiler.compile_source(source, name, option)
        return len(code).to_bytes(8, "little") + code + log.encode()

    found = kept("nvrtc", (version, name, option, render.OPTIONS, source), compiled)
    end = 8 + int.from_bytes(found[:8], "little")
    return found[8:end], found[end:].decode()


@pytest.mark.parametrize(
    ("architecture", "cold"),
    [
        *((architecture, False) for architecture in ARCHITECTURES),
        *((architecture, True) for architecture in (ARCHITECTURES[0], ARCHITECTURES[-1])),
    ],
)
def test_kernel_compiles(architecture: int, cold: bool) -> None:
    code, log = compiled_here(render.source(cold=cold), architecture)
    assert code[:4] == b"\x7fELF"
    assert render.ENTRY.encode() in code
    assert "warning" not in log, log
    spills = [
        int(line.split(" bytes spill stores")[0].split(",")[-1])
        for line in log.splitlines()
        if "spill" in line
    ]
    assert max(spills, default=0) <= (SPLIT_SPILL_LIMIT if cold else SPILL_LIMIT), log


def test_a_broken_kernel_is_seen() -> None:
    with pytest.raises(DeviceError, match="no_such_function"):
        compiled_here(render.source().replace("__popc", "__no_such_function", 1), 90)


def test_source_is_whole() -> None:
    """Every include is put in its place once, and the table columns are there."""
    source = render.source()
    assert "#include" not in source
    assert source.count("warp_lower_bound(const u32*") == 1
    assert "#define LEVEL_COLUMN 17" in source
    assert "#define SET_FIELDS 19" in source


def test_the_kernel_knows_every_formula() -> None:
    """A new member must be taught to nest.cuh before it is added here."""
    assert [f.name for f in Formula] == ["POWER", "FALLING", "BINOMIAL", "PAIR"]
    only_cpu = ["END", "WINDOW"]  # a GPU is given no nest with them
    assert [k.name for k in Kind] == ["LIST", "ROW", "SET", "FREE", *only_cpu]
    assert [o.name for o in Op] == ["INTERSECT", "DIFFERENCE"]
    assert [r.name for r in Role] == ["LONE", "SLICE", "MARK", "INNER", "PUSHED"]


SHAPES = {
    "triangle": ((0, 1), (1, 2), (0, 2)),
    "clique": ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)),  # a local graph, as the triangle
    "bits": (  # a 6-clique less an edge, in a neighbourhood of bits
        *((0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)),
        *((0, 5), (1, 5), (2, 5), (3, 5)),
    ),
    "diamond": ((0, 1), (1, 2), (2, 3), (3, 0), (0, 2)),  # a sum over edges
    "timed": ((0, 1), (1, 2), (0, 2)),  # edges are compared
    "house": ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4)),  # pushes from two children
    "cliques": (  # which branches
        *((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)),
        *((0, 4), (0, 5), (0, 6), (4, 5), (4, 6), (5, 6)),
    ),
}


@pytest.mark.parametrize(
    ("shape", "architecture", "cold"),
    [
        *((shape, 90, False) for shape in SHAPES),
        ("clique", 75, False),
        ("triangle", 90, True),
        ("diamond", 90, True),
        ("clique", 90, True),
        ("bits", 90, True),
    ],
)
def test_special_kernels_compile(shape: str, architecture: int, cold: bool) -> None:
    """The constants must make a nest's own kernel smaller than the interpreter."""
    found = [("U", a, b) for a in range(9) for b in range(a)]
    graph = SmallGraph([()] * 9, found, frozenset("U"))
    edges = tuple(QueryEdge(a, b, ("U",), Direction.ANY) for a, b in SHAPES[shape])
    vertices = (QueryVertex(),) * (1 + max(max(pair) for pair in SHAPES[shape]))
    times = np.arange(graph.edge_count)
    compared = (Compare(0, 1, True, True, 1, 60, times, times),) if shape == "timed" else ()
    mode = SUBGRAPHS if shape == "bits" else REPEATABLE_ELEMENTS
    query = QueryGraph(vertices, edges, mode, compared=compared)
    prepared, counted = prepare(planner.plan(query, graph, counting=True), graph), None
    if shape == "diamond":
        counted = by_edge(prepared)
        assert counted is not None
        prepared = counted.triangles
    placed = Stage(prepared, Share(0), NO_COLUMNS, counted=counted)
    placed.shape(SHARED)
    placed.cold = cold
    placed.job[Job.IN_PASSES] = cold  # which is worth it where a local graph is
    assert placed.tables.branches == (shape == "cliques")
    source = special.source_of(placed)
    assert ("#define SPECIAL_LOCAL" in source) == (shape in ("clique", "triangle", "diamond"))
    assert ("#define LOCAL_SUPPORTS" in source) == (shape == "diamond")
    assert ("#define SPECIAL_BITS\n" in source) == (shape == "bits" and not cold)
    code, log = compiled_here(source, architecture)
    assert "warning" not in log, log
    assert len(code) < len(compiled_here(render.source(cold=cold), architecture)[0])
