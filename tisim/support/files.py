"""Atomic writing of files, and direct writing to pipes and devices.

A regular file is written under a temporary name next to its target and renamed when it is complete,
so that a partial file is never visible and an existing file stays until then. In detail:

- Symbolic links are followed: their target is replaced, the links stay.
- A pipe, a terminal, a device and a descriptor of the process itself (``/dev/stdout``) are written
  directly: they must not be replaced.
- A replaced file keeps its permissions; a new one gets 0666 masked by the process's umask, which is
  never changed, since other threads may create files at the same time.
- After an error or Ctrl-C, no temporary file is left behind.
- Nothing is synchronised with the disk unless `durable` is set: a simulation can be repeated after
  a power failure, and waiting for the disk would slow down every small replay.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from io import BufferedReader
from pathlib import Path
from typing import IO, Self

from tisim.errors import InputError

_Path = str | os.PathLike[str]

# Paths of open descriptors, which refer to the file of the descriptor.
_DESCRIPTOR = re.compile(r"/dev/fd/(\d+)|/proc/(?:self|thread-self)/fd/(\d+)")
# Bytes. A name has at most 255: part of the target's name, random digits and a suffix.
_LONGEST_STEM = 100
_COPIED_AT_ONCE = 1 << 20


class OutputFile:
    """A file that is written atomically.

    As a context manager it is committed at the end, or discarded after an exception. An existing
    file stays until `commit`. `random_access` is required for `overwrite`, `reader` and `restart`:
    the output to a pipe is then collected in a temporary file. Raises `InputError` if the file
    cannot be created.
    """

    def __init__(self, path: _Path, *, random_access: bool = False) -> None:
        self.path = Path(path)
        self._temporary: Path | None = None
        self._target: Path | None = None
        self._direct: int | None = None
        with self.writing():
            if _is_replaceable(path):
                self._target = _resolved(path)
                self._temporary = _temporary_name(self._target)
                self._file: IO[bytes] = _create(self._temporary, self._target)
            else:
                descriptor = _open_directly(path)
                if random_access:
                    import tempfile

                    self._direct = descriptor
                    handle, name = tempfile.mkstemp()
                    self._temporary = Path(name)
                    self._file = os.fdopen(handle, "w+b")
                else:
                    self._file = os.fdopen(descriptor, "wb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is not None:
            self.discard()
            return
        try:
            self.complete()
            self.commit()
        except BaseException:
            self.discard()
            raise

    def write(self, data: bytes | memoryview | str) -> None:
        """Append bytes, or text as UTF-8, with ``?`` for undecodable bytes of file names."""
        with self.writing():
            self._file.write(data.encode(errors="replace") if isinstance(data, str) else data)

    def writing(self) -> contextlib.AbstractContextManager[None]:
        """Return a context that turns system errors into an `InputError` that names the file."""
        return _named_errors(self.path)

    @property
    def stream(self) -> IO[bytes]:
        """The open file, for libraries that write to one."""
        return self._file

    def reader(self) -> BufferedReader:
        """Open the data written so far for reading; the reader survives a `restart`."""
        assert self._temporary is not None
        with self.writing():
            self._file.flush()
            return self._temporary.open("rb")

    def restart(self) -> None:
        """Start again with an empty file."""
        assert self._temporary is not None
        with self.writing():
            mode = stat.S_IMODE(os.fstat(self._file.fileno()).st_mode)
            self._file.close()
            self._temporary.unlink()
            self._file = self._temporary.open("x+b")
            os.fchmod(self._file.fileno(), mode)

    def overwrite(self, offset: int, data: bytes) -> None:
        """Replace bytes already written, such as a length that becomes known later."""
        with self.writing():
            end = self._file.tell()
            self._file.seek(offset)
            self._file.write(data)
            self._file.seek(end)

    def complete(self) -> None:
        """Flush and close the file; after an error, `discard` can still undo it."""
        with self.writing():
            self._file.flush()
            if self._direct is not None:
                self._file.seek(0)
                with os.fdopen(self._direct, "wb", closefd=False) as target:
                    _copy(self._file, target)
            self._file.close()

    def commit(self) -> None:
        """Rename the completed file to its target."""
        with self.writing():
            if self._temporary is not None and self._target is not None:
                self._temporary.replace(self._target)
            else:
                self._release()

    def discard(self) -> None:
        """Remove the file; data already written to a pipe cannot be withdrawn."""
        with contextlib.suppress(OSError):  # errors of discarded data do not matter
            self._file.close()
        self._release()

    def _release(self) -> None:
        if self._direct is not None:
            os.close(self._direct)
            self._direct = None
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)


def write_file(path: _Path, content: bytes | str | Iterable[str]) -> None:
    """Write a file atomically.

    Text is written as UTF-8 and may be given in pieces. Raises `InputError` if the file cannot be
    written; an existing file is then unchanged.
    """
    pieces = (content,) if isinstance(content, (bytes, str)) else content
    with OutputFile(path) as file:
        for piece in pieces:
            file.write(piece)


@contextlib.contextmanager
def replacing(path: _Path, *, durable: bool = False) -> Iterator[Path]:
    """Yield the name of a temporary file that becomes `path` if the block ends without an error.

    For libraries that write to a file by its name; the name has the suffix of `path`. The temporary
    file exists and is empty. `durable` waits for the disk. Raises `InputError` if `path` cannot be
    written; an existing file is then unchanged.
    """
    temporary = None
    try:
        with _named_errors(path):
            if _is_replaceable(path):
                target = _resolved(path)
                temporary = _temporary_name(target, Path(path).suffix)
                _create(temporary, target).close()
            else:
                import tempfile

                descriptor, name = tempfile.mkstemp(suffix=Path(path).suffix)
                os.close(descriptor)
                temporary, target = Path(name), None
        with _named_errors(path, temporary):
            yield temporary
        with _named_errors(path):
            if target is None:
                with temporary.open("rb") as made, os.fdopen(_open_directly(path), "wb") as pipe:
                    _copy(made, pipe)
                return
            if durable:
                with temporary.open("rb") as made:
                    os.fsync(made.fileno())
            temporary.replace(target)
            if durable:
                _sync_directory(target.parent)
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def new_directory(path: _Path) -> Iterator[Path]:
    """Yield a temporary directory that becomes `path` if the block ends without an error.

    Parent directories are created. Raises `InputError` if `path` exists and is not an empty
    directory, or cannot be created.
    """
    target = Path(path)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise InputError("already exists and is not empty; choose a new directory", file=path)
    temporary = _temporary_name(target)
    try:
        with _named_errors(path, temporary):
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary.mkdir()
            yield temporary
            temporary.replace(target)
    except BaseException:
        import shutil

        shutil.rmtree(temporary, ignore_errors=True)
        raise


@contextlib.contextmanager
def locked(path: _Path) -> Iterator[None]:
    """Hold an advisory lock on writing a file until the block ends.

    The lock is on a hidden file next to it, since the file itself is replaced; the system releases
    it however the process ends. Raises `InputError` if another process holds it.
    """
    import fcntl

    target = _resolved(path)
    name = target.with_name(f".{target.name}.lock")
    with contextlib.ExitStack() as stack:
        with _named_errors(path):
            while True:
                descriptor = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
                stack.callback(os.close, descriptor)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise InputError(
                        "another process is writing it; wait until it ends, or choose another file",
                        file=path,
                    ) from None
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), name.stat()):
                        break  # not a file that its owner has just removed
        stack.callback(name.unlink, missing_ok=True)
        yield


def check_writable(path: _Path) -> None:
    """Check that a file can be written, before starting the work that produces its content."""
    with _named_errors(path):
        if _is_replaceable(path):
            temporary = _temporary_name(_resolved(path))
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            temporary.unlink()


def check_overwrite(path: _Path, mark: str) -> None:
    """Reject the replacement of a file without `mark` in its first 4 KiB: not tisim's own."""
    file = Path(path)
    if not file.is_file():
        return
    with _named_errors(path), file.open("rb") as content:
        if mark.encode() in content.read(4096):
            return
    raise InputError(
        "already exists and was not written by this command; --force overwrites it", file=path
    )


@contextlib.contextmanager
def _named_errors(path: _Path, temporary: Path | None = None) -> Iterator[None]:
    """Turn a system error, or an error about the temporary file, into one about `path`."""
    try:
        yield
    except InputError as error:
        if temporary is None or error.file is None or not error.file.startswith(str(temporary)):
            raise
        raise InputError(error.message, file=path) from None
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from None


def _is_replaceable(path: _Path) -> bool:
    """True if a path refers to a regular file or to nothing, so that a new file can take its name.

    Raises `InputError` if it refers to a directory, `OSError` if it refers to a file that is not
    writable.
    """
    if _own_descriptor(path) is not None:
        return False
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        return True
    if stat.S_ISDIR(mode):
        raise InputError("is a directory; give the name of a file to write", file=path)
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return stat.S_ISREG(mode)


def _own_descriptor(path: _Path) -> int | None:
    """Return the open descriptor that a path such as ``/dev/stdout`` refers to."""
    name = str(Path(path).absolute())
    for _ in range(40):  # as many links as Linux follows
        if found := _DESCRIPTOR.fullmatch(name):
            return int(found[1] or found[2])
        try:
            link = Path(name).readlink()
        except OSError:
            return None
        name = os.path.normpath(Path(name).parent / link)
    return None


def _open_directly(path: _Path) -> int:
    """Open a pipe, a device, or the target of a descriptor of the process for writing."""
    own = _own_descriptor(path)
    if own is None:
        return os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # keeps the order of the output
    return os.dup(own)


def _resolved(path: _Path) -> Path:
    """Resolve symbolic links."""
    return Path(os.path.realpath(path))


def _temporary_name(target: Path, suffix: str = ".part") -> Path:
    """Return a unique file name in the directory of the target."""
    stem = os.fsdecode(os.fsencode(target.stem)[:_LONGEST_STEM])
    return target.with_name(f".{stem}-{os.urandom(6).hex()}{suffix}")


def _create(temporary: Path, target: Path) -> IO[bytes]:
    """Create the temporary file with the permissions of the existing or future target."""
    try:
        mode = stat.S_IMODE(target.stat().st_mode)
        known = True
    except FileNotFoundError:
        mode, known = 0o666, False
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, mode)
    if known:
        os.fchmod(descriptor, mode)
    return os.fdopen(descriptor, "w+b")


def _copy(source: IO[bytes], target: IO[bytes]) -> None:
    while chunk := source.read(_COPIED_AT_ONCE):
        target.write(chunk)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
