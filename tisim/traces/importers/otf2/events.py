"""The events of one location, as tuples: the package's own objects take four times as long."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import _otf2

from tisim.traces.importers.otf2.archive import Definitions, opened_events
from tisim.traces.importers.vectors import Records
from tisim.traces.importers.words import COLLECTIVES, VECTORS

#: An event: its kind, its time in ticks, and the numbers of its record.
Event = tuple[str, int, tuple[int, ...]]
# Events are read in batches of this size.
_BATCH = 4096
# The kind of each event and the ending of the function that registers its callback.
_KINDS = {
    "enter": "Enter",
    "leave": "Leave",
    "flush": "BufferFlush",
    "measurement": "MeasurementOnOff",
    "send": "MpiSend",
    "isend": "MpiIsend",
    "isend_complete": "MpiIsendComplete",
    "irecv_request": "MpiIrecvRequest",
    "recv": "MpiRecv",
    "irecv": "MpiIrecv",
    "cancelled": "MpiRequestCancelled",
    "collective": "MpiCollectiveEnd",
    "icollective_request": "NonBlockingCollectiveRequest",
    "icollective": "NonBlockingCollectiveComplete",
    "probe": "MpiProbe",
    "mrecv": "MpiMrecv",
    "metric": "Metric",
    "rma_put": "RmaPut",
    "rma_get": "RmaGet",
    "rma_atomic": "RmaAtomic",
    "io": "IoOperationBegin",
    "io_complete": "IoOperationComplete",
    "io_cancelled": "IoOperationCancelled",
    "io_create": "IoCreateHandle",
    "io_destroy": "IoDestroyHandle",
    "io_duplicate": "IoDuplicateHandle",
    "io_seek": "IoSeek",
    "io_delete": "IoDeleteFile",
    "fork": "ThreadFork",
    "omp_fork": "OmpFork",
}


class _Enumeration(Protocol):
    """A value of one of the package's enumerations, each of which is a class of its own."""

    value: int


class LocationEvents:
    """Reads the events of one location in their order."""

    def __init__(self, anchor: Path, location: int, kinds: tuple[str, ...] = tuple(_KINDS)) -> None:
        self._anchor = anchor
        self._location = location
        self._kinds = kinds
        self._batch: list[Event] = []
        # OTF2 holds no references to the functions that it calls.
        self._callbacks: list[object] = []

    def __iter__(self) -> Iterator[Event]:
        with opened_events(self._anchor, self._location) as reader:
            self._register(reader)
            while True:
                self._batch = []
                count = _otf2.GlobalEvtReader_ReadEvents(reader, _BATCH)
                yield from self._batch
                if count < _BATCH:
                    return

    def _register(self, reader: object) -> None:
        callbacks = _otf2.GlobalEvtReaderCallbacks_New()
        for kind in self._kinds:
            register = getattr(_otf2, f"GlobalEvtReaderCallbacks_Set{_KINDS[kind]}Callback", None)
            if register is not None:  # an older package lacks the newest events
                take = self._taker(kind)
                self._callbacks.append(take)
                register(callbacks, take)
        _otf2.GlobalEvtReader_SetCallbacks(reader, callbacks, None)
        _otf2.GlobalEvtReaderCallbacks_Delete(callbacks)

    def _taker(self, kind: str) -> object:
        if kind == "metric":
            return self._taking_metrics()

        def take(
            _location: int,
            time: int,
            _data: object,
            _attributes: object,
            *fields: int | _Enumeration,
        ) -> None:
            numbers = (field if isinstance(field, int) else field.value for field in fields)
            self._batch.append((kind, time, tuple(numbers)))

        return take

    def _taking_metrics(self) -> object:
        def take(
            _location: int,
            time: int,
            _data: object,
            _attributes: object,
            metric: int,
            _types: object,
            values: Sequence[_otf2.MetricValue],
        ) -> None:
            # The values are OTF2's memory, and another event's after this call.
            numbers = (metric, *(value.unsigned_int for value in values))
            self._batch.append(("metric", time, numbers))

        return take


def read_records(anchor: Path, definitions: Definitions) -> Records:
    """The counts that each rank sends and receives in each vector collective, by communicator."""
    found: Records = defaultdict(list)
    names = definitions.operations
    for rank, location in enumerate(definitions.locations):
        for _, _, numbers in LocationEvents(anchor, location, ("collective", "icollective")):
            operation, comm, _, sent, received = numbers[:5]
            if COLLECTIVES.get(names.get(operation, "").lower()) in VECTORS:
                found[rank, comm].append((sent, received))
    return found
