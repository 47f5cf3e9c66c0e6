"""Sets of parameters from a bootstrap, and the interval of the replays with them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.unit.command_line import RING, CommandLine
from tisim.errors import InputError
from tisim.platform import Platform, PlatformBuilder
from tisim.studies.calibration import Calibration, Measurements, calibrate
from tisim.studies.uncertainty import Interval, ParameterSets, replay_with_sets
from tisim.studies.uncertainty.bootstrap import _relative_rates, draw_sets
from tisim.studies.uncertainty.validated import Validated, quantile


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    """A calibration of noisy ping-pongs, and of shifts at nine tenths of the bandwidth."""
    rng = np.random.default_rng(4)
    rows: list[tuple[str, int, float, int, int, str]] = []
    for nbytes in np.unique(np.geomspace(1, 1e6, 30).astype(int)).tolist():
        exact = 20e-6 + nbytes / 1e8
        for _ in range(9):
            for operation, share in (("pingpong", 1.0), ("send", 0.1), ("recv", 0.1)):
                noise = float(np.exp(0.05 * rng.standard_normal()))
                rows.append((operation, nbytes, share * exact * noise, 1, 1, "pairs"))
            rows.append(("idle_pingpong", nbytes, 1.2 * exact, 1, 1, "pairs"))
    for _ in range(10):
        rows.append(("transfer", 10**6, 0.0100, 1, 1, "pairs"))
        rows.append(("transfer", 10**6, 0.0111, 4, 1, "shift"))
    columns = ["operation", "bytes", "seconds", "pairs", "directions", "pattern"]
    frame = pd.DataFrame(rows, columns=columns).assign(file="x")
    return calibrate(Measurements(frame), nodes=8, speed=1e9)


def table(text: str) -> list[float]:
    """Return the second number of each entry of an option's table."""
    return [float(entry.split(":")[1]) for entry in text.split(";")]


def test_sets_are_drawn_from_a_seed(calibration: Calibration) -> None:
    sets = draw_sets(calibration, 4, seed=3)
    assert sets == draw_sets(calibration, 4, seed=3)
    assert sets != draw_sets(calibration, 4, seed=4)
    assert len({str(one) for one in sets.sets}) == 4
    for one in sets.sets:
        assert one.keys() == calibration.config.keys()
        assert one["smpi/async-small-thresh"] == calibration.config["smpi/async-small-thresh"]
        assert max(table(one["smpi/bw-factor"])) <= 1
        # Start-up times are between those back to back and those after idling, a fifth longer.
        shortest = (
            table(one["smpi/lat-factor"])[0] / table(calibration.config["smpi/lat-factor"])[0]
        )
        assert 0.9 < shortest < 1.3


def test_patterns_that_differ_widen_no_interval(calibration: Calibration) -> None:
    """Shifts always take 11 % longer than single transfers: the bandwidth is equally certain."""
    assert set(_relative_rates(calibration.measurements)) == {1.0}


def test_sets_lie_beside_their_platform(calibration: Calibration, tmp_path: Path) -> None:
    sets = draw_sets(calibration, 3, seed=1)
    calibration.platform.write(tmp_path / "c.xml")
    path = sets.write(tmp_path / "c.xml")
    assert path == tmp_path / "c.sets.json"
    assert ParameterSets.beside(tmp_path / "c.xml") == sets
    with pytest.raises(InputError, match=r"'tisim calibrate measured\.csv -o"):
        ParameterSets.beside(tmp_path / "other.xml")
    path.write_text('{"sets": [1]}')
    with pytest.raises(InputError, match="not a file of parameter sets"):
        ParameterSets.beside(tmp_path / "c.xml")


def test_the_interval_holds_nine_tenths_of_the_times() -> None:
    interval = Interval.of(tuple(float(t) for t in range(101)), seed=0)
    assert (interval.low, interval.high) == pytest.approx((5, 95))
    assert interval.holds(6)
    assert not interval.holds(96)
    assert Interval.of((3.71, 4.08), 0).text() == "3.7 s to 4.1 s with 2 parameter sets"


def test_programs_that_are_alike_count_more() -> None:
    programs = [
        *[Validated("t", 0.01, {"transfers": 1.0})] * 20,
        *[Validated("s", 0.5, {"short messages": 1.0})] * 20,
    ]
    one = (1.0,)
    assert Interval.of(one, 0, programs, {"transfers": 1.0}).high == pytest.approx(1.01, abs=1e-3)
    assert Interval.of(one, 0, programs, {"short messages": 0.9, "transfers": 0.1}).high > 1.6
    # Computing is measured separately: errors apply to the remaining time.
    computing = Interval.of(one, 0, programs, {"computing": 0.9, "short messages": 0.1})
    assert computing.high == pytest.approx(1 + 0.1 * np.expm1(0.5), rel=1e-3)
    # Without shares, all programs weigh the same.
    assert Interval.of(one, 0, programs).high > 1.6


def test_quantiles_of_weighted_values() -> None:
    values = np.arange(101.0)
    assert quantile(values, np.ones(101), 0.5) == 50
    assert quantile(np.array([3.0, 1.0]), np.array([1.0, 3.0]), 0.05) == 1
    assert quantile(np.array([3.0, 1.0]), np.array([1.0, 3.0]), 0.95) == 3


def test_a_replay_with_sets(calibration: Calibration, tmp_path: Path) -> None:
    calibration.platform.write(tmp_path / "c.xml")
    sets = draw_sets(calibration, 6, seed=1)
    platform = Platform.load(tmp_path / "c.xml")

    def interval(**options: object) -> Interval:
        return replay_with_sets(RING, sets, 4, platform=platform, progress=False, **options)  # type: ignore[arg-type]

    first = interval()
    assert len(first.times) == 4
    assert first.low < first.high
    assert first == interval()
    # Options set by the user are not varied.
    assert len(set(interval(config=calibration.config).times)) == 1
    with pytest.raises(InputError, match="2 replays,"):
        replay_with_sets(RING, sets, 1, platform=platform)


def test_the_speed_of_hosts_is_drawn_where_its_deviation_is_known(tmp_path: Path) -> None:
    (tmp_path / "trace").write_text("0 compute 1e9\n")

    def interval(deviation: str) -> Interval:
        builder = PlatformBuilder()
        prop = {"tisim/speed-deviation": deviation} if deviation else {}
        builder.cluster("c", 2, speed="1Gf", bandwidth="1GBps", latency="1us", properties=prop)
        platform = builder.build()
        return replay_with_sets(tmp_path / "trace", None, 20, platform=platform, progress=False)

    assert interval("").times == interval("0").times == (1.0,)
    bounds = interval("0.1")
    assert np.std(np.log(bounds.times), ddof=1) == pytest.approx(0.1, rel=0.35)
    assert "with 20 draws of the hosts' speed and the errors" in bounds.text()
    for wrong in ("10%", "-1", "2"):
        with pytest.raises(InputError, match=f"such as 0.08, not '{wrong}'"):
            interval(wrong)


def test_the_command_prints_and_writes_the_interval(
    calibration: Calibration, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tisim = CommandLine(tmp_path, capsys)
    platform = str(tmp_path / "c.xml")
    calibration.platform.write(platform)
    without = tisim.replay("--uncertainty", "4", RING, platform=platform)
    assert without.status == 0, without.err
    assert " with the errors of " in without.out.splitlines()[0]
    assert "programs validated on other platforms" in without.out.splitlines()[0]
    draw_sets(calibration, 6, seed=1).write(platform)
    out = str(tmp_path / "out.json")
    done = tisim.replay("--uncertainty", "4", "--json", out, RING, platform=platform)
    assert done.status == 0, done.err
    assert "with 4 parameter sets" in done.out.splitlines()[0]
    written = json.loads(Path(out).read_text())["uncertainty"]
    assert len(written["times_s"]) == 4
    assert written["low_s"] <= written["high_s"]


def test_sets_of_another_platform_are_refused(
    calibration: Calibration, tisim: CommandLine, tmp_path: Path
) -> None:
    platform = tmp_path / "p.xml"
    calibration.platform.write(platform)
    draw_sets(calibration, 2).write(platform)
    assert len(ParameterSets.beside(platform).sets) == 2
    platform.write_text(
        platform.read_text().replace('"smpi/os" value="', '"smpi/os" value="9:1:0;')
    )
    message = "these parameter sets are for a different platform: smpi/os is not"
    with pytest.raises(InputError, match=message):
        ParameterSets.beside(platform)
    outcome = tisim.replay(RING, "--uncertainty", "2", platform=str(platform))
    assert outcome.status == 2
    assert message in outcome.err
    assert message in tisim.replay(RING, platform=str(platform)).out
