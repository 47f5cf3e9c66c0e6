"""Disks that round what every access has done to whole bytes at every event, as SimGrid does.

At each event of a simulation SimGrid 3.32 takes ``rint(rate * time since the last event)`` bytes
off each access (``disk_s19.cpp``). Here are only the accesses of a test, so that their starts and
ends are all events.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol


class Access(Protocol):
    """One read or write: when it starts, on which disk, and how many bytes it moves."""

    @property
    def start(self) -> float: ...
    @property
    def host(self) -> str: ...
    @property
    def disk(self) -> str: ...
    @property
    def writes(self) -> bool: ...
    @property
    def nbytes(self) -> int: ...


# Seconds: a sleep that ends so soon after an event ends with it (precision/timing).
_PRECISION = 1e-9

#: Bandwidths of reads and writes, in bytes/s, by host and disk.
Bandwidths = dict[tuple[str, str], tuple[float, float]]


def rates(read: float, write: float, reads: int, writes: int) -> tuple[float, float]:
    """What each read and each write of a disk gets: max-min fair shares."""
    both = max(read, write)
    fair = both / (reads + writes)
    of_read = read / reads if reads else math.inf
    of_write = write / writes if writes else math.inf
    if fair <= min(of_read, of_write):
        return fair, fair
    if of_read < of_write:
        return of_read, min(of_write, (both - read) / writes) if writes else 0.0
    return min(of_read, (both - write) / reads) if reads else 0.0, of_write


def rounded_ends(accesses: Sequence[Access], bandwidths: Bandwidths) -> list[float]:
    """When each access ends."""
    ends = [math.nan] * len(accesses)
    waiting = sorted(range(len(accesses)), key=lambda i: accesses[i].start, reverse=True)
    left: dict[int, float] = {}
    now = 0.0
    while waiting or left:
        rate = _rate_of_each(accesses, bandwidths, left)
        delta = min((left[i] / rate[i] for i in left), default=math.inf)
        if waiting:
            delta = min(delta, accesses[waiting[-1]].start - now)
        now += delta
        for i in list(left):
            left[i] -= round(rate[i] * delta)  # half to even, as rint
            if left[i] <= 0:
                ends[i] = now
                del left[i]
        while waiting and accesses[waiting[-1]].start - now < _PRECISION:
            i = waiting.pop()
            left[i] = float(accesses[i].nbytes)
    return ends


def _rate_of_each(
    accesses: Sequence[Access], bandwidths: Bandwidths, active: dict[int, float]
) -> dict[int, float]:
    users = {disk: [0, 0] for disk in bandwidths}
    for i in active:
        users[accesses[i].host, accesses[i].disk][accesses[i].writes] += 1
    shares = {
        disk: rates(*bandwidths[disk], *counts) for disk, counts in users.items() if any(counts)
    }
    return {i: shares[accesses[i].host, accesses[i].disk][accesses[i].writes] for i in active}
