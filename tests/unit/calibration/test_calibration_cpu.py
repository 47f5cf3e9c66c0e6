"""Instructions a second from timed computations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tisim
from tisim.errors import InputError
from tisim.platform.host_properties import speed_deviation
from tisim.studies.calibration import calibrate_cpu, read_timed
from tisim.studies.calibration.cpu import complete, read_volumes


def timed(**columns: object) -> pd.DataFrame:
    return pd.DataFrame({"rank": 0, "run": "1", **columns})


def test_the_mean_meets_the_total_time() -> None:
    found = calibrate_cpu(timed(volume=[1e9, 3e9], seconds=[0.5, 1.0]))
    assert found.overall.per_second == pytest.approx(4e9 / 1.5)
    mean, rates, weights = 4e9 / 1.5, np.array([2e9, 3e9]), np.array([0.5, 1.0])
    expected = np.sqrt(np.average((rates / mean - 1) ** 2, weights=weights))
    assert found.overall.spread == pytest.approx(expected)
    assert found.overall.computations == 2


def test_one_rate_that_does_not_fit() -> None:
    found = calibrate_cpu(
        timed(volume=[1e9] * 4, seconds=[0.5, 0.5, 1, 1], **{"class": list("AABB")})
    )
    assert "one rate does not fit all computations; choose the class" in found.warnings[0]
    assert found.rate_for(problem_class="A").per_second == pytest.approx(2e9)
    assert found.rate_for(problem_class="B").per_second == pytest.approx(1e9)
    assert found.rate_for().what == "all computations"
    with pytest.raises(InputError, match="no class 'C' was measured; measured: A, B"):
        found.rate_for(problem_class="C")
    with pytest.raises(InputError, match="no column 'working_set'"):
        found.rate_for(working_set=1e6)
    assert calibrate_cpu(timed(volume=[1e9] * 2, seconds=[1.0, 1.02])).warnings == ()


def test_the_rate_of_a_working_set() -> None:
    """In two caches and out of them; between measured sizes the larger, slower one counts."""
    sets = np.repeat([2.0**p for p in range(10, 26)], 5)
    speed = np.where(sets <= 2**15, 4e9, np.where(sets <= 2**21, 3e9, 1.5e9))
    noise = np.exp(0.02 * np.random.default_rng(1).standard_normal(len(sets)))
    found = calibrate_cpu(timed(volume=1e9, seconds=1e9 / speed * noise, working_set=sets))
    assert list(found.working_sets) == [2**15, 2**21, 2**25]
    for working_set, rate in ((100, 4e9), (2**16, 3e9), (1.5 * 2**21, 1.5e9), (2**40, 1.5e9)):
        chosen = found.rate_for(working_set=working_set)
        assert chosen.per_second == pytest.approx(rate, rel=0.02)
    assert "choose by the working set" in found.warnings[0]
    assert "working sets of 64 KiB to 2 MiB" in found.frame()["what"].tolist()


def test_ranks_runs_and_hosts_that_differ() -> None:
    columns = {"rank": [0, 1], "run": ["1", "2"], "host": ["a", "b"]}
    found = calibrate_cpu(pd.DataFrame({"volume": 1e9, "seconds": [1.0, 1.05], **columns}))
    assert found.warnings == ()
    found = calibrate_cpu(pd.DataFrame({"volume": 1e9, "seconds": [1.0, 1.15], **columns}))
    assert [warning.split(":")[0] for warning in found.warnings] == [
        "the rates of ranks differ by 15%",
        "the rates of runs differ by 15%",
        "the rates of hosts differ by 15%",
    ]
    assert found.hosts["b"].per_second == pytest.approx(1e9 / 1.15)


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
        ("seconds,volume\n", 1, "no timed computation below it"),
        ("seconds,volume\n1,1e9\n1\n", 3, "a cut or damaged line"),
        ("seconds,volume\n-1,1e9\n", 2, "negative"),
        ("seconds,rank\n1,0\n", 1, "name the trace whose compute actions were timed"),
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
    found = calibrate_cpu(frame)
    remarks = complete(source, tmp_path / "out.xml", found.overall, found.hosts)
    speeds = {host.name: host.speed for host in tisim.Platform.load(tmp_path / "out.xml").hosts}
    assert speeds == pytest.approx({"h0": 2e9, "h1": 4e9 / 4.5, "c-0": 0.75e9, "c-1": 0.75e9})
    platform = tisim.Platform.load(tmp_path / "out.xml")
    assert speed_deviation(platform) == pytest.approx(found.overall.spread, rel=0.01)
    assert "gone was measured and is not a host of the platform" in remarks
    assert any("the hosts of cluster c differ" in remark for remark in remarks)
