"""A trace line becomes the call of an algorithm, and a wrong line becomes one clear sentence."""

from __future__ import annotations

import pytest

from tisim import _core
from tisim.actions import script as codes
from tisim.actions.collectives import catalogue
from tisim.actions.collectives.catalogue import Algorithm
from tisim.actions.script import Script
from tisim.actions.vocabulary import COLLECTIVES, TYPE_WIDTHS, expand
from tisim.errors import InputError


class Choice:
    """A configuration that names `algorithm` for every operation."""

    def __init__(self, algorithm: str = "default") -> None:
        self.name = algorithm
        self.asked: list[str] = []

    def collective(self, operation: str) -> str:
        return self.name

    def algorithm(self, operation: str) -> Algorithm:
        self.asked.append(operation)
        return catalogue.algorithm(operation, self.name)


def schedule(
    line: str, rank: int = 0, size: int = 4, *, double: bool = False, config: Choice | None = None
) -> Script:
    word, *numbers = line.split()
    return expand(
        word,
        [float(n) for n in numbers],
        double_default=double,
        rank=rank,
        size=size,
        placement=None,
        config=config or Choice(),
    )


def test_every_type_has_its_width() -> None:
    widths = (
        "8 4 1 2 8 4 1 8 1 1 2 4 8 8 16 4 1 1 2 4 8 1 2 4 8 8 16 32 8 8 8 16 16 8 8 8 16 16 4 4"
    )
    widths += " 8 16 8 16 16 4 2 4 8 16 32 1 8 16 32 0 0 1 8 8"
    assert {-1: 0, **dict(enumerate(map(int, widths.split())))} == TYPE_WIDTHS


def test_the_default_type() -> None:
    assert schedule("bcast 10", 1).sizes == [10]
    assert schedule("bcast 10", 1, double=True).sizes == [80]
    assert schedule("bcast 10 0 1", 1, double=True).sizes == [40]


def test_a_root_may_be_left_away() -> None:
    assert schedule("reduce 5 2 6", 1).peers[:1] == [2]
    assert schedule("reduce 5", 1).peers[:1] == [0]


def test_counts_of_64_bits_and_with_exponents() -> None:
    assert schedule("bcast 1e12 0 0", 1).sizes == [8e12]


@pytest.mark.parametrize(
    ("line", "rank", "sizes"),
    [
        ("gather 3 4 0 0 1", 1, [24]),
        ("gather 3 4 0 0 1", 0, [16] * 3),
        ("gatherv 2 1 2 3 4 0 1 1", 0, [8, 12, 16]),
        ("gatherv 2 0 0 0 0 0 1 1", 3, [8]),
        ("scatter 3 4 1 0 1", 0, [16]),
        ("scatterv 1 2 3 4 9 0 1 1", 0, [8, 12, 16]),
        ("scatterv 0 0 0 0 3 0 1 1", 2, [12]),
        ("allgatherv 2 1 2 3 4 1 1", 1, [8, 4, 8, 12, 8, 16]),
        ("allgatherv 2 1 2 3 4 1 1 0 1 3 6", 1, [8, 4, 8, 12, 8, 16]),
        ("allgatherv 2 1 2 3 4 0 1 3 6", 1, [2, 1, 2, 3, 2, 4]),
        ("allgatherv 2 1 2 3 4", 1, [2, 1, 2, 3, 2, 4]),
        ("alltoallv 10 1 2 3 4 10 5 6 7 8 1 3", 3, [10, 12, 14, 4, 8, 12]),
        ("scan 7 3", 1, [14, 14, 14]),
    ],
)
def test_sizes(line: str, rank: int, sizes: list[int]) -> None:
    script = schedule(line, rank)
    kinds = zip(script.kinds, script.sizes, strict=True)
    assert [size for kind, size in kinds if kind not in (codes.WAIT, codes.WAITALL)] == sizes


def test_the_flops_of_reducescatter_come_last() -> None:
    script = schedule("reducescatter 1 1 1 1 5e6 0", 2)
    assert (script.kinds[-1], script.sizes[-1]) == (codes.COMPUTE, 5e6)
    assert codes.COMPUTE not in schedule("reducescatter 1 1 1 1 0 0", 2).kinds


def test_the_configuration_names_the_algorithm() -> None:
    config = Choice("ompi")
    schedule("reducescatter 1 1 1 1 0", config=config)
    assert config.asked[0] == "reduce_scatter"


def test_nested_collectives_are_those_of_the_configuration() -> None:
    config = Choice("redbcast")
    with pytest.raises(InputError, match="reduce has no algorithm 'redbcast'"):
        schedule("allreduce 10", config=config)
    assert config.asked == ["allreduce", "reduce"]


def test_a_broadcast_to_nobody_chooses_nothing() -> None:
    config = Choice("no such name")
    assert schedule("bcast 10", 0, 1, config=config).kinds == []
    assert config.asked == []


@pytest.mark.parametrize("word", sorted(w for w in COLLECTIVES if w.startswith("i")))
def test_non_blocking_collectives_start_and_do_not_wait(word: str) -> None:
    numbers = {
        "ibarrier": "", "igatherv": "1 1 1 1 1", "iscatterv": "1 1 1 1 1",
        "iallgatherv": "1 1 1 1 1", "ialltoallv": "4 1 1 1 1 4 1 1 1 1",
        "ireducescatter": "1 1 1 1 0", "igather": "1 1", "iscatter": "1 1", "ialltoall": "1 1",
        "iallgather": "1 1",
    }.get(word, "1")  # fmt: skip
    for rank in range(4):
        script = schedule(f"{word} {numbers}", rank)
        assert script.requests == len(script.kinds) > 0
        assert set(script.kinds) <= {codes.ISEND, codes.IRECV}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bcast", r"too few arguments: write bcast with count \[root \[type\]\]"),
        ("bcast 1 0 0 7", "too many arguments: write bcast with"),
        ("barrier 1", "too many arguments: write barrier with no argument"),
        ("gatherv 1 1 1", "too few arguments: write gatherv with scount, a count a rank"),
        ("bcast -1", "bcast: a count cannot be negative, got -1"),
        ("reducescatter 1 1 1 1 -2", "flops cannot be negative, got -2"),
        ("bcast 1 4", "root 4 is not a rank of a communicator of 4 ranks"),
        ("bcast 1 -1", "root -1 is not a rank"),
        ("bcast 1 0 60", "there is no type 60; types are numbered from -1 to 59"),
        ("reducescatter 1 1 1 1 nan", "flops cannot be negative, got nan"),
    ],
)
def test_wrong_lines(line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        schedule(line)


def test_the_core_s_types_are_the_same() -> None:
    for number in range(-5, 80):
        assert _core.type_width(number) == TYPE_WIDTHS.get(number)


def test_every_collective_of_the_core_is_known() -> None:
    words = {_core.operation_name(number) for number in range(15)}
    assert words == {word for word in COLLECTIVES if not word.startswith("i")}
