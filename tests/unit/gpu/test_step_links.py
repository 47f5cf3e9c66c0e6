"""Overlapping communication shares links and crosses switches: calculations by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tisim.errors import InputError
from tisim.gpu.machines import MACHINES
from tisim.gpu.machines_platform import gpu_cluster
from tisim.gpu.nccl_tests import predict
from tisim.gpu.step_graph import parse_graph
from tisim.gpu.step_machine import STEP_MACHINES, StepMachine
from tisim.gpu.step_run import StepResult, run_step
from tisim.gpu.step_traffic import PATTERNS, crossings

# Interfaces so slow that they are the only bottleneck between nodes.
GPU = replace(MACHINES["a100"].gpu, copy_rate=float("inf"))
A100 = StepMachine(replace(MACHINES["a100"], gpu=GPU, nic_rate=4e9), kernel=0.0, launch=0.0)
# Two GPUs share an interface.
NARROW = replace(A100, hardware=replace(A100.hardware, nics=4))
SIZE = 1e9


def executed(text: str, machine: StepMachine = A100, *, merge: bool = True) -> StepResult:
    return run_step(parse_graph(f"graph 1\n{text}"), machine, merge=merge)


def beside(second: str) -> str:
    """Return two nodes that reduce on one stream, and another operation on a second stream."""
    return f"""ranks 16
        communicator one 16 1
        communicator two 16 1
        communicator far 2 8
        program 0-15
          all_reduce a one {SIZE}
          {second}
        end"""


def all_reduce(machine: StepMachine = A100) -> tuple[float, float]:
    """Return the latency and the transfer time of two nodes alone."""
    call = machine.with_ranks(16).communication("all_reduce", SIZE, tuple(range(16)))
    # Interfaces are the only bottleneck.
    assert call.rate * call.between == pytest.approx(machine.between_rate)
    return call.latency, call.bytes / call.rate


def test_a_collective_alone_takes_its_own_time() -> None:
    text = beside("seconds b 0")
    assert executed(text).seconds == pytest.approx(sum(all_reduce()), rel=1e-12)


def test_two_communicators_share_the_interfaces_of_two_nodes() -> None:
    latency, transfer = all_reduce()
    both = executed(beside(f"all_reduce b two {SIZE}"))
    assert both.seconds == pytest.approx(latency + 2 * transfer, rel=1e-9)
    # One is half as large: it ends when each has moved half, and the other continues alone.
    small = executed(beside(f"all_reduce b two {SIZE / 2}"))
    assert small.seconds == pytest.approx(latency + 1.5 * transfer, rel=1e-3)
    # One begins when the other has moved a quarter.
    later = executed(beside(f"host {latency + transfer / 4}\n all_reduce b two {SIZE}"))
    assert later.seconds == pytest.approx(latency + 2 * transfer, rel=1e-9)


def test_channels_of_a_message_have_the_share_of_channels() -> None:
    latency, transfer = all_reduce()
    machine = A100.with_ranks(16)
    call = machine.communication("all_reduce", SIZE, tuple(range(16)))
    sent = machine.communication("send", SIZE / 10, (0, 8))
    assert sent.between == 2
    # Two channels of the message and `call.between` of the ring share the interface into node 1.
    each = machine.between_rate / (2 + call.between)
    text = f"""ranks 16
        communicator one 16 1
        program 0
          send b 8 {SIZE / 10}
          all_reduce a one {SIZE}
        end
        program 1-7
          all_reduce a one {SIZE}
        end
        program 8
          receive b -8 {SIZE / 10}
          all_reduce a one {SIZE}
        end
        program 9-15
          all_reduce a one {SIZE}
        end"""
    done = sent.latency + sent.bytes / each  # the message; both begin within microseconds
    left = call.bytes - (done - latency) * each
    expected = done + left / call.rate
    result = run_step(parse_graph("graph 1\n" + text), A100, logs=True)
    ends = {span.node.word: span.end for span in result.spans}
    assert ends["send"] == pytest.approx(done, rel=1e-3)
    assert ends["all_reduce"] == pytest.approx(expected, rel=1e-3)
    assert result.seconds > latency + transfer


def test_groups_of_a_node_share_its_interfaces_only_when_they_communicate() -> None:
    text = beside("seconds b 0").replace(f"all_reduce a one {SIZE}", f"all_reduce a far {SIZE}")
    pair = NARROW.with_ranks(16).communication("all_reduce", SIZE, (0, 8))
    # Two groups per interface.
    both = pair.latency + 2 * pair.bytes * pair.between / NARROW.between_rate
    assert both > pair.seconds
    assert executed(text, NARROW).seconds == pytest.approx(both, rel=1e-12)
    assert executed(text, A100).seconds == pytest.approx(pair.seconds, rel=1e-12)
    # One group alone, whose neighbours do other work.
    idle = "program 1-7\n seconds b 0\n end\n program 9-15\n seconds b 0\n end"
    alone = text.replace("program 0-15", "program 0") + "\n" + text[text.index("program") :]
    alone = alone.replace("program 0-15", "program 8") + "\n" + idle
    assert executed(alone, NARROW).seconds == pytest.approx(pair.seconds, rel=1e-12)


def test_directions_do_not_share() -> None:
    def exchanged(back: str) -> str:
        return f"""ranks 16
            program 0-7
              send a 8 {SIZE}
              {back}
            end
            program 8-15
              receive a -8 {SIZE}
              {back.replace("receive b 8", "send b -8").replace("send b 8", "receive b -8")}
            end"""

    sent = A100.with_ranks(16).communication("send", SIZE, (0, 8))
    one = executed(exchanged(f"receive b 8 {SIZE}"))
    assert one.seconds == pytest.approx(sent.seconds, rel=1e-9)


@pytest.mark.parametrize("machine", [A100, NARROW])
def test_equal_gpus_that_share_links_are_executed_once(machine: StepMachine) -> None:
    text = f"""ranks 48
        communicator tensor 4 1
        communicator data 6 4
        communicator all 24 1
        block layer
          all_reduce a tensor {SIZE}
          record a done
          wait b done
          all_reduce b data {SIZE}
        end
        program 0-23
          do layer 2
          send c 24 {SIZE}
          all_reduce d all {SIZE}
        end
        program 24-47
          receive c -24 {SIZE}
          do layer 3
          all_reduce d all {SIZE}
        end"""
    once, each = executed(text, machine), executed(text, machine, merge=False)
    assert len(once.ends) < 8
    assert len(each.ends) == 48
    assert once.ends[once.lane_of] == pytest.approx(each.ends, rel=1e-9)
    assert np.allclose(once.occupations[once.lane_of], each.occupations, rtol=1e-9)


def test_parts_of_a_group_begin_together_and_it_ends_with_the_last() -> None:
    # Rank 0 sends one part to the next node and two to the one after it: both share its interface
    # until the first has ended. Ranks 8 to 15 receive them, and all reduce in a small group.
    text = f"""ranks 24
        communicator node 8 1
        program 0
          group a
            send a 8 {SIZE}
            send a 16 {2 * SIZE}
            all_reduce a node 1e6
          end
          seconds a 1
        end
        program 1-7
          group a
            all_reduce a node 1e6
          end
        end
        program 8
          receive a -8 {SIZE}
        end
        program 9-15
          host 0
        end
        program 16
          receive a -16 {2 * SIZE}
        end
        program 17-23
          host 0
        end"""
    machine = A100.with_ranks(24)
    call = machine.communication("send", SIZE, (0, 8))
    transfer = call.bytes / call.rate
    result = executed(text)
    assert result.seconds == pytest.approx(call.latency + 3 * transfer + 1, rel=1e-9)
    ends = {rank: result.ends[result.lane_of[rank]] for rank in (1, 8, 16)}
    assert ends[8] == pytest.approx(call.latency + 2 * transfer, rel=1e-9)
    assert ends[1] < 0.01 * ends[8]
    # Sequentially, the second would begin when the first has ended.
    sent = text.replace("group a", "", 1).replace("          end\n", "", 1)
    assert executed(sent).seconds > result.seconds + call.latency


# Four nodes per switch.
HARDWARE = replace(A100.hardware, fabric="fat-tree")


def tapered(oversubscription: float) -> StepMachine:
    hardware = replace(HARDWARE, oversubscription=oversubscription)
    return StepMachine(hardware, kernel=0.0, launch=0.0)


def seconds(text: str, oversubscription: float, *, merge: bool = True) -> float:
    return executed(f"ranks 64\n{text}", tapered(oversubscription), merge=merge).seconds


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
    """Return the latency and the transfer time of a call."""
    call = tapered(1).with_ranks(64).communication(word, nbytes, ranks)
    return call.latency, call.bytes / call.rate


def test_messages_of_four_nodes_share_the_cables_up_of_their_switches() -> None:
    latency, transfer = alone("send", SIZE, (0, 32))
    # 32 interfaces, and cables for 8 of them. Messages to the next node do not cross switches.
    assert seconds(message(32), 4) == pytest.approx(latency + 4 * transfer, rel=1e-12)
    assert seconds(message(8), 4) == pytest.approx(latency + transfer, rel=1e-12)


def test_a_ring_crosses_switches_once_and_an_exchange_with_most_of_its_bytes() -> None:
    ring = everyone(f"all_reduce a all {SIZE}")
    # One node of four sends over the cables.
    assert seconds(ring, 4) == pytest.approx(seconds(ring, 1), rel=1e-12)
    latency, transfer = alone("all_reduce", SIZE, tuple(range(64)))
    assert seconds(ring, 8) == pytest.approx(latency + 2 * transfer, rel=1e-12)
    # Four nodes send 4 of 7 parts over the cables.
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
    # Together: the cables are busy until the end, and carry the bytes of both.
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
    # Two edges of each of the trees over 8 nodes, a quarter each: `ncclGetDtree`.
    assert crossings("tree", two) == {0: (1.0, 1.0), 1: (1.0, 1.0)}
    assert crossings("tree", (0, 1)) == {0: (1.0, 1.0), 1: (1.0, 1.0)}
    # PAT: 4 of 7 parts go one node further, from one of four nodes; 2 two, from two; 1 four, from
    # all.
    part = (4 * 1 + 2 * 2 + 1 * 4) / 7
    assert crossings("pat", two)[0] == pytest.approx((part, part))
    assert crossings("ring", two) == {0: (1.0, 1.0), 1: (1.0, 1.0)}
    assert all(crossings(pattern, (3, 3, 3)) == {} for pattern in PATTERNS)


def test_the_fabric_of_a_step_is_set_by_name() -> None:
    machine = STEP_MACHINES["h100"].with_values(("fabric=fat-tree", "oversubscription=2"))
    assert machine.hardware.switch_nodes == 4
    assert machine.uplink_rate == pytest.approx(4 * 8 * machine.between_rate / 2)
    with pytest.raises(InputError, match="fabric must be one of rail, fat-tree, not 'torus'"):
        STEP_MACHINES["h100"].with_values(("fabric=torus",))


def test_switches_that_reduce_pass_one_sum_on() -> None:
    # 8 nodes below two switches: whatever the nodes are, one sum goes up and one comes down.
    assert crossings("sharp", (0, 0, 0, 1, 1)) == {0: (1.0, 1.0), 1: (1.0, 1.0)}
    assert crossings("sharp", (2, 2)) == {}
    text = f"ranks 64\n{everyone(f'all_reduce a all {SIZE}')}"
    times = [
        executed(text, tapered(oversubscription).with_values((f"sharp={sharp}",))).seconds
        for oversubscription, sharp in ((1, 1), (4, 1), (8, 1), (8, 0))
    ]
    assert times[0] == pytest.approx(times[1], rel=1e-12)
    assert 1.9 * times[0] < times[2] < 2 * times[0] < times[3]
