"""Traces inside tar archives."""

from __future__ import annotations

import os
import posixpath
from pathlib import Path
from typing import IO, TYPE_CHECKING, Protocol, cast

from tisim.errors import InputError
from tisim.support.reading import open_input
from tisim.traces.progress import fraction_read_of
from tisim.traces.spool import HEAD, Spool, compression, reading, unpacked

if TYPE_CHECKING:
    import io
    import tarfile
    from collections.abc import Callable

    class _Members(Protocol):
        """The attribute of `TarFile` that its stub lacks."""

        members: list[tarfile.TarInfo]


_MOST_SHOWN = 8
_MARK = slice(257, 262)


def is_archive(head: bytes) -> bool:
    """Return whether a file that, unpacked, begins with `head` is a tar archive."""
    return head[_MARK] == b"ustar"


class Archive:
    """The unpacked files of a tar archive or of a directory in it. `inner` is the requested
    directory or file; empty for the whole archive. Raises InputError when the archive is damaged.
    """

    def __init__(self, path: Path, inner: str, spool: Spool) -> None:
        self.path = path
        #: Name in the archive -> offset and length of its text in the temporary file, and its
        #: compression format in the archive.
        self.members: dict[str, tuple[int, int, str | None]] = {}
        self._inner = posixpath.normpath(inner) if inner else ""
        self._seen: set[str] = set()
        with reading(str(path)):
            self._unpack(spool)

    def set_of_files(self) -> list[str]:
        """Return the names of the files of the archive's only trace. Raises InputError when the
        archive contains none, or several; these are listed.
        """
        if self._inner in self.members:
            return [self._inner]
        if not self.members:
            what = f"contains nothing named {self._inner}" if self._inner else "contains no files"
            offer = "; it contains " + self._format_names(self._seen) if self._seen else ""
            raise InputError(what + offer, file=self.path)
        directory = self._inner
        while True:
            here = [name for name in self.members if posixpath.dirname(name) == directory]
            if here:
                return here
            below = self._directories_below(directory)
            if len(below) > 1:
                raise InputError(
                    "contains several traces; choose one of them: " + self._format_names(below),
                    file=self.path,
                )
            directory = below.pop()

    def _directories_below(self, directory: str) -> set[str]:
        prefix = directory + "/" if directory else ""
        return {
            prefix + name.removeprefix(prefix).partition("/")[0]
            for name in self.members
            if name.startswith(prefix)
        }

    def _format_names(self, names: set[str]) -> str:
        shown = ", ".join(f"{self.path}/{name}" for name in sorted(names)[:_MOST_SHOWN])
        return shown + (", ..." if len(names) > _MOST_SHOWN else "")

    def _unpack(self, spool: Spool) -> None:
        import tarfile

        with open_input(self.path) as file:
            kind = compression(file.read(HEAD))
            file.seek(0)
            far = fraction_read_of(file)
            try:
                with tarfile.open(fileobj=unpacked(file, kind), mode="r|") as tar:
                    while (member := tar.next()) is not None:
                        cast("_Members", tar).members = []  # bounds memory
                        if member.isfile():
                            self._take(tar, member, spool, far)
            # tarfile passes on conversion errors that its extension headers cause.
            except (tarfile.TarError, ValueError, ArithmeticError, LookupError) as error:
                raise InputError(
                    f"is damaged or incomplete ({error}); download it again", file=self.path
                ) from None

    def _take(
        self,
        tar: tarfile.TarFile,
        member: tarfile.TarInfo,
        spool: Spool,
        fraction_read: Callable[[], float],
    ) -> None:
        name = posixpath.normpath(member.name).lstrip("/")  # as tar unpacks it
        if any(piece.startswith(".") for piece in name.split("/")):
            return
        self._seen.add(name.partition("/")[0])
        if self._inner and name != self._inner and not name.startswith(self._inner + "/"):
            return
        stream = cast("io.BufferedReader", tar.extractfile(member))
        kind = compression(stream.peek(HEAD))
        with reading(f"{self.path}{os.sep}{name}"):
            text = unpacked(cast("IO[bytes]", stream), kind)
            self.members[name] = (*spool.append(text, fraction_read), kind)
