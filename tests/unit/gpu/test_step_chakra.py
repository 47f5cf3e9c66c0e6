"""Execution traces of Chakra as graphs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.gpu.step_chakra import read_chakra
from tisim.gpu.step_machine import STEP_MACHINES
from tisim.gpu.step_run import run_step

A100 = replace(STEP_MACHINES["a100"], launch=0.0)
COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    parts = []
    while True:
        parts.append(value & 127 | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(parts)


def field(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def node(number: int, kind: int, micros: int = 0, needs: tuple[int, ...] = (), **of: int) -> bytes:
    """A message; 'of': attributes, as int64 values."""
    data = field(1, number) + field(2, b"n") + field(3, kind) + field(7, micros)
    data += field(5, b"".join(map(varint, needs)))
    for name, value in of.items():
        data += field(10, field(1, name.encode()) + field(9, value))
    return varint(len(data)) + data


def written(path: Path, *nodes: bytes) -> Path:
    version = field(1, b"0.0.4")
    path.write_bytes(varint(len(version)) + version + b"".join(nodes))
    return path


def test_nodes_wait_for_what_they_need_and_for_their_stream_only(tmp_path: Path) -> None:
    # Two threads and two streams: 0 | 1 -> 2 on stream 7; 3 on stream 9 after 0; without a
    # stream: 4 after 2, and 5 at once.
    path = written(
        tmp_path / "t.0.et",
        node(0, COMPUTE, 10, is_cpu_op=1, tid=1),
        node(1, COMPUTE, 20, is_cpu_op=1, tid=2),
        node(2, COMPUTE, 30, (1,), is_cpu_op=0, tid=7),
        node(3, COLLECTIVE, 35, (0,), is_cpu_op=0, tid=9),
        node(4, COMPUTE, 5, (2, 99)),
        node(5, COMPUTE, 12),
    )
    recording = read_chakra(path)
    assert recording.lost == {"dependencies on nodes that are not there": 1}
    assert (recording.kernels, recording.collectives, recording.kept) == (6, 1, 1)
    spans = run_step(recording.graph, A100, logs=True).spans
    ends = sorted(round(span.end * 1e6, 6) for span in spans)
    assert ends == [10, 12, 20, 45, 50, 55]  # the collective takes nothing of the GPU


def test_messages_are_buffered_and_meet_by_tag(tmp_path: Path) -> None:
    # Both send first, which is not a circle; tags cross.
    for rank in (0, 1):
        written(
            tmp_path / f"m.{rank}.et",
            node(0, SEND, comm_dst=1 - rank, comm_tag=rank, comm_size=1 << 20),
            node(1, RECEIVE, 0, (0,), comm_src=1 - rank, comm_tag=1 - rank, comm_size=1 << 20),
            node(2, COMPUTE, 100, (1,)),
        )
    recording = read_chakra(tmp_path / "m")
    assert recording.graph.ranks == 2
    expected = A100.of_ranks(2).communication("send", 1 << 20, (0, 1)).seconds + 100e-6
    assert run_step(recording.graph, A100).seconds == pytest.approx(expected)


def test_a_file_stands_for_ranks_and_collectives_are_the_machines(tmp_path: Path) -> None:
    path = written(tmp_path / "c.et", node(0, COLLECTIVE, 7, comm_type=2, comm_size=1 << 20))
    recording = read_chakra(path, ranks=4)
    expected = A100.of_ranks(4).communication("all_gather", 4 << 20, (0, 1, 2, 3)).seconds
    assert run_step(recording.graph, A100).seconds == pytest.approx(expected)
    kept = read_chakra(path, ranks=4, communicates=False)
    assert run_step(kept.graph, A100).seconds == pytest.approx(7e-6)


def test_groups_of_metadata(tmp_path: Path) -> None:
    names = (("3", "[1, 3]"), ("2", "[0, 2]"))
    listed = [f'{{\\"pg_name\\": \\"{name}\\", \\"ranks\\": {ranks}}}' for name, ranks in names]
    values = f'["[{", ".join(listed)}]"]'.encode()
    data = field(1, 1) + field(3, 1) + field(8, field(1, values))
    groups = varint(len(data)) + data
    attribute = field(10, field(1, b"pg_name") + field(29, b"2"))
    call = field(1, 2) + field(3, COLLECTIVE) + field(10, field(1, b"comm_type") + field(9, 0))
    call += field(10, field(1, b"comm_size") + field(9, 1 << 20)) + attribute
    path = written(tmp_path / "g.et", groups, varint(len(call)) + call)
    recording = read_chakra(path)
    assert recording.graph.communicators == {"g2x2": (2, 2)}
    assert recording.graph.ranks == 4


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ((), "has no nodes"),
        ((b"\xff\xff",), "a damaged one: message 2 at byte 8"),
        ((node(1, COMPUTE, 1, (2,)), node(2, COMPUTE, 1, (1,))), "nodes 1, 2 depend on one"),
        ((node(1, COMPUTE), node(1, COMPUTE)), "two nodes of this"),
        ((node(1, SEND, comm_dst=5, comm_size=1),), "node 1 sends to or receives from rank 5"),
    ],
)
def test_what_is_no_execution_trace(tmp_path: Path, nodes: tuple[bytes, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_chakra(written(tmp_path / "t.et", *nodes))
    (tmp_path / "t.1.et").write_bytes(b"")
    (tmp_path / "t.2.et").write_bytes(b"")
    with pytest.raises(InputError, match=r"t\.0\.et is not there"):
        read_chakra(tmp_path / "t.1.et")


def test_public_samples(gpu_data: Path, tmp_path: Path, tisim: CommandLine) -> None:
    examples = gpu_data / "chakra" / "examples"
    ring = examples / "system/custom_collectives/custom_ring_allreduce_8npus_1MB"
    result = run_step(read_chakra(ring / "custom_allreduce").graph, A100)
    message = A100.of_ranks(8).communication("send", 1 << 17, (0, 1)).seconds
    assert result.seconds == pytest.approx(14 * message + 7 * 7e-6)
    gather = examples / "workload/microbenchmarks/all_gather/16npus_1MB/all_gather.0.et"
    assert read_chakra(gather).graph.ranks == 16
    shutil.unpack_archive(gpu_data / "chakra" / "feeder_tests_trace.tar.gz", tmp_path)
    path = tmp_path / "tests/data/chakra.0.et"
    graph = tmp_path / "chakra.graph"
    outcome = tisim("step", str(path), "--write-graph", str(graph))
    assert outcome.status == 0
    assert "3,664 nodes, of which 7 communicate, 7 of them as recorded" in outcome.out
    # Stream 7 is busy for 292.8 ms, and the host before and after it.
    assert run_step(read_chakra(path).graph, A100).seconds == pytest.approx(0.297, abs=1e-3)
    assert tisim("step", str(graph), "--set", "launch=0").status == 0


def test_a_trace_takes_less_than_twice_its_bytes_of_memory(gpu_data: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(gpu_data / "chakra" / "feeder_tests_trace.tar.gz", tmp_path)
    path = tmp_path / "tests/data/chakra.0.et"
    code = (
        "import tracemalloc; from tisim.gpu.step_chakra import read_chakra; tracemalloc.start(); "
        f"read_chakra({str(path)!r}); print(tracemalloc.get_traced_memory()[1])"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert int(found.stdout) < 2 * path.stat().st_size
