"""``tisim calibrate`` and ``tisim benchmark``, on the examples."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import tisim
from tisim.commands.benchmark import benchmark_command
from tisim.commands.calibrate import calibrate_command
from tisim.errors import InputError
from tisim.studies.calibration import calibrate, read_measurements

# Factors in examples/calibration/truth.xml: latency and bandwidth of each segment.
LATENCY_FACTORS, BANDWIDTH_FACTORS = [0.9, 2.2, 9], [0.45, 0.9, 0.94]


@pytest.fixture
def examples(root: Path) -> Path:
    return root / "examples" / "calibration"


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(calibrate_command, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def factors(path: Path, name: str) -> list[float]:
    value = tisim.Platform.load(path).config[f"smpi/{name}"]
    return [float(row.split(":")[1]) for row in value.split(";")]


@pytest.mark.parametrize(
    "files",
    [["synthetic.csv"], [f"synthetic_{name}.csv" for name in ("PingPong", "Isend", "Recv")]],
)
def test_the_truth_comes_back(examples: Path, tmp_path: Path, files: list[str]) -> None:
    out = tmp_path / "calibrated.xml"
    result = run(
        *(examples / name for name in files), "--platform", examples / "nominal.xml", "-o", out
    )
    assert result.exit_code == 0
    assert factors(out, "lat-factor") == pytest.approx(LATENCY_FACTORS, rel=0.03)
    assert factors(out, "bw-factor") == pytest.approx(BANDWIDTH_FACTORS, rel=0.03)
    config = tisim.Platform.load(out).config
    assert config["smpi/send-is-detached-thresh"] == "65537"
    assert "MPI_Send waits for the receiver above 65536 bytes" in result.output
    assert "Time inside MPI_Isend (smpi/ois)" in result.output


@pytest.mark.parametrize(
    "files",
    [["synthetic.skampi.dat"], ["osu_latency.txt", "osu_bw.txt", "osu_bibw.txt"], ["imb.txt"]],
)
def test_factors_alone_reproduce_the_ping_pong(examples: Path, files: list[str]) -> None:
    result = run(
        *(examples / name for name in files),
        *("--bandwidth", "125MBps", "--latency", "15us", "--links", 2, "--json", "-"),
    )
    decoded = json.loads(result.output)
    assert decoded["config"]["smpi/os"] == "0:0:0"
    assert "smpi/async-small-thresh" not in decoded["config"]
    assert any("factors are fitted" in warning for warning in decoded["warnings"])
    errors = sorted(abs(row["error"]) for row in decoded["errors"])
    assert errors[len(errors) // 2] < 0.02
    assert errors[-1] < 0.06
    if len(files) != 1 or files == ["imb.txt"]:
        # 187.5 MB/s for both directions, each message with 5 % acknowledgements.
        assert decoded["contention"]["fraction"] == pytest.approx(0.75 / 1.05, abs=0.03)


def test_two_hosts_show_no_limiter(examples: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.xml"
    result = run(examples / "synthetic.csv", "--platform", examples / "nominal.xml", "-o", out)
    assert "limiter_link" not in out.read_text()
    assert "no limiter_link is written" in " ".join(result.output.split())


def test_without_an_output_the_block_is_printed(examples: Path) -> None:
    result = run(
        examples / "synthetic.skampi.dat",
        "--bandwidth",
        "125MBps",
        "--latency",
        "30us",
        "--links",
        1,
    )
    assert '<config id="General">\n  <prop id="network/model" value="SMPI"/>' in result.output


def test_breakpoints_that_are_given(examples: Path) -> None:
    result = run(
        examples / "synthetic.skampi.dat",
        *("--platform", examples / "nominal.xml", "--hosts", "node-3,node-9"),
        *("--breakpoints", "1420,64KiB", "--json", "-"),
    )
    decoded = json.loads(result.output)
    assert [row["above"] for row in decoded["breakpoints"]] == [1420, 65536]
    assert decoded["config"]["smpi/lat-factor"].startswith("0:1.2")


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_picture(examples: Path, tmp_path: Path, suffix: str) -> None:
    picture = tmp_path / f"fit{suffix}"
    run(examples / "imb.txt", "--platform", examples / "nominal.xml", "--plot", picture)
    assert picture.stat().st_size > 10_000
    assert [path.name for path in tmp_path.iterdir()] == [picture.name]


def test_a_picture_of_no_format(examples: Path, tmp_path: Path) -> None:
    arguments = [examples / "imb.txt", "--platform", examples / "nominal.xml", "--plot"]
    with pytest.raises(InputError, match=r"unknown picture format '\.txt'; use one of"):
        run(*arguments, tmp_path / "fit.txt", "-o", tmp_path / "found.xml")
    assert not [*tmp_path.iterdir()]  # the error comes before the work


def test_hosts_without_a_link_between_them(examples: Path) -> None:
    with pytest.raises(InputError, match="at least 1, not 0"):
        calibrate(read_measurements([examples / "imb.txt"]), links=0)
    with pytest.raises(InputError, match="speed of a core must be above zero, not 0"):
        calibrate(read_measurements([examples / "imb.txt"]), speed=0.0)
    said = run(examples / "imb.txt", "--hosts", "a,a")
    assert (said.exit_code, "two different host names" in said.output) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["nominal.xml", "--bandwidth", "1GBps", "--latency", "1us"],
            r"unknown format of measurements \(the file",
        ),
        (
            ["osu_bw.txt", "--bandwidth", "1GBps", "--latency", "1us"],
            "the measurements contain no ping-pong, which is needed for",
        ),
        (["imb.txt", "--bandwidth", "1parsec"], "unknown unit 'parsec' in the --bandwidth"),
        (["imb.txt", "--platform", "nominal.xml", "--hosts", "a,b"], "has no host 'a'"),
    ],
)
def test_wrong_arguments(
    examples: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(examples)
    with pytest.raises(InputError, match=message):
        run(*arguments)


def test_the_rates_of_hosts(examples: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.xml"
    result = run(
        *("cpu", "--times", examples / "timed.csv", "--class", "A"),
        *("--platform", examples / "nominal.xml", "-o", out, "--host-speeds"),
    )
    assert "class A (used)" in result.output
    assert "a single rate does not fit all computations" in result.output
    speeds = [host.speed for host in tisim.Platform.load(out).hosts]
    assert speeds == pytest.approx([3.6e9] * 16, rel=0.02)


def test_the_rate_of_a_working_set(examples: Path) -> None:
    result = run("cpu", "--times", examples / "timed.csv", "--working-set", "4MiB", "--json", "-")
    decoded = json.loads(result.output)
    assert decoded["used"] == "working sets of 16 MiB"
    rates = {rate["what"]: rate["per_second"] for rate in decoded["rates"]}
    assert rates["working sets of 1 MiB"] == pytest.approx(3.6e9, rel=0.02)
    assert rates["working sets of 16 MiB"] == pytest.approx(2.9e9, rel=0.02)


def test_cpu_needs_both_the_platform_and_its_new_name(examples: Path) -> None:
    result = run("cpu", "--times", examples / "timed.csv", "-o", "x.xml")
    assert result.exit_code == 2
    assert "--platform and -o must be given together" in result.output


def test_help_names_both_uses() -> None:
    assert "tisim calibrate cpu --help" in run("--help").output
    assert "--working-set" in run("cpu", "--help").output


def test_the_benchmark_is_printed() -> None:
    source = CliRunner().invoke(benchmark_command, ["--print"]).output
    assert "MPI_Init" in source
    assert "mpirun -n 2" in source
    usage = CliRunner().invoke(benchmark_command, []).output
    assert "mpicc -O2 -o benchmark benchmark.c -lm" in usage


def test_the_examples_are_made_by_their_script(examples: Path, tmp_path: Path) -> None:
    script = examples / "make_measurements.py"
    subprocess.run([sys.executable, script, tmp_path], check=True)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert len(made) == 10
    for name in made:
        again, committed = tmp_path / name, examples / name
        assert again.read_text().count("\n") == committed.read_text().count("\n")
    assert (tmp_path / "timed.csv").read_text() == (examples / "timed.csv").read_text()


def test_help_and_errors_name_the_command_as_it_is_called() -> None:
    def called(*arguments: str) -> Result:
        return CliRunner().invoke(calibrate_command, arguments, prog_name="calibrate")

    assert called("--help").output.startswith("Usage: calibrate [OPTIONS] FILES...")
    assert called().exit_code == 2
    assert "Try 'calibrate --help' for help." in called().output
