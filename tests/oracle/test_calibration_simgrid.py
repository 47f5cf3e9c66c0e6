"""A calibrated platform file is valid for SimGrid too, and its ping-pong takes the same time."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tisim.studies.calibration import calibrate, read_measurements, simulate

pytestmark = pytest.mark.oracle

SIZES = (1, 1000, 20000, 65536, 65537, 1_000_000)


# smpirun prints microseconds: this number of ping-pongs gives six digits.
ROUNDS = 2000


def replayed(folder: Path, platform: Path, hosts: tuple[str, str], nbytes: int) -> float:
    """Return the one-way time of a ping-pong measured with `smpirun -replay`, in seconds."""
    folder.mkdir()
    for rank, calls in ((0, ("send", "recv")), (1, ("recv", "send"))):
        lines = [f"{rank} {call} {1 - rank} 0 {nbytes} 6\n" for call in calls]
        body = "".join(lines) * ROUNDS
        (folder / f"{rank}.txt").write_text(f"{rank} init\n{body}{rank} finalize\n")
    (folder / "index").write_text(f"{folder}/0.txt\n{folder}/1.txt\n")
    (folder / "hosts").write_text("\n".join(hosts) + "\n")
    command = ["smpirun", "-np", "2", "-platform", platform, "-hostfile", folder / "hosts"]
    command += ["-replay", folder / "index", "--cfg=smpi/display-timing:yes"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    match = re.search(r"Simulated time: ([0-9.e+-]+)", run.stderr + run.stdout)
    assert match, run.stderr + run.stdout
    return float(match[1]) / ROUNDS / 2


@pytest.mark.parametrize(
    "files", [["synthetic.csv"], ["osu_latency.txt", "osu_bw.txt", "osu_bibw.txt"]]
)
def test_simgrid_reads_the_calibrated_platform(
    root: Path, tmp_path: Path, files: list[str]
) -> None:
    examples = root / "examples" / "calibration"
    calibration = calibrate(
        read_measurements([examples / name for name in files]),
        platform=examples / "nominal.xml",
        hosts=("node-2", "node-11"),
    )
    path = tmp_path / "calibrated.xml"
    calibration.platform.write(path)
    times = simulate(calibration.platform.load(), calibration.hosts, SIZES)["pingpong"]
    for size, time in zip(SIZES, times, strict=True):
        assert replayed(tmp_path / str(size), path, calibration.hosts, size) == pytest.approx(
            time, rel=1e-5
        )


def test_simgrid_reads_the_nominal_platform(root: Path, tmp_path: Path) -> None:
    calibration = calibrate(
        read_measurements([root / "examples" / "calibration" / "imb.txt"]),
        bandwidth=125e6,
        latency=15e-6,
    )
    calibration.platform.write(tmp_path / "out.xml")
    time = simulate(calibration.platform.load(), calibration.hosts, [5000])["pingpong"][0]
    assert replayed(tmp_path / "r", tmp_path / "out.xml", calibration.hosts, 5000) == pytest.approx(
        time, rel=1e-5
    )
