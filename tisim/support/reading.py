"""Reading of files given by the user: rejects endless devices and files that fill the memory."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path

from tisim.errors import InputError

_Path = str | os.PathLike[str]

#: Maximum bytes of a file that is read as a whole; files read piece by piece may be longer.
MAX_FILE_BYTES = 1 << 30
_READ_AT_ONCE = 1 << 20
# A TOML key with 500 parts or more; possessive quantifiers examine each character once.
_LONG_KEY = re.compile(r"(?<![\w.-])(?:[\w-]++[ \t]*+\.[ \t]*+){500}")


def open_input(path: _Path) -> BufferedReader:
    """Open a file, a pipe or a terminal for reading.

    Raises `InputError` for devices without an end (``/dev/zero``), `OSError` if it cannot be
    opened.
    """
    file = Path(path).open("rb")  # noqa: SIM115 - the caller closes it
    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not _ends(file, path)):
        file.close()
        raise InputError("is an endless device; give a file or a pipe", file=path)
    return file


def _ends(file: BufferedReader, path: _Path) -> bool:
    return file.isatty() or os.path.realpath(path) == os.devnull


def head_of(path: _Path) -> bytes:
    """The first bytes of a regular file; of anything else, which reading may change, none."""
    try:
        if not Path(path).is_file():
            return b""
        with Path(path).open("rb") as file:
            return file.read(1 << 12)
    except (OSError, ValueError):
        return b""


# A GOAL schedule begins with blanks, comments and num_ranks, or with the number 4223 in 8 bytes.
_GOAL = re.compile(rb"(?:\s|//[^\n]*\n|/\*.*?\*/)*num_ranks\s+\d", re.DOTALL)
_GRAPH = re.compile(rb"(?:\s|#[^\n]*\n)*graph[ \t]+1\s")
#: First bytes of a packed file.
PACKED_MAGIC = b"\x89TIT\r\n\x1a\n"
# A packed file whose only section is a graph, after version, checksum and length of the table.
_PACKED_GRAPH = re.compile(re.escape(PACKED_MAGIC) + rb".{9}\x05graph", re.DOTALL)


def is_goal(head: bytes) -> bool:
    """True if a file that begins with `head` is a GOAL schedule, text or binary."""
    return head.startswith((4223).to_bytes(8, "little")) or _GOAL.match(head) is not None


def graph_kind(path: _Path) -> str:
    """Return the kind of graph of a file by its head: ``"goal"``, ``"graph"`` (GPUs), or empty."""
    head = head_of(path)
    if is_goal(head):
        return "goal"
    return "graph" if _GRAPH.match(head) or _PACKED_GRAPH.match(head) else ""


def is_trace(path: _Path) -> bool:
    """True for a packed trace and for a graph of GPUs, packed or not."""
    return head_of(path).startswith(PACKED_MAGIC) or graph_kind(path) == "graph"


def read_input(path: _Path, what: str = "this file", *, any_length: bool = False) -> bytes:
    """Return the content of a file; `what`: its description, for the message of the `InputError`.

    `any_length`: a regular file may be longer than `MAX_FILE_BYTES`; a pipe may not.
    """
    longest = MAX_FILE_BYTES
    try:
        with open_input(path) as file:
            if any_length:
                longest = max(longest, os.fstat(file.fileno()).st_size)
            content = _read_up_to(file, longest + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot read {what}: {reason}", file=path) from None
    if len(content) > longest:
        raise InputError(
            f"cannot read {what}: it is larger than {MAX_FILE_BYTES >> 30} GiB",
            file=path,
        )
    return content


def _read_up_to(file: BufferedReader, limit: int) -> bytes:
    # Python allocates the memory for the requested size, however little there is to read.
    parts = [file.read(min(os.fstat(file.fileno()).st_size + 1, limit))]
    while parts[-1] and (left := limit - sum(map(len, parts))) > 0:
        parts.append(file.read(min(left, _READ_AT_ONCE)))
    return b"".join(filter(None, parts))


def read_text(path: _Path, what: str = "this file") -> str:
    """Return the text of a UTF-8 file; raises `InputError` if it is not UTF-8.

    A leading byte order mark, as written by Windows editors and spreadsheets, is removed.
    """
    try:
        return read_input(path, what).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"cannot read {what}: not text in UTF-8", file=path) from None


def parse_json(text: str, path: _Path | None = None, remedy: str = "") -> object:
    """Parse JSON text; `remedy` ends the message of the `InputError`."""
    import json

    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(
            f"this is not JSON: {error.msg}{remedy}", file=path, line=error.lineno
        ) from None
    except RecursionError:
        raise InputError(f"this JSON is nested too deeply{remedy}", file=path) from None
    except ValueError:  # from Python, for integers of thousands of digits
        raise InputError(f"this JSON has a number that is too long{remedy}", file=path) from None
    return value


@contextlib.contextmanager
def toml_errors(path: _Path, text: str) -> Iterator[None]:
    """Return a context in which `tomllib` parses a text: its errors become an `InputError`.

    Keys of thousands of parts, which take it minutes, are rejected in advance.
    """
    import tomllib

    try:
        if _LONG_KEY.search(text):
            raise RecursionError
        yield
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found[1]) if found else None
        message = str(error).partition(" (at ")[0]
        raise InputError(f"this is not TOML: {message}", file=path, line=line) from None
    except RecursionError:
        raise InputError("this TOML is nested too deeply", file=path) from None
    except ValueError as error:  # from Python, for integers of thousands of digits
        raise InputError(f"this is not TOML: {error}", file=path) from None
