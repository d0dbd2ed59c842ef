"""`python -m gdb` is `gdbsh`."""

from __future__ import annotations

import sys

from gdb.repl.main import main

if __name__ == "__main__":
    sys.exit(main())
