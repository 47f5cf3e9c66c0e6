"""Turns the events of one rank into the lines of its trace."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.collectives import uniform_collective
from tisim.traces.importers.notes import Notes
from tisim.traces.importers.rank_calls import ANY_SOURCE, RankCalls
from tisim.traces.importers.scalatrace.events import Event, of_rank
from tisim.traces.importers.scalatrace.numbers import (
    ANY,
    COLLECTIVES,
    COMM,
    COUNT,
    DESTINATION,
    FINALIZE,
    INIT,
    IRECV,
    ISENDS,
    PARAMETERS,
    RECV,
    ROOT,
    SENDS,
    SILENT,
    SOURCE,
    TAG,
    TYPE,
    TYPE_SIZES,
    WAIT,
    WORLD,
)
from tisim.traces.importers.scalatrace.open_receives import Sources
from tisim.traces.importers.scalatrace.program import (
    Loop,
    OverlappingLoopsError,
    program_of,
)

# The values of an event come back after at most so many executions.
_MOST_EXECUTIONS = 1 << 20
_MOST_TAG = 2**31 - 1

_Write = Callable[[], None]


class RankReader:
    """Writes executions of the events of one rank.

    Parameters
    ----------
    rank, ranks
        The rank, and how many there are.
    file
        The trace, for messages.
    events
        Of all ranks.
    histograms
        The number of the histogram of a computation, by the event after it and the call path of
        the event before.
    sizes_are_tags
        Whether messages of other sizes are kept apart by tags.
    sources
        The distances to the sources of receives that were found for those from any source.
    """

    def __init__(
        self,
        rank: int,
        ranks: int,
        file: Path,
        events: Sequence[Event],
        histograms: Mapping[tuple[int, str], int],
        sizes_are_tags: bool,
        sources: Sources,
    ) -> None:
        self._rank = rank
        self._ranks = ranks
        self._file = file
        self._events = events
        self._histograms = histograms
        self._sizes_are_tags = sizes_are_tags
        self._sources = sources
        self._notes = Notes()
        self._calls = RankCalls(rank)
        # What each execution of an event writes, and which one is the next.
        self._writers: dict[int, list[_Write]] = {}
        self._places: dict[int, int] = {}
        self._before: Event | None = None
        self._requests = 0
        self._pending: list[int] = []

    def program(self) -> list[Loop | Event]:
        """The events of the rank, in their loops.

        Raises
        ------
        InputError
            If the loops do not nest.
        """
        try:
            return program_of(self._events, self._rank)
        except OverlappingLoopsError as error:
            raise self._error(
                error.args[0], "a loop that does not end where its rank's do"
            ) from None

    def execute(self, event: Event, notes: Notes) -> tuple[int | None, list[str]]:
        """The next execution of an event.

        Parameters
        ----------
        event
            One of the rank's.
        notes
            Takes what is guessed.

        Returns
        -------
        tuple
            The number of the histogram of what is computed before it, or None, and its lines
            without newlines.

        Raises
        ------
        InputError
            If the event says what is not known.
        """
        self._notes = notes
        histogram = None if self._before is None else self._histogram(event, self._before)
        self._before = event
        writers = self._writers.get(id(event))
        if writers is None:
            writers = self._writers[id(event)] = self._writer(event)
        place = self._places.get(id(event), 0)
        self._places[id(event)] = (place + 1) % len(writers)
        writers[place]()
        return histogram, [line.rstrip("\n") for line in self._calls.ready()]

    def state(self, events: Sequence[Event]) -> Hashable:
        """What decides what the next executions of some events write."""
        return (
            id(self._before),
            tuple(self._places.get(id(event), 0) for event in events),
            tuple(map(self._calls.number_of, self._pending)),
        )

    def _error(self, event: Event, message: str) -> InputError:
        return InputError(
            f"EVENT{event.number}, rank {self._rank}: {message}", file=self._file, line=event.line
        )

    def _histogram(self, event: Event, before: Event) -> int | None:
        number = self._histograms.get((id(event), before.site))
        if number is None and event.function not in SILENT:
            self._notes.add(
                "a computation without a histogram is left out",
                f"EVENT{event.number}, rank {self._rank}",
            )
        return number

    def _writer(self, event: Event) -> list[_Write]:
        """What each execution of an event writes, until its values come back."""
        values: dict[str, list[int]] = {}
        for key, all_ranks in event.parameters.items():
            if key not in PARAMETERS:
                raise self._error(event, f"the parameter {key} is not known")
            own = of_rank(all_ranks, self._rank)
            if own is not None:
                values[key] = own
        found = self._sources.get((self._rank, id(event)))
        if found is not None:
            values[SOURCE] = found
        period = math.lcm(*(len(numbers) for numbers in values.values())) if values else 1
        if period > _MOST_EXECUTIONS:
            raise self._error(event, "its parameters come back in no reasonable time")
        return [
            self._execution(event, {key: own[i % len(own)] for key, own in values.items()})
            for i in range(period)
        ]

    def _execution(self, event: Event, values: dict[str, int]) -> _Write:
        function, calls = event.function, self._calls
        if values.get(COMM, WORLD) != WORLD:
            raise self._error(event, f"the communicator {values[COMM]} is not the world's")
        if function in SILENT:
            return lambda: None
        if function in (INIT, FINALIZE):
            return lambda: self._end(function)
        if function == WAIT:
            return lambda: self._wait(event)
        nbytes = self._bytes(event, values)
        if function in COLLECTIVES:
            root = values.get(ROOT, 0)
            words = uniform_collective(COLLECTIVES[function], nbytes, root) or ""
            return lambda: calls.action(words)
        tag = min(nbytes, _MOST_TAG) if self._sizes_are_tags else values.get(TAG, 0)
        if function in SENDS:
            peer = self._peer(event, values, DESTINATION)
            return lambda: calls.message(SENDS[function], peer, tag, nbytes)
        if function in ISENDS:
            peer = self._peer(event, values, DESTINATION)
            return lambda: self._post(ISENDS[function], peer, tag, nbytes)
        if function == RECV:
            peer = self._peer(event, values, SOURCE)
            return lambda: calls.message("recv", peer, tag, nbytes)
        if function == IRECV:
            peer = self._peer(event, values, SOURCE)
            return lambda: self._post("irecv", peer, tag, nbytes)
        raise self._error(event, f"the MPI call {function} is not known")

    def _bytes(self, event: Event, values: dict[str, int]) -> int:
        if COUNT not in values:
            return 0
        size = TYPE_SIZES.get(values.get(TYPE, 0))
        if size is None:
            raise self._error(
                event,
                f"the size of the datatype {values.get(TYPE)} is not in the trace; known are 14 "
                "(MPI_INTEGER) and 16 (MPI_DOUBLE_PRECISION)",
            )
        if values[COUNT] < 0:
            raise self._error(event, "a negative count")
        return values[COUNT] * size

    def _peer(self, event: Event, values: dict[str, int], side: str) -> int:
        """The peer, which is a distance from the own rank."""
        if side not in values:
            raise self._error(event, "a message without a peer")
        if side == SOURCE and values[side] == ANY:
            return ANY_SOURCE
        if not 0 <= values[side] < self._ranks:
            raise self._error(event, f"there is no rank at a distance of {values[side]}")
        return (self._rank + values[side]) % self._ranks

    def _post(self, word: str, peer: int, tag: int, nbytes: int) -> None:
        self._requests += 1
        self._pending.append(self._requests)
        self._calls.post(word, peer, tag, nbytes, self._requests)

    def _wait(self, event: Event) -> None:
        """The trace does not say for which request."""
        if len(self._pending) > 1:
            self._notes.add(
                "MPI_Wait is taken to wait for the oldest of several pending requests",
                f"EVENT{event.number}, rank {self._rank}",
            )
        self._calls.complete(self._pending[:1])
        del self._pending[:1]

    def _end(self, function: int) -> None:
        if function == FINALIZE:
            self._calls.complete(self._pending)
        self._calls.action("init" if function == INIT else "finalize")
