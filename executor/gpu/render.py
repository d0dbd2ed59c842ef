"""The source of the generic kernel, and how NVRTC is to compile it.

The functions are real CUDA files in `kernels/`; only the #defines of table columns are generated. No name or literal of
a query reaches the source (design.md §5), so one compilation serves all queries.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import IntEnum, IntFlag
from functools import cache
from importlib import resources

from gdb.executor.gpu import layout
from gdb.executor.nest import Formula, Kind, Op, Order
from gdb.executor.tables import CheckField, Flag, LevelField, NodeField, Role, SetField, ViewField

ENTRY, SPLIT = "run_nest", "fill_split"
OPTIONS = ("-std=c++17",)

_TABLES: tuple[tuple[str, type[IntEnum]], ...] = (
    ("LEVEL", LevelField),
    ("SET", SetField),
    ("CHECK", CheckField),
    ("VIEW", ViewField),
    ("NODE", NodeField),
    ("TAIL", layout.Tail),
    ("TASK", layout.Task),
    ("WARP", layout.Warp),
)
_CODES: tuple[tuple[str, type[IntEnum] | type[IntFlag]], ...] = (
    ("KIND", Kind),
    ("OP", Op),
    ("ORDER", Order),
    ("ROLE", Role),
    ("FLAG", Flag),
    ("FORMULA", Formula),
    ("JOB", layout.Job),
    ("AT", layout.At),
    ("HEADER", layout.Header),
    ("STATUS", layout.Status),
)
_INCLUDE = re.compile(r'^#include "(\w+\.cuh)"$', re.MULTILINE)


def _defines() -> Iterator[str]:
    """`LEVEL_BASE 1` for LevelField.BASE, and so on; `LEVEL_FIELDS` is a table's number of columns."""
    for prefix, members in (*_TABLES, *_CODES):
        yield from (f"{prefix}_{member.name} {int(member)}" for member in members)
    yield from (f"{prefix}_FIELDS {len(members)}" for prefix, members in _TABLES)
    yield f"LEVEL_ARRAYS {len(layout.At)}"
    yield f"BLOCK_THREADS {layout.BLOCK_THREADS}"
    yield f"BLOCKS_PER_MULTIPROCESSOR {layout.BLOCKS_PER_MULTIPROCESSOR}"
    yield f"LARGEST_COUNT {layout.LARGEST_COUNT!r}"


@cache
def source() -> str:
    """The whole kernel as one text: includes are put in their place, so that NVRTC needs no folder."""
    kernels = resources.files(__package__) / "kernels"
    seen: set[str] = set()

    def read(name: str) -> str:
        if name in seen:
            return ""
        seen.add(name)
        text = (kernels / name).read_text(encoding="utf-8")
        return _INCLUDE.sub(lambda found: read(found[1]), text)

    head = "\n".join(f"#define {line}" for line in _defines())
    return f"{head}\n{read('nest.cu')}"
