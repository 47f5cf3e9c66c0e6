"""The viewer's findings are those of the report."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

import tisim
from tests.unit.viewer import viewer as viewers
from tests.unit.viewer.late_rank import LATE, record_late_rank
from tisim.analysis.report import write_report
from tisim.analysis.report.findings import findings
from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.viewer.answers import Answers
from tisim.platform import new
from tisim.traces.generate import Wavefront

ROOT = Path(__file__).resolve().parents[3]


def found(path: Path) -> list[dict[str, object]]:
    answer = Answers([RunFile(path)]).answer("findings", {})
    assert answer is not None
    rows: list[dict[str, object]] = json.loads(answer)["findings"]
    return rows


@viewers.needs_viewer
@pytest.mark.parametrize("which", ["late rank", "npb.S.tar.xz/lu.S.4", "tied links"])
def test_they_are_those_of_the_report(tmp_path: Path, which: str) -> None:
    trace = record_late_rank(tmp_path) if which == "late rank" else ROOT / "traces" / which
    if which == "tied links":
        trace = tmp_path / "t"
        Wavefront(ranks=32, planes=62, iterations=5, compute=5e6).write(trace)
    run, page = tmp_path / "run.tir", tmp_path / "run.html"
    platform = ROOT / "platforms/graphene.xml"
    result = tisim.replay(trace, platform=platform, timeline=run, event_log=True)
    write_report(result, page)
    listed = re.findall(r'<ul class="said">(.*?)</ul>', page.read_text())[0]
    told = [unescape(re.sub("<[^>]*>", "", one)) for one in listed.split("</li>") if one]
    own = [str(one["text"]).replace("**", "") for one in found(run)]
    assert own[:-1] == told[:-1]
    # A run file knows only the means of links, and hosts are named without their domain.
    link = told[-1].replace(".nancy.grid5000.fr", "")
    assert link.startswith(own[-1].removesuffix("."))
    assert len(own) > 3


@viewers.needs_viewer
def test_each_leads_to_what_it_says(tmp_path: Path) -> None:
    tisim.replay(
        record_late_rank(tmp_path),
        platform=ROOT / "platforms/graphene.xml",
        timeline=tmp_path / "run.tir",
    )
    late = found(tmp_path / "run.tir")[1]
    assert str(late["text"]).startswith(f"**Rank {LATE} once computes for 10.6 ms**")
    rank, time = late["point"]  # type: ignore[misc]
    assert rank == LATE and 0.011 < time < 0.022
    assert late["begin"] < time < late["end"]  # type: ignore[operator]
    assert late["first"] <= LATE <= late["last"]  # type: ignore[operator]


@viewers.needs_viewer
def test_waits_that_are_nothing_have_no_cause(tmp_path: Path) -> None:
    """Of a second of computation a rank waits for 5 us, because of 5 us more of the other one."""
    for rank, flops in enumerate((1e9, 1.000005e9)):
        (tmp_path / f"r{rank}").write_text(f"{rank} compute {flops}\n{rank} barrier\n")
    platform = new.cluster(2, bandwidth="1GBps", latency="1us", speed="1Gf")
    log = tisim.replay(tmp_path, platform=platform, event_log=True).require_event_log()
    assert len(log.causes)
    texts = [one.text for one in findings(log, "", None)]
    assert "0.0% waiting for ranks" in texts[0]
    assert not any("Most of that waiting" in text for text in texts)


def test_long_histories_are_not_added_up(run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = [str(one["text"]) for one in found(run_file)]
    monkeypatch.setattr("tisim.analysis.timeline.causes._MOST_STEPS", 100)
    fewer = [str(one["text"]) for one in found(run_file)]
    (said,) = (text for text in fewer if "single wait" in text)
    assert not any("is due to" in text or "because of it" in text for text in fewer)
    # Findings that do not need it are unchanged.
    assert all(any(text[:60] == one[:60] for one in every) for text in fewer if text != said)
    assert any("Most of that waiting is" in text for text in fewer)
    # Waits because of a state are not looked for either; the causes of a wait are.
    answers = Answers([RunFile(run_file)])
    wait = json.loads(answers.answer("search", {"q": "late sender", "most": "1"}) or b"")["states"][
        0
    ]
    at = {"rank": str(wait["rank"]), "time": str(wait["start"])}
    record = json.loads(answers.answer("record", at) or b"")
    assert record["waiting"] is None and record["causes"]


@viewers.needs_viewer
def test_of_long_runs_only_sums_are_said(run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = found(run_file)
    monkeypatch.setattr("tisim.analysis.viewer.findings._MOST_RECORDS", 100)
    shares, note = found(run_file)
    assert shares["text"] == every[0]["text"]
    assert "too many states" in str(note["text"])
