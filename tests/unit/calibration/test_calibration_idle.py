"""What idling before a receive did to its time is found, and taken out."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tisim.studies.calibration import Measurements, calibrate, read_measurements

SIZES = np.unique(np.geomspace(1, 60000, 120).astype(int))
START_UP, PER_BYTE = 10e-6, 1e-9
SLEEPS = (0.2e-3, 0.5e-3, 2e-3)  # before a receive; the middle one is the usual
SLOWER = (0.75, 1.0, 1.3)


def rows(effect: tuple[float, float, float] = SLOWER, seed: int = 1) -> pd.DataFrame:
    """Ping-pongs, and receives of each size in a row after sleeps of one length."""
    chance = np.random.default_rng(seed)
    parts = []
    for size in SIZES:
        which = chance.choice(3, p=[0.2, 0.5, 0.3])
        receive = (START_UP + PER_BYTE * size) * effect[which]
        seconds = receive * np.exp(0.01 * chance.standard_normal(10))
        idle = SLEEPS[which] * np.exp(0.1 * chance.standard_normal(10))
        parts.append(pd.DataFrame({"operation": "recv", "seconds": seconds, "idle": idle}))
        one_way = np.full(10, 80e-6 + 9e-9 * size)
        parts.append(pd.DataFrame({"operation": "pingpong", "seconds": one_way}))
        for part in parts[-2:]:
            part["bytes"] = size
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(pairs=1, directions=1, file="made up")


def receive_times(frame: pd.DataFrame) -> tuple[np.ndarray, tuple[str, ...]]:
    """The calibrated times of MPI_Recv at `SIZES`, relative to the true ones; all warnings."""
    found = calibrate(Measurements(frame), bandwidth=125e6, latency=15e-6)
    assert found.overheads.recv is not None
    sizes = SIZES.astype(float)
    times = found.overheads.recv.seconds(sizes)
    return times / (START_UP + PER_BYTE * sizes), found.warnings


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_usual_receive_comes_back(seed: int) -> None:
    ratio, warnings = receive_times(rows(seed=seed))
    assert np.abs(ratio - 1).max() < 0.02
    assert any("depends on how long the rank was idle before" in text for text in warnings)


def test_without_idle_times_nothing_is_done() -> None:
    ratio, warnings = receive_times(rows().drop(columns="idle"))
    assert np.abs(ratio - 1).max() > 0.02
    assert not any("idle" in text for text in warnings)


def test_idle_times_that_do_not_matter_are_left_alone() -> None:
    frame = rows(effect=(1.0, 1.0, 1.0))
    ratio, warnings = receive_times(frame)
    assert np.abs(ratio - 1).max() < 0.02
    assert not any("idle" in text for text in warnings)


def test_idle_times_come_from_the_starts_of_calls(tmp_path: Path) -> None:
    file = tmp_path / "recv.csv"
    file.write_text(
        "MPI_Recv,1,10.000000,2.000000e-06\n"
        "MPI_Recv,1,10.000502,2.000000e-06\n"
        "MPI_Send,4,11.000000,1.000000e-06\n"
        "MPI_Recv,4,11.000000,3.000000e-06\n"
        "MPI_Recv,2,5.000000,2.000000e-06\n"
    )
    frame = read_measurements([file]).frame
    assert frame["operation"].tolist() == ["recv", "recv", "send", "pingpong", "recv"]
    idle = frame.loc[frame["operation"] == "recv", "idle"]
    assert idle.isna().tolist() == [True, False, True]
    assert idle.iloc[1] == pytest.approx(500e-6, abs=1e-9)
