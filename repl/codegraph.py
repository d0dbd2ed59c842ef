"""The code graph of a Python library: modules, classes and functions, and what they define, import,
inherit and call where that can be seen without running it.

Found with `ast`, written as CSV files with neo4j-admin headers, so that the demo imports it like any
user's data. By hand, because griffe, which finds definitions, bases and aliases, has neither calls nor the imports
inside functions: two thirds of the code would stay, and the standard library would take longer to read.
"""

from __future__ import annotations

import ast
import csv
import sys
import sysconfig
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from gdb.base import garbage
from gdb.errors import GdbError
from gdb.records import dataclass

from . import codecalls
from .codenames import (
    CodeGraph,
    Module,
    Scope,
    absolute,
    all_statements,
    bound,
    is_defined,
    resolve_name,
    spread_stars,
    statements,
)

LEFT_OUT = {
    *("test", "tests", "idle_test", "idlelib", "turtledemo", "lib2to3", "__pycache__"),
    *("site-packages", "dist-packages"),
}


def standard_library() -> Path:
    """The folder of the standard library that runs this program."""
    return Path(sysconfig.get_paths()["stdlib"])


def build(folder: Path, compiled: Collection[str] = sys.stdlib_module_names) -> CodeGraph:
    """The code graph of all modules under a folder; files that do not parse are passed over.

    compiled : modules that have no file there, but are nodes where something imports them.

    Raises
    ------
    GdbError : there is no Python file, as where the standard library is a zip archive.
    """
    with garbage.rarely():
        return _built(folder, set(compiled) - LEFT_OUT)


def _built(folder: Path, compiled: Collection[str]) -> CodeGraph:
    graph = CodeGraph()
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if LEFT_OUT & set(parts) or parts[0].startswith("config-"):
            continue
        module = _module(path, parts)
        if module is not None:
            graph.modules.setdefault(module.name, module)  # a package before a module beside it
    if not graph.modules:
        raise GdbError(
            f"{folder} holds no Python source to make a graph of.",
            "Run this with a Python whose library is a folder of .py files.",
        )
    modules = list(graph.modules.values())
    for module in modules:
        _define(graph, module, module.body, module.name, in_class=False)
    for module in modules:
        _import(graph, module, compiled)
    spread_stars(graph)
    for module in modules:
        _inherit(graph, module.body, module.name, [module.names])
    for module in modules:
        codecalls.add_calls(graph, module)
    for module in modules:
        module.tree = None  # millions of nodes that are no longer needed
    return graph


def _module(path: Path, parts: tuple[str, ...]) -> Module | None:
    is_package = parts[-1] == "__init__"
    name = ".".join(parts[:-1] if is_package else parts)
    try:
        source = path.read_bytes()  # ast heeds the coding line of the file
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old code of the library warns of its own escapes
            tree = ast.parse(source)
    except (SyntaxError, ValueError, OSError, RecursionError, MemoryError):
        return None
    return Module(name, tree, len(source.splitlines()), is_package) if name else None


def _define(
    graph: CodeGraph, module: Module, body: list[ast.stmt], owner: str, *, in_class: bool
) -> None:
    """Classes and functions of a body; each is defined by its module or class."""
    for statement in statements(body):
        if not isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        name = f"{owner}.{statement.name}"
        if name in graph.modules:  # a package's name for its own module; one id, one node
            continue
        if not in_class:
            module.names[statement.name] = name
        if is_defined(graph, name):  # as in `if ...: def f else: def f`
            continue
        graph.defines[owner, name] = 1
        if isinstance(statement, ast.ClassDef):
            graph.classes[name] = module.name
            _define(graph, module, statement.body, name, in_class=True)
        else:
            graph.functions[name] = module.name


# ---- imports -------------------------------------------------------------------------------------


def _import(graph: CodeGraph, module: Module, compiled: Collection[str]) -> None:
    """IMPORTS edges of all import statements, and what the names of the global ones mean."""
    for node in all_statements(module.body):
        for name in dict.fromkeys(_imported(graph, module, node, compiled)):
            graph.modules.setdefault(name, Module(name))
            if name != module.name:
                graph.imports[module.name, name] += 1
    for statement in statements(module.body):
        for name, meaning in bound(module, statement):
            module.names.setdefault(name, meaning)
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            source = absolute(module, statement)
            if source in graph.modules and source != module.name:
                module.stars.append(source)


def _imported(
    graph: CodeGraph, module: Module, node: ast.AST, compiled: Collection[str]
) -> Iterator[str]:
    """The modules that a statement imports."""
    match node:
        case ast.Import():
            wanted = [alias.name for alias in node.names]
        case ast.ImportFrom():
            base = absolute(module, node)
            wanted = [
                whole if (whole := f"{base}.{alias.name}") in graph.modules else base
                for alias in node.names
            ]
        case _:
            return
    for name in wanted:
        while name and name not in graph.modules and name not in compiled:
            name = name.rpartition(".")[0]  # as `os` for os.path
        if name:
            yield name


# ---- inheritance ---------------------------------------------------------------------------------


def _inherit(graph: CodeGraph, body: list[ast.stmt], owner: str, scopes: Sequence[Scope]) -> None:
    """INHERITS edges of the classes of a body, and of those inside them.

    scopes : where the bases are looked up; a class sees the names of the class around it, but not
        of those further out.
    """
    for statement in statements(body):
        name = f"{owner}.{statement.name}" if isinstance(statement, ast.ClassDef) else ""
        if not isinstance(statement, ast.ClassDef) or name not in graph.classes:
            continue
        if name not in graph.bases:
            found = [
                resolve_name(graph, base.value if isinstance(base, ast.Subscript) else base, scopes)
                for base in statement.bases  # Base[T] is a Base
            ]
            bases = [base for base in dict.fromkeys(found) if base in graph.classes]
            graph.bases[name] = [base for base in bases if base != name]
            graph.inherits.update((name, base) for base in graph.bases[name])
        inner = {
            held.name: f"{name}.{held.name}"
            for held in statements(statement.body)
            if isinstance(held, ast.ClassDef)
        }
        _inherit(graph, statement.body, name, [inner, scopes[-1]])


# ---- files ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Files:
    """The CSV files of a code graph: one for each kind of node, and (path, start space, end space) for
    each relationship type."""

    nodes: dict[str, Path]
    edges: dict[str, list[tuple[Path, str, str]]]


def write(graph: CodeGraph, folder: Path) -> Files:
    """Write a code graph as CSV files with neo4j-admin headers."""
    nodes = {
        "Module": _csv(
            folder / "modules.csv",
            ["name:ID(Module)", "lines:int", "package:boolean"],
            (
                [m.name, "" if m.lines is None else m.lines, m.is_package]
                for _, m in sorted(graph.modules.items())
            ),
        ),
        "Class": _named(folder / "classes.csv", "Class", graph.classes),
        "Function": _named(folder / "functions.csv", "Function", graph.functions),
    }

    edges: dict[str, list[tuple[Path, str, str]]] = {}
    for name, found in (
        ("DEFINES", graph.defines),
        ("IMPORTS", graph.imports),
        ("INHERITS", graph.inherits),
        ("CALLS", graph.calls),
    ):
        parts: dict[tuple[str, str], dict[tuple[str, str], int]] = {}
        for (start, end), places in found.items():
            spaces = (_space(graph, start), _space(graph, end))
            parts.setdefault(spaces, {})[start, end] = places
        edges[name] = [
            (_pairs(folder / f"{start}_{name}_{end}.csv".lower(), part), start, end)
            for (start, end), part in sorted(parts.items())
        ]
    return Files(nodes, edges)


def _space(graph: CodeGraph, name: str) -> str:
    """The id space of a node, which is its label."""
    if name in graph.modules:
        return "Module"
    return "Class" if name in graph.classes else "Function"


def _named(path: Path, space: str, among: dict[str, str]) -> Path:
    rows = ((name, name.rpartition(".")[2], module) for name, module in among.items())
    return _csv(path, [f"id:ID({space})", "name", "module"], rows)


def _pairs(path: Path, edges: dict[tuple[str, str], int]) -> Path:
    rows = ((a, b, places) for (a, b), places in edges.items())
    return _csv(path, [":START_ID", ":END_ID", "places:int"], rows)


def _csv(path: Path, header: list[str], rows: Iterable[Sequence[str | int | bool]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    return path
