"""The index of a data frame of pandas, which is a column of the tables of Arrow and Parquet that pandas makes.

An index that has a name is a column like any other. Of one without a name the column has a name that pandas made up,
and no user means it: it is left out. The metadata of a table, under the key `pandas`, says which columns these are.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nanoarrow.c_schema import CSchema

LEFT_OUT = ":IGNORE"
"""The header of a column that is left out, see `gdb.storage.importer.header`."""
MADE_UP = "__index_level_"
"""How the made-up names begin."""
_KEY = b"pandas"


def column_names(schema: CSchema) -> list[str]:
    """The headers of a table's columns: their names, or `LEFT_OUT`."""
    metadata = schema.metadata or {}
    names = [str(field.name) for field in schema.children]
    return headers(names, metadata[_KEY]) if _KEY in metadata else names


def headers(names: Sequence[str], metadata: bytes) -> list[str]:
    """The same from the names and the metadata of pandas, JSON."""
    try:
        said = json.loads(metadata)
        index = {name for name in said["index_columns"] if isinstance(name, str)}
        made_up = {each["field_name"] for each in said["columns"] if each["name"] is None} & index
    except (ValueError, KeyError, TypeError):  # it is for other readers; without it all are columns
        return list(names)
    return [LEFT_OUT if name in made_up else name for name in names]
