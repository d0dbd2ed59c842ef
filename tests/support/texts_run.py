"""The texts that statements run by: their own, or those of their shapes."""

from __future__ import annotations

import pytest

import gdb
from gdb.language import shapes
from gdb.language.parser import parse
from gdb.run import pipeline
from gdb.run.request import QueryRun


def shape_of(text: str) -> str | None:
    """The shape of a text."""
    found = shapes.split_literals(text)
    return None if found is None else shapes.shape(text, *found, parse)


def ran(
    db: gdb.Database,
    texts: list[str],
    monkeypatch: pytest.MonkeyPatch,
    *,
    timeout: float | None = None,
) -> list[str]:
    """The texts that were run in the end, without those that ran bound."""
    seen: list[str] = []
    answer = pipeline._answer

    def noted(run: QueryRun) -> object:
        seen.append(run.request.text)
        return answer(run)

    with monkeypatch.context() as context:
        context.setattr(pipeline, "_answer", noted)
        for text in texts:
            db.execute(text, timeout=timeout)
    return seen
