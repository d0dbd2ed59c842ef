"""The options of the shell, one table: flags, dot-commands and the start-up file set them in the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gdb.errors import NameProblem
from gdb.records import dataclass

from .format import Format

if TYPE_CHECKING:
    from .session import Session


@dataclass(frozen=True, slots=True)
class Setting:
    """An option of the shell.

    attribute : of the session, which holds its value.
    read : the value of a text; ValueError where it is none.
    values : the texts it takes, where they are a fixed set; shown otherwise as `usage`.
    """

    name: str
    attribute: str
    help: str
    read: Callable[[str], object]
    usage: str
    values: tuple[str, ...] = ()

    def set(self, session: Session, text: str) -> None:
        """Take a value as it was written.

        Raises
        ------
        NameProblem : it is none that the option has.
        """
        try:
            setattr(session, self.attribute, self.read(text))
        except (ValueError, KeyError):
            cure = f"Write one of: {self.usage.replace('|', ', ')}."
            raise NameProblem(f".{self.name} does not take {text!r}.", cure) from None

    def shown(self, session: Session) -> str:
        """The option with its value."""
        value = getattr(session, self.attribute)
        word = {True: "on", False: "off"}.get(value) if isinstance(value, bool) else None
        return f"{self.name} {word or (self.usage.partition('|')[2] if value is None else value)}"


def _switch(name: str, help: str) -> Setting:
    at = name.replace("-", "_")
    return Setting(name, at, help, {"on": True, "off": False}.__getitem__, "on|off", ("on", "off"))


def _number(name: str, help: str, without: str) -> Setting:
    def read(text: str) -> int | None:
        if text == without:
            return None
        number = int(text.replace("_", "").replace(",", ""))
        if number < 1:
            raise ValueError(text)
        return number

    return Setting(name, name, help, read, f"NUMBER|{without}")


SETTINGS = {
    held.name: held
    for held in (
        Setting(
            *("mode", "format", "Choose how answers look.", Format),
            *("|".join(Format), tuple(map(str, Format))),
        ),
        _number("rows", "Show at most so many rows of an answer at a terminal.", "all"),
        _number("width", "Cut tables to so many places instead of the terminal's.", "auto"),
        _switch("pager", "Show whole answers in $PAGER, where the output is a terminal."),
        _switch("timer", "Show how long each query took."),
        _switch("quiet", "Print answers and errors only, not what a query changed."),
        _switch("echo", "Print each statement before it is run."),
        _switch("guard-formulas", "Put an apostrophe before formulas in CSV."),
    )
}
