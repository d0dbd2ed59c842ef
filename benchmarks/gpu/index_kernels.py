"""The kernels of index_lookups.cu: which there are, their source, and the tables on the device that they read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path

import numpy as np

from benchmarks.gpu.index_layouts import I64, SEED, csr, hash_pcsr
from gdb.executor.gpu import memory, render
from gdb.executor.gpu.memory import DeviceArray, HostArray
from gdb.executor.table_fields import ViewField
from gdb.storage.graph.adjacency import Adjacency

SOURCE = Path(__file__).with_name("index_lookups.cu")
SLOTS = 4096  # places that sums are spread over
BLOCK = 256
BLOCK_SHARED = 1024  # more threads for each copy of the intervals
ROOM, SMALL_ROOM = 12_000, 1_000  # first vids in shared memory: 48 KB is what a kernel gets unasked
CROWDED = (
    1,
    2,
)  # blocks of 1024 threads that a multiprocessor must hold: 64 registers a thread, or 32


class Layout(StrEnum):
    """What is looked up in."""

    INTERVAL = "interval index"
    HASH = "hash-PCSR"
    CSR = "CSR"


COMPACT_OFFSETS = ViewField.EIDS  # of the interval index, u32[rows + 1]: no lookup reads edge ids


class HashField(IntEnum):
    """Columns of hash-PCSR's table, beside ViewField.NEIGHBOURS. MAGIC: ceil(2**64 / GROUPS), as i64."""

    WORDS = 0
    GROUPS = 1
    MAGIC = 2


class CsrField(IntEnum):
    """Columns of plain CSR's table, beside ViewField.NEIGHBOURS."""

    OFFSETS = 0


@dataclass(frozen=True, slots=True)
class Kernel:
    """One way to look vids up.

    entry : its name in index_lookups.cu. special : with everything inlined, as a nest's own kernel has it.
    room : first vids in shared memory. chunks : lookups that a block takes at once; the best of them counts.
    """

    name: str
    layout: Layout
    entry: str
    special: bool = True
    room: int = 0
    block: int = BLOCK
    chunks: tuple[int, ...] = (512, 2048, 8192)


INTERVAL = Kernel("interval", Layout.INTERVAL, "interval")
GENERIC = Kernel("generic", Layout.INTERVAL, "interval", special=False)
COMPACT = Kernel("4-byte", Layout.INTERVAL, "compact")
SHARED = Kernel("shared 48K", Layout.INTERVAL, "shared", True, ROOM, BLOCK_SHARED, (8192, 32768))
SMALL = Kernel(
    "shared 4K", Layout.INTERVAL, "shared", True, SMALL_ROOM, BLOCK_SHARED, (8192, 32768)
)
GSI = Kernel("warp %", Layout.HASH, "warp")
HASHES = (
    Kernel("thread %", Layout.HASH, "thread"),
    Kernel("thread", Layout.HASH, "thread_multiplied"),
    GSI,
    Kernel("warp", Layout.HASH, "warp_multiplied"),
)
CSR = Kernel("CSR", Layout.CSR, "csr")
KERNELS = (INTERVAL, GENERIC, COMPACT, SHARED, SMALL, *HASHES, CSR)


def source(special: bool, crowded: int) -> str:
    """All kernels as one text, with the product's lookup in its place; `crowded` is one of CROWDED."""
    lines = ["#define SPECIAL"] if special else []
    lines.append(f"#define CROWDED {crowded}")
    lines += [f"#define HASH_{field.name} {int(field)}" for field in HashField]
    lines += [f"#define CSR_{field.name} {int(field)}" for field in CsrField]
    lines.append(f"#define COMPACT_OFFSETS {int(COMPACT_OFFSETS)}")
    lines += [f"#define HASH_SEED {SEED}u", f"#define SLOTS {SLOTS}"]
    return render.around("\n".join((*lines, SOURCE.read_text(encoding="utf-8"))))


def magic(groups: int) -> int:
    """By what a hash of 32 bits is multiplied to get its remainder by `groups`, modulo 2**64: ceil(2**64 / groups)."""
    return -(-(1 << 64) // groups) & (1 << 64) - 1


class Placed:
    """The ELPs of one graph on the current device, in all three layouts; `tables` has a row for each ELP."""

    def __init__(self, parts: list[Adjacency], vertices: int) -> None:
        self._kept: list[DeviceArray] = []
        self.elps = len(parts)
        shape = (self.elps, len(ViewField))
        rows = {layout: np.zeros(shape, np.int64) for layout in Layout}
        for elp, part in enumerate(parts):
            at = self._put(part.neighbours)  # CSR's are the same
            self._place_intervals(part, rows[Layout.INTERVAL][elp], at)
            self._place_hash(part, rows[Layout.HASH][elp])
            row = rows[Layout.CSR][elp]
            row[CsrField.OFFSETS] = self._put(csr(part, vertices).offsets)
            row[ViewField.NEIGHBOURS] = at
        self.tables = {layout: memory.upload(table) for layout, table in rows.items()}

    def _put(self, array: HostArray) -> int:
        self._kept.append(memory.upload(array))
        return self._kept[-1].data.ptr

    def _place_intervals(self, part: Adjacency, row: I64, neighbours: int) -> None:
        row[ViewField.INTERVALS] = len(part.first)
        row[ViewField.FIRST] = self._put(part.first)
        row[ViewField.LENGTH] = self._put(part.length)
        row[ViewField.ROW] = self._put(part.row)
        row[ViewField.OFFSETS] = self._put(part.offsets)
        row[COMPACT_OFFSETS] = self._put(part.offsets.astype(np.uint32))
        row[ViewField.NEIGHBOURS] = neighbours
        row[ViewField.FIRST0] = part.first[0]
        row[ViewField.LENGTH0] = part.length[0]
        row[ViewField.ROW0] = part.row[0]

    def _place_hash(self, part: Adjacency, row: I64) -> None:
        hashed = hash_pcsr(part)
        groups = len(hashed.words)
        row[HashField.WORDS] = self._put(hashed.words)
        row[HashField.GROUPS] = groups
        row[HashField.MAGIC] = np.uint64(magic(groups)).view(np.int64)
        row[ViewField.NEIGHBOURS] = self._put(hashed.neighbours)
