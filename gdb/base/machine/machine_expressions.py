"""Expressions of the kernel's part of Python as LLVM instructions (`translate` says which part)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn, Protocol, get_args

from llvmlite import ir

from gdb.base.machine.bits import BITS, bit_length, ones, shifted, square_root
from gdb.base.machine.memory import FLOATS, LOADS, SHARED, STORES
from gdb.base.machine.parts import PARTS, Function
from gdb.errors import InternalError

Value = (
    Any  # an LLVM value, a tuple of them, or None for a call without result: llvmlite has no types
)

I64, F64, BOOL = ir.IntType(64), ir.DoubleType(), ir.IntType(1)
TYPES: dict[object, Any] = {int: I64, float: F64, bool: BOOL}
_COMPARISONS: dict[type, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_INTEGER: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.LShift: "shl",
    ast.RShift: "ashr",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
}
_FLOAT: dict[type, str] = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}


def result_type(result: object) -> Any:
    """The LLVM type that a function of this result returns."""
    if result is None:
        return ir.VoidType()
    parts = get_args(result)
    return ir.LiteralStructType([TYPES[t] for t in parts]) if parts else TYPES[result]


def wider(a: Any, b: Any) -> Any:
    """The type that holds the values of both, as Python's arithmetic has it."""
    return max(a, b, key=(BOOL, I64, F64).index)


class Callees(Protocol):
    """Gives the LLVM function of a Python function, and sees to it that it is translated."""

    def declare(self, function: Function) -> Any:
        """What the LLVM module calls a function by."""


class Expressions:
    """What one function computes, written at the builder's position.

    slots : where each name's value is kept; LLVM puts it into a register.
    """

    def __init__(self, callees: Callees, function: Function, made: Any) -> None:
        self.callees, self.function, self.made = callees, function, made
        self.builder = ir.IRBuilder(made.append_basic_block("entry"))
        self.slots: dict[str, Any] = {}

    def refuse(self, node: ast.AST, why: str) -> NoReturn:
        """Raise InternalError that names the place."""
        code = self.function.__code__
        line = code.co_firstlineno + getattr(node, "lineno", 1) - 1
        raise InternalError(
            f"{code.co_filename}:{line}: {why}: {ast.unparse(node)}", "Please report it."
        )

    # ---- types -----------------------------------------------------------------------------------

    def convert(self, value: Value, wanted: Any, node: ast.AST) -> Value:
        """The same value as another type, where Python does so by itself: bool, int, float."""
        if isinstance(value, tuple) or value is None:
            self.refuse(node, "one value is wanted here")
        if value.type == wanted:
            return value
        if value.type == BOOL and wanted == I64:
            return self.builder.zext(value, I64)
        if wanted == F64:
            return self.builder.sitofp(self.convert(value, I64, node), F64)
        self.refuse(node, f"{value.type} where {wanted} is wanted")

    def common(self, a: Value, b: Value, node: ast.AST) -> tuple[Value, Value]:
        """Two values as the wider of their types."""
        if isinstance(a, tuple) or isinstance(b, tuple) or a is None or b is None:
            self.refuse(node, "one value is wanted here")
        wanted = wider(a.type, b.type)
        return self.convert(a, wanted, node), self.convert(b, wanted, node)

    def truth(self, value: Value) -> Value:
        """Whether Python takes a number for true, as a bool."""
        if value.type == BOOL:
            return value
        if value.type == F64:
            return self.builder.fcmp_unordered("!=", value, F64(0.0))
        return self.builder.icmp_signed("!=", value, I64(0))

    # ---- values ----------------------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        """The value of an expression. Raises InternalError with the place of what cannot be compiled."""
        match node:
            case ast.Constant(value=bool() | int() | float() as found):
                return TYPES[type(found)](found)
            case ast.Name(id=name):
                return self.name(name, node)
            case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name not in self.slots:
                owner = self.function.__globals__.get(name)
                return self.constant(getattr(owner, attribute, None), node)
            case ast.Tuple(elts=parts):
                return tuple(self.value(part) for part in parts)
            case ast.BinOp(left=left, op=op, right=right):
                return self.arithmetic(op, self.value(left), self.value(right), node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.arithmetic(ast.Sub(), I64(0), self.value(operand), node)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return self.builder.not_(self.convert(self.value(operand), I64, node))
            case ast.UnaryOp(op=ast.Not()) | ast.BoolOp():
                return self.choice(node, lambda: BOOL(1), lambda: BOOL(0), exact=True)
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                return self.comparison(_COMPARISONS[type(op)], left, right)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.choice(test, lambda: self.value(body), lambda: self.value(orelse))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(name, arguments, node)
            case _:
                self.refuse(node, "no expression of the kernel's part of Python")

    def name(self, name: str, node: ast.expr) -> Value:
        """The value of a local name, or of a constant of the function's module."""
        if name in self.slots:
            return self.builder.load(self.slots[name])
        return self.constant(self.function.__globals__.get(name), node)

    def constant(self, found: object, node: ast.expr) -> Value:
        """The value of a constant of a module, or of a class there."""
        match found:
            case bool():
                return BOOL(found)
            case int():
                return I64(int(found))
            case float():
                return F64(found)
            case _:
                self.refuse(node, "neither assigned before nor a constant")

    def arithmetic(self, op: ast.operator, a: Value, b: Value, node: ast.expr) -> Value:
        """a op b, both of the common type of the two; `/` is of floats."""
        a, b = self.common(a, b, node)
        if a.type == BOOL:
            a, b = self.convert(a, I64, node), self.convert(b, I64, node)
        if isinstance(op, ast.FloorDiv | ast.Mod) and a.type == I64:
            return self.floored(a, b, remainder=isinstance(op, ast.Mod))
        if isinstance(op, ast.Div):
            a, b = self.convert(a, F64, node), self.convert(b, F64, node)
        name = (_INTEGER if a.type == I64 else _FLOAT).get(type(op))
        if name is None:
            self.refuse(node, "no operation of the kernel's part of Python")
        return getattr(self.builder, name)(a, b)

    def floored(self, a: Value, b: Value, *, remainder: bool) -> Value:
        """a // b or a % b: the machine rounds to zero, Python down."""
        rest = self.builder.srem(a, b)
        apart = self.builder.icmp_signed("<", self.builder.xor(rest, b), I64(0))
        off = self.builder.and_(apart, self.builder.icmp_signed("!=", rest, I64(0)))
        if remainder:
            return self.builder.select(off, self.builder.add(rest, b), rest)
        return self.builder.sub(self.builder.sdiv(a, b), self.builder.zext(off, I64))

    def comparison(self, sign: str, left: ast.expr, right: ast.expr) -> Value:
        """The comparison of two expressions, a boolean."""
        a, b = self.common(self.value(left), self.value(right), left)
        return self.compared(sign, a, b)

    def compared(self, sign: str, a: Value, b: Value) -> Value:
        """The comparison of two values of one type, a boolean."""
        if a.type == F64:
            unordered = sign == "!="  # what is not a number differs from everything
            compare = self.builder.fcmp_unordered if unordered else self.builder.fcmp_ordered
            return compare(sign, a, b)
        compare = self.builder.icmp_unsigned if a.type == BOOL else self.builder.icmp_signed
        return compare(sign, a, b)

    # ---- calls -----------------------------------------------------------------------------------

    def call(self, name: str, nodes: list[ast.expr], node: ast.expr) -> Value:
        """A call of a function of the kernel, of what reads or writes memory, or of a builtin."""
        arguments = [self.value(a) for a in nodes]
        function = self.function.__globals__.get(name)
        match name, arguments:
            case (("min" | "max"), [a, b]) if function is None:
                a, b = self.common(a, b, node)
                second = self.compared("<" if name == "min" else ">", b, a)
                return self.builder.select(second, b, a)
            case "float", [a] if function is None:
                return self.convert(a, F64, node)
            case "int", [a] if function is None:
                if a.type == F64:
                    return self.builder.fptosi(a, I64)
                return self.convert(a, I64, node)
        if function in LOADS or function in STORES:
            return self.access(function, arguments, node)
        if function in FLOATS:
            return self.access_float(arguments, node)
        if function is square_root:
            made = self.builder.module.declare_intrinsic("llvm.sqrt", [F64])
            return self.builder.call(made, [self.convert(arguments[0], F64, node)])
        if function in BITS:
            return self.of_bits(function, arguments, node)
        if function is None or function not in PARTS:
            self.refuse(node, "calls what is no function of the kernel")
        made = self.callees.declare(function)
        wanted = made.function_type.args
        if len(wanted) != len(arguments):
            self.refuse(node, f"gives {len(arguments)} arguments for {len(wanted)}")
        result = self.builder.call(
            made, [self.convert(a, t, node) for a, t in zip(arguments, wanted, strict=True)]
        )
        if isinstance(result.type, ir.LiteralStructType):
            parts = range(len(result.type.elements))
            return tuple(self.builder.extract_value(result, i) for i in parts)
        return None if isinstance(result.type, ir.VoidType) else result

    def access(self, function: Any, arguments: list[Value], node: ast.expr) -> Value:
        """A load, widened to 64 bits, or a store, cut to its width, at address[index]."""
        address, index, *stored = (self.convert(a, I64, node) for a in arguments)
        width = ir.IntType(LOADS[function] if function in LOADS else STORES[function])
        place = self.builder.gep(self.builder.inttoptr(address, width.as_pointer()), [index])
        if stored:
            cut = stored[0] if width == I64 else self.builder.trunc(stored[0], width)
            if function in SHARED:
                self.builder.store_atomic(cut, place, "unordered", 8)
            else:
                self.builder.store(cut, place)
            return None
        if function in SHARED:
            found = self.builder.load_atomic(place, "unordered", 8)
        elif width.width == 8:
            # Bytes are marks, and what looks them up is a sum over scattered places. LLVM would gather
            # those lane by lane, which takes a fifth longer; an unordered load it leaves alone.
            found = self.builder.load_atomic(place, "unordered", 1)
        else:
            found = self.builder.load(place)
        return found if width == I64 else self.builder.zext(found, I64)

    def access_float(self, arguments: list[Value], node: ast.expr) -> Value:
        """A load or a store of a double at address[index]."""
        address, index = (self.convert(a, I64, node) for a in arguments[:2])
        place = self.builder.gep(self.builder.inttoptr(address, F64.as_pointer()), [index])
        if len(arguments) == 2:
            return self.builder.load(place)
        self.builder.store(self.convert(arguments[2], F64, node), place)
        return None

    def of_bits(self, function: Any, arguments: list[Value], node: ast.expr) -> Value:
        """A function of `gdb.base.machine.bits`, one instruction."""
        value, *by = (self.convert(a, I64, node) for a in arguments)
        if function is shifted:
            return self.builder.lshr(value, by[0])
        if function is ones:
            return self.builder.ctpop(value)
        if function is bit_length:  # defined for 0 as well
            return self.builder.sub(I64(64), self.builder.ctlz(value, BOOL(0)))
        return self.builder.cttz(value, BOOL(0))

    # ---- conditions ------------------------------------------------------------------------------

    def branch(self, test: ast.expr, yes: Any, no: Any, *, exact: bool = False) -> None:
        """Go to one of two blocks; what `and` and `or` need not look at is not looked at.

        exact : the operands of `and` and `or` must be bools, because one of them is the value.
        """
        match test:
            case ast.BoolOp(op=op, values=[*first, last]):
                for one in first:
                    following = self.made.append_basic_block("and_or")
                    if isinstance(op, ast.And):
                        self.branch(one, following, no, exact=exact)
                    else:
                        self.branch(one, yes, following, exact=exact)
                    self.builder.position_at_end(following)
                self.branch(last, yes, no, exact=exact)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.branch(operand, no, yes)
            case _:
                value = self.value(test)
                if exact and value.type != BOOL:
                    self.refuse(test, "`and` and `or` give bools only")
                self.builder.cbranch(self.truth(value), yes, no)

    def choice(
        self,
        test: ast.expr,
        yes: Callable[[], Value],
        no: Callable[[], Value],
        *,
        exact: bool = False,
    ) -> Value:
        """One of two values (or tuples of as many); the other one is not computed."""
        first, second, after = (self.made.append_basic_block(n) for n in ("yes", "no", "chosen"))
        self.branch(test, first, second, exact=exact)
        found: list[tuple[Value, ...]] = []
        ends: list[Any] = []
        for block, compute in ((first, yes), (second, no)):
            self.builder.position_at_end(block)
            value = compute()
            found.append(value if isinstance(value, tuple) else (value,))
            ends.append(self.builder.block)
        types = [wider(a.type, b.type) for a, b in zip(*found, strict=True)]
        joined = []
        for i, kind in enumerate(types):
            self.builder.position_at_end(after)
            phi = self.builder.phi(kind)
            joined.append(phi)
            for values, end in zip(found, ends, strict=True):
                self.builder.position_at_end(end)
                phi.add_incoming(self.convert(values[i], kind, test), end)
        for end in ends:
            self.builder.position_at_end(end)
            self.builder.branch(after)
        self.builder.position_at_end(after)
        return tuple(joined) if len(joined) > 1 else joined[0]
