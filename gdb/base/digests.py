"""BLAKE2b, comparison in constant time and random names, without OpenSSL: `hashlib`, `hmac` and `secrets` load it, for
algorithms that are not used here, and a process waits some milliseconds for it before its first answer."""

from __future__ import annotations

import os
from _blake2 import blake2b
from _operator import _compare_digest as compare_digest

__all__ = ["blake2b", "compare_digest", "token_hex"]


def token_hex(count: int) -> str:
    """As `secrets.token_hex`: a text of `count` random bytes, two hexadecimal digits each."""
    return os.urandom(count).hex()
