"""Every rank of each reference case ends at SimGrid's time; provenance: README.md."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import tisim
from tisim.commands.cli import main

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REFERENCE = HERE / "reference.json"
CASES: list[dict[str, Any]] = json.loads(REFERENCE.read_text())["cases"]

RELATIVE = 1e-6
ABSOLUTE = 1e-9  # seconds


def name_of(case: dict[str, Any]) -> str:
    selector = case["cfg"][0].partition(":")[2] if case["cfg"] else "default"
    return f"{case['trace']}-{case['platform']}-{selector}"


@cache
def platform(name: str) -> tisim.Platform:
    return tisim.Platform.load(ROOT / "platforms" / f"{name}.xml")


def hostfile(name: str) -> Path:
    return ROOT / "platforms" / f"{name}.hosts"


def trace_path(name: str, nas_traces: Path) -> Path:
    return ROOT / "traces" / "lu.A.8.tar.xz" if name == "lu.A.8" else nas_traces / name


def assert_agrees(finish: list[float], case: dict[str, Any]) -> None:
    relative = max(RELATIVE, 10 * case["sensitivity"])
    assert len(finish) == len(case["ends"])
    wrong = [
        f"rank {rank}: {mine!r} s, SimGrid {its!r} s"
        for rank, (mine, its) in enumerate(zip(finish, case["ends"], strict=True))
        if abs(mine - its) > max(relative * its, ABSOLUTE)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_reference_is_the_one_whose_origin_is_written_down() -> None:
    digest = hashlib.sha256(REFERENCE.read_bytes()).hexdigest()
    assert digest in (HERE / "README.md").read_text()
    assert len(CASES) == 71


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_replay_from_python(case: dict[str, Any], nas_traces: Path) -> None:
    machine = case["platform"]
    result = tisim.replay(
        trace_path(case["trace"], nas_traces),
        platform=platform(machine),
        deployment=tisim.Deployment.from_hostfile(hostfile(machine), case["ranks"]),
        config=tisim.Config.from_items(case["cfg"]),
        ranks=case["ranks"],
    )
    assert_agrees(result.finish.tolist(), case)
    assert result.simulated_time == result.finish.max()


def test_replay_from_the_command_line(
    nas_traces: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case = next(case for case in CASES if name_of(case) == "cg.S.16-graphene-default")
    machine, target = case["platform"], tmp_path / "out.json"
    arguments = ["replay", "--platform", str(ROOT / "platforms" / f"{machine}.xml")]
    arguments += ["--hosts", str(hostfile(machine)), "--np", str(case["ranks"])]
    arguments += ["--json", str(target), str(trace_path(case["trace"], nas_traces))]
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0, capsys.readouterr().err
    written = json.loads(target.read_text())
    assert_agrees([row["finish"] for row in written["ranks"]], case)
    assert written["simulated_time"] == max(row["finish"] for row in written["ranks"])
    assert len(written["ranks"]) == case["ranks"]


def test_the_files_as_simgrid_writes_them_give_the_same(nas_traces: Path) -> None:
    case = next(case for case in CASES if name_of(case) == "lu.S.4-graphene-default")
    index = nas_traces / "lu.S.4.simgrid" / "lu.S.4"
    result = tisim.replay(index, platform=platform("graphene"))
    assert_agrees(result.finish.tolist(), case)


CLASS_A: list[dict[str, Any]] = json.loads((HERE / "class_a.json").read_text())["cases"]


@pytest.mark.parametrize("case", CLASS_A, ids=lambda case: f"{case['trace']}-{case['platform']}")
def test_class_a(case: dict[str, Any]) -> None:
    platform = ROOT / "platforms" / case["platform"]
    result = tisim.replay(
        ROOT / "traces" / f"{case['trace']}.tar.xz",
        platform=platform.with_suffix(".xml"),
        hosts=platform.with_suffix(".hosts").read_text().split(),
    )
    assert result.finish.tolist() == pytest.approx(case["ends"], rel=1e-6, abs=1e-9)
