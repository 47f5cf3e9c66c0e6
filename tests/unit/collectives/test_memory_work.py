"""Memory operations of collectives: copies of own blocks, and combination of vectors."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim

# The second host is twice as fast; memory operations take the same time there.
PLATFORM = """<?xml version="1.0"?>
<platform version="4.1"><zone id="all" routing="Full">
  <host id="a" speed="1Gf"/><host id="b" speed="2Gf"/><host id="c" speed="1Gf"/>
  <host id="d" speed="1Gf"/><link id="wire" bandwidth="1GBps" latency="1us"/>
  {routes}
</zone></platform>
"""
ROUTES = "\n".join(
    f'<route src="{first}" dst="{second}"><link_ctn id="wire"/></route>'
    for first, second in ("ab", "ac", "ad", "bc", "bd", "cd")
)
COPY, COMBINE = {"smpi/copy": "0:0:1e-3"}, {"smpi/combine": "0:0:1e-3"}


def computed(folder: Path, calls: list[str], config: dict[str, str]) -> list[float]:
    """Return the compute seconds of each rank, after checking that both kernels agree."""
    platform, trace = folder / "p.xml", folder / "trace"
    platform.write_text(PLATFORM.format(routes=ROUTES))
    trace.mkdir()
    for rank, call in enumerate(calls):
        (trace / f"rank-{rank}.txt").write_text(f"{rank} {call}\n")
    core, simpy = (
        tisim.replay(
            trace,
            platform=platform,
            config={"smpi/coll-selector": "openmpi-4.1", **config},
            kernel=kernel,
        )
        for kernel in ("core", "simpy")
    )
    assert simpy.simulated_time == pytest.approx(core.simulated_time, rel=1e-9)
    assert list(simpy.compute) == pytest.approx(list(core.compute), rel=1e-9, abs=1e-12)
    return list(core.compute)


@pytest.mark.parametrize(
    ("call", "seconds"),
    [
        ("alltoall 100 100 6 6", [0.1] * 4),
        ("allgather 100 100 6 6", [0.1] * 4),
        ("allgatherv {own} 10 20 30 40 6 6", [0.01, 0.02, 0.03, 0.04]),
        ("alltoallv 100 10 20 30 40 {all} {own} {own} {own} {own} 6 6", [0.01, 0.02, 0.03, 0.04]),
        ("gather 100 100 1 6 6", [0, 0.1, 0, 0]),
        ("scatter 100 100 2 6 6", [0, 0, 0.1, 0]),
        ("allreduce 100 0 6", [0.1] * 4),
        ("bcast 100 0 6", [0] * 4),
    ],
    ids=lambda value: value.split()[0] if isinstance(value, str) else None,
)
def test_a_rank_copies_its_own_block(tmp_path: Path, call: str, seconds: list[float]) -> None:
    own = [10, 20, 30, 40]
    calls = [call.format(own=number, all=4 * number) for number in own]
    assert computed(tmp_path, calls, COPY) == pytest.approx(seconds, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "selector", "blocks"),
    # Blocks of 100 bytes over all ranks: two exchanges of each; halves and quarters; one message
    # fewer than ranks.
    [
        ("allreduce 100 0 6", "openmpi-4.1", 8),
        ("allreduce 100 0 6", "mpich-4", 3),
        ("reduce 100 0 0 6", "openmpi-4.1", 3),
        ("reduce 100 0 0 6", "mpich-4", 3),
        ("reducescatter 25 25 25 25 0 6", "openmpi-4.1", 3),
        ("reducescatter 25 25 25 25 0 6", "mpich-4", 3),
        ("scan 100 0 6", "openmpi-4.1", 3),
    ],
)
def test_reductions_combine_what_comes(
    tmp_path: Path, call: str, selector: str, blocks: int
) -> None:
    config = {**COMBINE, "smpi/coll-selector": selector}
    assert sum(computed(tmp_path, [call] * 4, config)) == pytest.approx(0.1 * blocks, rel=1e-6)


@pytest.mark.parametrize("call", ["ialltoall 100 100 6 6", "iallreduce 100 0 6"])
def test_non_blocking_collectives_do_no_work_in_memory(tmp_path: Path, call: str) -> None:
    config = {**COPY, **COMBINE, "smpi/coll-selector": "default"}
    assert computed(tmp_path, [call] * 4, config) == [0] * 4
