"""The state of a rank at a time, the message that ended it, and its causes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.timeline.causes import MIN_ORIGIN_SHARE, Cause, WaitCauses
from tisim.analysis.timeline.columns import BETWEEN_CALLS
from tisim.analysis.timeline.outliers import describe_between
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.timeline.run_file.reader import Block, rows_in_order
from tisim.analysis.viewer.call_path import functions_of
from tisim.analysis.viewer.call_sites import Sites
from tisim.errors import InputError
from tisim.traces.call_sites import BETWEEN

if TYPE_CHECKING:
    from tisim.analysis.timeline.run_file.reader import BlockTable

    Row = dict[str, object]

# Maximum number of blocks of messages searched for the arrows of a window.
_MAX_BLOCKS = 64
#: Maximum number of states loaded completely for a run's paths: 1.2 GB.
MAX_STATES = 20_000_000
# In a run with more states, this many states before a wait are searched for its cause.
_MAX_STATES_BEFORE = 4_000_000
# Maximum number of causes of a wait listed individually.
_MAX_CAUSES = 8
# Maximum number of call paths listed per computation.
_MAX_PATHS = 50
# Maximum number of runs of samples with the same path listed.
_MAX_RUNS = 100
# Maximum number of messages listed per call.
_MAX_MESSAGES_OF_CALL = 200


class Causes:
    """The state of a rank at any instant, its call, and the causes of its waits."""

    def __init__(self, run: RunFile) -> None:
        self._run = run
        self._waits: tuple[list[int], WaitCauses] | None = None
        #: The call sites of the run.
        self.sites = Sites(run)

    def details(self, rank: int, time: float) -> Row:
        """Return all details of a rank at a time: state, call, message, chain of causes."""
        state, shown, call, line = self._found_at(rank, time)
        return {
            "state": shown,
            "call": None if call is None else self._call(call),
            "message": self._message_of(state, call),
            "messages": [] if call is None else self._messages_in(call),
            **self._explain_wait(state),
            "waiting": self._waiting_for(state),
            "sampled": self._sampled(rank, line),
            "order": self._order(rank, line),
            "site": self.sites.path(rank, line) or self._between(rank, state),
            "host": self._run.info["hosts"][self._run.info["host_of"][rank]],
        }

    def state(self, rank: int, time: float) -> Row:
        """Return the activity of a rank at a time, as far as it is quickly known."""
        _, shown, call, line = self._found_at(rank, time)
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

    def _found_at(self, rank: int, time: float) -> tuple[Block, Row, Block | None, int]:
        """Return a rank's state at a time, its description, its call and its line in the trace."""
        state = self._at(self._run.states, rank, time)
        if state is None:
            raise InputError(f"rank {rank} does nothing at {time} s: its trace has ended")
        call = self._at(self._run.actions, rank, time)
        return state, self._run.states_of(state)[0], call, int(state.numbers("line")[0])

    def _sampled(self, rank: int, line: int) -> list[tuple[str, float]]:
        """Return the call paths that a computation was sampled in, with their shares of it."""
        sampled = self.sites.sampled
        return [] if sampled is None else sampled.of_rank(rank).get(line, [])[:_MAX_PATHS]

    def _order(self, rank: int, line: int) -> Row:
        """Return the first `runs` of samples in the same functions, and the `count` of all runs."""
        if self.sites.sampled is None:
            return {"runs": [], "count": 0}
        named = self.sites.sampled.in_order(rank, line)
        by_functions = groupby(named, key=lambda run: BETWEEN.join(functions_of(run[0])))
        runs = [(path, sum(count for _, count in same)) for path, same in by_functions]
        return {"runs": runs[:_MAX_RUNS], "count": len(runs)}

    def _at(self, table: BlockTable, rank: int, time: float) -> Block | None:
        """Return the record of a rank that contains a time; of several, the longest."""
        for block in table.overlapping(time, time):
            cut = table.read(block).of_rank(rank)
            end = cut.reals("end")
            place = int(np.searchsorted(end, time, side="right"))
            if place < len(cut) and cut.reals("start")[place] <= time:
                return cut.rows(slice(place, place + 1))
            # The end of the run, and of a rank, belongs to the last record.
            if place == len(cut) and place and end[place - 1] == time == self._run.end:
                return cut.rows(slice(place - 1, place))
        return None

    def _between(self, rank: int, state: Block) -> str | None:
        """Return the calls around a state that has no call site itself: a computation."""
        lines = (
            self._line_before(rank, float(state.reals("start")[0])),
            self._line_after(rank, float(state.reals("end")[0])),
        )
        return describe_between(
            *(None if line < 0 else self.sites.path(rank, line) for line in lines)
        )

    def _line_before(self, rank: int, time: float) -> int:
        """Return the line of the last action of a rank that has ended by then; -1 if none."""
        for rows in reversed(self._actions_around(rank, time)):
            place = int(np.searchsorted(rows.reals("end"), time, side="right")) - 1
            if place >= 0:
                return int(rows.numbers("line")[place])
        return -1

    def _line_after(self, rank: int, time: float) -> int:
        """Return the line of the first action of a rank that starts from then on; -1 if none."""
        for rows in self._actions_around(rank, time):
            place = int(np.searchsorted(rows.reals("start"), time, side="left"))
            if place < len(rows):
                return int(rows.numbers("line")[place])
        return -1

    def _actions_around(self, rank: int, time: float) -> list[Block]:
        """Return the actions of a rank from the blocks around a time."""
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
        """Return the message that a rank waits for: its arrival ends the state or a later one."""
        rank, peer = int(state.numbers("rank")[0]), int(state.numbers("peer")[0])
        end = until = float(state.reals("end")[0])
        if peer < 0:
            # A wait ends when the other rank has called; the message arrives later in the call.
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
        """Return the messages whose send or receive a call posted, also within a collective."""
        if self._run.info["kinds"][int(call.numbers("kind")[0])] in BETWEEN_CALLS:
            return []  # posted by a call of zero length at the same instant
        rank = int(call.numbers("rank")[0])
        start, end = float(call.reals("start")[0]), float(call.reals("end")[0])
        table = self._run.messages
        parts = [table.empty()]
        for side, time in (("source", "posted"), ("destination", "received")):
            blocks = table.overlapping(start, end, time, time)
            for block in blocks if len(blocks) <= _MAX_BLOCKS else ():
                rows = table.read(block)
                at = rows.reals(time)
                # A post at the end belongs to the next call.
                inside = (at >= start) & ((at < end) if end > start else (at == start))
                parts.append(rows.rows(inside & (rows.numbers(side) == rank)))
        rows = Block.joined(parts)
        rows = rows.rows(np.argsort(rows.reals("posted"), kind="stable")[:_MAX_MESSAGES_OF_CALL])
        return _messages(rows)

    def waits_until(self, time: float) -> WaitCauses | None:
        """Return the causes of the waits up to a time; None if the file lacks the data."""
        table = self._run.path_states
        if table is None:
            return None
        blocks = [*range(table.blocks)]
        if table.rows > MAX_STATES:
            blocks = table.overlapping(0.0, time)
            size = -(-table.rows // table.blocks)
            blocks = blocks[-max(_MAX_STATES_BEFORE // size, 1) :]
        if self._waits is None or self._waits[0] != blocks:
            with self._run.reading():
                rows = rows_in_order(table, "states", blocks)
                self._waits = blocks, WaitCauses(rows, self._run.ranks)
        return self._waits[1]

    def _explain_wait(self, state: Block) -> Row:
        """Return the causes of a wait, and the chain of ranks to the largest of them."""
        found = self._find(state) if int(state.numbers("cause")[0]) >= 0 else None
        if found is None:
            return {"chain": [], "causes": []}
        waits, row = found
        causes = waits.of(row)
        shown, rest = causes[:_MAX_CAUSES], causes[_MAX_CAUSES:]
        if rest:
            seconds, share = (sum(getattr(part, x) for part in rest) for x in ("seconds", "share"))
            shown.append(Cause(-1, "others", seconds, share, sum(x.parts for x in rest), -1, 0.0))
        return {
            "chain": [
                {
                    **self._named_state(waits, step.row),
                    "explains": step.seconds,
                    "share": step.share,
                }
                for step in waits.chain(row, causes)
            ],
            "causes": [
                {
                    **(self._named_state(waits, cause.row) if cause.row >= 0 else {}),
                    "rank": cause.rank,
                    "state": cause.state,
                    "explains": cause.seconds,
                    "share": cause.share,
                    "parts": cause.parts,
                    "origin": cause.share >= MIN_ORIGIN_SHARE,
                }
                for cause in shown
            ],
        }

    def _named_state(self, waits: WaitCauses, row: int) -> Row:
        """Return a state with names."""
        state, info = waits.rows[row], self._run.info
        words: Row = {
            name: state[name].item() for name in ("rank", "line", "start", "end", "cause")
        }
        return words | {
            "state": info["states"][state["state"]],
            "kind": info["kinds"][state["kind"]],
        }

    def _waiting_for(self, state: Block) -> list[Row] | None:
        """Return the ranks that wait because of a state; None if the run has too many states."""
        if self._run.states.rows > MAX_STATES:
            return None
        found = self._find(state)
        if found is None:
            return []
        waits, row = found
        if not waits.are_summed:
            return None
        return [
            {**self._named_state(waits, wait), "seconds": seconds}
            for _, seconds, wait in waits.waiting_ranks(row)
        ]

    def _find(self, state: Block) -> tuple[WaitCauses, int] | None:
        """Return the wait causes up to a state, and its row in them; None if unknown."""
        end = float(state.reals("end")[0])
        waits = self.waits_until(end)
        if waits is None:
            return None
        row = waits.row_of(int(state.numbers("rank")[0]), float(state.reals("start")[0]), end)
        return None if row is None else (waits, row)

    def messages(self, window: Window, most: int, cells: tuple[int, int] | None = None) -> Row:
        """Return messages posted or in flight in a window, the longest-awaited first.

        `cells` are columns and lanes of a picture: of the messages that begin in the same cell and
        end in the same cell, only the longest-awaited one is returned, with their `count`.
        `waited`: the total seconds that they were waited for.
        """
        table = self._run.messages
        blocks = table.overlapping(window.begin, window.end, "posted", "arrived")
        if len(blocks) > _MAX_BLOCKS:
            return {"messages": [], "all": None}
        parts = [table.empty()]
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
        messages = _messages(rows.rows(order[:most]))
        for row, number, seconds in zip(messages, count.tolist(), sums.tolist(), strict=False):
            row |= {"count": number, "waited": seconds}
        return {"messages": messages, "all": len(rows)}


def _cells_of(rows: Block, window: Window, columns: int, lanes: int) -> NDArray[np.int64]:
    """Return the cells of a picture in which messages begin and end; shape (messages, 4)."""
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
    """Return the rows of an answer from its columns."""
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
