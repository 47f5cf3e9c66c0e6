"""The bandwidths of a disk from results of fio."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.calibration.disk import calibrate_disk
from tisim.errors import InputError

Job = dict[str, object]


@pytest.fixture
def tisim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(tmp_path, capsys)


def job(read: float = 0, write: float = 0, *, group: int = 0, **options: str) -> Job:
    """A job as fio 3 writes it, of one second, at these bandwidths in bytes/s."""

    def moved(bandwidth: float) -> dict[str, float]:
        return {"io_bytes": bandwidth, "bw_bytes": bandwidth, "runtime": 1000 if bandwidth else 0}

    told = {"bs": "1M", "direct": "1", **options}
    return {
        "jobname": "job", "groupid": group, "error": 0, "job options": told,
        "read": moved(read), "write": moved(write),
    }  # fmt: skip


def fio(path: Path, *jobs: Job) -> Path:
    path.write_text("fio: a warning\n" + json.dumps({"fio version": "fio-3.33", "jobs": jobs}))
    return path


def test_the_median_of_the_fastest_size_counts(tmp_path: Path) -> None:
    files = [
        fio(tmp_path / "r.json", job(2e9), job(2.1e9, group=1), job(2.5e9, group=2)),
        fio(tmp_path / "w.json", job(write=1e9), job(write=2e8, group=1, bs="4k")),
    ]
    found = calibrate_disk(files)
    assert (found.read, found.write, found.remarks) == (2.1e9, 1e9, [])
    assert [(r.direction, r.block, r.runs) for r in found.rates] == [
        ("read", "1M", 3),
        ("write", "1M", 1),
        ("write", "4k", 1),
    ]
    assert found.rates[0].spread == pytest.approx(0.5 / 2.1)


def test_jobs_of_a_group_ran_side_by_side(tmp_path: Path) -> None:
    file = fio(tmp_path / "x", job(1e9), job(1e9), job(write=3e8, group=1), job(write=1e8, group=1))
    found = calibrate_disk([file])
    assert (found.read, found.write) == (2e9, 4e8)


def test_what_does_not_measure_the_disk_is_said(tmp_path: Path) -> None:
    jobs = (job(3e9, direct="0"), job(write=1e9, group=1), job(1e9, 1e9, group=2))
    found = calibrate_disk([fio(tmp_path / "x", *jobs)])
    assert (found.read, found.write) == (3e9, 1e9)
    assert "reads and writes at once; it is left out" in found.remarks[0]
    assert "reads without direct=1 or an fsync" in found.remarks[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no JSON", "is no result of fio"),
        ("{}", "is no result of fio"),
        ('{"jobs": [{"read": 1, "write": 2}]}', "is no result of fio"),
        ('{"jobs": [{"jobname": "j", "error": 5}]}', r"the job 'j' has failed \(error 5\)"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        calibrate_disk([file])


def test_both_directions_are_needed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no job only writes; measure both"):
        calibrate_disk([fio(tmp_path / "x", job(1e9))])
    with pytest.raises(InputError, match="no job only reads and none only writes"):
        calibrate_disk([fio(tmp_path / "x", job(1e9, 1e9))])


def test_the_command_prints_what_a_new_platform_takes(tisim: CommandLine, tmp_path: Path) -> None:
    file = fio(tmp_path / "x.json", job(2e9), job(write=1e9, group=1))
    printed = tisim("calibrate", "disk", str(file), "--mount", "/scratch", "--size", "1TB")
    assert (printed.status, printed.err) == (0, "")
    option, words = printed.out.splitlines()[-1].split()
    assert (option, words) == ("--disk", "read=2000MBps,write=1000MBps,mount=/scratch,size=1TB")
    made = tisim(
        "platform", "new", "torus", "--nodes", "8", "--bandwidth", "1GBps", "--latency", "1us",
        "--speed", "1Gf", option, words, "-o", str(tmp_path / "p.xml"),
    )  # fmt: skip
    assert made.status == 0
    as_json = json.loads(tisim("calibrate", "disk", str(file), "--json").out)
    assert (as_json["read"], as_json["disk"]) == (2e9, "read=2000MBps,write=1000MBps")
    wrong = tisim("calibrate", "disk", str(file), "--mount", "/a,b")
    assert wrong.status == 2
    assert "'b' is none of these" in wrong.err
