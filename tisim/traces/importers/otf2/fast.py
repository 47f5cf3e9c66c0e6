"""The trace of one rank, from the calls that the core has collected."""

from __future__ import annotations

import ctypes
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import _otf2
from _otf2.Config import conf

from tisim import _core
from tisim.errors import InputError
from tisim.traces.importers.importer import NO_FINALIZE, ImportOptions, Notes
from tisim.traces.importers.otf2.archive import CallPaths, Definitions, opened_events
from tisim.traces.importers.otf2.rank_reader import LOSSES, EventReader, OpenedTrace
from tisim.traces.importers.rank_calls import Communicators, RequestNumbers
from tisim.traces.importers.words import COLLECTIVES, VECTORS
from tisim.traces.program import CallSequence

_KINDS = tuple(_core.otf2_record_kinds())


class _GivenNumbers(RequestNumbers):
    """Leaves requests the numbers that the core gave them."""

    def __init__(self) -> None:
        super().__init__()
        #: Numbers of the halves of an exchange, in their order.
        self.exchange: list[int] = []

    def give(self, request: Hashable) -> int:
        if isinstance(request, int):
            return request
        number = self.exchange.pop(0)
        self._numbers[request] = number
        return number

    def release(self, request: Hashable) -> int | None:
        return request if isinstance(request, int) else self._numbers.pop(request)

    def number(self, request: Hashable) -> int | None:
        return request if isinstance(request, int) else self._numbers.get(request)


class RecordReader(EventReader):
    """Writes the lines of one record after the other."""

    def __init__(self, rank: int, trace: OpenedTrace) -> None:
        self._given = _GivenNumbers()
        super().__init__(rank, trace, self._given)
        self._all_notes = trace.notes
        self._notes = Notes()
        self._options = replace(trace.options, times=None)  # the core keeps times

    def lines_of(self, record: Sequence[int], event: int, times: int) -> list[str]:
        """The lines of a record without newlines. `event` is the number of the event with which the
        record begins first, and `times` how many calls it stands for.
        """
        self._number = event - 1
        for kind, fields in _parts(record):
            self._number += kind != "called_from"
            self._take(kind, fields)
        self._open.clear()
        self._completed.clear()
        self._began = None
        self._ended = False
        for note in self._notes:
            self._all_notes.add(note.text, note.first, note.count * times)
        self._notes.clear()
        return [line.rstrip("\n") for line in self._calls.ready()]

    def _take(self, kind: str, fields: tuple[int, ...]) -> None:
        if kind == "posted_receive":
            *fields_of_message, number = *fields[:4], fields[-1]
            self._on_irecv_request(0, (number,))
            self._fill_receive((*fields_of_message, number))
        elif kind == "posted_collective":
            self._position = fields[5]
            self._on_icollective_request(0, fields[-1:])
            self._fill_collective((*fields[:5], fields[-1]))
        elif kind == "collective":
            self._position = fields[5]
            self._on_collective(0, fields[:5])
        elif kind == "exchange":
            self._given.exchange = [number for number in fields if number != _core.OTF2_NO_NUMBER]
        elif kind == "completed":
            self._completed = list(fields)
        elif kind == "cancel":
            self._calls.cancel(fields[0])
        elif kind not in ("nothing", "called_from"):
            getattr(self, f"_on_{_HANDLERS.get(kind, kind)}")(0, fields)


# The handlers whose names are not those of the kinds.
_HANDLERS = {"receive": "recv"}


def region_of(record: Sequence[int]) -> int:
    """The region of the call that a record stands for; -1: it stands outside of all calls."""
    kind, fields = next(_parts(record))
    return fields[0] if kind == "enter" else -1


def node_of(record: Sequence[int]) -> int:
    """The node of the function around the call that a record stands for; 0: there is none."""
    head = dict(islice(_parts(record), 2))
    return head["called_from"][0] if "called_from" in head else 0


def _parts(record: Sequence[int]) -> Iterator[tuple[str, tuple[int, ...]]]:
    place = 0
    while place < len(record):
        kind, count = _KINDS[record[place]]
        place += 1
        if kind == "completed":
            count = record[place]
            place += 1
        yield kind, tuple(record[place : place + count])
        place += count


def call_sequence(rank: int, collected: _core.Otf2Calls, trace: OpenedTrace) -> CallSequence:
    """The lines of a rank: those of each record once, and the numbers of the records."""
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


# The callbacks are functions of the core, so that no event passes through Python: the package's own
# callbacks take 2 us an event. Python drives the library, as it does without them.

# Events are read in batches of this size: a Ctrl-C is seen between two.
_BATCH = 1 << 20


def collect_calls(
    anchor: Path,
    rank: int,
    known: Definitions,
    communicators: Communicators,
    keeps_times: bool,
) -> _core.Otf2Calls:
    """Read the events of a rank. Raises InputError if the events cannot be read."""
    actions = {number: COLLECTIVES.get(name.lower()) for number, name in known.operations.items()}
    metric, place = known.counter or (-1, 0)
    calls = _core.Otf2Calls(
        calls=[*known.calls],
        exchanges=_named(known.calls, "MPI_Sendrecv"),
        ends=_named(known.calls, "MPI_Finalize"),
        communicators=[name for name in known.communicators if communicators.has(name, rank)],
        collectives=[number for number, action in actions.items() if action is not None],
        vectors=[number for number, action in actions.items() if action in VECTORS],
        metric=metric,
        metric_place=place,
        keeps_times=keeps_times,
    )
    with opened_events(anchor, known.locations[rank]) as reader:
        _register(reader, calls)
        while _otf2.GlobalEvtReader_ReadEvents(reader, _BATCH) == _BATCH:
            pass
    calls.finish()
    if calls.failed:
        raise InputError(f"the events of rank {rank} take more memory than there is", file=anchor)
    return calls


def _register(reader: object, calls: _core.Otf2Calls) -> None:
    callbacks = _otf2.GlobalEvtReaderCallbacks_New()
    for name, address in _core.otf2_callbacks():
        setter = f"OTF2_GlobalEvtReaderCallbacks_Set{name}Callback"
        try:
            register = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
                (setter, conf.lib)
            )
        except AttributeError:
            continue  # an older library lacks the newest events
        register(callbacks, address)
    set_callbacks = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
    )(("OTF2_GlobalEvtReader_SetCallbacks", conf.lib))
    set_callbacks(reader, callbacks, calls.address)
    _otf2.GlobalEvtReaderCallbacks_Delete(callbacks)


def _named(calls: Mapping[int, str], beginning: str) -> list[int]:
    return [region for region, name in calls.items() if name.startswith(beginning)]
