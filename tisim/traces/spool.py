"""Unpacks compressed files into unnamed temporary files.

They never leave anything behind: an unnamed file disappears when the last process that has it
open ends.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import time
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Self, cast

from tisim.errors import InputError
from tisim.support.limits import unpacking_limit
from tisim.support.quantities import format_bytes
from tisim.traces.progress import Progress

_CHUNK = 1 << 20
_SECONDS_BETWEEN_REPORTS = 0.1

# Magic number of a compressed file -> name of the format.
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_MAGICS = tuple(_MAGIC)
#: Number of leading bytes that identify a file, including tar archives.
HEAD = 512


def compression(head: bytes) -> str | None:
    """Return the compression of a file that begins with `head`; None if it is not compressed."""
    if not head.startswith(_MAGICS):
        return None
    return next(name for magic, name in _MAGIC.items() if head.startswith(magic))


def without_suffix(name: str, kind: str | None) -> str:
    """Return a file name without the suffix of its compression."""
    suffix = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst"}.get(kind or "", "")
    return name.removesuffix(suffix) or name


def unpacked(stream: IO[bytes], kind: str | None) -> IO[bytes]:
    """Return a stream of the unpacked contents of `stream`."""
    if kind is None:
        return stream
    if kind == "gzip":
        import gzip

        return cast("IO[bytes]", gzip.open(stream))
    if kind == "bzip2":
        import bz2

        return bz2.open(stream)
    if kind == "xz":
        import lzma

        return lzma.open(stream)
    return _unpacked_zstd(stream)


def _unpacked_zstd(stream: IO[bytes]) -> IO[bytes]:
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        raise InputError(
            'is compressed with zstd, which needs another package: pip install "tisim[zstd]", or '
            "unpack it first",
            file=stream.name,
        ) from None
    opened: IO[bytes] = zstandard.open(stream, "rb")
    return opened


def _xz_error() -> type[Exception]:
    import lzma

    return lzma.LZMAError


@contextlib.contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn errors while unpacking `name` into an :class:`InputError`."""
    try:
        yield
    except InputError:
        raise
    except (EOFError, zlib.error, _xz_error()) as error:
        raise InputError(
            f"is damaged or incomplete ({error}); download it again", file=name
        ) from None
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot be read: {reason}", file=name) from None
    except Exception as error:
        # zstandard's own error, which can be named only if that package is installed.
        if type(error).__module__.partition(".")[0] != "zstandard":
            raise
        raise InputError(
            f"is damaged or incomplete ({error}); download it again", file=name
        ) from None


class Spool:
    """A temporary file to which unpacked files are appended; created on first use."""

    def __init__(self, progress: Progress | None = None) -> None:
        self._file: IO[bytes] | None = None
        self._size = 0
        self._limit = unpacking_limit()
        self._progress = progress
        self._next_report = time.monotonic() + _SECONDS_BETWEEN_REPORTS
        self._progress_range = (0.0, 1.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    @property
    def number(self) -> int:
        """The file's descriptor."""
        return self._opened().fileno()

    def set_progress_range(self, start: float, stop: float) -> None:
        """Map 0 to 1 to `start` to `stop` of all work from here on, and report 0."""
        self._progress_range = (start, stop)
        self.report(0.0)

    def report(self, fraction: float) -> None:
        """Report the progress of the work."""
        if self._progress is not None and time.monotonic() >= self._next_report:
            start, stop = self._progress_range
            self._progress(start + (stop - start) * fraction)
            self._next_report = time.monotonic() + _SECONDS_BETWEEN_REPORTS

    def append(
        self, stream: IO[bytes], fraction_read: Callable[[], float] | None = None
    ) -> tuple[int, int]:
        """Copy the rest of `stream`; return its offset and its number of bytes."""
        offset = self._size
        file = self._opened()
        while chunk := stream.read(_CHUNK):
            if fraction_read is not None:
                self.report(fraction_read())
            if self._size + len(chunk) > self._limit:
                raise InputError(
                    f"the trace unpacks to more than {format_bytes(self._limit)}, the limit; raise "
                    "it with 'tisim --unpack-limit SIZE ...'"
                )
            rest = memoryview(chunk)
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError as error:
                import tempfile

                raise InputError(
                    f"no room to unpack the trace in {tempfile.gettempdir()} ({error.strerror}); "
                    "set TMPDIR to a directory with more room"
                ) from None
            self._size += len(chunk)
        return offset, self._size - offset

    def head(self, offset: int, length: int) -> bytes:
        """Return the first bytes of the data appended at `offset`."""
        return os.pread(self.number, min(length, HEAD), offset)

    def _opened(self) -> IO[bytes]:
        if self._file is None:
            import tempfile

            # Unbuffered: it is also read through its descriptor.
            self._file = tempfile.TemporaryFile(prefix="tisim-", buffering=0)  # noqa: SIM115
        return self._file
