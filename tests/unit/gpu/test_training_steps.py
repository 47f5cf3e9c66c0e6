"""Predicted training steps and measured times, as stated in docs/ai_validation.md."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.public_steps import nemo_steps, selene_steps
from benchmarks.training_steps import (
    VTRAIN,
    errors,
    held_by_intervals,
    mlperf_steps,
    paper_steps,
    read_steps,
)
from tests.support import campaign
from tisim.gpu.step_machine import STEP_MACHINES

A100 = STEP_MACHINES["a100"]


def test_256_and_512_gpus_are_predicted_from_64(gpu_data: Path) -> None:
    steps = read_steps(gpu_data / "vtrain" / "ground_truth_multi.csv")
    far = [step for step in steps if step.gpus > 64][:: campaign(3, 1)]
    size = np.abs(errors(far, replace(A100, hardware=VTRAIN)))
    assert size.mean() <= 0.10
    assert np.median(size) <= 0.07


def test_a_node_is_predicted_from_a_tenth_of_its_steps(gpu_data: Path) -> None:
    steps = read_steps(gpu_data / "vtrain" / "ground_truth_single.csv")
    machine = replace(A100, hardware=VTRAIN, gemm_efficiency=0.881)
    assert np.abs(errors(steps[1 :: campaign(60, 2)], machine)).mean() <= 0.20


def test_published_steps_of_megatron_are_predicted() -> None:
    assert np.abs(errors(list(paper_steps())[: campaign(4, 8)], A100)).max() <= 0.12


def test_steps_of_mlperf_are_predicted() -> None:
    assert np.abs(errors(mlperf_steps(), STEP_MACHINES["h100"])).max() <= 0.12


def test_steps_that_nobody_fitted_are_predicted() -> None:
    assert np.abs(errors(list(selene_steps())[: campaign(6, 10)], A100)).max() <= 0.10
    found = errors(nemo_steps(), STEP_MACHINES["h100"])
    assert np.abs(found).mean() <= 0.12


def test_intervals_hold_80_to_98_percent_of_measured_steps(gpu_data: Path) -> None:
    machine = replace(A100, hardware=VTRAIN)
    held = held_by_intervals(list(paper_steps())[: campaign(2, 8)], A100)
    for name, few in (("single", 48), ("multi", 6)):
        steps = read_steps(gpu_data / "vtrain" / f"ground_truth_{name}.csv")
        held += held_by_intervals(steps[:: campaign(few, 1)], machine)
    assert 0.80 <= np.mean(held) <= 0.98
