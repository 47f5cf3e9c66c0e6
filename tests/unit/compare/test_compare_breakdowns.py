"""Which kinds of action, states and ranks make the difference between two results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.unit.command_line import CommandLine
from tests.unit.sweep.samples import GRAPHENE, ROOT
from tisim.analysis.compare import compare

CG = ROOT / "traces" / "npb.S.tar.xz" / "cg.S.16"


def result(recv: float, late: float, cause: int) -> dict[str, Any]:
    """Two ranks that compute for a second; one of them receives, and waits for that."""
    breakdown = {
        "states": {"compute": 2.0, "transfer": recv - late, "late sender": late},
        "kinds": {
            kind: {"actions": 2, "seconds": seconds, "states": {}}
            for kind, seconds in {"compute": 2.0, "recv": recv}.items()
        },
        "waits": [{"state": "late sender", "cause": cause, "seconds": late}],
    }
    rows = [
        {"rank": 0, "host": "a", "finish": 1 + recv, "compute": 1.0, "communication": recv},
        {"rank": 1, "host": "b", "finish": 1.0, "compute": 1.0, "communication": 0.0},
    ]
    return {"ranks": rows, "config": {}, "breakdown": breakdown}


def test_kinds_states_and_ranks() -> None:
    comparison = compare(result(2.0, 1.0, 1), result(6.0, 4.0, 1))
    assert [(one.name, one.change) for one in comparison.kinds] == [("recv", 2.0)]
    assert [(one.name, one.change) for one in comparison.states] == [
        ("late sender", 1.5),
        ("transfer", 0.5),
    ]
    assert [(one.name, one.change) for one in comparison.causes] == [("rank 1", 1.5)]
    assert comparison.details == ()
    assert comparison.reasons[2:6] == (
        "actions of kind recv take 2 s longer on average over ranks",
        "ranks are in state late sender 1.5 s longer on average over ranks",
        "ranks are in state transfer 500 ms longer on average over ranks",
        "others wait 1.5 s longer for rank 1 on average over ranks",
    )


def test_the_same_time_for_another_rank() -> None:
    comparison = compare(result(2.0, 1.0, 0), result(2.0, 1.0, 1))
    assert comparison.kinds == comparison.states == ()
    assert {one.name: one.change for one in comparison.causes} == {"rank 0": -0.5, "rank 1": 0.5}


def test_one_without_a_breakdown_is_told() -> None:
    a, b = result(2.0, 1.0, 1), result(6.0, 4.0, 1)
    del b["breakdown"]
    comparison = compare(a, b)
    assert comparison.kinds == comparison.details == ()
    assert any("b does not say where its time goes" in reason for reason in comparison.reasons)


def test_real_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Receives that cost the processor nothing: overhead of waits goes away."""
    run = CommandLine(tmp_path, capsys)
    files = [str(tmp_path / name) for name in ("a.json", "b.json")]
    for file, options in zip(files, ((), ("--config", "smpi/or=0:0:0")), strict=True):
        arguments = ("--breakdown", *options, "--json", file, str(CG))
        assert run.replay(*arguments, platform=str(GRAPHENE)).status == 0
    written = json.loads(Path(files[0]).read_text())
    assert written["trace"] == str(CG)
    assert sum(written["breakdown"]["states"].values()) == pytest.approx(
        sum(row["finish"] for row in written["ranks"])
    )
    out = run("compare", *files).out
    assert "- ranks are in state overhead" in out
    assert "- actions of kind wait take" in out
    assert "Time in each kind of action, mean over ranks" in out
    assert "smpi/or is" in out
    comparison = json.loads(run("compare", *files, "--json", "-").out)
    assert comparison["states"]["overhead"]["difference"] < 0


def test_a_result_and_its_json_say_the_same() -> None:
    result = tisim.replay(CG, platform=GRAPHENE, event_log=True)
    assert json.loads(result.to_json()) == json.loads(json.dumps(result.to_dict()))
