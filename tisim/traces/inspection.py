"""Inspection of an application by the structure of its packed trace, without replaying it."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

from tisim import _core
from tisim.kernel.file_sums import FileUseDict, accesses
from tisim.traces.call_sites import modules_of, named_paths
from tisim.traces.calls_with_arguments import lines_with
from tisim.traces.checking import ActionCount
from tisim.traces.counts import CounterTotal, counter_names, counter_totals
from tisim.traces.dialects import dialect_number
from tisim.traces.extrapolated import SECTION
from tisim.traces.inspection_parts import (
    CallPath,
    CallSite,
    ComputedPath,
    Distribution,
    Loop,
    OutlineLine,
    RankClass,
    Section,
    Signature,
)
from tisim.traces.packed import pack_found
from tisim.traces.progress import Progress, sub_progress
from tisim.traces.samples import Samples, read_samples
from tisim.traces.sources import Part, find_source
from tisim.traces.spool import Spool
from tisim.traces.trace import Trace
from tisim.traces.volumes import UNKNOWN_UNIT, unit_of

# The limit of the core's lists.
_MOST_LISTED = 1_000
_ATTRIBUTES = "attributes"
# Share of the progress bar for packing a trace that is not packed.
_PACKED = 0.8


@dataclass(frozen=True, slots=True)
class Inspection:
    """The results of `inspect`.

    Lists are sorted by the number of calls and cut at 1,000 entries (loops at 200, and 20 per
    class); ``..._count`` is the full number.

    Parameters
    ----------
    name
        The trace.
    packed
        Whether it was a packed file; otherwise it was packed for the inspection.
    nbytes
        Size of the packed file in bytes.
    ranks, dialect
        As in `Trace`.
    precision
        Precision of the volumes: ``"exact"``, or the level at which the trace was packed.
    actions
        Number of actions of all ranks.
    comments
        Lines that are not actions.
    unreadable
        User-defined actions, and lines that `check` would refuse.
    complete
        Whether sizes and volumes in columns were read too (``statistics=True``), or the trace has
        none; otherwise the bytes and amounts of `by_action` and `sites` lack them.
    sections
        Sections of the packed file.
    grammar_bytes, vector_bytes
        Size of the program structure and of the per-rank numbers before compression.
    by_action
        Actions by name.
    classes, loops, signatures, sites, call_paths, computed_paths
        See the types of the elements. Only traces recorded with call sites have call paths, and
        only those recorded with samples have paths of computations.
    counters
        Counters other than that of the volumes; their sums are 0 without `statistics`.
    extrapolated
        Description of how an extrapolated trace was made; empty for other traces.
    files
        File use of the ranks, by file name (`tisim.traces.inspection.traced_files`).
    library_calls
        Functions of I/O libraries that made calls (`tisim.traces.inspection`).
    unit
        Unit of computations, such as ``instructions``.
    """

    name: str
    packed: bool
    nbytes: int
    ranks: int
    dialect: str
    precision: str
    actions: int
    comments: int
    unreadable: int
    complete: bool
    sections: tuple[Section, ...]
    grammar_bytes: int
    vector_bytes: int
    by_action: tuple[ActionCount, ...]
    classes: tuple[RankClass, ...]
    class_count: int
    loops: tuple[Loop, ...]
    loop_count: int
    signatures: tuple[Signature, ...]
    signature_count: int
    sites: tuple[CallSite, ...]
    site_count: int
    call_paths: tuple[CallPath, ...] = ()
    call_path_count: int = 0
    computed_paths: tuple[ComputedPath, ...] = ()
    computed_path_count: int = 0
    counters: tuple[CounterTotal, ...] = ()
    extrapolated: str = ""
    files: tuple[FileUseDict, ...] = ()
    library_calls: tuple[LibraryCall, ...] = ()
    unit: str = UNKNOWN_UNIT

    @property
    def messages(self) -> int:
        """Number of messages from rank to rank."""
        return sum(count.messages for count in self.by_action)

    @property
    def bytes(self) -> int:
        """Bytes of those messages."""
        return sum(count.bytes for count in self.by_action)

    @property
    def flops(self) -> float:
        """Total computation of all ranks."""
        return sum(count.amount for count in self.by_action if count.name != "sleep")

    def to_dict(self) -> dict[str, object]:
        """Return all fields in a form that can be written as JSON."""
        return asdict(self)


def inspect(
    trace: Trace | str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    statistics: bool = False,
    progress: Progress | None = None,
) -> Inspection:
    """Describe the structure of an application: phases, loops, calls, classes of ranks.

    Calls are counted by the grammar rules of the packed trace, not one by one: the cost hardly
    depends on the program's length or the number of ranks. A trace in another form is first packed
    into a temporary file.

    Parameters
    ----------
    trace
        A `Trace`, or any argument of `Trace.open`.
    statistics
        Also read the sizes and volumes that differ from call to call, which are stored in columns
        of the packed trace. The time is proportional to their number.
    progress
        Called regularly with the completed fraction, from 0 to 1.

    Returns
    -------
    Inspection

    Raises
    ------
    InputError
        When there is no such trace, or when it cannot be packed.
    """
    import tempfile

    source = trace.source if isinstance(trace, Trace) else trace
    dialect = trace.dialect if isinstance(trace, Trace) else "auto"
    with Spool() as spool, tempfile.TemporaryDirectory(prefix="tisim-") as room:
        found = find_source(source, spool)
        part = found.parts[0]
        is_packed = len(found.parts) == 1 and _core.is_packed(part.for_core())
        if not is_packed:
            packed = Path(room, "trace.tit")
            # Not `source`: a pipe has been read to its end.
            number = dialect_number(dialect)
            pack_found(found, packed, number, "exact", sub_progress(progress, 0.0, _PACKED))
            source, part = packed, Part(found.name, str(packed))
            progress = sub_progress(progress, _PACKED, 1.0)
        inspected = _inspected(found.name, part, is_packed, statistics, progress)
        names = {section.name for section in inspected.sections}
        # Sections that converted traces lack.
        if _ATTRIBUTES in names:
            inspected = replace(
                inspected,
                counters=_counters(Trace.open(source), statistics),
                library_calls=library_calls(Path(part.path)) if part.path else (),
            )
        made = Trace.open(source).extrapolated if SECTION in names else None
        has_files = has_transfers(inspected.by_action)
        return replace(
            inspected,
            extrapolated="" if made is None else made.text(),
            files=traced_files(Trace.open(source, dialect=dialect)) if has_files else (),
            unit=unit_of(part.path or found.name),
        )


def _counters(trace: Trace, statistics: bool) -> tuple[CounterTotal, ...]:
    if statistics:
        return counter_totals(trace)
    return tuple(CounterTotal(name) for name in counter_names(trace))


def _inspected(
    name: str, part: Part, packed: bool, statistics: bool, progress: Progress | None
) -> Inspection:
    found = _core.inspect(part.for_core(), statistics, progress)
    nbytes = Path(part.path).stat().st_size if part.path else part.length
    modules = found["modules"]
    computed = _computed_paths(read_samples(part), modules)
    site_paths = named_paths({path for _, path, *_ in found["sites"] if path}, modules_of(modules))
    parts = {
        "sections": tuple(Section(*row) for row in found["sections"]),
        "by_action": tuple(ActionCount(*row) for row in found["by_action"]),
        "classes": tuple(
            RankClass(
                **{
                    **row,
                    "stretches": tuple(row["stretches"]),
                    "outline": tuple(OutlineLine(*line) for line in row["outline"]),
                }
            )
            for row in found["classes"]
        ),
        "loops": tuple(
            Loop(iterations, entered, calls, classes, ranks, tuple(actions))
            for iterations, entered, calls, classes, ranks, actions in found["loops"]
        ),
        "signatures": tuple(Signature(*row) for row in found["signatures"]),
        "sites": tuple(
            CallSite(
                text, calls, _distribution(sizes), _distribution(volumes), site_paths.get(path)
            )
            for text, path, calls, sizes, volumes in found["sites"]
        ),
        "call_paths": _call_paths(found["call_paths"], modules),
    }
    as_they_are = {
        field.name: found[field.name] for field in fields(Inspection) if field.name in found
    }
    return Inspection(
        **{**as_they_are, **parts},
        name=name,
        packed=packed,
        nbytes=nbytes or 0,
        computed_paths=computed[:_MOST_LISTED],
        computed_path_count=len(computed),
    )


def _computed_paths(samples: Samples | None, modules: Sequence[str]) -> tuple[ComputedPath, ...]:
    """Return paths, most sampled first; places on one source line are merged."""
    if samples is None:
        return ()
    totals = {samples.path(node): count for node, count in samples.totals().items()}
    names = named_paths(totals, modules_of(modules))
    counts: Counter[str] = Counter()
    for path, count in totals.items():
        counts[names[path]] += count
    all_samples = counts.total()
    return tuple(ComputedPath(path, n, n / all_samples) for path, n in counts.most_common())


def _call_paths(
    rows: Sequence[tuple[str, str, int]], modules: Sequence[str]
) -> tuple[CallPath, ...]:
    names = named_paths({path for path, _, _ in rows}, modules_of(modules))
    return tuple(CallPath(names[path], action, calls) for path, action, calls in rows)


def _distribution(values: tuple[int, float, float, float, list[tuple[int, int]]]) -> Distribution:
    count, total, least, most, bins = values
    histogram = tuple((2.0 ** (i - 1) if i else 0.0, 2.0**i, times) for i, times in bins)
    return Distribution(count, total, least, most, histogram)


_TRANSFERS = ("read", "write", "pread", "pwrite", "file_read", "file_write")
_STARTED = ("file_iread", "file_iwrite")


def has_transfers(actions: Iterable[ActionCount]) -> bool:
    """Return whether a trace with these actions reads or writes files."""
    return any(count.name.startswith((*_TRANSFERS, *_STARTED)) for count in actions)


def traced_files(trace: Trace, progress: Progress | None = None) -> tuple[FileUseDict, ...]:
    """Summarise the file accesses of all ranks.

    Effects of other ranks on a file and its location are unknown: appended writes and those at a
    shared position count as the rank's own, there are no seconds, and alignment means that to
    4096 bytes. Raises InputError when the trace cannot be read.
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


#: The attribute of calls made by library functions; must equal the recorder's.
ATTRIBUTE = "library_call"
# Index of the byte count of a read or write, after rank, action and handle.
_BYTES = 3


@dataclass(frozen=True, slots=True)
class LibraryCall:
    """A function of an I/O library and the name of its data."""

    #: Outermost first: ``nc_put_vara_double t > H5Dwrite /t``.
    function: str
    #: MPI and POSIX calls that it made, on all ranks.
    calls: int
    #: Bytes that these calls read and wrote.
    read: int
    written: int


def library_calls(path: Path) -> tuple[LibraryCall, ...]:
    """Return the library functions in a packed trace, those that moved most bytes first.

    Raises InputError when the file is damaged.
    """
    trace = Trace.open(path)
    if ATTRIBUTE not in trace.attributes:
        return ()
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for _, attributes, words in lines_with(trace, path, ATTRIBUTE):
        function = attributes[ATTRIBUTE]
        if words[-1] == "layer=posix":  # its bytes are counted for the MPI-IO call above it
            continue
        of_this = sums[function]
        of_this[0] += 1
        if len(words) > _BYTES and words[_BYTES].isdigit():
            of_this[1] += int(words[_BYTES]) * ("read" in words[1])
            of_this[2] += int(words[_BYTES]) * ("write" in words[1])
    made = (LibraryCall(function, *of_this) for function, of_this in sums.items())
    return tuple(
        sorted(made, key=lambda call: (-call.read - call.written, -call.calls, call.function))
    )
