"""The real graphs that measurements run on, read from a folder beside the repository (`../shared/data`) or another.

Every graph is loaded in the simple view that the known counts speak of: undirected, loops and parallel edges dropped.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Protocol

import gdb
from benchmarks.inputs import patterns
from benchmarks.peers.data import DATA as DATA  # the measurements say graphs.DATA


class Loader(Protocol):
    """Loads one graph from the data folder into a database."""

    def __call__(self, db: gdb.Database, data: Path = DATA) -> None: ...


def _email_enron(db: gdb.Database, data: Path = DATA) -> None:
    db.load(
        data / "email-enron" / "email-Enron.txt.gz",
        format="snap",
        type="MAILED",
        directed=False,
        multi_edges="drop",
        self_loops="drop",
    )


def _wiki_vote(db: gdb.Database, data: Path = DATA) -> None:
    db.load(
        data / "wiki-vote" / "wiki-Vote.txt",
        format="snap",
        type="VOTED",
        directed=False,
        multi_edges="drop",
        self_loops="drop",
    )


def _protein(folder: str, file: str) -> Loader:
    def load(db: gdb.Database, data: Path = DATA) -> None:
        db.load(
            data / folder / file,
            format="graph",
            type="BINDS",
            directed=False,
            multi_edges="drop",
            self_loops="drop",
        )

    return load


def _bitcoin_otc(db: gdb.Database, data: Path = DATA) -> None:
    db.load(
        edges=data / "bitcoin-otc" / "edges.csv",
        format="csv",
        type="RATED",
        label="User",
        directed=False,
        columns=[":START_ID", ":END_ID", "rating:int", "time:float"],
        header=False,
        missing_ends="create",
        multi_edges="drop",
        self_loops="drop",
    )


LOADERS: dict[str, Loader] = {
    "email-enron": _email_enron,
    "wiki-vote": _wiki_vote,
    "hprd": _protein("hprd", "HPRD.graph"),
    "yeast": _protein("yeast", "yeast.graph"),
    "bitcoin-otc": _bitcoin_otc,
}


def loaded(name: str, folder: Path, data: Path = DATA) -> Path:
    """The store NAME.gdb of a graph in a folder; it is loaded unless it is there."""
    store = folder / f"{name}.gdb"
    if store.exists():
        return store
    folder.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    with gdb.connect(store) as db:
        LOADERS[name](db, data)
        stats = db.stats()
    seconds = time.perf_counter() - start
    print(f"{name}: {stats.vertices:,} vertices, {stats.edges:,} edges, loaded in {seconds:.2f} s")
    return store


def published(data: Path = DATA) -> list[patterns.Pattern]:
    """The 200 query graphs of hprd with their published counts."""
    return patterns.read_published(
        data / "hprd" / "query_graph", data / "hprd" / "expected_output.res"
    )


def known(graph: str, data: Path = DATA) -> list[patterns.Pattern]:
    """The patterns with known counts on a graph; for hprd also the 200 published query graphs."""
    found = patterns.read_truth(data / "truth" / f"{graph}.json")
    return [*found, *published(data)] if graph == "hprd" else found


# ---- the command line that the measurements share ------------------------------------------------


def command_line(doc: str | None) -> argparse.ArgumentParser:
    """A parser with the options of every measurement: the data folder, where to keep stores, --save."""
    parser = argparse.ArgumentParser(description=(doc or "").partition("\n")[0])
    add = parser.add_argument
    add("--data", type=Path, default=DATA, help="the folder of graphs (default: ../shared/data)")
    add(
        "--folder",
        type=Path,
        help="keep stores here; empty it when the format changes (default: nowhere)",
    )
    add("--save", action="store_true", help="write the section to benchmarks/results/")
    return parser


def absent(*needed: Path) -> bool:
    """Whether a file or folder that a measurement needs is not here; says which."""
    missing = [path for path in needed if not path.exists()]
    for path in missing:
        print(
            f"there is nothing to measure on: {path} is not here (--data FOLDER)", file=sys.stderr
        )
    return bool(missing)
