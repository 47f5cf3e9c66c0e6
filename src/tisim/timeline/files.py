"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tisim.errors import InputError


class NewFile:
    """A file that is written under another name, and gets its own when it is complete.

    Parameters
    ----------
    path
        Its name in the end. What was there before stays until `commit`.

    Raises
    ------
    InputError
        When no file can be made there.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        if self.path.is_dir():
            raise InputError("cannot be written: it is a directory", file=self.path)
        try:
            descriptor, name = tempfile.mkstemp(
                dir=self.path.parent, prefix=f".{self.path.name}.", suffix=".part"
            )
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=self.path) from None
        self._temporary = Path(name)
        self._file: IO[bytes] = os.fdopen(descriptor, "wb")

    def write(self, data: bytes | memoryview | str) -> None:
        """Append bytes, or text as UTF-8."""
        with self.writing():
            self._file.write(data.encode() if isinstance(data, str) else data)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Says which file it is when the system refuses something."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"cannot be written: {reason}", file=self.path) from None

    @property
    def stream(self) -> IO[bytes]:
        """The open file, for those who write by themselves."""
        return self._file

    def reader(self) -> IO[bytes]:
        """What has been written so far, from the beginning; it stays when writing begins anew."""
        with self.writing():
            self._file.flush()
            return self._temporary.open("rb")

    def restart(self) -> None:
        """Write a new file in the place of this one."""
        with self.writing():
            self._file.close()
            self._temporary.unlink()
            self._file = self._temporary.open("xb")

    def overwrite(self, offset: int, data: bytes) -> None:
        """Replace bytes that have been written, such as a length that was not known yet."""
        with self.writing():
            end = self._file.tell()
            self._file.seek(offset)
            self._file.write(data)
            self._file.seek(end)

    def complete(self) -> None:
        """Nothing more will be written; raises what went wrong while there is time to go back."""
        with self.writing():
            self._file.close()

    def commit(self) -> None:
        """Give the file, which is complete, its name."""
        umask = os.umask(0)
        os.umask(umask)
        with self.writing():
            self._temporary.chmod(0o666 & ~umask)
            self._temporary.replace(self.path)

    def discard(self) -> None:
        """Leave nothing behind."""
        with contextlib.suppress(OSError):  # what could not be written is not wanted any more
            self._file.close()
        self._temporary.unlink(missing_ok=True)
