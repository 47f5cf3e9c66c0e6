"""Writing files: whole or not at all, and directly into pipes and devices.

A regular file is written under another name beside its target and renamed when it is complete, so
that nobody ever sees a part of it, and what was there before stays until then. In detail:

- Symbolic links are followed: the file that they lead to is replaced, the links stay.
- A pipe, a terminal, a device and a descriptor of the process itself (``/dev/stdout``) are written
  directly: they must not be replaced.
- A file that is replaced keeps its permissions; a new one gets 0666 less the process's umask,
  which is never changed, since other threads may create files at the same time.
- After an error and after Ctrl-C nothing is left behind.
- Nothing is synchronised with the disk unless `durable` is asked for: a simulation can be repeated
  after a power failure, and waiting for the disk would slow down every small replay.
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

# Names of open descriptors, which lead wherever the descriptor leads.
_DESCRIPTOR = re.compile(r"/dev/fd/(\d+)|/proc/(?:self|thread-self)/fd/(\d+)")
# A name has at most 255 bytes; beside a part of the target's it holds random digits and a suffix.
_LONGEST_STEM = 100
_COPIED_AT_ONCE = 1 << 20


class OutputFile:
    """A file that is being written, and appears whole or not at all.

    As a context manager it is committed in the end, or discarded after an exception. What was there
    before stays until `commit`.
    `random_access` says that `overwrite`, `reader` or `restart` is going to be used: what goes into
    a pipe is then collected in a temporary file. Raises `InputError` if no file can be created
    there.
    """

    def __init__(self, path: _Path, *, random_access: bool = False) -> None:
        self.path = Path(path)
        self._temporary: Path | None = None
        self._target: Path | None = None
        self._direct: int | None = None
        with self.writing():
            if _is_replaceable(path):
                self._target = _final(path)
                self._temporary = _beside(self._target)
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
        """Append bytes, or text as UTF-8, with ``?`` for the bytes of file names in no encoding."""
        with self.writing():
            self._file.write(data.encode(errors="replace") if isinstance(data, str) else data)

    def writing(self) -> contextlib.AbstractContextManager[None]:
        """A context that turns errors of the system into an `InputError` that names the file."""
        return _named_errors(self.path)

    @property
    def stream(self) -> IO[bytes]:
        """The open file, for libraries that write to one."""
        return self._file

    def reader(self) -> BufferedReader:
        """Open what has been written so far for reading; it survives a `restart`."""
        assert self._temporary is not None
        with self.writing():
            self._file.flush()
            return self._temporary.open("rb")

    def restart(self) -> None:
        """Begin again with an empty file."""
        assert self._temporary is not None
        with self.writing():
            mode = stat.S_IMODE(os.fstat(self._file.fileno()).st_mode)
            self._file.close()
            self._temporary.unlink()
            self._file = self._temporary.open("x+b")
            os.fchmod(self._file.fileno(), mode)

    def overwrite(self, offset: int, data: bytes) -> None:
        """Replace bytes that have been written, such as a length that was not known yet."""
        with self.writing():
            end = self._file.tell()
            self._file.seek(offset)
            self._file.write(data)
            self._file.seek(end)

    def complete(self) -> None:
        """Write out everything, while errors can still be undone by `discard`."""
        with self.writing():
            self._file.flush()
            if self._direct is not None:
                self._file.seek(0)
                with os.fdopen(self._direct, "wb", closefd=False) as target:
                    _copy(self._file, target)
            self._file.close()

    def commit(self) -> None:
        """Give the file, which is complete, its name."""
        with self.writing():
            if self._temporary is not None and self._target is not None:
                self._temporary.replace(self._target)
            else:
                self._release()

    def discard(self) -> None:
        """Leave nothing behind; what went into a pipe already cannot be taken back."""
        with contextlib.suppress(OSError):  # an error of what is thrown away does not matter
            self._file.close()
        self._release()

    def _release(self) -> None:
        if self._direct is not None:
            os.close(self._direct)
            self._direct = None
        if self._temporary is not None:
            self._temporary.unlink(missing_ok=True)


def write_file(path: _Path, content: bytes | str | Iterable[str]) -> None:
    """Write a file whole or not at all.

    A text, which is written as UTF-8, may come in pieces. Raises `InputError` if it
    cannot be written; what was there before is then still there.
    """
    pieces = (content,) if isinstance(content, (bytes, str)) else content
    with OutputFile(path) as file:
        for piece in pieces:
            file.write(piece)


@contextlib.contextmanager
def replacing(path: _Path, *, durable: bool = False) -> Iterator[Path]:
    """A temporary name to write to, whose file becomes `path` when the block ends without an error.

    For libraries that write to a file by its name; the name has the suffix of `path`. The file
    exists already, and is empty. `durable` waits for the disk. Raises `InputError` if it cannot be
    written; what was there before is then still there.
    """
    temporary = None
    try:
        with _named_errors(path):
            if _is_replaceable(path):
                target = _final(path)
                temporary = _beside(target, Path(path).suffix)
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
    """A temporary directory that becomes `path` when the block ends without an error.

    It must not exist, or be empty. Those above it are created. Raises `InputError` if it exists and
    is not empty, or cannot be created.
    """
    target = Path(path)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise InputError("is there already and not empty; name a new directory", file=path)
    temporary = _beside(target)
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
    """Keep other processes that ask for it from writing a file, until the block ends.

    The lock is a hidden file beside it, since the file itself is replaced; the system releases it
    however the process ends. Raises `InputError` if another process has it.
    """
    import fcntl

    target = _final(path)
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
                        "another process is writing it; wait for its end, or name another file",
                        file=path,
                    ) from None
                with contextlib.suppress(FileNotFoundError):
                    if os.path.samestat(os.fstat(descriptor), name.stat()):
                        break  # and not one that its owner has just removed
        stack.callback(name.unlink, missing_ok=True)
        yield


def check_writable(path: _Path) -> None:
    """Check that a file can be written, before the work is done whose result it shall hold."""
    with _named_errors(path):
        if _is_replaceable(path):
            temporary = _beside(_final(path))
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            temporary.unlink()


def check_own(path: _Path, mark: str) -> None:
    """Refuse to replace a file that does not have `mark` in its first lines: another wrote it."""
    file = Path(path)
    if not file.is_file():
        return
    with _named_errors(path), file.open("rb") as content:
        if mark.encode() in content.read(4096):
            return
    raise InputError("is there and was not written by this command; --force replaces it", file=path)


@contextlib.contextmanager
def _named_errors(path: _Path, temporary: Path | None = None) -> Iterator[None]:
    """Turn an error of the system, or one about the temporary file, into one about `path`."""
    try:
        yield
    except InputError as error:
        if temporary is None or error.file is None or not error.file.startswith(str(temporary)):
            raise
        raise InputError(error.message, file=path) from None
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from None


def _is_replaceable(path: _Path) -> bool:
    """True if a path leads to a regular file or to nothing, so that a new file can take its name.

    Raises `InputError` if it leads to a directory, `OSError` if it leads to a file that must not be
    written.
    """
    if _own_descriptor(path) is not None:
        return False
    try:
        mode = Path(path).stat().st_mode
    except FileNotFoundError:
        return True
    if stat.S_ISDIR(mode):
        raise InputError("is a directory; name a file to write", file=path)
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return stat.S_ISREG(mode)


def _own_descriptor(path: _Path) -> int | None:
    """The open descriptor that a path such as ``/dev/stdout`` stands for."""
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
    """A descriptor to write to a pipe, a device, or where a descriptor of the process leads."""
    own = _own_descriptor(path)
    if own is None:
        return os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # what was printed before comes before
    return os.dup(own)


def _final(path: _Path) -> Path:
    """The file that symbolic links lead to."""
    return Path(os.path.realpath(path))


def _beside(target: Path, suffix: str = ".part") -> Path:
    """A name that no other file has, in the directory of the target."""
    stem = os.fsdecode(os.fsencode(target.stem)[:_LONGEST_STEM])
    return target.with_name(f".{stem}-{os.urandom(6).hex()}{suffix}")


def _create(temporary: Path, target: Path) -> IO[bytes]:
    """Create the temporary file with the permissions that the target has, or is to have."""
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
