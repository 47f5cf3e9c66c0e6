"""Packed traces (``.tit``), smaller and faster to read than text, and their unpacking."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Sequence
from pathlib import Path

from tisim import _core
from tisim.errors import InputError
from tisim.support.files import new_directory, replacing
from tisim.support.reading import PACKED_MAGIC, head_of
from tisim.traces.dialects import dialect_number
from tisim.traces.progress import Progress, sub_progress
from tisim.traces.sources import Part, Source, find_source
from tisim.traces.spool import Spool
from tisim.traces.trace import Trace

# Progress bar: finding and unpacking files is the first half of the work, packing the second.
_FOUND = 0.5
#: The levels of precision at which volumes of computations can be kept.
PRECISIONS = ("exact", "1e-3", "1e-2", "5e-2", "mean")


def pack(
    source: Trace | str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    dialect: str = "auto",
    volumes: str = "exact",
    progress: Progress | None = None,
) -> int:
    """Write a trace as one packed file.

    Every byte of the text is kept, including comments, spacing and the spelling of numbers.

    Parameters
    ----------
    source
        A trace in any form that `Trace.open` takes. A packed trace is copied or reduced to less
        exact volumes; sections unknown to this version of tisim are kept.
    output
        The file to write, usually ``something.tit``. It appears once it is complete.
    dialect
        The dialect recorded in the packed file, see `Trace.open`.
    volumes
        Precision of the volumes of computations: ``"exact"``, a relative error of ``"1e-3"``,
        ``"1e-2"`` or ``"5e-2"`` each, or the ``"mean"`` of all volumes between two calls. The sum
        of the volumes between two calls is preserved to a relative error of 1e-9. Everything else
        is kept exactly.
    progress
        Called regularly with the completed fraction, from 0 to 1.

    Returns
    -------
    int
        The bytes of the text, or of the packed file given as `source`.

    Raises
    ------
    InputError
        When a file cannot be read or written, when the ranks are not 0, 1, 2 and so on, when
        there is no such precision, or when a packed trace cannot be converted as requested.
    """
    if volumes not in PRECISIONS:
        raise InputError(
            f"unknown precision of volumes {volumes!r}; choose {', '.join(PRECISIONS)}"
        )
    number = dialect_number(dialect)
    if isinstance(source, Trace):
        if dialect == "auto":
            number = dialect_number(source.dialect)
        source = source.source
    with Spool(sub_progress(progress, 0.0, _FOUND)) as spool:
        found = find_source(source, spool)
        return pack_found(found, output, number, volumes, sub_progress(progress, _FOUND, 1.0))


def pack_found(
    found: Source,
    output: str | os.PathLike[str],
    dialect: _core.Dialect,
    volumes: str,
    progress: Progress | None,
) -> int:
    """Write the files of a source as one packed file; see `pack`."""
    names, index_name = _names(found)
    text = found.index[1] if found.index and index_name else b""
    with replacing(output) as unfinished:
        nbytes: int = _core.pack(
            [part.for_core() for part in found.parts],
            os.fsencode(found.name),
            [os.fsencode(name) for name in names],
            os.fsencode(index_name),
            text,
            dialect,
            volumes,
            os.fsencode(unfinished),
            progress,
        )
    return nbytes


def is_packed(path: str | os.PathLike[str]) -> bool:
    """Return whether a file is a packed trace."""
    return head_of(path).startswith(PACKED_MAGIC)


def unpack(
    packed: str | os.PathLike[str],
    directory: str | os.PathLike[str],
    *,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Write the text of a packed trace, identical to the bytes that were packed.

    Parameters
    ----------
    packed
        A file written by `pack`.
    directory
        Directory for the files. It must not exist or must be empty; it appears once all files are
        written.
    progress
        Called regularly with the completed fraction, from 0 to 1.

    Raises
    ------
    InputError
        When `packed` is damaged or not a packed trace, or when `directory` cannot be written.
    """
    path = Path(packed)
    if path.is_dir():
        raise InputError("is a directory; give a packed trace (.tit)", file=path)
    if not path.is_file():
        raise InputError("no such file", file=path)
    with new_directory(directory) as unfinished:
        _core.unpack(Part(str(path), str(path)).for_core(), os.fsencode(unfinished), progress)


def _names(found: Source) -> tuple[list[str], str]:
    """Return names for the unpacked files, and one for their index file, if any."""
    here = str(Path.cwd())
    called = [posixpath.normpath(posixpath.join(here, part.unpacked_name)) for part in found.parts]
    index = "" if found.index is None else posixpath.join(here, found.index[0])
    root = posixpath.dirname(index or called[0])
    if not index and len(called) > 1:
        root = posixpath.commonpath([posixpath.dirname(name) for name in called])
    names = [posixpath.relpath(name, root) for name in called]
    if any(name.startswith("../") for name in names):
        # Files without a common directory go into one directory, and no index fits them.
        return _distinct([posixpath.basename(name) for name in called]), ""
    compressed = any(part.unpacked_name != part.name for part in found.parts)
    return names, "" if compressed else posixpath.basename(index)


def _distinct(names: list[str]) -> list[str]:
    if len(set(names)) == len(names):
        return names
    return [f"{position}-{name}" for position, name in enumerate(names)]
