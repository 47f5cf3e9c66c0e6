"""Rings over the NVLinks of a node without a switch, as NCCL's search finds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from tisim.errors import InputError

_Links = dict[tuple[int, int], int]  # from one GPU to another: NVLinks that no ring takes yet
_Path = tuple[tuple[int, int], ...]


def find_rings(
    cables: Sequence[tuple[int, int, int]], gpus: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    """The most rings over some GPUs that share no NVLink, each as the GPUs that it passes.

    Rings are directed cycles over all the GPUs. Where there are none, a step may lead through a
    third GPU (which then stands twice in its ring), as NCCL does from 2.10 on.

    Parameters
    ----------
    cables
        NVLinks between two GPUs, each direction with its own bandwidth: the two, and how many.
    gpus
        Those of the rings.

    Raises
    ------
    InputError
        If NVLinks do not join the GPUs.
    """
    return _find_rings(tuple(cables), tuple(sorted(gpus)))


@lru_cache(maxsize=256)
def _find_rings(
    cables: tuple[tuple[int, int, int], ...], gpus: tuple[int, ...]
) -> tuple[tuple[int, ...], ...]:
    inside = set(gpus)
    links: _Links = {}
    for one, other, count in cables:
        if one in inside and other in inside:
            links[one, other] = links[other, one] = count
    for through in (False, True):
        best: list[tuple[int, ...]] = []
        _extend(links, gpus, through, [], best)
        if best:
            return tuple(best)
    raise InputError(f"NVLinks do not join the GPUs {', '.join(map(str, gpus))} of a node")


def _extend(
    links: _Links,
    gpus: Sequence[int],
    through: bool,
    found: list[tuple[int, ...]],
    best: list[tuple[int, ...]],
) -> bool:
    """Add rings to those found; True: as many as the GPU with the fewest NVLinks can have."""
    free = min(sum(links.get((gpu, other), 0) for other in gpus) for gpu in gpus)
    if len(found) > len(best):
        best[:] = found
        if free == 0:
            return True
    if len(found) + free <= len(best):
        return False
    for ring in _rings(links, gpus, through):
        steps = list(zip(ring, (*ring[1:], ring[0]), strict=True))
        for step in steps:
            links[step] -= 1
        done = _extend(links, gpus, through, [*found, ring], best)
        for step in steps:
            links[step] += 1
        if done:
            return True
    return False


def _rings(
    links: Mapping[tuple[int, int], int], gpus: Sequence[int], through: bool
) -> Iterator[tuple[int, ...]]:
    """Rings over the free NVLinks, those first that take the widest."""

    def grow(
        ring: tuple[int, ...], left: frozenset[int], used: _Links
    ) -> Iterator[tuple[int, ...]]:
        here = ring[-1]
        for goal in sorted(left, key=lambda gpu: -links.get((here, gpu), 0)) or [gpus[0]]:
            for way in _ways(here, goal):
                steps = list(zip((here, *way), (*way, goal), strict=True))
                taken = dict(used)
                for step in steps:
                    taken[step] = taken.get(step, 0) + 1
                if any(taken[step] > links.get(step, 0) for step in steps):
                    continue
                if left:
                    yield from grow((*ring, *way, goal), left - {goal}, taken)
                else:
                    yield (*ring, *way)

    def _ways(here: int, goal: int) -> Iterator[tuple[int, ...]]:
        yield ()
        if through and not links.get((here, goal), 0):
            yield from ((gpu,) for gpu in gpus if gpu not in (here, goal))

    yield from grow((gpus[0],), frozenset(gpus[1:]), {})
