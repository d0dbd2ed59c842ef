"""Name resolution for the code graph: the modules, their global names, and the look-up of a dotted name
through imports.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from gdb.records import dataclass, field

Scope: TypeAlias = dict[str, str]  # name -> id of what it means, "" where that is unknown

_HOPS = 8  # how often a name may be passed on (from ._x import y); more is a circle


@dataclass(slots=True)
class Module:
    """One module: its dotted name, tree, and what its global names mean.

    tree : None for a module that is compiled into Python or an extension, and when the graph is built.
    stars : modules from which it imports `*`.
    """

    name: str
    tree: ast.Module | None = None
    lines: int | None = None
    is_package: bool = False
    names: Scope = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)

    @property
    def package(self) -> str:
        """The dotted name that relative imports in it begin from."""
        return self.name if self.is_package else self.name.rpartition(".")[0]

    @property
    def body(self) -> list[ast.stmt]:
        """Its statements; none without a tree."""
        return self.tree.body if self.tree else []


@dataclass(slots=True)
class CodeGraph:
    """Nodes by id; edges as (source, target) -> number of places in the code."""

    modules: dict[str, Module] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)  # id -> module
    functions: dict[str, str] = field(default_factory=dict)
    bases: dict[str, list[str]] = field(default_factory=dict)  # class -> as they are written
    defines: Counter[tuple[str, str]] = field(default_factory=Counter)
    imports: Counter[tuple[str, str]] = field(default_factory=Counter)
    inherits: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)


# ---- trees ---------------------------------------------------------------------------------------


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements of a body, with those inside `if`, `try`, `with` and loops."""
    for statement in body:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
            for inner in ("body", "orelse", "finalbody"):
                yield from statements(getattr(statement, inner, []))
        if isinstance(statement, ast.Try):
            for handler in statement.handlers:
                yield from statements(handler.body)


def all_statements(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Statements of a body at any depth, those inside functions and classes too."""
    waiting: list[ast.AST] = [*body]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [
            child
            for child in children(node)
            if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case)
        ]


def children(node: ast.AST) -> list[ast.AST]:
    """As `ast.iter_child_nodes`, without the `ctx` leaves: half of the nodes and of the time."""
    found: list[ast.AST] = []
    for name in node._fields:
        value = getattr(node, name, None) if name != "ctx" else None
        if isinstance(value, list):
            found += [held for held in value if isinstance(held, ast.AST)]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


# ---- imports -------------------------------------------------------------------------------------


def bound(module: Module, node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names that an import statement binds, and what they mean; not those of `*`."""
    match node:
        case ast.Import():
            for alias in node.names:
                top = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (top, top)
        case ast.ImportFrom():
            base = absolute(module, node)
            for alias in node.names:
                if alias.name != "*":
                    yield alias.asname or alias.name, f"{base}.{alias.name}"


def absolute(module: Module, node: ast.ImportFrom) -> str:
    """The absolute name of what a `from ... import` imports from; "" if it leaves the tree."""
    if not node.level:
        return node.module or ""
    parts = module.package.split(".") if module.package else []
    if node.level > len(parts):
        return ""
    parts = parts[: len(parts) - node.level + 1]
    return ".".join([*parts, *([node.module] if node.module else [])])


def spread_stars(graph: CodeGraph) -> None:
    """Give the modules that import `*` the names that they get so."""
    starred = [module for module in graph.modules.values() if module.stars]
    for _ in range(_HOPS):  # `*` of a module that itself imports `*`
        before = sum(len(module.names) for module in starred)
        for module in starred:
            for source in module.stars:
                for name in _public(graph.modules[source]):
                    module.names.setdefault(name, f"{source}.{name}")
        if sum(len(module.names) for module in starred) == before:
            break


def _public(module: Module) -> list[str]:
    """The names that `*` takes: those in `__all__`, where that can be read, else all without `_`."""
    for statement in module.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                try:
                    listed = ast.literal_eval(value)
                except ValueError:  # it is computed
                    break
                return [name for name in listed if name in module.names]
    return [name for name in module.names if not name.startswith("_")]


# ---- dotted names --------------------------------------------------------------------------------


def resolve_name(graph: CodeGraph, expression: ast.expr, scopes: Sequence[Scope]) -> str:
    """The id that a dotted name resolves to, or a name that is no id; "" if that is unknown.

    scopes : what names mean, the innermost scope first.
    """
    attributes: list[str] = []
    while isinstance(expression, ast.Attribute):
        attributes.append(expression.attr)
        expression = expression.value
    if not isinstance(expression, ast.Name):
        return ""
    meaning = meant(expression.id, scopes)
    return _followed(graph, ".".join([meaning, *reversed(attributes)])) if meaning else ""


def meant(name: str, scopes: Sequence[Scope]) -> str:
    """The meaning of a name in the innermost scope that has it; "" if that is unknown."""
    return next((scope[name] for scope in scopes if name in scope), "")


def _followed(graph: CodeGraph, name: str, hops: int = _HOPS) -> str:
    """A dotted name without detours: os.path.join is posixpath.join."""
    known = ""
    for part in name.split("."):
        owner, known = known, f"{known}.{part}" if known else part
        if owner not in graph.modules or known in graph.modules or is_defined(graph, known):
            continue
        meaning = graph.modules[owner].names.get(part, known)
        if meaning != known and hops:
            known = _followed(graph, meaning, hops - 1)
    return known


def is_defined(graph: CodeGraph, name: str) -> bool:
    """Whether a name is the id of a function or class."""
    return name in graph.functions or name in graph.classes
