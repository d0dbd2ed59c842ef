"""The real graphs that measurements run on, read from a folder beside the repository (`../shared/data`).

Every graph is loaded in the simple view that the known counts speak of: undirected, loops and parallel edges dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gdb
import patterns

DATA = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


def _email_enron(db: gdb.Database) -> None:
    db.load(
        DATA / "email-enron" / "email-Enron.txt.gz",
        format="snap",
        type="MAILED",
        directed=False,
        multi_edges="drop",
        self_loops="drop",
    )


def _wiki_vote(db: gdb.Database) -> None:
    db.load(
        DATA / "wiki-vote" / "wiki-Vote.txt",
        format="snap",
        type="VOTED",
        directed=False,
        multi_edges="drop",
        self_loops="drop",
    )


def _protein(file: Path) -> Callable[[gdb.Database], None]:
    def load(db: gdb.Database) -> None:
        db.load(
            file,
            format="graph",
            type="BINDS",
            directed=False,
            multi_edges="drop",
            self_loops="drop",
        )

    return load


def _bitcoin_otc(db: gdb.Database) -> None:
    db.load(
        edges=DATA / "bitcoin-otc" / "edges.csv",
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


LOADERS: dict[str, Callable[[gdb.Database], None]] = {
    "email-enron": _email_enron,
    "wiki-vote": _wiki_vote,
    "hprd": _protein(DATA / "hprd" / "HPRD.graph"),
    "yeast": _protein(DATA / "yeast" / "yeast.graph"),
    "bitcoin-otc": _bitcoin_otc,
}


def known(graph: str) -> list[patterns.Pattern]:
    """The patterns with known counts on a graph; for hprd also the 200 published query graphs."""
    found = patterns.read_truth(DATA / "truth" / f"{graph}.json")
    if graph == "hprd":
        published = patterns.read_published(
            DATA / "hprd" / "query_graph", DATA / "hprd" / "expected_output.res"
        )
        found += published
    return found
