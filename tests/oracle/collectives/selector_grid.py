"""Calls on both sides of the selectors' thresholds, for the comparison with SimGrid.

``python -m tests.oracle.collectives.selector_grid [SELECTOR ...] [--seed N] [--ranks N ...]`` runs
the full grid, every selector and operation on every placement, and prints the differences and what
SimGrid itself cannot do; it takes about an hour.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.oracle.collectives.messages import OPERATIONS, Call, check, selected
from tests.oracle.simgrid_exec import OracleError
from tisim.actions import nodes
from tisim.actions.script import Script
from tisim.actions.selectors import impi, mvapich2, ompi
from tisim.actions.selectors.choice import Facts, read_tables

SELECTORS = ("ompi", "mpich", "mvapich2", "impi")
RANKS = (2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64)

#: Maximum number of bytes per call, summed over all pairs of ranks, and per vector.
MAX_VOLUME = 96 << 20
MAX_BYTES = 4 << 20

_DOUBLE, _INT, _BYTE = 0, 1, 6
_WIDTH = {_DOUBLE: 8, _INT: 4, _BYTE: 1}
_SEGMENTED = {
    "ompi_pipeline", "ompi_chain", "ompi_binary", "ompi_binomial", "ompi_in_order_binary",
    "ompi_ring_segmented",
}  # fmt: skip
_MPICH = (256, 2048, 12288, 32768, 81920, 524288)


def placements(ranks: int, rng: random.Random) -> Iterator[list[int]]:
    """Yield the hosts of the ranks: 1, 2, 4 or 16 per host, round-robin, and uneven."""
    for each in (1, 2, 4, 8, 16):
        if ranks % each == 0 and (each == 1 or ranks >= each):
            yield [rank // each for rank in range(ranks)]
    if ranks > 2:
        yield [rank % ((ranks + 1) // 2) for rank in range(ranks)]
        uneven = sorted(rng.randrange(max(2, ranks // 3)) for _ in range(ranks))
        yield uneven
        shuffled = list(uneven)
        rng.shuffle(shuffled)
        yield shuffled


def thresholds(selector: str, operation: str) -> list[int]:
    """Return sizes in bytes at which the selector's decision may change, and neighbouring sizes."""
    bounds = {0, 1, *(1 << k for k in range(4, 23, 3))}
    tables = {} if selector == "mpich" else read_tables(selector)
    found = [rows for key, rows in tables.items() if key.split()[0] == operation]
    entries = [entry for rows in found for row in rows for entry in row.sizes + row.on_host]
    bounds |= {int(entry[0]) for entry in entries if entry[0] < MAX_BYTES}
    if not found:
        bounds |= set(_MPICH)
    return sorted({b + d for b in bounds for d in (-1, 0, 1) if 0 <= b + d <= MAX_BYTES})


def draw(
    selector: str, operation: str, ranks: int, rng: random.Random, sizes: Sequence[int]
) -> list[Call]:
    """Draw calls of `operation` with `sizes` bytes: any root, several types."""
    return [
        Call(line(operation, ranks, nbytes, rng), selected(selector))
        for nbytes in sizes
        if nbytes * _blocks(operation, ranks) <= MAX_VOLUME
    ]


def _blocks(operation: str, ranks: int) -> int:
    if operation in ("alltoall", "alltoallv", "allgather"):
        return ranks * ranks
    return ranks


def line(operation: str, ranks: int, nbytes: int, rng: random.Random) -> str:
    """Return the line of a call of about `nbytes` bytes."""
    kind = rng.choice((_BYTE, _BYTE, _BYTE, _INT, _DOUBLE))
    count, root = nbytes // _WIDTH[kind], rng.choice((0, rng.randrange(ranks)))
    if operation == "barrier":
        return "barrier"
    if operation in ("bcast", "reduce"):
        return f"{operation} {count} {root} {kind}"
    if operation == "allreduce":
        return f"allreduce {count} {kind}"
    if operation in ("gather", "scatter"):
        return f"{operation} {count} {count} {root} {kind} {kind}"
    if operation in ("allgather", "alltoall"):
        return f"{operation} {count} {count} {kind} {kind}"
    if operation == "alltoallv":
        words = " ".join([str(count)] * ranks)
        return f"alltoallv {count * ranks} {words} {count * ranks} {words} {kind} {kind}"
    mean = count // ranks
    counts = [mean] * ranks
    if rng.random() < 0.5:  # the same sum, unequal
        for _ in range(ranks // 2):
            a, b = rng.randrange(ranks), rng.randrange(ranks)
            moved = rng.randint(0, counts[a])
            counts[a] -= moved
            counts[b] += moved
    counts[-1] += count - mean * ranks
    words = " ".join(map(str, counts))
    return f"reducescatter {words} 0 {kind}"


def allgatherv_lines(ranks: int, nbytes: int, rng: random.Random) -> list[str]:
    """Return the lines of an allgatherv of `nbytes` bytes in total: each has the rank's count."""
    counts = [int(word) for word in line("reduce_scatter", ranks, nbytes, rng).split()[1:-2]]
    words = " ".join(map(str, counts))
    return [f"allgatherv {counts[rank]} {words} {_BYTE} {_BYTE}" for rank in range(ranks)]


def calls_across(
    selector: str, operation: str, ranks: int, rng: random.Random, most: int
) -> list[Call]:
    """Return at most `most` calls with sizes at the thresholds of the selector."""
    sizes = thresholds(selector, operation)
    if operation == "barrier":
        sizes = [0]
    chosen = sorted(rng.sample(sizes, min(most, len(sizes))))
    if operation != "allgatherv":
        return draw(selector, operation, ranks, rng, chosen)
    chosen = [nbytes * rng.choice((1, ranks)) for nbytes in chosen]
    return [
        Call(allgatherv_lines(ranks, nbytes, rng), selected(selector))
        for nbytes in chosen
        if nbytes * ranks <= MAX_VOLUME
    ]


def mixed_calls(selector: str, ranks: int, rng: random.Random, length: int) -> list[Call]:
    """Return calls of all operations in random order: selectors learn from the first ones."""
    calls: list[Call] = []
    while len(calls) < length:
        calls += calls_across(selector, rng.choice(OPERATIONS), ranks, rng, 1)
    return calls


def beyond_simgrid(call: Call, hosts: Sequence[int]) -> str | None:
    """Return why SimGrid's own choice cannot perform the call correctly; None if it can."""
    word, *numbers = call.line(0).split()
    ranks, selector = len(hosts), call.collective("bcast")
    layout = nodes.layout(Script(0, ranks, tuple(hosts)))
    per_host = layout.sizes[0] if layout.uniform else 1
    nbytes = int(numbers[0]) * _WIDTH[int(numbers[-1])] if numbers else 0
    if word in ("alltoall", "alltoallv"):
        return _exchange(word, selector, ranks, nbytes, per_host)
    if word == "allgatherv":
        nbytes = sum(map(int, numbers[1:-2])) * _WIDTH[int(numbers[-1])]
    shares = word in ("bcast", "reduce", "allreduce", "allgatherv")
    if shares and nbytes == 0 and _SEGMENTED & set(_nothing(word, selector, ranks, per_host)):
        return "divides by zero"
    if word == "bcast" and layout.uniform and per_host & (per_host - 1) and ranks > per_host:
        name = _impi_name("bcast", ranks, nbytes, per_host) if selector == "impi" else selector
        return "sends messages to nobody" if name in ("mpich", "SMP_binomial") else None
    if word == "gather" and layout.blocked:
        led = layout.uniform and int(numbers[2]) in layout.leaders
        name = _impi_name("gather", ranks, nbytes, per_host) if selector == "impi" else selector
        choice = mvapich2.choose("gather", Facts(ranks, 0, nbytes, blocked=True))
        assert choice is not None
        if name == "mvapich2" and choice.name == "mvapich2_two_level" and not led:
            return "gathers into nowhere"
    if selector == "impi":
        return _impi(word, ranks, nbytes, per_host, layout.sizes)
    few = word == "allgather" and nbytes <= 1024
    if few and selector == "mvapich2" and layout.uniform and per_host == 16 and ranks > 16:
        return "sends nothing"
    return None


def _impi_name(operation: str, ranks: int, nbytes: int, per_host: int) -> str:
    return impi.choose(operation, Facts(ranks, 0, nbytes, per_host=per_host)).name


def _nothing(word: str, selector: str, ranks: int, per_host: int) -> Iterator[str]:
    """Yield the algorithms of a call without elements that may not support an empty vector."""
    if selector == "impi" and word == "allreduce":
        yield _impi_name("allreduce", ranks, 0, per_host)
    if selector != "ompi":
        return
    name = ompi.choose(word, Facts(ranks)).name
    yield name
    if name in ("lr", "redbcast"):
        yield ompi.choose("reduce", Facts(ranks)).name
    if name in ("lr", "redbcast", "GB"):
        yield ompi.choose("bcast", Facts(ranks)).name


def _exchange(word: str, selector: str, ranks: int, nbytes: int, per_host: int) -> str | None:
    """Return an error for pairwise exchanges, which need a power of two."""
    if ranks & (ranks - 1) == 0:
        return None
    if selector == "mpich":
        pairs = word == "alltoall" and ranks % 2 == 1 and nbytes >= 32768
    elif word == "alltoallv":
        pairs = selector == "ompi" and ompi.choose("alltoallv", Facts(ranks)).name == "ring"
    else:
        of_mvapich2 = mvapich2.choose(word, Facts(ranks, 0, nbytes))
        assert of_mvapich2 is not None
        names = {
            "ompi": ompi.choose(word, Facts(ranks, nbytes)).name,
            "mvapich2": of_mvapich2.name,
            "impi": _impi_name("alltoall", ranks, nbytes, per_host),
        }
        pairs = "ring" in (names[selector], names.get(names[selector]))
    return "needs a power of two" if pairs else None


def _impi(word: str, ranks: int, nbytes: int, per_host: int, sizes: Sequence[int]) -> str | None:
    """Return an error for Rabenseifner without a power of two, or broadcasts that send too much."""
    name = word
    if word == "allreduce":
        name = _impi_name("allreduce", ranks, nbytes, per_host)
        if name == "rab_rdb":
            return "needs a power of two"
        if name == "mvapich2_two_level" and 1 in sizes:  # it broadcasts on each host
            alone = _impi_name("bcast", 1, nbytes, 1)
            return "sends to itself" if alone == "NTSL" else None
    elif word == "allgather":
        name = _impi_name("allgather", ranks, nbytes, per_host)
        nbytes *= ranks
    elif word == "allgatherv":
        name = _impi_name("allgatherv", ranks, nbytes, per_host)
    if name not in ("bcast", "redbcast", "GB") or set(sizes) != {1} or ranks == 1:
        return None
    linear = _impi_name("bcast", ranks, nbytes, per_host) == "SMP_linear"
    return "sends everything twice" if linear else None


def main() -> int:
    """Run the full grid."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("selectors", nargs="*", default=SELECTORS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, nargs="*", default=RANKS)
    parser.add_argument("--operations", nargs="*", default=(*OPERATIONS, "mixed"))
    parser.add_argument("--calls", type=int, default=12)
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    for selector in options.selectors:
        for ranks in options.ranks:
            rng = random.Random(f"{options.seed} {selector} {ranks}")
            for hosts in placements(ranks, rng):
                for operation in options.operations:
                    if operation == "mixed":
                        calls = mixed_calls(selector, ranks, rng, options.calls)
                    else:
                        calls = calls_across(selector, operation, ranks, rng, options.calls)
                    causes = [beyond_simgrid(call, hosts) for call in calls]
                    outcomes.update(f"calls that SimGrid cannot do: {c}" for c in causes if c)
                    able = [call for call, c in zip(calls, causes, strict=True) if c is None]
                    outcomes["calls"] += len(able)
                    outcome = _compare(able, hosts)
                    outcomes[outcome.partition(":")[0]] += 1
                    if outcome != "same":
                        print(f"{selector} {operation} on {hosts}: {outcome}", flush=True)
    print(dict(outcomes))
    return 1 if outcomes["differs"] else 0


def _compare(calls: Sequence[Call], hosts: Sequence[int]) -> str:
    if not calls:
        return "same"
    try:
        check(calls, hosts)
    except AssertionError as error:
        return f"differs: {error}"
    except OracleError as error:
        return f"SimGrid fails: {error}"
    return "same"


if __name__ == "__main__":
    sys.exit(main())
