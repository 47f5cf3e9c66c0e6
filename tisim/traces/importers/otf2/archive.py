"""Reading of an OTF2 archive: its definitions and its locations."""

from __future__ import annotations

import ctypes
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path, PurePath

import _otf2
import otf2
from _otf2.Config import conf
from otf2.enums import CollectiveOp, GroupType, LocationType, Paradigm

from tisim.errors import InputError
from tisim.traces.call_sites import BETWEEN
from tisim.traces.importers.importer import Notes
from tisim.traces.importers.rank_calls import Group
from tisim.traces.importers.words import COLLECTIVES

# Arguments of the library's callback: data, file, line, function, code, format and arguments.
_ErrorCallback = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_uint64,
    ctypes.c_char_p,
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_void_p,
)
_Register = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_Describe = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_int)


@contextmanager
def library_errors() -> Iterator[list[str]]:
    """Collect the messages that the library would print to standard error: on some kinds of damage
    it ends early without a failing function.
    """
    found: list[str] = []
    # Separate function objects: those of the package have other types.
    register = _Register(("OTF2_Error_RegisterCallback", conf.lib))
    describe = _Describe(("OTF2_Error_GetDescription", conf.lib))

    def take(
        _data: object,
        _file: bytes,
        _line: int,
        _function: bytes,
        code: int,
        _text: bytes,
        _arguments: object,
    ) -> int:
        found.append((describe(code) or b"an error").decode())
        return code

    kept = _ErrorCallback(take)
    before = register(ctypes.cast(kept, ctypes.c_void_p), None)
    try:
        yield found
    finally:
        register(before, None)


@dataclass
class FileDefinitions:
    """Files by OTF2's references."""

    names: dict[int, str] = field(default_factory=dict)
    #: The file of each imported handle. Handles of directories, and those created by the I/O inside
    #: a call on another handle, are not imported: the call itself represents its effect.
    handles: dict[int, int] = field(default_factory=dict)
    #: Handles that every process has: standard input and output.
    standard: set[int] = field(default_factory=set)


def file_definitions(known: otf2.registry.DefinitionRegistry) -> FileDefinitions:
    """Collect the definitions of files; a trace of an older version has none."""
    from otf2.definitions import IoRegularFile
    from otf2.enums import IoHandleFlag

    found = FileDefinitions()
    for file in getattr(known, "io_regular_files", ()):
        found.names[file._ref] = file.name
    for handle in getattr(known, "io_handles", ()):
        if handle.io_handle_flags.value & IoHandleFlag.PRE_CREATED.value:
            found.standard.add(handle._ref)
        elif handle.parent is None and isinstance(handle.file, IoRegularFile):
            found.handles[handle._ref] = handle.file._ref
    return found


#: Longer paths lose their outermost functions, as in recorded traces.
MOST_FUNCTIONS = 128
# Maximum bytes of one function's name, which some C++ names exceed.
_LONGEST_NAME = 400


def function_name(name: str, file: str | None, line: int) -> str:
    """Return a function's name in call paths, such as ``solve (solver.c:40)``, with the line where
    it begins in the source, if known.
    """
    # The name must not contain the separator of functions, or end a line.
    printed = "".join(c if c.isprintable() else "?" for c in name).replace(BETWEEN, "> ")
    if len(printed.encode()) > _LONGEST_NAME:
        printed = printed.encode()[:_LONGEST_NAME].decode(errors="ignore") + "..."
    base = PurePath(file).name if file else ""
    if not base or not line or not base.isprintable() or len(base.encode()) > _LONGEST_NAME:
        return printed or "?"
    return f"{printed} ({base}:{line})"


class CallPaths:
    """Numbers the call paths from which one rank makes calls. The tree has the parent and the
    region of each node; node 0 is outside all functions.
    """

    def __init__(self, tree: Sequence[tuple[int, int]], functions: Mapping[int, str]) -> None:
        self._tree = tree
        self._functions = functions
        self._numbers: dict[int, int] = {}
        self._paths: list[str] = []

    def number(self, node: int) -> int:
        """Return the number of the path that ends at a node; -1 outside all functions."""
        if not node:
            return -1
        if node not in self._numbers:
            self._numbers[node] = len(self._paths)
            innermost = list(islice(self._enclosing_functions(node), MOST_FUNCTIONS))
            self._paths.append(BETWEEN.join(reversed(innermost)))
        return self._numbers[node]

    def _enclosing_functions(self, node: int) -> Iterator[str]:
        while node:
            node, region = self._tree[node]
            yield self._functions.get(region, "?")

    @property
    def paths(self) -> list[str]:
        """The paths in order of number."""
        return self._paths


@dataclass
class Definitions:
    """The definitions that a conversion needs."""

    #: The location (the master thread) of each rank.
    locations: list[int] = field(default_factory=list)
    #: Groups of ranks, by OTF2's reference.
    communicators: dict[int, Group] = field(default_factory=dict)
    #: Name of each region that is an MPI call, by reference.
    calls: dict[int, str] = field(default_factory=dict)
    #: Name in call paths of each other region, by reference: ``solve (solver.c:40)``.
    functions: dict[int, str] = field(default_factory=dict)
    #: Resolution of the clock.
    ticks_per_second: float = 1.0
    #: Reference of the selected counter's metric and index in its record; None without a counter.
    counter: tuple[int, int] | None = None
    #: Name of each collective operation, by OTF2's number.
    operations: dict[int, str] = field(default_factory=dict)
    files: FileDefinitions = field(default_factory=FileDefinitions)


def read_definitions(anchor: Path, counter: str | None, notes: Notes) -> Definitions:
    """Read the definitions of a trace. Raises InputError if the trace cannot be read, has no MPI
    ranks, or lacks the counter.
    """
    try:
        # The package prints tracebacks of its own callbacks.
        with (
            library_errors(),
            redirect_stderr(io.StringIO()),
            otf2.reader.open(str(anchor)) as reader,
        ):
            return _collected(reader.definitions, anchor, counter, notes)
    except (otf2.error.TraceReaderError, otf2.reader._otf2.Error) as error:
        raise InputError(f"cannot be read as OTF2: {error}", file=anchor) from None


def _collected(
    known: otf2.registry.DefinitionRegistry, anchor: Path, counter: str | None, notes: Notes
) -> Definitions:
    found = Definitions(ticks_per_second=float(known.clock_properties.timer_resolution))
    ranked = [
        group
        for group in known.groups
        if group.group_type == GroupType.COMM_LOCATIONS and group.paradigm == Paradigm.MPI
    ]
    if not ranked or not ranked[0].members:
        raise InputError(
            "has no MPI ranks: only traces of MPI programs can be replayed", file=anchor
        )
    found.locations = [location._ref for location in ranked[0].members]
    rank_of = {location: rank for rank, location in enumerate(found.locations)}
    for location in known.locations:
        if location._ref in rank_of:
            continue
        if location.type == LocationType.CPU_THREAD:
            notes.add(
                "the computation of additional threads is left out", f"location {location._ref}"
            )
        elif location.type == LocationType.GPU:
            notes.add("the work of accelerators is left out", f"location {location._ref}")
    for comm in known.comms:
        group = getattr(comm, "group", None)
        if group is None:
            notes.add("an intercommunicator is left out", f"communicator {comm._ref}")
        elif group.paradigm == Paradigm.MPI and group.group_type == GroupType.COMM_SELF:
            found.communicators[comm._ref] = None
        elif group.paradigm == Paradigm.MPI:
            ranks = [rank_of[member._ref] for member in group.members]
            found.communicators[comm._ref] = tuple(ranks)
    for region in known.regions:
        name = region.name
        if region.paradigm == Paradigm.MPI or name.startswith("MPI_"):
            found.calls[region._ref] = name
        else:
            found.functions[region._ref] = function_name(
                name, region.source_file, region.begin_line_number
            )
    for name in map(str.upper, COLLECTIVES):
        found.operations[getattr(CollectiveOp, name).value] = name
    for name in ("CREATE_HANDLE", "DESTROY_HANDLE"):
        found.operations[getattr(CollectiveOp, name).value] = name
    found.files = file_definitions(known)
    if counter is not None:
        found.counter = _counter(known, anchor, counter)
    return found


def _counter(
    known: otf2.registry.DefinitionRegistry, anchor: Path, counter: str
) -> tuple[int, int]:
    names: list[str] = []
    for metric in known.metrics:
        members = [member.name for member in getattr(metric, "members", ())]
        if counter in members:
            return metric._ref, members.index(counter)
        names += members
    there = f"it has {', '.join(names)}" if names else "it has none"
    raise InputError(f"has no hardware counter {counter}: {there}", file=anchor)


# OTF2_BUFFER_CHUNK_HEADER, the first byte of an uncompressed file, and OTF2_BUFFER_END_OF_FILE.
_FIRST_BYTE, _LAST_BYTE = b"\x03", b"\x01"


@contextmanager
def opened_events(anchor: Path, location: int) -> Iterator[object]:
    """Open the events of a location, as a library reader without callbacks. Raises InputError if
    they are truncated, or if the library refuses them, either here or while they are read.
    """
    _check_end(anchor.with_suffix("") / f"{location}.evt")
    with library_errors() as found:
        handle = None
        try:
            handle = _otf2.Reader_Open(str(anchor))
            yield _reader(handle, anchor, location, found)
        except _otf2.Error as error:
            raise _unreadable(anchor, location, str(error)) from None
        finally:
            if handle is not None:
                _otf2.Reader_Close(handle)
        if found:
            raise _unreadable(anchor, location, found[0])


def _check_end(events: Path) -> None:
    """Refuse a truncated file: the library would read uninitialised memory for the rest."""
    if not events.is_file():
        return  # the library reports it
    with events.open("rb") as file:
        first = file.read(1)
        file.seek(-1 if first else 0, os.SEEK_END)
        last = file.read(1)
    if first in (b"", _FIRST_BYTE) and last != _LAST_BYTE:
        raise InputError("is truncated: the end of the OTF2 events is missing", file=events)


def _unreadable(anchor: Path, location: int, why: str) -> InputError:
    return InputError(f"the events of location {location} cannot be read: {why}", file=anchor)


def _reader(handle: object, anchor: Path, location: int, found: list[str]) -> object:
    _otf2.Reader_SetSerialCollectiveCallbacks(handle)
    # Event files are found only after the definitions have been read.
    definitions = _otf2.Reader_GetGlobalDefReader(handle)
    read = _otf2.Reader_ReadAllGlobalDefinitions(handle, definitions)
    written = _otf2.Reader_GetNumberOfGlobalDefinitions(handle)
    if read != written:
        raise InputError(
            f"is damaged: only {read} of its {written} definitions can be read", file=anchor
        )
    _otf2.Reader_CloseGlobalDefReader(handle, definitions)
    _otf2.Reader_SelectLocation(handle, location)
    try:
        _otf2.Reader_OpenDefFiles(handle)
    except _otf2.Error:
        found.clear()  # without definitions of locations there is nothing to apply
    else:
        local = _otf2.Reader_GetDefReader(handle, location)
        if local:
            _otf2.Reader_ReadAllLocalDefinitions(handle, local)
            _otf2.Reader_CloseDefReader(handle, local)
        _otf2.Reader_CloseDefFiles(handle)
    _otf2.Reader_OpenEvtFiles(handle)
    _otf2.Reader_GetEvtReader(handle, location)
    return _otf2.Reader_GetGlobalEvtReader(handle)
