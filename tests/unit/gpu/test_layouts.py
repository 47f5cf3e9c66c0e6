"""The best layout of a training step, and intervals of predictions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tests.unit.gpu.test_llm import SMALL
from tisim.analysis.timeline.streams import OCCUPATIONS
from tisim.errors import InputError
from tisim.gpu.layouts import OVERLAPPED, Space, layouts, layouts_of
from tisim.gpu.llm import Layout, write_step
from tisim.gpu.llm_memory import peak_memory
from tisim.gpu.step_graph import parse_graph
from tisim.gpu.step_interval import step_interval
from tisim.gpu.step_machine import STEP_MACHINES, StepMachine
from tisim.gpu.step_run import run_step
from tisim.gpu.step_traffic import equal_ranks_and_loads

H100 = STEP_MACHINES["h100"]


def with_memory(nbytes: float) -> StepMachine:
    hardware = H100.hardware
    return replace(H100, hardware=replace(hardware, gpu=replace(hardware.gpu, memory=nbytes)))


def test_all_layouts_that_divide_the_gpus_are_tried_once() -> None:
    space = Space(micro_batch=(1, 2), recompute=("none",))
    found = layouts_of(SMALL, 16, 16, 8, space, OVERLAPPED)
    assert len(set(found)) == len(found)
    assert {layout.ranks for layout in found} == {16}
    sizes = {(layout.tensor, layout.pipeline) for layout in found}
    assert sizes == {(t, p) for t in (1, 2, 4, 8) for p in (1, 2, 4, 8) if t * p <= 16}
    assert {la.chunks for la in found if la.schedule == "interleaved"} == {2, 4}
    assert all(la.schedule == "1f1b" for la in found if la.pipeline == 1)
    assert all(la.sequence_parallel == (la.tensor > 1) for la in found)


def test_the_frame_has_the_fastest_first_and_what_does_not_fit_last() -> None:
    space = Space(tensor=(1, 2), pipeline=(1, 2, 4), micro_batch=(1,), schedule=("1f1b",))
    machine = with_memory(4.2e9)
    frame = layouts(SMALL, gpus=8, global_batch=16, machine=machine, space=space)
    fitting = frame["seconds"].notna()
    assert 0 < fitting.sum() < len(frame)
    assert (frame["memory"] <= 4.2e9).equals(fitting)
    assert frame["seconds"][fitting].is_monotonic_increasing
    assert fitting.is_monotonic_decreasing
    best = frame.iloc[0]
    layout = replace(
        OVERLAPPED, tensor=int(best.tp), pipeline=int(best.pp), data=int(best.dp),
        global_batch=16, recompute=best.recompute, sequence_parallel=bool(best.tp > 1),
    )  # fmt: skip
    assert best.memory == sum(peak_memory(SMALL, layout).values())
    result = run_step(parse_graph(write_step(SMALL, layout)), machine)
    assert best.seconds == result.seconds
    assert best.low < best.seconds < best.high
    assert sum(best[name] for name in OCCUPATIONS) == pytest.approx(1)
    flops = 6 * 16 * 1024 * (SMALL.parameters + 2 * 8 * 1024 * 1024)
    assert best.tflops == pytest.approx(flops / result.seconds / 8 / 1e12)


def test_nothing_that_divides_is_an_error() -> None:
    with pytest.raises(InputError, match="no layout divides small, 3 sequences and 7 GPUs evenly;"):
        layouts(SMALL, gpus=7, global_batch=3, machine=H100)


def test_the_command(tisim: CommandLine, tmp_path: Path) -> None:
    model = tmp_path / "small.toml"
    model.write_text("layers=8\nhidden=1024\nheads=16\nffn=4096\nvocab=50000\nsequence=1024\n")
    table, picture = tmp_path / "x.csv", tmp_path / "x.svg"
    words = ("layouts", "--model", str(model), "--gpus", "16", "--global-batch", "16")
    few = ("--tp", "2,4", "--pp", "2", "--micro-batch", "1", "--chunks", "2")
    outcome = tisim(*words, *few, "-o", str(table), "--picture", str(picture))
    assert outcome.status == 0, outcome.err
    assert "10 layouts, of which 10 fit" in outcome.out
    assert "the interval of steps measured on A100; GPU" in outcome.out
    assert len(table.read_text().splitlines()) == 11
    text = picture.read_text()
    assert "tp2 pp2 dp4 mb1" in text
    # 8 stages of 4 GPUs exceed 16 GPUs, which is not a matter of memory.
    tisim(*words, "--tp", "2,4", "--pp", "2,8", "--micro-batch", "1", "--picture", str(picture))
    assert ("layout" in picture.read_text(), "memory" in picture.read_text()) == (True, False)
    assert "exposed" in text
    rows = json.loads(tisim(*words, *few, "--json", "-").out)
    assert [row["seconds"] for row in rows] == sorted(row["seconds"] for row in rows)
    for wrong, message in (
        (("--tp", "2,x"), "--tp must be numbers such as 1,2,4"),
        (("--schedule", "fast"), "--schedule must be chosen from gpipe,1f1b"),
        (("--picture", "x.gif"), "the suffix of a picture must be one of .svg, .png"),
    ):
        outcome = tisim(*words, *wrong)
        assert outcome.status == 2
        assert message in outcome.err


def test_nothing_that_fits_is_an_error(tisim: CommandLine) -> None:
    words = ("--model", "gpt3-175b", "--gpus", "8", "--global-batch", "8")
    outcome = tisim("layouts", *words)
    assert outcome.status == 2
    assert "layouts fits into GPU memory; the smallest needs" in outcome.err


def test_each_step_has_an_interval(tisim: CommandLine, tmp_path: Path) -> None:
    graph = tmp_path / "x.graph"
    graph.write_text("graph 1\nranks 16\nprogram 0-15\nmemory a 1e13\nend\n")
    outcome = tisim("step", str(graph), "--set", "launch=0")
    assert (
        "interval: 7.647 to 10.88 s; of 109 measured training steps on 64 to 512 A100, 90%"
        in outcome.out
    )
    values = "times the prediction with tisim's values, not those of --set"
    assert values in outcome.out
    assert values not in tisim("step", str(graph), "--set", "nics=4").out
    decoded = json.loads(tisim("step", str(graph), "--set", "launch=0", "--json", "-").out)
    assert decoded["interval"]["low"] == pytest.approx(0.923 * decoded["seconds"])
    assert decoded["interval"]["measured steps"] == 109
    assert step_interval(8, 8).steps == 1440


def test_layouts_that_differ_in_micro_batches_have_the_same_links() -> None:
    before = equal_ranks_and_loads.cache_info().misses
    times = []
    for micro in (1, 2, 4):
        layout = Layout(tensor=4, pipeline=2, data=3, global_batch=24, micro_batch=micro)
        graph = parse_graph(write_step(SMALL, layout))
        times.append(run_step(graph, STEP_MACHINES["h100"]).seconds)
        alone = run_step(graph, STEP_MACHINES["h100"], merge=False).seconds
        assert times[-1] == pytest.approx(alone, rel=1e-12)
    assert len(set(times)) == 3
    assert equal_ranks_and_loads.cache_info().misses == before + 1
