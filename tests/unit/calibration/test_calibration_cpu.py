"""Instructions/s: of timed computations, of regions, and of concurrent ranks."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tisim
from tests.unit.command_line import CommandLine
from tests.unit.record.programs import Mpi
from tisim.errors import InputError
from tisim.platform import Platform
from tisim.platform.host_properties import memory_speeds, speed_deviation
from tisim.studies.calibration import calibrate_cpu, read_timed
from tisim.studies.calibration.cpu import complete, read_volumes
from tisim.studies.calibration.host import MemoryDemand, Scan, read_scan
from tisim.studies.calibration.platform_file import PlatformFile
from tisim.studies.calibration.regions import Region, hit_rate, measure_regions, write_timed
from tisim.traces import Trace, pack, unpack
from tisim.traces.volumes import PREDICTED_TIME, volumes_of


def timed(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"rank": 0, "run": "1", **columns})


def test_the_mean_meets_the_total_time() -> None:
    calibration = calibrate_cpu(timed(volume=[1e9, 3e9], seconds=[0.5, 1.0]))
    assert calibration.overall.per_second == pytest.approx(4e9 / 1.5)
    mean, rates, weights = 4e9 / 1.5, np.array([2e9, 3e9]), np.array([0.5, 1.0])
    expected = np.sqrt(np.average((rates / mean - 1) ** 2, weights=weights))
    assert calibration.overall.spread == pytest.approx(expected)
    assert calibration.overall.computations == 2


def test_one_rate_that_does_not_fit() -> None:
    calibration = calibrate_cpu(
        timed(volume=[1e9] * 4, seconds=[0.5, 0.5, 1, 1], **{"class": list("AABB")})
    )
    assert (
        "a single rate does not fit all computations; choose the class" in calibration.warnings[0]
    )
    assert calibration.rate_for(problem_class="A").per_second == pytest.approx(2e9)
    assert calibration.rate_for(problem_class="B").per_second == pytest.approx(1e9)
    assert calibration.rate_for().what == "all computations"
    with pytest.raises(InputError, match="no class 'C' was measured; measured: A, B"):
        calibration.rate_for(problem_class="C")
    with pytest.raises(InputError, match="no column 'working_set'"):
        calibration.rate_for(working_set=1e6)
    assert calibrate_cpu(timed(volume=[1e9] * 2, seconds=[1.0, 1.02])).warnings == ()


def test_the_rate_of_a_working_set() -> None:
    """In two caches and beyond; between measured sizes the larger, slower one applies."""
    sets = np.repeat([2.0**p for p in range(10, 26)], 5)
    speed = np.where(sets <= 2**15, 4e9, np.where(sets <= 2**21, 3e9, 1.5e9))
    noise = np.exp(0.02 * np.random.default_rng(1).standard_normal(len(sets)))
    calibration = calibrate_cpu(timed(volume=1e9, seconds=1e9 / speed * noise, working_set=sets))
    assert list(calibration.working_sets) == [2**15, 2**21, 2**25]
    for working_set, rate in ((100, 4e9), (2**16, 3e9), (1.5 * 2**21, 1.5e9), (2**40, 1.5e9)):
        chosen = calibration.rate_for(working_set=working_set)
        assert chosen.per_second == pytest.approx(rate, rel=0.02)
    assert "choose the working set" in calibration.warnings[0]
    assert "working sets of 64 KiB to 2 MiB" in calibration.frame()["what"].tolist()


def test_ranks_runs_and_hosts_that_differ() -> None:
    columns = {"rank": [0, 1], "run": ["1", "2"], "host": ["a", "b"]}
    calibration = calibrate_cpu(pd.DataFrame({"volume": 1e9, "seconds": [1.0, 1.05], **columns}))
    assert calibration.warnings == ()
    calibration = calibrate_cpu(pd.DataFrame({"volume": 1e9, "seconds": [1.0, 1.15], **columns}))
    assert [warning.split(":")[0] for warning in calibration.warnings] == [
        "the rates of ranks differ by 15%",
        "the rates of runs differ by 15%",
        "the rates of hosts differ by 15%",
    ]
    assert calibration.hosts["b"].per_second == pytest.approx(1e9 / 1.15)


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_pairs_of_volume_and_duration(tmp_path: Path) -> None:
    first = write(tmp_path / "1.csv", "# a comment\nvolume,seconds\n1e9,0.5\n0,0.1\n2e9,1\n")
    second = write(tmp_path / "2.csv", "seconds,volume,class\n1,1e9,A\n")
    frame = read_timed([first, second])
    assert frame["volume"].tolist() == [1e9, 2e9, 1e9]
    assert frame["run"].tolist() == [str(first), str(first), str(second)]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    folder = tmp_path / "trace"
    folder.mkdir()
    write(
        folder / "rank-0.txt",
        "0 init\n0 compute 1e9\n0 allreduce 8 5 0\n0 compute 2e9\n0 finalize\n",
    )
    write(folder / "rank-1.txt", "1 init\n1 compute 3e9\n1 allreduce 8 5 0\n1 finalize\n")
    return folder


def test_volumes_come_from_the_trace(trace: Path, tmp_path: Path) -> None:
    volumes = read_volumes([trace])
    assert volumes == {0: [1e9, 2e9], 1: [3e9]}
    named = write(tmp_path / "1.csv", "rank,action,seconds\n0,2,1\n1,1,1.5\n0,1,0.5\n")
    assert read_timed([named], volumes)["volume"].tolist() == [2e9, 3e9, 1e9]
    ordered = write(tmp_path / "2.csv", "rank,seconds,run\n0,1,a\n1,1,a\n0,1,a\n0,1,b\n")
    assert read_timed([ordered], volumes)["volume"].tolist() == [1e9, 3e9, 2e9, 1e9]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("volume,time\n1,1\n", 1, "unknown column 'time'"),
        ("volume,rank\n1,1\n", 1, "no column 'seconds'"),
        ("seconds,host\n1,a\n", 1, "no column 'volume', and no column 'rank'"),
        ("seconds,volume\n", 1, "without timed computations below it"),
        ("seconds,volume\n1,1e9\n1\n", 3, "a truncated or damaged line"),
        ("seconds,volume\n-1,1e9\n", 2, "negative"),
        ("seconds,rank\n1,0\n", 1, "also give the trace whose compute actions were timed"),
        ("", None, "the file is empty"),
    ],
)
def test_damaged_times(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    file = write(tmp_path / "t.csv", text)
    with pytest.raises(InputError, match=message) as caught:
        read_timed([file])
    assert (caught.value.file, caught.value.line) == (str(file), line)


def test_times_of_another_trace(tmp_path: Path) -> None:
    volumes = {0: [1e9]}
    file = write(tmp_path / "t.csv", "rank,seconds\n0,1\n0,1\n")
    with pytest.raises(InputError, match=r"has 1 compute actions.*number 2") as caught:
        read_timed([file], volumes)
    assert caught.value.line == 3
    file = write(tmp_path / "t.csv", "rank,seconds\n3,1\n")
    with pytest.raises(InputError, match="the trace has no rank 3"):
        read_timed([file], volumes)


PLATFORM = """\
<platform version="4.1">
  <zone id="world" routing="Full">
    <zone id="hosts" routing="Full"><host id="h0" speed="1Gf"/><host id="h1" speed="1Gf"/></zone>
    <cluster id="c" prefix="c-" suffix="" radical="0-1" speed="1Gf" bw="1GBps" lat="1us"/>
  </zone>
</platform>
"""


def test_a_cabinet_gets_a_speed_and_no_property(tmp_path: Path) -> None:
    cabinet = '<cabinet id="c" prefix="n" suffix="" radical="0-1" speed="1Gf" bw="1Bps" lat="1us"/>'
    text = f'<platform version="4.1"><zone id="z" routing="Cluster">{cabinet}</zone></platform>'
    rate = calibrate_cpu(timed(volume=1e9, seconds=[0.4, 0.6])).overall
    complete(write(tmp_path / "p.xml", text), tmp_path / "out.xml", rate, {})
    assert {host.speed for host in tisim.Platform.load(tmp_path / "out.xml").hosts} == {2e9}


def test_hosts_of_different_speed(tmp_path: Path) -> None:
    source = write(tmp_path / "p.xml", PLATFORM)
    frame = timed(volume=1e9, seconds=[0.5, 1, 2, 1], host=["h0", "c-0", "c-1", "gone"])
    calibration = calibrate_cpu(frame)
    remarks = complete(source, tmp_path / "out.xml", calibration.overall, calibration.hosts)
    speeds = {host.name: host.speed for host in tisim.Platform.load(tmp_path / "out.xml").hosts}
    assert speeds == pytest.approx({"h0": 2e9, "h1": 4e9 / 4.5, "c-0": 0.75e9, "c-1": 0.75e9})
    platform = tisim.Platform.load(tmp_path / "out.xml")
    assert speed_deviation(platform) == pytest.approx(calibration.overall.spread, rel=0.01)
    assert "gone was measured but is not a host of the platform" in remarks
    assert any("the hosts of cluster c differ" in remark for remark in remarks)


INSTRUCTIONS = "register, instructions of code compiled by tisim cc"
TIME = "time, seconds of processor time times 1e+09"
# Regions with 2 and 0.5 instructions/ns, and one that computes only in libraries.
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
    """A single rate would give 6.88 us for (8000 + 600) instructions; the two rates differ."""
    rates = measure_regions(traces["counted"], [traces["timed"]])
    first = rates.regions[Region("init", "barrier")]
    assert first.volume / first.seconds == pytest.approx(2e9)
    timing = write_timed(traces["large"], [rates], tmp_path / "times.tit")
    assert timing.seconds == pytest.approx(2 * (4000 + 1200 + 70) * 1e-9)
    assert timing.unknown == 0
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
    """A rank may receive messages in order of arrival: the mean time of a visit applies."""

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
    # Time of the timed run in a region that only the timed trace visits.
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
    timing = write_timed(other, [rates], tmp_path / "times.tit")
    assert timing.unknown == 1
    assert timing.seconds == pytest.approx(2070e-9)


def test_a_region_has_the_rate_of_the_input_that_visits_it_alike(
    traces: dict[str, Path], tmp_path: Path
) -> None:
    """The first region has 8,000 instructions per visit, as in `near`; the second 600, as ever."""
    ranks = {rank: BODY.format(rank, 7000, 9000, "") for rank in (0, 1)}
    near = packed(tmp_path / "near.tit", INSTRUCTIONS, ranks)
    ranks = {rank: BODY.format(rank, 14000, 9000, "") for rank in (0, 1)}
    run = packed(tmp_path / "run.tit", TIME, ranks)
    inputs = [measure_regions(traces["counted"], [traces["timed"]]), measure_regions(near, [run])]
    timing = write_timed(traces["large"], inputs, tmp_path / "times.tit")
    assert timing.seconds == pytest.approx(2 * (16000 + 1200 + 70) * 1e-9)
    assert timing.larger == 0


COLD = TIME + ", with cold caches"


def test_larger_visits_take_as_much_longer_as_with_cold_caches(tmp_path: Path) -> None:
    """Of three regions, two have larger visits."""

    def body(first: int, second: int, last: int) -> dict[int, str]:
        rounds = f"0 compute {first}\n0 barrier\n0 compute {second}\n0 bcast 8 0 1\n" * 4
        return {0: f"0 init\n{rounds}0 compute {last}\n0 finalize\n"}

    counted = packed(tmp_path / "counted.tit", INSTRUCTIONS, body(1000, 1000, 1000))
    timed = packed(tmp_path / "timed.tit", TIME, body(500, 500, 500))
    cold = packed(tmp_path / "cold.tit", COLD, body(700, 800, 900))
    large = packed(tmp_path / "large.tit", INSTRUCTIONS, body(1500, 3000, 3000))
    rates = measure_regions(counted, [timed], [cold])
    timing = write_timed(large, [rates], tmp_path / "times.tit")
    assert timing.warm == pytest.approx((4 * (750 + 1500) + 1500) * 1e-9)
    assert timing.seconds == pytest.approx((4 * (750 + 1500 * 1.6) + 1500 * 1.8) * 1e-9)
    assert timing.larger == 0
    assert (hit_rate(0), hit_rate(1)) == (0, 1)
    assert hit_rate(0.5) == pytest.approx(math.exp(-2 * (1 - hit_rate(0.5))), rel=1e-5)
    assert hit_rate(0.5) == pytest.approx(0.203, abs=1e-3)
    timing = write_timed(large, [rates], tmp_path / "times.tit", cached=0.5)
    assert timing.seconds == pytest.approx(
        (4 * (750 + 1500 * (1 + 0.6 * 0.797)) + 1500 * (1 + 0.8 * 0.797)) * 1e-9, rel=1e-3
    )
    for runs in ([timed], [timed]), ([cold], []):
        with pytest.raises(InputError, match="measured with cold caches"):
            measure_regions(counted, *runs)


@pytest.mark.parametrize("share", ["nan", "-0.1", "1.1"])
def test_a_share_of_the_data_is_from_0_to_1(
    tisim: CommandLine, traces: dict[str, Path], tmp_path: Path, share: str
) -> None:
    options = ["--cold", str(traces["timed"]), "--cached", share]
    options += ["--apply", str(traces["large"]), "-o", str(tmp_path / "times.tit")]
    timed = ["--times", str(traces["timed"])]
    result = tisim("calibrate", "regions", str(traces["counted"]), *timed, *options)
    assert (result.status, "--cached must be from 0 to 1, not" in result.err) == (2, True)


def test_cold_caches_count_where_another_input_has_visits_alike(tmp_path: Path) -> None:
    """Rates are those of `alike`; `larger` itself exceeds the caches."""

    def trace(name: str, counter: str, volume: int) -> Path:
        return packed(tmp_path / name, counter, {0: f"0 init\n0 compute {volume}\n0 finalize\n"})

    warm, cold = trace("warm.tit", TIME, 500), trace("cold.tit", COLD, 700)
    rates = measure_regions(trace("counted.tit", INSTRUCTIONS, 1000), [warm], [cold])
    large = trace("large.tit", INSTRUCTIONS, 8000)
    for volume, slowdown in (2000, 1.4), (2001, 1.0):
        run = trace(f"run.{volume}.tit", TIME, volume)
        other = measure_regions(trace(f"other.{volume}.tit", INSTRUCTIONS, volume), [run])
        timing = write_timed(large, [rates, other], tmp_path / "times.tit")
        assert timing.seconds == pytest.approx(8000e-9 * slowdown)


def test_what_a_brief_region_has_beyond_its_measured_volume_has_the_rate_of_all(
    tmp_path: Path,
) -> None:
    """A rate of few instructions, such as a first visit, does not apply to millions."""
    counted = packed(
        tmp_path / "counted.tit", INSTRUCTIONS, {0: BODY.format(0, 1_000_000, 100, "")}
    )
    run = packed(tmp_path / "run.tit", TIME, {0: BODY.format(0, 500_000, 400, "")})
    large = packed(tmp_path / "large.tit", INSTRUCTIONS, {0: BODY.format(0, 0, 200_100, "")})
    rates = measure_regions(counted, [run])
    timing = write_timed(large, [rates], tmp_path / "times.tit")
    assert timing.seconds == pytest.approx((400 + 200_000 * 500_400 / 1_000_100) * 1e-9, abs=2e-9)


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


def test_the_command_reads_regions(
    traces: dict[str, Path], tmp_path: Path, tisim: CommandLine
) -> None:
    times = str(tmp_path / "times.tit")
    timed, large = str(traces["timed"]), str(traces["large"])
    arguments = [str(traces["counted"]), "--times", timed, "--apply", large, "-o", times]
    result = tisim("calibrate", "regions", *arguments, "--json", "-")
    regions = json.loads(result.out)["regions"]
    assert {region["after"] for region in regions} == {"barrier", "bcast", "finalize"}
    assert "large.tit: computes 1.054e-05 s, summed over ranks" in result.err
    assert "warning: 76% of it is in regions that compute more than twice the" in result.err
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
    assert "computes 3.614e-05 s, summed over ranks" in result.out
    refused = tisim("calibrate", "regions", *arguments)
    assert (refused.status, "--also needs --apply;" in refused.err) == (2, True)


NODE = """<platform version="4.1">
 <cluster id="c" prefix="n" suffix="" radical="0-1" speed="2Gf" core="4" bw="1GBps" lat="1us">
  {}
 </cluster>
</platform>
"""
MEMORY = (
    '<prop id="tisim/memory-bandwidth" value="9GBps"/><prop id="tisim/memory-demand" value="3"/>'
)
SCAN = """what,ranks,amount,seconds
triad,1,24e6,0.004
triad,1,24e6,0.003
arithmetic,1,1e6,0.001
triad,2,24e6,0.004
arithmetic,2,1e6,0.001
# end 1
"""


def platform_of(directory: Path, properties: str) -> Platform:
    path = directory / "node.xml"
    path.write_text(NODE.format(properties))
    return Platform.load(path)


@pytest.mark.parametrize(
    ("properties", "ends"),
    [
        ("", [1.0, 1.5, 2.0, 0.5]),
        # All cores of a host share 3 Gflop/s: three at 1 Gflop/s each for 2 s, two at 1.5 for 2/3
        # s, the last at the speed of its core.
        (MEMORY, [2.0, 2.0 + 2 / 3, 2.0 + 2 / 3 + 0.5, 0.5]),
    ],
    ids=["alone", "shared"],
)
def test_computations_share_the_memory_of_a_host(
    properties: str, ends: list[float], tmp_path: Path
) -> None:
    platform = platform_of(tmp_path, properties)
    for rank, flops in enumerate((2e9, 3e9, 4e9, 1e9)):
        (tmp_path / f"rank{rank}").write_text(f"{rank} compute {flops:g}\n")
    trace = [tmp_path / f"rank{rank}" for rank in range(4)]
    hosts = ["n0", "n0", "n0", "n1"]
    for kernel in ("core", "simpy"):
        result = tisim.replay(trace, platform=platform, hosts=hosts, kernel=kernel)
        assert [*result.finish] == pytest.approx(ends, rel=1e-12), kernel


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ('<prop id="tisim/memory-bandwidth" value="9GBps"/>', "also needs tisim/memory-demand"),
        (MEMORY.replace('"3"', '"0"'), "must be above zero"),
        (MEMORY.replace('"3"', '"many"'), "must be above zero"),
    ],
)
def test_wrong_properties_are_refused(properties: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        memory_speeds(platform_of(tmp_path, properties))


def test_the_demand_of_a_program() -> None:
    scan = read_scan(SCAN)
    assert scan.bandwidth == {1: 8e9, 2: 12e9}  # of the fastest repetition
    assert scan.arithmetic == {1: 1e9, 2: 2e9}
    assert scan.warning() is None
    busy = Scan(scan.bandwidth, {1: 1e9, 2: 2e9, 3: 1.5e9})
    assert "3 ranks computed less in registers than fewer" in (busy.warning() or "")
    demand = MemoryDemand(3e9, 2e9, 4, scan.memory_bandwidth)
    assert demand.bytes_per_unit == 1.5
    assert demand.properties()["tisim/memory-demand"] == "1.5"
    unhindered = MemoryDemand(3e9, 2.95e9, 4, scan.memory_bandwidth, 0.1234)
    assert unhindered.properties() == {"tisim/speed-deviation": "0.123"}
    with pytest.raises(InputError, match="nothing was measured"):
        read_scan("hello\n")


def test_properties_replace_those_of_the_file(tmp_path: Path) -> None:
    platform_of(tmp_path, MEMORY)
    file = PlatformFile.read(tmp_path / "node.xml")
    file.set_host_properties(MemoryDemand(3e9, 2e9, 4, 12e9).properties())
    file.write(tmp_path / "new.xml")
    assert [*memory_speeds(Platform.load(tmp_path / "new.xml"))] == [8e9, 8e9]


def test_the_command_reads_ranks_side_by_side(
    one_mpi: Mpi,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    tisim_ = CommandLine(tmp_path, capsys)
    launched = ("--mpicc", one_mpi.cc, "--", one_mpi.run, "-n", "2")
    outcome = tisim_("calibrate", "host", *launched)
    assert outcome.status == 0, outcome.err
    assert [line.split()[0] for line in outcome.out.splitlines()] == ["ranks", "1", "2"]
    outcome = tisim_("calibrate", "host", "--platform", "x.xml", "-o", "y.xml")
    assert outcome.status == 2
    assert "both --alone and --together" in outcome.err
