"""The pages of the Python API, made from signatures and docstrings; `scripts/site_pages.py` puts them into the site.

A docstring has a summary, text, and sections whose names are underlined ("Parameters", "Raises", "Examples", ...). In a
section `name, name : what it is` is an item, lines that are indented more go on with it, and anything else is text.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from itertools import chain
from types import ModuleType

# page -> title, introduction, what is on it ("module:name", or "module" for its functions and classes)
PAGES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "database": (
        "Databases",
        "`gdb.connect` opens a store. A `Database` loads, queries and copies it; a transaction commits several changes "
        "at once; a snapshot answers from one version of the graph.",
        (
            "gdb:connect",
            "gdb:Database",
            "gdb:Cluster",
            "gdb.api.transaction:Transaction",
            "gdb:HeldSnapshot",
            "gdb.storage.importer:LoadReport",
            "gdb:LoadProgress",
            "gdb.api.schema:Schema",
            "gdb.storage.graph.snapshot:StoreStats",
        ),
    ),
    "results": (
        "Results",
        "What `execute` and `stream` return. [Answers](../ANSWERS.md) explains their use.",
        (
            "gdb:Result",
            "gdb:Row",
            "gdb.answer.summary:Summary",
            "gdb:Stream",
            "gdb:Drawing",
            "gdb:DeviceColumns",
        ),
    ),
    "values": (
        "Values",
        "Nodes, relationships, paths and the temporal values that Python's `datetime` cannot hold.",
        (
            "gdb:Node",
            "gdb:Relationship",
            "gdb:Path",
            "gdb:Date",
            "gdb:LocalDateTime",
            "gdb:DateTime",
            "gdb:LocalTime",
            "gdb:Time",
            "gdb:Duration",
        ),
    ),
    "errors": (
        "Errors",
        "Every error derives from `gdb.GdbError`. The message says what happened, where, and what to write instead.",
        ("gdb.errors",),
    ),
    "dbapi": (
        "DB-API and notebooks",
        "The interface of [PEP 249](https://peps.python.org/pep-0249/), and the magics of IPython.",
        ("gdb.dbapi", "gdb.notebook"),
    ),
}
_UNDERLINED = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
_ITEM = re.compile(r"^([\w*][\w*,. ]*?) : (.*)$")
# Where a line goes on with another item: "threads : 0 for all. memory : bytes"
_ANOTHER = re.compile(r"(?<=[.;]) (?=[\w*]+(?:, [\w*]+)* : )")
# Public by name, for other rooms of the library.
_INTERNAL = {
    "PlacedError",
    "no_more_memory",
    "of_lines",
    "answer",
    "key",
    "of_local",
    "of_instant",
    "Executor",
    "forked",
}


def page(name: str) -> str:
    """One page in Markdown."""
    title, introduction, members = PAGES[name]
    parts = [f"# {title}", introduction]
    above: set[object] = set()  # methods that a class inherits from one that is described above
    for member in members:
        module_name, _, attribute = member.partition(":")
        module = import_module(module_name)
        if attribute:
            public = f"gdb.{attribute}" if hasattr(import_module("gdb"), attribute) else attribute
            parts += described(public, getattr(module, attribute), above)
        else:
            parts += [markdown(inspect.getdoc(module) or "")]
            for one, value in public_members(module):
                exported = hasattr(import_module("gdb"), one)
                parts += described(f"{'gdb' if exported else module_name}.{one}", value, above)
    return "\n\n".join(part for part in parts if part) + "\n"


def index() -> str:
    """The page that lists all others and what is on them."""
    lines = ["# Python API", "", "Made from the docstrings of the library.", ""]
    for name, (title, introduction, _) in PAGES.items():
        lines += [f"- **[{title}]({name}.md)**: {introduction}".replace("](../", "](../")]
    lines += ["", "## Limits", "", markdown(inspect.getdoc(import_module("gdb.limits")) or "")]
    return "\n".join(lines) + "\n"


def public_members(module: ModuleType) -> Iterator[tuple[str, object]]:
    """Functions and classes that the module itself defines and does not hide."""
    for name, value in vars(module).items():
        defined = inspect.isclass(value) or inspect.isfunction(value)
        hidden = name.startswith("_") or name in _INTERNAL
        if defined and value.__module__ == module.__name__ and not hidden:
            yield name, value


def described(name: str, value: object, above: set[object]) -> Iterator[str]:
    """A heading, the signature and the docstring; of a class its public methods as well, also inherited ones, which
    are named only where they are described above."""
    yield f"## `{name}`"
    if inspect.isclass(value):
        bases = [base.__name__ for base in value.__bases__ if base is not object]
        if issubclass(value, BaseException):
            yield f"Derives from {', '.join(f'`{base}`' for base in bases)}."
        yield markdown(_own_doc(value))
        found = list(methods(value))
        again = [f"`{method}`" for method, member in found if member in above]
        if again:
            yield f"Has, as described above: {', '.join(again)}."
        for method, member in found:
            if member not in above:
                above.add(member)
                yield f"### `{method}`"
                yield fenced(method, member)
                yield markdown(inspect.getdoc(member) or "")
    else:
        yield fenced(name, value)
        yield markdown(inspect.getdoc(value) or "")


def _own_doc(cls: type) -> str:
    """Not that of a base class, and not the signature that a dataclass has instead of one."""
    text = inspect.cleandoc(cls.__doc__ or "")
    return "" if text.startswith(f"{cls.__name__}(") else text


def methods(cls: type) -> Iterator[tuple[str, object]]:
    """Public methods and properties that have a docstring, those of the class itself first."""
    seen: set[str] = set()
    for owner in cls.__mro__:
        if not owner.__module__.startswith("gdb") or issubclass(owner, BaseException):
            continue
        for name, member in vars(owner).items():
            function = member.fget if isinstance(member, property) else member
            function = getattr(function, "__func__", function)
            hidden = name.startswith("_") or name in seen or name in _INTERNAL
            if hidden or inspect.isclass(function) or not callable(function):
                continue
            seen.add(name)
            if inspect.getdoc(function):
                yield name, member if isinstance(member, property) else function


def fenced(name: str, value: object) -> str:
    """The signature as code, one parameter a line where it is long; a property by its type."""
    if isinstance(value, property):
        result = value.fget.__annotations__.get("return", "") if value.fget else ""
        return f"```python\n{name}: {result}\n```" if result else ""
    assert callable(value), name
    signature = inspect.signature(value)
    given = [one for one in signature.parameters.values() if one.name not in ("self", "cls")]
    shown, kinds = [_parameter(one) for one in given], [one.kind for one in given]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        shown.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    result = signature.return_annotation
    arrow = "" if result is signature.empty else f" -> {_annotation(result)}"
    text = f"{name}({', '.join(shown)}){arrow}"
    if len(text) > 90:
        text = f"{name}(\n" + "".join(f"    {one},\n" for one in shown) + f"){arrow}"
    return f"```python\n{text}\n```"


def _parameter(one: inspect.Parameter) -> str:
    mark: dict[object, str] = {
        inspect.Parameter.VAR_POSITIONAL: "*",
        inspect.Parameter.VAR_KEYWORD: "**",
    }
    text = mark.get(one.kind, "") + one.name
    if one.annotation is not one.empty:
        text += f": {_annotation(one.annotation)}"
    if one.default is not one.empty:
        text += f" = {one.default!r}"
    return text


def _annotation(value: object) -> str:
    return value if isinstance(value, str) else getattr(value, "__name__", str(value))


def markdown(doc: str) -> str:
    """A docstring as Markdown: sections with their names in bold, items as a list, examples as code."""
    parts = _UNDERLINED.split(doc.strip())
    shown = [paragraphs(parts[0].strip())]
    for name, body in zip(parts[1::2], parts[2::2], strict=True):
        text = example(body) if name == "Examples" else items(body.strip("\n").splitlines())
        shown.append(f"**{name}**\n\n{text}")
    if ">>>" in parts[0]:
        shown[0] = example(parts[0])
    return "\n\n".join(part for part in shown if part)


def paragraphs(text: str) -> str:
    """Text before the sections: items where a paragraph has them, tables of reStructuredText as they are."""
    shown = []
    for block in re.split(r"\n\s*\n", text):
        if "====" in block:
            shown.append(f"```text\n{block}\n```")
        else:
            has_items = any(_ITEM.match(line) for line in block.splitlines())
            shown.append(items(block.splitlines()) if has_items else escaped(block))
    return "\n\n".join(shown)


def items(lines: Iterable[str]) -> str:
    """`name : text` as a list; a line that is indented goes on with what is before it."""
    found: list[tuple[str, str]] = []
    for line in chain.from_iterable(map(_ANOTHER.split, lines)):
        item = _ITEM.match(line)
        if item is not None:
            found.append((item[1], item[2]))
        elif line.startswith(" ") and found:
            found[-1] = (found[-1][0], f"{found[-1][1]} {line.strip()}")
        elif line.strip():
            if found and not found[-1][0]:
                found[-1] = ("", f"{found[-1][1]} {line.strip()}")
            else:
                found.append(("", line.strip()))
    rows = [
        f"- `{name}`: {escaped(text)}" if name else f"\n{escaped(text)}\n" for name, text in found
    ]
    return "\n".join(rows).strip()


def example(text: str) -> str:
    """Text with its `>>>` lines, and what follows them, as code."""
    blocks: list[str] = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc("\n" + text)):
        code = re.sub(r" +# doctest: \+\w+$", "", block, flags=re.MULTILINE)
        blocks.append(f"```pycon\n{code}\n```" if block.startswith(">>>") else escaped(block))
    return "\n\n".join(blocks)


def escaped(text: str) -> str:
    """What Markdown would take for emphasis or tags, outside of code."""
    pieces = re.split(r"(`[^`]*`)", text)
    return "".join(
        piece if piece.startswith("`") else re.sub(r"([*_<\[])", r"\\\1", piece) for piece in pieces
    )
