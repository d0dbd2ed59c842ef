"""The scenarios of the openCypher TCK's feature files: as much of Gherkin as they use, with outlines expanded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_ERROR = re.compile(r"Then an? (\w+) should be raised at (compile time|runtime|any time): (\S+)$")
_QUERY = re.compile(r"(having executed|executing query|executing control query):$")


@dataclass(frozen=True, slots=True)
class Case:
    """One scenario: its queries in order, the names of its parameters, and the error that the last query ends in.

    procedures : the signatures of those that it brings.
    """

    name: str
    queries: tuple[str, ...]
    parameters: tuple[str, ...]
    procedures: tuple[str, ...]
    error: str = ""
    phase: str = ""
    detail: str = ""


def read(folder: Path) -> list[Case]:
    """All cases of a folder, in the order of the files."""
    return [case for path in sorted(folder.rglob("*.feature")) for case in _cases(path)]


def _cases(path: Path) -> Iterator[Case]:
    background: list[str] = []
    for title, block in _blocks(path.read_text(encoding="utf-8").splitlines()):
        if title == "Background":
            background = block
            continue
        steps, examples = _split(block)
        for k, values in enumerate(examples):
            lines = [_filled(line, values) for line in (*background, *steps)]
            yield _case(f"{path.stem}: {title}" + (f" {k + 1}" if values else ""), lines)


def _blocks(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Each scenario (or the background) with its lines; comments outside of strings are gone."""
    title, block, inside = "", list[str](), False
    for line in lines:
        bare = line.strip()
        if bare == '"""':
            inside = not inside
        elif not inside and (not bare or bare[0] in "#@"):
            continue
        head = re.match(r"(Background|Scenario(?: Outline)?):\s*(.*)", bare)
        if head and not inside:
            if title:
                yield title, block
            title, block = head[2] or "Background", []
        else:
            block.append(line)
    if title:
        yield title, block


def _split(block: list[str]) -> tuple[list[str], list[dict[str, str]]]:
    """The steps, and the rows of all Examples; one empty row where there are none."""
    at = next((k for k, line in enumerate(block) if line.strip().startswith("Examples:")), None)
    if at is None:
        return block, [{}]
    rows: list[dict[str, str]] = []
    head: list[str] = []
    for line in block[at:]:
        if line.strip().startswith("Examples:"):
            head = []
        elif not head:
            head = _row(line)
        else:
            rows.append(dict(zip(head, _row(line), strict=True)))
    return block[:at], rows


def _row(line: str) -> list[str]:
    cells = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return [cell.strip().replace("\\|", "|").replace("\\\\", "\\") for cell in cells]


def _filled(line: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        line = line.replace(f"<{name}>", value)
    return line


def _case(name: str, lines: list[str]) -> Case:
    queries: list[str] = []
    parameters: list[str] = []
    error, procedures, step = ("", "", ""), list[str](), ""
    texts = iter(lines)
    for line in texts:
        bare = line.strip()
        if bare == '"""':
            text = _string(texts, line.index('"'))
            if _QUERY.search(step):
                queries.append(text)
        elif bare.startswith("|"):
            if "parameters are" in step:
                parameters.append(_row(bare)[0])
        else:
            step = bare
            _, sign, signature = step.partition("there exists a procedure")
            if sign:
                procedures.append(signature.strip().removesuffix(":").strip())
            found = _ERROR.match(step)
            error = (found[1], found[2], found[3]) if found else error
    return Case(name, tuple(queries), tuple(parameters), tuple(procedures), *error)


def _string(texts: Iterator[str], indent: int) -> str:
    """The lines up to the closing quotes, less their indent."""
    found = []
    for line in texts:
        if line.strip() == '"""':
            break
        found.append(line[indent:] if not line[:indent].strip() else line.lstrip())
    return "\n".join(found)
