"""The CALLS edges of the code graph: which function calls which, as far as names resolve statically.

A called name is looked up as Python does, through the scopes of the functions around it and the
module; a name that is assigned in a function, or is a parameter, could be anything and is passed
over. `self.f()`, `cls.f()` and `super().f()` are looked up along the method resolution order (C3:
Barrett et al., A Monotonic Superclass Linearization for Dylan, 1996, DOI 10.1145/236337.236343).
The calls of an inner function count for the function around it, which is the one with a node.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from .codenames import (
    CodeGraph,
    Module,
    Scope,
    bound,
    children,
    is_defined,
    meant,
    resolve_name,
    statements,
)

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_INSTANCE = "()"  # after the id of a class: the meaning of `self`
_SUPER = "super()"  # in a scope: the class whose bases super() means


def add_calls(graph: CodeGraph, module: Module) -> None:
    """Add the CALLS edges from the functions of a module, to functions and to the classes they make."""
    _add(graph, module, module.body, module.name)


def _add(graph: CodeGraph, module: Module, body: list[ast.stmt], owner: str) -> None:
    for statement in statements(body):
        match statement:
            case ast.ClassDef() if f"{owner}.{statement.name}" in graph.classes:
                _add(graph, module, statement.body, f"{owner}.{statement.name}")
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                caller = f"{owner}.{statement.name}"
                if caller not in graph.functions:
                    continue
                scope = _scope(module, statement, owner if owner in graph.classes else "")
                for inner in statement.body:  # not its decorators: their calls are not its own
                    for function, seen in _calls(module, inner, [scope, module.names]):
                        target = _target(graph, function, seen)
                        if is_defined(graph, target):
                            graph.calls[caller, target] += 1


def _calls(
    module: Module, node: ast.AST, scopes: Sequence[Scope]
) -> Iterator[tuple[ast.expr, Sequence[Scope]]]:
    """What is called under a node, each with the scopes that its names are looked up in."""
    waiting = [(node, scopes)]
    while waiting:
        node, scopes = waiting.pop()
        if isinstance(node, ast.Call):
            yield node.func, scopes
        inner = scopes
        if isinstance(node, _FUNCTIONS):
            inner = [_scope(module, node), *scopes]
        elif isinstance(node, ast.ClassDef):
            inner = [{_SUPER: ""}, *scopes]  # a class that has no node
        body = getattr(node, "body", ()) if inner is not scopes else ()
        held = body if isinstance(body, list) else [body]
        for child in children(node):  # decorators and defaults are evaluated outside
            waiting.append((child, inner if child in held else scopes))


def _target(graph: CodeGraph, function: ast.expr, scopes: Sequence[Scope]) -> str:
    """The id of what is called; "" or an unknown id if that cannot be determined."""
    match function:
        case ast.Attribute(value=ast.Name(id=name), attr=attr):
            cls = meant(name, scopes)
            if cls.endswith(_INSTANCE):
                order = resolution_order(graph, cls.removesuffix(_INSTANCE))
                return member(graph, order, attr)
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=args), attr=attr):
            cls = resolve_name(graph, args[0], scopes) if args else meant(_SUPER, scopes)
            return member(graph, resolution_order(graph, cls)[1:], attr) if cls else ""
    name = resolve_name(graph, function, scopes)
    owner, _, last = name.rpartition(".")
    if owner in graph.classes:
        return member(graph, resolution_order(graph, owner), last)
    return name


# ---- scopes --------------------------------------------------------------------------------------


def _scope(module: Module, function: Function, cls: str = "") -> Scope:
    """The meanings of a function's local names: known for its imports and for `self` only.

    cls : the class that the function is a method of, "" for none.
    """
    scope = dict.fromkeys(_parameters(function.args), "")
    if cls:
        scope[_SUPER] = cls
        if receiver := _receiver(function):
            scope[receiver] = cls + _INSTANCE
    imported: Scope = {}
    outer: set[str] = set()
    for node in _own(function.body if isinstance(function.body, list) else [function.body]):
        match node:
            case ast.Global() | ast.Nonlocal():
                outer.update(node.names)
            case ast.Name(id=name, ctx=ast.Store()):
                scope[name] = ""
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                scope[node.name] = ""
            case ast.ExceptHandler(name=str(name)) | ast.MatchMapping(rest=str(name)):
                scope[name] = ""
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                scope[name] = ""
            case ast.Import() | ast.ImportFrom():
                imported.update(bound(module, node))
    return {name: held for name, held in (scope | imported).items() if name not in outer}


def _receiver(function: Function) -> str:
    """The parameter that holds the object or class, "" if there is none."""
    decorators = [] if isinstance(function, ast.Lambda) else function.decorator_list
    if any(isinstance(held, ast.Name) and held.id == "staticmethod" for held in decorators):
        return ""
    first = [*function.args.posonlyargs, *function.args.args][:1]
    return first[0].arg if first else ""


def _parameters(arguments: ast.arguments) -> Iterator[str]:
    """Names of parameters, without those that only keep a global at hand (`def f(x, len=len)`)."""
    positional = [*arguments.posonlyargs, *arguments.args]
    without = len(positional) - len(arguments.defaults)
    defaults: list[ast.expr | None] = [*([None] * without), *arguments.defaults]
    for held, default in (
        *zip(positional, defaults, strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ):
        if not (isinstance(default, ast.Name) and default.id == held.arg):
            yield held.arg
    for rest in (arguments.vararg, arguments.kwarg):
        if rest is not None:
            yield rest.arg


def _own(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of a body that are in its own scope: the insides of functions and classes are not."""
    waiting = [*body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            waiting.extend(children(node))


# ---- methods -------------------------------------------------------------------------------------


def member(graph: CodeGraph, order: Sequence[str], name: str) -> str:
    """The function or class of that name in the first class of `order` that defines one; "" if none does."""
    for cls in order:
        found = f"{cls}.{name}"
        if found in graph.functions or found in graph.classes:
            return found
    return ""


def resolution_order(graph: CodeGraph, cls: str) -> list[str]:
    """The class and its ancestors in the order in which Python looks for methods.

    Classes that the graph does not have are left out; where the rest has no consistent order, the list ends there.
    """
    return _linear(graph, cls, frozenset())


def _linear(graph: CodeGraph, cls: str, below: frozenset[str]) -> list[str]:
    bases = [base for base in graph.bases.get(cls, ()) if base not in below]
    lists = [_linear(graph, base, below | {cls}) for base in bases] + [bases]
    order = [cls]
    while lists := [held for held in lists if held]:
        heads = (held[0] for held in lists)
        head = next((h for h in heads if not any(h in held[1:] for held in lists)), None)
        if head is None:
            break
        order.append(head)
        lists = [[name for name in held if name != head] for held in lists]
    return order
