"""Dataclasses whose methods are compiled when they are first called.

`dataclasses.dataclass` compiles six methods of a class when it makes the class. That was a third of what a process
waited for before its first answer, and a query uses few of the classes that are declared on its way. The decorator here
makes the same classes from the same declarations, with a descriptor in the place of each method: the first call
compiles the method and puts it there, so that later calls cost what they always did. What the functions of the module
`dataclasses` read (`fields`, `replace`, `asdict`) is made by that module when one of them is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, make_dataclass
from dataclasses import field as field
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

Class = TypeVar("Class", bound=type)

_DECLARED = "__declared__"  # of a class: the annotation and the value of each field, also of those it inherits
_FIELDS = "__fields__"  # of a class: what reads the arguments of its `__init__` from an object, and their places
_Declared = Mapping[str, tuple[object, object]]  # the value: a default, a Field, or MISSING
_Kind: TypeAlias = tuple[bool, bool, bool]
"""Of a field: whether it is an argument of `__init__`, has a default without being one, and has a factory of one."""

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
    from dataclasses import replace as replace
else:

    def dataclass(*, eq=True, frozen=False, slots=False, weakref_slot=False):
        """`dataclasses.dataclass` of these arguments: the library needs no others."""
        return lambda cls: _build_class(
            cls, eq=eq, frozen=frozen, slots=slots, weakref_slot=weakref_slot
        )

    def replace(one, /, **changes):
        """`dataclasses.replace`, which would have `dataclasses` describe the fields first."""
        cls = type(one)
        read, places = getattr(cls, _FIELDS)
        values = [*read(one)]
        for name, value in changes.items():
            place = places.get(name)
            if place is not None:
                values[place] = value
            elif name in getattr(cls, _DECLARED):
                raise ValueError(f"{name} is no argument of {cls.__name__}()")
            else:
                raise TypeError(f"{cls.__name__}() got an unexpected keyword argument {name!r}")
        return cls(*values)  # by place, which takes half as long as by name


def quick(cls: Class) -> Class:
    """A frozen dataclass with slots that only the type checker keeps frozen: for nodes that a query has very many of.

    The `__init__` of a frozen dataclass calls, for each field, what sets it, which is most of the time that it takes
    to read a long query. This one assigns.
    """
    for name in ("__setattr__", "__delattr__"):
        delattr(cls, name)
    later = _Later(_assigning)
    setattr(cls, "__init__", later)  # noqa: B010
    later.__set_name__(cls, "__init__")
    return cls


class _Later:
    """An attribute of a class that is made when it is first read."""

    __slots__ = ("_make", "_name", "_owner")

    def __init__(self, make: Callable[[type], object]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, owner: type | None = None) -> object:
        made = self._make(self._owner)
        setattr(self._owner, self._name, made)  # two threads may: what they make is the same
        bind = getattr(type(made), "__get__", None)
        return made if bind is None else bind(made, instance, owner)


def _build_class(cls: type, *, eq: bool, frozen: bool, slots: bool, weakref_slot: bool) -> type:
    """The class of a declaration. It is a new one, as slots cannot be added to one that is there."""
    namespace = dict(vars(cls))
    declared = dict[str, tuple[object, object]]()
    for base in reversed(cls.__mro__[1:]):
        declared.update(vars(base).get(_DECLARED, {}))
    inherited = set(declared)
    for name, annotation in cls.__annotations__.items():
        value = namespace.pop(name, MISSING)
        if type(value).__hash__ is None:
            raise ValueError(f"the default of {name} can change: write field(default_factory=...)")
        declared[name] = annotation, value
    for name in ("__dict__", "__weakref__"):  # they belong to the class that is replaced
        namespace.pop(name, None)
    if slots:
        own = (name for name in declared if name not in inherited)
        namespace["__slots__"] = (*own, "__weakref__") if weakref_slot else tuple(own)
    else:
        namespace |= _defaults(declared)
    hashed = namespace.get("__hash__") is not None  # Python puts None beside an __eq__ of its own
    namespace = _methods(declared, eq=eq, frozen=frozen, slots=slots) | namespace
    if eq and frozen and not hashed:
        namespace["__hash__"] = _Later(_hash)
    made = type(cls)(cls.__name__, cls.__bases__, namespace)
    made.__qualname__ = cls.__qualname__
    return made


def _methods(declared: _Declared, *, eq: bool, frozen: bool, slots: bool) -> dict[str, object]:
    """What a class gets that does not define it itself."""

    def method(name: str) -> _Later:
        return _Later(lambda cls: vars(_twin(cls, eq, frozen))[name])

    methods: dict[str, object] = {
        _DECLARED: declared,
        "__init__": _Later(_assigning if not frozen else _setting if slots else _forcing),
        "__repr__": _Later(_repr),
        _FIELDS: _Later(_read),
        "__match_args__": tuple(name for name, (_, value) in declared.items() if _in_init(value)),
        **{name: method(name) for name in ("__dataclass_fields__", "__dataclass_params__")},
    }
    if eq:
        methods["__eq__"] = _Later(_eq)
    if frozen:
        methods |= {"__setattr__": _set_frozen, "__delattr__": _delete_frozen}
    if frozen and slots:  # else Python's own do
        methods |= {"__getstate__": _state, "__setstate__": _set_state}
    return methods


def _defaults(declared: _Declared) -> dict[str, object]:
    """What the class has as attributes: the defaults of a class without slots."""
    values = {
        name: value.default if isinstance(value, Field) else value
        for name, (_, value) in declared.items()
    }
    return {name: value for name, value in values.items() if value is not MISSING}


def _in_init(value: object) -> bool:
    return value.init if isinstance(value, Field) else True


def _compared(value: object) -> bool:
    return value.compare if isinstance(value, Field) else True


def _shown(value: object) -> bool:
    return value.repr if isinstance(value, Field) else True


def _twin(cls: type, eq: bool, frozen: bool) -> type:
    """What `dataclasses` makes of the same fields: of the objects that describe a field it alone knows all."""
    fields = [
        (name, annotation) if value is MISSING else (name, annotation, value)
        for name, (annotation, value) in _declared(cls).items()
    ]
    return make_dataclass(cls.__name__, fields, eq=eq, frozen=frozen)


def _declared(cls: type) -> _Declared:
    return cast(_Declared, vars(cls)[_DECLARED])


# ---- methods that all classes share ----------------------------------------------------------------


def _set_frozen(self: object, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete_frozen(self: object, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: object) -> list[object]:
    return [getattr(self, name) for name in getattr(self, _DECLARED)]


def _set_state(self: object, state: list[object]) -> None:
    for name, value in zip(getattr(self, _DECLARED), state, strict=True):
        object.__setattr__(self, name, value)  # also of a frozen one


class _Unset:
    """The default of a parameter in the place of what a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


_UNSET = _Unset()

# ---- methods of one class --------------------------------------------------------------------------


def _compiled(
    cls: type, head: str, lines: list[str], names: dict[str, object]
) -> Callable[..., object]:
    """A method by its text; names : what it reads."""
    names["__name__"] = cls.__module__
    exec(f"def {head}:\n " + "\n ".join(lines or ["pass"]), names)
    name = head.partition("(")[0]
    method = cast(FunctionType, names.pop(name))
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    return method


def _assigning(cls: type) -> object:
    return _init(cls, "self._field_{place} = {value}", {})


def _forcing(cls: type) -> object:
    names = {f"_name_{place}": name for place, name in enumerate(_declared(cls))}
    return _init(cls, "_set(self, _name_{place}, {value})", {"_set": object.__setattr__, **names})


def _setting(cls: type) -> object:
    """By the descriptors of the slots: what freezes the class is not in their way."""
    setters = {
        f"_set_{place}": getattr(cls, name).__set__ for place, name in enumerate(_declared(cls))
    }
    return _init(cls, "_set_{place}(self, {value})", setters)


def _init(cls: type, line: str, names: dict[str, object]) -> object:
    """The `__init__` of a class whose fields are set by a line of this form."""
    arguments, defaults, kinds = list[str](), list[object](), list[_Kind]()
    renamed, annotations = {"__post_init__": "__post_init__"}, dict[str, object]()
    for place, (name, (annotation, value)) in enumerate(_declared(cls).items()):
        default = value.default if isinstance(value, Field) else value
        factory = value.default_factory if isinstance(value, Field) else MISSING
        in_init = _in_init(value)
        kinds.append((in_init, not in_init and default is not MISSING, factory is not MISSING))
        renamed[f"_field_{place}"] = name
        if factory is not MISSING:
            names[f"_make_{place}"], names["_UNSET"] = factory, _UNSET
            default = _UNSET
        if in_init:
            arguments.append(name)
            annotations[name] = annotation
            if default is not MISSING:
                defaults.append(default)
            elif defaults:
                raise TypeError(f"{cls.__name__}.{name} has no default, and one before it has")
        elif default is not MISSING:
            names[f"_default_{place}"] = default
    code = _init_code(line, tuple(kinds), hasattr(cls, "__post_init__"))
    names["__name__"] = cls.__module__
    code = code.replace(
        co_varnames=("self", *arguments),
        co_names=tuple(renamed.get(name, name) for name in code.co_names),
        co_qualname=f"{cls.__qualname__}.__init__",
    )
    method = FunctionType(code, names, "__init__", tuple(defaults))
    method.__annotations__ = annotations | {"return": None}
    return method


@cache
def _init_code(line: str, kinds: tuple[_Kind, ...], post: bool) -> CodeType:
    """The code of an `__init__` whose arguments and fields have numbers for names: to compile it takes 100 us, and most
    classes have as many fields as another."""
    parameters, lines = ["self"], list[str]()
    for place, (in_init, default, factory) in enumerate(kinds):
        value = f"_given_{place}"
        if in_init:
            parameters.append(value)
        if factory:
            made = f"_make_{place}()"
            value = f"{made} if {value} is _UNSET else {value}" if in_init else made
        elif not in_init:
            if not default:
                continue  # it is unset until `__post_init__` sets it
            value = f"_default_{place}"
        lines.append(line.format(place=place, value=value))
    if post:
        lines.append("self.__post_init__()")
    names = dict[str, object]()
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), names)
    return cast(FunctionType, names["__init__"]).__code__


def _read(cls: type) -> object:
    names: tuple[str, ...] = cls.__match_args__  # type: ignore[attr-defined]
    places = {name: place for place, name in enumerate(names)}
    if len(names) > 1:
        return attrgetter(*names), places
    return lambda one: [getattr(one, name) for name in names], places


def _repr(cls: type) -> object:
    shown = (f"{n}={{self.{n}!r}}" for n, (_, value) in _declared(cls).items() if _shown(value))
    line = f'return f"{{self.__class__.__qualname__}}({", ".join(shown)})"'
    method = _compiled(cls, "__repr__(self)", [line], {})
    return recursive_repr()(cast(Callable[[object], str], method))


def _tuple_of(cls: type, name: str) -> str:
    """The tuple of the fields that are compared, of a variable."""
    fields = (field for field, (_, value) in _declared(cls).items() if _compared(value))
    return f"({''.join(f'{name}.{field}, ' for field in fields)})"


def _eq(cls: type) -> object:
    lines = [
        "if other.__class__ is self.__class__:",
        f"  return {_tuple_of(cls, 'self')} == {_tuple_of(cls, 'other')}",
        "return NotImplemented",
    ]
    return _compiled(cls, "__eq__(self, other)", lines, {})


def _hash(cls: type) -> object:
    return _compiled(cls, "__hash__(self)", [f"return hash({_tuple_of(cls, 'self')})"], {})
