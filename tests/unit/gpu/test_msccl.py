"""MSCCL algorithms on GPU platforms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.gpu import Communicator, machine
from tisim.gpu.machines_platform import gpu_cluster
from tisim.gpu.nccl_msccl import algorithm_time, read_algorithm

SIZE = 64 << 20


def step(place: int, kind: str, depends: tuple[int, int] = (-1, -1)) -> str:
    return (
        f'<step s="{place}" type="{kind}" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" '
        f'depid="{depends[0]}" deps="{depends[1]}" hasdep="0"/>'
    )


def algorithm(blocks: list[list[str]], coll: str = "allgather") -> str:
    """Return a file with these thread blocks of each GPU."""
    count = len(blocks)
    gpus = "".join(
        f'<gpu id="{gpu}" i_chunks="1" o_chunks="{count}" s_chunks="0">{"".join(tbs)}</gpu>'
        for gpu, tbs in enumerate(blocks)
    )
    return (
        f'<algo name="mine" nchunksperloop="{count}" nchannels="1" proto="Simple" '
        f'ngpus="{count}" coll="{coll}" inplace="1">{gpus}</algo>'
    )


def block(number: int, send: int, receive: int, steps: list[str]) -> str:
    return f'<tb id="{number}" send="{send}" recv="{receive}" chan="0">{"".join(steps)}</tb>'


def ring(count: int) -> str:
    kinds = ["s", *["rcs"] * (count - 2), "r"]
    steps = [step(place, kind) for place, kind in enumerate(kinds)]
    return algorithm(
        [[block(0, (gpu + 1) % count, (gpu - 1) % count, steps)] for gpu in range(count)]
    )


def split_ring(count: int) -> str:
    """Return the same with receives in one thread block and dependent sends in another."""
    receives = [step(place, "r") for place in range(count - 1)]
    sends = [step(0, "s"), *(step(place, "s", (0, place - 1)) for place in range(1, count - 1))]
    return algorithm(
        [
            [
                block(0, -1, (gpu - 1) % count, receives),
                block(1, (gpu + 1) % count, -1, sends),
            ]
            for gpu in range(count)
        ]
    )


@pytest.mark.parametrize("text", [ring(4), split_ring(4)], ids=["one block", "two blocks"])
def test_a_ring_takes_its_hops_and_its_bytes(text: str, tmp_path: Path) -> None:
    file = tmp_path / "ring.xml"
    file.write_text(text)
    cluster = machine("h100")
    group = Communicator(cluster, (0, 1, 2, 3))
    took = algorithm_time(gpu_cluster(cluster), group, read_algorithm(file), SIZE)
    # NCCL's base latency and hops of Simple; a fourth of the bytes in each step at the rate of a
    # channel. An empty message between two blocks takes a nanosecond.
    assert took == pytest.approx(8.4e-6 + 3 * (3.4e-6 + SIZE / 4 / 38.7e9), rel=1e-4)


def test_the_table_names_the_algorithm(tisim: CommandLine) -> None:
    file, platform = tisim.directory / "ring.xml", tisim.directory / "g.xml"
    file.write_text(ring(4))
    gpu_cluster(machine("a100")).write(platform)
    words = ("nccl-tests", "--platform", str(platform), "--msccl", str(file), "--gpus", "4")
    outcome = tisim(*words, "all_gather", "-b", "1M", "-e", "1M")
    assert outcome.status == 0, outcome.err
    assert "mine MSCCL x1" in outcome.out
    refused = tisim(*words, "all_reduce")
    assert (refused.status, "mine is an algorithm for all_gather" in refused.err) == (2, True)
    refused = tisim(*words[:-1], "8", "all_gather")
    assert (refused.status, "an algorithm for 4 GPUs, not for 8" in refused.err) == (2, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<algo", "this is not XML"),
        ("<graph/>", "an MSCCL algorithm must be an <algo>, not a <graph>"),
        (algorithm([[], []], "scan"), "coll must be one of allreduce, .*, not 'scan'"),
        (ring(3).replace('ngpus="3"', 'ngpus="4"'), "each <gpu> from 0 to 3 once"),
        (ring(3).replace('ngpus="3"', 'ngpus="x"'), "ngpus of a <algo> must be a whole number of"),
        (ring(3).replace('type="rcs"', 'type="put"'), "a step must be one of s, .*, not 'put'"),
        (ring(3).replace('type="rcs"', 'type="s"'), "sends 2 times to GPU 1 .* receives 1 times"),
        (ring(3).replace('recv="2"', 'recv="1"'), "GPU 1 sends 0 times to GPU 0"),
        (split_ring(4).replace('deps="1"', 'deps="9"'), "waits for step 9 of thread block 0"),
    ],
)
def test_what_is_not_an_algorithm_is_refused(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "a.xml"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        read_algorithm(file)
