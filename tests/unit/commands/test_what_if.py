"""What-if: a uniform syntax of changes, and results that state the changes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import tisim as package
from tests.unit.command_line import RING, ROOT, CommandLine
from tisim.analysis.timeline.run_file import RunFile

GRAPHENE = str(ROOT / "platforms" / "graphene.xml")


def replayed(**arguments: object) -> package.Result:
    return package.replay(RING, **{"platform": GRAPHENE, **arguments})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("option", "example"), [("bandwidth", "2GBps"), ("latency", "2us"), ("speed", "2Gf")]
)
def test_a_bare_number_is_refused(tisim: CommandLine, option: str, example: str) -> None:
    outcome = tisim.replay(f"--{option}", "2", RING, platform=GRAPHENE)
    assert outcome.status == 2
    assert f"not '2': use x2 or {example}" in outcome.err
    for number in (2, 2.0, "2"):
        with pytest.raises(package.InputError, match="use x2"):
            replayed(**{option: number})


def test_all_ways_to_write_a_factor_are_one(tisim: CommandLine) -> None:
    times = set()
    for text in ("x2", "2x", "200%", "X2.0"):
        outcome = tisim.replay("--bandwidth", text, "--json", "-", RING, platform=GRAPHENE)
        written = json.loads(outcome.out)
        assert written["changes"] == {"bandwidth": "x2"}
        frame = package.sweep(RING, platform=GRAPHENE, vary={"bandwidth": [text]}, workers=1)
        assert list(frame["scenario"]) == ["bandwidth=x2"]
        times |= {written["simulated_time"], frame["simulated_time"][0]}
        times.add(replayed(bandwidth=text).simulated_time)
    assert len(times) == 1
    assert times != {replayed().simulated_time}


def test_a_result_says_what_was_changed(tmp_path: Path) -> None:
    changes = {"bandwidth": "x10", "latency": "x0.1", "speed": "1Gf", "mapping": "block:2"}
    result = replayed(**changes, event_log=True, timeline=tmp_path / "run.tir")
    words = "bandwidth x10, latency x0.1, speed 1Gf, mapping block:2"
    assert result.changes == changes
    assert result.title == f"ring.4 on graphene.xml with {words}"
    info = RunFile(tmp_path / "run.tir").info
    assert (info["title"], info["changes"]) == (result.title, changes)
    assert words in repr(result)
    assert words in result._repr_html_()
    read = package.Result.from_json(result.to_json())
    assert (read.changes, read.trust) == (changes, result.trust)
    assert replayed().changes == {}


def test_a_change_on_top_of_another_is_said_too() -> None:
    platform = package.Platform.load(GRAPHENE).scaled(bandwidth="x2")
    twice = platform.scaled(links=["switch-*", "b*"], latency="1us").scaled(bandwidth="50%")
    assert twice.changes == {"bandwidth": "x2 x0.5", "latency[switch-*,b*]": "1us"}


def test_hosts_are_a_file_or_names(tisim: CommandLine) -> None:
    names = [f"graphene-{number}.nancy.grid5000.fr" for number in (7, 9)]
    file = tisim.write("h", "\n".join(names))
    by_file, by_name = (
        tisim.replay("--hosts", hosts, "--json", "-", RING, platform=GRAPHENE)
        for hosts in (file, ",".join(names))
    )
    assert [row["host"] for row in json.loads(by_name.out)["ranks"]] == names * 2
    assert json.loads(by_file.out)["ranks"] == json.loads(by_name.out)["ranks"]
    assert replayed(hosts=file).hosts == replayed(hosts=names).hosts == names * 2


def test_a_short_name_of_a_host_is_completed(tisim: CommandLine) -> None:
    outcome = tisim.replay("--hosts", "graphene-0,graphene-1", RING, platform=GRAPHENE)
    assert outcome.err.endswith("'graphene-0'; did you mean graphene-0.nancy.grid5000.fr?\n")


def test_how_far_to_trust_a_result(tmp_path: Path) -> None:
    platform = tmp_path / "p.xml"
    shutil.copy(GRAPHENE, platform)
    alone = replayed(platform=platform)
    assert "next to p.xml: the error is unknown" in alone.trust
    alone.uncertainty = {"level": 0.9, "low_s": 1.0, "high_s": 2.0}
    assert "next to p.xml; 90% interval 1 s to 2 s" in alone.trust
    sets = tmp_path / "p.sets.json"
    sets.write_text('{"sets": [{}], "measured": ["skampi.out"]}')
    text = replayed(platform=platform).trust
    assert text.startswith("p.xml was calibrated by skampi.out; not validated on a real run")
    sets.write_text('{"measured": ["a", "b"], "errors": [0.0, 0.1], "validated": ["lu", "cg"]}')
    result = replayed(platform=platform, latency="x2")
    assert result.trust == (
        "p.xml was calibrated by a, b; validated on lu, cg, whose real times were 1 to 1.11 times "
        "the predicted ones; no interval (--uncertainty 20); not covered by measurements: latency "
        "x2"
    )
    result.uncertainty = {"level": 0.9, "low_s": 1.0, "high_s": 2.0}
    assert "90% interval 1 s to 2 s" in result.trust
    sets.write_text("[")
    said = "p.sets.json:1: this is not JSON: Expecting value: the error is unknown"
    assert said in replayed(platform=platform).trust
