"""Bandwidths of a disk from results of fio and IOR."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.studies.calibration.disk import calibrate_disk

Job = dict[str, object]


def job(read: float = 0, write: float = 0, *, group: int = 0, **options: str) -> Job:
    """Return a job as written by fio 3, of one second, with these bandwidths in bytes/s."""

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
    calibration = calibrate_disk(files)
    assert (calibration.read, calibration.write, calibration.remarks) == (2.1e9, 1e9, [])
    assert [(r.direction, r.block, r.runs) for r in calibration.rates] == [
        ("read", "1M", 3),
        ("write", "1M", 1),
        ("write", "4k", 1),
    ]
    assert calibration.rates[0].spread == pytest.approx(0.5 / 2.1)


def test_jobs_of_a_group_ran_side_by_side(tmp_path: Path) -> None:
    file = fio(tmp_path / "x", job(1e9), job(1e9), job(write=3e8, group=1), job(write=1e8, group=1))
    calibration = calibrate_disk([file])
    assert (calibration.read, calibration.write) == (2e9, 4e8)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"fsync": "16"}, "33%"),
        ({"fdatasync": "4", "numjobs": "4"}, "33%"),
        ({"fsync": "64"}, "100%"),
        ({"fsync": "16", "end_fsync": "1"}, None),
        ({"fsync": "16", "direct": "1"}, None),
        ({"fsync": "1", "numjobs": "1"}, "2%"),
        ({"fsync": "1", "calls": "480"}, None),
    ],
)
def test_what_is_written_behind_the_last_fsync_is_said(
    tmp_path: Path, options: dict[str, str], part: str | None
) -> None:
    calls = int(options.pop("calls", "48"))
    written = job(write=1e9, group=1, **{"direct": "0", **options})
    written["write"] = {"io_bytes": 1e9, "runtime": 1000, "total_ios": calls}
    calibration = calibrate_disk([fio(tmp_path / "x", job(1e9), written)])
    if part is None:
        assert calibration.remarks == []
    else:
        (remark,) = calibration.remarks
        assert f"left {part} of its calls in memory" in remark
        assert remark.endswith("add --end_fsync=1")


def test_what_does_not_measure_the_disk_is_said(tmp_path: Path) -> None:
    jobs = (job(3e9, direct="0"), job(write=1e9, group=1), job(1e9, 1e9, group=2))
    calibration = calibrate_disk([fio(tmp_path / "x", *jobs)])
    assert (calibration.read, calibration.write) == (3e9, 1e9)
    assert "reads and writes at the same time; it is left out" in calibration.remarks[0]
    assert "reads without direct I/O or an fsync" in calibration.remarks[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no JSON", "contains no results of fio or IOR"),
        ("{}", "contains no results of fio or IOR"),
        ('{"jobs": [{"read": 1, "write": 2}]}', "contains no results of fio or IOR"),
        ('{"jobs": [{"jobname": "j", "error": 5}]}', r"the job 'j' has failed \(error 5\)"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(InputError, match=message):
        calibrate_disk([file])


IOR_TEXT = """IOR-4.0.0: MPI Coordinated Test of Parallel I/O
Began               : Mon Nov 23 10:00:00 2026
Command line        : ior -a POSIX -w -r -e -C -t 1m -b 64m -i 2 -o /scratch/file
Machine             : Linux node-1

Options:
api                 : POSIX
test filename       : /scratch/file
tasks               : 4
xfersize            : 1 MiB

Results:

access    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----
write     1000.00    1000.5     0.004       65536      1024.00    0.000020   0.256      0.000010   0.256      0
read      4000.00    4000.1     0.001       65536      1024.00    0.000020   0.064      0.000010   0.064      0
remove    -          -          -           -          -          -          -          -          0.000100   0
write     1100.00    1100.5     0.004       65536      1024.00    0.000020   0.233      0.000010   0.233      1
read      4200.00    4200.1     0.001       65536      1024.00    0.000020   0.061      0.000010   0.061      1
Max Write: 1100.00 MiB/sec (1153.43 MB/sec)

Summary of all tests:
Operation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)
write        1100.00    1000.00    1050.00      50.00    1100.00
"""  # noqa: E501
# IOR 3.0 to 3.2 printed other columns.
OLD_IOR_TEXT = """IOR-3.0.1: MPI Coordinated Test of Parallel I/O
Command line used: ./ior -B
access    bw(MiB/s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter
------    ---------  ---------- ---------  --------   --------   --------   --------   ----
write     200.00     65536      256.00     0.000020   0.256      0.000010   0.256      0
read      400.00     65536      256.00     0.000020   0.064      0.000010   0.064      0
"""


def ior_json(*rows: tuple[str, float], command: str = "ior -w -r", fsync: int = 0) -> str:
    """Return the output of IOR 4: a list of results per repetition."""
    results = [
        [{"access": access, "bwMiB": rate, "blockKiB": 65536.0, "xferKiB": 1024.0}]
        for access, rate in rows
    ]
    parameters = {"testFileName": "/scratch/file", "fsync": fsync, "fsyncperwrite": 0}
    test = {"Parameters": parameters, "Options": {"tasks": "4"}, "Results": results}
    return json.dumps({"Version": "4.0.0", "Command line": command, "tests": [test]})


def test_bandwidths_of_what_ior_prints(tmp_path: Path) -> None:
    file = tmp_path / "ior.txt"
    file.write_text(IOR_TEXT)
    calibration = calibrate_disk([file])
    assert (calibration.read, calibration.write) == (4100 * 2**20, 1050 * 2**20)
    assert [(rate.direction, rate.block, rate.runs) for rate in calibration.rates] == [
        ("read", "1M", 2),
        ("write", "1M", 2),
    ]
    # The fsync of -e applies to writes; reads may come from memory.
    assert len(calibration.remarks) == 2
    assert all(
        "'/scratch/file' reads without direct I/O" in remark for remark in calibration.remarks
    )


def test_bandwidths_of_older_iors(tmp_path: Path) -> None:
    file = tmp_path / "ior.txt"
    file.write_text(OLD_IOR_TEXT)
    calibration = calibrate_disk([file])
    assert (calibration.read, calibration.write) == (400 * 2**20, 200 * 2**20)
    assert not calibration.remarks
    assert calibration.rates[0].block == "256K"


def test_bandwidths_of_iors_json(tmp_path: Path) -> None:
    file = tmp_path / "ior.json"
    file.write_text(ior_json(("write", 900.0), ("read", 1800.0), fsync=1))
    calibration = calibrate_disk([file])
    assert (calibration.read, calibration.write) == (1800 * 2**20, 900 * 2**20)
    assert [remark.partition(": ")[2].split()[1] for remark in calibration.remarks] == ["reads"]
    command = "ior --posix.odirect -w -r"
    file.write_text(ior_json(("write", 900.0), ("read", 1800.0), command=command))
    assert not calibrate_disk([file]).remarks


def test_results_of_both_programs_count_together(tmp_path: Path) -> None:
    file = tmp_path / "ior.json"
    file.write_text(ior_json(("write", 900.0)))
    calibration = calibrate_disk([file, fio(tmp_path / "fio.json", job(2e9))])
    assert (calibration.read, calibration.write) == (2e9, 900 * 2**20)


@pytest.mark.parametrize(
    "text", [IOR_TEXT[:700], IOR_TEXT[: IOR_TEXT.index("1000.5")], ior_json(), '{"tests": [1]}']
)
def test_cut_results_of_ior_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "ior"
    file.write_text(text)
    with pytest.raises(InputError, match="contains no results of fio or IOR"):
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
    as_json = json.loads(tisim("calibrate", "disk", str(file), "--json", "-").out)
    assert (as_json["read"], as_json["disk"]) == (2e9, "read=2000MBps,write=1000MBps")
    wrong = tisim("calibrate", "disk", str(file), "--mount", "/a,b")
    assert wrong.status == 2
    assert "'b' is none of these" in wrong.err
