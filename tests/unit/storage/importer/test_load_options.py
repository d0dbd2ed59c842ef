"""The record of what a caller says of an import, which Python, COPY and the shell fill in."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path

import pytest

import gdb
from gdb.errors import ImportFailed, NameProblem, TypeProblem
from gdb.repl import loading
from gdb.run import options
from gdb.storage.importer.load_options import SIZES, LoadOptions, load_options, respelt


def test_python_takes_every_option_with_its_default() -> None:
    taken = inspect.signature(gdb.Database.load).parameters
    rest = ("self", "source", "nodes", "edges", "cancel", "progress")
    assert set(taken) - set(rest) == set(load_options())
    for name, option in load_options().items():
        default = taken[name].default
        told = options.byte_count(name, default) if name in SIZES and default else default
        assert told == option.default, name


def test_the_shell_takes_every_option_with_its_default() -> None:
    parser = argparse.ArgumentParser()
    loading.add_options(parser)
    given = vars(parser.parse_args(["x"]))
    assert {name: given[name] for name in load_options()} == {
        name: option.default for name, option in load_options().items()
    }


@pytest.mark.parametrize("name", [n for n, o in load_options().items() if o.choices])
def test_a_choice_is_one_of_those_that_there_are(name: str) -> None:
    with pytest.raises(NameProblem, match=f"{name}='other' is not a choice"):
        options.check_load(LoadOptions(**{name: "other"}))  # type: ignore[arg-type]


def test_packed_is_true_false_or_none() -> None:
    with pytest.raises(TypeProblem, match="packed= takes True, False or None"):
        options.check_load(LoadOptions(packed=1))  # type: ignore[arg-type]


def test_copy_takes_every_option(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id;x\n1;2\n", encoding="utf-8")
    with gdb.connect(tmp_path / "s.gdb") as db:
        text = f"COPY (:P) FROM '{tmp_path}/p.csv' OPTIONS {{delimiter: ';', memory: '200MB', packed: true}}"
        db.execute(text)
        assert db.execute("MATCH (p:P) RETURN p.x").scalar() == 2


def test_copy_names_its_options_in_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("id,x\n1,2\n1,3\n", encoding="utf-8")
    with gdb.connect() as db:
        with pytest.raises(ImportFailed) as told:
            db.execute(f"COPY (:P) FROM '{tmp_path}/p.csv'")
        assert "OPTIONS {on_duplicate: 'skip'}" in told.value.cure
        assert "on_duplicate=" not in str(told.value)
        assert told.value.line == 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pass header=False and columns=", "pass <header|False> and <columns|>"),
        ('ends=("Row", "Column")', '<ends|("Row", "Column")>'),
        ("directed=True, or another type=.", "<directed|True>, or another <type|>."),
        ("missing_ends='create'", "<missing_ends|create>"),
        ("(id_space=, or :ID(Space))", "(<id_space|>, or :ID(Space))"),
        ("a_type=1 is not type==1", "a_type=1 is not type==1"),
    ],
)
def test_arguments_of_python_in_other_words(text: str, said: str) -> None:
    assert respelt(text, lambda name, value: f"<{name}|{value}>") == said
