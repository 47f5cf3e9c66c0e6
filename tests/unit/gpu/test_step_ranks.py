"""Recordings of several ranks of a job, and extrapolation of a single recorded rank."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.gpu.step_graph import read_graph
from tisim.gpu.step_kineto import read_kineto
from tisim.gpu.step_machine import STEP_MACHINES
from tisim.gpu.step_parallelism import extrapolated, read_parallelism
from tisim.gpu.step_run import run_step

A100 = replace(STEP_MACHINES["a100"], launch=0.0)
MEGA = 1 << 20
NOT_MET = "calls whose counterparts other ranks did not record; they keep their times"
COPIED = "ranks without a recording, which repeat the nearest recorded rank below them"
# A kernel: its name, microseconds, and PyTorch's information on a call.
Kernel = tuple[str, float, dict[str, object]]


def gemm(length: float) -> Kernel:
    return "gemm", length, {}


def call(name: str, ranks: list[int], length: float, **more: object) -> Kernel:
    sizes = {"In msg nelems": MEGA, "Out msg nelems": MEGA, "dtype": "Float"}
    group = {"Process Group Ranks": str(ranks), "Group size": len(ranks)}
    return "ncclDevKernel", length, {"Collective name": name, **sizes, **group, **more}


def message(name: str, peer: int, length: float, elements: int = MEGA) -> Kernel:
    sizes = {"In msg nelems": elements, "Out msg nelems": elements, "dtype": "Float"}
    other = "Dst Rank" if name == "send" else "Src Rank"
    return "ncclDevKernel", length, {"Collective name": name, **sizes, other: peer}


def recorded(
    directory: Path, rank: int, world: int, kernels: list[Kernel], *, begin: float = 0.0,
    name: str = "", **job: object,
) -> Path:  # fmt: skip
    """Write a recording of consecutive kernels, all launched when the first began."""
    directory.mkdir(exist_ok=True)
    events = []
    launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": begin, "dur": 0.1}
    for number, (title, length, args) in enumerate(kernels):
        time = {"ph": "X", "cat": "kernel", "ts": begin, "dur": length}
        events.append({**launch, "args": {"correlation": number}})
        events.append({**time, "name": title, "args": {"stream": 7, "correlation": number, **args}})
        begin += length
    told = {"world_size": world, **job} | ({} if name else {"rank": rank})
    path = directory / (name or f"worker{rank}.json")
    path.write_text(json.dumps({"traceEvents": events, "distributedInfo": told}))
    return path


def seconds(word: str, nbytes: int, ranks: int) -> float:
    return A100.with_ranks(ranks).communication(word, nbytes, tuple(range(ranks))).seconds


def test_ranks_meet_and_wait_for_each_other(tmp_path: Path) -> None:
    """Two stages of two ranks: the second waits for results of the first."""
    job = tmp_path / "job"
    for rank in (0, 1):
        work = [gemm(300 + 100 * rank), call("allreduce", [0, 1], 50), message("send", rank + 2, 9)]
        recorded(job, rank, 4, work, begin=1e6)
    for rank in (2, 3):
        work = [
            message("recv", rank - 2, 159 + 100 * rank),
            gemm(200),
            call("allreduce", [2, 3], 50),
        ]
        recorded(job, rank, 4, work, begin=5e8)
    recording = read_kineto(job)
    assert (recording.graph.ranks, recording.kept_times, recording.omissions) == (4, 0, {})
    reduce, send = seconds("all_reduce", 4 * MEGA, 2), seconds("send", 4 * MEGA, 2)
    # Messages that end together imply that all ranks began together.
    alone = run_step(recording.graph, A100).seconds
    assert alone == pytest.approx(400e-6 + 2 * reduce + send + 200e-6, rel=1e-3)
    # A slower rank of the first stage delays all.
    recorded(job, 0, 4, [gemm(1000), call("allreduce", [0, 1], 50), message("send", 2, 9)])
    assert run_step(read_kineto(job).graph, A100).seconds > alone + 550e-6


def test_ranks_begin_so_that_calls_end_together(tmp_path: Path) -> None:
    """The second rank's recording began 2 ms later, on another clock."""
    recorded(tmp_path, 0, 2, [gemm(100), call("allreduce", [0, 1], 2500), gemm(50)])
    path = recorded(tmp_path, 1, 2, [gemm(100), call("allreduce", [0, 1], 500), gemm(50)])
    recording = read_kineto([tmp_path / "worker0.json", path])
    assert "host 0.002\n" in recording.text
    assert recording.seconds == pytest.approx(2650e-6)
    expected = 2100e-6 + seconds("all_reduce", 4 * MEGA, 2) + 50e-6
    assert run_step(recording.graph, A100).seconds == pytest.approx(expected, rel=1e-6)
    # With recorded times, it ends as recorded.
    kept = read_kineto(tmp_path, model=False)
    assert run_step(kept.graph, A100).seconds == pytest.approx(recording.seconds)


def test_ranks_that_were_not_recorded_do_what_those_below_do(tmp_path: Path) -> None:
    """One rank of each of two stages of four; copies send to copies."""
    recorded(tmp_path, 0, 8, [call("allreduce", [0, 1, 2, 3], 50), message("send", 4, 9)])
    recorded(tmp_path, 4, 8, [message("recv", 0, 59), call("allreduce", [4, 5, 6, 7], 50)])
    recording = read_kineto(tmp_path)
    assert recording.omissions == {COPIED: 6}
    assert recording.kept_times == 0
    assert [(first, last) for first, last, _ in recording.graph.programs] == [(0, 3), (4, 7)]
    assert recording.graph.communicators == {"g4x1": (4, 1)}
    expected = seconds("all_reduce", 4 * MEGA, 4) * 2 + seconds("send", 4 * MEGA, 2)
    assert run_step(recording.graph, A100).seconds == pytest.approx(expected, rel=1e-3)


def test_what_does_not_meet_keeps_its_time(tmp_path: Path) -> None:
    """The second rank recorded another call in between; calls after it do not match."""
    both = [0, 1]
    before, behind = call("allreduce", both, 50), call("_allgather_base", both, 70)
    recorded(tmp_path, 0, 2, [before, behind, gemm(5), message("send", 1, 9), behind])
    recorded(tmp_path, 1, 2, [before, before, message("recv", 0, 9, elements=5), behind])
    recording = read_kineto(tmp_path)
    assert recording.kept_times == recording.omissions[NOT_MET] == 6
    # With the numbers of calls in their group, only that one does not match.
    for rank, more in ((0, []), (1, [call("allreduce", both, 50, Seq=7)])):
        recorded(tmp_path, rank, 2, [
            call("allreduce", both, 50, Seq=3), *more, call("_allgather_base", both, 70, Seq=9)
        ])  # fmt: skip
    assert read_kineto(tmp_path).omissions[NOT_MET] == 1
    run_step(read_kineto(tmp_path).graph, A100)


def test_process_groups_of_the_same_ranks_are_communicators_of_their_own(tmp_path: Path) -> None:
    """Two groups, the second known only by its name; parts of an all-to-all differ by rank."""
    config = [{"pg_name": "5", "ranks": [0, 1]}, {"pg_name": "9", "ranks": [0, 1]}]
    for rank in (0, 1):
        own = call("all_to_allv", [], 50, **{"Process Group Name": "9", "Group size": 2})
        own[2]["In msg nelems"] = own[2]["Out msg nelems"] = MEGA * (1 + rank)
        first = call("allreduce", [0, 1], 50, **{"Process Group Name": "5", "stream": 20})
        recorded(tmp_path, rank, 2, [first, own], pg_config=config)
    recording = read_kineto(tmp_path)
    assert recording.graph.communicators == {"g2x1": (2, 1), "g2x1.1": (2, 1)}
    # Both ranks do the same.
    assert recording.text.count(f"all_to_all s7 g2x1.1 {8 * MEGA}") == 1
    assert recording.graph.programs[0][:2] == (0, 1)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([(0, 2, ""), (0, 2, "again.json")], "neither a distributedInfo nor a name"),
        ([(0, 2, ""), (0, 2, "rank0.json")], "is of rank 0, as .*rank0.json is"),
        ([(0, 2, ""), (1, 4, "")], "is of a job with 2 ranks, but others are of one with 4"),
        ([(0, 2, ""), (2, 2, "")], "is of rank 2 of 2"),
        ([], "contains no recording"),
    ],
)
def test_files_that_are_not_of_one_job(
    tmp_path: Path, files: list[tuple[int, int, str]], message: str
) -> None:
    for rank, world, name in files:
        recorded(tmp_path, rank, world, [gemm(5)], name=name)
    with pytest.raises(InputError, match=message):
        read_kineto(tmp_path)


def test_a_number_in_a_name_fills_no_memory(tmp_path: Path) -> None:
    kernel = {"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 5, "args": {"stream": 7}}
    for rank in (0, 900_000_000):
        path = tmp_path / f"rank{rank}.json"
        path.write_text(json.dumps({"traceEvents": [kernel]}))
    with pytest.raises(InputError, match="has 900000001 ranks; possible are 1 to 1,048,576"):
        read_kineto(tmp_path)


def test_a_directory_replays(tmp_path: Path, tisim: CommandLine) -> None:
    job = tmp_path / "job"
    for rank in (0, 1):
        work = [gemm(300), call("allreduce", [0, 1], 50)]
        recorded(job, rank, 8, work, name=f"host_rank{rank}.pt.trace.json")
    outcome = tisim("step", str(job))
    assert outcome.status == 0
    assert f"not in the graph: 6 {COPIED}" in outcome.out
    assert "8 GPUs, 1 of them distinct" in outcome.out
    files = [str(job / f"host_rank{rank}.pt.trace.json") for rank in (0, 1)]
    assert tisim("step", *files).out.splitlines()[1:] == outcome.out.splitlines()[1:]
    assert tisim("step", str(job), str(tmp_path / "x.graph")).status == 2


def test_the_samples_of_two_ranks_end_when_they_did(gpu_data: Path) -> None:
    files = [gpu_data / "kineto" / f"sampled_rank-{rank}.json.gz" for rank in (0, 1)]
    recording = read_kineto(files)
    assert (recording.graph.ranks, recording.omissions[COPIED]) == (128, 126)
    assert run_step(recording.graph, A100).seconds == pytest.approx(recording.seconds, rel=0.05)


BEHIND = message("recv", 0, 500), message("send", 0, 500)
AHEAD = message("send", 8, 500), message("recv", 8, 500)


def stage(*messages: Kernel) -> list[Kernel]:
    """Return the kernels of rank 4 of a job with tensor size 2, 2 copies and 3 stages."""
    apart = {"Group size": 2, "Global rank start": 4, "Global rank stride": 2}
    calls = [
        call("allreduce", [4, 5], 500),
        *messages,
        call("allreduce_coalesced", [], 500, **apart),
        call("all_to_allv", [], 500, **{"Group size": 12}),
    ]
    return [kernel for each in calls for kernel in (gemm(500), each)]


def test_one_rank_of_a_stage_between_makes_all(tmp_path: Path) -> None:
    path = recorded(tmp_path, 4, 12, stage(BEHIND[0], *AHEAD, BEHIND[1]))
    recording = read_kineto(path, messages=True)
    assert recording.kept_times == 0
    made, assumed = extrapolated(recording, read_parallelism("tp=2,dp=2,pp=3"))
    assert made.graph.communicators == {"g2x1": (2, 1), "g2x2": (2, 2), "g12x1": (12, 1)}
    words = [[n.word for n in nodes if n.word in ("send", "receive")]
             for _, _, nodes in made.graph.programs]  # fmt: skip
    assert words == [["send", "receive"], ["receive", "send", "receive", "send"],
                     ["receive", "send"]]  # fmt: skip
    assert "all ranks compute the same as the recorded one, for the same time" in assumed[0]
    step = run_step(made.graph, A100)
    # A stage's seven kernels of 0.5 ms, one stage after the other up to the forward messages.
    assert step.seconds > 4e-3
    more, assumed = extrapolated(recording, read_parallelism("tp=2,dp=16,pp=3"))
    assert more.graph.ranks == 96
    assert more.graph.communicators == {"g2x1": (2, 1), "g2x2": (16, 2), "g12x1": (96, 1)}
    assert {n.numbers[0] for n in more.graph.programs[1][2] if n.word == "send"} == {32, -32}
    assert any("dp=16 instead of 2" in sentence for sentence in assumed)
    assert run_step(more.graph, A100).seconds > step.seconds


def test_no_interval_is_printed_for_kernels_with_recorded_times(
    tmp_path: Path, tisim: CommandLine
) -> None:
    made = str(tmp_path / "all.graph")
    file = recorded(tmp_path, 4, 12, stage(*BEHIND, *AHEAD))
    assert (
        tisim("extrapolate", str(file), "--parallelism", "tp=2,dp=2,pp=3", "-o", made).status == 0
    )
    outcome = tisim("step", made, "--set", "launch=0")
    assert outcome.status == 0
    assert "interval:" not in outcome.out


@pytest.mark.parametrize(
    ("messages", "grid", "message"),
    [
        (AHEAD, "tp=2,dp=2,pp=3", "the first and last stages do not show what others do"),
        ((*BEHIND, *AHEAD), "tp=3,dp=2,pp=2", "leads to no stage"),
        ((*BEHIND, *AHEAD), "tp=5", "both must be those of the recorded job"),
        ((*BEHIND, *AHEAD), "tp=2,ep=2", "not 'ep=2'"),
        ((), "tp=1,dp=4", "communicator g2x1 of 2 ranks, 1 apart, matches no dimension"),
    ],
)
def test_what_one_rank_does_not_show_is_refused(
    messages: tuple[Kernel, ...], grid: str, message: str, tmp_path: Path
) -> None:
    recording = read_kineto(recorded(tmp_path, 4, 12, stage(*messages)), messages=True)
    with pytest.raises(InputError, match=message):
        extrapolated(recording, read_parallelism(grid))


def test_the_command_says_what_was_assumed(tisim: CommandLine, tmp_path: Path) -> None:
    path = recorded(tmp_path, 4, 12, stage(BEHIND[0], *AHEAD, BEHIND[1]))
    graph = tmp_path / "all.graph"
    done = tisim("extrapolate", str(path), "--parallelism", "tp=2,dp=4,pp=3", "-o", str(graph))
    assert done.status == 0, done.err
    assert "24 ranks of 14 nodes, of which 7 communicate, 0 of them as recorded" in done.out
    assert "assumed: dp=4 instead of 2" in done.out
    assert read_graph(graph).ranks == 24
    assert tisim("step", str(graph), "--set", "launch=0").status == 0
    for words, message in (
        (("--to", "8", "--parallelism", "tp=1"), "without --to"),
        ((), "give --to, or --parallelism"),
    ):
        refused = tisim("extrapolate", str(path), *words, "-o", str(graph))
        assert (refused.status, message in refused.err) == (2, True), refused.err
