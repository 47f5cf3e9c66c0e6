"""Turns the rows of one rank into the lines of its trace."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.collectives import uniform_collective
from tisim.traces.importers.communicators import Communicators
from tisim.traces.importers.importer import ImportOptions
from tisim.traces.importers.notes import NO_FINALIZE, Notes
from tisim.traces.importers.rank_calls import WORLD, RankCalls
from tisim.traces.importers.table.columns import Row
from tisim.traces.importers.table.members import Members

_BLOCKING = {"send", "ssend", "bsend", "recv"}
_NON_BLOCKING = {"isend", "issend", "ibsend", "irecv"}
_RENAMED = {"rsend": "send", "irsend": "isend"}
_SILENT = {"init", "init_thread", "comm_size", "comm_rank", "get_count", "type_commit", "wtime"}
_WAITS = {"wait", "waitall", "waitany", "waitsome"}


class RankRows:
    """Reads the rows of one rank in their order.

    Parameters
    ----------
    rank
        The rank.
    file
        The table, for messages.
    members, communicators
        The communicators that rows name.
    options, notes
        Of the import.
    """

    def __init__(
        self,
        rank: int,
        file: Path,
        members: Members,
        communicators: Communicators,
        options: ImportOptions,
        notes: Notes,
    ) -> None:
        self._rank = rank
        self._members = members
        self._communicators = communicators
        self._file = file
        self._options = options
        self._notes = notes
        self._calls = RankCalls(rank)
        self._row: Row = {}
        self._ended_at: float | None = None
        self._unnamed = 0
        self._pending: list[str] = []

    def lines(self, rows: Iterable[Row]) -> Iterator[str]:
        """Yield the lines of the rank."""
        calls = self._calls
        calls.action("init")
        for words in self._communicators.declarations(self._rank):
            calls.action(words)
        is_finalized = False
        for row in rows:
            self._row = row
            if "call" not in row:
                raise self._error("a row without a call")
            word = self._word()
            self._compute(word)
            if word == "finalize":
                is_finalized = True
                break
            self._write(word)
            self._keep_times(word)
            yield from calls.ready()
        if self._pending:
            text = "a request that nothing waits for"
            self._notes.add(text, self._place(), len(self._pending))
        if not is_finalized:
            self._notes.add(NO_FINALIZE, self._place())
        calls.action("finalize")
        if is_finalized:
            self._keep_times("finalize")
        yield from calls.ready()

    def _word(self) -> str:
        name = self._row.get("call", "").lower().removeprefix("mpi_").removesuffix("_")
        return _RENAMED.get(name, name)

    def _place(self) -> str:
        return f"line {self._row.get('line', '?')}"

    def _number(self, quantity: str, default: int | None = None) -> int:
        text = self._row.get(quantity)
        if text is None:
            if default is not None:
                return default
            raise self._error(f"the {self._row['call']} has no {quantity}")
        try:
            number = float(text)
            whole = int(number)
        except (ValueError, OverflowError):
            raise self._error(f"the {quantity} {text!r} is no number") from None
        if number != whole:
            self._notes.add(f"a {quantity} is cut to a whole number", self._place())
        return whole

    def _seconds(self, quantity: str) -> float | None:
        text = self._row.get(quantity)
        if text is None:
            return None
        try:
            seconds = float(text)
        except ValueError:
            seconds = math.inf
        if not math.isfinite(seconds):
            raise self._error(f"the {quantity} {text!r} is no number of seconds")
        return seconds

    def _error(self, message: str) -> InputError:
        return InputError(message, file=self._file, line=int(self._row["line"]))

    def _compute(self, word: str) -> None:
        """Write what the rank computed before this row."""
        start, end = self._seconds("start"), self._seconds("end")
        if start is not None and end is not None and end < start:
            raise self._error(f"the call ends ({end:g} s) before it starts ({start:g} s)")
        if start is not None and self._ended_at is not None and word != "init":
            if start < self._ended_at:
                raise self._error(
                    f"starts at {start:.9g} s, before the call above it ends at "
                    f"{self._ended_at:.9g} s; sort the rows of each rank by start"
                )
            if start > self._ended_at:
                self._calls.compute(self._options.volume_of(start - self._ended_at))
        if end is not None:
            self._ended_at = end
        if word != "compute" and "volume" in self._row:
            self._calls.compute(float(self._number("volume")))

    def _write(self, word: str) -> None:
        calls = self._calls
        if word == "compute":
            if "volume" in self._row:
                calls.compute(float(self._number("volume")))
            else:
                start, end = self._seconds("start"), self._seconds("end")
                if start is None or end is None:
                    raise self._error("a compute needs a volume, or a start and an end")
                calls.compute(self._options.volume_of(end - start))
        elif word in _BLOCKING:
            calls.message(
                word,
                self._number("peer"),
                self._number("tag", 0),
                self._number("bytes"),
                self._comm(),
            )
        elif word in _NON_BLOCKING:
            calls.post(
                word,
                self._number("peer"),
                self._number("tag", 0),
                self._number("bytes"),
                self._new_request(),
                self._comm(),
            )
        elif word in ("sendrecv", "sendrecv_replace"):
            self._exchange()
        elif word in _WAITS or (word.startswith("test") and "request" in self._row):
            self._complete()
        elif word in _SILENT:
            pass
        else:
            self._collective(word)

    def _new_request(self) -> str:
        request = self._row.get("request")
        if request is None:
            self._unnamed += 1
            request = f"#{self._unnamed}"
        self._pending.append(request)
        return request

    def _complete(self) -> None:
        named = self._row.get("request")
        if named is None:
            requests, self._pending = self._pending, []
            if self._word() != "waitall" and len(requests) > 1:
                self._notes.add(
                    f"{self._row['call']} without a request is taken to wait for all", self._place()
                )
        else:
            requests = named.replace(";", " ").replace(",", " ").split()
            for request in requests:
                if request not in self._pending:
                    raise self._error(f"waits for the request {request!r}, which is not pending")
                self._pending.remove(request)
        self._calls.complete(requests)

    def _exchange(self) -> None:
        row = self._row
        tag = self._number("tag", 0)
        nbytes = self._number("bytes")
        peer = self._number("peer")
        halves = [("exchange", "isend"), ("exchange", "irecv")]
        comm = self._comm()
        self._calls.post("isend", peer, tag, nbytes, halves[0], comm)
        if "receive_peer" not in row:
            self._notes.add(
                "an exchange without receive_peer is taken to be with the same peer", self._place()
            )
        self._calls.post(
            "irecv",
            self._number("receive_peer", peer),
            self._number("receive_tag", tag),
            self._number("receive_bytes", nbytes),
            halves[1],
            comm,
        )
        self._calls.complete(halves)

    def _collective(self, word: str) -> None:
        words = uniform_collective(word, self._number("bytes", 0), self._number("root", 0))
        if words is None:
            self._notes.add(f"{self._row['call']} is left out", self._place())
        elif word.startswith("i"):
            self._calls.start(words, self._new_request(), self._comm())
        else:
            self._calls.action(words, self._comm())

    def _comm(self) -> int:
        name = self._members.number(self._row.get("communicator", ""))
        number = WORLD if name is None else self._communicators.number(name)
        assert number is not None  # all rows were read before
        return number

    def _keep_times(self, word: str) -> None:
        times, start, end = self._options.times, self._seconds("start"), self._seconds("end")
        if times is not None and start is not None and end is not None:
            begin, finish = round(start * 1e9), round(end * 1e9)
            times.add(self._rank, word, begin, finish, self._calls.lines.count)
