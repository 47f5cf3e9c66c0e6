"""Functions of I/O libraries (HDF5, netCDF), and the calls and bytes that they caused."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from tisim.traces.trace import Trace

#: The attribute of calls that functions of libraries make; the recorder has the same.
ATTRIBUTE = "library_call"
# Where the bytes of a call that reads or writes stand, behind rank, action and handle.
_BYTES = 3


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """A function of an I/O library, with the name of its data."""

    #: Outermost first: ``nc_put_vara_double t > H5Dwrite /t``.
    function: str
    #: Calls of MPI and POSIX that it has made, on all ranks.
    calls: int
    #: Bytes that these have read and written.
    read: int
    written: int


def library_calls(path: Path) -> tuple[LibraryCall, ...]:
    """The functions in a packed trace, those that have moved most bytes first.

    Raises InputError when the file is damaged.
    """
    from tisim.traces.packed_program import PackedTrace  # slow to load

    trace = Trace.open(path)
    if ATTRIBUTE not in trace.attributes:
        return ()
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    packed = PackedTrace(path)
    for rank in range(trace.ranks):
        lines = enumerate(packed.lines(rank), 1)
        for number, attributes in trace.attributes_of(rank):
            function = attributes.get(ATTRIBUTE)
            if function is None:
                continue
            text = next(line for at, line in lines if at == number)
            words = text.decode(errors="replace").split()
            if words[-1] == "layer=posix":  # the call of MPI-IO above it has the bytes
                continue
            of_this = sums[str(function)]
            of_this[0] += 1
            if len(words) > _BYTES and words[_BYTES].isdigit():
                of_this[1] += int(words[_BYTES]) * ("read" in words[1])
                of_this[2] += int(words[_BYTES]) * ("write" in words[1])
    made = (LibraryCall(function, *of_this) for function, of_this in sums.items())
    return tuple(sorted(made, key=lambda one: (-one.read - one.written, -one.calls, one.function)))
