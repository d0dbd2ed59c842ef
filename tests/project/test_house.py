"""The habits of the house that a program can check (rooms small, names telling, packages complete)."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

MOST_LINES = 500
ROOMS = ("gdb", "storage", "executor", "repl")
MADE_LATER = {"dataclass", "field", "replace"}
PLAIN_ROOMS = ("storage", "executor", "repl", "gdb")
NO_PHRASES = (
    r"\bt(?:ells?|old)\b",
    r"\bnobody\b",
    r"\bsomebody\b",
    r"\banybody\b",
    r"\bno say\b",
    r"(?<!`)\bask(?:s|ed)?\b",
    r"\bst(?:ands?|ood)\b(?!-)",
    r"\bh[au]ngs? on\b",
    r"\bfor ever\b",
    r"\bwho(?:ever\b| asks\b| only\b)",
    r"\bof which\b",
    r"\bas of `",
)
"""Phrases that read as translated: no comment, docstring or message has one, nor a document. Each begins with a letter,
after what must be before it."""
DOCUMENTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs")
OPENING = r'(?:#.*\n|\s)*r?"""'
NO_OPENINGS = r"\s*(?:what|which|whose|where|how|who|is|of)\b"


def sources(repository: Path) -> list[Path]:
    """Every Python file that is ours: what git tracks or would track, or the folders' own files without git."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"],
        cwd=repository,
        capture_output=True,
        text=True,
    )
    if listing.returncode == 0 and listing.stdout:
        found = {repository / line for line in listing.stdout.splitlines()}
    else:
        found = {
            path
            for room in (*ROOMS, "tests", "benchmarks")
            for path in (repository / room).rglob("*.py")
        }
    return sorted(path for path in found if path.is_file())


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def parsed(path: Path) -> ast.Module:
    """Trees are large: those of few files are wanted, which a look at their text finds."""
    return ast.parse(text_of(path), filename=str(path))


def test_no_module_is_long(repository: Path) -> None:
    lengths = {path: len(text_of(path).splitlines()) for path in sources(repository)}
    assert len(lengths) > 20
    long = [f"{path.relative_to(repository)}: {n}" for path, n in lengths.items() if n > MOST_LINES]
    assert not long, f"over {MOST_LINES} lines; is there a second idea in it? {long}"


def test_no_module_is_a_drawer(repository: Path) -> None:
    drawers = {"utils", "util", "helpers", "misc", "common"}
    found = [
        path for path in sources(repository) if path.stem in drawers or "_fast_path" in path.stem
    ]
    assert not found, "name a module by what it does"


def test_no_room_compiles_methods_before_they_are_called(repository: Path) -> None:
    """`gdb.records` says what the decorator of the standard library costs each process."""
    costly = []
    for path in sources(repository):
        if path.relative_to(repository).parts[0] in ROOMS and path.stem != "records":
            if "dataclasses" not in text_of(path):
                continue
            for node in ast.walk(parsed(path)):
                if isinstance(node, ast.ImportFrom) and node.module == "dataclasses":
                    costly += [path for name in node.names if name.name in MADE_LATER]
    assert not costly, "import it from gdb.records"


def test_every_module_says_what_it_is(repository: Path) -> None:
    silent = []
    for path in sources(repository):
        text = text_of(path)
        if text.strip() and not re.match(OPENING, text):
            silent.append(str(path.relative_to(repository)))
    assert not silent


@pytest.mark.parametrize("room", ["storage", "executor", "repl"])
def test_the_symlink_of_each_room_is_there(repository: Path, room: str) -> None:
    link = repository / "gdb" / room
    assert link.is_symlink()
    assert link.readlink() == Path("..") / room


def test_every_package_is_listed(repository: Path) -> None:
    """Packages are listed by hand (pyproject.toml says why), so one may be forgotten."""
    project = tomllib.loads((repository / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(project["tool"]["setuptools"]["packages"])
    present = set()
    for room in ROOMS:
        for init in (repository / room).rglob("__init__.py"):
            parts = init.parent.relative_to(repository).parts
            present.add(".".join(parts if room == "gdb" else ("gdb", *parts)))
    assert listed == present


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """The comments and docstrings of a source file, or a document, each with the number of its first line."""
    text = text_of(path)
    if path.suffix in {".md", ".ipynb"}:
        yield 1, text
        return
    if path.suffix != ".py":
        for found in re.finditer(r"//.*(?:\n[ \t]*//.*)*", text):
            yield text.count("\n", 0, found.start()) + 1, found[0].replace("//", "  ")
        return
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(docstring))):
                yield node.lineno, docstring
    if not _WITHIN.search(_joined("\n".join(re.findall(r"#.*", text)))):
        return  # tokens take the longest
    block: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if block and token.start[0] != block[-1].start[0] + 1:
                yield block[0].start[0], "\n".join(each.string[1:] for each in block)
                block = []
            block.append(token)
    if block:
        yield block[0].start[0], "\n".join(each.string[1:] for each in block)


def messages_of(path: Path) -> Iterator[tuple[int, str]]:
    """The texts in the code of a Python file: messages, among others."""
    for node in ast.walk(parsed(path)):
        match node:
            case ast.Constant(value=str(text)):
                yield node.lineno, text


def files_of(repository: Path, rooms: Iterable[str], *suffixes: str) -> list[Path]:
    found = [repository / room for room in rooms if (repository / room).is_file()]
    found += [path for room in rooms for path in (repository / room).rglob("*")]
    return sorted(path for path in found if path.suffix in suffixes and path.is_file())


_BANNED = re.compile("|".join(NO_PHRASES).replace(" ", r"\s+"), re.IGNORECASE)
# The same in a text of small letters, with what is before a phrase looked for behind its first letter: then only the
# places of these letters are tried.
_WITHIN = re.compile(
    "|".join(re.sub(r"^(\W*\\b)(\w)", r"\2(?<=\1\2)", phrase) for phrase in NO_PHRASES).replace(
        " ", r"\s+"
    )
)


def _joined(text: str) -> str:
    """In small letters, without what is between the lines of a comment or the parts of a text."""
    return re.sub(r"""["'#/\s]+(?:[rbf]{1,2}["'])?""", " ", text).lower()


def suspicious(path: Path) -> bool:
    """Whether a phrase is anywhere in a file, be it code, or over the lines of a comment or the parts of a text: only
    then its prose is worth finding."""
    return _WITHIN.search(_joined(text_of(path))) is not None


def banned_phrases(path: Path, texts: Iterable[tuple[int, str]]) -> Iterator[str]:
    for line, text in texts:
        for hit in _BANNED.finditer(text):
            yield f"{path}:{line + text.count(chr(10), 0, hit.start())}: {hit[0]!r}"


def test_no_phrase_of_the_translated_register_comes_back(repository: Path) -> None:
    code = files_of(repository, (*PLAIN_ROOMS, "benchmarks", "tests"), ".py", ".cu", ".cuh", ".h")
    prose = [*code, *files_of(repository, DOCUMENTS, ".md", ".ipynb")]
    assert len(prose) > 900
    worth = list(filter(suspicious, prose))
    found = [hit for path in worth for hit in banned_phrases(path, prose_of(path))]
    messages = set(files_of(repository, PLAIN_ROOMS, ".py")).intersection(worth)
    found += [hit for path in sorted(messages) for hit in banned_phrases(path, messages_of(path))]
    assert not found, "write it in plain technical English:\n" + "\n".join(found)


def test_module_docstrings_begin_with_a_noun(repository: Path) -> None:
    found = [
        f"{path.relative_to(repository)}:1: {text.splitlines()[0]}"
        for path in files_of(repository, PLAIN_ROOMS, ".py")
        if re.match(OPENING + NO_OPENINGS, text_of(path), re.IGNORECASE)
        and (text := ast.get_docstring(parsed(path)))
    ]
    assert not found, "begin with a noun phrase that says what the module is:\n" + "\n".join(found)


ALIASES = {"cpu", "gpu", "executor"}
"""The doors of the backends, `launch`, by what they run on, and of the executors, `run`."""


def _known(module: str) -> set[str | None]:
    return {None, module, f"_{module}", *ALIASES}


def aliased_modules(path: Path, modules: set[str]) -> Iterator[str]:
    """Imports of our modules under another name, where the module's own means nothing else in the file."""
    statements = re.findall(r"^ *from .* import (?:\([^)]*\)|.*)", text_of(path), re.MULTILINE)
    renamed = re.findall(r"\b(\w+)\s+as\s+(\w+)", "\n".join(statements))
    if all(name not in modules or alias in _known(name) for name, alias in renamed):
        return
    tree = parsed(path)
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    names |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    names |= {alias.asname or alias.name for n in imports for alias in n.names}
    for node in imports:
        within = node.level > 0 or (node.module or "").startswith("gdb")
        for alias in node.names if within else ():
            if alias.asname not in _known(alias.name) and alias.name in modules - names:
                yield f"{path}:{node.lineno}: {alias.name} as {alias.asname}"


def test_a_module_is_called_by_its_name(repository: Path, tmp_path: Path) -> None:
    ours = [path for path in sources(repository) if path.relative_to(repository).parts[0] in ROOMS]
    modules = {path.stem for path in ours}
    assert not [alias for path in ours for alias in aliased_modules(path, modules)]
    (tmp_path / "a.py").write_text("from gdb.storage.graph import delta as changes\n")
    (tmp_path / "b.py").write_text("from gdb.storage.graph import delta as deltas\ndelta = 1\n")
    assert list(aliased_modules(tmp_path / "a.py", modules))
    assert not list(aliased_modules(tmp_path / "b.py", modules))


MIRRORED = {
    "launch"
}  # the door of each backend: gdb.executor.cpu.launch and gdb.executor.gpu.launch


def ambiguous(found: Iterable[tuple[str, Path]]) -> list[str]:
    """Names that more than one place of a folder at the top gives a meaning."""
    places = defaultdict[tuple[str, str], list[Path]](list)
    for name, path in found:
        places[path.parts[0], name].append(path)
    return [f"{name}: {', '.join(map(str, of))}" for (_, name), of in places.items() if len(of) > 1]


def test_a_name_has_one_meaning_in_a_folder(repository: Path) -> None:
    """Neither two modules nor two classes of `gdb/`, `storage/`, `executor/` or `repl/` share a name."""
    ours = [p.relative_to(repository) for p in sources(repository)]
    ours = [path for path in ours if path.parts[0] in ROOMS]
    modules = [(path.stem, path) for path in ours if path.stem not in {"__init__", *MIRRORED}]
    classes = [
        (name, path)
        for path in ours
        for name in re.findall(r"^class (\w+)", text_of(repository / path), re.MULTILINE)
    ]
    assert len(classes) > 500
    assert not ambiguous(modules)
    assert not ambiguous(classes)
    assert ambiguous([("Edge", Path("gdb/a.py")), ("Edge", Path("gdb/b.py"))])
    assert not ambiguous([("Edge", Path("gdb/a.py")), ("Edge", Path("storage/b.py"))])


def test_unit_tests_mirror_the_rooms(repository: Path) -> None:
    """A folder of tests/unit is named as the room whose modules it tests, and each room with modules has one."""
    tests = repository / "tests" / "unit"
    for top in ("gdb", "storage", "executor", "repl"):
        folders = {
            path.parent.relative_to(tests / top) for path in (tests / top).rglob("test_*.py")
        }
        rooms = {
            path.parent.relative_to(repository / top) for path in (repository / top).rglob("*.py")
        }
        assert folders <= rooms, f"no room of {top}/ has this name: {folders - rooms}"
        first = {room.parts[0] for room in rooms if room.parts}
        tested = {folder.parts[0] for folder in folders if folder.parts}
        assert tested >= first - {"plan"}  # records, which all tests of the executors make


def test_only_oracles_and_support_are_shared(repository: Path) -> None:
    """What tests share lies in a room that says so, not beside the tests."""
    loose = {path.name for path in (repository / "tests").glob("*.py")}
    assert loose == {"__init__.py", "conftest.py"}


def test_each_behaviour_has_its_file(repository: Path) -> None:
    """docs/onboarding.md names a file for each of some thirty behaviours."""
    text = (repository / "docs" / "onboarding.md").read_text(encoding="utf-8")
    table = text.partition("<!-- behaviours -->")[2].partition("<!-- end -->")[0]
    files = re.findall(r"\| `([^`]+)` \|$", table, re.MULTILINE)
    assert len(files) >= 30
    assert not [name for name in files if not (repository / name).is_file()]
