"""Turns the operations of one rank, a graph, into calls one after the other."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from tisim.traces.importers.goal.operations import ANY, COMPUTE, SEND, Operation
from tisim.traces.importers.importer import ImportOptions
from tisim.traces.importers.notes import Notes
from tisim.traces.importers.rank_calls import ANY_SOURCE, ANY_TAG, RankCalls


class CyclicScheduleError(Exception):
    """Operations wait for one another."""


class Sequence:
    """Posts what is ready, then computes, then waits for what something needs.

    Messages begin as soon as a schedule lets them, as in LogGOPSim: each is a non-blocking call. An
    operation that depends on a message stands behind a wait for it. Where a schedule leaves open
    which of several waits ends first, a sequence cannot: the first operation of the schedule
    decides, which is noted.

    Parameters
    ----------
    rank
        The rank.
    operations
        Its operations.
    options, notes
        Of the import.
    """

    def __init__(
        self, rank: int, operations: list[Operation], options: ImportOptions, notes: Notes
    ) -> None:
        self._rank = rank
        self._operations = operations
        self._options = options
        self._notes = notes
        self._calls = RankCalls(rank)
        # Operations that may begin, messages and computations apart, in the order of the schedule;
        # and those that wait for messages under way, some of which have begun meanwhile.
        self._messages: list[int] = []
        self._computations: list[int] = []
        self._waiting: list[int] = []
        self._under_way: set[int] = set()
        self._left = len(operations)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the rank.

        Raises
        ------
        CyclicScheduleError
            If operations wait for one another.
        """
        self._calls.action("init")
        for number in range(len(self._operations)):
            self._sort(number)
        while self._left:
            if self._messages:
                self._post(heapq.heappop(self._messages))
            elif self._computations:
                self._compute(heapq.heappop(self._computations))
            else:
                self._wait()
            yield from self._calls.ready()
        self._calls.complete(sorted(self._under_way))
        self._calls.action("finalize")
        yield from self._calls.ready()

    def _sort(self, number: int) -> None:
        """Put an operation where it belongs, now that what it waits for has changed."""
        operation = self._operations[number]
        if operation.is_ready:
            is_computation = operation.kind == COMPUTE
            heapq.heappush(self._computations if is_computation else self._messages, number)
        elif operation.waits_only:
            heapq.heappush(self._waiting, number)

    def _post(self, number: int) -> None:
        operation = self._operations[number]
        word = "isend" if operation.kind == SEND else "irecv"
        peer = ANY_SOURCE if operation.peer == ANY else operation.peer
        tag = ANY_TAG if operation.tag == ANY else operation.tag
        self._calls.post(word, peer, tag, operation.amount, number)
        self._under_way.add(number)
        for later in operation.after_end:
            self._operations[later].under_way += 1
            self._sort(later)
        self._begin(operation)

    def _compute(self, number: int) -> None:
        operation = self._operations[number]
        self._begin(operation)
        # What may begin when a computation does, stands before it in a sequence.
        while self._messages:
            self._post(heapq.heappop(self._messages))
        self._calls.compute(self._options.volume_of(operation.amount * 1e-9))
        self._end(number, was_under_way=False)

    def _begin(self, operation: Operation) -> None:
        self._left -= 1
        for later in operation.after_start:
            self._operations[later].starts -= 1
            self._sort(later)

    def _end(self, number: int, *, was_under_way: bool) -> None:
        for later in self._operations[number].after_end:
            after = self._operations[later]
            after.messages.discard(number)
            after.under_way -= was_under_way
            self._sort(later)

    def _wait(self) -> None:
        """Wait for the messages that the first operation that waits for some needs."""
        waiting = self._waiting
        while waiting and not self._operations[waiting[0]].waits_only:
            heapq.heappop(waiting)
        if not waiting:
            raise CyclicScheduleError
        first = self._operations[heapq.heappop(waiting)]
        needed = sorted(first.messages)
        for other in waiting:
            operation = self._operations[other]
            if operation.waits_only and not operation.messages >= first.messages:
                self._notes.add(
                    "which of several messages ends first is open in the schedule; the trace waits "
                    "in its order",
                    f"rank {self._rank}, {first.place}",
                )
                break
        self._calls.complete(needed)
        self._under_way.difference_update(needed)
        for number in needed:
            self._end(number, was_under_way=True)
