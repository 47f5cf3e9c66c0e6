"""Execution of graphs, compared with calculations by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.unit.command_line import CommandLine
from tisim.errors import InputError, SimulationError
from tisim.gpu.machines import MACHINES
from tisim.gpu.step_graph import parse_graph
from tisim.gpu.step_machine import CommunicationPhase, StepMachine
from tisim.gpu.step_run import StepResult, run_step


class Plain(StepMachine):
    """Collectives and messages take 1 s/GB, half of the SMs and half of the bandwidth."""

    def communication(self, word: str, nbytes: float, ranks: tuple[int, ...]) -> CommunicationPhase:
        return CommunicationPhase(nbytes / 1e9, sms=0.5, traffic=4 * nbytes)


# A memory of 8 GB/s; no latencies and no launches.
PLAIN = Plain(
    replace(MACHINES["a100"], gpu=replace(MACHINES["a100"].gpu, memory_rate=8e9)),
    memory_efficiency=1.0,
    kernel=0.0,
    launch=0.0,
)


def executed(text: str, machine: StepMachine = PLAIN, *, merge: bool = True) -> StepResult:
    return run_step(parse_graph(f"graph 1\n{text}"), machine, merge=merge)


def test_streams_do_their_nodes_in_order_and_wait_for_events() -> None:
    result = executed(
        """ranks 1
        program 0
          seconds a 2
          record a there
          seconds a 1
          wait b there
          memory b 8e9
        end"""
    )
    # From 2 s on the two kernels share the GPU: each takes twice as long.
    assert result.seconds == pytest.approx(4)


def test_copies_take_the_time_of_pcie_beside_kernels() -> None:
    result = executed(
        f"""ranks 1
        program 0
          copy a {3 * PLAIN.hardware.pcie_rate}
          record a there
          seconds b 2
          wait b there
          seconds b 1
        end"""
    )
    assert result.seconds == pytest.approx(4)


def test_a_wait_is_for_the_record_before_it_and_blocks_repeat() -> None:
    result = executed(
        """ranks 1
        block layer
          wait a nothing
          seconds a 1
          record a done
          wait b done
          seconds b 0.5
        end
        block layers
          do layer 2
        end
        program 0
          do layers 3
        end"""
    )
    # a: 6 kernels; each kernel of b but the last shares the GPU with one of a for a second.
    assert result.seconds == pytest.approx(1 + 5 * 1.5 + 0.5)
    assert result.launched == 30


def test_a_collective_takes_sms_and_bandwidth_of_kernels_beside_it() -> None:
    text = """ranks 2
        communicator all 2 1
        program 0-1
          seconds a 3
          all_gather b all 2e9
        end"""
    # The kernel has half of the SMs for 2 s, then all.
    result = executed(text)
    assert result.seconds == pytest.approx(4)
    assert result.occupations[0] == pytest.approx([2, 2, 0, 0, 0])
    # A memory-bound kernel keeps the remaining bandwidth: 4 GB in 2 s of 8 GB/s.
    result = executed(text.replace("seconds a 3", "memory a 24e9"))
    assert result.seconds == pytest.approx(2 + (3 - 2 * 0.5))


def test_a_collective_begins_when_all_of_the_group_are_there() -> None:
    result = executed(
        """ranks 4
        communicator pairs 2 1
        communicator far 2 2
        block rest
          all_gather a pairs 1e9
          all_gather a far 1e9
        end
        program 0
          seconds a 5
          do rest
        end
        program 1-3
          seconds a 1
          do rest
        end"""
    )
    # Pair 0, 1 meets at 5 and ends at 6; pair 2, 3 ends at 2; then 0 meets 2, and 1 meets 3.
    assert result.seconds == pytest.approx(7)
    assert len(result.ends) == 4
    lane = int(result.lane_of[3])
    assert result.occupations[lane] == pytest.approx([1, 0, 2, 4, 0])


def test_a_sender_waits_for_its_receiver_and_the_other_way_round() -> None:
    result = executed(
        """ranks 2
        program 0
          send a 1 1e9
          seconds a 1
          send a 1 1e9
        end
        program 1
          seconds a 3
          receive a -1 1e9
          receive a -1 1e9
        end"""
    )
    assert result.seconds == pytest.approx(3 + 1 + 1 + 1)


def test_the_host_thread_launches_each_kernel_and_waits_for_streams() -> None:
    text = """ranks 1
        block kernel
          seconds a 0.5
        end
        program 0
          do kernel 4
          host 2
          synchronize a
          seconds b 1
        end"""
    # Kernels are launched at 1, 2, 3, 4; the host is busy until 6, and launches the last at 7.
    assert executed(text, replace(PLAIN, launch=1.0)).seconds == pytest.approx(8)
    slow = text.replace("0.5", "10")
    # Four kernels from 1 on end at 41, when the host continues.
    assert executed(slow, replace(PLAIN, launch=1.0)).seconds == pytest.approx(43)


def test_the_host_thread_waits_while_a_stream_is_full() -> None:
    text = """ranks 1
        block kernel
          seconds a 1
        end
        program 0
          do kernel 1025
          host 2000
          seconds b 1
        end"""
    # The queue has 1024 entries: the last kernel is launched when the first has ended.
    assert executed(text).seconds == pytest.approx(1 + 2000 + 1)


def test_equal_ranks_are_found_and_executed_once() -> None:
    text = """ranks 32
        communicator tensor 4 1
        communicator data 4 4
        block layer
          seconds a 1
          all_reduce a tensor 1e9
        end
        program 0-15
          do layer 3
          send a 16 1e9
          all_reduce a data 1e9
        end
        program 16-31
          receive a -16 1e9
          do layer 3
          all_reduce a data 1e9
        end"""
    once, each = executed(text), executed(text, merge=False)
    assert len(once.ends) == 2
    assert len(each.ends) == 32
    assert once.seconds == each.seconds
    assert np.array_equal(once.ends[once.lane_of], each.ends)
    assert np.array_equal(once.occupations[once.lane_of], each.occupations)


def test_ranks_that_are_placed_differently_are_not_equal() -> None:
    result = executed(
        """ranks 12
        communicator fours 4 1
        communicator sixes 6 1
        program 0-11
          all_reduce a fours 1e9
          all_reduce a sixes 1e9
        end"""
    )
    # Groups of six are on one node (0-5) and on two (6-7 with 8-11); groups of four on one node
    # each.
    assert len(result.ends) == 4


def test_calls_that_differ_are_named() -> None:
    with pytest.raises(
        InputError, match=r"graph:5: communicator all: all_gather all 2e\+09 of line 8"
    ):
        executed(
            """ranks 2
            communicator all 2 1
            program 0
              all_reduce a all 2e9
            end
            program 1
              all_gather a all 2e9
            end"""
        )


def test_a_circle_is_named() -> None:
    with pytest.raises(
        SimulationError, match=r"(?s)rank 0, stream a: send.*rank 1, stream a: send"
    ):
        executed(
            """ranks 2
            program 0
              send a 1 1
              receive a 1 1
            end
            program 1
              send a -1 1
              receive a -1 1
            end"""
        )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ranks 1", "rank 0 has no program"),
        ("ranks 0", "0 is not from 1"),
        ("ranks 1\nprogram 0\nend", "has no nodes"),
        ("ranks 1\nprogram 0\nseconds a 1", "no 'end'"),
        ("ranks 1\nprogram 0\nseconds a -1\nend", "not"),
        ("ranks 1\nprogram 0\ndance a\nend", "unknown node 'dance'"),
        ("ranks 1\nprogram 0\ndo x\nend", "no block 'x' is defined above"),
        ("ranks 1\nblock x\ndo x\nend", "no block 'x' is defined above"),
        ("ranks 2\nprogram 0\nhost 1\nend", "rank 1 has no program"),
        ("ranks 2\nprogram 0-1\nhost 1\nend\nprogram 1\nhost 1\nend", "exactly one program"),
        ("ranks 2\nprogram 0-1\nall_reduce a all 1\nend", "no communicator 'all'"),
        ("ranks 2\nprogram 0-1\nsend a 2 1\nend", "from -1 to 1"),
        ("ranks 2\nprogram 0-1\nsend a 0 1\nend", "sends to itself"),
        ("ranks 2\nprogram 0-1\ngroup a\nsend b 1 1\nend\nend", "must be on stream a"),
        (
            "ranks 2\nprogram 0-1\ngroup a\nhost 1\nend\nend",
            "must consist of messages and collectives",
        ),
        ("ranks 2\nprogram 0-1\ngroup a\nend\nend", "of a group"),
        ("ranks 2\nprogram 0-1\ngroup a\nsend a 1 1\nend", "has no 'end'"),
        ("ranks 1\nprogram 0\nrecord a e\nrecord b e\nend", "recorded by only one stream"),
        (
            "ranks 2\ncommunicator c 2 1\nprogram 0-1\nall_reduce a c 1\nall_reduce b c 1\nend",
            "communicate on two streams",
        ),
    ],
)
def test_bad_graphs(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        executed(text)


def test_the_table_says_how_many_gpus_it_leaves_out(tisim: CommandLine) -> None:
    programs = "".join(f"program {n}\nseconds a {n + 1}\nend\n" for n in range(18))
    graph = tisim.write("x.graph", f"graph 1\nranks 18\n{programs}")
    assert tisim("step", graph, "--breakdown").out.endswith("  and 2 more     2\n")


def test_the_command(tisim: CommandLine, tmp_path: Path) -> None:
    graph = tmp_path / "x.graph"
    graph.write_text("graph 1\nranks 8\nprogram 0-7\nseconds a 1\nend\n")
    outcome = tisim("step", str(graph), "--breakdown", "--timeline", str(tmp_path / "t.json"))
    assert outcome.status == 0
    assert "8 GPUs, 1 of them distinct" in outcome.out
    assert "overlapped" in outcome.out
    assert '"ph": "X"' in (tmp_path / "t.json").read_text()
    outcome = tisim("step", str(graph), "--timeline", str(tmp_path / "t.csv"))
    assert (outcome.status, outcome.out) == (2, "")
    outcome = tisim("step", str(graph), "--keep-communication")
    assert outcome.err.endswith("Error: --keep-communication is for recordings\n")
    outcome = tisim("step", str(graph), "--set", "wings=2")
    assert outcome.status == 2
    assert "no parameter 'wings'" in outcome.err
    assert "names are gemm-efficiency" in outcome.err
