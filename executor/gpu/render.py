"""The source of the generic kernel, and how NVRTC is to compile it.

The functions are real CUDA files in `kernels/`; only the #defines of table columns are generated. No name or literal of
a query reaches the source (design.md §5), so one compilation serves all queries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum, IntFlag
from functools import cache
from importlib import resources

import numpy as np

from gdb.storage.graph.adjacency import I64

from ..nest.nest import Formula, Kind, Op, Order
from ..plan.plan import MISSING
from ..table_fields import (
    CheckField,
    LevelField,
    LevelFlag,
    NodeField,
    Role,
    SetField,
    Test,
    ValueField,
    ViewField,
)
from . import layout
from .bits import Bits
from .local import LocalGraph

ENTRY, SPLIT = "run_nest", "fill_split"
TELL, LOOK_UP, MATRICES, MARK = "tell_counters", "look_up", "fill_matrices", "mark_passes"
ADD_SUPPORTS, SUM_SUPPORTS = "add_supports", "sum_supports"
COUNT_UNITS, FILL_UNITS = "count_units", "fill_units"
OPTIONS = ("-std=c++17",)
_COLD = "#define COLD"

_TABLES: tuple[tuple[str, type[IntEnum]], ...] = (
    ("LEVEL", LevelField),
    ("SET", SetField),
    ("CHECK", CheckField),
    ("VALUE", ValueField),
    ("VIEW", ViewField),
    ("NODE", NodeField),
    ("TAIL", layout.TailField),
    ("LOCAL", layout.Local),
    ("RELATION", layout.RelationField),
    ("OPERATION", layout.OperationField),
    ("START", layout.StartField),
    ("LEAF", layout.Leaf),
    ("OUTSIDE", layout.Outside),
    ("TASK", layout.TaskField),
    ("WARP", layout.Warp),
    ("WINDOW", layout.Window),
)
_CODES: tuple[tuple[str, type[IntEnum] | type[IntFlag]], ...] = (
    ("KIND", Kind),
    ("OP", Op),
    ("ORDER", Order),
    ("ROLE", Role),
    ("TEST", Test),
    ("FLAG", LevelFlag),
    ("FORMULA", Formula),
    ("JOB", layout.Job),
    ("AT", layout.At),
    ("HEADER", layout.Header),
    ("SUM", layout.Sum),
    ("STATUS", layout.Status),
    ("PAIRS", layout.Pairs),
    ("PLACE", layout.PlaceField),
)
_INCLUDE = re.compile(r'^#include "(\w+\.cuh)"$', re.MULTILINE)


def _defines() -> Iterator[str]:
    """`LEVEL_BASE 1` for LevelField.BASE, and so on; `LEVEL_FIELDS` is a table's number of columns."""
    for prefix, members in (*_TABLES, *_CODES):
        yield from (f"{prefix}_{member.name} {int(member)}" for member in members)
    yield from (f"{prefix}_FIELDS {len(members)}" for prefix, members in _TABLES)
    yield f"LEVEL_ARRAYS {len(layout.At)}"
    yield f"JOB_FIELDS {len(layout.Job)}"
    yield f"HEADER_WORDS {layout.HEADER_WORDS}"
    yield f"SUMS {layout.SUMS}"
    yield f"SUMS_APART {layout.SUMS_APART}"
    yield f"MAX_VIEWS {layout.MAX_VIEWS}"
    yield f"LOCAL_MOST {layout.LOCAL_MOST}"
    yield f"LOCAL_FILTER_BITS {layout.LOCAL_FILTER_BITS}"
    yield f"PACK_ELEMENTS {layout.PACK_ELEMENTS}"
    yield f"PACK_AHEAD {layout.PACK_AHEAD}"
    yield f"PACK_BEGINS {layout.PACK_BEGINS}"
    yield f"PACK_QUEUE {layout.PACK_QUEUE}"
    yield f"PACK_PAIRS {layout.PACK_PAIRS}"
    yield f"PACK_WORDS {layout.PACK_WORDS}"
    yield f"COPY_AHEAD {layout.COPY_AHEAD}"
    yield f"FAR_COST {layout.FAR_COST}"
    yield f"FAR_SHORT {layout.FAR_SHORT}"
    yield f"FAR_LONG {layout.FAR_LONG}"
    yield f"FAR_ALONE {layout.FAR_ALONE}"
    yield f"BITS_FRAME_WORDS {layout.BITS_FRAME_WORDS}"
    yield f"BITS_CHUNK {layout.BITS_CHUNK}"
    yield f"PAIRS_MOST {layout.PAIRS_MOST}"
    yield f"BLOCK_THREADS {layout.BLOCK_THREADS}"
    yield f"BLOCKS_PER_MULTIPROCESSOR {layout.BLOCKS_PER_MULTIPROCESSOR}"
    yield f"MISSING ({MISSING + 1}LL - 1)"
    yield f"LARGEST_COUNT {layout.LARGEST_COUNT!r}"


@cache
def source(*, cold: bool = False) -> str:
    """The generic kernel as one text: includes are put in their place, so that NVRTC needs no folder.

    cold : some rows of its views lie in page-locked memory of the host.
    """
    lines = (_head(), *([_COLD] if cold else []), _body())
    return "\n".join(lines)


def special(
    numbers: Mapping[layout.Job, int],
    tables: Mapping[layout.Job, I64],
    local: LocalGraph | None = None,
    bits: Bits | None = None,
    *,
    narrow: bool = False,
    cold: bool = False,
) -> str:
    """The kernel of one nest: the job's `numbers` and `tables` are constants in the source, and the branches that they
    decide are compiled away. Its launches take the same job, and go on from the states of the generic
    kernel's.

    local, bits : what it counts in a local graph, and in bits. narrow : 32 bits hold all positions in lists. cold : see
    `source`.
    """
    # not loops: a compiler that unrolls them has looked at what is inside before it knows the constants
    levels = [f"case {k}: work({k}LL); break;" for k in range(numbers[layout.Job.LOOPS])]
    nodes = [f"visit({c}LL);" for c in range(numbers[layout.Job.NODE_COUNT])]
    lines = [
        "#define SPECIAL",
        f"#define SPECIAL_EACH_LEVEL {' '.join(levels)}",
        f"#define SPECIAL_EACH_NODE {' '.join(nodes)}",
    ]
    cases = [f"case JOB_{job.name}: return {value}LL;" for job, value in numbers.items()]
    lines.append(f"#define SPECIAL_NUMBERS {' '.join(cases)}")
    for job, table in tables.items():
        lines.append(_constants(f"NEST_{job.name}", table))
    cases = [f"case JOB_{job.name}: return NEST_{job.name};" for job in tables]
    lines.append(f"#define SPECIAL_TABLES {' '.join(cases)}")
    if narrow:
        lines.append("#define NARROW")
    if cold:
        lines.append(_COLD)
    if local is not None:
        lines += _local(local, passes=numbers.get(layout.Job.IN_PASSES, 0) > 0)
    if bits is not None:
        lines += _bits(bits)
    return "\n".join((_head(), *lines, _body()))


def _local(local: LocalGraph, *, passes: bool) -> list[str]:
    """The source text of a local graph. passes : it is filled in passes, if they bind its first level."""
    return [
        "#define SPECIAL_LOCAL",
        *(["#define LOCAL_IN_PASSES"] if passes and local.in_passes else []),
        *(["#define LOCAL_SUPPORTS"] if local.supports else []),
        f"#define LOCAL_SEVERAL {int(local.several)}",
        f"#define LOCAL_FIRST {local.first}",
        f"#define LOCAL_VIEW {local.view}",
        f"#define LOCAL_LEVELS {len(local.levels)}",
        f"#define LOCAL_SYMMETRIC {int(local.symmetric)}",
        f"#define LOCAL_WORDS {local.words}",
        _constants("NEST_LOCAL", local.table),
    ]


def _bits(bits: Bits) -> list[str]:
    """The source text of what is counted in bits."""
    part = bits.part
    rows: dict[str, tuple[Iterable[Iterable[int]], int]] = {
        "RELATIONS": (part.relations, len(part.relations)),
        "OPERATIONS": (bits.operations(), len(part.operations)),
        "LEAVES": (part.ends, len(part.ends)),
        "STARTS": (part.starts, len(part.starts)),
        "OUTSIDE": (bits.outside, len(bits.outside)),
        "VIEWS": (((view,) for view in bits.views), len(bits.views)),
    }
    numbers = {
        "FRAME": part.frame,
        "VIEW": part.view,
        "ORDER": int(part.order),
        "FIRST": part.first,
        "LAST": part.last,
        "BASE_FIRST": part.bases[0],
        "BASE_LAST": part.bases[-1],
        "SETS": part.sets,
        "PLACED": bits.placed,
        "WORDS": bits.words,
        "HEAD": bits.head,
        "OWN_WORDS": bits.own_words,
        **{name: size for name, (_, size) in rows.items()},
    }
    tables = {
        name: np.array([int(x) for row in table for x in row], np.int64)
        for name, (table, _) in rows.items()
    }
    tables["SKIPPED"] = np.array(part.skip, np.int64)
    return [
        "#define SPECIAL_BITS",
        *(f"#define BITS_{name} {value}" for name, value in numbers.items()),
        *(_constants(f"NEST_{name}", table) for name, table in tables.items()),
    ]


def _constants(name: str, table: I64) -> str:
    values = ", ".join(f"{value}LL" for value in table.ravel().tolist() or [0])
    return f"__device__ constexpr long long {name}[] = {{{values}}};"


def around(text: str) -> str:
    """A kernel of another program (a measurement) that includes files of `kernels/`: whole, as `source` is."""
    return f"{_head()}\n{_included(text)}"


@cache
def _head() -> str:
    return "\n".join(f"#define {line}" for line in _defines())


@cache
def _body() -> str:
    return _included(_read("nest.cu"))


def _read(name: str) -> str:
    return (resources.files(__package__) / "kernels" / name).read_text(encoding="utf-8")


def _included(text: str) -> str:
    """The text with each file that it includes in its place, once."""
    seen: set[str] = set()

    def put(found: re.Match[str]) -> str:
        name = found[1]
        if name in seen:
            return ""
        seen.add(name)
        return _INCLUDE.sub(put, _read(name))

    return _INCLUDE.sub(put, text)
