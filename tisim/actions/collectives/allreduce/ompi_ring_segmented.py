"""Reduction of very long messages around a ring, in segments of about 1 MiB."""

from __future__ import annotations

from typing import NamedTuple

from tisim.actions.collectives.allreduce.lr import lr
from tisim.actions.collectives.topology import segment_elements
from tisim.actions.script import Endpoint

_SEGMENT_BYTES = 1 << 20


class _Parts(NamedTuple):
    """A number of elements in parts that differ by one at most, the longer ones first."""

    shorter: int
    longer_ones: int

    def length(self, part: int) -> int:
        return self.shorter + (1 if part < self.longer_ones else 0)


def ompi_ring_segmented(s: Endpoint, count: int, size: int) -> None:
    """Reduce-scatter around the ring segment after segment, then pass the blocks around it.

    Parameters
    ----------
    s
        A rank of the communicator.
    count, size
        Number of elements and the width of one in bytes.

    Notes
    -----
    Open MPI's `coll/tuned` (`allreduce_intra_ring_segmented`): J. Pjesivac-Grbovic et al.,
    "Performance analysis of MPI collective operations", Cluster Computing 10 (2007). A message of
    less than one segment a rank goes to `lr`.
    """
    if s.size == 1:
        return
    segment = segment_elements(_SEGMENT_BYTES, size, count)
    if count < s.size * segment or count == 0:
        lr(s, count, size)
        return
    phases, rest = divmod(count, s.size * segment)
    if rest >= s.size and rest > s.size * segment // 2:
        phases += 1
    blocks = _Parts(*divmod(count, s.size))
    right, left = (s.rank + 1) % s.size, (s.rank - 1) % s.size
    longest = _Parts(*divmod(blocks.length(0), phases)).length(0)
    for phase in range(phases):
        receive = s.irecv(left, longest * size)
        for step in range(s.size - 1):
            block = blocks.length((s.rank - step) % s.size)
            if step:
                following = s.irecv(left, longest * size)
                s.wait(receive)
                receive = following
            s.send(right, _Parts(*divmod(block, phases)).length(phase) * size)
        s.wait(receive)
    for step in range(s.size - 1):
        block = blocks.length((s.rank + 1 - step) % s.size)
        s.sendrecv(right, block * size, 0, left, blocks.length(0) * size, 0)
