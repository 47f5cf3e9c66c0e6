"""Communication between nodes crosses the cables between switches: calculations by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tisim.errors import InputError
from tisim.gpu.machines import MACHINES
from tisim.gpu.machines_platform import gpu_cluster
from tisim.gpu.nccl_tests import predict
from tisim.gpu.step_graph import parse_graph
from tisim.gpu.step_machine import STEP_MACHINES, StepMachine
from tisim.gpu.step_run import run_step
from tisim.gpu.step_switches import PATTERNS, crossings

# Interfaces hold communication between nodes back; 4 nodes share a switch.
GPU = replace(MACHINES["a100"].gpu, copy_rate=float("inf"))
HARDWARE = replace(MACHINES["a100"], gpu=GPU, nic_rate=4e9, fabric="fat-tree")
SIZE = 1e9


def tapered(oversubscription: float) -> StepMachine:
    hardware = replace(HARDWARE, oversubscription=oversubscription)
    return StepMachine(hardware, kernel=0.0, launch=0.0)


def seconds(text: str, oversubscription: float, *, merge: bool = True) -> float:
    graph = parse_graph(f"graph 1\nranks 64\n{text}")
    return run_step(graph, tapered(oversubscription), merge=merge).seconds


def message(distance: int) -> str:
    return f"""program 0-{distance - 1}
          send a {distance} {SIZE}
        end
        program {distance}-{2 * distance - 1}
          receive a {-distance} {SIZE}
        end
        program {2 * distance}-63
          host 0
        end""".replace("program 64-63\n          host 0\n        end", "")


def everyone(line: str) -> str:
    return f"communicator all 64 1\ncommunicator rail 8 8\nprogram 0-63\n{line}\nend"


def alone(word: str, nbytes: float, ranks: tuple[int, ...]) -> tuple[float, float]:
    """Seconds before the bytes of a call move, and seconds of its bytes."""
    call = tapered(1).of_ranks(64).communication(word, nbytes, ranks)
    return call.latency, call.bytes / call.rate


def test_messages_of_four_nodes_share_the_cables_up_of_their_switches() -> None:
    latency, transfer = alone("send", SIZE, (0, 32))
    # 32 interfaces, and cables for 8 of them. To the next node no message crosses switches.
    assert seconds(message(32), 4) == pytest.approx(latency + 4 * transfer, rel=1e-12)
    assert seconds(message(8), 4) == pytest.approx(latency + transfer, rel=1e-12)


def test_a_ring_crosses_switches_once_and_an_exchange_with_most_of_its_bytes() -> None:
    ring = everyone(f"all_reduce a all {SIZE}")
    # One node of four sends over the cables.
    assert seconds(ring, 4) == pytest.approx(seconds(ring, 1), rel=1e-12)
    latency, transfer = alone("all_reduce", SIZE, tuple(range(64)))
    assert seconds(ring, 8) == pytest.approx(latency + 2 * transfer, rel=1e-12)
    # Four nodes send 4 of 7 parts there.
    latency, transfer = alone("all_to_all", SIZE, tuple(range(64)))
    exchange = everyone(f"all_to_all a all {SIZE}")
    assert seconds(exchange, 4) == pytest.approx(latency + 16 / 7 * transfer, rel=1e-12)
    table = predict(gpu_cluster(replace(tapered(4).hardware, nodes=8)), "alltoall",
                    first=int(SIZE), last=int(SIZE))  # fmt: skip
    assert seconds(exchange, 4) == pytest.approx(table.rows[0].time, rel=1e-9)


def test_two_groups_share_the_cables_only_while_both_send() -> None:
    both = f"""communicator all 64 1
        communicator rail 8 8
        program 0-63
          all_to_all a all {SIZE}
          host HEAD
          all_to_all b rail {SIZE}
        end"""
    first = alone("all_to_all", SIZE, tuple(range(64)))
    second = alone("all_to_all", SIZE, tuple(range(0, 64, 8)))
    one, other = 16 / 7 * first[1], 16 / 7 * second[1]
    late = both.replace("HEAD", str(2 * (one + other)))
    assert seconds(late, 4) == pytest.approx(2 * (one + other) + second[0] + other, rel=1e-12)
    # Together: the cables are busy until the end, and carry what both send.
    assert seconds(both.replace("HEAD", "0"), 4) == pytest.approx(first[0] + one + other, rel=1e-3)


@pytest.mark.parametrize("oversubscription", [1, 2, 5])
def test_equal_gpus_are_executed_once_behind_narrow_cables(oversubscription: float) -> None:
    text = f"""communicator tensor 8 1
        communicator data 4 8
        block layer
          all_reduce a tensor {SIZE}
          record a done
          wait b done
          all_gather b data {SIZE}
        end
        program 0-31
          do layer 2
          send c 32 {SIZE}
          all_reduce b data {SIZE / 4}
        end
        program 32-63
          receive c -32 {SIZE}
          do layer 3
          all_reduce b data {SIZE / 4}
        end"""
    once = seconds(text, oversubscription)
    assert once == pytest.approx(seconds(text, oversubscription, merge=False), rel=1e-9)


def test_bytes_that_cross_are_those_of_the_trees_and_of_pat() -> None:
    two = (0, 0, 0, 0, 1, 1, 1, 1)
    # Two of the edges of each of the trees over 8 nodes, a quarter each: `ncclGetDtree`.
    assert crossings("tree", two) == {0: (1.0, 1.0), 1: (1.0, 1.0)}
    assert crossings("tree", (0, 1)) == {0: (1.0, 1.0), 1: (1.0, 1.0)}
    # PAT: 4 of 7 parts go one node further, of four nodes one; 2 two, of two; 1 four, of all.
    part = (4 * 1 + 2 * 2 + 1 * 4) / 7
    assert crossings("pat", two)[0] == pytest.approx((part, part))
    assert crossings("ring", two) == {0: (1.0, 1.0), 1: (1.0, 1.0)}
    assert all(crossings(pattern, (3, 3, 3)) == {} for pattern in PATTERNS)


def test_the_fabric_of_a_step_is_set_by_name() -> None:
    machine = STEP_MACHINES["h100"].with_values(("fabric=fat-tree", "oversubscription=2"))
    assert machine.hardware.switch_nodes == 4
    assert machine.uplink_rate == pytest.approx(4 * 8 * machine.between_rate / 2)
    with pytest.raises(InputError, match="fabric is one of rail, fat-tree, not 'torus'"):
        STEP_MACHINES["h100"].with_values(("fabric=torus",))


def test_switches_that_reduce_pass_one_sum_on() -> None:
    # 8 nodes below two switches: whatever the nodes are, one sum goes up and one comes down.
    assert crossings("sharp", (0, 0, 0, 1, 1)) == {0: (1.0, 1.0), 1: (1.0, 1.0)}
    assert crossings("sharp", (2, 2)) == {}
    graph = parse_graph(f"graph 1\nranks 64\n{everyone(f'all_reduce a all {SIZE}')}")
    times = [
        run_step(graph, tapered(oversubscription).with_values((f"sharp={sharp}",))).seconds
        for oversubscription, sharp in ((1, 1), (4, 1), (8, 1), (8, 0))
    ]
    assert times[0] == pytest.approx(times[1], rel=1e-12)
    assert 1.9 * times[0] < times[2] < 2 * times[0] < times[3]
