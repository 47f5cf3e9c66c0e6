"""Finds the files of a trace in any form that a user may name."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeVar

from tisim.errors import InputError
from tisim.support.reading import MAX_FILE_BYTES, open_input
from tisim.traces.archive import Archive, is_archive
from tisim.traces.progress import fraction_read_of
from tisim.traces.spool import HEAD, Spool, compression, reading, unpacked, without_suffix

# A trace line begins with a rank and an action; an index line names a file.
_TRACE_LINE = re.compile(rb"\s*\d+\s+\S")
_NUMBER = re.compile(r"(\d+)")
_MOST_SHOWN = 8

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Part:
    """A trace file: a separate file or a part of a temporary one."""

    #: Name as given by the user.
    name: str
    #: Its path; None if it is accessed through `descriptor`.
    path: str | None = None
    #: Number of an open file.
    descriptor: int = -1
    #: Range of the file in bytes; to its end if `length` is None.
    offset: int = 0
    length: int | None = None
    #: Name without the compression suffix.
    unpacked_name: str = ""

    def for_core(self) -> tuple[bytes, bytes | None, int, int, int | None]:
        """The core's argument for a file."""
        path = None if self.path is None else os.fsencode(self.path)
        return os.fsencode(self.name), path, self.descriptor, self.offset, self.length


@dataclass(frozen=True, slots=True)
class Source:
    """The files of one trace."""

    #: Common name, for error messages.
    name: str
    parts: tuple[Part, ...]
    #: Name and text of the file that lists them, if any.
    index: tuple[str, bytes] | None = None


def find_source(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], spool: Spool
) -> Source:
    """Find the files of a trace.

    `source` is a directory (its files, without hidden ones and sub-directories), a file with the
    actions of one rank or of all, a file that lists one trace file per line, a tar archive of any
    of these or ``archive.tar/directory/in/it``, or a sequence of files. All of them may be
    compressed with gzip, bzip2, xz or zstd. Compressed files and those that can be read only once
    go to the spool. Raises InputError when no such file exists, or none that can contain a trace.
    """
    if isinstance(source, str | os.PathLike):
        return _Finder(spool).single(Path(source))
    paths = [Path(path) for path in source]
    if len(paths) == 1:
        return _Finder(spool).single(paths[0])
    if not paths:
        raise InputError("no trace given; give a directory or files")
    return _Finder(spool).several(paths)


class _Finder:
    """Finds the files of one trace and unpacks compressed ones."""

    def __init__(self, spool: Spool) -> None:
        self._spool = spool

    def single(self, path: Path) -> Source:
        """Return the trace that one path refers to."""
        with reading(str(path)):
            if not path.exists():
                return self._in_archive(path)
            if path.is_dir():
                return self._directory(path)
            return self._file(path)

    def several(self, paths: Sequence[Path]) -> Source:
        """Return the trace whose files are `paths`, one per rank."""
        parts = tuple(self._part(path) for path in self._each(paths))
        return Source(f"{parts[0].name} and {len(parts) - 1} more", parts)

    def _each(self, files: Sequence[_T]) -> Iterator[_T]:
        """Yield one file after another and report progress."""
        for number, file in enumerate(files):
            self._spool.set_progress_range(number / len(files), (number + 1) / len(files))
            yield file

    def _directory(self, path: Path) -> Source:
        files: list[str] = []
        directories: list[str] = []
        with os.scandir(path) as entries:
            for entry in entries:
                if not entry.name.startswith("."):
                    (directories if entry.is_dir() else files).append(entry.name)
        if not files:
            raise InputError(_nothing_in(directories), file=path)
        if len(files) == 1:
            return self._file(path / files[0])
        files.sort(key=natural_key)
        within = str(path / "x")[:-1]
        parts = tuple(self._member_of(within + name) for name in self._each(files))
        return Source(str(path), parts)

    def _member_of(self, name: str) -> Part:
        return Part(name, name, unpacked_name=name) if _is_plain(name) else self._part(Path(name))

    def _file(self, path: Path) -> Source:
        if is_archive(_head(path)):
            return self._archive(path, "")
        part = self._part(path)
        return self._listed(part, path) or Source(str(path), (part,))

    def _part(self, path: Path) -> Part:
        """Return one trace file, unpacked if it is compressed."""
        name = str(path)
        with reading(name):
            if path.is_dir():
                raise InputError(
                    "is a directory; give files when there are several traces", file=path
                )
            with open_input(path) as file:
                # A source that cannot be read twice, such as a pipe, is copied to a temporary file.
                regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                kind = compression(file.peek(HEAD))
                if regular and kind is None:
                    return Part(name, name, unpacked_name=name)
                far = fraction_read_of(file) if regular else None
                offset, length = self._spool.append(unpacked(file, kind), far)
        if is_archive(self._spool.head(offset, length)):
            raise InputError(
                "is an archive, which contains a whole trace; give it alone, without other files "
                "and not by its directory",
                file=path,
            )
        return Part(name, None, self._spool.number, offset, length, without_suffix(name, kind))

    # A file that lists files

    def _listed(self, index: Part, path: Path) -> Source | None:
        """Return the trace whose files `index` lists; None if it is itself a trace."""
        text = _index_text(index)
        if text is None:
            return None
        parts: list[Part] = []
        entries = [*_entries(text)]
        for number, entry in self._each(entries):
            found = next((p for p in (path.parent / entry, Path(entry)) if p.exists()), None)
            if found is None:
                if not parts and not _looks_like_path(entry):
                    return None  # not an index; reading it as a trace gives the error
                raise InputError(
                    f"lists the file '{entry}', which is neither in {path.parent} nor in the "
                    "working directory",
                    file=index.name,
                    line=number,
                )
            if not parts:
                _refuse_repeated(entries, index.name)
            parts.append(self._part(found))
        return Source(str(path), tuple(parts), (str(path), text))

    # Archives

    def _archive(self, path: Path, inner: str) -> Source:
        archive = Archive(path, inner, self._spool)
        names = archive.set_of_files()
        called = str(path / inner) if inner else str(path)
        if len(names) > 1:
            return Source(called, tuple(self._member(archive, n) for n in names))
        part = self._member(archive, names[0])
        text = _index_text(part)
        if text is None:
            return Source(called, (part,))
        directory = posixpath.dirname(names[0])
        listed: list[Part] = []
        entries = [*_entries(text)]
        for number, entry in entries:
            name = posixpath.normpath(posixpath.join(directory, entry))
            if name not in archive.members:
                raise InputError(
                    f"lists the file '{entry}', which is not in the archive",
                    file=part.name,
                    line=number,
                )
            if not listed:
                _refuse_repeated(entries, part.name)
            listed.append(self._member(archive, name))
        return Source(called, tuple(listed), (part.name, text))

    def _member(self, archive: Archive, name: str) -> Part:
        offset, length, kind = archive.members[name]
        whole = str(archive.path / name)
        called = without_suffix(whole, kind)
        return Part(whole, None, self._spool.number, offset, length, called)

    def _in_archive(self, path: Path) -> Source:
        """Return the trace at a path that continues inside an archive."""
        outer = Path(str(path).replace("::", "/"))
        inner: list[str] = []
        while not outer.exists() and outer != outer.parent:
            inner.insert(0, outer.name)
            outer = outer.parent
        if outer.is_file() and is_archive(_head(outer)):
            return self._archive(outer, "/".join(inner))
        raise InputError("no such file or directory", file=path)


def _is_plain(name: str) -> bool:
    """Return whether a file is readable as is, with few system calls: there may be a million."""
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):  # noqa: PTH116
            return False
        number = os.open(name, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return compression(os.read(number, HEAD)) is None
        finally:
            os.close(number)
    except OSError:
        return False  # opening it for reading reports the cause


def _head(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked; empty for files that can be read only once."""
    if not stat.S_ISREG(path.stat().st_mode):
        return b""
    with path.open("rb") as file:
        kind = compression(file.peek(HEAD))
        with unpacked(file, kind) as stream:
            return stream.read(HEAD)


def natural_key(name: str) -> str:
    """Return a sort key that puts rank-2 before rank-10; a string, which sorts fast."""
    pieces = _NUMBER.split(name)
    if len(pieces) > 1:
        numbers = [str(int(piece)) for piece in pieces[1::2]]
        # After a zero byte, which no name contains, a longer number is a larger one.
        pieces[1::2] = [f"\0{chr(len(number))}{number}" for number in numbers]
    return "".join(pieces)


def _nothing_in(directories: list[str]) -> str:
    if not directories:
        return "contains no files"
    directories.sort(key=natural_key)
    shown = ", ".join(directories[:_MOST_SHOWN])
    more = ", ..." if len(directories) > _MOST_SHOWN else ""
    return f"contains no files, only directories; choose one of them: {shown}{more}"


def _index_text(part: Part) -> bytes | None:
    """Return the text of a file whose first line could name a file; None if it is a trace."""
    with reading(part.name), _opened(part) as file:
        file.seek(part.offset)
        length = part.length if part.length is not None else os.fstat(file.fileno()).st_size
        head = file.read(min(length, HEAD))
        lines = [line for line in head.splitlines() if _content(line)]
        if not lines or _TRACE_LINE.match(lines[0]) or b"\0" in head or length > MAX_FILE_BYTES:
            return None
        return head + file.read(length - len(head))


def _opened(part: Part) -> IO[bytes]:
    if part.path is not None:
        return open(part.path, "rb")  # noqa: PTH123
    return os.fdopen(os.dup(part.descriptor), "rb")


def _content(line: bytes) -> bytes:
    return line.partition(b"#")[0].strip()


def _entries(text: bytes) -> Iterable[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.strip()
        if entry and not entry.startswith(b"#"):
            yield number, os.fsdecode(entry)


def _refuse_repeated(entries: Sequence[tuple[int, str]], index: str) -> None:
    first: dict[str, int] = {}
    for number, entry in entries:
        if first.setdefault(entry, number) != number:
            raise InputError(
                f"lists the file '{entry}' again, after line {first[entry]}; a file must be listed "
                "only once",
                file=index,
                line=number,
            )


def _looks_like_path(entry: str) -> bool:
    return not re.search(r"\s", entry) and bool(re.search(r"[./]", entry))
