"""What the simulator makes of calibrated parameters, and the nominal values it is calibrated to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.property.test_calibration_recovery import (
    ENVELOPE,
    ROUTE,
    Truth,
    draw_sizes,
    draw_truth,
    measure,
)
from tisim.errors import InputError
from tisim.studies.calibration import Route, calibrate, route_between, simulate, simulate_rate
from tisim.studies.calibration.platform_file import NOMINAL_HOSTS, PlatformFile

SIZES = [1, 100, 199, 1000, 4000, 30000, 100_000, 1_000_000, 3_999_999]


def overheads(truth: Truth, table: np.ndarray) -> str:
    bounds = [0, *truth.breaks]
    return ";".join(f"{b}:{a!r}:{c!r}" for b, (a, c) in zip(bounds, table.tolist(), strict=True))


def settings(truth: Truth) -> dict[str, str]:
    """The configuration that a truth stands for."""
    bounds = [0, *(truth.breaks + ENVELOPE)]
    pairs = list(zip(bounds, truth.factors.tolist(), strict=True))
    return {
        "network/model": "SMPI",
        "smpi/async-small-thresh": str(truth.detached),
        "smpi/send-is-detached-thresh": str(truth.detached),
        "smpi/os": overheads(truth, truth.send),
        "smpi/ois": overheads(truth, truth.isend),
        "smpi/or": overheads(truth, truth.recv),
        "smpi/lat-factor": ";".join(f"{b}:{lat!r}" for b, (lat, _) in pairs),
        "smpi/bw-factor": ";".join(f"{b}:{bw!r}" for b, (_, bw) in pairs),
    }


@pytest.mark.parametrize("seed", range(3))
def test_the_closed_form_of_the_tests_is_the_simulators_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = draw_truth(rng, draw_sizes(rng))
    file = PlatformFile.nominal(ROUTE)
    file.configure(settings(truth))
    edges = [size for edge in truth.breaks for size in (edge, edge + 1)]
    sizes = np.array(sorted({*SIZES, *edges}), dtype=np.float64)
    found = simulate(file.load(), NOMINAL_HOSTS, sizes.astype(int).tolist())
    for operation, exact in truth.times(sizes).items():
        assert found[operation].to_numpy() == pytest.approx(exact, rel=1e-6, abs=2e-9), operation


def test_a_calibration_from_end_to_end() -> None:
    """Noisy measurements of a truth; the simulator on the calibrated platform reproduces it."""
    rng = np.random.default_rng(10)
    sizes = draw_sizes(rng)
    truth = draw_truth(rng, sizes)
    measured = measure(rng, truth, sizes, 0.03)
    steps: list[tuple[str, int, int]] = []
    # No factor exceeds 1: the links are at least as fast as the fastest bytes.
    found = calibrate(
        measured,
        bandwidth=ROUTE.bandwidth * max(1.0, truth.factors[:, 1].max()),
        latency=ROUTE.latency / 3,
        links=3,
        progress=lambda *step: steps.append(step),
    )
    assert steps[0] == ("overheads", 0, 5)
    assert steps[-1] == ("done", 5, 5)
    errors = found.errors()
    exact = truth.times(sizes)["pingpong"]
    simulated = errors[errors["operation"] == "pingpong"]["simulated"].to_numpy()
    assert np.median(np.abs(simulated / exact - 1)) < 0.01
    assert errors["error"].abs().median() < 0.02
    assert found.simulated["bytes"].tolist() == sizes.tolist()


@pytest.mark.parametrize("name", ["graphene", "backbone", "fattree"])
def test_the_nominal_route_is_that_of_the_platform(root: Path, name: str) -> None:
    platform = tisim.Platform.load(root / "platforms" / f"{name}.xml")
    first, second = platform.hosts[0].name, platform.hosts[1].name
    found = route_between(platform, (first, second))
    route = platform.route(first, second)
    assert found.latency == pytest.approx(route.latency, rel=1e-6)
    assert found.bandwidth == pytest.approx(min(link.bandwidth for link in route.links), rel=0.06)


def test_options_or_a_platform_give_the_nominal_values() -> None:
    rng = np.random.default_rng(1)
    measured = measure(rng, draw_truth(rng, draw_sizes(rng)), np.arange(1.0, 9), 0.02)
    found = calibrate(measured, latency=1e-6)
    assert found.route.latency == 2e-6
    assert any("none were given: bandwidth " in text for text in found.warnings)
    both = calibrate(measured)
    assert both.route.bandwidth == found.route.bandwidth
    assert any(" MB/s, latency " in text for text in both.warnings)
    with pytest.raises(InputError, match="give one of both"):
        calibrate(measured, platform="p.xml", latency=1e-6)
    with pytest.raises(InputError, match="at least one link"):
        calibrate(measured, bandwidth=1e9, latency=1e-6, links=0)
    with pytest.raises(InputError, match="latency of the route is zero"):
        calibrate(measured, bandwidth=1e9, latency=0.0)
    with pytest.raises(InputError, match="give --platform too"):
        calibrate(measured, bandwidth=1e9, latency=1e-6, hosts=("a", "b"))


def test_a_limiter_holds_both_directions_and_not_one() -> None:
    file = PlatformFile.nominal(Route(1e-5, 1e8))
    assert file.limit(NOMINAL_HOSTS, 1.5e8)
    platform = file.load()
    one = simulate_rate(platform, NOMINAL_HOSTS, 1 << 26, 1, {"smpi/bw-factor": "0:1"})
    both = simulate_rate(platform, NOMINAL_HOSTS, 1 << 26, 2, {"smpi/bw-factor": "0:1"})
    assert one == pytest.approx(1e8, rel=1e-3)
    # Each message also loads the limiter with the 5 % of its acknowledgements.
    assert both == pytest.approx(1.5e8 / 1.05, rel=1e-3)
