"""A full check of a store: every invariant, by name, over everything that it is about (docs/FORMAT.md, *Invariants*).

A `Scope` lists what is compared of one kind of thing. Reading a thing anew, from a file whose checksum was compared,
compares what every reader does; then what `gdb.storage.checking.cross_checks` adds. A thing that cannot be read, or
lies in a file that cannot, has one fault, and is left out of the rest; so the faults of all other things are found too.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from gdb.errors import CorruptStore, Fault
from gdb.records import dataclass, replace

from ..columns.model import Column
from ..disk import file_names
from ..disk.files import MANIFEST, Files, PosixFiles
from ..disk.pins import Pin
from ..disk.steps import Steps
from ..format import invariants as rules
from ..format import manifest as manifests
from ..format import manifest_checks, section_owners
from ..format.direction import Direction
from ..format.invariants import Compared, Fails, Invariant
from ..format.journal import Journal, Unsealed
from ..format.manifest import ColumnRecord, Manifest, SpaceRecord, TypeRecord
from ..format.manifest_head import PATIENCE, length_in, most_bytes
from ..format.segment import damaged
from ..format.segments import Segments
from ..graph import delta as deltas
from ..graph import property_columns, section_checks
from ..graph.delta import NOTHING, Delta
from ..graph.partitions import Partitions
from ..graph.vertices import Vertices
from . import cross_checks

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Scope(Generic[T]):
    """The comparisons of one kind of things: those made by its reader, and those made after it was read. The first of
    `read` names a reading fault that has no other name."""

    things: str
    read: tuple[Invariant, ...]
    deep: tuple[Compared[T], ...] = ()

    @property
    def all(self) -> tuple[Invariant, ...]:
        """The invariants of both kinds, those of `read` first."""
        return (*self.read, *self.deep)


_MANIFEST = Scope(
    "manifests",
    (rules.MANIFEST_SEAL, rules.MANIFEST_TEXT, *manifest_checks.MANIFEST),
    cross_checks.MANIFEST,
)
_JOURNAL = Scope("journals", (rules.JOURNAL,), cross_checks.JOURNAL)
_FILES = Scope("files", (rules.CHECKSUMS, rules.SECTION_TABLES), cross_checks.FILES)
_COLUMNS: Scope[Column] = Scope(
    "columns",
    (rules.COLUMN_LENGTHS, rules.SECTIONS, rules.PACKED, rules.VALIDITY, *section_checks.COLUMN),
)
_PARTS = Scope(
    "parts",
    (rules.SEGMENT_ROWS, rules.SECTIONS, rules.PACKED, rules.INTERVALS, *section_checks.PART),
    cross_checks.PARTS,
)
_TYPES = Scope("types", (rules.EDGE_COUNTS,), cross_checks.TYPES)
_SPACES = Scope(
    "id spaces",
    (rules.INDEX_LENGTHS, rules.SECTIONS, rules.PACKED, *section_checks.INDEX),
    cross_checks.SPACES,
)
_DELTA = Scope(
    "deltas", (rules.DELTA_LENGTHS, rules.SECTIONS, *section_checks.DELTA), cross_checks.DELTA
)
_SCOPES = (_MANIFEST, _JOURNAL, _FILES, _COLUMNS, _PARTS, _TYPES, _SPACES, _DELTA)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one invariant. things : what it is about; by_readers : whether readers compare it too, on first
    use; checked : how many of them were compared; skipped : how
    many could not be, for another fault; faults : in how many it does not hold."""

    name: str
    rule: str
    things: str
    by_readers: bool
    checked: int = 0
    skipped: int = 0
    faults: int = 0


def invariants() -> tuple[Outcome, ...]:
    """All invariants, in the order of docs/FORMAT.md; nothing was compared."""
    things: dict[Invariant, list[str]] = {}
    for scope in _SCOPES:
        for one in scope.all:
            things.setdefault(one, []).append(scope.things)
    read = {one for scope in _SCOPES for one in scope.read}
    return tuple(
        Outcome(one.name, one.rule, ", ".join(of), one in read) for one, of in things.items()
    )


@dataclass(frozen=True, slots=True)
class Report:
    """What a check found.

    invariants : by name, in the order of docs/FORMAT.md. faults : all that are wrong, in the order found.
    files, bytes : that were read. strays : files of a killed writer, or of one that writes now; they mean nothing.
    """

    where: str
    invariants: tuple[Outcome, ...]
    faults: tuple[Fault, ...]
    files: int
    bytes: int
    strays: tuple[str, ...]

    def raise_faults(self) -> None:
        """Raise CorruptStore if there are any: its message names the first, its `faults` are all."""
        if self.faults:
            first = self.faults[0]
            error = damaged(self.where, first.file, first.what)
            if len(self.faults) > 1:
                message = f"{error.message} That is the first of {len(self.faults):,} faults."
            else:
                message = error.message
            raise CorruptStore(message, error.cure, self.faults)


def check_folder(path: Path, steps: Steps) -> Report:
    """Check the store in a folder, also one that cannot be opened.

    Raises
    ------
    NotAStore : there is none. Cancelled. StoreError : the operating system refuses to read it.
    """
    files = PosixFiles(path)
    try:
        return check(files, steps)
    finally:
        files.close()


def check(files: Files, steps: Steps, state: Manifest | None = None) -> Report:
    """Check a store: all of it is read anew; the memory is that of one edge type, and 24 to 48 bytes for each of its
    edges, or of one id space. state : the state to check; None for that on disk.

    Raises as `check_folder`.
    """
    run, found, pins = _begun(files, steps)
    manifest = state
    if found is not None:
        newest = run.journal(found)
        manifest = state or newest
    if manifest is None:
        run.skip_all()
    else:
        run.whole(manifest)
    del pins  # until here its files had to stay
    return run.report(manifest, found)


def _begun(files: Files, steps: Steps) -> tuple[_Check, cross_checks.OnDisk | None, list[Pin]]:
    """A check that has read the manifest, whose files are pinned, if they are there."""
    while True:
        run, pins, gone = _Check(files, steps), list[Pin](), False
        found = run.manifest()
        records = () if found is None else found.written.files
        for name in file_names.first_of_each(record.name for record in records):
            try:
                pins.append(files.pin(name))
            except FileNotFoundError:
                gone = True
        # where it is gone another manifest may have taken the place of this one, or it is damage
        if not gone or found is None or files.read(MANIFEST, most_bytes) == found.raw:
            return run, found, pins


class _Check:
    """One check. What is found is gathered; `bad` are the numbers of files that cannot be read."""

    def __init__(self, files: Files, steps: Steps) -> None:
        self._files, self._steps = files, steps
        self._checked, self._skipped = Counter[str](), Counter[str]()
        self._faults: list[Fault] = []
        self._bad: set[int] = set()
        self._done = self._total = 0

    def report(self, manifest: Manifest | None, disk: cross_checks.OnDisk | None) -> Report:
        """What was found so far. manifest : whose files were read; disk : the one on disk."""
        faults = Counter(fault.invariant for fault in self._faults)
        outcomes = tuple(
            replace(
                one,
                checked=self._checked[one.name],
                skipped=self._skipped[one.name],
                faults=faults[one.name],
            )
            for one in invariants()
        )
        records = () if manifest is None else manifest.files
        kept = {record.name for record in records}
        kept |= set() if disk is None else {record.name for record in disk.written.files}
        strays = file_names.strays(self._files.names(), kept) if manifest is not None else []
        size = sum(record.length for record in records) + (0 if disk is None else len(disk.raw))
        where = self._files.where
        return Report(where, outcomes, tuple(self._faults), len(records) + 1, size, tuple(strays))

    # ---- one thing -------------------------------------------------------------------------------

    def _read(
        self, scope: Scope[T], file: str, numbers: Iterable[int], make: Callable[[], R]
    ) -> R | None:
        """A thing read from some files; None if that fails, which is reported as a fault. file : the name in a fault
        that names no file."""
        self._done += 1
        self._steps.at("checking", self._done, max(self._total, self._done))
        if not self._bad.isdisjoint(numbers):
            self.skip(scope)
            return None
        try:
            thing = make()
        except CorruptStore as error:
            self._refused(scope.all, scope.read[0].name, file, error)
            return None
        self._checked.update(one.name for one in scope.read)
        return thing

    def _compare(self, scope: Scope[T], file: str, thing: T, of: str = "") -> None:
        """What a thing that was read must hold beside what its reader compared. of : said of it in a fault."""
        for one in scope.deep:
            try:
                one.compare(thing)
            except CorruptStore as error:  # it had to read more
                self._refused((one,), one.name, file, error)
            except Fails as error:
                self._add(Fault(one.name, file, f"{error}{of}"))
            else:
                self._checked[one.name] += 1

    def _refused(
        self, all: Iterable[Invariant], otherwise: str, file: str, error: CorruptStore
    ) -> None:
        """A thing could not be read; so nothing else was compared of it."""
        start = f"The store {self._files.where} is damaged: its file {file} "
        fault = Fault("", file, error.message.removeprefix(start).removesuffix("."))
        fault = next(iter(error.faults), fault)
        found = replace(fault, invariant=fault.invariant or otherwise)
        if found not in self._faults:  # a column that two things are made of is read twice
            self._add(found)
        self._skipped.update(one.name for one in all if one.name != found.invariant)

    def _add(self, fault: Fault) -> None:
        self._checked[fault.invariant] += 1
        self._faults.append(fault)

    def skip(self, scope: Scope[T]) -> None:
        """A thing that is not looked at."""
        self._skipped.update(one.name for one in scope.all)

    def skip_all(self) -> None:
        """Skip everything that only a manifest describes, as there is none."""
        self._skipped.update(one.name for scope in _SCOPES[1:] for one in scope.all)

    # ---- all things ------------------------------------------------------------------------------

    def manifest(self) -> cross_checks.OnDisk | None:
        """The manifest on disk; None where it cannot be read."""
        read = self._read(_MANIFEST, MANIFEST, (), partial(manifests.read, self._files))
        if read is None:
            return None
        found = cross_checks.OnDisk(*read)
        self._compare(_MANIFEST, MANIFEST, found)
        return found

    def journal(self, disk: cross_checks.OnDisk) -> Manifest:
        """What the store consists of after the records behind a manifest; without them where they cannot be read."""
        if not disk.written.journal:
            return disk.written
        newest = self._read(_JOURNAL, MANIFEST, (), partial(_followed, self._files, disk))
        if newest is None:
            return disk.written
        self._compare(_JOURNAL, MANIFEST, newest)
        return newest.manifest

    def whole(self, manifest: Manifest) -> None:
        """Everything that a manifest names."""
        columns = sum(1 for _ in section_owners.columns(manifest))
        parts = sum(1 + len(record.parts) for record in manifest.types)
        self._total = 4 + len(manifest.files) + columns + parts + len(manifest.spaces)
        segments = Segments(self._files, manifest.files, manifest.inline)
        self._each_file(manifest, segments)
        delta = self._delta(manifest, segments)
        for number, record, count in section_owners.columns(manifest):
            name, where = manifest.name_of(number), self._files.where
            read = partial(_column, segments, number, record, count, where)
            self._read(_COLUMNS, name, (number,), read)
        records = {record.name: record for record in manifest.types}
        for name in sorted(records.keys() | (delta or NOTHING).types.keys()):
            self._type(name, records.get(name), manifest, segments, delta)
        for space in manifest.spaces:
            self._space(space, manifest, segments)
        if delta is not None and manifest.delta is not None:
            changed = cross_checks.Changed(delta, Vertices(manifest, delta, segments))
            self._compare(_DELTA, manifest.name_of(manifest.delta.file), changed)
        self._steps.at("checking", self._total, self._total)

    def _each_file(self, manifest: Manifest, segments: Segments) -> None:
        owned = section_owners.owners(manifest)
        changes = -1 if manifest.delta is None else manifest.delta.file  # is never packed
        for number in range(len(manifest.files) + bool(manifest.inline)):
            name, of = manifest.name_of(number), owned.get(number, Counter())
            file = self._read(_FILES, name, (), partial(segments.__getitem__, number))
            if file is None:
                self._bad.add(number)
            else:
                packs = manifest.packed and number != changes
                self._compare(_FILES, name, cross_checks.Opened(file, of, packs))

    def _delta(self, manifest: Manifest, segments: Segments) -> Delta | None:
        """The delta, NOTHING where there is none; None where it cannot be read."""
        if manifest.delta is None:
            return NOTHING
        file = manifest.delta.file
        read = partial(deltas.read, manifest, segments)
        return self._read(_DELTA, manifest.name_of(file), (file,), read)

    def _type(
        self,
        name: str,
        record: TypeRecord | None,
        manifest: Manifest,
        segments: Segments,
        delta: Delta | None,
    ) -> None:
        """The parts of a type, and what they are together with the delta, None where that cannot be read."""
        records = () if record is None else (record,)
        own = {} if delta is None or name not in delta.types else {name: delta.types[name]}
        partitions = Partitions(records, own, segments, manifest.vertex_count)
        stored: dict[Direction, cross_checks.StoredPart] = {}
        parts, of = () if record is None else record.parts, f" (type {name})"
        for part in parts:
            numbers = [segment.file for segment in part.segments]
            file = manifest.name_of(numbers[0])
            read = partial(cross_checks.stored_part, partitions, name, part, segments)
            one = self._read(_PARTS, file, numbers, read)
            if one is not None:
                stored[part.direction] = one
                self._compare(_PARTS, file, one, of)
        if delta is None or len(stored) < len(parts):
            self.skip(_TYPES)
            return
        changes = -1 if manifest.delta is None else manifest.delta.file
        first = parts[0].segments[0].file if parts else changes
        together = partial(cross_checks.both_sides, name, delta, partitions, stored)
        both = self._read(_TYPES, manifest.name_of(first), (), together)
        if both is not None:
            self._compare(_TYPES, manifest.name_of(first), both, of)

    def _space(self, space: SpaceRecord, manifest: Manifest, segments: Segments) -> None:
        groups = [group for group in manifest.groups if group.id_space == space.name]
        numbers = {space.file, *(group.file for group in groups)}
        file = manifest.name_of(space.file)
        found = self._read(
            _SPACES, file, numbers, partial(cross_checks.space_of, space, manifest, segments)
        )
        if found is not None:
            self._compare(_SPACES, file, found)


def _followed(files: Files, disk: cross_checks.OnDisk) -> cross_checks.Followed:
    """What the store consists of after the records behind a manifest."""
    for pause in PATIENCE:
        try:
            return _newest(files, disk)
        except Unsealed:  # another process may be writing that sector this very moment
            time.sleep(pause)
            disk = cross_checks.OnDisk(*manifests.read(files))
    return _newest(files, disk)


def _newest(files: Files, disk: cross_checks.OnDisk) -> cross_checks.Followed:
    if not disk.written.journal:
        return cross_checks.Followed(disk.written)
    journal = Journal(files, disk.written, disk.raw[: length_in(disk.raw)])
    journal.follow(bytearray(disk.raw))
    return cross_checks.Followed(journal.manifest, journal.ends_in_zeros(disk.raw))


def _column(segments: Segments, file: int, record: ColumnRecord, count: int, where: str) -> Column:
    return property_columns.read(record, segments[file], count, where)
