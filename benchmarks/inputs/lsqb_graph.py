"""Larger graphs with the schema of LSQB: the files of a social network, from a scale and a seed.

The numbers of nodes and relationships of each kind are those of LDBC's lsqb-sf0.003 (50 persons) times the scale; what
does not grow there with the persons (places, organisations, tags) stays. Ends are drawn by power laws whose exponents
and shares (how many nodes have any) are those of that graph. Friendships follow the generator of LDBC's social network
(Erling and others, "The LDBC Social Network Benchmark: Interactive Workload", SIGMOD 2015, section 2.3): their mean
number grows with the persons, it differs from person to person by a power law, and half of them are near in a row of
the persons by country, so that there are triangles. Half of all replies are a friend's, and half of the tags of a
message that is replied to are the reply's as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]

_ALIKE = (
    0.5  # of the friendships near one another, of replies by friends, of tags that replies share
)
FIXED = {
    "City": 1343,
    "Company": 1575,
    "Continent": 6,
    "Country": 111,
    "Tag": 16080,
    "TagClass": 71,
    "University": 6380,
}
GROWING = {"Comment": 1112, "Forum": 482, "Person": 50, "Post": 4314}
"""Nodes of each label; the growing ones at scale 1."""


@dataclass(frozen=True, slots=True)
class Skew:
    """How ends are drawn: the k-th of a share of the nodes with a weight of k ** -exponent."""

    exponent: float = 0.0
    share: float = 1.0


ONE = {
    "City_isPartOf_Country": Skew(0.7),
    "Comment_isLocatedIn_Country": Skew(0.9),
    "Company_isLocatedIn_Country": Skew(0.7),
    "Country_isPartOf_Continent": Skew(0.6),
    "Forum_containerOf_Post": Skew(0.3, 0.88),  # of each post, the other end
    "Forum_hasModerator_Person": Skew(0.5),
    "Person_isLocatedIn_City": Skew(0.7),
    "Post_hasCreator_Person": Skew(0.7),
    "Post_isLocatedIn_Country": Skew(0.9),
    "Tag_hasType_TagClass": Skew(1.0),
    "University_isLocatedIn_City": Skew(0.6),
}
"""Files with one relationship for each node, and how its other end is drawn."""
MANY = {
    "Forum_hasMember_Person": (1643, Skew(0.6, 0.71), Skew(0.5)),
    "Forum_hasTag_Tag": (1688, Skew(0.5), Skew(0.6)),
    "Person_hasInterest_Tag": (1256, Skew(0.5), Skew(0.5)),
    "Person_likes_Comment": (370, Skew(0.5), Skew(0.6, 0.04)),
    "Person_likes_Post": (486, Skew(0.5), Skew(0.5, 0.06)),
    "Person_studyAt_University": (42, Skew(0.0), Skew(0.4)),
    "Person_workAt_Company": (103, Skew(0.2, 0.7), Skew(0.4)),
}
"""Files with any number of relationships: how many at scale 1, and how both ends are drawn."""
_TO_COMMENT = 537 / 1112  # of the replies
_REPLIED = Skew(0.2, 118 / 4314)  # posts
_TAGGED = {  # messages with tags: at scale 1, without those that a reply shares
    "Comment": (900, Skew(0.4, 0.33), Skew(0.6)),
    "Post": (367, Skew(0.4, 0.03), Skew(0.6)),
}


def generate(folder: Path, scale: float, seed: int) -> int:
    """Write the files of a graph into a folder; gives the number of relationships. The same ones for the same scale
    and seed. Takes about 10 s and 650 MB of memory at a scale of 1000, which has 25 million."""
    return _Graph(folder, scale, seed).written()


class _Graph:
    """The tables of one graph, each made from a generator of its own; those that others need are kept."""

    def __init__(self, folder: Path, scale: float, seed: int) -> None:
        self.folder, self.scale, self.seed = folder, scale, seed
        grown = {label: max(2, round(scale * n)) for label, n in GROWING.items()}
        self.counts: Mapping[str, int] = dict(sorted((FIXED | grown).items()))
        self.connection = duckdb.connect(config={"memory_limit": "1GB"})
        self.relationships = 0

    def written(self) -> int:
        for label in self.counts:
            self.write(f"{label}", {f"id:ID({label})": self.ids(label)})
        one = {file: self.one(file, skew) for file, skew in ONE.items()}
        many = {file: self.many(file, *drawn) for file, drawn in MANY.items()}
        for file, (sources, targets) in (one | many).items():
            self.relate(file, sources, targets)
        above = self.rng("TagClass_isSubclassOf_TagClass").random(self.counts["TagClass"] - 1)
        below = np.arange(1, self.counts["TagClass"])
        self.relate("TagClass_isSubclassOf_TagClass", below, (above * below).astype(np.int64))
        knows = self.knows(one["Person_isLocatedIn_City"][1], one["City_isPartOf_Country"][1])
        self.relate("Person_knows_Person", *knows)
        self.messages(one["Post_hasCreator_Person"][1], knows)
        self.connection.close()
        return self.relationships

    def rng(self, name: str) -> np.random.Generator:
        """The generator of one file."""
        return np.random.default_rng([self.seed, *name.encode()])

    def ids(self, label: str) -> I64:
        """The ids of a label's nodes: with gaps, as LDBC's have."""
        step = 1 + 1024 * (label in GROWING)
        return np.arange(self.counts[label], dtype=np.int64) * step + step // 2

    def write(self, name: str, columns: Mapping[str, I64]) -> None:
        short = {f"c{k}": column for k, column in enumerate(columns.values())}
        named = ", ".join(f'{k} AS "{name}"' for k, name in zip(short, columns, strict=True))
        self.connection.register("given", short)
        path = self.folder / f"{name}.csv"
        options = "(FORMAT csv, HEADER, DELIMITER '|', QUOTE '')"
        self.connection.execute(f"COPY (SELECT {named} FROM given) TO '{path}' {options}")
        self.connection.unregister("given")

    def relate(self, file: str, sources: I64, targets: I64) -> None:
        """Write relationships by the numbers of both ends."""
        start, _, end = file.split("_")
        ends = {":START_ID": (start, sources), ":END_ID": (end, targets)}
        columns = {
            f"{role}({label})": self.ids(label)[rows] for role, (label, rows) in ends.items()
        }
        self.write(file, columns)
        self.relationships += len(sources)

    # ---- drawing ---------------------------------------------------------------------------------

    def one(self, file: str, skew: Skew) -> tuple[I64, I64]:
        start, _, end = file.split("_")
        if end == "Post":
            posts = np.arange(self.counts[end])
            return _drawn(self.rng(file), self.counts[start], len(posts), skew), posts
        each = np.arange(self.counts[start])
        return each, _drawn(self.rng(file), self.counts[end], len(each), skew)

    def many(self, file: str, count: int, sources: Skew, targets: Skew) -> tuple[I64, I64]:
        start, _, end = file.split("_")
        rng, wanted = self.rng(file), round(self.scale * count)
        a = _drawn(rng, self.counts[start], wanted, sources)
        b = _drawn(rng, self.counts[end], wanted, targets)
        return _distinct(a, b)

    def knows(self, city: I64, country: I64) -> tuple[I64, I64]:
        """Friendships: of each pair of persons one, the first of them before the second."""
        rng, persons = self.rng("Person_knows_Person"), self.counts["Person"]
        mean = persons ** (0.512 - 0.028 * math.log10(persons))
        wanted = round(persons * mean / 2)
        by_country = np.lexsort((rng.random(persons), country[city]))
        one = _drawn(rng, persons, wanted, Skew(0.5))  # a place in that row
        other = _drawn(rng, persons, wanted, Skew(0.5))
        near = rng.random(wanted) < _ALIKE
        steps = rng.geometric(1 / mean, wanted) * rng.choice((-1, 1), wanted)
        other[near] = ((one + steps) % persons)[near]
        a, b = by_country[one], by_country[other]
        apart = a != b
        return _distinct(np.minimum(a, b)[apart], np.maximum(a, b)[apart])

    # ---- replies ---------------------------------------------------------------------------------

    def messages(self, authors: I64, knows: tuple[I64, I64]) -> None:
        """Comments: what each replies to, who wrote it, and the tags of all messages. authors : of the posts."""
        rng, comments = self.rng("Comment_replyOf"), self.counts["Comment"]
        each = np.arange(comments)
        to_comment = (rng.random(comments) < _TO_COMMENT) & (each > 0)
        parent = _drawn(rng, self.counts["Post"], comments, _REPLIED)
        earlier = (rng.random(comments) * each).astype(np.int64) // 4 * 4  # a fourth gets replies
        parent[to_comment] = earlier[to_comment]
        replies = {"Comment": each[to_comment], "Post": each[~to_comment]}
        for label, some in replies.items():
            self.relate(f"Comment_replyOf_{label}", some, parent[some])
        writers = _drawn(rng, self.counts["Person"], comments, Skew(0.4))
        friendly = rng.random(comments) < _ALIKE
        answering = replies["Post"][friendly[replies["Post"]]]
        writers[answering] = _friends(rng, knows, authors[parent[answering]], writers[answering])
        self.relate("Comment_hasCreator_Person", each, writers)
        tags = {label: self.many(f"{label}_hasTag_Tag", *_TAGGED[label]) for label in _TAGGED}
        self.relate("Post_hasTag_Tag", *tags["Post"])
        shared = [
            _inherited(rng, replies[label], parent[replies[label]], *tags[label])
            for label in _TAGGED
        ]
        found = zip(tags["Comment"], *shared, strict=True)
        self.relate("Comment_hasTag_Tag", *_distinct(*map(np.concatenate, found)))


def _drawn(rng: np.random.Generator, size: int, count: int, skew: Skew) -> I64:
    """So many of the numbers below `size`, i64[count]."""
    among = rng.permutation(size)[: max(1, round(size * skew.share))]
    heights = np.cumsum(np.arange(1, len(among) + 1, dtype=np.float64) ** -skew.exponent)
    found: I64 = among[np.searchsorted(heights, rng.random(count) * heights[-1], "right")]
    return found


def _distinct(a: I64, b: I64) -> tuple[I64, I64]:
    """The distinct pairs, ascending."""
    pairs = np.sort(a << 32 | b)
    pairs = pairs[np.diff(pairs, prepend=-1) != 0]
    return pairs >> 32, pairs & 0xFFFFFFFF


def _friends(rng: np.random.Generator, knows: tuple[I64, I64], persons: I64, others: I64) -> I64:
    """A friend of each person; of one who has none the other."""
    a, b = np.concatenate(knows), np.concatenate(knows[::-1])
    order = np.argsort(a, kind="stable")
    start, end = (np.searchsorted(a[order], persons, side) for side in ("left", "right"))
    at = start + (rng.random(len(persons)) * (end - start)).astype(np.int64)
    return np.where(end > start, b[order][np.minimum(at, len(b) - 1)], others)


def _inherited(
    rng: np.random.Generator, replies: I64, parents: I64, tagged: I64, tags: I64
) -> tuple[I64, I64]:
    """Replies and the tags that each shares with its parent. tagged, tags : ascending pairs."""
    start, end = (np.searchsorted(tagged, parents, side) for side in ("left", "right"))
    lengths = end - start
    at = np.arange(lengths.sum()) + np.repeat(start - np.cumsum(lengths) + lengths, lengths)
    shared = rng.random(len(at)) < _ALIKE
    return np.repeat(replies, lengths)[shared], tags[at][shared]
