"""The code graph of small source trees: each test writes one and says what must be in the graph."""

from __future__ import annotations

import csv
import gc
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from gdb.errors import GdbError
from gdb.repl import codecalls, codegraph
from gdb.repl.codenames import CodeGraph

Tree = Callable[..., CodeGraph]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Writes modules (`a__b` for a/b.py, `a____init__` for a package) and builds their graph."""

    def build(**modules: str) -> CodeGraph:
        for name, source in modules.items():
            parts = name.replace("____init__", "__INIT").split("__")
            path = tmp_path.joinpath(*parts[:-1], parts[-1].replace("INIT", "__init__") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(dedent(source), encoding="utf-8")
        return codegraph.build(tmp_path, compiled={"sys", "_speed"})

    return build


def calls(graph: CodeGraph, caller: str) -> set[str]:
    return {target for source, target in graph.calls if source == caller}


# ---- modules and imports -------------------------------------------------------------------------


def test_modules_know_their_lines_and_whether_they_are_packages(tree: Tree) -> None:
    graph = tree(p____init__="x = 1\ny = 2\n", p__a="")
    held = {name: (m.lines, m.is_package) for name, m in graph.modules.items()}
    assert held == {"p": (2, True), "p.a": (0, False)}


def test_a_package_hides_a_module_of_its_name(tree: Tree) -> None:
    graph = tree(p____init__="def here(): ...", p="def hidden(): ...")
    assert [*graph.functions] == ["p.here"]


def test_relative_imports_count_from_the_package(tree: Tree) -> None:
    graph = tree(
        p____init__="from . import a",
        p__a="from .b import f",
        p__b="from .. import nothing",
        p__q____init__="from ..a import f; from . import r",
        p__q__r="",
    )
    assert set(graph.imports) == {
        *(("p", "p.a"), ("p.a", "p.b")),
        *(("p.q", "p.a"), ("p.q", "p.q.r")),
    }


def test_a_relative_import_does_not_leave_its_package(tree: Tree) -> None:
    assert not tree(p____init__="", p__a="from ..b import x", b="x = 1").imports


def test_a_module_that_imports_itself_has_no_edge(tree: Tree) -> None:
    assert not tree(a="import a").imports


def test_an_import_of_a_compiled_module_makes_a_node_without_lines(tree: Tree) -> None:
    graph = tree(a="import sys\nimport unknown_to_all")
    assert set(graph.imports) == {("a", "sys")}
    assert graph.modules["sys"].lines is None
    assert "_speed" not in graph.modules


def test_an_attribute_that_is_no_module_counts_for_the_module(tree: Tree) -> None:
    graph = tree(a="import b.path, b", b="")
    assert graph.imports == {("a", "b"): 1}


def test_each_import_statement_is_one_place(tree: Tree) -> None:
    graph = tree(a="from b import x, y\ndef f():\n    import b", b="x = y = 1")
    assert graph.imports == {("a", "b"): 2}


def test_imports_inside_functions_and_handlers_are_found(tree: Tree) -> None:
    source = """
        class C:
            def m(self):
                try:
                    pass
                except ValueError:
                    import b
                match self:
                    case 1:
                        import c
    """
    graph = tree(a=source, b="", c="")
    assert set(graph.imports) == {("a", "b"), ("a", "c")}


def test_files_that_do_not_parse_are_passed_over(tree: Tree) -> None:
    assert [*tree(a="def (", b="").modules] == ["b"]


def test_the_tests_of_the_library_are_left_out(tree: Tree) -> None:
    assert [*tree(a="", test__b="").modules] == ["a"]


def test_a_folder_without_source_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(GdbError, match="no Python source"):
        codegraph.build(tmp_path)


def test_the_garbage_collector_is_left_as_it_was(tree: Tree) -> None:
    tree(a="")
    assert gc.isenabled()


# ---- definitions and inheritance -----------------------------------------------------------------


def test_definitions_hang_at_their_module_or_class(tree: Tree) -> None:
    graph = tree(a="class C:\n    def m(self):\n        def inner(): ...\nasync def f(): ...")
    assert set(graph.defines) == {("a", "a.C"), ("a.C", "a.C.m"), ("a", "a.f")}


def test_a_name_that_is_defined_twice_is_one_node(tree: Tree) -> None:
    graph = tree(a="if x:\n    def f(): ...\nelse:\n    def f(): ...")
    assert graph.defines == {("a", "a.f"): 1}


def test_bases_are_found_through_imports(tree: Tree) -> None:
    graph = tree(
        a="import p.b as q\nfrom p import Other as O\nclass C(q.Base, O, Unknown): ...",
        p____init__="from .b import Other",
        p__b="class Base: ...\nclass Other: ...",
    )
    assert graph.bases["a.C"] == ["p.b.Base", "p.b.Other"]


def test_a_subscripted_base_is_a_base(tree: Tree) -> None:
    graph = tree(a="class B: ...\nclass C(B[int]): ...")
    assert set(graph.inherits) == {("a.C", "a.B")}


def test_a_class_inside_a_class_sees_its_siblings_first(tree: Tree) -> None:
    source = """
        class B: ...
        class Outer:
            class B: ...
            class C(B): ...
    """
    assert tree(a=source).bases["a.Outer.C"] == ["a.Outer.B"]


def test_circles_of_bases_and_of_names_end(tree: Tree) -> None:
    graph = tree(
        a="from b import x\nclass A(B): ...\nclass B(A): ...\nx()\ndef f(): x()",
        b="from a import x",
    )
    assert codecalls.resolution_order(graph, "a.A") == ["a.A", "a.B"]
    assert not graph.calls


# ---- calls by name -------------------------------------------------------------------------------


def test_a_call_is_found_through_modules_that_pass_the_name_on(tree: Tree) -> None:
    graph = tree(
        a="import p\ndef f():\n    p.path.g()\n    p.g()\n    p.C.make()",
        p____init__="import real as path\nfrom real import g, C",
        real="def g(): ...\nclass C:\n    @classmethod\n    def make(cls): ...",
    )
    assert graph.calls == {("a.f", "real.g"): 2, ("a.f", "real.C.make"): 1}


def test_a_star_import_gives_the_names_in_all(tree: Tree) -> None:
    graph = tree(
        a="from p import *\ndef f():\n    g()\n    hidden()",
        p____init__="from .q import *",
        p__q="__all__ = ['g']\ndef g(): ...\ndef hidden(): ...",
    )
    assert calls(graph, "a.f") == {"p.q.g"}


def test_a_star_import_without_all_gives_what_has_no_underscore(tree: Tree) -> None:
    graph = tree(a="from b import *\ndef f():\n    g()\n    _h()", b="def g(): ...\ndef _h(): ...")
    assert calls(graph, "a.f") == {"b.g"}
    assert set(graph.modules["a"].names) == {"f", "g"}


def test_a_class_that_is_called_is_called(tree: Tree) -> None:
    assert tree(a="class C: ...\ndef f(): return C()").calls == {("a.f", "a.C"): 1}


@pytest.mark.parametrize(
    "source",
    [
        "def f(g): g()",
        "def f(*g): g()",
        "def f():\n    g = 1\n    g()",
        "def f():\n    for g in x: g()",
        "def f():\n    def g(): ...\n    g()",
        "def f():\n    try: x\n    except E as g: g()",
        "def f():\n    match x:\n        case [*g]: g()",
        "def f():\n    match x:\n        case {**g}: g()",
        "def f(): return lambda g: g()",
    ],
)
def test_a_name_that_is_local_is_not_the_global_function(tree: Tree, source: str) -> None:
    assert not calls(tree(a=f"def g(): ...\n{source}"), "a.f")


@pytest.mark.parametrize(
    "source",
    [
        "def f(x, g=g): g()",
        "def f():\n    global g\n    g = g()",
        "def f(): return lambda x: g()",
        "def f():\n    def inner(g): ...\n    g()",
        "def f():\n    def inner(g=g()): ...",
        "def f():\n    @g()\n    def inner(g): ...",
    ],
)
def test_a_name_that_is_not_local_there_is_the_global_function(tree: Tree, source: str) -> None:
    assert calls(tree(a=f"def g(): ...\n{source}"), "a.f") == {"a.g"}


def test_an_import_in_a_function_counts_there_only(tree: Tree) -> None:
    source = """
        def f():
            from b import g
            g()
        def other():
            g()
    """
    graph = tree(a=source, b="def g(): ...")
    assert set(graph.calls) == {("a.f", "b.g")}


def test_decorators_and_defaults_are_not_calls_of_the_function(tree: Tree) -> None:
    graph = tree(a="def g(): ...\n@g()\ndef f(x=g()): ...")
    assert not graph.calls


def test_decorated_functions_are_called_as_others_are(tree: Tree) -> None:
    graph = tree(a="def wrap(x): return x\n@wrap\ndef g(): ...\ndef f(): g()")
    assert set(graph.calls) == {("a.f", "a.g")}


# ---- calls of methods ----------------------------------------------------------------------------

DIAMOND = """
    class Top:
        def m(self): ...
        def only(self): ...
    class Left(Top): ...
    class Right(Top):
        def m(self): ...
    class Bottom(Left, Right):
"""


def method(body: str) -> str:
    return dedent(DIAMOND) + "".join(f"    {line}\n" for line in dedent(body).strip().split("\n"))


def test_the_resolution_order_is_that_of_python(tree: Tree) -> None:
    source = method("pass")
    made: dict[str, type] = {}
    exec(source, made)
    expected = [f"a.{cls.__name__}" for cls in made["Bottom"].__mro__[:-1]]
    assert codecalls.resolution_order(tree(a=source), "a.Bottom") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("def f(self): self.m()", {"a.Right.m"}),
        ("def f(self): self.only()", {"a.Top.only"}),
        ("def f(this): this.m()", {"a.Right.m"}),
        ("def f(self): self.f()", {"a.Bottom.f"}),
        ("def f(self): super().f()", set()),
        ("def f(self): super().m()", {"a.Right.m"}),
        ("def f(self): super(Right, self).m()", {"a.Top.m"}),
        ("def f(self): Left.m(self)", {"a.Top.m"}),
        ("def f(self): self.unknown()", set()),
        ("def f(self): self.m.m()", set()),
        ("@classmethod\ndef f(cls): cls.m()", {"a.Right.m"}),
        ("@staticmethod\ndef f(self): self.m()", set()),
        ("def f(self): return lambda: self.m()", {"a.Right.m"}),
        ("def f(self): return lambda self: self.m()", set()),
        ("def f(self):\n    self = other\n    self.m()", set()),
        ("def f(self):\n    class X:\n        def g(self): self.m()", set()),
        ("def f(self):\n    class X:\n        def g(me): super().m()", set()),
        ("def f(self):\n    class X:\n        def g(me): self.m()", {"a.Right.m"}),
        ("def m(self): ...\ndef f(self): m()", set()),
    ],
)
def test_methods_are_looked_up_along_that_order(tree: Tree, body: str, expected: set[str]) -> None:
    assert calls(tree(a=method(body)), "a.Bottom.f") == expected


# ---- files ---------------------------------------------------------------------------------------


def test_the_files_hold_the_graph(tree: Tree, tmp_path: Path) -> None:
    graph = tree(a="import sys\nclass C: ...\ndef f():\n    C()\n    C()", b____init__="")
    folder = tmp_path / "csv"
    folder.mkdir()
    files = codegraph.write(graph, folder)

    def rows(path: Path) -> list[list[str]]:
        with path.open(newline="", encoding="utf-8") as stream:
            return [*csv.reader(stream)][1:]

    assert rows(files.nodes["Module"]) == [
        ["a", "5", "False"],
        ["b", "0", "True"],
        ["sys", "", "False"],
    ]
    assert rows(files.nodes["Class"]) == [["a.C", "C", "a"]]
    ((path, start, end),) = files.edges["CALLS"]
    assert (start, end, rows(path)) == ("Function", "Class", [["a.f", "a.C", "2"]])
    assert {(s, e) for _, s, e in files.edges["DEFINES"]} == {
        ("Module", "Class"),
        ("Module", "Function"),
    }
