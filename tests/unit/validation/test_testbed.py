"""The testbed of `make validate`: its programs are sound, and it leaves nothing behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.validation.__main__ import chosen_at, main
from benchmarks.validation.before import pairs_of, results_of, text_of
from benchmarks.validation.document import tables, write
from benchmarks.validation.drawn import drawn
from benchmarks.validation.kept import write_study
from benchmarks.validation.programs import few_programs, programs
from benchmarks.validation.recorded import absent, recorded
from benchmarks.validation.testbed import Layout, missing, shaped_nodes
from tests.support import ROOT
from tests.unit.validation.test_validate import PREDICTED, case
from tisim.studies.calibration.benchmark_run import BenchmarkSize, run_benchmark
from tisim.studies.calibration.measurements import read_measurements
from tisim.studies.calibration.procedure import calibrate
from tisim.studies.validation import Case, Study, load_study, validate
from tisim.traces import check


def namespaces() -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True)
    return [line.split()[0] for line in listed.stdout.splitlines()]


def need_testbed(library: str = "openmpi") -> None:
    reason = missing(library)
    if reason is not None:
        pytest.skip(reason)


def test_the_programs_are_sound(tmp_path: Path) -> None:
    made = [*programs()]
    titles = [program.title for program in made]
    assert len({*titles}) == len(titles) >= 120
    assert {program.ranks for program in made} == {4, 8, 12, 16}
    assert len(few_programs()) == 10
    for program in [*made, *few_programs()]:
        if program.group != "NAS":
            report = check(program.write(tmp_path))
            assert (report.sound, report.ranks) == (True, program.ranks), program.title


def test_drawn_programs_are_sound_and_those_of_their_seed(tmp_path: Path) -> None:
    made = list(drawn(28, 1))
    titles = [program.title for program in made]
    assert len({*titles}) == 28
    assert titles == [program.title for program in drawn(28, 1)]
    assert titles != [program.title for program in drawn(28, 2)]
    for program in made:
        report = check(program.write(tmp_path))
        assert (report.sound, report.ranks) == (True, program.ranks), program.title


def test_the_tables(tmp_path: Path) -> None:
    chosen = few_programs()[:2]
    study = Study(tuple(case(one.title, PREDICTED, group=one.group) for one in chosen))
    text = tables(validate(study), chosen, "80 Mbit/s", "today")
    assert "### 80 Mbit/s" in text
    assert "| one-way 60 kB on 4 | one-way |" not in text  # its error is 0
    slow = validate(Study((case("barrier on 4", 2 * PREDICTED, group="collectives"),)))
    assert "| barrier on 4 | collectives |" in tables(slow, chosen, "80 Mbit/s", "today")
    assert "| above 4 kB | 2 | 0 | 0.0% | 0.0% | 0.0% | 2 | 0 | 0.0% | 0.0% | 0.0% |" in text
    waited = replace(slow, results=[replace(result, busy=0.6) for result in slow.results])
    busy = tables(waited, chosen, "80 Mbit/s", "today")
    assert "| collectives | 1 | 0 | 50.0% | 50.0% | 50.0% | 0 | 0 |  |  |  |" in busy
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- written by `make validate` -->\nold\n<!-- end -->\nafter\n")
    write(text, page)
    assert "old" not in page.read_text()
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith("<!-- end -->\nafter\n")


def test_nodes_come_and_go(tmp_path: Path) -> None:
    need_testbed()
    with shaped_nodes(2, 80_000_000, tmp_path) as bed:
        assert {f"{bed.name}-1", f"{bed.name}-2", f"{bed.name}-switch"} <= {*namespaces()}
        ping = ["ip", "netns", "exec", f"{bed.name}-1", "ip", "route", "get", "10.99.0.2"]
        assert "eth0" in subprocess.run(ping, capture_output=True, text=True).stdout
    assert [name for name in namespaces() if name.startswith(f"{bed.name}-")] == []


def test_nothing_is_left_after_ctrl_c(tmp_path: Path) -> None:
    need_testbed()
    running = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.validation", "--few"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    mine = f"tisim-v{running.pid}-"
    end = time.monotonic() + 60
    while f"{mine}8" not in namespaces() and time.monotonic() < end:
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert running.returncode != 0
    assert [name for name in namespaces() if name.startswith(mine)] == []


def test_nodes_on_two_switches(tmp_path: Path) -> None:
    need_testbed()
    layout = Layout(slow={1: 0.5}, far=1)
    with shaped_nodes(3, 80_000_000, tmp_path, layout) as bed:

        def shown(node: str, *words: str) -> str:
            command = ["ip", "netns", "exec", f"{bed.name}-{node}", *words]
            return subprocess.run(command, capture_output=True, text=True).stdout

        assert "rate 40Mbit" in shown("1", "tc", "qdisc", "show", "dev", "eth0")
        assert "port3" in shown("switch2", "ip", "link", "show", "master", "br0")


def test_frames_take_the_delay_of_two_cables(tmp_path: Path) -> None:
    need_testbed()
    echo = """if 1:
        import socket, sys, time
        address = ("10.99.0.2", 5000)
        udp = socket.socket(type=socket.SOCK_DGRAM)
        udp.settimeout(20)
        if sys.argv[1] == "answer":
            udp.bind(address)
            print("ready", flush=True)
            udp.sendto(*udp.recvfrom(9000))
        else:
            began = time.monotonic()
            udp.sendto(bytes(8000), address)
            print(len(udp.recv(9000)), time.monotonic() - began)
    """
    with shaped_nodes(2, 80_000_000, tmp_path, Layout(delay=0.05)) as bed:

        def on(node: int) -> list[str]:
            return ["ip", "netns", "exec", f"{bed.name}-{node}", sys.executable, "-c", echo]

        with subprocess.Popen([*on(2), "answer"], stdout=subprocess.PIPE) as answering:
            assert answering.stdout is not None
            answering.stdout.readline()
            asked = subprocess.run([*on(1), "ask"], capture_output=True, text=True, check=True)
    received, seconds = asked.stdout.split()
    assert received == "8000"  # in six frames, whose checksums are right
    assert float(seconds) >= 4 * 0.05  # two cables, round trip


def test_a_study_with_the_real_times(tmp_path: Path) -> None:
    case_ = case("ring 1", PREDICTED / 1.1, PREDICTED / 1.2, config={"smpi/os": "0:0:0"})
    validation = validate(Study((case_,)))
    again = load_study(write_study(validation.results, tmp_path))
    assert again.cases[0].config == {"smpi/os": "0:0:0"}
    assert validate(again).results[0].error == validation.results[0].error


def test_traces_of_the_nas_benchmarks_are_optional(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TISIM_NPB_TRACES", raising=False)
    assert not [*recorded()]
    assert "TISIM_NPB_TRACES names no directory" in (absent() or "")
    monkeypatch.setenv("TISIM_NPB_TRACES", str(tmp_path))
    (tmp_path / "cg.W.8.tit").touch()
    (program,) = recorded()
    assert (program.title, program.write(tmp_path)) == ("cg.W on 8", tmp_path / "cg.W.8.tit")
    assert "lu.W.16" in (absent() or "")


def test_ranks_run_at_rates_that_the_processors_carry() -> None:
    made = [*programs()]
    fast, slow = chosen_at(made, 40_000_000), chosen_at(made, 20_000_000)
    assert max(program.ranks for program in fast) == 8
    assert {program.title for program in fast + slow} == {program.title for program in made}
    assert 20 < len([program for program in slow if program.ranks <= 8]) < len(fast) / 3


def test_nodes_have_the_congestion_control_that_is_named(tmp_path: Path) -> None:
    need_testbed()
    option = "net.ipv4.tcp_congestion_control"
    with shaped_nodes(2, 80_000_000, tmp_path, congestion_control="reno") as bed:
        for node in (1, 2):
            command = ["ip", "netns", "exec", f"{bed.name}-{node}", "sysctl", "-n", option]
            said = subprocess.run(command, capture_output=True, text=True, check=True)
            assert said.stdout == "reno\n"


def test_a_congestion_control_that_no_namespace_may_have() -> None:
    ran = CliRunner().invoke(main, ["--congestion-control", "none such"])
    assert ran.exit_code == 2
    assert "a namespace may have " in ran.output


def test_a_second_rank_on_a_host_measures_its_loopback(tmp_path: Path) -> None:
    need_testbed()
    with shaped_nodes(3, 80_000_000, tmp_path, Layout(ranks=2)) as bed:
        command = bed.command(3, spread=True)
        size = BenchmarkSize(largest=2000, sizes=6, repetitions=1, seconds=1)
        run_benchmark(command, tmp_path / "x.csv", size, compiler="mpicc.openmpi")
    measured = read_measurements([tmp_path / "x.csv"])
    assert measured.inside is not None
    assert set(measured.inside["operation"]) >= {"pingpong", "send", "recv"}
    # The patterns have one rank per host.
    transfers = measured.frame[measured.frame["operation"] == "transfer"]
    assert set(transfers["pattern"]) == {"pairs", "shift", "incast", "fan-out"}
    assert set(transfers[transfers["pattern"] == "shift"]["pairs"]) == {3}


def test_mpich_is_calibrated_and_validated(tmp_path: Path) -> None:
    """Its selector and the order of its messages are in the platform; real runs complete."""
    need_testbed("mpich")
    with shaped_nodes(4, 80_000_000, tmp_path, library="mpich") as bed:
        measured = tmp_path / "measured.csv"
        size = BenchmarkSize(largest=20_000, sizes=12, repetitions=2, seconds=2)
        completed = run_benchmark(
            bed.command(3, spread=True), measured, size, compiler=bed.compiler
        )
        assert completed.ended and completed.finalized
        calibrated = calibrate(read_measurements([measured]), nodes=4, speed=1e9)
        options = calibrated.library.options()
        assert options["smpi/coll-selector"] == "mpich-4"
        assert options["network/ordering"] == "fifo"
        calibrated.platform.write(tmp_path / "calibrated.xml")
        cases = tuple(
            Case(
                program.title,
                program.write(tmp_path),
                tmp_path / "calibrated.xml",
                command=bed.command(program.ranks),
                repeat=3,
                compiler=bed.compiler,
            )
            for program in few_programs()[4:7]
        )
        results = validate(Study(cases)).results
    # The agreement depends on the load of the machine while ranks poll.
    assert [len(result.real) for result in results] == [3, 3, 3]
    assert all(min(result.predicted) > 0 for result in results)


def test_two_validations_are_compared(tmp_path: Path) -> None:
    now = validate(Study((case("ring", *[PREDICTED] * 5),))).results
    earlier = validate(Study((case("ring", *[2 * PREDICTED] * 5),))).results
    write_study(earlier, tmp_path)
    before = results_of(tmp_path)
    assert [one.real for one in before] == [one.real for one in earlier]
    (pair,) = pairs_of(before, now)
    assert pair.change == pytest.approx(-0.5)
    text = text_of([pair], before)
    assert "differ by 50.0% in the median" in text
    assert "| -50.0% | -50.0% | " in text
    assert text_of([], before) == ""
