"""Neighbourhood collectives, with one algorithm whatever the selector.

All receives are posted, then all sends, and then the rank waits, as in Open MPI 4.1
(``coll/basic``); MPICH 4 posts the sends first (``linear``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim._core import PROC_NULL

if TYPE_CHECKING:
    from tisim._core import CollectiveCall
    from tisim.actions.script import Script


def exchange(script: Script, call: CollectiveCall) -> None:
    """Write the messages of a rank, and their wait if `call` blocks."""
    received = _of_each(call.sources, call.receive_count, call.receive_counts, call.receive_width)
    sent = _of_each(call.destinations, call.send_count, call.send_counts, call.send_width)
    requests = [script.irecv(source, nbytes) for source, nbytes in received]
    requests += [script.isend(destination, nbytes) for destination, nbytes in sent]
    if call.blocking:
        script.waitall(requests)


def _of_each(ranks: list[int], count: int, counts: list[int], width: int) -> list[tuple[int, int]]:
    """The neighbours that are ranks, with the bytes of their messages."""
    sizes = counts or [count] * len(ranks)
    pairs = zip(ranks, sizes, strict=True)
    return [(rank, number * width) for rank, number in pairs if rank != PROC_NULL]
