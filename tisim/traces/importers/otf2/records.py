"""Spells the records of `_core.Otf2Calls`, each of which stands for many equal calls."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from tisim import _core
from tisim.traces.importers.notes import Notes
from tisim.traces.importers.otf2.opened_trace import OpenedTrace
from tisim.traces.importers.otf2.rank_reader import RankReader
from tisim.traces.importers.requests import RequestNumbers

_KINDS = tuple(_core.otf2_record_kinds())


class _GivenNumbers(RequestNumbers):
    """Leaves requests the numbers that the core gave them."""

    def __init__(self) -> None:
        super().__init__()
        #: Those of the halves of an exchange, in their order.
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


class RecordReader(RankReader):
    """Writes the lines of one record after the other.

    Parameters
    ----------
    rank
        The rank.
    trace
        Its trace.
    """

    def __init__(self, rank: int, trace: OpenedTrace) -> None:
        self._all_notes = trace.notes
        self._given = _GivenNumbers()
        # The core keeps times.
        untimed = replace(trace.options, times=None)
        super().__init__(rank, replace(trace, options=untimed, notes=Notes()), self._given)

    def lines_of(self, record: Sequence[int], event: int, times: int) -> list[str]:
        """The lines of a record without newlines.

        Parameters
        ----------
        record
            The kinds of what happened in the call, each with its fields.
        event
            The number of the event with which it begins first.
        times
            How often it stands for a call.
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
