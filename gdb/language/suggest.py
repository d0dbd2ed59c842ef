"""Did you mean ...? The nearest known word to one that is not known."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST = 60  # longer words are no misspelling, and comparing them takes time


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like `word`, letters' case aside; None where none is near.

    Examples
    --------
    >>> closest("RETRUN", ["MATCH", "RETURN"])
    'RETURN'
    >>> closest("Xyz", ["Person"]) is None
    True
    """
    if len(word) > LONGEST:
        return None
    import difflib  # of a wrong word alone

    by_lower = {name.lower(): name for name in known if len(name) <= LONGEST}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str], prefix: str = "", *, quoted: bool = False) -> str:
    """The question "Did you mean X?" with `prefix` before the name, or the name in quotes; "" where none is near.

    Examples
    --------
    >>> did_you_mean("Persn", ["Person", "City"], ":")
    'Did you mean :Person?'
    """
    found = closest(word, known)
    if found is None:
        return ""
    return f"Did you mean {found!r}?" if quoted else f"Did you mean {prefix}{found}?"
