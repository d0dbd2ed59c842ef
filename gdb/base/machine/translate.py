"""From Python to LLVM: the part of Python that the kernel is written in.

A function is plain arithmetic: ints are 64 bits wide and wrap, floats are doubles, bools; tuples only
come back from functions and are on both sides of an assignment. It assigns names, branches by `if`,
loops by `while` and `for ... in range()`, and calls other such functions, min, max, int and float. What
it reads and writes lies behind addresses (`memory.load_u32` and its like); what Python has no operator
for is in `bits`. Constants are those of its module, or of a class there (`Table.COLUMN`). A name's type
is that of its first assignment. `//` and `%` round down, as ever; dividing by zero is undefined. Anything
else is refused, so that what compiles means what it means to Python, where every function runs as well.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any

from llvmlite import ir

from gdb.base.machine.machine_expressions import I64, TYPES, Expressions, Value, result_type
from gdb.base.machine.parts import INLINED, Function, signature
from gdb.errors import InternalError


def translate(*entries: Function) -> str:
    """The LLVM module, as text, of functions that C can call by their own names, and of all that they
    call. Their ints and bools are i64 and their floats doubles; they return an int, a float or nothing.

    Raises
    ------
    InternalError : a function is not within this part of Python.
    """
    module = _Module(entries)
    for entry in entries:
        module.declare(entry)
    while module.waiting:
        _Body(module, *module.waiting.pop()).translate()
    return str(module.ir)


class _Module:
    """The functions translated so far, and those that wait to be."""

    def __init__(self, entries: tuple[Function, ...]) -> None:
        self.ir = ir.Module("gdb")
        self.entries = entries
        self.known: dict[Function, Any] = {}
        self.waiting: list[tuple[Function, Any]] = []

    def declare(self, function: Function) -> Any:
        """The LLVM function of a Python function; one that is no entry is the module's own."""
        if function not in self.known:
            arguments, result = signature(function)
            entry = function in self.entries
            if entry and result is bool:  # C reads eight bits of it, and LLVM sets one
                raise InternalError(
                    f"the entry {function.__name__} returns a bool.", "Return an int: 0 or 1."
                )
            types = [I64 if entry and t is bool else TYPES[t] for t in arguments]
            name = function.__name__
            made = ir.Function(
                self.ir,
                ir.FunctionType(result_type(result), types),
                name if entry else f"{function.__module__}.{name}",
            )
            made.attributes.add("nounwind")
            if function in INLINED:
                made.attributes.add("alwaysinline")
            if not entry:
                made.linkage = "internal"
            self.known[function] = made
            self.waiting.append((function, made))
        return self.known[function]


class _Body(Expressions):
    """One function's statements, written into its LLVM function.

    loops : of the loops around the statement, innermost last: where `continue` and `break` go.
    """

    def __init__(self, module: _Module, function: Function, made: Any) -> None:
        super().__init__(module, function, made)
        self.loops: list[tuple[Any, Any]] = []

    def translate(self) -> None:
        source = ast.parse(textwrap.dedent(inspect.getsource(self.function))).body[0]
        assert isinstance(source, ast.FunctionDef)
        types, _ = signature(self.function)
        for argument, kind, value in zip(source.args.args, types, self.made.args, strict=True):
            self.assign(argument.arg, self.truth(value) if kind is bool else value, argument)
        self.statements(source.body)
        if not self.builder.block.is_terminated:
            if isinstance(self.made.function_type.return_type, ir.VoidType):
                self.builder.ret_void()
            else:  # every way through has returned
                self.builder.unreachable()

    def statements(self, nodes: list[ast.stmt]) -> None:
        for node in nodes:
            if self.builder.block.is_terminated:  # what follows a return is never reached
                return
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target], value=value):
                self.unpack(target, self.value(value))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self.assign(name, self.value(value), node)
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                before = self.name(name, target)
                self.assign(name, self.arithmetic(op, before, self.value(value), target), node)
            case ast.If():
                self.branch_on(node)
            case ast.While(test=test, body=body, orelse=[]):
                self.loop_while(test, body)
            case ast.For(target=ast.Name(id=name), iter=ast.Call() as call, body=body, orelse=[]):
                self.loop_range(name, call, body)
            case ast.Break():
                self.builder.branch(self.loops[-1][1])
            case ast.Continue():
                self.builder.branch(self.loops[-1][0])
            case ast.Return(value=value):
                self.give_back(value, node)
            case ast.Expr(value=ast.Call() as call):
                self.value(call)
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:
                self.refuse(node, "no statement of the kernel's part of Python")

    # ---- assignment ------------------------------------------------------------------------------

    def unpack(self, target: ast.expr, value: Value) -> None:
        match target:
            case ast.Name(id=name):
                self.assign(name, value, target)
            case ast.Tuple(elts=parts) if isinstance(value, tuple) and len(parts) == len(value):
                for part, one in zip(parts, value, strict=True):
                    self.unpack(part, one)
            case _:
                self.refuse(target, "cannot be assigned to")

    def assign(self, name: str, value: Value, node: ast.AST) -> None:
        if isinstance(value, tuple) or value is None:
            self.refuse(node, "a name holds one value")
        if name not in self.slots:
            self.slots[name] = self.slot(value.type)
        slot = self.slots[name]
        self.builder.store(self.convert(value, slot.allocated_type, node), slot)

    def slot(self, kind: Any) -> Any:
        with self.builder.goto_entry_block():  # there LLVM finds it, and makes it a register
            return self.builder.alloca(kind)

    # ---- branches and loops ----------------------------------------------------------------------

    def branch_on(self, node: ast.If) -> None:
        yes, no, after = (self.made.append_basic_block(n) for n in ("then", "else", "after"))
        self.branch(node.test, yes, no)
        for block, body in ((yes, node.body), (no, node.orelse)):
            self.builder.position_at_end(block)
            self.statements(body)
            self.go(after)
        self.builder.position_at_end(after)

    def loop_while(self, test: ast.expr, body: list[ast.stmt]) -> None:
        head, inside, after = (self.made.append_basic_block(n) for n in ("while", "do", "done"))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        self.branch(test, inside, after)
        self.builder.position_at_end(inside)
        self.looped(body, head, after)
        self.go(head)
        self.builder.position_at_end(after)

    def loop_range(self, name: str, call: ast.Call, body: list[ast.stmt]) -> None:
        match call:
            case ast.Call(func=ast.Name(id="range"), args=[_] | [_, _] as nodes, keywords=[]):
                bounds = [self.convert(self.value(a), I64, a) for a in nodes]
            case _:
                self.refuse(call, "a loop runs over range(end) or range(start, end)")
        counter = self.slot(I64)  # the body may change the name, never the count
        self.builder.store(bounds[0] if len(bounds) == 2 else I64(0), counter)
        blocks = (self.made.append_basic_block(n) for n in ("for", "do", "next", "done"))
        head, inside, following, after = blocks
        self.builder.branch(head)
        self.builder.position_at_end(head)
        at = self.builder.load(counter)
        self.builder.cbranch(self.builder.icmp_signed("<", at, bounds[-1]), inside, after)
        self.builder.position_at_end(inside)
        self.assign(name, at, call)
        self.looped(body, following, after)
        self.go(following)
        self.builder.position_at_end(following)
        step = self.builder.add(self.builder.load(counter), I64(1), flags=["nsw"])
        self.builder.store(step, counter)
        self.builder.branch(head)
        self.builder.position_at_end(after)

    def looped(self, body: list[ast.stmt], again: Any, after: Any) -> None:
        self.loops.append((again, after))
        self.statements(body)
        self.loops.pop()

    def go(self, block: Any) -> None:
        """Go on at a block, unless the statements before have left already."""
        if not self.builder.block.is_terminated:
            self.builder.branch(block)

    def give_back(self, node: ast.expr | None, statement: ast.stmt) -> None:
        wanted = self.made.function_type.return_type
        if node is None or isinstance(wanted, ir.VoidType):
            self.builder.ret_void()
            return
        value = self.value(node)
        if not isinstance(wanted, ir.LiteralStructType):
            self.builder.ret(self.convert(value, wanted, node))
            return
        if not isinstance(value, tuple) or len(value) != len(wanted.elements):
            self.refuse(statement, f"returns other than {wanted}")
        result = ir.Constant(wanted, ir.Undefined)
        for i, part in enumerate(value):
            converted = self.convert(part, wanted.elements[i], node)
            result = self.builder.insert_value(result, converted, i)
        self.builder.ret(result)
