"""Two-phase I/O of OMPIO, Open MPI's own MPI-IO.

From the sources of Open MPI: the component ``fcoll vulcan``, which is chosen for files that are not
on Lustre, with the number of aggregators of ``mca_common_ompio_simple_grouping`` (a cost model by
Jha and Gabriel, 2017) and the defaults of ``io_ompio_component.c``.
"""

from __future__ import annotations

from dataclasses import dataclass

from tisim.actions.script import Script
from tisim.actions.two_phase.plan import (
    Independent,
    Parts,
    Plan,
    Request,
    Round,
    Rounds,
    fill,
)

BUFFER = 32 << 20  # bytes: io_ompio_bytes_per_agg
_RATIO = 8  # minimum ranks per aggregator: io_ompio_max_aggregators_ratio
_CUTOFF = 0.03  # io_ompio_aggregators_cutoff_threshold, a fraction of the predicted time
_MIN_GAIN = 0.001  # minimum gain of more aggregators, in seconds
_OFFSET = 8  # bytes of an offset, and of a sum
_COUNT = 4  # bytes of a count
_MAX_SEQUENTIAL_ROUNDS = 2  # with more rounds, data move while the previous round accesses the disk


def write_parts(script: Script) -> None:
    """Write the exchange of parts: allreduces of the smallest and the largest offset."""
    for _ in range(2):
        script.chosen("allreduce")(script, 1, _OFFSET)


def plan_of(request: Request) -> Plan:
    """Return OMPIO's plan for a request."""
    hint = request.hints.cb_write if request.writes else request.hints.cb_read
    parts = Parts(request)
    if hint == "disable" or parts.end == 0:
        return Independent(request)
    return TwoPhase(request, _rounds(request, parts))


def aggregator_count(ranks: int, part: int, buffer: int) -> int:
    """Return OMPIO's number of aggregators.

    `ranks` is the number of ranks of the communicator. `part`: bytes of a rank's part. `buffer`:
    bytes of an aggregator's buffer.
    """
    step = 2 if ranks < 16 else 4 if ranks < 128 else 16 if ranks < 4096 else 32
    chosen = 1
    time = _cost(ranks, 1, part, buffer)
    gain_before = 0.0
    for count in range(step, ranks + 1, step):
        after = _cost(ranks, count, part, buffer)
        gain = (time - after) / time
        slope = gain if count == step else gain_before - gain
        if slope < _CUTOFF or time - after < _MIN_GAIN:
            break
        time, gain_before, chosen = after, gain, count
    return max(min(chosen, ranks // _RATIO), 1)


def _cost(ranks: int, count: int, part: int, buffer: int) -> float:
    """Seconds of an exchange in OMPIO's LogGP model, with the values of its source code."""
    latency, overhead, per_byte = 1.84e-6, 1.49e-6, 0.67e-9
    rounds = ranks * part // count / buffer
    size = min(part, buffer)
    sent = part / size
    gap = 1.08e-6 if size < BUFFER else 11.9e-6
    arriving = 1.0 if part > buffer else buffer / part
    send = sent * (latency + 2 * overhead + (size - 1) * per_byte)
    receive = rounds * (
        latency + 2 * overhead + (arriving - 1) * gap + (size - 1) * arriving * per_byte
    )
    return send + receive


def aggregators(request: Request) -> list[int]:
    """First ranks of groups of consecutive ranks, whose sizes are as equal as possible."""
    buffer = request.hints.cb_buffer_size or BUFFER
    part = max(sum(request.sizes) // request.size, 1)
    count = request.hints.cb_nodes or aggregator_count(request.size, part, buffer)
    count = min(count, request.size)
    each, rest = divmod(request.size, count)
    return [group * each + min(group, rest) for group in range(count)]


def _rounds(request: Request, parts: Parts) -> Rounds:
    """Divide the range of bytes evenly among the aggregators; rounds have equal amounts of data."""
    chosen = aggregators(request)
    domain = -(-(parts.end - parts.begin) // len(chosen))
    cycle = max((request.hints.cb_buffer_size or BUFFER) // 2, 1)
    rounds = Rounds(chosen)
    for number, aggregator in enumerate(chosen):
        first = parts.begin + number * domain
        pieces = parts.within(first, min(first + domain, parts.end))
        found: list[Round] = []
        fill(found, pieces, cycle)
        if found:
            rounds.add(aggregator, found, pieces)
    return rounds


@dataclass(frozen=True, slots=True)
class TwoPhase:
    """Rounds of OMPIO: all ranks know all parts; only requested bytes are moved."""

    request: Request
    rounds: Rounds

    def write(self, script: Script) -> None:
        """Write the schedule of the script's rank."""
        self.exchange_pieces(script)
        if self.request.writes:
            self._write(script)
        else:
            self._read(script)

    def exchange_pieces(self, script: Script) -> None:
        """Exchange each aggregator's bytes, the numbers of pieces, then the pieces themselves."""
        count = len(self.rounds.aggregators)
        script.chosen("allreduce")(script, count, _OFFSET)
        script.chosen("allgather")(script, count, _COUNT, count, _COUNT)
        for aggregator in self.rounds.aggregators:
            having = self.rounds.pieces.get(aggregator)
            if not having:
                continue
            counts = [having[rank] for rank in range(script.size)]
            script.chosen("allgatherv")(
                script, counts[script.rank], 2 * _OFFSET, counts, 2 * _OFFSET
            )

    def _exchange(self, script: Script, number: int) -> None:
        script.waitall(self.rounds.post(script, number, writes=self.request.writes))

    def runs(self, script: Script, number: int) -> list[tuple[int, int]]:
        """Contiguous ranges that the rank reads or writes in a round: begin and end of each."""
        own = self.rounds.round_of(script.rank, number)
        return [] if own is None else own.runs()

    def _write(self, script: Script) -> None:
        overlaps = self.rounds.count > _MAX_SEQUENTIAL_ROUNDS
        pending: list[int] = []
        for number in range(self.rounds.count):
            self._exchange(script, number)
            script.waitall(pending)
            pending = []
            for begin, end in self.runs(script, number):
                if overlaps:
                    pending.append(script.start_write(begin, end - begin))
                else:
                    script.write_file(begin, end - begin)
        script.waitall(pending)

    def _read(self, script: Script) -> None:
        overlaps = self.rounds.count > _MAX_SEQUENTIAL_ROUNDS
        pending: list[int] = []
        for number in range(self.rounds.count + 1):
            script.waitall(pending)
            pending = []
            for begin, end in self.runs(script, number):
                if overlaps:
                    pending.append(script.start_read(begin, end - begin))
                elif number < self.rounds.count:
                    script.read_file(begin, end - begin)
            if overlaps and number > 0:
                self._exchange(script, number - 1)
            elif not overlaps and number < self.rounds.count:
                self._exchange(script, number)
