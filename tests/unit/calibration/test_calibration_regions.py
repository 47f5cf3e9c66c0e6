"""The speed of a program's regions, and what the regions of another run take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.studies.calibration.regions import Region, measure_regions, write_timed
from tisim.traces import Trace, pack, unpack
from tisim.traces.volumes import PREDICTED_TIME, volumes_of

INSTRUCTIONS = "register, instructions of code compiled by tisim cc"
TIME = "time, seconds of processor time times 1e+09"
# A region at 2 instructions/ns, one at 0.5, and one that computes in libraries alone.
BODY = "{0} init\n{0} compute {1}\n{0} barrier\n{0} compute {2}\n{0} bcast 8 0 1\n{3}{0} finalize\n"


def packed(path: Path, counter: str, ranks: Mapping[int, str]) -> Path:
    text = path.with_suffix("")
    text.mkdir()
    for rank, body in ranks.items():
        (text / f"rank-{rank}.txt").write_text(f"# counter: {counter}\n{body}")
    pack(text, path)
    return path


@pytest.fixture
def traces(tmp_path: Path) -> dict[str, Path]:
    def both(first: int, second: int, rest: str = "") -> dict[int, str]:
        return {
            rank: BODY.format(rank, first, second, rest and f"{rank} {rest}\n") for rank in (0, 1)
        }

    return {
        "counted": packed(tmp_path / "counted.tit", INSTRUCTIONS, both(2000, 500)),
        "timed": packed(tmp_path / "timed.tit", TIME, both(1000, 1000, "compute 70")),
        "slow": packed(tmp_path / "slow.tit", TIME, both(9000, 9000, "compute 900")),
        "large": packed(tmp_path / "large.tit", INSTRUCTIONS, both(8000, 600)),
    }


def test_regions_have_speeds_of_their_own(traces: dict[str, Path], tmp_path: Path) -> None:
    """One rate would give (8000 + 600) instructions 6.88 us, of two that differ each way."""
    rates = measure_regions(traces["counted"], [traces["timed"]])
    first = rates.regions[Region("init", "barrier")]
    assert first.volume / first.seconds == pytest.approx(2e9)
    found = write_timed(traces["large"], [rates], tmp_path / "times.tit")
    assert found.seconds == pytest.approx(2 * (4000 + 1200 + 70) * 1e-9)
    assert found.unknown == 0
    volumes = volumes_of(tmp_path / "times.tit")
    assert volumes is not None
    assert (volumes.unit, volumes.per_second) == ("ns", 1e9)
    unpack(tmp_path / "times.tit", tmp_path / "text")
    assert (tmp_path / "text" / "rank-1.txt").read_text() == (
        f"# counter: {PREDICTED_TIME}\n" + BODY.format(1, 4000, 1200, "1 compute 70\n")
    )


def test_of_several_timed_runs_the_median_counts(traces: dict[str, Path]) -> None:
    runs = [traces["timed"], traces["slow"], traces["timed"]]
    one = measure_regions(traces["counted"], runs[:1])
    assert measure_regions(traces["counted"], runs).regions == one.regions


def test_calls_in_another_order_are_found_by_their_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where a rank takes messages as they come: the mean time of a visit counts."""

    def body(*volumes: int, rest: int) -> dict[int, str]:
        calls = ("barrier", "bcast 8 0 1") * 2
        lines = [f"0 compute {n}\n0 {call}\n" for n, call in zip(volumes, calls, strict=False)]
        return {0: f"0 init\n{''.join(lines)}0 compute {rest}\n0 finalize\n"}

    def paths(trace: Trace, rank: int) -> dict[int, str]:
        found = {4: "one", 6: "two", 8: "one"}
        last = {10: "two"} if "timed" in trace.name else {}
        return found | last if with_paths else {}

    monkeypatch.setattr("tisim.studies.calibration.regions.recorded_paths", paths)
    counted = packed(tmp_path / "counted.tit", INSTRUCTIONS, body(100, 400, 100, rest=30))
    timed = packed(tmp_path / "timed.tit", TIME, body(50, 200, 60, 220, rest=70))
    with_paths = True
    rates = measure_regions(counted, [timed]).regions
    assert rates[Region("one", "two")].seconds == pytest.approx(210e-9)
    assert rates[Region("two", "one")].seconds == pytest.approx(60e-9)
    # What a region took that the counted trace does not have.
    assert rates[Region("one", "finalize")].seconds == pytest.approx(70e-9)
    with_paths = False
    with pytest.raises(InputError, match="call 5 of rank 0 is bcast, and finalize in the counted"):
        measure_regions(counted, [timed])


def test_regions_that_were_not_measured_have_the_rate_of_all(
    traces: dict[str, Path], tmp_path: Path
) -> None:
    rates = measure_regions(traces["counted"], [traces["timed"]])
    other = packed(
        tmp_path / "other.tit", INSTRUCTIONS, {0: "0 init\n0 compute 2500\n0 alltoall 8 8 1 1\n"}
    )
    found = write_timed(other, [rates], tmp_path / "times.tit")
    assert found.unknown == 1
    assert found.seconds == pytest.approx(2070e-9)


def test_a_region_has_the_rate_of_the_input_that_visits_it_alike(
    traces: dict[str, Path], tmp_path: Path
) -> None:
    """The first region has 8,000 instructions a visit, as in `near`; the second 600, as before."""
    ranks = {rank: BODY.format(rank, 7000, 9000, "") for rank in (0, 1)}
    near = packed(tmp_path / "near.tit", INSTRUCTIONS, ranks)
    ranks = {rank: BODY.format(rank, 14000, 9000, "") for rank in (0, 1)}
    run = packed(tmp_path / "run.tit", TIME, ranks)
    inputs = [measure_regions(traces["counted"], [traces["timed"]]), measure_regions(near, [run])]
    found = write_timed(traces["large"], inputs, tmp_path / "times.tit")
    assert found.seconds == pytest.approx(2 * (16000 + 1200 + 70) * 1e-9)
    assert found.larger == 0


def test_what_a_brief_region_has_beyond_its_measured_volume_has_the_rate_of_all(
    tmp_path: Path,
) -> None:
    """A rate of few instructions, of a first visit say, is not that of millions."""
    counted = packed(
        tmp_path / "counted.tit", INSTRUCTIONS, {0: BODY.format(0, 1_000_000, 100, "")}
    )
    run = packed(tmp_path / "run.tit", TIME, {0: BODY.format(0, 500_000, 400, "")})
    large = packed(tmp_path / "large.tit", INSTRUCTIONS, {0: BODY.format(0, 0, 200_100, "")})
    rates = measure_regions(counted, [run])
    found = write_timed(large, [rates], tmp_path / "times.tit")
    assert found.seconds == pytest.approx((400 + 200_000 * 500_400 / 1_000_100) * 1e-9, abs=2e-9)


@pytest.mark.parametrize(
    ("counted", "timed", "message"),
    [
        ("timed", "timed", "its volumes are times; record the program with a counter of"),
        ("counted", "large", "its volumes are not times; record the program"),
        ("counted", "short", "call 3 of rank 0 is barrier, and bcast in the counted trace"),
        ("threads", "timed", "a computation of several threads"),
    ],
)
def test_traces_that_do_not_go_together_are_refused(
    counted: str, timed: str, message: str, traces: dict[str, Path], tmp_path: Path
) -> None:
    ranks = {rank: f"{rank} init\n{rank} barrier\n{rank} barrier\n" for rank in (0, 1)}
    traces["short"] = packed(tmp_path / "short.tit", TIME, ranks)
    ranks = {rank: f"{rank} compute 8 threads=2 sum=9\n{rank} barrier\n" for rank in (0, 1)}
    traces["threads"] = packed(tmp_path / "threads.tit", INSTRUCTIONS, ranks)
    with pytest.raises(InputError, match=message):
        measure_regions(traces[counted], [traces[timed]])


def test_the_command(traces: dict[str, Path], tmp_path: Path, tisim: CommandLine) -> None:
    times = str(tmp_path / "times.tit")
    timed, large = str(traces["timed"]), str(traces["large"])
    arguments = [str(traces["counted"]), "--times", timed, "--apply", large, "-o", times]
    result = tisim("calibrate", "regions", *arguments, "--json", "-")
    regions = json.loads(result.out)["regions"]
    assert {region["after"] for region in regions} == {"barrier", "bcast", "finalize"}
    assert "large.tit: computes 1.054e-05 s, all ranks together" in result.err
    assert "warning: 76% of it is in regions that compute more than twice as much" in result.err
    table = tisim("calibrate", "regions", *arguments).out.splitlines()
    assert " 48.3%       2e+09       2  init .. barrier" in table


def test_the_command_takes_further_inputs(
    traces: dict[str, Path], tmp_path: Path, tisim: CommandLine
) -> None:
    counted, timed, large = (str(traces[name]) for name in ("counted", "timed", "large"))
    slow = str(traces["slow"])
    arguments = [counted, "--times", timed, "--also", large, slow, "--also", large, slow]
    to = ["--apply", large, "-o", str(tmp_path / "times.tit")]
    result = tisim("calibrate", "regions", *arguments, *to)
    assert "computes 3.614e-05 s, all ranks together" in result.out
    refused = tisim("calibrate", "regions", *arguments)
    assert (refused.status, "--also is for --apply" in refused.err) == (2, True)
