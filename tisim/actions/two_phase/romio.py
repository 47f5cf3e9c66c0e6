"""Two-phase I/O of ROMIO: MPICH's MPI-IO, and one of Open MPI's (``io romio321``).

From the sources of ROMIO in MPICH 4: the generic collective reads and writes
(``ADIOI_GEN_ReadStridedColl``, ``ADIOI_GEN_WriteStridedColl``) with the hints of ``ad_hints.c``.
`lustre` is its driver for Lustre.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tisim.actions.script import Script
from tisim.actions.two_phase.plan import (
    TAG,
    Independent,
    Parts,
    Plan,
    Request,
    Round,
    Rounds,
)

BUFFER = 16 << 20  # bytes: cb_buffer_size unless given
_OFFSET = 8  # bytes of an offset
_COUNT = 4  # bytes of a count


def write_parts(script: Script) -> None:
    """Write the exchange of parts: two allgathers, of the first and last offsets."""
    for _ in range(2):
        script.chosen("allgather")(script, 1, _OFFSET, 1, _OFFSET)


def plan_of(request: Request) -> Plan:
    """Return ROMIO's plan for a request.

    Unless the hint is ``enable``, ranks whose parts follow each other in rank order read and
    write independently.
    """
    hint = request.hints.cb_write if request.writes else request.hints.cb_read
    if hint == "disable" or (hint == "automatic" and not is_interleaved(request)):
        return Independent(request)
    rounds = _rounds(request)
    return Independent(request) if rounds is None else TwoPhase(request, rounds)


def is_interleaved(request: Request) -> bool:
    """True if the parts of the ranks do not follow each other in rank order."""
    last_end = None
    for rank, offset in enumerate(request.offsets):
        last, size = request.pieces_of(rank)[-1]
        end = last + size - 1  # the last byte; one before the first of an empty part
        if last_end is not None and offset < last_end and offset <= end:
            return True
        last_end = end
    return False


def aggregators(request: Request) -> list[int]:
    """The first rank on each host, in rank order; at most `cb_nodes` of them if given."""
    first: dict[int, int] = {}
    for rank, host in enumerate(request.placement):
        first.setdefault(host, rank)
    ranks = list(first.values())
    return ranks[: request.hints.cb_nodes or len(ranks)]


def domain_ends(begin: int, end: int, number: int, unit: int) -> list[int]:
    """Ends of the aggregators' domains: evenly spaced, or moved to the nearest stripe ends.

    `begin` is the first requested byte, `end` is past the last one. `number` is the number of
    aggregators. `unit`: bytes of a stripe; 0 if the file has none.
    """
    domain = -(-(end - begin) // number)
    ends = [begin + domain * (place + 1) for place in range(number)]
    if unit:
        ends = [(at + unit // 2) // unit * unit for at in ends]
    return [*(min(at, end) for at in ends[:-1]), end]


def _rounds(request: Request) -> Rounds | None:
    """Divide the range of requested bytes among the aggregators; None if it is empty."""
    parts = Parts(request)
    if parts.end == 0:
        return None
    chosen = aggregators(request)
    unit = 0 if request.striping is None else request.striping.unit
    ends = domain_ends(parts.begin, parts.end, len(chosen), unit)
    buffer = request.hints.cb_buffer_size or BUFFER
    rounds = Rounds(chosen)
    for number, aggregator in enumerate(chosen):
        first = ends[number - 1] if number else parts.begin
        pieces = parts.within(first, ends[number])
        if not pieces:
            continue
        at = pieces[0][0]
        stop = max(piece[1] for piece in pieces)
        own = []
        while at < stop:
            upto = min(at + buffer, stop)
            own.append(Round(at, upto, parts.within(at, upto)))
            at = upto
        rounds.add(aggregator, own, pieces)
    return rounds


@dataclass(frozen=True, slots=True)
class TwoPhase:
    """Rounds of ROMIO: an alltoall of the sizes of an exchange, then the data.

    An aggregator writes its whole buffer. If the buffer has holes, it is read first (data sieving).
    """

    request: Request
    rounds: Rounds

    def write(self, script: Script) -> None:
        """Write the schedule of the script's rank."""
        self.send_pieces_to_aggregators(script)
        script.chosen("allreduce")(script, 1, _COUNT)  # the number of rounds
        for number in range(self.rounds.count):
            if self.request.writes:
                script.chosen("alltoall")(script, 1, _COUNT, 1, _COUNT)
                self.write_round(script, number)
            else:
                self._read_round(script, number)
        if self.request.writes:
            self.wait_for_all(script)

    def wait_for_all(self, script: Script) -> None:
        """Synchronise all ranks after the last write."""
        if len(self.rounds.aggregators) == 1:
            script.chosen("bcast")(script, 1, _COUNT, self.rounds.aggregators[0])
        else:
            script.chosen("allreduce")(script, 1, _COUNT)

    def send_pieces_to_aggregators(self, script: Script) -> None:
        """Exchange each rank's number of pieces per aggregator, then their offsets and lengths."""
        script.chosen("alltoall")(script, 1, _COUNT, 1, _COUNT)
        me = script.rank
        others = self.rounds.pieces.get(me, Counter[int]())
        asked = {
            aggregator: self.rounds.pieces[aggregator][me]
            for number in self.rounds.numbers(me)
            for aggregator, _ in self.rounds.of_rank.get((me, number), ())
        }
        each = 2 * _OFFSET
        requests = [
            script.irecv(rank, each * others[rank], TAG) for rank in sorted(others) if rank != me
        ]
        requests += [
            script.isend(rank, each * asked[rank], TAG) for rank in sorted(asked) if rank != me
        ]
        script.waitall(requests)

    def _read_round(self, script: Script, number: int) -> None:
        own = self.rounds.round_of(script.rank, number)
        if own is not None:
            script.read_file(own.begin, own.end - own.begin)
        script.chosen("alltoall")(script, 1, _COUNT, 1, _COUNT)
        script.waitall(self.rounds.post(script, number, writes=False))

    def write_round(self, script: Script, number: int) -> None:
        """Move the data of a round to the aggregators, which write them."""
        own = self.rounds.round_of(script.rank, number)

        def sieve() -> None:
            if own is not None and own.runs() != [(own.begin, own.end)]:
                script.read_file(own.begin, own.end - own.begin)

        script.waitall(self.rounds.post(script, number, writes=True, before_sending=sieve))
        if own is not None:
            script.write_file(own.begin, own.end - own.begin)
