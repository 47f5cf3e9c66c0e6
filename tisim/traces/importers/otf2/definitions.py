"""What the definitions of an OTF2 trace say: ranks, communicators, regions, counters."""

from __future__ import annotations

import io
from contextlib import redirect_stderr
from dataclasses import dataclass, field
from pathlib import Path

import otf2
from otf2.enums import CollectiveOp, GroupType, LocationType, Paradigm

from tisim.errors import InputError
from tisim.traces.importers.communicators import Communicator
from tisim.traces.importers.notes import Notes
from tisim.traces.importers.otf2.complaints import complaints
from tisim.traces.importers.otf2.files import FileDefinitions, file_definitions
from tisim.traces.importers.otf2.functions import function_name
from tisim.traces.importers.words import COLLECTIVES


@dataclass
class Definitions:
    """The definitions that a conversion needs.

    Attributes
    ----------
    locations
        The location (the master thread) of each rank.
    communicators
        By OTF2's reference: those that connect ranks.
    calls
        The name of each region that is an MPI call, by reference.
    functions
        How call paths name each other region, by reference: ``solve (solver.c:40)``.
    ticks_per_second
        Resolution of the clock.
    counter
        Reference of the metric and place in its record of the wanted counter; None: none wanted.
    operations
        The name of each collective operation, by OTF2's number.
    files
        Files, and handles on them.
    """

    locations: list[int] = field(default_factory=list)
    communicators: dict[int, Communicator] = field(default_factory=dict)
    calls: dict[int, str] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)
    ticks_per_second: float = 1.0
    counter: tuple[int, int] | None = None
    operations: dict[int, str] = field(default_factory=dict)
    files: FileDefinitions = field(default_factory=FileDefinitions)


def read_definitions(anchor: Path, counter: str | None, notes: Notes) -> Definitions:
    """Read the definitions of a trace.

    Parameters
    ----------
    anchor
        Its anchor file.
    counter
        Name of the hardware counter wanted.
    notes
        Is told what is left out.

    Raises
    ------
    InputError
        If the trace cannot be read, has no MPI ranks, or lacks the counter.
    """
    try:
        # The package prints the tracebacks of its own callbacks.
        with (
            complaints(),
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
            notes.add("the computation of further threads is left out", f"location {location._ref}")
        elif location.type == LocationType.GPU:
            notes.add("the work of accelerators is left out", f"location {location._ref}")
    for comm in known.comms:
        group = getattr(comm, "group", None)
        if group is None:
            notes.add("an intercommunicator is left out", f"communicator {comm._ref}")
        elif group.paradigm == Paradigm.MPI and group.group_type == GroupType.COMM_SELF:
            found.communicators[comm._ref] = Communicator(None)
        elif group.paradigm == Paradigm.MPI:
            ranks = [rank_of[member._ref] for member in group.members]
            found.communicators[comm._ref] = Communicator(tuple(ranks))
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
