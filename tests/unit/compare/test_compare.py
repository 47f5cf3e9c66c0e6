"""Comparison of two results, as text and as a page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import tisim
from tests.support import GRAPHENE, LU, NPB, RING
from tests.unit.command_line import CommandLine
from tisim import InputError
from tisim.analysis.compare import compare, read_result
from tisim.analysis.report.charts import Step, waterfall
from tisim.commands.cli import main
from tisim.commands.compare import compare_command

CG = NPB / "cg.S.16"


def result(times: list[tuple[float, float]], **more: Any) -> dict[str, Any]:
    """Return a result whose ranks compute and communicate for the given seconds."""
    rows = [
        {
            "rank": rank,
            "host": f"h{rank}",
            "finish": compute + communication,
            "compute": compute,
            "communication": communication,
            "other": 0.0,
            "actions": 3,
            "bytes_sent": 10,
            "messages_sent": 1,
        }
        for rank, (compute, communication) in enumerate(times)
    ]
    return {"ranks": rows, "config": {}, **more}


def reasons(a: dict[str, Any], b: dict[str, Any]) -> str:
    return "\n".join(compare(a, b).reasons)


def replayed(**arguments: Any) -> dict[str, Any]:
    return tisim.replay(CG, **{"platform": GRAPHENE, **arguments}).to_dict()


def test_equal_results() -> None:
    comparison = compare(replayed(), replayed())
    assert comparison.reasons == ("both take the same simulated time",)
    assert comparison.ranks == comparison.details == comparison.inputs == ()


def test_who_makes_the_difference() -> None:
    a, b = result([(1, 1), (1, 2)]), result([(1, 2), (1, 4)])
    comparison = compare(a, b)
    assert comparison.simulated_time.change == 2
    assert comparison.reasons[:2] == (
        "b takes 1.667 times as long as a (+2 s)",
        "communication accounts for 100.0% of it (+1.5 s on average over ranks)",
    )
    assert [(rank.rank, rank.finish) for rank in comparison.ranks] == [(1, 2), (0, 1)]
    assert comparison.ranks[0].communication == 2


def test_parts_that_go_against_the_rest() -> None:
    text = reasons(result([(1, 3)]), result([(2, 1)]))
    assert "communication takes 2 s less on average over ranks" in text
    assert "compute takes 1 s longer on average over ranks" in text


def test_the_same_end_by_other_ways() -> None:
    text = reasons(result([(1, 3)]), result([(3, 1)]))
    assert "both take the same simulated time" in text
    assert "spend it differently" in text


def test_another_rank_ends_last() -> None:
    text = reasons(result([(1, 1), (1, 2)]), result([(1, 4), (1, 2)]))
    assert "rank 0 ends last in b, a different one in a" in text


def test_another_algorithm_is_recognised_by_its_traffic() -> None:
    a, b = replayed(), replayed(config={"smpi/coll-selector": "mpich"})
    comparison = compare(a, b)
    assert comparison.inputs == (("smpi/coll-selector", "default", "mpich"),)
    text = "\n".join(comparison.reasons)
    assert "smpi/coll-selector is default in a, mpich in b" in text
    sent = sum(row["messages_sent"] for row in b["ranks"])
    sent -= sum(row["messages_sent"] for row in a["ranks"])
    assert f"b sends {sent:+,} messages" in text
    assert "with different algorithms" in text


def test_other_hosts_and_speeds() -> None:
    machine = tisim.Platform.load(GRAPHENE)
    hosts = [f"graphene-{n}.nancy.grid5000.fr" for n in range(16)]
    fast = reasons(replayed(), replayed(platform=machine.scaled(speed="x2")))
    assert "the same work takes 0.5 times as long: hosts of different speed" in fast
    moved = reasons(replayed(hosts=hosts), replayed(hosts=hosts[::-1]))
    assert "16 ranks run on a different host in b" in moved
    wires = reasons(replayed(), {**replayed(platform=machine.scaled(latency="x2")), "changes": {}})
    assert "options, hosts and compute are the same: the network differs" in wires


def test_results_are_compared_as_they_are(tmp_path: Path) -> None:
    result = tisim.replay(RING, platform=GRAPHENE)
    file = tmp_path / "a.json"
    file.write_text(result.to_json())
    for one in (result, file, str(file)):
        assert tisim.compare(one, result.to_dict()).reasons == (
            "both take the same simulated time",
        )


def test_what_was_changed_is_said() -> None:
    changed = replayed(bandwidth="10x", latency="10%", mapping="block")
    assert changed["changes"] == {"bandwidth": "x10", "latency": "x0.1", "mapping": "block"}
    comparison = compare(replayed(), changed)
    assert "b has bandwidth x10, latency x0.1, mapping block" in comparison.reasons
    assert ("bandwidth", "as it is", "x10") in comparison.differing_inputs
    assert "not covered by measurements: bandwidth x10, latency x0.1" in comparison.trust_text
    assert compare(changed, changed).changes == ()


def test_other_traces_and_numbers_of_ranks() -> None:
    text = reasons(replayed(), tisim.replay(RING, platform=GRAPHENE).to_dict())
    assert text.startswith("these are different programs: a has 16 ranks and ")
    assert ", b 4 ranks and 20 actions" in text


def test_many_options_are_counted() -> None:
    a = result([(1, 1)], config={f"option/{n}": 1 for n in range(9)})
    b = result([(1, 1)], config={f"option/{n}": 2 for n in range(9)})
    assert "9 options and other inputs differ" in reasons(a, b)
    assert len(compare(a, b).inputs) == 9


def test_whatever_else_both_have_is_compared() -> None:
    a = result([(1, 1)], platform="a.xml", breakdown={"send": 0.5, "wait": {"late sender": 1.0}})
    b = result([(1, 2)], platform="b.xml", breakdown={"send": 0.5, "wait": {"late sender": 2.0}})
    comparison = compare(a, b)
    assert comparison.inputs == (("platform", "a.xml", "b.xml"),)
    assert [(detail.name, detail.change) for detail in comparison.details] == [
        ("breakdown: wait: late sender", 1)
    ]
    assert "the largest difference is in breakdown: wait: late sender (+1 s)" in comparison.reasons


def test_how_a_time_was_found_is_no_difference_in_time() -> None:
    a = result([(1, 1)], jitter={"seeds": [1, 2]}, steady={"iterations": 20})
    b = result([(1, 1)], uncertainty={"validated_programs": 340})
    assert len(compare(a, b).details) == 4
    assert "the largest difference is in" not in reasons(a, b)


def test_ranks_that_end_at_the_same_time_but_for_rounding_are_left_out() -> None:
    a, b = result([(0.3, 0.3), (1, 1)]), result([(0.3, 0.1 + 0.2), (1, 2)])
    assert [rank.rank for rank in compare(a, b).ranks] == [1]


def test_tables_in_results_are_compared_row_by_row() -> None:
    a = result([(1, 1)], waits=[{"rank": 0, "kind": "late sender", "seconds": 1.0}])
    b = result([(1, 1)], waits=[{"rank": 0, "kind": "late sender", "seconds": 3.0}])
    assert [detail.name for detail in compare(a, b).details] == [
        "waits: rank 0, late sender: seconds"
    ]
    for one, value in ((a, 1.0), (b, 2.0)):
        del one["waits"]
        one["ranks"][0]["kinds"] = {"send": value}
    assert [detail.name for detail in compare(a, b).details] == ["kinds: send, mean over ranks"]


def test_what_only_one_of_them_has_counts_as_nothing() -> None:
    a, b = result([(1, 1)]), result([(1, 1)], breakdown={"send": 0.5})
    (detail,) = compare(a, b).details
    assert (detail.a, detail.b, detail.change) == (None, 0.5, 0.5)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    machine = tisim.Platform.load(GRAPHENE)
    files[0].write_text(json.dumps(replayed()))
    files[1].write_text(json.dumps(replayed(platform=machine.scaled(latency="x2", speed="x2"))))
    with pytest.raises(SystemExit) as ended:
        main(["compare", *map(str, files), "--json", str(tmp_path / "c.json")])
    out = capsys.readouterr().out
    assert ended.value.code in (0, None)
    written = json.loads((tmp_path / "c.json").read_text())
    assert written["a"] == str(files[0])
    for reason in written["reasons"]:
        assert f"- {reason}\n" in out
    assert "Ranks that end at another time" in out
    assert "and 6 more" in out
    assert len(written["ranks"]) == 16
    total = written["simulated_time"]
    assert total["difference"] == total["b"] - total["a"]
    assert total["ratio"] == total["b"] / total["a"]
    with pytest.raises(SystemExit):
        main(["compare", *map(str, files), "--json", "-"])
    assert json.loads(capsys.readouterr().out) == written


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("{\n\n,", ":3", "this is not JSON"),
        ("[]", "", "this is not a result (it is [])"),
        ('{"ranks": []}', "", "this is not a result"),
        ('{"ranks": [{"rank": 0}]}', "", "this is not a result"),
        (
            '{"ranks": [{"rank": 0, "host": "a", "finish": "1", "compute": 0, '
            '"communication": 0}]}',
            "",
            "this is not a result",
        ),
    ],
)
def test_what_is_no_result_is_refused(text: str, place: str, problem: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text(text)
    with pytest.raises(InputError) as error:
        read_result(file)
    assert str(error.value).startswith(f"{file}{place}: {problem}")


def test_a_missing_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read this result: No such file"):
        read_result(tmp_path / "missing.json")


def broken_down(recv: float, late: float, cause: int) -> dict[str, Any]:
    """Return a result of two ranks that compute for 1 s; one receives, and waits for that."""
    breakdown = {
        "states": {"compute": 2.0, "transfer": recv - late, "late sender": late},
        "kinds": {
            kind: {"actions": 2, "seconds": seconds, "states": {}}
            for kind, seconds in {"compute": 2.0, "recv": recv}.items()
        },
        "waits": [{"state": "late sender", "cause": cause, "seconds": late}],
    }
    return result([(1.0, recv), (1.0, 0.0)], breakdown=breakdown)


def test_kinds_states_and_ranks() -> None:
    comparison = compare(broken_down(2.0, 1.0, 1), broken_down(6.0, 4.0, 1))
    assert [(kind.name, kind.change) for kind in comparison.kinds] == [("recv", 2.0)]
    assert [(state.name, state.change) for state in comparison.states] == [
        ("late sender", 1.5),
        ("transfer", 0.5),
    ]
    assert [(cause.name, cause.change) for cause in comparison.causes] == [("rank 1", 1.5)]
    assert comparison.details == ()
    assert comparison.reasons[2:6] == (
        "actions of kind recv take 2 s longer on average over ranks",
        "ranks are in state late sender 1.5 s longer on average over ranks",
        "ranks are in state transfer 500 ms longer on average over ranks",
        "others wait 1.5 s longer for rank 1 on average over ranks",
    )


def test_the_same_time_for_another_rank() -> None:
    comparison = compare(broken_down(2.0, 1.0, 0), broken_down(2.0, 1.0, 1))
    assert comparison.kinds == comparison.states == ()
    assert {cause.name: cause.change for cause in comparison.causes} == {
        "rank 0": -0.5,
        "rank 1": 0.5,
    }


def test_one_without_a_breakdown_is_told() -> None:
    a, b = broken_down(2.0, 1.0, 1), broken_down(6.0, 4.0, 1)
    del b["breakdown"]
    comparison = compare(a, b)
    assert comparison.kinds == comparison.details == ()
    assert any("b has no breakdown:" in reason for reason in comparison.reasons)


def test_real_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """If receives need no processor time, the overhead of waits disappears."""
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


def test_a_run_file_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is a run file: 'tisim view' shows one, or"):
        tisim.compare(tmp_path / "a.tir", tmp_path / "b.tir")


def test_the_page(tmp_path: Path) -> None:
    files = []
    for name, config in (("a", {}), ("b<", {"smpi/coll-selector": "ompi"})):
        files.append(str(tmp_path / f"{name}.json"))
        made = tisim.replay(LU, platform=GRAPHENE, config=config, event_log=True)
        Path(files[-1]).write_text(made.to_json())
    page = tmp_path / "difference.html"
    outcome = CliRunner().invoke(compare_command, [*files, "--report", str(page)])
    assert outcome.exit_code == 0, outcome.output
    assert "b takes 0.9985 times as long as a" in outcome.output
    text = page.read_text()
    assert re.findall("<h2>(.*?)</h2>", text) == [
        "Where the difference comes from",
        "Summary",
        "Where the time goes",
        "Ranks",
        "Options and other inputs that differ",
    ]
    assert text.count("<svg") == 5
    first = text.index(
        "<b>b takes 0.9985 times as long as a (-122.884 us); most of it is the state"
    )
    assert first < text.index("<svg") < text.index("b&lt;.json")
    assert "the axis does not begin at 0" in text
    assert "b&lt;.json" in text
    assert "b takes 0.9985 times as long as a" in text
    assert "http" not in text.replace("http-equiv", "")


def test_a_waterfall_ends_where_b_does() -> None:
    steps = [Step("a", 4.0, is_sum=True), Step("wait", -3.0), Step("b", 1.0, is_sum=True)]
    drawn = waterfall(steps, label="time", show=lambda value: f"{value:g} s")
    width = [float(value) for value in re.findall(r'<rect .*? width="([^"]+)"', drawn)]
    assert width[0] == pytest.approx(width[1] + width[2], abs=0.2)
    assert "-3 s" in drawn
    assert "does not begin at 0" not in drawn


def test_equal_results_have_no_charts(tmp_path: Path) -> None:
    made = tmp_path / "a.json"
    made.write_text(tisim.replay(LU, platform=GRAPHENE).to_json())
    page = tmp_path / "same.html"
    outcome = CliRunner().invoke(compare_command, [str(made), str(made), "--report", str(page)])
    assert outcome.exit_code == 0, outcome.output
    assert "both take the same simulated time" in page.read_text()
    assert "<svg" not in page.read_text()


def test_what_results_warn_of_is_said(tmp_path: Path) -> None:
    made = tisim.replay(LU, platform=GRAPHENE)
    a, b, page = (tmp_path / name for name in ("a.json", "b.json", "c.html"))
    a.write_text(made.to_json())
    made.warnings.append("the numbers of alltoallv are data, approximate: means")
    b.write_text(made.to_json())
    for first, which in ((a, "b"), (b, "both")):
        arguments = [str(first), str(b), "--report", str(page)]
        outcome = CliRunner().invoke(compare_command, arguments)
        assert f"tisim: warning: {which}: the numbers of alltoallv" in outcome.output
        assert f"{which}: the numbers of alltoallv are data" in page.read_text()


def test_another_suffix(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(compare_command, ["a", "b", "--report", str(tmp_path / "a.txt")])
    assert isinstance(outcome.exception, InputError)
    assert "must be .html" in str(outcome.exception)
