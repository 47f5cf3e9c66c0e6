"""How the ranks of a trace use files, without replaying it."""

from __future__ import annotations

from collections.abc import Iterable

from tisim import _core
from tisim.kernel.file_sums import FileUseDict, accesses
from tisim.traces.checking import ActionCount
from tisim.traces.progress import Progress
from tisim.traces.trace import Trace

_TRANSFERS = ("read", "write", "pread", "pwrite", "file_read", "file_write")
_STARTED = ("file_iread", "file_iwrite")


def has_transfers(actions: Iterable[ActionCount]) -> bool:
    """True if a trace with these actions reads or writes files."""
    return any(count.name.startswith((*_TRANSFERS, *_STARTED)) for count in actions)


def traced_files(trace: Trace, progress: Progress | None = None) -> tuple[FileUseDict, ...]:
    """Read the calls on files of all ranks.

    What others do to a file, and where it is, is not known: writes that are appended or at a shared
    position count as the rank's own, there are no seconds, and alignment is that to 4096 bytes.
    Raises InputError when the trace cannot be read.
    """
    return tuple(
        {
            "name": use.name,
            "file_system": None,
            "opens": use.opens,
            "seconds": 0.0,
            "reads": accesses(use.reads),
            "writes": accesses(use.writes),
        }
        for use in _core.traced_files(trace.core, progress)
    )
