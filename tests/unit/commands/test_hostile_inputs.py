"""Inputs designed to cause damage, and random hostile calls: each ends with one message."""

from __future__ import annotations

import gzip
import io
import json
import os
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import pytest

from tests.support import ROOT, campaign
from tests.unit.command_line import BACKBONE, RING, CommandLine, refused
from tisim.analysis.result_json import COLUMNS
from tisim.commands import cli
from tisim.errors import InputError
from tisim.support.limits import LIMIT_VARIABLE
from tisim.support.reading import read_input

LINE = b"0 compute 1\n"


def archive(path: Path, *members: tuple[str, bytes], pax: dict[str, str] | None = None) -> str:
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.pax_headers = pax or {}
            tar.addfile(member, io.BytesIO(content))
    return str(path)


def test_absolute_names_in_an_archive(tisim: CommandLine) -> None:
    path = archive(tisim.directory / "a.tar", ("/x/r0.txt", LINE), ("/x/r1.txt", b"1 compute 1\n"))
    for name in (path, f"{path}/x"):
        outcome = tisim("check", name)
        assert outcome.status == 0
        assert "2 ranks, modern dialect" in outcome.out


@pytest.mark.parametrize(
    ("key", "value"), [("GNU.sparse.major", "1"), ("GNU.sparse.size", "x"), ("size", "x")]
)
def test_headers_that_tarfile_stumbles_over(tisim: CommandLine, key: str, value: str) -> None:
    sparse = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "r", key: value}
    path = archive(tisim.directory / "a.tar", ("r0.txt", LINE), pax=sparse)
    refused(tisim, tisim("check", path), "DIR/a.tar: is damaged or incomplete .*download it again")


def test_devices_have_no_end(tisim: CommandLine) -> None:
    device = "/dev/zero: is an endless device; give a file or a pipe"
    zero = "/dev/zero"
    refused(tisim, tisim("check", zero), device)
    refused(tisim, tisim.replay(RING, platform=zero), device)
    refused(tisim, tisim.replay("--hosts", zero, RING), device)
    refused(tisim, tisim("compare", zero, zero), device)
    refused(tisim, tisim("sweep", zero), device)
    refused(tisim, tisim("calibrate", zero, "-o", "p.xml"), device)
    refused(tisim, tisim("import", zero, "-o", "t.tit"), device)


def test_a_trace_may_unpack_to_so_much(tisim: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tisim.write("bomb.gz", gzip.compress(LINE * 100_000))
    tar = archive(tisim.directory / "b.tar", ("r0.txt", LINE * 100_000))
    said = "the trace unpacks to more than 1.049 MB, the limit; raise it with .*"
    monkeypatch.setenv(LIMIT_VARIABLE, "")
    for path in (bomb, tar):
        refused(tisim, tisim("--unpack-limit", "1MiB", "check", path), said)
    assert tisim("--unpack-limit", "2MiB", "check", bomb).status == 0
    refused(tisim, tisim("--unpack-limit", "much", "check", bomb), "the limit of unpacking .*")


def test_a_pipe_may_bring_so_much(tisim: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endless writer is not read forever."""
    monkeypatch.setattr("tisim.support.reading.MAX_FILE_BYTES", 1 << 16)
    pipe = tisim.directory / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        with pytest.raises(BrokenPipeError), pipe.open("wb") as file:
            while True:
                file.write(bytes(4096))

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(InputError, match="larger than"):
        read_input(pipe)
    writer.join()


def test_waiting_for_a_pipe_can_be_interrupted(tisim: CommandLine) -> None:
    pipe = tisim.directory / "pipe"
    os.mkfifo(pipe)
    code = f"""
import signal
from tisim.commands.cli import main
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 1)
main(["check", {str(pipe)!r}])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (130, "\ntisim: stopped by Ctrl-C\n")


def test_an_index_lists_a_file_once(tisim: CommandLine) -> None:
    tisim.write("r0", LINE.decode())
    index = tisim.write("index", "r0\n" * 1_000_000)
    said = "lists the file 'r0' again, after line 1; .*"
    refused(tisim, tisim("check", index), f"DIR/index:2: {said}")
    (tisim.directory / "r0").unlink()
    members = ("r0", LINE), ("index", b"r0\n" * 1000)
    path = archive(tisim.directory / "a.tar", *members)
    refused(tisim, tisim("check", path), ".*")


@pytest.mark.parametrize("form", [(), *(("--format", f) for f in ("dumpi", "goal", "table"))])
def test_imports_do_not_wait_for_a_pipe(tisim: CommandLine, form: tuple[str, ...]) -> None:
    pipe = tisim.directory / "pipe"
    os.mkfifo(pipe)
    outcome = tisim("import", *form, str(pipe), "-o", "t.tit")
    refused(tisim, outcome, "DIR/pipe: is a pipe, but imports read files several times; .*")


def result(**changes: object) -> str:
    row = {name: 0 if name != "host" else "h" for name in COLUMNS}
    head = {"tisim": "1", "trace": "t", "platform": "p", "simulated_time": 1.5, "actions": 1}
    rest = {"wall_time": 1.0, "config": {}, "warnings": [], "ranks": [row]}
    return json.dumps(head | rest | changes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[" * 100_000, "this JSON is nested too deeply; .*"),
        (f'{{"simulated_time": {"9" * 6000}}}', "this JSON has a number that is too long; .*"),
        (result(simulated_time=10**400), r"this is not a result \(simulated_time is 1000.*"),
        (result(simulated_time="soon"), r"this is not a result \(simulated_time is 'soon'\); .*"),
        (result().replace("1.5", "1e400"), r"this is not a result \(a time is not a number\); .*"),
        (result().replace("1.5", "NaN"), r"this is not a result \(a time is not a number\); .*"),
        (result(warnings=0), r"this is not a result \(warnings is 0\); .*"),
        (result(breakdown={"states": {}}), r"this is not a result \(breakdown has no '\w+'\).*"),
        (result(ranks=[]), r"this is not a result \(it has no ranks\); .*"),
        (result(ranks=[{}]), r"this is not a result \(ranks\[0\] has no 'actions'\); .*"),
    ],
)
def test_results(tisim: CommandLine, content: str, message: str) -> None:
    path = tisim.write("a.json", content)
    refused(tisim, tisim("compare", path, path), f"DIR/a.json: {message}")
    sound = tisim.write("b.json", result())
    assert tisim("compare", sound, sound).status == 0


def test_studies_nested_without_end(tisim: CommandLine) -> None:
    deep = tisim.write("s.toml", "a = " + "[" * 100_000)
    refused(tisim, tisim("sweep", deep), "DIR/s.toml: this TOML is nested too deeply")
    keys = tisim.write("s.toml", "a." * 20_000 + "a = 1")  # tomllib would take minutes
    refused(tisim, tisim("sweep", keys), "DIR/s.toml: this TOML is nested too deeply")
    long = tisim.write("s.toml", f"seed = {'9' * 6000}")
    refused(tisim, tisim("sweep", long), "DIR/s.toml: this is not TOML: .*")
    word = tisim.write("s.toml", f"trace = '{'a' * 2_000_000}'")  # refused immediately
    refused(tisim, tisim("sweep", word), ".*")


def test_absurd_sizes(tisim: CommandLine) -> None:
    hosts = tisim.write("hosts", "Tremblay:99999999999999999999\n")
    refused(tisim, tisim.replay("--hosts", hosts, RING), "DIR/hosts:1: a host may have at most .*")
    refused(tisim, tisim.replay("--jitter", "99999999999999", RING), "jitter supports at most .*")
    large = ("--nodes", "99999999999999", "--bandwidth", "1Gbps", "--latency", "1us")
    for kind in ("cluster", "fat-tree", "torus", "dragonfly"):
        outcome = tisim("platform", "new", kind, *large, "--speed", "1Gf", "-o", "p.xml")
        refused(tisim, outcome, "the number of hosts must be at most .*")
    many = tisim("generate", "wavefront", "--ranks", "2", "--iterations", "22147483648", "-o", "x")
    refused(tisim, many, r"--iterations must be at most 2\^30, not 22147483648")
    # More than the cores of all hosts is equivalent to the number of ranks.
    assert tisim.replay("--mapping", "block:99999999999999999999", RING).status == 0


def test_a_platform_without_a_name(tisim: CommandLine) -> None:
    words = ("--nodes", "4", "--bandwidth", "1GBps", "--latency", "1us", "--speed", "1Gf")
    outcome = tisim("platform", "new", "cluster", *words, "-o", "")
    refused(tisim, outcome, "the platform needs a file name, such as cluster.xml")


def test_a_host_of_many_digits(tisim: CommandLine) -> None:
    """Neither the search for its numbers nor for similar names takes forever."""
    outcome = tisim("platform", BACKBONE, "--route", "9" * 20_000, "c-0")
    refused(tisim, outcome, ".* has no host .9{20000}.*")


def test_a_fat_tree_with_more_cables_than_memory(tisim: CommandLine) -> None:
    tree = tisim.platform(
        '<cluster id="c" prefix="n" suffix="" radical="0-7" speed="1Gf" bw="1GBps" lat="1us" '
        'topology="FAT_TREE" topo_parameters="2;2,4;1,2000000000;1,2000000000"/>'
    )
    refused(tisim, tisim("platform", tree), "DIR/platform.xml:3: cluster c: it has 32,.* links; .*")


def test_a_profile_that_never_rests(tisim: CommandLine) -> None:
    path = tisim.platform(
        '<zone id="z" routing="Full"><host id="h" speed="1Gf"/></zone>',
        '<trace id="t" periodicity="1e-12">0 1</trace>',
    )
    outcome = tisim.replay(tisim.trace("compute 1"), platform=path)
    refused(tisim, outcome, "DIR/platform.xml:4: a profile cannot repeat every 1e-12 s; .*")


@pytest.mark.parametrize(
    ("table", "speed", "message"),
    [
        (
            "0,send,1,5\n1,recv,0,5\n",
            "0",
            "the speed of the recorded machine must be above 0, not 0",
        ),
        ("0,send,1,-5\n1,recv,0,5\n", "1Gf", "DIR/t.csv:2: the bytes '-5' is negative"),
        ('0,send,1,"5\n1,recv,0,5\n', "1Gf", "DIR/t.csv:.*is a quote unclosed.*"),
        ("0,send,1,5,6\n1,recv,0,5\n", "1Gf", "DIR/t.csv:2: the row has more cells .*"),
    ],
)
def test_what_no_table_of_calls_says(
    tisim: CommandLine, table: str, speed: str, message: str
) -> None:
    path = tisim.write("t.csv", "rank,call,peer,bytes\n" + table)
    out = tisim.directory / "out" / "t.tit"
    out.parent.mkdir()
    refused(tisim, tisim("import", "--speed", speed, path, "-o", str(out)), message)


def test_what_nobody_foresaw_asks_for_a_report(
    tisim: CommandLine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stumble(*_: object) -> None:
        raise ZeroDivisionError("of nothing")

    monkeypatch.setattr("tisim.platform.Platform.load", stumble)
    with pytest.raises(SystemExit) as ended:
        cli.main(["platform", BACKBONE])
    said = capsys.readouterr().err
    assert ended.value.code == cli.INTERNAL_ERROR == 70
    assert said.startswith("tisim: internal error, not caused by the input; please rep")
    assert "ZeroDivisionError: of nothing (test_hostile_inputs.py:" in said
    assert said.count("\n") == 1


def test_ctrl_c_while_a_class_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:  # as Python 3.11 raises it in __set_name__
        raise RuntimeError("Error calling __set_name__") from KeyboardInterrupt()

    monkeypatch.setattr("tisim.platform.Platform.load", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.main(["platform", BACKBONE])
    assert (ended.value.code, capsys.readouterr().err) == (130, "tisim: stopped by Ctrl-C\n")


def test_random_hostile_calls_end_with_one_message(tmp_path: Path) -> None:
    run("campaign", "--cases", str(campaign(60, 10_000)), "--keep", str(tmp_path), room=tmp_path)


def test_kills_leave_the_old_file_or_the_whole_new_one(tmp_path: Path) -> None:
    """A sweep loses at most the running scenario."""
    run("kills", "--kills", str(campaign(4, 500)), room=tmp_path)


def run(module: str, *words: str, room: Path) -> None:
    """Run a campaign and assert that it finds no errors."""
    ended = subprocess.run(
        [sys.executable, "-m", f"tests.torture.{module}", *words],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(room)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-10_000:]
