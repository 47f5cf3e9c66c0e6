"""The output of ``tisim replay``, its files, and the modules that it loads."""

from __future__ import annotations

import errno
import importlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tisim as package
from tests.unit.command_line import BACKBONE, RING, ROOT, CommandLine, hide_package, refused
from tisim.commands import cli

HEAVY = {"lxml", "matplotlib", "networkx", "numpy", "pandas", "rich", "scipy", "simpy"}
GRAPHENE = str(ROOT / "platforms" / "graphene.xml")


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True)


# Tables and JSON


def test_the_table(tisim: CommandLine) -> None:
    outcome = tisim.replay("--np", "4", RING, platform=GRAPHENE)
    assert (outcome.status, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert lines[:5] == [
        "simulated time      0.036659 s",
        "ranks                        4",
        "actions                     20",
        "slowest             0.036659 s  rank 0 on graphene-0.nancy.grid5000.fr",
        "fastest            0.0183295 s  rank 1 on graphene-1.nancy.grid5000.fr",
    ]
    assert re.fullmatch(r"compute  +\S+ s  mean over ranks \(\S+ s to \S+ s\)", lines[5])
    assert re.fullmatch(r"communication  +\S+ s  mean over ranks \(\S+ s to \S+ s\)", lines[6])
    assert re.fullmatch(r"trust  +no measurements .* next to graphene.xml: the error .*", lines[7])
    assert re.fullmatch(r"simulation took  +\S+ s  [\d,]+ actions per second", lines[8])
    assert len(lines) == 9
    precise = tisim.replay("--digits", "9", RING, platform=GRAPHENE).out
    assert precise.startswith("simulated time    0.0366590442 s\n")
    assert tisim.replay(RING, platform=GRAPHENE).out.startswith("simulated time      0.036659 s\n")


@pytest.mark.parametrize(
    ("package", "importer", "remedy"),
    [
        ("numpy", "tisim.analysis.result", "numpy"),
        ("pandas", "tisim.analysis.result", "'tisim[view]'"),
        ("pandas", "tisim.studies.calibration.line", "'tisim[calibrate]'"),
        ("lxml", "tisim.studies.calibration.platform_file", "'tisim[calibrate]'"),
        ("anywidget", "tisim.analysis.viewer.notebook", "'tisim[notebook]'"),
    ],
)
def test_a_package_that_is_missing(
    package: str,
    importer: str,
    remedy: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fails(*_: object, **__: object) -> None:
        exec(f"import {package}", {"__name__": importer})

    monkeypatch.setattr(cli.tisim, "main", fails)
    monkeypatch.delitem(sys.modules, package, raising=False)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(SystemExit) as stopped:
        cli.main(["replay"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err == (
        f"tisim: {package} is required but not installed: pip install {remedy}\n"
    )


@pytest.mark.parametrize(
    ("package", "command"),
    [
        ("pandas", "replay --platform p.xml --breakdown no-such-trace"),
        ("pandas", "replay --platform p.xml --report run.html no-such-trace"),
        ("pandas", "replay --platform p.xml --uncertainty 3 no-such-trace"),
        ("matplotlib", "replay --platform p.xml --gantt run.svg no-such-trace"),
        ("pandas", "sweep study.toml"),
        ("pandas", "record -o t.tit --times --timeline t.csv -- false"),
        ("pyarrow", "record -o t.tit --times --timeline t.tir -- false"),
    ],
)
def test_a_package_is_missed_before_the_work(
    package: str, command: str, tisim: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long run that ends with a table does not fail at its end because pandas is missing."""
    hide_package(package, monkeypatch)
    monkeypatch.chdir(tisim.directory)
    tisim.write("study.toml", 'trace = "none"\nplatform = "none"\n[vary]\nspeed = ["x1", "x2"]\n')
    outcome = tisim(*command.split())
    message = f"{package} is required but not installed: pip install 'tisim[view]'"
    refused(tisim, outcome, re.escape(message))


def test_a_package_that_others_miss_is_not_said_to_be_tisims(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "lxml", raising=False)
    monkeypatch.setattr(sys, "path", [])
    assert importlib.util.find_spec("lxml") is None
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'lxml'$"):
        importlib.import_module("lxml")


def test_json_on_standard_output_is_alone_there(tisim: CommandLine) -> None:
    platform = tisim.platform(
        '<config><prop id="xyzzy" value="1"/></config>',
        '<zone id="z" routing="Full"><host id="a" speed="1e9"/></zone>',
    )
    trace = tisim.trace("compute 1e9; sleep 0.5; send 0 0 10; recv 0 0 10")
    outcome = tisim.replay("--json", "-", trace, platform=platform)
    assert outcome.status == 0
    written = json.loads(outcome.out)
    assert outcome.err == (f"tisim: warning: {platform}:3: unknown option 'xyzzy' is ignored\n")
    whole = ["tisim", "trace", "platform", "simulated_time", "actions", "wall_time", "config"]
    assert list(written) == [*whole, "warnings", "trust", "ranks"]
    assert written["trace"].startswith(trace)
    assert written["platform"] == platform
    assert written["tisim"] == package.__version__
    assert written["actions"] == 4
    assert written["wall_time"] > 0
    assert written["config"]["smpi/coll-selector"] == "default"
    (row,) = written["ranks"]
    assert list(row) == [
        *("rank", "host", "finish", "compute"),
        *("communication", "other", "actions", "bytes_sent", "messages_sent"),
    ]
    assert (row["rank"], row["host"], row["compute"]) == (0, "a", 1.0)
    assert row["finish"] == written["simulated_time"] == pytest.approx(1.5, rel=1e-3)
    assert row["other"] == 0.5
    assert row["compute"] + row["communication"] + row["other"] == pytest.approx(
        row["finish"], rel=1e-15
    )
    assert (row["actions"], row["bytes_sent"], row["messages_sent"]) == (4, 10, 1)


def test_a_route_beside_json_goes_to_standard_error(tisim: CommandLine) -> None:
    outcome = tisim("platform", BACKBONE, "--route", "c-0.me", "c-1.me", "--json", "-")
    assert json.loads(outcome.out)["hosts"] == 256
    assert outcome.err.startswith("c-0.me -> c-1.me\n")


def test_json_has_full_precision(tisim: CommandLine) -> None:
    target = tisim.directory / "out.json"
    outcome = tisim.replay("--json", str(target), RING)
    assert "simulated time" in outcome.out
    result = package.replay(RING, platform=BACKBONE)
    rows = json.loads(target.read_text())["ranks"]
    assert [row["finish"] for row in rows] == result.finish.tolist()
    assert json.loads(result.to_json())["ranks"] == rows
    assert target.stat().st_mode & 0o777 == 0o666 & ~_umask()
    assert [path.name for path in tisim.directory.iterdir()] == ["out.json"]


def _umask() -> int:
    umask = os.umask(0)
    os.umask(umask)
    return umask


def test_json_where_something_is_already(tisim: CommandLine) -> None:
    old = tisim.directory / "old.json"
    old.write_text("old")
    link = tisim.directory / "link.json"
    link.symlink_to(old)
    assert tisim.replay("--json", str(link), RING).status == 0
    assert link.is_symlink()
    assert json.loads(old.read_text())["actions"] == 20
    assert tisim.replay("--json", os.devnull, RING).status == 0
    assert Path(os.devnull).is_char_device()


def test_options_in_both_forms(tisim: CommandLine) -> None:
    texts = []
    for form in ("smpi/os=0:1e-3:0", "smpi/os:0:1e-3:0", "--cfg=smpi/os:0:1e-3:0"):
        outcome = tisim.replay("--config", form, "--json", "-", RING)
        assert outcome.status == 0
        texts.append(re.sub(r'"wall_time": .*', "", outcome.out))
    outcome = tisim.replay("--cfg=smpi/os:0:1e-3:0", "--json", "-", RING)
    texts.append(re.sub(r'"wall_time": .*', "", outcome.out))
    assert len(set(texts)) == 1
    assert json.loads(outcome.out)["config"]["smpi/os"] == "0:0.001:0.0"


def test_the_command_line_wins_over_the_platform(tisim: CommandLine) -> None:
    platform = tisim.platform(
        '<config><prop id="smpi/simulate-computation" value="no"/></config>',
        '<zone id="z" routing="Full"><host id="a" speed="1e9"/></zone>',
    )
    trace = tisim.trace("compute 1e9")
    assert '"simulated_time": 0.0,' in tisim.replay("--json", "-", trace, platform=platform).out
    item = "smpi/simulate-computation=yes"
    outcome = tisim.replay("--config", item, "--json", "-", trace, platform=platform)
    assert '"simulated_time": 1.0,' in outcome.out


def test_host_files_and_deployments_place_ranks(tisim: CommandLine) -> None:
    def hosts(*arguments: str) -> list[str]:
        written = json.loads(tisim.replay(*arguments, "--json", "-", RING).out)
        return [row["host"] for row in written["ranks"]]

    assert hosts() == ["c-0.me", "c-1.me", "c-2.me", "c-3.me"]
    hostfile = tisim.write("hosts", "c-9.me:2\nc-8.me\n")
    assert hosts("--hosts", hostfile) == ["c-9.me", "c-9.me", "c-8.me", "c-9.me"]
    deploy = str(ROOT / "platforms" / "backbone.deploy.xml")
    assert hosts("--deployment", deploy) == ["c-0.me", "c-1.me", "c-2.me", "c-3.me"]


# Unusual but valid traces


def test_sizes_beyond_32_bits(tisim: CommandLine) -> None:
    trace = tisim.trace("send 1 0 5000000000; compute 1e13", "recv 0 0 5e9")
    written = json.loads(tisim.replay("--json", "-", trace).out)
    assert written["ranks"][0]["bytes_sent"] == 5_000_000_000
    assert written["ranks"][0]["compute"] == pytest.approx(1e4)
    assert written["ranks"][1]["finish"] > 40


def test_waits_without_requests_return_at_once(tisim: CommandLine) -> None:
    """As in SimGrid: a test may have completed the request."""
    trace = tisim.trace("wait 0 1 0; waitall; wait 1 0 5; compute 1e9", "compute 1")
    assert json.loads(tisim.replay("--json", "-", trace).out)["simulated_time"] == 1.0


def test_a_type_whose_size_is_lost_is_told_of(tisim: CommandLine) -> None:
    trace = tisim.trace("send 1 0 10 -1", "recv 0 0 10 -1")
    outcome = tisim.replay(trace)
    assert outcome.status == 0
    assert outcome.err == (
        "tisim: warning: the trace of rank 0 and 1 more names types of unknown size (-1), which "
        "the tracer lost: their messages count as 0 bytes\n"
    )


def test_profiles_and_start_times_count(tisim: CommandLine) -> None:
    tisim.write("speeds", "0 1.0\n1 0.5\n")
    platform = tisim.platform(
        '<zone id="z" routing="Full"><host id="a" speed="1e9" speed_file="speeds"/></zone>'
    )
    deployment = tisim.write(
        "deployment.xml",
        '<platform version="4.1">\n<actor host="a" function="0" start_time="5"/></platform>',
    )
    trace = tisim.trace("compute 4e9")
    outcome = tisim.replay("--deployment", deployment, "--json", "-", trace, platform=platform)
    assert outcome.err == ""
    assert json.loads(outcome.out)["simulated_time"] == 13.0


def test_a_host_that_goes_off(tisim: CommandLine) -> None:
    tisim.write("states", "1 0\n")
    platform = tisim.platform(
        '<zone id="z" routing="Full"><host id="a" speed="1e9" state_file="states"/></zone>'
    )
    outcome = tisim.replay(tisim.trace("compute 4e9"), platform=platform)
    assert outcome.status == 1
    assert "rank 0 died at 1 s in compute: host a is off" in outcome.err


def test_communicators_that_are_only_mentioned(tisim: CommandLine) -> None:
    trace = tisim.trace("comm_size 2; comm_split; comm_dup; compute 1e9", "compute 1")
    assert json.loads(tisim.replay("--json", "-", trace).out)["simulated_time"] == 1.0


# Help


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["-h"], ["replay", "--help"], ["replay", "-h"]]
)
def test_help_is_quick(arguments: list[str]) -> None:
    """Help does not load slow libraries."""
    code = (
        "import sys\nfrom tisim.commands.cli import main\n"
        f"try:\n  main({arguments!r})\nexcept SystemExit as end:\n  assert end.code == 0\n"
        "print(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    )
    run = python("-c", code)
    assert run.returncode == 0, run.stderr
    assert run.stdout
    assert not set(run.stderr.split()) & HEAVY


def test_help_has_examples(tisim: CommandLine) -> None:
    for arguments in (["--help"], ["replay", "--help"]):
        text = tisim(*arguments).out
        assert "\nExamples:" in text or "\n  Examples:" in text
        assert "tisim replay --platform" in text
        assert max(map(len, text.splitlines())) <= 100
    assert tisim("--version").out == f"tisim {package.__version__}\n"


def test_the_package_is_a_program() -> None:
    run = python("-m", "tisim", "--version")
    assert (run.returncode, run.stdout) == (0, f"tisim {package.__version__}\n")


def test_the_command_line_starts_no_threads_of_openblas() -> None:
    code = "import os\nfrom tisim.commands.cli import main\n"
    code += "try:\n  main(['--version'])\nfinally:\n  print(os.environ['OPENBLAS_NUM_THREADS'])"
    for given, used in ((None, "1"), ("3", "3")):
        environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
        if given:
            environment["OPENBLAS_NUM_THREADS"] = given
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment)
        assert run.stdout.split()[-1].decode() == used


# External interruptions


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m tisim replay --platform {BACKBONE} --json - {RING} | true"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert run.stderr == ""


def test_ctrl_c_stops_a_long_run(tisim: CommandLine) -> None:
    """In the middle of a simulation that would take minutes otherwise."""
    collectives = "; ".join(["alltoall 100000 100000"] * 1000)
    trace = tisim.trace(*[collectives] * 128)
    code = (
        "import sys\nfrom tisim.support.progress import ProgressBar\n"
        "from tisim.commands.cli import main\n"
        "ProgressBar.show_simulation = lambda *_: print('running', flush=True)\n"
        "ProgressBar.is_shown = True\n"
        "main(sys.argv[1:])"
    )
    target = str(tisim.directory / "out.json")
    arguments = ["replay", "--platform", GRAPHENE, "--json", target, trace]
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
        said = process.stderr.read().strip()
    assert re.fullmatch(
        r"tisim: stopped by Ctrl-C at \S+ s of simulated time, after \d[\d,]* of about 128,000 "
        r"actions \(\d+\.\d%\)\n"
        rf"  the slowest: {re.escape(trace)}/r\d+\.txt:\d+: rank \d+, at \d+\.\d% of "
        r"its trace",
        said,
    )
    assert [path.name for path in tisim.directory.iterdir()] == ["trace"]


def test_the_help_groups_commands(tisim: CommandLine) -> None:
    text = tisim("--help").out
    titles = re.findall(r"^(\w.*):$", text, re.MULTILINE)
    assert titles[-8:] == [
        "Predict",
        "Traces",
        "Platforms and calibration",
        "GPUs",
        "Studies",
        "Results",
        "Getting started",
        "Shell",
    ]
    assert "  cc, c++, fc  Compile with instruction counting" in text
    assert "\n  record       Run an MPI program" in text


def test_the_samples_are_written_and_replay(tisim: CommandLine, tmp_path: Path) -> None:
    directory = tmp_path / "first-steps"
    assert tisim("examples", str(directory)).status == 0
    for name in ("examples/mpi/wavefront.c", "examples/notebooks/first_replay.ipynb"):
        assert (directory / name).is_file()
    platform = str(directory / "platforms/graphene.xml")
    outcome = tisim.replay(str(directory / "traces/npb.S.tar.xz/lu.S.4"), platform=platform)
    assert outcome.out.startswith("simulated time    0.0793505 s\n")


def test_samples_that_have_no_room_are_not_left_in_parts(
    tisim: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "traces/README.md")

    monkeypatch.setattr("shutil.copyfile", fail)
    outcome = tisim("examples", str(tisim.directory / "new"))
    refused(tisim, outcome, "DIR/new: cannot be written: No space left on device")
    assert not [*(tisim.directory / "new").iterdir()]


def test_a_directory_with_files_is_left_alone(tisim: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "mine"
    file.write_text("mine")
    outcome = tisim("examples", str(tmp_path))
    assert outcome.status == 2
    assert "is not an empty directory; choose another name" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
