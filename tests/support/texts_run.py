"""The texts that statements run by: their own, or those of their shapes."""

from __future__ import annotations

import pytest

import gdb
from gdb.run import pipeline
from gdb.run.request import QueryRun


def ran(db: gdb.Database, texts: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were run in the end, without those that ran bound."""
    seen: list[str] = []
    answer = pipeline._answer

    def noted(run: QueryRun) -> object:
        seen.append(run.request.text)
        return answer(run)

    with monkeypatch.context() as context:
        context.setattr(pipeline, "_answer", noted)
        for text in texts:
            db.execute(text)
    return seen
