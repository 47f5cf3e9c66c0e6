"""Conditions for skipping iterations of a steady state, and reports if none are skipped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tisim
from tests.support import BACKBONE
from tisim.commands.cli import main
from tisim.simulation.jitter import DEFAULT_SIZE
from tisim.traces import pack
from tisim.traces.generate import PATTERNS

TOLERANCE = 1e-6


@pytest.fixture(scope="module")
def halo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("halo") / "halo.tit"
    PATTERNS["halo3d"](ranks=8, iterations=400, allreduce=8).write(file)
    return file


def status(arguments: list[str]) -> int:
    with pytest.raises(SystemExit) as exited:
        main(arguments)
    return int(exited.value.code or 0)


def off(trace: Path, **options: object) -> str | None:
    """Return the reason why no iterations are skipped, if any."""
    result = tisim.replay(trace, **{"platform": BACKBONE, "skip_steady": TOLERANCE, **options})
    assert result.steady is not None
    assert (result.steady["skipped"] == 0) == (result.steady["off"] is not None)
    return result.steady["off"]


@pytest.mark.parametrize("name", ["halo2d", "wavefront"])
def test_iterations_are_skipped(name: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.tit"
    PATTERNS[name](ranks=8, iterations=300, imbalance=0.2).write(trace)
    whole = tisim.replay(trace, platform=BACKBONE)
    result = tisim.replay(trace, platform=BACKBONE, skip_steady=TOLERANCE)
    assert result.column("finish") == pytest.approx(whole.column("finish"), rel=TOLERANCE)
    assert result.column("compute") == pytest.approx(whole.column("compute"), rel=TOLERANCE)
    assert result.column("actions") == whole.column("actions")
    assert result.column("bytes_sent") == whole.column("bytes_sent")
    assert result.steady is not None
    assert 0.5 < result.steady["skipped"] / result.steady["iterations"] < 1
    assert whole.steady is None


def test_long_iterations_are_compared_wherever_their_buffers_begin(tmp_path: Path) -> None:
    """Two sweeps over planes in each iteration, as in LU."""
    planes, iterations, last = 150, 200, 3
    files = []
    for rank in range(last + 1):
        body = []
        for step, (before, behind) in ((1, (0, last)), (-1, (last, 0))):
            for _ in range(planes):
                body += [f"recv {rank - step} 1 2560"] if rank != before else []
                body += [f"compute {319000 + 1000 * rank}"]
                body += [f"send {rank + step} 1 2560"] if rank != behind else []
        lines = ["init", *body, "allreduce 40 0", *(body * iterations), "finalize"]
        files.append(tmp_path / str(rank))
        files[-1].write_text("".join(f"{rank} {line}\n" for line in lines))
    trace = tmp_path / "sweeps.tit"
    pack(files, trace)
    whole = tisim.replay(trace, platform=BACKBONE)
    result = tisim.replay(trace, platform=BACKBONE, skip_steady=TOLERANCE)
    assert result.simulated_time == pytest.approx(whole.simulated_time, rel=TOLERANCE)
    assert result.steady is not None
    assert result.steady["skipped"] > iterations / 2


@pytest.mark.parametrize("name", sorted(PATTERNS.keys() - {"io", "ocean"}))
def test_ten_thousand_iterations_take_the_time_of_a_hundred(name: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace.tit"
    PATTERNS[name](ranks=8, iterations=10_000, allreduce=8).write(trace)
    result = tisim.replay(trace, platform=BACKBONE, skip_steady=TOLERANCE)
    assert result.steady is not None
    assert result.steady["iterations"] >= 10_000
    assert result.steady["iterations"] - result.steady["skipped"] <= 100


def test_the_summary_says_what_was_skipped(halo: Path, capfd: pytest.CaptureFixture[str]) -> None:
    arguments = ["replay", "--platform", str(BACKBONE), "--skip-steady", "1e-6", str(halo)]
    assert status(arguments) == 0
    skipped = next(line for line in capfd.readouterr().out.splitlines() if "skipped" in line)
    assert "of 400 iterations; estimated error of the times: 1e-06" in skipped
    assert status([*arguments, "--json", "-"]) == 0
    written = capfd.readouterr().out
    steady = json.loads(written)["steady"]
    assert steady["skipped"] > 300
    assert steady["estimated_error"] == TOLERANCE
    assert tisim.Result.from_json(written).steady == steady


@pytest.mark.parametrize("tolerance", ["0", "1", "-1e-6", "nan"])
def test_a_tolerance_is_between_0_and_1(
    halo: Path, tolerance: str, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["replay", "--platform", str(BACKBONE), f"--skip-steady={tolerance}", str(halo)]
    assert status(arguments) == 2
    assert "between 0 and 1" in capfd.readouterr().err


def test_what_logs_or_disturbs_switches_it_off(halo: Path) -> None:
    assert off(halo) is None
    assert "logged" in str(off(halo, event_log=True))
    assert "jitter" in str(off(halo, config={"tisim/jitter-size": DEFAULT_SIZE}))
    assert "jitter" in str(off(halo, jitter=3))
    assert "fifo" in str(off(halo, config={"network/ordering": "fifo"}))
    noisy = tisim.Trace.open(halo).with_noise(0.1, seed=1)
    assert "noise" in str(off(noisy))


def test_text_has_no_loops(tmp_path: Path) -> None:
    PATTERNS["halo3d"](ranks=2, iterations=50).write(tmp_path / "text")
    assert "tisim pack" in str(off(tmp_path / "text"))


@pytest.mark.parametrize(
    ("line", "reason"),
    [("recv -555 9 10", "receives from any source"), ("iprobe 1 9", "calls iprobe")],
)
def test_races_switch_it_off(line: str, reason: str, tmp_path: Path) -> None:
    loop = "{0} compute 1000\n{0} barrier\n" * 100
    (tmp_path / "0").write_text(f"0 init\n0 {line}\n" + loop.format(0))
    (tmp_path / "1").write_text("1 init\n1 send 0 9 10\n" + loop.format(1))
    if "probe" in line:
        (tmp_path / "0").write_text(f"0 init\n0 {line}\n0 recv 1 9 10\n" + loop.format(0))
    tisim.traces.pack([tmp_path / "0", tmp_path / "1"], tmp_path / "trace.tit")
    found = str(off(tmp_path / "trace.tit"))
    assert f"rank 0 {reason}" in found
    assert found.endswith(":2)")


def test_profiles_switch_it_off(halo: Path, tmp_path: Path) -> None:
    (tmp_path / "bandwidth.bw").write_text("0 1e8\n5 1e7\n")
    (tmp_path / "changing.xml").write_text(
        '<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "simgrid.dtd">\n<platform version="4.1">'
        '<zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>'
        '<link id="l" bandwidth="1e8" latency="1e-5" bandwidth_file="bandwidth.bw"/>'
        '<route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>'
    )
    assert "profiles" in str(off(halo, platform=tmp_path / "changing.xml"))
