"""Collective writes of ROMIO's driver for Lustre.

From the sources of ROMIO in MPICH up to 4.1: ``ADIOI_LUSTRE_WriteStridedColl`` with the hints of
``ad_lustre_hints.c``. Reads are the generic ones (`romio`), with domains that end with stripes.
"""

from __future__ import annotations

from dataclasses import dataclass

from tisim.actions.script import Script
from tisim.actions.two_phase import romio
from tisim.actions.two_phase.plan import Independent, Parts, Plan, Request, Round, Rounds, Striping

_OFFSET = 8  # bytes of an offset, and of a sum
_COUNT = 4  # bytes of a count


def plan_of(request: Request, striping: Striping) -> Plan:
    """Return the driver's plan for a write: two phases unless the hint is ``disable``."""
    if request.hints.cb_write == "disable":
        return Independent(request)
    rounds = _rounds(request, striping)
    return Independent(request) if rounds is None else TwoPhase(request, rounds)


def aggregator_count(candidates: int, count: int) -> int:
    """Number of aggregators that write a file: the number of its servers, or a divisor of it.

    Only one aggregator then writes to each server. `candidates`: number of ranks that may be
    aggregators. `count`: servers of the file.
    """
    if candidates >= count:
        return count
    found, divisor = 1, 2
    while count >= divisor * divisor:
        if count % divisor == 0:
            if count // divisor <= candidates:
                return count // divisor
            if divisor <= candidates:
                found = divisor
        divisor += 1
    return found


def _rounds(request: Request, striping: Striping) -> Rounds | None:
    """Deal the stripes to the aggregators in turn; each of them writes one in a round."""
    parts = Parts(request)
    if parts.end == 0:
        return None
    unit = striping.unit
    candidates = romio.aggregators(request)
    number = aggregator_count(len(candidates), striping.count)
    first, last = parts.begin // unit, (parts.end - 1) // unit
    grid = [[Round() for _ in range((last - first) // number + 1)] for _ in range(number)]
    ends = [0] * number
    for stripe in range(first, last + 1):
        pieces = parts.within(stripe * unit, (stripe + 1) * unit)
        if not pieces:
            continue
        mine = stripe % number
        grid[mine][(stripe - first) // number] = Round(pieces[0][0], (stripe + 1) * unit, pieces)
        ends[mine] = max(piece[1] for piece in pieces)
    rounds = Rounds(candidates)
    for mine, own in enumerate(grid):
        for round_ in own:
            round_.end = min(round_.end, ends[mine])
        rounds.add(candidates[mine], own, [piece for round_ in own for piece in round_.pieces])
    return rounds


@dataclass(frozen=True, slots=True)
class TwoPhase(romio.TwoPhase):
    """Rounds of the driver: all ranks know all transfers from the offsets and exchange no sizes.

    An aggregator writes from the first byte of a stripe that a rank writes to the end of the stripe
    or of the aggregator's data. If the range has holes, it reads the range first.
    """

    def write(self, script: Script) -> None:
        """Write the schedule of the script's rank."""
        if not romio.is_interleaved(self.request):  # the mean part size, to compare with hints
            script.chosen("allreduce")(script, 1, _OFFSET)
            script.chosen("allreduce")(script, 1, _COUNT)
        self.send_pieces_to_aggregators(script)
        for _ in range(2):  # the first and the last byte
            script.chosen("allreduce")(script, 1, _OFFSET)
        for number in self.rounds.numbers(script.rank):
            self.write_round(script, number)
        self.wait_for_all(script)
