"""An imported trace and its timeline as a case of ``tisim validate``: a real run, predicted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine

ROOT = Path(__file__).resolve().parents[3]
# A millisecond of computing, and a message that takes half a millisecond.
TABLE = """\
rank,call,start,end,peer,bytes
0,MPI_Init,0,0.1,,
0,MPI_Send,0.101,0.1015,1,100000
0,MPI_Finalize,0.1015,0.1016,,
1,MPI_Init,0,0.1,,
1,MPI_Recv,0.1,0.1016,0,100000
1,MPI_Finalize,0.1016,0.1016,,
"""


def test_a_prediction_is_compared_with_the_imported_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tisim = CommandLine(tmp_path, capsys)
    Path("run.csv").write_text(TABLE)
    options = ("--speed", "3.68Gf", "--timeline", "run.tir")
    assert tisim("import", *options, "run.csv", "-o", "run.tit").status == 0
    Path("study.toml").write_text(
        f'[[case]]\nname = "run"\ntrace = "run.tit"\nplatform = "{ROOT}/platforms/graphene.xml"\n'
        'real = ["run.tir"]\n'
    )
    ended = tisim("validate", "study.toml", "-o", "study.html", "--json", "study.json")
    assert ended.status == 0, ended.err
    [case] = json.loads(Path("study.json").read_text())["cases"]
    # The table's first call begins at 0, and its last one ends after 101.6 ms.
    assert case["real"] == [pytest.approx(0.1016)]
    [predicted] = case["predicted"]
    assert case["error"] == pytest.approx(predicted / 0.1016 - 1)
    assert 1e-3 < predicted < 5e-3
