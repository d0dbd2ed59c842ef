"""A file system of fsspec, `flaky://`, whose files lie in memory and whose network fails as a test says."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import fsspec
from fsspec.spec import AbstractFileSystem


class Flaky(AbstractFileSystem):  # type: ignore[misc]  # fsspec has no types
    """All instances share the files, as clients of one server do.

    files : by path. opened : the paths that were opened, in their order. sought : from where on they were read, where
    that is not the begin. options : that instances were given.
    broken : of the next opened files, after how many bytes they fail; None: never.
    hook : called before each read of a file.
    """

    protocol = "flaky"
    cachable = False
    files: ClassVar[dict[str, bytes]] = {}
    opened: ClassVar[list[str]] = []
    sought: ClassVar[list[int]] = []
    options: ClassVar[list[dict[str, Any]]] = []
    broken: ClassVar[list[int | None]] = []
    hook: ClassVar[Any] = staticmethod(lambda: None)

    def __init__(self, **options: Any) -> None:
        super().__init__()
        Flaky.options.append(options)

    @classmethod
    def begin(cls) -> None:
        """An empty server that does not fail."""
        cls.files, cls.opened, cls.sought, cls.options, cls.broken = {}, [], [], [], []
        cls.hook = staticmethod(lambda: None)
        fsspec.register_implementation("flaky", cls, clobber=True)

    @classmethod
    def upload(cls, store: Path, folder: str = "store") -> str:
        """Copy a store there; its URL."""
        for path in store.iterdir():
            cls.files[f"{folder}/{path.name}"] = path.read_bytes()
        return f"flaky://{folder}"

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        path = self._strip_protocol(path)
        if path not in self.files:
            raise FileNotFoundError(path)
        return {"name": path, "size": len(self.files[path]), "type": "file"}

    def _open(self, path: str, mode: str = "rb", **_: Any) -> io.BytesIO:
        self.info(path)
        self.opened.append(path)
        broken = self.broken.pop(0) if self.broken and "/seg-" in path else None
        return _File(self.files[path], broken, self.hook)


class _File(io.BytesIO):
    def __init__(self, content: bytes, broken: int | None, hook: Callable[[], None]) -> None:
        super().__init__(content)
        self._broken, self._hook = broken, hook

    def seek(self, at: int, whence: int = 0, /) -> int:
        Flaky.sought.append(at)
        return super().seek(at, whence)

    def read(self, size: int | None = -1, /) -> bytes:
        self._hook()
        if self._broken is None:
            return super().read(size)
        if self.tell() >= self._broken:
            raise ConnectionResetError("connection reset by peer")
        return super().read(
            min(self._broken - self.tell(), 1 << 30 if size in (None, -1) else size)
        )


class Gate:
    """A hook that holds reads back until it is opened; `reached` is set when one waits."""

    def __init__(self) -> None:
        self.reached, self.open = threading.Event(), threading.Event()

    def __call__(self) -> None:
        self.reached.set()
        self.open.wait(60.0)
