"""What delayed a rank that others wait for, back to the origin: delay analysis.

Boehme, Wolf, de Supinski, Schulz, Geimer: "Identifying the root causes of wait states in
large-scale parallel applications" (2010). A rank is late because, since it last met the rank that
waits for it, it was busy for longer, or waited itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tisim.analysis.timeline.columns import WAITS
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.timeline.run_file.reader import Block

if TYPE_CHECKING:
    from tisim.analysis.timeline.run_file.reader import BlockTable

    Row = dict[str, object]

# A chain of waits is followed so far.
_LONGEST_CHAIN = 64
# Blocks that are looked through for the last time that two ranks met, and states since then.
_MOST_BLOCKS = 4
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
    """Follows waits to what delayed those who were waited for.

    Parameters
    ----------
    run
        The run.
    """

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
        """What the cause did during the wait for the longest time."""
        if not wait.begin < wait.end:
            return None
        rows = self._states(wait.cause, wait.begin, wait.end)
        if rows is None or not len(rows):
            return None
        return self._longest(rows, wait.begin, wait.end)

    def _delay(self, wait: _Wait) -> Row | None:
        """What has delayed the cause since both last met; None: that cannot be told."""
        import numpy as np

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
        import numpy as np

        inside = np.minimum(rows.reals("end"), end) - np.maximum(rows.reals("start"), begin)
        is_wait = np.isin(rows.numbers("state"), self._waits)
        inside = np.maximum(inside, 0.0)
        return float(inside[~is_wait].sum()), float(inside[is_wait].sum())

    def _longest(self, rows: Block, begin: float, end: float) -> Row:
        """The longest state in a part of the time."""
        import numpy as np

        inside = np.minimum(rows.reals("end"), end) - np.maximum(rows.reals("start"), begin)
        place = int(inside.argmax())
        found: Row = self._run.states_of(rows.rows(slice(place, place + 1)))[0]
        return {**found, "within": float(inside[place]), "longer": None}

    def _last_met(self, wait: _Wait) -> tuple[float, float] | None:
        """When the one that waits, and its cause, last met before the wait.

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
        import numpy as np

        table = self._run.messages
        for count, block in enumerate(_backwards(table, wait.begin, "arrived")):
            if count == _MOST_BLOCKS:
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
        """When a rank last left a collective of all to all between two times, or the earlier one.

        None: it would take too long to find.
        """
        import numpy as np

        table = self._run.actions
        kinds = self._run.info["kinds"]
        meetings = [place for place, name in enumerate(kinds) if name in _MEETINGS]
        latest = table.range_of("end")[1]
        for count, block in enumerate(_backwards(table, time, "end")):
            if latest[block] < since:
                break
            if count == _MOST_BLOCKS:
                return None
            rows = table.read(block)
            low, high = np.searchsorted(rows.numbers("rank"), [rank, rank + 1])
            own = rows.rows(slice(int(low), int(high)))
            fits = np.isin(own.numbers("kind"), meetings) & (own.reals("end") <= time)
            if fits.any():
                return max(float(own.reals("end")[fits].max()), since)
        return since


def _backwards(table: BlockTable, time: float, column: str) -> list[int]:
    """The blocks with rows up to a time, the last one first."""
    import numpy as np

    least, most = table.range_of(column)
    blocks = np.flatnonzero(least <= time)
    return [int(block) for block in blocks[np.argsort(-most[blocks], kind="stable")]]
