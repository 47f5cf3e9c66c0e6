"""Recordings of PyTorch's profiler as graphs."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.gpu.step_kineto import read_kineto
from tisim.gpu.step_machine import STEP_MACHINES
from tisim.gpu.step_parallelism import extrapolated, read_parallelism
from tisim.gpu.step_recording import Recording
from tisim.gpu.step_run import run_step

A100 = replace(STEP_MACHINES["a100"], launch=0.0)


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
        ("ts", "1e400", "'gemm' has no possible time: it begins at inf us and takes 5 us"),
        ("ts", "NaN", "'gemm' has no possible time: it begins at nan us"),
        ("dur", "-5", "'gemm' has no possible time: it begins at 30 us and takes -5 us"),
        ("dur", "1e400", "'gemm' has no possible time"),
    ],
)
def test_times_that_are_none_are_named_with_their_line(
    name: str, time: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "r.json"
    head = {"traceEvents": [event("kernel", "a", 10, 5, stream=7)]}
    # Longer than what is read at once, so that most of it is read and given up before.
    lines = json.dumps(head)[:-2] + ",\n" + f"{json.dumps({'ph': 'M', 'x': 'y' * 999})},\n" * 2000
    wrong = json.dumps(event("kernel", "gemm", 30, 5, stream=7) | {name: "@"})
    path.write_text(lines + wrong.replace('"@"', time) + "\n]}")
    with pytest.raises(InputError) as error:
        read_kineto(path)
    assert error.value.line == 2002
    assert message in str(error.value)


def test_streams_launches_and_waits(tmp_path: Path) -> None:
    # The second stream's kernel was launched early and began when the first had ended; then the
    # host waited for all, worked for 50 us, and launched another.
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
    # With a first kernel twice as long, all that follows is later.
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
    assert (recording.collectives, recording.kept) == (1, 0)
    expected = A100.of_ranks(8).communication("all_reduce", 4 << 20, tuple(range(8))).seconds
    assert run_step(recording.graph, A100).seconds == pytest.approx(expected)
    kept = recorded(path, kernel, world=8, model=False)
    assert (kept.collectives, kept.kept) == (1, 1)
    assert run_step(kept.graph, A100).seconds == pytest.approx(1.0)


def test_messages_of_a_batch_are_those_recorded_before_its_launch(tmp_path: Path) -> None:
    """A kernel of batch_isend_irecv carries no sizes; that of a message of its own does."""

    def recorded_message(begin: float, name: str, peer: dict[str, int], elements: int) -> object:
        sizes = {"In msg nelems": elements, "Out msg nelems": elements, "dtype": "Half"}
        record = event("cpu_op", "record_param_comms", begin, 5, **sizes, **peer)
        record["args"]["Collective name"] = name  # type: ignore[index]
        return record

    kernel = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
    own = {"Collective name": "recv", "Src Rank": 0, "Out msg nelems": 1000, "dtype": "Half"}
    events = [
        recorded_message(100, "recv", {"Src Rank": 0}, 1000),  # its own kernel, launched meanwhile
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
    assert read_kineto(path).kept == 2
    not_met = "meetings with calls that other ranks have not recorded; those here keep their times"
    assert read_kineto(path).lost == {"events of category cpu_op": 4, not_met: 2}
    recording = read_kineto(path, messages=True)
    assert recording.kept == 0
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
        (gzip.compress(bytes(range(32, 127)) * 9, mtime=0)[:60], "cut off|not JSON"),
        (b'{"traceEvents": [{"ph": "X"}}', "not JSON"),
        (b'{"distributedInfo": {"world_size": 1e999}}', "OverflowError"),
        (b'{"distributedInfo": {"world_size": 1e15}}', "1000000000000000 ranks; there are 1 to"),
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
