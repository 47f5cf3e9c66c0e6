"""Collective writes of OMPIO on Lustre: Open MPI's component ``fcoll dynamic_gen2``.

From the sources of Open MPI 4 and 5 (``fcoll_dynamic_gen2_file_write_all.c``). Reads are those of
`ompio`.
"""

from __future__ import annotations

from dataclasses import dataclass

from tisim.actions.script import Script
from tisim.actions.two_phase import ompio
from tisim.actions.two_phase.plan import (
    Independent,
    Parts,
    Plan,
    Request,
    Round,
    Rounds,
    Striping,
    fill,
)


def plan_of(request: Request, striping: Striping) -> Plan:
    """Return the component's plan for a write."""
    parts = Parts(request)
    if request.hints.cb_write == "disable" or parts.end == 0:
        return Independent(request)
    return TwoPhase(request, _rounds(request, parts, striping), striping.unit)


def aggregators(ranks: int, striping: Striping, cb_nodes: int) -> list[int]:
    """One rank per server of the file, evenly spaced; `cb_nodes` applies to a single server."""
    count = striping.count if striping.count > 1 else max(cb_nodes, 1)
    count = min(count, ranks)
    return [number * ranks // count for number in range(count)]


def _rounds(request: Request, parts: Parts, striping: Striping) -> Rounds:
    """Deal the stripes to the aggregators in turn; in a round, each has half a buffer of data."""
    chosen = aggregators(request.size, striping, request.hints.cb_nodes)
    cycle = max((request.hints.cb_buffer_size or ompio.BUFFER) // 2, 1)
    unit = striping.unit
    found: list[list[Round]] = [[] for _ in chosen]
    pieces: list[list[tuple[int, int, int]]] = [[] for _ in chosen]
    for stripe in range(parts.begin // unit, (parts.end - 1) // unit + 1):
        mine = stripe % len(chosen)
        wanted = parts.within(stripe * unit, (stripe + 1) * unit)
        pieces[mine] += wanted
        fill(found[mine], wanted, cycle)
    rounds = Rounds(chosen)
    for aggregator, own, having in zip(chosen, found, pieces, strict=True):
        if own:
            rounds.add(aggregator, own, having)
    return rounds


@dataclass(frozen=True, slots=True)
class TwoPhase(ompio.TwoPhase):
    """Rounds of the component: the data of the next round move while one is written.

    A write never crosses the end of a stripe, and an aggregator waits for each write. `unit`: bytes
    of a stripe.
    """

    unit: int

    def write(self, script: Script) -> None:
        """Write the schedule of the script's rank."""
        self.exchange_pieces(script)
        pending: list[int] = []
        numbers = self.rounds.numbers(script.rank)
        for place, number in enumerate(numbers):
            if place == 0 or numbers[place - 1] < number - 1:
                pending = self.rounds.post(script, number, writes=True)
            following = self.rounds.post(script, number + 1, writes=True)
            script.waitall(pending)
            pending = following
            for begin, end in self.runs(script, number):
                at = begin
                while at < end:
                    upto = min(end, (at // self.unit + 1) * self.unit)
                    script.write_file(at, upto - at)
                    at = upto
