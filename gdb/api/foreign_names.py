"""The names that other libraries use for methods of a Database: an AttributeError suggests ours."""

from __future__ import annotations

_SAME: dict[str, str] = {
    **dict.fromkeys(("run", "query", "sql", "cypher", "executemany", "fetchall"), "execute()"),
    **dict.fromkeys(
        ("begin", "commit", "rollback", "session", "begin_transaction"), "transaction()"
    ),
    **dict.fromkeys(
        ("read_csv", "from_pandas", "from_networkx", "import_csv", "add_edges"), "load()"
    ),
    **dict.fromkeys(("save", "dump", "copy"), "backup(), or export() for other programs"),
    **dict.fromkeys(("tables", "labels", "nodes", "edges", "describe"), "schema()"),
    **dict.fromkeys(("register_function", "create_function"), "register_procedure()"),
    **dict.fromkeys(("cancel", "stop", "kill"), "interrupt()"),
    **dict.fromkeys(("vacuum", "optimize", "checkpoint"), "compact()"),
    **dict.fromkeys(("profile", "explain_analyze"), "execute('PROFILE ...')"),
}


def no_attribute(owner: object, name: str) -> AttributeError:
    """The error that an object has no such attribute, with the method that does the same here.

    Examples
    --------
    >>> str(no_attribute(1, "query"))
    "'int' object has no attribute 'query'. Use execute()."
    """
    same = _SAME.get(name)
    cure = f". Use {same}." if same else ""
    message = f"'{type(owner).__name__}' object has no attribute '{name}'{cure}"
    return AttributeError(message, name=name, obj=owner)
