"""Critical path of a step, and how to shorten it: calculations by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.unit.command_line import CommandLine
from tests.unit.gpu.test_llm import SMALL
from tests.unit.gpu.test_step_run import PLAIN
from tisim.errors import InputError
from tisim.gpu.llm import Layout, write_step
from tisim.gpu.pictures import _shares, draw_step
from tisim.gpu.step_graph import parse_graph
from tisim.gpu.step_machine import STEP_MACHINES, StepMachine
from tisim.gpu.step_path import LAUNCH, SHARING, better_machines, critical_path, gains, path_seconds
from tisim.gpu.step_run import run_step

PAIRS = """graph 1
ranks 4
communicator pairs 2 1
communicator far 2 2
block rest
  all_gather a pairs 1e9
  all_gather a far 1e9
end
program 0
  memory a 40e9
  do rest
end
program 1-3
  seconds a 1
  do rest
end"""


def path_of(text: str, machine: StepMachine = PLAIN) -> dict[str, float]:
    graph = parse_graph(text)
    result = run_step(graph, machine, logs=True)
    parts = critical_path(result)
    assert parts[0].begin == 0
    assert parts[-1].end == result.seconds
    assert all(one.end == other.begin for one, other in pairwise(parts))
    return path_seconds(parts, machine, graph.dtype)


def test_the_path_goes_through_the_last_of_a_group() -> None:
    # All wait for rank 0, which computes for 5 s.
    expected = {"memory": 5.0, "all_gather pairs": 1.0, "all_gather far": 1.0, SHARING: 0.0}
    assert path_of(PAIRS) == pytest.approx(expected)


def test_what_kernels_lose_to_collectives_is_sharing() -> None:
    text = """graph 1
    ranks 2
    communicator all 2 1
    program 0-1
      seconds a 3
      all_gather b all 2e9
    end"""
    assert path_of(text) == pytest.approx({"seconds": 3.0, SHARING: 1.0})


def test_the_path_follows_events_and_the_host_thread() -> None:
    text = """graph 1
    ranks 1
    program 0
      seconds a 2
      record a e
      wait b e
      flops b 0
      seconds b 1
      seconds c 1.5
    end"""
    # Launched at 1 to 4 s: stream b begins at 3 s and ends at 5 s, overlapping c.
    found = path_of(text, replace(PLAIN, launch=1.0))
    assert sum(found.values()) == pytest.approx(run_step(
        parse_graph(text), replace(PLAIN, launch=1.0)).seconds)  # fmt: skip
    assert found[LAUNCH] == pytest.approx(1)
    assert found["seconds"] + found[SHARING] == pytest.approx(sum(found.values()) - 1)


@pytest.mark.parametrize(
    "layout",
    [
        Layout(2, 4, 2, 1, 16, overlap_gradients=True, zero=1),
        Layout(4, 2, 1, 1, 8, "interleaved", 2, sequence_parallel=True, overlap_tensor=True),
    ],
)
def test_the_path_of_a_training_step_lasts_as_long_as_the_step(layout: Layout) -> None:
    found = path_of(write_step(SMALL, layout), STEP_MACHINES["h100"])
    assert found["gemm"] > 0
    assert all(seconds >= 0 for seconds in found.values())


def test_the_path_needs_spans() -> None:
    with pytest.raises(InputError, match="logs=True"):
        critical_path(run_step(parse_graph(PAIRS), PLAIN))


def test_gains_are_those_of_better_machines() -> None:
    graph = parse_graph(PAIRS)
    found = gains(graph, PLAIN, run_step(graph, PLAIN))
    assert found["memory bandwidth x2"] == pytest.approx(2.5 + 2)
    assert found["SMs x2"] == pytest.approx(5 + 2)
    # Ranks 1 to 3 wait for 4 s each.
    assert found["no bubbles"] == pytest.approx(7 - 3)
    machine = STEP_MACHINES["a100"]
    better = dict(better_machines(machine))
    assert better["network x2"] == machine.with_values(("nic-rate=50e9",))
    assert better["no launches"] == machine.with_values(("launch=0",))
    assert better["NVLink x2"].hardware.nvlink_rate == 2 * machine.hardware.nvlink_rate
    assert better["SMs x2"].hardware.gpu.peak("bf16") == 2 * machine.hardware.gpu.peak("bf16")


def test_the_command(tisim: CommandLine, tmp_path: Path) -> None:
    graph = tmp_path / "x.graph"
    graph.write_text(PAIRS)
    outcome = tisim("step", str(graph), "--critical-path", "--what-if")
    assert outcome.status == 0
    assert "all_gather far" in outcome.out
    assert "no bubbles" in outcome.out
    decoded = json.loads(
        tisim("step", str(graph), "--critical-path", "--what-if", "--json", "-").out
    )
    assert sum(decoded["critical path"].values()) == pytest.approx(decoded["seconds"])
    assert decoded["what if"]["no bubbles"] < decoded["seconds"]


@pytest.mark.parametrize("text", [PAIRS, write_step(SMALL, Layout(
    2, 4, 2, 1, 16, "zero-bubble", overlap_gradients=True))])  # fmt: skip
def test_a_picture_shows_what_gpus_do_and_streams_below(text: str) -> None:
    machine = STEP_MACHINES["a100"] if "gemm" in text else PLAIN
    result = run_step(parse_graph(text), machine, logs=True)
    edges = np.linspace(0, result.seconds, 501)
    for lane, occupations in enumerate(result.occupations):
        spans = [span for span in result.spans if span.lane == lane]
        seconds = _shares(spans, edges, beside=True).sum(axis=1) * result.seconds / 500
        assert seconds == pytest.approx(occupations, abs=1e-9 * result.seconds)
    axes = draw_step(result).axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    streams = {(span.lane, span.stream) for span in result.spans}
    assert len(labels) == len(result.ends) + len(streams)
    assert labels[0].startswith("GPU 0")


def test_the_command_draws(tisim: CommandLine, tmp_path: Path) -> None:
    graph, picture = tmp_path / "x.graph", tmp_path / "x.svg"
    graph.write_text(PAIRS)
    assert tisim("step", str(graph), "--gantt", str(picture)).status == 0
    assert "GPU 1" in picture.read_text()
    outcome = tisim("step", str(graph), "--gantt", "x.gif")
    assert outcome.status == 2
    assert "the suffix of a picture" in outcome.err
