"""Ping-pongs inside a host give its loopback."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.calibration.test_calibration_contention import found_in, written
from tisim.studies.calibration import Calibration
from tisim.studies.calibration.simulation import simulate

LATENCY, BANDWIDTH = 1e-6, 8e9


def with_local(folder: Path, extra: float = 0.0) -> Path:
    """A file of `tisim benchmark` that has ping-pongs between two ranks of host a, too."""
    file = written(folder, shift=1)
    rows = []
    for nbytes in np.unique(np.geomspace(1, 1e6, 30).astype(int)).tolist():
        one_way = LATENCY + nbytes / BANDWIDTH + extra
        rows += [f"pingpong,{nbytes},1,1,{2 * one_way!r},a,a,pair,1"] * 7
    file.write_text(file.read_text() + "\n".join(rows) + "\n")
    return file


def found_with(folder: Path) -> Calibration:
    return found_in(with_local(folder))


def test_the_loopback_is_fitted_and_written(tmp_path: Path) -> None:
    found = found_with(tmp_path)
    assert found.loopback is not None
    assert found.loopback.bandwidth == pytest.approx(BANDWIDTH, rel=0.05)
    assert found.loopback.error < 0.05
    # What is between hosts is what it would be without.
    (tmp_path / "other").mkdir()
    other = found_in(written(tmp_path / "other", shift=1))
    assert found.factors == other.factors
    assert other.loopback is None
    assert other.to_dict()["loopback"] is None
    found.platform.write(tmp_path / "c.xml")
    text = (tmp_path / "c.xml").read_text()
    assert 'loopback_bw="' in text
    assert '"network/loopback-bw"' in text
    assert any("inside one host" in w or "of one host" in w for w in found.warnings)


def test_messages_inside_a_host_are_simulated_as_measured(tmp_path: Path) -> None:
    found = found_with(tmp_path)
    sizes = [100, 10_000, 1_000_000]
    times = simulate(found.platform.load(), ("host-1", "host-1"), sizes)["pingpong"].to_numpy()
    assert times == pytest.approx([LATENCY + size / BANDWIDTH for size in sizes], rel=0.1)
