"""Calibration from other people's measurements, where they are.

They are not part of the project. The environment variable TISIM_SHARED names the directory that
has them in ``calibration/``; by default it is ``../shared`` beside the checkout.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tisim
from tisim.studies.calibration import Calibration, calibrate, read_measurements, simulate

ROOT = Path(__file__).resolve().parents[3]
SHARED = Path(os.environ.get("TISIM_SHARED", ROOT.parent / "shared")) / "calibration"
GRAPHENE = sorted((SHARED / "graphene").glob("*.csv"))
GRIFFON = SHARED / "griffon.skampi.dat"

needs_measurements = pytest.mark.skipif(
    not GRAPHENE or not GRIFFON.exists(),
    reason=f"the measurements are not in {SHARED}; set TISIM_SHARED to the directory above them",
)
pytestmark = needs_measurements

# Protocol changes that those who measured read off by eye.
PROTOCOLS = [1420, 32768, 65536, 270000]


@pytest.fixture(scope="module")
def graphene() -> Calibration:
    measured = read_measurements(GRAPHENE)
    return calibrate(measured, bandwidth=125e6, latency=15e-6, links=2)


@pytest.fixture(scope="module")
def griffon() -> Calibration:
    return calibrate(read_measurements([GRIFFON]), bandwidth=125e6, latency=15e-6, links=2)


def median_errors(errors: pd.DataFrame, operation: str, edges: list[int]) -> list[float]:
    """Median over the sizes in each segment of the relative error of the median at each size."""
    own = errors[errors["operation"] == operation]
    segment = np.searchsorted(edges, own["bytes"].to_numpy(), side="left")
    return own["error"].abs().groupby(segment).median().tolist()


def test_all_rows_are_read() -> None:
    frame = read_measurements(GRAPHENE).frame
    assert frame.groupby("operation").size().to_dict() == {
        "iprobe": 4550,
        "isend": 6620,
        "pingpong": 6620,
        "recv": 6620,
        "send": 6620,
        "test": 4643,
    }


def test_the_protocol_changes_are_found(graphene: Calibration) -> None:
    found = np.array([change.above for change in graphene.changes])
    for size in PROTOCOLS:
        assert np.abs(found / size - 1).min() < 0.15, size
    thresholds = graphene.overheads.thresholds
    assert thresholds is not None
    assert thresholds.detached == thresholds.async_small == 65537


def test_every_breakpoint_is_explained(graphene: Calibration) -> None:
    assert all(change.explanation for change in graphene.changes)
    # The extra ones: steps of a TCP segment of 1448 bytes each, and the socket buffer.
    extra = [c for c in graphene.changes if np.abs(c.above / np.array(PROTOCOLS) - 1).min() > 0.15]
    assert {change.above for change in extra} <= {2756, 4001, 5647, 6546}


@pytest.mark.parametrize("by_eye", [False, True])
def test_the_simulated_ping_pong_is_the_measured_one(graphene: Calibration, by_eye: bool) -> None:
    found = [c.above for c in graphene.changes if c.operation == "pingpong"]
    edges = PROTOCOLS if by_eye else found
    errors = median_errors(graphene.errors(), "pingpong", edges)
    assert len(errors) == 5
    assert max(errors) < 0.05


def test_medians_that_are_known_well_are_simulated_within_5_percent(graphene: Calibration) -> None:
    known = graphene.measurements.curve("pingpong").is_well_known
    assert known.sum() == 166
    assert graphene.failing().empty
    assert max(factor.bandwidth for factor in graphene.factors) <= 1
    assert min(factor.latency for factor in graphene.factors) > 0


@pytest.mark.parametrize("by_eye", [False, True])
def test_the_simulated_isend_is_the_measured_one(graphene: Calibration, by_eye: bool) -> None:
    fit = graphene.overheads.isend
    assert fit is not None
    edges = PROTOCOLS if by_eye else list(fit.breakpoints)
    assert max(median_errors(graphene.errors(), "isend", edges)) < 0.05


@pytest.mark.parametrize("by_eye", [False, True])
def test_the_simulated_receive_is_the_measured_one(graphene: Calibration, by_eye: bool) -> None:
    fit = graphene.overheads.recv
    assert fit is not None
    edges = PROTOCOLS if by_eye else list(fit.breakpoints)
    # The receive of a rendezvous has no parameter of its own. It takes as long as the transfer, and
    # that is fitted to the ping-pong, from which receives that were timed alone differ by 6 %.
    errors = graphene.errors()
    assert graphene.overheads.thresholds is not None
    overheads = errors[errors["bytes"] < graphene.overheads.thresholds.detached]
    assert max(median_errors(overheads, "recv", edges)) < 0.05
    assert any("how long the rank was idle" in warning for warning in graphene.warnings)


def test_receives_depend_on_the_idle_time_before_them() -> None:
    """Why: no line is near the receives as they stand, whose level the idle time decides."""
    frame = read_measurements(GRAPHENE).frame
    small = frame[(frame["operation"] == "recv") & (frame["bytes"] <= 1420)]
    after = small.groupby(pd.cut(small["idle"], [0, 2.2e-4, 8e-4, 1]), observed=True)["seconds"]
    assert (after.median() * 1e6).round(1).tolist() == [8.7, 12.4, 15.8]


def test_griffon(griffon: Calibration) -> None:
    errors = griffon.errors()
    assert set(errors["operation"]) == {"pingpong"}
    assert errors["error"].abs().median() < 0.05
    assert errors["error"].abs().max() < 0.15
    assert any("factors alone are fitted" in warning for warning in griffon.warnings)


def test_the_parameters_of_2014_predict_another_ping_pong(graphene: Calibration) -> None:
    """The numbers that docs/calibration.md shows beside the calibrated ones."""
    platform = tisim.Platform.load(ROOT / "platforms" / "graphene.xml")
    hosts = (platform.hosts[0].name, platform.hosts[1].name)
    errors = graphene.errors()
    own = errors[errors["operation"] == "pingpong"]
    times = simulate(platform, hosts, own["bytes"].tolist())["pingpong"].to_numpy()
    own = own.assign(error=times / own["measured"] - 1)
    of_2014 = median_errors(own, "pingpong", PROTOCOLS)
    text = (ROOT / "docs" / "calibration.md").read_text()
    table = text.split("<!-- ping-pong errors -->")[1].split("\n\n")[0].strip().splitlines()[2:]
    shown = [[float(cell.strip(" %")) for cell in row.split("|")[2:4]] for row in table]
    calibrated = median_errors(errors, "pingpong", PROTOCOLS)
    assert shown == [
        pytest.approx([100 * old, 100 * new], abs=0.1)
        for old, new in zip(of_2014, calibrated, strict=True)
    ]
