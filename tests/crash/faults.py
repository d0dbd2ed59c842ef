"""A commit in a child process whose n-th call to the operating system fails, or kills it; for every n.

Three ways to make a call fail: a patched `os` in the child (works everywhere), `strace -e inject` (the kernel's own
answer, needs strace and leave to trace), and a disk that is really full (`filled`, on a small tmpfs). After each the
store must open, hold the last acknowledged commit or the one in hand, whole, and take another commit.

`python -m tests.crash.faults` tries all of them and prints the table (`make corrupt`).
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from gdb.errors import ClosedError, GdbError, InternalError, StoreError
from gdb.storage.disk import file_names
from gdb.storage.format import segment_writer
from gdb.storage.write.store import Store
from tests.crash import writer
from tests.support.graph_tables import write_graph

CALLS = ("open", "write", "pwrite", "fsync", "fdatasync", "rename", "unlink", "flock", "mkdir")
SYSTEM_CALLS = {
    "open": "openat", "write": "write", "pwrite": "pwrite64", "fsync": "fsync", "fdatasync": "fdatasync",
    "flock": "flock", "rename": "?rename,?renameat,?renameat2", "unlink": "?unlink,?unlinkat",
    "mkdir": "?mkdir,?mkdirat",
}  # fmt: skip
KINDS = ("KILL", "ENOSPC", "EIO", "ENOSPC for good", "short write")
MOST = 400  # calls of one kind in one commit
WAIT = 30.0


@dataclass(frozen=True, slots=True)
class Fault:
    """The number-th of a call fails; call "" counts all of `CALLS` together.

    kind : one of `KINDS`; "for good": all calls after it, of every kind that takes space, fail as well.
    """

    kind: str
    call: str
    number: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a fault did.

    hit : the fault came about. acknowledged : the commit returned. error : its class and message. clear : the error
    is ours and ends with a cure, or there is none. found : the generation in the store afterwards, None where it
    does not open or is not whole. again : what went wrong with a second commit, in the same process and in another.
    """

    fault: Fault
    hit: bool
    acknowledged: bool
    error: str
    clear: bool
    found: int | None
    again: str

    @property
    def lost(self) -> bool:
        """An acknowledged commit is missing, or everything is."""
        return self.found is None or (self.acknowledged and self.found != 1)

    @property
    def bad(self) -> bool:
        return self.lost or not self.clear or bool(self.again)


def in_memory() -> str | None:
    """Where files cost no disk, if there is such a place: a process that dies loses nothing there either."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def make_small() -> None:
    """Make generations small, in many files: a commit of few bytes and many calls."""
    writer.VERTICES, writer.EDGES, writer.SEGMENT_EDGES, segment_writer.PACK_BYTES = 30, 120, 60, 1


# ---- the child ---------------------------------------------------------------------------------------


def _commit_in_child(
    folder: Path, prepare: Callable[[], object], report: socket.socket, *, again: bool
) -> None:
    """Write generation 1 and report what happened, and whether the store can be used `again`; never returns."""
    told: dict[str, object] = {"acknowledged": False, "error": "", "clear": True, "again": ""}
    store: Store | None = None
    disarm = prepare()
    try:
        store = Store.open(folder, create=True)
        write_graph(store, writer.generation(1), segment_edges=writer.SEGMENT_EDGES)
        told["acknowledged"] = True
    except BaseException as error:
        told["error"] = f"{type(error).__name__}: {error}"
        told["clear"] = (
            isinstance(error, StoreError)
            and not isinstance(error, InternalError)
            and bool(error.cure)
        )
    if callable(disarm):
        disarm()
    try:
        if again:  # else the fault may be waiting there
            told["held"] = None if store is None else _held(store)
            told["again"] = _again(store)
    except BaseException as error:
        told["again"] = f"reading after it: {type(error).__name__}: {error}"
    report.send(json.dumps(told).encode())  # not a write: those may be failing
    os._exit(0)


def _held(store: Store) -> int:
    """The generation in a store; AssertionError where it is not whole. An empty one counts as 0."""
    snapshot = store.snapshot()
    return writer.generation_of(snapshot) if snapshot.version else 0


def _again(store: Store | None) -> str:
    """Write through the store that met the fault: what is wrong with that, or ""."""
    try:
        if store is not None:
            write_graph(store, writer.generation(2), segment_edges=writer.SEGMENT_EDGES)
    except ClosedError:
        return ""  # after a failed fsync it takes no more writes, and says so
    except BaseException as error:
        return f"in the same process: {type(error).__name__}: {error}"
    return ""


def _patch(fault: Fault, hit: Callable[[], None]) -> Callable[[], None]:
    """Make the fault come about in this process; gives back what undoes it."""
    count, lasting = 0, False
    real: dict[str, Callable[..., object]] = {n: getattr(os, n) for n in CALLS if n != "flock"}
    real["flock"] = fcntl.flock

    def patched(name: str) -> Callable[..., object]:
        def call(*arguments: object, **more: object) -> object:
            nonlocal count, lasting
            count += fault.call in ("", name)
            now = fault.call in ("", name) and count == fault.number
            takes_space = name in ("write", "pwrite", "mkdir", "rename") or (
                name == "open" and bool(int(str(arguments[1])) & os.O_CREAT)
            )
            if not now and not (lasting and takes_space):
                return real[name](*arguments, **more)
            hit()
            if fault.kind == "KILL":
                os.kill(os.getpid(), signal.SIGKILL)
            if fault.kind == "short write":
                data = arguments[1]
                assert isinstance(data, bytes | memoryview)
                return real[name](arguments[0], memoryview(data)[: (len(data) + 1) // 2])
            lasting = fault.kind.endswith("for good")
            number = errno.EIO if fault.kind == "EIO" else errno.ENOSPC
            raise OSError(number, os.strerror(number))

        return call

    def undo() -> None:
        for name, function in real.items():
            setattr(fcntl if name == "flock" else os, name, function)

    for name in CALLS:
        setattr(fcntl if name == "flock" else os, name, patched(name))
    return undo


# ---- the parent --------------------------------------------------------------------------------------


def _judged(
    folder: Path,
    fault: Fault,
    prepare: Callable[..., object],
    release: Callable[[int], None] | None,
) -> Outcome:
    """Run the child and look at what is left.

    release : called with the child's process id while it waits to begin.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = os.fork()
    if not child:
        try:
            ours.close()
            if release is not None:
                theirs.recv(1)
            _commit_in_child(folder, lambda: prepare(theirs), theirs, again=release is None)
        finally:
            os._exit(9)
    theirs.close()
    hit = False
    if release is not None:
        release(child)
        ours.send(b".")
    ours.settimeout(WAIT)
    told: dict[str, object] = {}
    while message := _received(ours, child):
        if message == b"hit":
            hit = True
        else:
            told = json.loads(message)
    ours.close()
    killed = os.waitpid(child, 0)[1] == signal.SIGKILL
    found, again = _left(folder)
    held = told.get("held")
    if found == 2 and isinstance(held, int):
        found = held  # what the fault had left, before the child's second commit
    return Outcome(
        fault,
        hit or killed,
        bool(told.get("acknowledged")),
        str(told.get("error", "")),
        bool(told.get("clear", killed)),
        found,
        str(told.get("again", "")) or again,
    )


def _received(ours: socket.socket, child: int) -> bytes:
    try:
        return ours.recv(1 << 16)
    except TimeoutError:
        os.kill(child, signal.SIGKILL)
        return b""


def _left(folder: Path) -> tuple[int | None, str]:
    """The generation that the store holds, and what is wrong with one more commit from this process."""
    try:
        store = Store.open(folder, create=True)
        found = _held(store)
        try:
            write_graph(store, writer.generation(3), segment_edges=writer.SEGMENT_EDGES)
            whole = writer.generation_of(store.snapshot()) == 3
            kept = {record.name for record in store.snapshot().manifest.files}
            strays = file_names.strays(os.listdir(folder), kept)
        finally:
            store.close()
    except (GdbError, AssertionError, OSError) as error:
        return None, f"{type(error).__name__}: {error}"
    return (
        found,
        "" if whole and not strays else "the commit after it is not whole, or leaves strays",
    )


def _fresh(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    store = Store.open(folder, create=True)
    write_graph(store, writer.generation(0), segment_edges=writer.SEGMENT_EDGES)
    store.close()


def patched(
    folder: Path, kind: str, *, call: str = "", start: int = 1, step: int = 1, create: bool = False
) -> Iterator[Outcome]:
    """The fault at each step-th call in turn, until none is hit any more; over a store, or where none is yet."""
    call = "write" if kind == "short write" else call
    for number in range(start, MOST * len(CALLS), step):
        fault = Fault(kind, call, number)
        shutil.rmtree(folder, ignore_errors=True)
        if not create:
            _fresh(folder)
        outcome = _judged(
            folder, fault, lambda s, f=fault: _patch(f, lambda: s.send(b"hit") and None), None
        )
        if not outcome.hit:
            return
        yield outcome
    raise AssertionError("a commit has more calls than were tried")


def why_no_strace() -> str:
    """Why strace cannot be used here, or nothing."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    probe = subprocess.run(
        ["strace", "-f", "-o", os.devnull, "-e", "inject=fsync:error=EIO", "true"],
        capture_output=True,
        text=True,
    )
    return f"strace may not trace here: {probe.stderr.strip()}" if probe.returncode else ""


def straced(folder: Path, kind: str, call: str, *, step: int = 1) -> Iterator[Outcome]:
    """As `patched`, the fault injected by strace into one system call."""
    answer = "signal=KILL" if kind == "KILL" else f"error={kind}"
    for number in range(1, MOST, step):
        _fresh(folder)
        log = folder.with_name(f"{folder.name}.strace")
        tracers: list[subprocess.Popen[bytes]] = []

        def attach(
            child: int,
            number: int = number,
            log: Path = log,
            tracers: list[subprocess.Popen[bytes]] = tracers,
        ) -> None:
            names = SYSTEM_CALLS[call]
            rule = f"inject={names}:{answer}:when={number}"
            tracers.append(
                subprocess.Popen(
                    [
                        "strace",
                        "-f",
                        "-o",
                        str(log),
                        "-e",
                        f"trace={names}",
                        "-e",
                        rule,
                        "-p",
                        str(child),
                    ],
                    stderr=subprocess.DEVNULL,
                )
            )
            end = time.monotonic() + WAIT
            status = Path(f"/proc/{child}/status")
            while "TracerPid:\t0" in status.read_text():
                assert time.monotonic() < end, "strace did not attach"
                time.sleep(0.001)

        outcome = _judged(folder, Fault(kind, call, number), lambda _: None, attach)
        for tracer in tracers:
            tracer.wait(WAIT)
        hit = outcome.hit or "INJECTED" in log.read_text()
        log.unlink()
        if not hit:
            return
        yield outcome
    raise AssertionError("a commit has more calls than were tried")


def filled(disk: Path, *, step: int = 1) -> Iterator[Outcome]:
    """A commit on a disk (small, exclusively owned) with 0, 1, 2, ... pages free, until there is room for it."""
    page, folder, filler = os.sysconf("SC_PAGE_SIZE"), disk / "s", disk / "filler"
    for pages in range(0, MOST, step):
        filler.unlink(missing_ok=True)
        _fresh(folder)
        room = os.statvfs(disk)
        with open(filler, "wb") as file:
            file.write(bytes(max(0, room.f_bavail * room.f_frsize - pages * page)))
        fault = Fault("disk full", "", pages)
        # The disk is full for the child to its end; this process makes room and writes after it.
        outcome = _judged(folder, fault, lambda _: lambda: filler.unlink(), None)
        yield outcome
        if outcome.acknowledged:
            return
    raise AssertionError("the disk never had room")


def mounted(folder: Path, size: str = "2m") -> bool:
    """Mount a tmpfs at `folder`; False where that is not allowed. Undo with `umount`."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def limited(folder: Path, sizes: range) -> Iterator[Outcome]:
    """A commit whose files may have no more than so many bytes (RLIMIT_FSIZE): a full disk without a disk."""
    import resource

    for size in sizes:
        _fresh(folder)

        def limit(_: socket.socket, size: int = size) -> Callable[[], None]:
            hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
            return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

        yield _judged(folder, Fault("file too large", "", size), limit, None)


def at_random_moments(folder: Path, times: int, seed: int = 1) -> Iterator[Outcome]:
    """SIGKILL, at random moments, to a process that commits generation after generation."""
    rng, holds = random.Random(seed), 0
    _fresh(folder)
    for number in range(times):
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                sys.stdout = os.fdopen(writing, "w")
                writer.main(folder, holds + 1)
            finally:
                os._exit(9)
        os.close(writing)
        with os.fdopen(reading) as told:
            said = [told.readline()]  # it has begun to write
            time.sleep(rng.random() * 0.1)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            said += told.read().splitlines()
        acknowledged = max((int(line.strip()[:-1]) for line in said if "+" in line), default=holds)
        begun = max(int(line) for line in said if line.strip().isdigit())
        found, again = None, ""
        try:
            store = Store.open(folder, create=False)
            found = {acknowledged: 0, begun: 1}.get(_held(store))
            holds = begun + 1
            write_graph(store, writer.generation(holds), segment_edges=writer.SEGMENT_EDGES)
            if _held(store) != holds:
                again = "the commit after it is not whole"
            store.close()
        except (GdbError, AssertionError) as error:
            again = f"{type(error).__name__}: {error}"
        yield Outcome(Fault("KILL", "", number), True, False, "", True, found, again)


# ---- the table ---------------------------------------------------------------------------------------


def _all(folder: Path) -> Iterator[tuple[str, str, Iterator[Outcome]]]:
    yield "a random moment", "KILL", at_random_moments(folder / "r", 200)
    for kind in KINDS:
        yield "patched os, over a store", kind, patched(folder / "s", kind)
        yield "patched os, new store", kind, patched(folder / "n", kind, create=True)
    if not (why := why_no_strace()):
        for kind in ("KILL", "ENOSPC", "EIO"):
            for call in ("open", "write", "pwrite", "fsync", "rename", "unlink", "flock"):
                yield f"strace, {call}", kind, straced(folder / "s", kind, call)
    else:
        print(why, file=sys.stderr)
    yield "RLIMIT_FSIZE", "EFBIG", limited(folder / "s", range(0, 6000, 40))
    if mounted(folder / "tmpfs"):
        try:
            yield "full tmpfs", "ENOSPC", filled(folder / "tmpfs")
        finally:
            subprocess.run(["umount", str(folder / "tmpfs")], check=True)
    else:
        print("no tmpfs may be mounted here", file=sys.stderr)


def main() -> int:
    make_small()
    bad = 0
    print("| way | fault | tried | old kept | new kept | lost | unclear error | no commit after |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory(dir=in_memory()) as folder:
        for way, kind, outcomes in _all(Path(folder)):
            found = list(outcomes)
            cells = [
                len(found),
                sum(o.found == 0 for o in found),
                sum(o.found == 1 for o in found),
                sum(o.lost for o in found),
                sum(not o.clear for o in found),
                sum(bool(o.again) for o in found),
            ]
            print(f"| {way} | {kind} | {' | '.join(map(str, cells))} |", flush=True)
            for outcome in found:
                if outcome.bad:
                    bad += 1
                    print(outcome, file=sys.stderr, flush=True)
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main())
