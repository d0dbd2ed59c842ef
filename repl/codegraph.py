"""The code graph of a Python library: modules, classes and functions, and what they define, import,
inherit and call where that can be seen without running it.

Found with `ast`, written as CSV files with neo4j-admin headers, so that the demo imports it like any
user's data.
"""

from __future__ import annotations

import ast
import csv
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

LEFT_OUT = {"test", "tests", "idlelib", "turtledemo", "site-packages", "__pycache__", "idle_test"}


@dataclass(slots=True)
class Module:
    """One source file: its dotted name, tree, and what its global names stand for."""

    name: str
    tree: ast.Module
    lines: int
    is_package: bool
    names: dict[str, str] = field(default_factory=dict)

    @property
    def package(self) -> str:
        return self.name if self.is_package else self.name.rpartition(".")[0]


@dataclass(slots=True)
class CodeGraph:
    """Nodes by id; edges as (source, target) -> number of places in the code."""

    modules: dict[str, Module] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)  # id -> module
    functions: dict[str, str] = field(default_factory=dict)
    defines: Counter[tuple[str, str]] = field(default_factory=Counter)
    imports: Counter[tuple[str, str]] = field(default_factory=Counter)
    inherits: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)


def standard_library() -> Path:
    """The folder of the standard library that runs this program."""
    return Path(sysconfig.get_paths()["stdlib"])


def build(folder: Path) -> CodeGraph:
    """The code graph of all modules under a folder; files that do not parse are passed over."""
    graph = CodeGraph()
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if LEFT_OUT & set(parts) or any(p.startswith(("config-", "lib2to3")) for p in parts):
            continue
        module = _module(path, parts)
        if module is not None:
            graph.modules[module.name] = module
    for module in graph.modules.values():
        _define(graph, module, module.tree.body, module.name, in_class=False)
    for module in graph.modules.values():
        _import(graph, module)
    for module in graph.modules.values():
        _use(graph, module, module.tree.body, module.name, None)
    return graph


def _module(path: Path, parts: tuple[str, ...]) -> Module | None:
    is_package = parts[-1] == "__init__"
    name = ".".join(parts[:-1] if is_package else parts)
    try:
        source = path.read_text("utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old code of the library warns of its own escapes
            tree = ast.parse(source)
    except (SyntaxError, ValueError, OSError, RecursionError):
        return None
    return Module(name, tree, source.count("\n"), is_package) if name else None


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a body, with those inside `if`, `try` and `with`."""
    for statement in body:
        yield statement
        for inner in ("body", "orelse", "finalbody"):
            if isinstance(statement, ast.If | ast.Try | ast.With):
                yield from _statements(getattr(statement, inner, []))
        if isinstance(statement, ast.Try):
            for handler in statement.handlers:
                yield from _statements(handler.body)


def _define(
    graph: CodeGraph, module: Module, body: list[ast.stmt], owner: str, *, in_class: bool
) -> None:
    """Classes and functions of a body; each is defined by its module or class."""
    for statement in _statements(body):
        if isinstance(statement, ast.ClassDef) and not in_class:
            name = f"{module.name}.{statement.name}"
            graph.classes[name] = module.name
            graph.defines[owner, name] = 1
            module.names[statement.name] = name
            _define(graph, module, statement.body, name, in_class=True)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{owner}.{statement.name}"
            graph.functions[name] = module.name
            graph.defines[owner, name] = 1
            if not in_class:
                module.names[statement.name] = name


def _import(graph: CodeGraph, module: Module) -> None:
    """IMPORTS edges, and what imported names stand for."""
    for statement in ast.walk(module.tree):
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                known = _known_prefix(graph, alias.name)
                if known:
                    _add_import(graph, module, known)
                    name = alias.asname or alias.name.partition(".")[0]
                    module.names.setdefault(name, alias.name if alias.asname else name)
        elif isinstance(statement, ast.ImportFrom):
            base = _base(module, statement)
            for alias in statement.names:
                whole = f"{base}.{alias.name}"
                if whole in graph.modules:
                    _add_import(graph, module, whole)
                elif base in graph.modules:
                    _add_import(graph, module, base)
                module.names.setdefault(alias.asname or alias.name, whole)


def _add_import(graph: CodeGraph, module: Module, name: str) -> None:
    if name != module.name:
        graph.imports[module.name, name] += 1


def _base(module: Module, statement: ast.ImportFrom) -> str:
    """The absolute name of what a `from ... import` imports from."""
    if not statement.level:
        return statement.module or ""
    parts = module.package.split(".")
    parts = parts[: len(parts) - statement.level + 1]
    return ".".join([*parts, *([statement.module] if statement.module else [])])


def _known_prefix(graph: CodeGraph, name: str) -> str:
    while name and name not in graph.modules:
        name = name.rpartition(".")[0]
    return name


def _use(
    graph: CodeGraph, module: Module, body: list[ast.stmt], owner: str, cls: str | None
) -> None:
    """INHERITS and CALLS edges of a body."""
    for statement in _statements(body):
        if isinstance(statement, ast.ClassDef) and cls is None:
            name = f"{module.name}.{statement.name}"
            for base in statement.bases:
                target = _resolve(graph, module, base)
                if target in graph.classes and target != name:
                    graph.inherits[name, target] = 1
            _use(graph, module, statement.body, name, name)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{owner}.{statement.name}"
            for node in ast.walk(statement):
                if isinstance(node, ast.Call):
                    target = _called(graph, module, node.func, cls)
                    if target in graph.functions:
                        graph.calls[name, target] += 1


def _called(graph: CodeGraph, module: Module, func: ast.expr, cls: str | None) -> str:
    if (
        cls is not None
        and isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Name)
        and func.value.id == "self"
    ):
        return f"{cls}.{func.attr}"
    return _resolve(graph, module, func)


def _resolve(graph: CodeGraph, module: Module, expression: ast.expr) -> str:
    """The id that a dotted name stands for in a module; "" if that cannot be told."""
    attributes: list[str] = []
    while isinstance(expression, ast.Attribute):
        attributes.append(expression.attr)
        expression = expression.value
    if not isinstance(expression, ast.Name) or expression.id not in module.names:
        return ""
    name = ".".join([module.names[expression.id], *reversed(attributes)])
    for _ in range(4):  # a name that a module only passes on (from ._x import y)
        if name in graph.functions or name in graph.classes or name in graph.modules:
            return name
        owner, _, last = name.rpartition(".")
        if owner not in graph.modules or last not in graph.modules[owner].names:
            return name
        passed_on = graph.modules[owner].names[last]
        if passed_on == name:
            return name
        name = passed_on
    return name


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
            ([m.name, m.lines, m.is_package] for m in graph.modules.values()),
        ),
        "Class": _named(folder / "classes.csv", "Class", graph.classes),
        "Function": _named(folder / "functions.csv", "Function", graph.functions),
    }

    def kind(name: str) -> str:
        return "Class" if name in graph.classes else "Module"

    edges: dict[str, list[tuple[Path, str, str]]] = {"DEFINES": []}
    for start in ("Module", "Class"):
        for end, among in (("Class", graph.classes), ("Function", graph.functions)):
            chosen = {
                p: n for p, n in graph.defines.items() if kind(p[0]) == start and p[1] in among
            }
            if chosen:
                path = folder / f"{start.lower()}_defines_{end.lower()}.csv"
                edges["DEFINES"].append((_pairs(path, chosen), start, end))
    for name, space, found in (
        ("IMPORTS", "Module", graph.imports),
        ("INHERITS", "Class", graph.inherits),
        ("CALLS", "Function", graph.calls),
    ):
        edges[name] = [(_pairs(folder / f"{name.lower()}.csv", dict(found)), space, space)]
    return Files(nodes, edges)


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
