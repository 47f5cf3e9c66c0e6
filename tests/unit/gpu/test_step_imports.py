"""Steps recorded or described by other tools, as graphs."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.gpu.step_chakra import read_chakra
from tisim.gpu.step_kineto import read_kineto
from tisim.gpu.step_machine import STEP_MACHINES
from tisim.gpu.step_nsys import read_nsys
from tisim.gpu.step_parallelism import extrapolated, read_parallelism
from tisim.gpu.step_recording import Recording
from tisim.gpu.step_run import run_step
from tisim.gpu.step_simai import read_simai

A100 = replace(STEP_MACHINES["a100"], launch=0.0)
PROCESS = 7 << 24


def exported(path: Path, *, kernels: bool = True) -> Path:
    """Write two GPUs of a process: kernels of two streams and a copy, and one NCCL kernel."""
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
    names = ["gemm", "ncclDevKernel_AllReduce", "cudaLaunchKernel_v7000", "cudaDeviceSynchronize"]
    base.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(names))
    if kernels:
        base.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME "
            "(start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER)"
        )
        base.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?)",
            [
                (1_000_000, 1_005_000, PROCESS + 1, 1, 2),
                (1_010_000, 1_015_000, PROCESS + 1, 2, 2),
                (1_020_000, 1_400_000, PROCESS + 1, 3, 3),
                (1_450_000, 1_455_000, PROCESS + 1, 4, 2),
                (1_010_000, 1_011_000, PROCESS + 2, 5, 2),
            ],
        )
        columns = "start, end, globalPid, deviceId, streamId, correlationId"
        base.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL ({columns}, shortName)")
        base.executemany(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?)",
            [
                (1_000_000, 1_300_000, PROCESS, 0, 7, 1, 0),
                (1_301_000, 1_400_000, PROCESS, 0, 9, 2, 1),
                (1_011_000, 1_111_000, PROCESS, 1, 7, 5, 0),
            ],
        )
        base.execute(f"CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY ({columns})")
        base.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES "
            f"(1450000, 1550000, {PROCESS}, 0, 7, 4), (1600000, 1650000, {PROCESS}, 0, 7, 99)"
        )
    base.commit()
    base.close()
    return path


def test_streams_launches_waits_and_devices(tmp_path: Path, tisim: CommandLine) -> None:
    path = exported(tmp_path / "report.sqlite")
    recording = read_nsys(path)
    assert recording.graph.ranks == 2
    assert recording.seconds == pytest.approx(650e-6)
    assert (recording.kernels, recording.collectives, recording.kept_times) == (5, 1, 1)
    assert recording.omissions == {"kernels whose launch was not recorded": 1}
    result = run_step(recording.graph, A100, logs=True)
    starts = [round(span.start * 1e6, 3) for span in result.spans if span.lane == 0]
    # As recorded, except for the microsecond between two kernels.
    assert starts == [0, 300, 449, 599]
    outcome = tisim("step", str(path))
    assert "5 nodes, of which 1 communicate, 1 of them as recorded" in outcome.out
    for option in (("--ranks", "4"), ("--keep-communication",)):
        outcome = tisim("step", str(path), *option)
        assert (outcome.status, outcome.out) == (2, "")
        assert f"{option[0]} is for " in outcome.err


def test_what_is_no_export(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no kernels"):
        read_nsys(exported(tmp_path / "empty.sqlite", kernels=False))
    sqlite3.connect(tmp_path / "other.sqlite").execute("CREATE TABLE a (b)")
    with pytest.raises(InputError, match="not an export of Nsight Systems: no such table"):
        read_nsys(tmp_path / "other.sqlite")
    path = exported(tmp_path / "null.sqlite")
    base = sqlite3.connect(path)
    base.execute("UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = NULL")
    base.commit()
    base.close()
    with pytest.raises(InputError, match="not an export of Nsight Systems: unsupported operand"):
        read_nsys(path)


def event(
    category: str, name: str, begin: float, length: float, **args: object
) -> dict[str, object]:
    return {"ph": "X", "cat": category, "name": name, "ts": begin, "dur": length, "args": args}


def recorded(path: Path, *events: object, world: int = 1, model: bool = True) -> Recording:
    content = {"traceEvents": events, "distributedInfo": {"world_size": world}}
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    return read_kineto(path, model=model)


@pytest.mark.parametrize(
    ("name", "time", "message"),
    [
        ("ts", "1e400", "'gemm' has an impossible time: it begins at inf us and takes 5 us"),
        ("ts", "NaN", "'gemm' has an impossible time: it begins at nan us"),
        ("dur", "-5", "'gemm' has an impossible time: it begins at 30 us and takes -5 us"),
        ("dur", "1e400", "'gemm' has an impossible time"),
    ],
)
def test_times_that_are_none_are_named_with_their_line(
    name: str, time: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "r.json"
    head = {"traceEvents": [event("kernel", "a", 10, 5, stream=7)]}
    # Longer than the read buffer, so that most of it has been discarded.
    lines = json.dumps(head)[:-2] + ",\n" + f"{json.dumps({'ph': 'M', 'x': 'y' * 999})},\n" * 2000
    wrong = json.dumps(event("kernel", "gemm", 30, 5, stream=7) | {name: "@"})
    path.write_text(lines + wrong.replace('"@"', time) + "\n]}")
    with pytest.raises(InputError) as error:
        read_kineto(path)
    assert error.value.line == 2002
    assert message in str(error.value)


def test_streams_launches_and_waits(tmp_path: Path) -> None:
    # The second stream's kernel was launched early and began when the first had ended; then the
    # host waited for both, worked for 50 us, and launched another.
    recording = recorded(
        tmp_path / "r.json.gz",
        event("cuda_runtime", "cudaLaunchKernel", 1000, 5, correlation=1),
        event("cuda_runtime", "cudaLaunchKernel", 1010, 5, correlation=2),
        event("cuda_runtime", "cudaDeviceSynchronize", 1020, 380, correlation=3),
        event("cuda_runtime", "cudaLaunchKernel", 1450, 5, correlation=4),
        event("kernel", "a", 1000, 300, stream=7, correlation=1),
        event("kernel", "b", 1301, 99, stream=9, correlation=2),
        event("kernel", "c", 1450, 100, stream=7, correlation=4),
    )
    assert recording.seconds == pytest.approx(550e-6)
    result = run_step(recording.graph, A100, logs=True)
    assert [span.start * 1e6 for span in result.spans] == pytest.approx([0, 300, 449])
    # If the first kernel takes twice as long, everything after it is later.
    slow = recording.graph
    program = slow.programs[0][2]
    index = next(i for i, node in enumerate(program) if node.word == "seconds")
    program[index] = replace(program[index], numbers=(600e-6,))
    assert run_step(slow, A100).seconds == pytest.approx(result.seconds + 300e-6)


def test_collectives_of_all_ranks_are_those_of_the_machine(tmp_path: Path) -> None:
    call = {"Collective name": "allreduce", "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20,
            "dtype": "Float", "Group size": 8}  # fmt: skip
    kernel = event("kernel", "ncclKernel_AllReduce", 0, 1e6, stream=7, correlation=1, **call)
    path = tmp_path / "r.json.gz"
    recording = recorded(path, kernel, world=8)
    assert (recording.collectives, recording.kept_times) == (1, 0)
    expected = A100.with_ranks(8).communication("all_reduce", 4 << 20, tuple(range(8))).seconds
    assert run_step(recording.graph, A100).seconds == pytest.approx(expected)
    kept = recorded(path, kernel, world=8, model=False)
    assert (kept.collectives, kept.kept_times) == (1, 1)
    assert run_step(kept.graph, A100).seconds == pytest.approx(1.0)


def test_messages_of_a_batch_are_those_recorded_before_its_launch(tmp_path: Path) -> None:
    """A kernel of batch_isend_irecv has no sizes; that of an individual message does."""

    def recorded_message(begin: float, name: str, peer: dict[str, int], elements: int) -> object:
        sizes = {"In msg nelems": elements, "Out msg nelems": elements, "dtype": "Half"}
        record = event("cpu_op", "record_param_comms", begin, 5, **sizes, **peer)
        record["args"]["Collective name"] = name  # type: ignore[index]
        return record

    kernel = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
    own = {"Collective name": "recv", "Src Rank": 0, "Out msg nelems": 1000, "dtype": "Half"}
    events = [
        recorded_message(100, "recv", {"Src Rank": 0}, 1000),  # own kernel, launched meanwhile
        event("cuda_runtime", "cudaLaunchKernelExC", 102, 2, correlation=1),
        event("kernel", kernel, 110, 50, stream=9, correlation=1, **own),
        recorded_message(200, "send", {"Dst Rank": 2}, 1000),
        recorded_message(206, "send", {"Dst Rank": 2}, 3000),
        recorded_message(212, "recv", {"Src Rank": 0}, 3000),
        event("cuda_runtime", "cudaLaunchKernelExC", 230, 2, correlation=2),
        event("kernel", kernel, 240, 50, stream=9, correlation=2),
    ]
    content = {"traceEvents": events, "distributedInfo": {"world_size": 3, "rank": 1}}
    path = tmp_path / "r.json"
    path.write_text(json.dumps(content))
    assert read_kineto(path).kept_times == 2
    not_met = "calls whose counterparts other ranks did not record; they keep their times"
    assert read_kineto(path).omissions == {"events of category cpu_op": 4, not_met: 2}
    recording = read_kineto(path, messages=True)
    assert recording.kept_times == 0
    group = "group s9\nsend s9 1 2000\nsend s9 1 6000\nreceive s9 -1 6000\nend\n"
    assert f"group s9\nreceive s9 -1 2000\nend\nhost 0.000128\n{group}" in recording.text
    made, _ = extrapolated(recording, read_parallelism("tp=1,dp=1,pp=3"))
    assert run_step(made.graph, A100).seconds > 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "not a recording of PyTorch's profiler"),
        (b"{}", "not a recording of PyTorch's profiler"),
        (b'{"traceEvents": []}', "it has no kernels"),
        (b"nonsense", "not JSON"),
        (b"\x1f\x8bnonsense", "neither text nor gzip"),
        (gzip.compress(bytes(range(32, 127)) * 9, mtime=0)[:60], "truncated|not JSON"),
        (b'{"traceEvents": [{"ph": "X"}}', "not JSON"),
        (b'{"distributedInfo": {"world_size": 1e999}}', "OverflowError"),
        (b'{"distributedInfo": {"world_size": 1e15}}', "1000000000000000 ranks; possible are 1 to"),
    ],
)
def test_what_is_no_recording(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_kineto(path)


@pytest.mark.parametrize("name", ["nccl_data", "sampled_rank-0", "sampled_rank-1"])
def test_recordings_end_when_they_did(gpu_data: Path, name: str, tisim: CommandLine) -> None:
    path = gpu_data / "kineto" / f"{name}.json.gz"
    recording = read_kineto(path, model=False)
    assert run_step(recording.graph, A100).seconds == pytest.approx(recording.seconds, rel=0.05)
    outcome = tisim("step", str(path), "--breakdown")
    assert outcome.status == 0
    assert "recorded:" in outcome.out


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
    """Return a message; `of`: attributes, as int64 values."""
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
    # Two threads and two streams: 0 | 1 -> 2 on stream 7; 3 on stream 9 after 0; without a stream:
    # 4 after 2, and 5 immediately.
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
    assert recording.omissions == {"dependencies on missing nodes": 1}
    assert (recording.kernels, recording.collectives, recording.kept_times) == (6, 1, 1)
    spans = run_step(recording.graph, A100, logs=True).spans
    ends = sorted(round(span.end * 1e6, 6) for span in spans)
    assert ends == [10, 12, 20, 45, 50, 55]  # the collective does not occupy the GPU


def test_messages_are_buffered_and_meet_by_tag(tmp_path: Path) -> None:
    # Both send first, without deadlock; tags cross.
    for rank in (0, 1):
        written(
            tmp_path / f"m.{rank}.et",
            node(0, SEND, comm_dst=1 - rank, comm_tag=rank, comm_size=1 << 20),
            node(1, RECEIVE, 0, (0,), comm_src=1 - rank, comm_tag=1 - rank, comm_size=1 << 20),
            node(2, COMPUTE, 100, (1,)),
        )
    recording = read_chakra(tmp_path / "m")
    assert recording.graph.ranks == 2
    expected = A100.with_ranks(2).communication("send", 1 << 20, (0, 1)).seconds + 100e-6
    assert run_step(recording.graph, A100).seconds == pytest.approx(expected)


def test_a_file_stands_for_ranks_and_collectives_are_the_machines(tmp_path: Path) -> None:
    path = written(tmp_path / "c.et", node(0, COLLECTIVE, 7, comm_type=2, comm_size=1 << 20))
    recording = read_chakra(path, ranks=4)
    expected = A100.with_ranks(4).communication("all_gather", 4 << 20, (0, 1, 2, 3)).seconds
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
        ((b"\xff\xff",), "it is damaged: message 2 at byte 8"),
        (
            (node(1, COMPUTE, 1, (2,)), node(2, COMPUTE, 1, (1,))),
            "nodes 1, 2 form a dependency cycle, or depend on one",
        ),
        ((node(1, COMPUTE), node(1, COMPUTE)), "two nodes of this"),
        ((node(1, SEND, comm_dst=5, comm_size=1),), "node 1 sends to or receives from rank 5"),
    ],
)
def test_what_is_no_execution_trace(tmp_path: Path, nodes: tuple[bytes, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_chakra(written(tmp_path / "t.et", *nodes))
    (tmp_path / "t.1.et").write_bytes(b"")
    (tmp_path / "t.2.et").write_bytes(b"")
    with pytest.raises(InputError, match=r"t\.0\.et is missing"):
        read_chakra(tmp_path / "t.1.et")


def test_public_samples(gpu_data: Path, tmp_path: Path, tisim: CommandLine) -> None:
    examples = gpu_data / "chakra" / "examples"
    ring = examples / "system/custom_collectives/custom_ring_allreduce_8npus_1MB"
    result = run_step(read_chakra(ring / "custom_allreduce").graph, A100)
    message = A100.with_ranks(8).communication("send", 1 << 17, (0, 1)).seconds
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
    completed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert int(completed.stdout) < 2 * path.stat().st_size


HEAD = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4"


def table(path: Path, *rows: str, head: str = HEAD, count: int | None = None) -> Path:
    path.write_text("\n".join([head, str(len(rows) if count is None else count), *rows]))
    return path


def test_a_step_forwards_and_backwards(tmp_path: Path, tisim: CommandLine) -> None:
    size = 64 << 20
    path = table(
        tmp_path / "t.txt",
        f"a -1 1000000 ALLREDUCE {size} 2000000 ALLREDUCE {size} 3000000 NONE 0 100",
        f"b -1 4000000 NONE 0 5000000 NONE 0 6000000 REDUCESCATTER {size} 100",
    )
    recording = read_simai(path)
    assert recording.graph.ranks == 4
    assert (recording.kernels, recording.collectives) == (6, 3)
    machine = A100.with_ranks(4)
    reduce = machine.communication("all_reduce", size, (0, 1))
    scatter = machine.communication("reduce_scatter", size, (0, 2))
    result = run_step(recording.graph, A100, logs=True)

    # Forward, a's all-reduce is exposed; backward it overlaps the weight gradient of a, and that of
    # b's weights overlaps the input gradient of a: both are shorter than the work that they slow.
    def slowed(work: float, share: float, beside: float) -> float:
        return work + beside * share

    expected = 1e-3 + reduce.seconds + 4e-3 + 5e-3 + 6e-3
    expected += slowed(2e-3, scatter.sms, scatter.seconds)
    expected += slowed(3e-3, reduce.sms, reduce.seconds)
    assert result.seconds == pytest.approx(expected, rel=1e-9)
    outcome = tisim("step", str(path))
    assert "6 nodes, of which 3 communicate" in outcome.out


def test_groups_of_experts_and_what_is_left_out(tmp_path: Path) -> None:
    head = HEAD.replace("ep: 1 pp: 1", "ep: 2 pp: 2").replace("4", "16")
    row = "a -1 1 ALLTOALL_EP 8192 1 NONE 0 1 ALLREDUCE_DP_EP 4096 100"
    recording = read_simai(table(tmp_path / "t.txt", row, head=head))
    assert recording.graph.communicators == {
        "tp": (2, 1), "dp": (4, 2), "ep": (2, 2), "dpep": (2, 4)
    }  # fmt: skip
    assert sum(recording.omissions.values()) == 1


@pytest.mark.parametrize(
    ("rows", "count", "message"),
    [
        ([], 1, "the table has 0 of its 1 layers"),
        (["a -1 1 NONE 0 1 NONE 0 1 NONE 0"], None, "t.txt:3: a layer has 12 columns, not 11"),
        (["a -1 x NONE 0 1 NONE 0 1 NONE 0 1"], None, "t.txt:3: 'x' is not a whole number"),
        (["a -1 1 MAGIC 9 1 NONE 0 1 NONE 0 1"], None, "t.txt:3: no collective 'MAGIC'"),
        (["a -1 0 NONE 0 0 NONE 0 0 NONE 0 1"], None, "no layer of the table takes any time"),
    ],
)
def test_what_is_no_table(tmp_path: Path, rows: list[str], count: int | None, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_simai(table(tmp_path / "t.txt", *rows, count=count))
    assert message in str(error.value)
    with pytest.raises(InputError, match="has 9000000000 ranks; possible are 1 to 1,048,576"):
        read_simai(table(tmp_path / "t.txt", *rows, count=count), ranks=9_000_000_000)
    with pytest.raises(InputError, match="3 GPUs are not a multiple of the 2 x 1"):
        read_simai(table(tmp_path / "t.txt", *rows, count=count), ranks=3)
