"""The testbed of `make validate`: its programs are sound, and nothing of it is left behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.validation.document import tables, write
from benchmarks.validation.kept import write_study
from benchmarks.validation.programs import few_programs, programs
from benchmarks.validation.testbed import missing, shaped_nodes
from tests.unit.validation.test_validate import PREDICTED, case
from tisim.formats import check
from tisim.validation import Study, load_study, validate

ROOT = Path(__file__).resolve().parents[3]


def namespaces() -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True)
    return [line.split()[0] for line in listed.stdout.splitlines()]


def need_testbed() -> None:
    reason = missing()
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


def test_the_tables(tmp_path: Path) -> None:
    chosen = few_programs()[:2]
    study = Study(tuple(case(one.title, PREDICTED, group=one.group) for one in chosen))
    text = tables(validate(study), chosen, 80_000_000, "today")
    assert "### 80 Mbit/s" in text
    assert "| one-way 60 kB on 4 | one-way |" in text
    assert "| above 4 kB | 2 | 0 | 0.0% | 0.0% | 0.0% |" in text
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


def test_a_study_with_the_real_times(tmp_path: Path) -> None:
    case_ = case("ring 1", PREDICTED / 1.1, PREDICTED / 1.2, config={"smpi/os": "0:0:0"})
    found = validate(Study((case_,)))
    again = load_study(write_study(found.results, tmp_path))
    assert again.cases[0].config == {"smpi/os": "0:0:0"}
    assert validate(again).results[0].error == found.results[0].error
