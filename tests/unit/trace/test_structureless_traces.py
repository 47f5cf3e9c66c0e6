"""Packed traces of ranks without structure, alone and beside ranks that have it."""

from __future__ import annotations

import lzma
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tisim.traces import Trace, pack, unpack

RANKS = 8
#: Of a file, its sections and names.
FEW_BYTES = 64

Lines = list[str]


def ring(rank: int, iterations: int) -> Lines:
    """A program with structure."""
    before, behind = (rank - 1) % RANKS, (rank + 1) % RANKS
    body = ["compute 1000", f"irecv {before} 1 64", f"isend {behind} 1 64", "waitall"]
    return ["init", *(body * iterations), "finalize"]


def calls_of_all_kinds(source: random.Random) -> str:
    number = source.randrange(10**6)
    return source.choice(
        [
            f"compute {number}",
            f"compute {source.random() * 1e9:.3f}",
            f"isend {source.randrange(RANKS)} {source.randrange(9)} {number}",
            f"allreduce {number} {source.randrange(77)}",
            f"bcast {source.randrange(2**40)} {source.randrange(RANKS)} {source.choice([0, 6])}",
            "barrier",
        ]
    )


def large_numbers(source: random.Random) -> str:
    numbers = [source.randrange(2**30) for _ in range(2)]
    return f"recv {source.randrange(RANKS)} {numbers[0]} {numbers[1]}"


def vector_collectives(source: random.Random) -> str:
    sizes = " ".join(str(source.randrange(1000)) for _ in range(RANKS))
    return f"reducescatter {sizes} {source.randrange(99)} 0"


KINDS = [calls_of_all_kinds, large_numbers, vector_collectives]


def texts(lines: list[Lines]) -> list[str]:
    return ["".join(f"{rank} {line}\n" for line in own) for rank, own in enumerate(lines)]


def packed_size(lines: list[Lines], folder: Path) -> int:
    """Bytes of the packed trace."""
    text = folder / "text"
    text.mkdir(exist_ok=True)
    for path in text.iterdir():
        path.unlink()
    for rank, content in enumerate(texts(lines)):
        (text / f"rank-{rank}.txt").write_text(content)
    pack(text, folder / "x.tit")
    return (folder / "x.tit").stat().st_size


@pytest.mark.parametrize("calls", [1, 10, 400])
@pytest.mark.parametrize("kind", KINDS)
def test_ranks_with_and_without_structure_take_what_each_takes_alone(
    kind: Callable[[random.Random], str], calls: int, tmp_path: Path
) -> None:
    source = random.Random(3)
    regular = [ring(rank, 300) for rank in range(RANKS // 2)]
    random_ranks = [[kind(source) for _ in range(calls)] for _ in range(RANKS // 2)]
    together = packed_size(regular + random_ranks, tmp_path)
    halves = packed_size(regular, tmp_path) + packed_size(random_ranks, tmp_path)
    ranks = sum(packed_size([own], tmp_path) for own in regular + random_ranks)
    assert together <= min(halves, ranks) + FEW_BYTES


def test_sizes_of_vector_collectives_stand_in_columns(tmp_path: Path) -> None:
    source = random.Random(4)
    lines = [[vector_collectives(source) for _ in range(400)] for _ in range(RANKS)]
    packed = packed_size(lines, tmp_path)
    assert packed < 0.9 * len(lzma.compress("".join(texts(lines)).encode(), preset=9))
    unpack(tmp_path / "x.tit", tmp_path / "again")
    for rank, content in enumerate(texts(lines)):
        assert (tmp_path / "again" / f"rank-{rank}.txt").read_text() == content


def many_digits(print_volume: Callable[[float], str]) -> Callable[[random.Random], Lines]:
    def lines(source: random.Random) -> Lines:
        return [f"compute {print_volume(source.random() * 1e9)}", "barrier"]

    return lines


def words(source: random.Random) -> Lines:
    names = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    return ["# " + " ".join(source.choices(names, k=source.randrange(1, 9))), "barrier"]


def custom_actions(source: random.Random) -> Lines:
    return [f"weigh {source.random():.4f} {source.randrange(10**4)} unit={source.choice('abc')}"]


def random_bits(source: random.Random) -> Lines:
    return [f"# {source.getrandbits(128):x}", "barrier"]


UNUSUAL = {
    "repr": many_digits(repr),
    "repr below 1": many_digits(lambda volume: repr(volume / 1e9)),
    "17 digits": many_digits("{:.17g}".format),
    "16 decimals": many_digits("{:.16e}".format),
    "17 decimals": many_digits("{:.17e}".format),
    "large": many_digits(lambda volume: f"{volume * 1000:f}"),
    "words": words,
    "custom actions": custom_actions,
    "bits": random_bits,
    "beyond 17 digits": many_digits("{:.10f}".format),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_unusual_texts_take_no_more_than_through_xz(name: str, tmp_path: Path) -> None:
    source = random.Random(6)
    lines = [[line for _ in range(100) for line in UNUSUAL[name](source)] for _ in range(2 * RANKS)]
    packed = packed_size(lines, tmp_path)
    written = texts(lines)
    assert packed < len(lzma.compress("".join(written).encode(), preset=9))
    unpack(tmp_path / "x.tit", tmp_path / "again")
    for rank, content in enumerate(written):
        assert (tmp_path / "again" / f"rank-{rank}.txt").read_text() == content


def test_numbers_of_many_digits_are_read_as_their_text_is(tmp_path: Path) -> None:
    source = random.Random(7)
    scales = [10.0**power for power in range(-5, 24)]
    prints = [repr, "{:.17g}".format, "{:.16e}".format, "{:.15e}".format, "{:.12f}".format]
    lines = [
        [
            line
            for scale in scales
            for show in prints
            for line in (f"compute {show(source.random() * scale)}", "barrier")
        ]
        for _ in range(RANKS)
    ]
    packed_size(lines, tmp_path)
    text, packed = Trace.open(tmp_path / "text"), Trace.open(tmp_path / "x.tit")
    for rank in range(RANKS):
        volumes = [
            [
                row["amount"]
                for batch in trace.operations(rank)
                for row in batch[batch["amount"] > 0]
            ]
            for trace in (packed, text)
        ]
        assert volumes[0] == volumes[1]
        assert len(volumes[0]) == len(scales) * len(prints)
