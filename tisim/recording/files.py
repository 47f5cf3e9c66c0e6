"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
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
        try:
            descriptor, name = tempfile.mkstemp(
                dir=self.path.parent, prefix=f".{self.path.name}.", suffix=".part"
            )
        except OSError as error:
            raise InputError(f"cannot be written: {error.strerror}", file=self.path) from None
        self._temporary = Path(name)
        self._file: IO[bytes] = os.fdopen(descriptor, "wb")

    def write(self, data: bytes | str) -> None:
        """Append bytes, or text as UTF-8."""
        try:
            self._file.write(data.encode() if isinstance(data, str) else data)
        except OSError as error:
            raise self._failed(error) from None

    @property
    def stream(self) -> IO[bytes]:
        """The open file, for those who write by themselves."""
        return self._file

    def reader(self) -> IO[bytes]:
        """What has been written so far, from the beginning."""
        self._file.flush()
        return self._temporary.open("rb")

    def restart(self) -> None:
        """Forget what has been written."""
        self._file.seek(0)
        self._file.truncate()

    def overwrite(self, offset: int, data: bytes) -> None:
        """Replace bytes that have been written, such as a length that was not known yet."""
        end = self._file.tell()
        self._file.seek(offset)
        self._file.write(data)
        self._file.seek(end)

    def commit(self) -> None:
        """Give the file its name."""
        try:
            self._file.close()
            umask = os.umask(0)
            os.umask(umask)
            self._temporary.chmod(0o666 & ~umask)
            self._temporary.replace(self.path)
        except OSError as error:
            self.discard()
            raise self._failed(error) from None

    def discard(self) -> None:
        """Leave nothing behind."""
        self._file.close()
        self._temporary.unlink(missing_ok=True)

    def _failed(self, error: OSError) -> InputError:
        return InputError(f"cannot be written: {error.strerror}", file=self.path)
