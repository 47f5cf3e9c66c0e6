"""The other ranks of a job of which one rank was recorded."""

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
Call = tuple[str, dict[str, object]]
BEHIND: tuple[Call, Call] = ("recv", {"Src Rank": 0}), ("send", {"Dst Rank": 0})
AHEAD: tuple[Call, Call] = ("send", {"Dst Rank": 8}), ("recv", {"Src Rank": 8})


def calls(*messages: Call) -> list[Call]:
    """What rank 4 of a job with 2 GPUs a matrix, 2 copies and 3 stages calls."""
    return [
        ("allreduce", {"Process Group Ranks": "[4, 5]", "Group size": 2}),
        *messages,
        ("allreduce_coalesced", {"Group size": 2, "Global rank start": 4, "Global rank stride": 2}),
        ("all_to_allv", {"Group size": 12}),
    ]


def recorded(path: Path, found: list[Call]) -> Path:
    events = []
    for number, (name, more) in enumerate(found):
        sizes = {"In msg nelems": MEGA, "Out msg nelems": MEGA, "dtype": "Float"}
        for begin, title, args in (
            (0, "gemm", {}),
            (500, "ncclKernel", {"Collective name": name, **sizes, **more}),
        ):
            time = {"ph": "X", "cat": "kernel", "ts": 1000 * number + begin, "dur": 500}
            events.append({**time, "name": title, "args": {"stream": 7, **args}})
    job = {"world_size": 12, "rank": 4}
    path.write_text(json.dumps({"traceEvents": events, "distributedInfo": job}))
    return path


def test_one_rank_of_a_stage_between_makes_all(tmp_path: Path) -> None:
    path = recorded(tmp_path / "r.json", calls(BEHIND[0], *AHEAD, BEHIND[1]))
    recording = read_kineto(path, messages=True)
    assert recording.kept == 0
    made, assumed = extrapolated(recording, read_parallelism("tp=2,dp=2,pp=3"))
    assert made.graph.communicators == {"g2x1": (2, 1), "g2x2": (2, 2), "g12x1": (12, 1)}
    words = [[n.word for n in nodes if n.word in ("send", "receive")]
             for _, _, nodes in made.graph.programs]  # fmt: skip
    assert words == [["send", "receive"], ["receive", "send", "receive", "send"],
                     ["receive", "send"]]  # fmt: skip
    assert "all ranks compute what the recorded one does" in assumed[0]
    step = run_step(made.graph, A100)
    # A stage's seven kernels of 0.5 ms, one stage after the other up to the messages forwards.
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
    file = recorded(tmp_path / "r.json", calls(*BEHIND, *AHEAD))
    assert (
        tisim("extrapolate", str(file), "--parallelism", "tp=2,dp=2,pp=3", "-o", made).status == 0
    )
    outcome = tisim("step", made, "--set", "launch=0")
    assert outcome.status == 0
    assert "interval:" not in outcome.out


@pytest.mark.parametrize(
    ("messages", "grid", "message"),
    [
        (AHEAD, "tp=2,dp=2,pp=3", "the ends do not show what others do"),
        ((*BEHIND, *AHEAD), "tp=3,dp=2,pp=2", "leads to no stage"),
        ((*BEHIND, *AHEAD), "tp=5", "both are those of the recorded job"),
        ((*BEHIND, *AHEAD), "tp=2,ep=2", "'ep=2' is not"),
        ((), "tp=1,dp=4", "communicator g2x1 of 2 ranks, 1 apart, spans no dimension"),
    ],
)
def test_what_one_rank_does_not_show_is_refused(
    messages: tuple[Call, ...], grid: str, message: str, tmp_path: Path
) -> None:
    recording = read_kineto(recorded(tmp_path / "r.json", calls(*messages)), messages=True)
    with pytest.raises(InputError, match=message):
        extrapolated(recording, read_parallelism(grid))


def test_the_command_says_what_was_assumed(tisim: CommandLine, tmp_path: Path) -> None:
    path = recorded(tmp_path / "r.json", calls(BEHIND[0], *AHEAD, BEHIND[1]))
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
