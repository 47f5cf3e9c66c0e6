"""The trace of one rank, from the calls that the core has collected."""

from __future__ import annotations

from tisim import _core
from tisim.traces.importers.importer import ImportOptions
from tisim.traces.importers.notes import NO_FINALIZE
from tisim.traces.importers.otf2.definitions import Definitions
from tisim.traces.importers.otf2.functions import CallPaths
from tisim.traces.importers.otf2.opened_trace import OpenedTrace
from tisim.traces.importers.otf2.rank_reader import LOSSES
from tisim.traces.importers.otf2.records import RecordReader, node_of, region_of
from tisim.traces.program import CallSequence


def call_sequence(rank: int, collected: _core.Otf2Calls, trace: OpenedTrace) -> CallSequence:
    """The lines of a rank: those of each record once, and the numbers of the records.

    Parameters
    ----------
    rank
        The rank.
    collected
        Its calls.
    trace
        Its trace.
    """
    import numpy as np

    definitions, options, notes = trace.definitions, trace.options, trace.notes
    for kind, count, first in collected.losses:
        notes.add(LOSSES[kind], f"rank {rank}, event {first}", count)
    calls = collected.calls
    counts = np.bincount(calls, minlength=collected.records)
    reader = RecordReader(rank, trace)
    begin = [
        f"{rank} init",
        *(f"{rank} {words}" for words in trace.communicators.declarations(rank)),
    ]
    lines = [*begin, f"{rank} finalize"]
    paths = CallPaths(collected.call_tree, definitions.functions)
    path_of = [-1] * len(lines)
    places: list[list[int]] = []
    for number in range(collected.records):
        record = collected.record(number)
        spelled = reader.lines_of(record, collected.first_event(number), int(counts[number]))
        places.append(list(range(len(lines), len(lines) + len(spelled))))
        lines += spelled
        path_of += [paths.number(node_of(record)) if spelled else -1] * len(spelled)
    sizes = np.array([len(call) for call in places], np.uint32)
    if not collected.has_ended:
        notes.add(NO_FINALIZE, f"rank {rank}, at its end")
    has_counter = definitions.counter is not None
    speed = 1.0 if has_counter else options.volume_of(1.0)
    volumes = collected.volumes(sizes, definitions.ticks_per_second, speed)
    if options.times is not None:
        written = len(begin) + np.cumsum(sizes[calls]) + np.cumsum(volumes[:-1] >= 0)
        _keep_times(rank, collected, definitions, options, written.tolist())
    # Two calls more: what stands before all others, and the end if it was not recorded.
    first, last = len(places), len(places) + 1
    places += [list(range(len(begin))), [] if collected.has_ended else [len(begin)]]
    if not places[last]:
        volumes[-1] = -1
    return CallSequence(
        lines,
        places,
        np.concatenate(([first], calls, [last])).astype(np.uint32),
        np.concatenate(([-1], volumes)),
        paths.paths,
        path_of if paths.paths else (),
    )


def _keep_times(
    rank: int,
    collected: _core.Otf2Calls,
    definitions: Definitions,
    options: ImportOptions,
    lines: list[int],
) -> None:
    names = [
        definitions.calls.get(region_of(collected.record(number)), "").removeprefix("MPI_")
        for number in range(collected.records)
    ]
    per_second = round(definitions.ticks_per_second)
    times = options.times
    assert times is not None
    rows = zip(
        collected.calls.tolist(),
        collected.begins.tolist(),
        collected.ends.tolist(),
        lines,
        strict=False,  # a call that did not end has no times
    )
    for call, begin, end, line in rows:
        if names[call]:
            begun, ended = (tick * 10**9 // per_second for tick in (begin, end))
            times.add(rank, names[call], begun, ended, line)
