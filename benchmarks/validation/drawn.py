"""Randomly drawn programs: kinds, sizes and numbers of ranks."""

from __future__ import annotations

import random
from collections.abc import Iterator

from benchmarks.validation import programs as known
from benchmarks.validation.programs import KB, Program, written
from tisim.traces.generate import Halo2D, Halo3D, Ring, Sparse, Transpose

# Bytes of a message, or of a rank's part of a collective, log-uniformly distributed.
_MIN_BYTES, _MAX_BYTES = 500, 400 * KB
_RANKS = (3, 4, 5, 6, 7, 8)


def drawn(count: int, seed: int) -> Iterator[Program]:
    """Yield `count` programs, cycling through the kinds; deterministic for a seed."""
    chance = random.Random(seed)
    titles: set[str] = set()
    kind = 0
    while len(titles) < count:
        program = _one(kind, chance)
        kind += 1
        if program.title not in titles:
            titles.add(program.title)
            yield program


def _one(kind: int, chance: random.Random) -> Program:
    """Return a program of one kind."""
    ranks = chance.choice(_RANKS)
    size = 8 * round(_MIN_BYTES / 8 * (_MAX_BYTES / _MIN_BYTES) ** chance.random())
    compute = chance.choice((0.0, 2e6, 2e7))
    halo = Halo2D(ranks=ranks, nbytes=size, iterations=4, compute=compute)
    makers = (
        lambda: known.incast(size, ranks),
        lambda: known.collective(chance.choice(("bcast", "reduce", "allreduce")), size, ranks),
        lambda: known.fan_out(size, ranks),
        lambda: known.collective(chance.choice(("gather", "scatter", "scan")), size, ranks),
        lambda: known.shift(size, ranks),
        lambda: known.collective(chance.choice(("allgather", "alltoall")), size, ranks),
        lambda: known.exchange(size, ranks - ranks % 2, chance.random() < 0.5),
        lambda: known.pattern(f"halo2d {size} B, {compute:g}", halo, size),
        lambda: known.chain(size, ranks, chance.randint(4, 20)),
        lambda: known.non_blocking(
            chance.choice(("ibcast", "iallreduce", "ireduce", "iallgather")), size, ranks, compute
        ),
        lambda: known.pipeline(size, ranks),
        lambda: _unequal(size, ranks, chance),
        lambda: known.tested_ring(size, ranks),
        lambda: _pattern(size, ranks, chance),
    )
    return makers[kind % len(makers)]()


def _unequal(size: int, ranks: int, chance: random.Random) -> Program:
    """Return an alltoallv with a different size for each pair of ranks."""
    sizes = [[round(size * chance.random()) for _ in range(ranks)] for _ in range(ranks)]

    def lines(rank: int, _: int) -> list[str]:
        sent, received = sizes[rank], [row[rank] for row in sizes]
        counts = [" ".join(map(str, (sum(part), *part))) for part in (sent, received)]
        return ["barrier", *[f"alltoallv {' '.join(counts)}"] * 3]

    return written(f"alltoallv up to {size} B", "alltoall", ranks, size, lines)


def _pattern(size: int, ranks: int, chance: random.Random) -> Program:
    """Return one of the patterns of applications."""
    shapes = {
        "halo3d": Halo3D(ranks=ranks, nbytes=size, iterations=3, compute=1e6),
        "ring": Ring(ranks=ranks, nbytes=size, iterations=2),
        "sparse": Sparse(ranks=ranks, nbytes=size, iterations=3),
        "transpose": Transpose(ranks=ranks, nbytes=size, iterations=2),
    }
    name = chance.choice([*shapes])
    return known.pattern(f"{name} {size} B", shapes[name], size)
