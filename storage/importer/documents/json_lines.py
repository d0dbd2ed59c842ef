"""JSON, one object after the other, on lines of their own or in one array: nodes and relationships as neo4j's
`apoc.export.json` writes them, or plain records."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from gdb.records import dataclass

from ...columns.model import INT64, Item, PropertyValue
from ..compressed import bytes_read
from ..detect import begin, open_input
from ..header import ENDS, STARTS
from ..lines import lines_of
from ..report import Fault
from .elements import LONGEST, Edge, Element, Id, Node, Pass, Values, is_integer
from .typed_texts import UnreadableText, labels_of

_IDS = ("id", "_id", ":id")
_LABELS = (":label", "labels")
_TYPES = (":type", "type")
_ENDS = (":start_id", *STARTS), (":end_id", *ENDS)
_BETWEEN = re.compile(r"[\s,]*")
_PIECE = 1 << 16  # bytes of an array that are read at a time
_MEND = "Write one object on each line, or one array of objects."
_CONSTANTS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""What Python writes for floats that JSON has not. A number that is too large becomes another infinity than these."""
_DECODER = json.JSONDecoder(parse_constant=_CONSTANTS.__getitem__)
Thing: TypeAlias = "dict[str, Thing] | list[Thing] | str | int | float | bool | None"
Object: TypeAlias = "dict[str, Thing]"


def read(one: Pass) -> Iterator[Element]:
    """The nodes or relationships of a file.

    Raises
    ------
    ImportFailed : it is no JSON that can be stored; names the line.
    """
    for line, text, thing in _things(one):
        try:
            if isinstance(thing, UnreadableText):
                raise thing
            found = _element(one, thing, line)
        except UnreadableText as error:
            if one.nodes:  # once, and not in the second pass as well
                one.reject(line, text[:200], Fault(error.reason, error.cure))
            continue
        if isinstance(found, Edge) or (found is not None and one.nodes):
            yield found


# ---- records -------------------------------------------------------------------------------------------


def _element(one: Pass, thing: Thing, line: int) -> Element | None:
    """The node or relationship that an object is; None where it is not wanted. Raises Unreadable."""
    if not isinstance(thing, dict):
        raise UnreadableText(f"is {_kind(thing)}, no object", _MEND)
    if not one.side and thing.get("type") == "node" and "id" in thing:
        return _exported_node(thing, line)
    if not one.side and thing.get("type") == "relationship" and "start" in thing and "end" in thing:
        return _exported_edge(one, thing, line)
    keys = {key.lower(): key for key in reversed(thing)}
    start, end = (next((keys[n] for n in names if n in keys), None) for names in _ENDS)
    own = next((keys[name] for name in _IDS if name in keys), None)
    if one.side == "nodes" or (one.side != "edges" and own and not (start and end)):
        return _record(thing, own, keys, line)
    if start is None or end is None:
        what = "relationship (source and target)"
        both = what if one.side else f"node (id) and no {what}"
        raise UnreadableText(
            f"has the keys {_listed(thing)}, which name no {both}", "Name its keys so."
        )
    values = {k: v for k, v in thing.items() if k not in (start, end)}
    type = values.pop(next((keys[n] for n in _TYPES if n in keys), ""), None)
    if type is not None and not isinstance(type, str):
        raise UnreadableText(
            f"has {_kind(type)} as its type", "The type of a relationship is a text."
        )
    ends = _id(thing[start], start), _id(thing[end], end)
    return Edge(*ends, type or None, True, _values(values), line)


def _record(thing: Object, own: str | None, keys: Mapping[str, str], line: int) -> Node:
    """A plain record of a node; its id stays a property where it has a name."""
    if own is None:
        raise UnreadableText(
            f"has the keys {_listed(thing)}, and no id", "Name the key of the id `id`."
        )
    at = next((keys[name] for name in _LABELS if name in keys), None)
    values = {k: v for k, v in thing.items() if k != at and not (k == own and k.startswith(":"))}
    return Node(_id(thing[own], own), _labels(thing.get(at) if at else None), _values(values), line)


def _exported_node(thing: Object, line: int) -> Node:
    labels = _labels(thing.get("labels"))
    return Node(_number(thing["id"]), labels, _values(_map(thing, "properties")), line)


def _exported_edge(one: Pass, thing: Object, line: int) -> Edge:
    ends = [_number(_map(thing, end).get("id")) for end in ("start", "end")]
    type = thing.get("label")
    if not isinstance(type, str) or not type:
        raise UnreadableText("is a relationship without label", "neo4j writes its type there.")
    return Edge(ends[0], ends[1], type, True, _values(_map(thing, "properties")), line)


def _map(thing: Object, key: str) -> Object:
    found = thing.get(key)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise UnreadableText(f"has {_kind(found)} as {key!r}", "neo4j writes an object there.")
    return found


def _number(value: Thing) -> Id:
    """An id of neo4j, which writes its integers as texts."""
    found = _id(value, "id")
    if isinstance(found, str) and is_integer(found):
        return int(found)
    return found


def _id(value: Thing, key: str) -> Id:
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value in INT64:
        return value
    shown = "null" if value is None else json.dumps(value)[:60]
    raise UnreadableText(f"has {shown} as {key!r}", "An id is an integer of 64 bits, or a text.")


def _labels(value: Thing) -> tuple[str, ...]:
    names = labels_of(value) if isinstance(value, str) else value
    if names is None:
        return ()
    if not isinstance(names, Sequence) or not all(isinstance(name, str) and name for name in names):
        raise UnreadableText(
            f"has {_kind(value)} as its labels", "Labels are a text, or a list of texts."
        )
    return tuple(sorted({str(name) for name in names}))


def _values(properties: Object) -> Values:
    if "" in properties:
        raise UnreadableText("has a key without a name", "A property has a name: name the key.")
    return {key: _value(key, value) for key, value in properties.items()}


def _value(key: str, value: Thing) -> PropertyValue:
    if isinstance(value, dict):
        raise UnreadableText(
            f"holds an object as {key!r}, which no property can be",
            "Write its parts as keys of their own, or leave it out.",
        )
    for one in value if isinstance(value, list) else (value,):
        if type(one) is int and one not in INT64:
            raise UnreadableText(
                f"holds an integer beyond 64 bits as {key!r}", "Write it as a text, or as a float."
            )
        if (
            type(one) is float
            and math.isinf(one)
            and all(one is not c for c in _CONSTANTS.values())
        ):
            raise UnreadableText(
                f"holds a number beyond the range of a float as {key!r}",
                "Write it as a text, or as Infinity.",
            )
    if not isinstance(value, list):
        return value
    items: list[Item] = []
    for item in value:
        if item is None or isinstance(item, (dict, list)):
            raise UnreadableText(
                f"holds {_kind(item)} in the list {key!r}",
                "A list holds values of one type, none of them null, a list or an object.",
            )
        items.append(item)
    return items


def _kind(value: Thing) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
    return "an object"


def _listed(thing: Object) -> str:
    names = ", ".join(map(repr, list(thing)[:6]))
    return f"{names}, ..." if len(thing) > 6 else names or "none"


# ---- texts ---------------------------------------------------------------------------------------------


def _things(one: Pass) -> Iterator[tuple[int, str, Thing | UnreadableText]]:
    """Each object of a file with its line and text, or why there is none."""
    if begin(one.path).lstrip().startswith("["):
        yield from _of_array(one)
        return
    for number, raw, part in lines_of(one.path, one.most):
        if not number % (1 << 12):
            one.tick(part)
        try:
            line = raw.decode("utf-8").strip()
        except UnicodeDecodeError:
            yield number, "", UnreadableText("is not UTF-8", "Convert the file to UTF-8.")
            continue
        if line:
            yield number, line, _parsed(line)


def _of_array(one: Pass) -> Iterator[tuple[int, str, Thing | UnreadableText]]:
    """The items of an array, which may be one line."""
    array, decoder = _Array(one), codecs.getincrementaldecoder("utf-8-sig")()
    size = max(one.path.stat().st_size, 1)
    with open_input(one.path, one.most) as stream:
        data = b" "
        while data:
            try:
                data = stream.read(_PIECE)
                text = decoder.decode(data, final=not data)
            except UnicodeDecodeError:
                one.fail(array.line, "is not UTF-8", "Convert the file to UTF-8.")
            yield from array.take(text, last=not data)
            one.tick(min(bytes_read(stream) / size, 1.0))
    array.end()


def _parsed(line: str) -> Thing | UnreadableText:
    try:
        return _unicode(_DECODER.decode(line), line)
    except (ValueError, RecursionError) as error:
        where = f" (column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        return UnreadableText(f"is no JSON: {reason}{where}", _MEND)


def _unicode(thing: Thing, text: str) -> Thing | UnreadableText:
    """What a text says, unless it writes a half of a character, which no text can hold."""
    if "\\ud" in text or "\\uD" in text:
        try:
            json.dumps(thing, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return UnreadableText(
                "is not valid Unicode: it writes half of a character", "Repair it."
            )
    return thing


@dataclass(slots=True)
class _Array:
    """An array of objects that is read piece by piece."""

    one: Pass
    text: str = ""  # what is not understood yet, and its line
    line: int = 1
    open: bool = False
    closed: bool = False
    enough: int = 0  # characters of it from which on it is looked at again

    def take(self, more: str, *, last: bool) -> Iterator[tuple[int, str, Thing | UnreadableText]]:
        """What is whole with a piece more."""
        self.text += more
        if len(self.text) < self.enough and not last:
            return
        at = 0
        while True:
            after = _BETWEEN.match(self.text, at)
            assert after is not None
            self.line += self.text.count("\n", at, after.end())
            at = after.end()
            if at == len(self.text):
                break
            if self.closed or (self.text[at] == "[" and not self.open) or self.text[at] == "]":
                self._bracket(self.text[at], at)
                at += 1
                continue
            try:
                thing, end = _DECODER.raw_decode(self.text, at)
            except (ValueError, RecursionError) as error:
                self._wait(len(self.text) - at, error)
                break
            self.enough = 0
            yield self.line, self.text[at : min(end, at + 200)], _unicode(thing, self.text[at:end])
            self.line += self.text.count("\n", at, end)
            at = end
        self.text = self.text[at:]

    def _bracket(self, sign: str, at: int) -> None:
        if self.closed:
            self.one.fail(
                self.line, "goes on behind the end of its array", _MEND, self.text[at:][:80]
            )
        self.open, self.closed = True, sign == "]"

    def _wait(self, length: int, error: Exception) -> None:
        """An object is incomplete, or no JSON: reading more of it decides."""
        if length > LONGEST or isinstance(error, RecursionError):
            self.one.fail(self.line, f"is no JSON: {error}", _MEND, self.text[-80:].strip())
        self.enough = 2 * length

    def end(self) -> None:
        if self.text.strip() or not self.closed:
            reason = "ends before its array is closed"
            if self.text.strip():
                found = _parsed(self.text)
                reason = found.reason if isinstance(found, UnreadableText) else reason
            self.one.fail(self.line, reason, _MEND, self.text.strip()[:80])
