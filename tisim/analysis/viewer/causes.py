"""The state of a rank at a time, the message that ended it, and the chain of its causes.

The chain of delays follows Boehme, Wolf, de Supinski, Schulz, Geimer: "Identifying the root causes
of wait states in large-scale parallel applications" (2010). A rank is late because, since it last
met the rank that waits for it, it was busy for longer, or waited itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.timeline.columns import BETWEEN_CALLS, WAITS
from tisim.analysis.timeline.outliers import between, waits_due_to
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.timeline.run_file.reader import Block
from tisim.analysis.viewer.call_sites import Sites
from tisim.errors import InputError

if TYPE_CHECKING:
    from tisim.analysis.timeline.run_file.reader import BlockTable

    Row = dict[str, object]

# A chain of waits is followed so far.
_LONGEST_CHAIN = 64
# Blocks that are looked through for the last time that two ranks met, and states since then.
_MOST_BLOCKS_BACK = 4
_MOST_STATES = 1 << 17
# All ranks of the communicator meet in these.
_MEETINGS = frozenset(
    ["allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "reducescatter"]
)


@dataclass(frozen=True)
class _Wait:
    """A rank waits for another one from `begin` to `end`."""

    rank: int
    cause: int
    begin: float
    end: float


class DelayChain:
    """Follows waits to what delayed those who were waited for."""

    def __init__(self, run: RunFile) -> None:
        self._run = run
        states = run.info["states"]
        self._waits = [states.index(name) for name in WAITS if name in states]

    def of(self, state: Row) -> list[Row]:
        """The states that a wait is due to, one after another, from the rank it waits for.

        Each is a row of the table of states in words. ``within`` are its seconds since the rank and
        the one that waits for it last met; ``longer``, by how many seconds the rank was busy for
        longer than the other since then, None where that is not known.
        """
        chain: list[Row] = []
        seen: set[tuple[int, float]] = set()
        while state["state"] in WAITS and int(str(state["cause"])) >= 0:
            wait = _Wait(
                int(str(state["rank"])),
                int(str(state["cause"])),
                float(str(state["start"])),
                float(str(state["end"])),
            )
            if (wait.cause, wait.end) in seen or len(chain) >= _LONGEST_CHAIN:
                break
            seen.add((wait.cause, wait.end))
            found = self._delay(wait) or self._meanwhile(wait)
            if found is None:
                break
            chain.append(found)
            state = found
        return chain

    def _meanwhile(self, wait: _Wait) -> Row | None:
        """The longest state of the cause during the wait."""
        if not wait.begin < wait.end:
            return None
        rows = self._states(wait.cause, wait.begin, wait.end)
        if rows is None or not len(rows):
            return None
        return self._longest(rows, wait.begin, wait.end)

    def _delay(self, wait: _Wait) -> Row | None:
        """The state that delayed the cause since both last met; None: unknown."""
        since = self._last_met(wait)
        if since is None:
            return None
        late = self._states(wait.cause, since[1], wait.end)
        other = self._states(wait.rank, since[0], wait.begin)
        if late is None or other is None or not len(late):
            return None
        busy, waiting = self._sums(late, since[1], wait.end)
        longer = busy - self._sums(other, since[0], wait.begin)[0]
        is_wait = np.isin(late.numbers("state"), self._waits)
        known = is_wait & (late.numbers("cause") >= 0)
        chosen = known if waiting > max(longer, 0.0) and known.any() else ~is_wait
        if not chosen.any():
            return None
        return {**self._longest(late.rows(chosen), since[1], wait.end), "longer": longer}

    def _states(self, rank: int, begin: float, end: float) -> Block | None:
        if not begin < end:
            return self._run.states.none()
        return Window(self._run, begin, end, rank, rank).records(_MOST_STATES)

    def _sums(self, rows: Block, begin: float, end: float) -> tuple[float, float]:
        """Seconds in which a rank was busy, and waited, in a part of the time."""
        inside = np.maximum(rows.seconds(begin, end), 0.0)
        is_wait = np.isin(rows.numbers("state"), self._waits)
        return float(inside[~is_wait].sum()), float(inside[is_wait].sum())

    def _longest(self, rows: Block, begin: float, end: float) -> Row:
        """The longest state in a part of the time."""
        inside = rows.seconds(begin, end)
        place = int(inside.argmax())
        found: Row = self._run.states_of(rows.rows(slice(place, place + 1)))[0]
        return {**found, "within": float(inside[place]), "longer": None}

    def _last_met(self, wait: _Wait) -> tuple[float, float] | None:
        """The last meeting, before a wait, of the waiting rank and its cause: a time of each.

        They meet when they exchange a message or take part in a collective of all to all. Of the
        message, that is when its source sends, and its destination has it. The beginning of the run
        is a meeting of all. None: it would take too long to find.
        """
        message = self._last_message(wait)
        if message is None:
            return None
        collective = self._end_of_collective(wait.rank, wait.begin, message[0])
        late = self._end_of_collective(wait.cause, wait.end, message[1])
        if collective is None or late is None:
            return None
        # Both have taken part in it, or neither has since the message.
        return (collective, late) if collective > message[0] and late > message[1] else message

    def _last_message(self, wait: _Wait) -> tuple[float, float] | None:
        table = self._run.messages
        for count, block in enumerate(_backwards(table, wait.begin, "arrived")):
            if count == _MOST_BLOCKS_BACK:
                return None
            rows = table.read(block)
            source, destination = rows.numbers("source"), rows.numbers("destination")
            arrived = rows.reals("arrived")
            fits = (source == wait.rank) & (destination == wait.cause)
            fits |= (source == wait.cause) & (destination == wait.rank)
            places = np.flatnonzero(fits & (arrived <= wait.begin))
            if len(places):
                last = int(places[np.argmax(arrived[places])])
                has = float(np.nanmax([arrived[last], rows.reals("received")[last]]))
                sent = float(np.fmin(rows.reals("posted")[last], has))
                is_sender = int(source[last]) == wait.rank
                return (sent, has) if is_sender else (has, sent)
        return 0.0, 0.0

    def _end_of_collective(self, rank: int, time: float, since: float) -> float | None:
        """The time when a rank last left a collective of all to all, `since` at the earliest.

        None: it would take too long to find.
        """
        table = self._run.actions
        kinds = self._run.info["kinds"]
        meetings = [place for place, name in enumerate(kinds) if name in _MEETINGS]
        latest = table.range_of("end")[1]
        for count, block in enumerate(_backwards(table, time, "end")):
            if latest[block] < since:
                break
            if count == _MOST_BLOCKS_BACK:
                return None
            rows = table.read(block)
            own = rows.of_rank(rank)
            fits = np.isin(own.numbers("kind"), meetings) & (own.reals("end") <= time)
            if fits.any():
                return max(float(own.reals("end")[fits].max()), since)
        return since


def _backwards(table: BlockTable, time: float, column: str) -> list[int]:
    """The blocks with rows up to a time, the last one first."""
    least, most = table.range_of(column)
    blocks = np.flatnonzero(least <= time)
    return [int(block) for block in blocks[np.argsort(-most[blocks], kind="stable")]]


# Blocks of messages that are looked through for the arrows of a window.
_MOST_BLOCKS = 64
# States that are looked through for those who wait for one.
_MOST_RECORDS = 500_000
# Call paths of a computation that are listed.
_MOST_PATHS = 50
# Messages of a call that are listed.
_MOST_OF_CALL = 200


class Causes:
    """The state of a rank at any instant, its call, and why it waits."""

    def __init__(self, run: RunFile) -> None:
        self._run = run
        self._delays = DelayChain(run)
        #: The call sites of the run.
        self.sites = Sites(run)

    def details(self, rank: int, time: float) -> Row:
        """All about a rank at a time: its state, the call, the message, the chain of causes."""
        state = self._at(self._run.states, rank, time)
        if state is None:
            raise InputError(f"rank {rank} does nothing at {time} s: its trace is over")
        shown = self._run.states_of(state)[0]
        call = self._at(self._run.actions, rank, time)
        line = int(state.numbers("line")[0])
        return {
            "state": shown,
            "call": None if call is None else self._call(call),
            "message": self._message_of(state, call),
            "messages": [] if call is None else self._messages_in(call),
            "chain": self._delays.of(shown),
            "waiting": self._waiting_for(state),
            "sampled": self._sampled(rank, line),
            "site": self.sites.path(rank, line) or self._between(rank, state),
            "host": self._run.info["hosts"][self._run.info["host_of"][rank]],
        }

    def state(self, rank: int, time: float) -> Row:
        """What a rank does at a time, as far as it is known at once."""
        state = self._at(self._run.states, rank, time)
        if state is None:
            raise InputError(f"rank {rank} does nothing at {time} s: its trace is over")
        shown = self._run.states_of(state)[0]
        call = self._at(self._run.actions, rank, time)
        line = int(state.numbers("line")[0])
        sampled = self._sampled(rank, line)
        of_call = {} if call is None else self._call(call)
        peer, size = shown["peer"], shown["bytes"]
        known_peer = peer if int(str(peer)) >= 0 else of_call.get("peer", -1)
        return {
            **{name: shown[name] for name in ("rank", "state", "kind", "start", "end", "cause")},
            "host": self._run.info["hosts"][self._run.info["host_of"][rank]],
            "site": sampled[0][0] if sampled else self.sites.path(rank, line),
            "peer": known_peer,
            "size": size if int(str(size)) > 0 else of_call.get("bytes", -1),
        }

    def _sampled(self, rank: int, line: int) -> list[tuple[str, float]]:
        """The call paths that a computation was sampled in, with their shares of it."""
        sampled = self.sites.sampled
        return [] if sampled is None else sampled.of_rank(rank).get(line, [])[:_MOST_PATHS]

    def _at(self, table: BlockTable, rank: int, time: float) -> Block | None:
        """The record of a rank in which a time lies; of several, the longest."""
        for block in table.overlapping(time, time):
            cut = table.read(block).of_rank(rank)
            end = cut.reals("end")
            place = int(np.searchsorted(end, time, side="right"))
            if place < len(cut) and cut.reals("start")[place] <= time:
                return cut.rows(slice(place, place + 1))
            # The end of the run, and of a rank, belongs to what is there last.
            if place == len(cut) and place and end[place - 1] == time == self._run.end:
                return cut.rows(slice(place - 1, place))
        return None

    def _between(self, rank: int, state: Block) -> str | None:
        """Between which calls a state lies that has no call site of its own: a computation."""
        lines = (
            self._line_before(rank, float(state.reals("start")[0])),
            self._line_after(rank, float(state.reals("end")[0])),
        )
        return between(*(None if line < 0 else self.sites.path(rank, line) for line in lines))

    def _line_before(self, rank: int, time: float) -> int:
        """The line of the last action of a rank that has ended by then; -1: there is none."""
        for rows in reversed(self._actions_around(rank, time)):
            place = int(np.searchsorted(rows.reals("end"), time, side="right")) - 1
            if place >= 0:
                return int(rows.numbers("line")[place])
        return -1

    def _line_after(self, rank: int, time: float) -> int:
        """The line of the first action of a rank that begins from then on; -1: there is none."""
        for rows in self._actions_around(rank, time):
            place = int(np.searchsorted(rows.reals("start"), time, side="left"))
            if place < len(rows):
                return int(rows.numbers("line")[place])
        return -1

    def _actions_around(self, rank: int, time: float) -> list[Block]:
        """Actions of a rank, from the blocks that hold those around a time."""
        table = self._run.actions
        return [table.read(block).of_rank(rank) for block in table.overlapping(time, time)]

    def _call(self, row: Block) -> Row:
        whole = ("line", "peer", "bytes", "communicator")
        return {
            "kind": self._run.info["kinds"][int(row.numbers("kind")[0])],
            **{name: float(row.reals(name)[0]) for name in ("start", "end", "volume")},
            **{name: int(row.numbers(name)[0]) for name in whole},
        }

    def _message_of(self, state: Block, call: Block | None) -> Row | None:
        """The message that a rank is held up by: its arrival ends the state, or one after it."""
        rank, peer = int(state.numbers("rank")[0]), int(state.numbers("peer")[0])
        end = until = float(state.reals("end")[0])
        if peer < 0:
            # A wait ends when the other has called, and the message arrives later in the call.
            peer = int(state.numbers("cause")[0])
            until = end if call is None else float(call.reals("end")[0])
        if peer < 0:
            return None
        table = self._run.messages
        found: list[Block] = []
        for block in table.overlapping(end, until, "arrived", "arrived"):
            rows = table.read(block)
            source, destination = rows.numbers("source"), rows.numbers("destination")
            fits = (source == peer) & (destination == rank)
            fits |= (source == rank) & (destination == peer)
            arrived = rows.reals("arrived")
            found.append(rows.rows(fits & (arrived >= end) & (arrived <= until)))
        if not any(map(len, found)):
            return None
        rows = Block.joined(found)
        first = int(np.argmin(rows.reals("arrived")))
        return _messages(rows.rows(slice(first, first + 1)))[0]

    def _messages_in(self, call: Block) -> list[Row]:
        """The messages whose send or receive a call posted, also inside a collective."""
        if self._run.info["kinds"][int(call.numbers("kind")[0])] in BETWEEN_CALLS:
            return []  # a call of no length at the same instant has posted them
        rank = int(call.numbers("rank")[0])
        start, end = float(call.reals("start")[0]), float(call.reals("end")[0])
        table = self._run.messages
        found = [table.none()]
        for side, time in (("source", "posted"), ("destination", "received")):
            blocks = table.overlapping(start, end, time, time)
            for block in blocks if len(blocks) <= _MOST_BLOCKS else ():
                rows = table.read(block)
                at = rows.reals(time)
                # A post at the end belongs to the next call.
                inside = (at >= start) & ((at < end) if end > start else (at == start))
                found.append(rows.rows(inside & (rows.numbers(side) == rank)))
        rows = Block.joined(found)
        rows = rows.rows(np.argsort(rows.reals("posted"), kind="stable")[:_MOST_OF_CALL])
        return _messages(rows)

    def _waiting_for(self, state: Block) -> list[Row] | None:
        """Ranks that wait for the rank during a state, directly or not; None: too many states."""
        rank = int(state.numbers("rank")[0])
        begin, end = float(state.reals("start")[0]), float(state.reals("end")[0])
        rows = Window(self._run, begin, end, 0, self._run.ranks - 1).records(_MOST_RECORDS)
        if rows is None:
            return None
        waits = [self._run.info["states"].index(name) for name in WAITS]
        rows = rows.rows(np.isin(rows.numbers("state"), waits))
        who = rows.numbers("rank"), rows.numbers("cause")
        ranks, seconds = waits_due_to(
            rank, begin, end, (*who, rows.reals("start"), rows.reals("end"))
        )
        order = np.argsort(-seconds, kind="stable")
        return rows_of(rank=ranks[order].tolist(), seconds=seconds[order].tolist())

    def messages(self, window: Window, most: int, cells: tuple[int, int] | None = None) -> Row:
        """Messages that are posted or under way in a window, the longest waits for them first.

        With `cells`, columns and lanes of a picture: of the messages that begin in one cell and end
        in one cell, the one that was waited for longest, with their `count`. `waited` are the
        seconds that all of them were waited for.
        """
        table = self._run.messages
        blocks = table.overlapping(window.begin, window.end, "posted", "arrived")
        if len(blocks) > _MOST_BLOCKS:
            return {"messages": [], "all": None}
        parts = [table.none()]
        for block in blocks:
            rows = table.read(block)
            inside = (rows.reals("arrived") >= window.begin) & (rows.reals("posted") <= window.end)
            ends = (rows.numbers("source"), rows.numbers("destination"))
            seen = [window.holds(rank) for rank in ends]
            parts.append(rows.rows(inside & (seen[0] | seen[1])))
        rows = Block.joined(parts)
        waited = np.nan_to_num(rows.reals("arrived") - rows.reals("received"), nan=0.0)
        order = np.argsort(-waited, kind="stable")
        sums: NDArray[np.float64] = np.maximum(waited[order], 0.0)
        count = np.ones(len(order), np.int64)
        if cells is not None:
            places = _cells_of(rows.rows(order), window, *cells)
            _, first, bundle = np.unique(places, axis=0, return_index=True, return_inverse=True)
            of_bundle: NDArray[np.float64] = np.bincount(bundle, sums).astype(np.float64)
            longest = np.argsort(-of_bundle, kind="stable")[:most]
            count, sums = np.bincount(bundle)[longest], of_bundle[longest]
            order = order[first[longest]]
        told = _messages(rows.rows(order[:most]))
        for row, number, seconds in zip(told, count.tolist(), sums.tolist(), strict=False):
            row |= {"count": number, "waited": seconds}
        return {"messages": told, "all": len(rows)}


def _cells_of(rows: Block, window: Window, columns: int, lanes: int) -> NDArray[np.int64]:
    """The cells of a picture in which messages begin and end; shape (messages, 4)."""
    width = (window.end - window.begin) / columns
    places = []
    for rank, time in (("source", "started"), ("destination", "arrived")):
        column = np.nan_to_num((rows.reals(time) - window.begin) / width, nan=-1.0)
        places.append(np.clip(np.floor(column), -columns, 2 * columns).astype(np.int64))
        position = window.positions(rows.numbers(rank)) - window.first
        places.append(position * lanes // window.ranks)
    return np.stack(places, axis=1)


def _messages(rows: Block) -> list[Row]:
    def times(name: str) -> list[object]:
        return [None if math.isnan(time) else time for time in rows.reals(name).tolist()]

    whole = ("source", "destination", "bytes", "tag", "collective")
    columns: dict[str, list[object]] = {name: rows.numbers(name).tolist() for name in whole}
    columns |= {name: times(name) for name in ("posted", "received", "started", "arrived")}
    return rows_of(**columns)


def rows_of(**columns: Sequence[object]) -> list[Row]:
    """Rows of an answer from its columns."""
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
