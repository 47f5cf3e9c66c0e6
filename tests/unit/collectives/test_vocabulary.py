"""Translation of trace calls to schedules, on the world and on other communicators."""

from __future__ import annotations

import json

import pytest

from tests.unit.collectives.schedule_checks import expand
from tests.unit.command_line import CommandLine
from tisim import _core
from tisim.actions import script as codes
from tisim.actions.collectives import catalogue
from tisim.actions.collectives.catalogue import Algorithm
from tisim.actions.script import Script
from tisim.actions.vocabulary import COLLECTIVES
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

    @property
    def selector(self) -> str:
        return self.name


def schedule(
    line: str, rank: int = 0, size: int = 4, *, double: bool = False, config: Choice | None = None
) -> Script:
    word, *numbers = line.split()
    return expand(
        _core.decode_call(word, [float(n) for n in numbers], size, double),
        rank=rank,
        placement=None,
        config=config or Choice(),
    )


def test_every_type_has_its_width() -> None:
    widths = (
        "8 4 1 2 8 4 1 8 1 1 2 4 8 8 16 4 1 1 2 4 8 1 2 4 8 8 16 32 8 8 8 16 16 8 8 8 16 16 4 4"
    )
    widths += " 8 16 8 16 16 4 2 4 8 16 32 1 8 16 32 0 0 1 8 8"
    for number, width in enumerate(map(int, widths.split())):
        assert _core.type_width(number) == width
    assert _core.type_width(-1) == 0
    assert _core.type_width(60) is _core.type_width(-2) is None


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


@pytest.mark.parametrize("word", sorted(f"i{word}" for word in COLLECTIVES))
def test_non_blocking_collectives_start_and_do_not_wait(word: str) -> None:
    numbers = {
        "ibarrier": "", "igatherv": "1 1 1 1 1", "iscatterv": "1 1 1 1 1",
        "iallgatherv": "1 1 1 1 1", "ialltoallv": "4 1 1 1 1 4 1 1 1 1",
        "ireducescatter": "1 1 1 1 0", "igather": "1 1", "iscatter": "1 1", "ialltoall": "1 1",
        "iallgather": "1 1", "ineighbor_allgather": "1 2 1 3 1 1",
        "ineighbor_alltoall": "1 2 1 3 1 1", "ineighbor_allgatherv": "1 2 1 3 1 1",
        "ineighbor_alltoallv": "1 2 1 3 1 1",
    }.get(word, "1")  # fmt: skip
    for rank in range(4):
        script = schedule(f"{word} {numbers}", rank)
        assert script.requests == len(script.kinds) > 0
        assert set(script.kinds) <= {codes.ISEND, codes.IRECV}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bcast", r"^bcast needs count \[root \[type\]\], got 0 arguments \(P is 4"),
        ("bcast 1 0 0 7", r"^bcast needs count \[root \[type\]\], got 4 arguments"),
        ("barrier 1", "^barrier needs no arguments, got 1 argument "),
        ("gatherv 1 1 1", "^gatherv needs scount r0..rP-1 .*, got 3 arguments"),
        ("ibcast", "^ibcast needs count"),
        ("ibcast -1", "^ibcast: a count cannot be negative, got -1"),
        ("bcast 1.5", r"^bcast: a count must be a whole number up to 2\^53, got 1.5"),
        ("bcast -1", "bcast: a count cannot be negative, got -1"),
        ("reducescatter 1 1 1 1 -2", "flops cannot be negative, got -2"),
        ("bcast 1 4", "root 4 is not a rank of a communicator of 4 ranks"),
        ("bcast 1 -1", "root -1 is not a rank"),
        ("bcast 1 0 60", "no type 60; types are numbered from -1 to 59"),
        ("reducescatter 1 1 1 1 nan", "flops cannot be negative, got nan"),
    ],
)
def test_wrong_lines(line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        schedule(line)


def test_a_call_says_what_its_numbers_mean() -> None:
    call = _core.decode_call("igatherv", [2, 1, 2, 3, 4, 3, 1, 0], 4)
    assert (call.operation, call.blocking, call.size, call.root) == ("gatherv", False, 4, 3)
    assert (call.send_count, call.send_width, call.send_counts) == (2, 4, [])
    assert (call.receive_count, call.receive_width) == (0, 8)
    assert call.receive_counts == [1, 2, 3, 4]
    assert all(isinstance(count, int) for count in call.receive_counts)
    assert _core.decode_call("reducescatter", [1, 1, 5e6], 2, double_default=True).flops == 5e6


def test_only_collectives_are_decoded() -> None:
    with pytest.raises(InputError, match="no collective 'allredcue'; did you mean allreduce"):
        _core.decode_call("allredcue", [], 4)
    with pytest.raises(ValueError, match="one rank or more"):
        _core.decode_call("bcast", [1], 0)


def test_every_collective_of_the_core_is_known() -> None:
    words = {_core.operation_name(number) for number in range(19)}
    assert words == COLLECTIVES


SPLIT = "comm_split 0 5 {color} {key}"


def bytes_sent(tisim: CommandLine, *ranks: str) -> list[int]:
    outcome = tisim.replay("--json", "-", tisim.trace(*ranks))
    assert outcome.status == 0, outcome.err
    return [rank["bytes_sent"] for rank in json.loads(outcome.out)["ranks"]]


def test_ranks_are_those_of_the_communicator(tisim: CommandLine) -> None:
    """Colours 0 and 1 alternate, keys reverse the order: rank 0 of each is the last."""
    lines = [SPLIT.format(color=rank % 2, key=-rank) for rank in range(4)]
    making = bytes_sent(tisim, *lines)
    send, receive = "send 1 7 1000000 6 comm=5", "recv 0 7 1000000 6 comm=5"
    sent = bytes_sent(tisim, *(f"{line}; {receive}" for line in lines[:2]),
                      *(f"{line}; {send}" for line in lines[2:]))  # fmt: skip
    assert [a - b for a, b in zip(sent, making, strict=True)] == [0, 0, 10**6, 10**6]


def test_one_number_names_other_communicators_on_other_ranks(tisim: CommandLine) -> None:
    lines = [SPLIT.format(color=rank // 2, key=0) for rank in range(4)]
    making = bytes_sent(tisim, *lines)
    sent = bytes_sent(tisim, *(f"{line}; bcast 500000 0 6 comm=5" for line in lines))
    assert [a - b for a, b in zip(sent, making, strict=True)] == [500000, 0, 500000, 0]


def test_who_is_in_none_goes_on_without(tisim: CommandLine) -> None:
    lines = [SPLIT.format(color=0 if rank else -1, key=0) for rank in range(3)]
    programs = [f"{line}; barrier comm=5" if rank else line for rank, line in enumerate(lines)]
    assert tisim.replay(tisim.trace(*programs)).status == 0


def test_a_freed_number_may_be_used_again(tisim: CommandLine) -> None:
    program = "; ".join(["comm_dup 0 9; barrier comm=9; comm_free 9"] * 3)
    assert tisim.replay(tisim.trace(program, program)).status == 0


def test_messages_of_two_communicators_do_not_match(tisim: CommandLine) -> None:
    outcome = tisim.replay(
        tisim.trace("comm_dup 0 1; send 1 0 100000 6", "comm_dup 0 1; recv 0 0 100000 6 comm=1")
    )
    assert outcome.status == 1
    assert "rank 1: recv waits for a message from rank 0 with tag 0" in outcome.err


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (
            ["compute 1; barrier comm=3", "compute 1"],
            "r0.txt:2: rank 0 is not in a communicator 3 here; create it with comm_split or "
            "comm_dup",
        ),
        (
            [
                "comm_split 0 1 0 0; send 2 0 10 6 comm=1",
                "comm_split 0 1 0 0",
                "comm_split 0 1 -1 0",
            ],
            "r0.txt:2: rank 2 is not in communicator 1, whose ranks are 0 to 1",
        ),
        (
            ["comm_split 0 1 0 0", "comm_split 0 2 0 0"],
            "r1.txt:1: the new communicator is 2 here, but 1 for rank 0 (line 1 of its trace); all "
            "ranks of the parent must use the same number",
        ),
        (
            ["comm_dup 0 1; comm_dup 0 1", "comm_dup 0 1; comm_dup 0 1"],
            "rank 0 is in a communicator 1 already; comm_free it first or use another number",
        ),
        (
            ["comm_free 0"],
            "r0.txt:1: communicator 0 is the world, which cannot be created or freed",
        ),
    ],
)
def test_wrong_use(tisim: CommandLine, ranks: list[str], message: str) -> None:
    outcome = tisim.replay(tisim.trace(*ranks))
    assert outcome.status == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "bcast 1 3 6 comm=1",
            "bcast: root 3 is not a rank of a communicator of 2 ranks; give one from 0 to 1",
        ),
        (
            "reducescatter 1 1 1 1 0 comm=1",
            "reducescatter needs r0..rP-1 flops [type], got 5 arguments "
            "(P is 2, the ranks of the communicator)",
        ),
    ],
)
def test_a_call_that_does_not_fit_its_communicator_names_file_and_line(
    tisim: CommandLine, call: str, message: str
) -> None:
    outcome = tisim.replay(tisim.trace(*[f"init; comm_dup 0 1; {call}; finalize"] * 2))
    assert outcome.status == 2
    assert f"r0.txt:3: {message}" in outcome.err
    assert "Traceback" not in outcome.err


def test_ranks_of_one_communicator_must_call_the_same(tisim: CommandLine) -> None:
    outcome = tisim.replay(
        tisim.trace("comm_dup 0 1; barrier comm=1", "comm_dup 0 1; bcast 10 comm=1")
    )
    assert outcome.status == 1
    assert "rank 0 calls barrier" in outcome.err
    assert "rank 1 calls bcast" in outcome.err


def test_who_is_missing_is_a_rank_of_the_world(tisim: CommandLine) -> None:
    """Communicator 5 has the world's ranks 2 and 1, in this order."""
    lines = [SPLIT.format(color=-1 if rank == 0 else 0, key=-rank) for rank in range(3)]
    outcome = tisim.replay(tisim.trace(lines[0], lines[1], f"{lines[2]}; barrier comm=5"))
    assert outcome.status == 1
    assert "rank 2: barrier waits for the other ranks; rank 1 never calls it" in outcome.err
