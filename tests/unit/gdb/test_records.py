"""Dataclasses whose methods are compiled when first called are what `dataclasses` makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gdb.records import _init_code, dataclass, field, quick, replace

# What the library declares is made by both decorators, and everything is compared that a class shows.
_BOTH = """
import dataclasses, importlib, inspect, pkgutil, sys
import gdb
from gdb import records

made, seen, differs = records._build_class, 0, []

def shown(cls):
    fields = [
        (f.name, f.type, repr(f.default), repr(f.default_factory), f.init, f.repr, f.compare)
        for f in dataclasses.fields(cls)
    ]
    own = {name: name in vars(cls) for name in ("__eq__", "__repr__", "__setattr__", "__getstate__")}
    return {
        "fields": fields, "own": own, "hash": cls.__hash__ is None, "match": cls.__match_args__,
        "slots": vars(cls).get("__slots__"), "signature": str(inspect.signature(cls.__init__)),
        "name": (cls.__qualname__, cls.__module__), "bases": cls.__bases__, "doc": cls.__doc__ or "",
        "frozen": cls.__dataclass_params__.frozen, "eq": cls.__dataclass_params__.eq,
        "attributes": set(vars(cls)) - {"__declared__", "__fields__"},
    }

def both(cls, **options):
    global seen
    theirs = dataclasses.dataclass(**options)(type(cls)(cls.__name__, cls.__bases__, dict(vars(cls))))
    theirs.__qualname__ = cls.__qualname__
    ours = made(cls, **options)
    seen += 1
    expected, found = shown(theirs), shown(ours)
    if cls.__doc__ is None:  # dataclasses writes the signature there, which costs what is to be saved
        expected["doc"] = found["doc"] = ""
    differs.extend(
        f"{cls.__qualname__}.{key}: {expected[key]} {found[key]}" for key in found if expected[key] != found[key]
    )
    return ours

records._build_class = both
for module in pkgutil.walk_packages(gdb.__path__, "gdb."):
    if not module.name.startswith("gdb.executor.gpu") and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(seen, *differs, sep="\\n")
"""


def test_the_classes_of_the_library_are_what_dataclasses_makes(repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _BOTH], cwd=repository, capture_output=True, text=True, check=True
    )
    seen, *differs = done.stdout.splitlines()
    assert int(seen) > 300
    assert not differs


@dataclass(frozen=True, slots=True)
class Point:
    x: int
    y: int = 2
    tags: list[str] = field(default_factory=list, compare=False)
    shown: int = field(default=0, repr=False)


@dataclass(frozen=True, slots=True)
class Named(Point):
    name: str = ""

    def __repr__(self) -> str:
        return f"<{self.name}>"


@dataclass(slots=True)
class Counter:
    n: int
    double: int = field(init=False)
    kept: dict[str, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.double = 2 * self.n


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Same:
    n: int


@dataclass(frozen=True)
class Open:
    n: int
    m: int = 3


@quick
@dataclass(frozen=True, slots=True)
class Quick:
    n: int
    m: int = 3


def test_a_method_is_compiled_by_its_first_call_and_only_then() -> None:
    @dataclass(frozen=True, slots=True)
    class Fresh:
        n: int

    before = vars(Fresh)["__init__"]
    assert not callable(before)
    assert Fresh(1).n == 1
    after = vars(Fresh)["__init__"]
    assert after.__qualname__.endswith("Fresh.__init__")
    assert not callable(vars(Fresh)["__eq__"])
    assert Fresh(1) == Fresh(1) != Fresh(2)
    assert callable(vars(Fresh)["__eq__"])
    assert vars(Fresh)["__init__"] is after


def test_equality_and_hash_go_by_the_fields_that_are_compared() -> None:
    assert Point(1, tags=["a"]) == Point(1, 2, [])
    assert hash(Point(1, tags=["a"])) == hash(Point(1))
    assert Point(1) != Point(1, 2, [], 3)
    assert Point(1) != Named(1)
    assert {Point(1): "found"}[Point(1)] == "found"
    assert Same(1) != Same(1)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Counter(1))


def test_defaults_are_made_anew_for_each_object() -> None:
    assert Point(1).tags is not Point(1).tags
    assert Counter(1).kept is not Counter(1).kept
    assert (Counter(4).double, Open(1).m, Open.m) == (8, 3, 3)


def test_repr_shows_what_is_to_be_shown() -> None:
    assert repr(Point(1)) == f"{Point.__qualname__}(x=1, y=2, tags=[])"
    assert repr(Named(1, name="n")) == "<n>"
    counter = Counter(1)
    counter.kept["self"] = counter  # type: ignore[assignment]
    assert "kept={'self': ...}" in repr(counter)


@pytest.mark.parametrize("one", [Point(1), Named(1), Same(1), Open(1)])
def test_what_is_frozen_cannot_be_changed(one: object) -> None:
    name = next(iter(one.__dataclass_fields__))  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"assign to field '{name}'"):
        setattr(one, name, 2)
    with pytest.raises(dataclasses.FrozenInstanceError, match=f"delete field '{name}'"):
        delattr(one, name)
    with pytest.raises(AttributeError):
        one.other = 2  # type: ignore[attr-defined]


def test_quick_is_frozen_for_the_type_checker_alone() -> None:
    one = Quick(1)
    one.n = 2  # type: ignore[misc]
    assert one == Quick(2, 3)
    assert hash(one) == hash(Quick(2))
    with pytest.raises(AttributeError):
        one.other = 2  # type: ignore[attr-defined]


UNKNOWN: dict[str, Any] = {"z": 1}


@pytest.mark.parametrize("call", [Point, lambda: Point(*range(5)), lambda: Point(1, **UNKNOWN)])
def test_wrong_arguments_are_refused_by_the_name_of_the_class(call: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=r"Point\.__init__\(\)"):
        call()


def test_a_default_that_can_change_is_refused() -> None:
    with pytest.raises(ValueError, match="default_factory"):

        @dataclass(slots=True)
        class Shared:
            values: list[int] = []  # noqa: RUF012


def test_the_functions_of_dataclasses_know_them() -> None:
    one = Named(1, name="n")
    assert dataclasses.is_dataclass(one)
    assert dataclasses.replace(one, y=5) == Named(1, 5, name="n")
    assert dataclasses.asdict(one) == {"x": 1, "y": 2, "tags": [], "shown": 0, "name": "n"}
    assert [each.name for each in dataclasses.fields(Counter)] == ["n", "double", "kept"]
    with pytest.raises(ValueError, match="init=False"):
        dataclasses.replace(Counter(1), double=3)


def test_replace_changes_what_it_names() -> None:
    one = Named(1, name="n")
    assert replace(one, y=5) == Named(1, 5, name="n")
    assert replace(one, tags=["a"]).tags == ["a"]
    assert replace(one).tags is one.tags
    assert replace(Counter(1), n=3).double == 6
    with pytest.raises(ValueError, match="double is no argument of Counter"):
        replace(Counter(1), double=3)
    with pytest.raises(TypeError, match="unexpected keyword"):
        replace(one, **UNKNOWN)


def test_a_dataclass_of_the_standard_library_may_derive_from_one() -> None:
    @dataclasses.dataclass(frozen=True)
    class Derived(Point):
        z: int = 9

    assert Derived(1).z == 9
    assert repr(Derived(1)).endswith("Derived(x=1, y=2, tags=[], z=9)")


@pytest.mark.parametrize(
    "one", [Point(1, 4, ["a"]), Named(2, name="n"), Counter(2), Open(4), Quick(5)]
)
def test_pickle_and_copy_give_the_same(one: object) -> None:
    assert pickle.loads(pickle.dumps(one)) == one
    assert copy.copy(one) == copy.deepcopy(one) == one


def test_match_and_weak_references() -> None:
    match Point(1, 7):
        case Point(x, y):
            assert (x, y) == (1, 7)
    same = Same(1)
    assert weakref.ref(same)() is same


def test_classes_of_as_many_fields_share_the_code_of_their_init() -> None:
    """To compile it takes 100 us, and a first answer makes objects of a hundred classes."""

    @dataclass(frozen=True, slots=True)
    class Ends:
        source: int
        target: int = 7

    @dataclass(frozen=True, slots=True)
    class Size:
        width: int
        height: int

    assert Ends(1) == Ends(source=1, target=7)
    before = _init_code.cache_info().misses
    size = Size(height=2, width=1)
    assert (size.width, size.height) == (1, 2)
    assert _init_code.cache_info().misses == before
    assert [*inspect.signature(Size).parameters] == ["width", "height"]
    with pytest.raises(TypeError, match=r"Size\.__init__\(\) missing .*'height'"):
        Size(1)  # type: ignore[call-arg]


def test_a_field_without_a_default_comes_before_those_that_have_one() -> None:
    @dataclass(frozen=True, slots=True)
    class Wrong:
        first: int = 0
        second: int  # type: ignore[misc]

    with pytest.raises(TypeError, match=r"Wrong\.second has no default"):
        Wrong(1, 2)
