"""Look-ups of one vertex: they find what those of many find, in the base, where it was changed, and behind it."""

from __future__ import annotations

import pytest

import gdb
from gdb.storage.graph.snapshot import Snapshot
from gdb.storage.graph.value_index import Wanted

VALUES = (-1, 0, 2, 3, 4, 5, 11, 12, 40, 99, 1 << 40, (1 << 63) - 1, 1 << 63, -(1 << 63) - 1)


@pytest.fixture(params=["base", "changed", "added"])
def snapshot(request: pytest.FixtureRequest) -> Snapshot:
    """Nodes P and Q of one id space, written anew; then some are removed, set, and added."""
    db = gdb.connect()
    ids = [*range(10), 1 << 40, (1 << 63) - 1]
    with db.transaction() as tx:
        tx.add_nodes("P", ids, {"id": ids, "x": [7 * k % 5 for k in range(12)]})
        tx.add_nodes("Q", [11, 12], {"id": [11, 12], "x": [4, 40]})
    db.compact()
    for number in range(2):  # the second look-up of a value makes its index
        db.execute("MATCH (n:P {x: $x}) RETURN n.id", {"x": number})
        db.execute("MATCH (n:Q {x: $x}) RETURN n.id", {"x": number})
    if request.param != "base":
        db.execute("MATCH (n:P) WHERE n.id IN [3, 5] DETACH DELETE n")
        db.execute("MATCH (n:P {id: 4}) SET n.x = 40")
    if request.param == "added":
        db.execute("CREATE (:P {id: 99, x: 2}), (:P {id: 3, x: 3}), (:P {id: 2, x: 9})")
    return db._snapshot()


@pytest.mark.parametrize("key", [None, "id", "x"])
def test_one_is_found_as_many_are(snapshot: Snapshot, key: str | None) -> None:
    sure = 0
    for group in range(len(snapshot.groups)):
        for value in VALUES:
            found = snapshot.holders([group], key, Wanted((value,)))
            assert found is not None
            one = snapshot.one_named(group, key, value)
            sure += one is not None
            assert one is None or found[1].tolist() == ([one] if one >= 0 else [])
    assert sure or key == "x"


def test_an_id(snapshot: Snapshot) -> None:
    for groups in [0], [1], [0, 1]:
        look_up = snapshot.id_look_up(groups)
        assert look_up is not None
        for value in VALUES:
            found = snapshot.holders(groups, None, Wanted((value,)))
            assert found is not None
            vid = look_up.find(value)
            assert found[1].tolist() == ([vid] if vid >= 0 else [])


def test_the_holders_of_a_value(snapshot: Snapshot) -> None:
    sure = 0
    for group in range(len(snapshot.groups)):
        look_up = snapshot.holder_look_up(group, "x")
        for value in VALUES if look_up is not None else ():
            assert look_up is not None
            mine, found = look_up.find(value), snapshot.holders([group], "x", Wanted((value,)))
            assert found is not None
            sure += mine is not None
            assert mine is None or mine == sorted(found[1].tolist())
    assert sure  # of Q, whose property nothing has set


def test_a_property(snapshot: Snapshot) -> None:
    for number, group in enumerate(snapshot.groups):
        vids = [vid for first, end in group.ranges for vid in range(first, end)]
        for key in (None, "x", "id"):
            look_up = snapshot.value_look_up(number, key)
            column = (
                snapshot.id_column(number) if key is None else snapshot.vertex_column(number, key)
            )
            assert look_up is not None
            assert column is not None
            assert [look_up.value(vid) for vid in vids] == column.to_list()
