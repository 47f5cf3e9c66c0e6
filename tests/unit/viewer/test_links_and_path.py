"""Links of messages, the critical path, and origins of waits, in viewer and report."""

from __future__ import annotations

import html
import json
import random
import re
import shutil
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.support import GRAPHENE, LU, platform_file, write_trace
from tests.unit.command_line import CommandLine
from tests.unit.viewer.viewer import needs_viewer
from tisim.analysis.report import write_report
from tisim.analysis.timeline.columns import WAITS
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.viewer.causes import Causes
from tisim.analysis.viewer.critical_path import RunPath
from tisim.analysis.viewer.findings import RunFindings
from tisim.analysis.viewer.network import RunNetwork
from tisim.traces.generate import Wavefront

pytestmark = needs_viewer

_PAIR = """<zone id="world" routing="Full">
<host id="a.site.org" speed="1Gf"/><host id="b.site.org" speed="1Gf"/>
<link id="cable" bandwidth="1MBps" latency="1ms"/><link id="wide" bandwidth="4MBps" latency="1ms"/>
<route src="a.site.org" dst="b.site.org"><link_ctn id="cable"/><link_ctn id="wide"/></route>
</zone>"""


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> tuple[tisim.Result, RunFile]:
    path = tmp_path_factory.mktemp("path") / "run.tir"
    result = tisim.replay(LU, platform=GRAPHENE, timeline=path, event_log=True)
    return result, RunFile(path)


def test_links_carry_what_the_core_counts(replayed: tuple[tisim.Result, RunFile]) -> None:
    result, run = replayed
    answer = RunNetwork(run).used(0.0, run.end)
    rows = answer["rows"]
    assert isinstance(rows, list) and answer["all"] == len(result.links.table) == 12
    counted = result.links.table.set_index("link")
    for row in rows:
        assert row["bytes"] == pytest.approx(counted["bytes"][row["link"]], rel=1e-12)
        assert row["load"] == pytest.approx(counted["mean"][row["link"]], rel=1e-12)
    # The halves of the run add up to the whole.
    halves = [RunNetwork(run).used(*part)["rows"] for part in ((0.0, 0.03), (0.03, run.end))]
    for row in rows:
        parts = [
            state["bytes"]
            for half in halves
            if isinstance(half, list)
            for state in half
            if state["link"] == row["link"]
        ]
        assert sum(parts) == pytest.approx(row["bytes"], rel=1e-12)


def test_a_message_alone_has_all_of_its_narrowest_link(tmp_path: Path) -> None:
    calls = (f"{call} 0 1000000 6" for call in ("send 1", "recv 0"))
    tisim.replay(
        write_trace(tmp_path, *(f"init; {call}; {call}; finalize" for call in calls)),
        platform=platform_file(tmp_path, _PAIR),
        config={"network/model": "raw", "network/crosstraffic": False},
        timeline=tmp_path / "run.tir",
    )
    run = RunFile(tmp_path / "run.tir")
    rows = run.messages.read(0)
    message = {name: rows.numbers(name)[0] for name in ("source", "destination", "bytes")}
    times = {name: float(rows.reals(name)[0]) for name in ("started", "arrived")}
    route = RunNetwork(run).route_of({**message, **times})
    assert route is not None
    # With an envelope of 16 bytes; the first byte arrives after some latency.
    moving = 1.000016 / (times["arrived"] - times["started"])
    assert [row["link"] for row in route] == ["cable", "wide"]
    assert [row["share"] for row in route] == pytest.approx([moving, moving / 4])
    assert [row["load"] for row in route] == pytest.approx([moving, moving / 4])
    assert [row["messages"] for row in route] == [1, 1]
    assert 0.99 < moving < 1.0


def test_the_picture_is_that_of_the_platform(run_file: Path) -> None:
    picture = RunNetwork(RunFile(run_file)).used(0.0, 0.01)["picture"]
    assert isinstance(picture, str)
    assert "graphene" in picture
    ET.fromstring(picture)


def test_names_of_links_lack_the_domain_that_all_hosts_have(run_file: Path) -> None:
    rows = RunNetwork(RunFile(run_file)).used(0.0, 0.01)["rows"]
    assert isinstance(rows, list)
    assert {"graphene-0, up", "graphene-3, both ways"} <= {row["words"] for row in rows}


def test_it_is_the_path_of_the_result(replayed: tuple[tisim.Result, RunFile]) -> None:
    result, run = replayed
    known = result.critical_path.parts
    whole = RunPath(run, Causes(run)).within(Window(run, 0.0, run.end, 0, 3))
    assert whole["parts"] == len(known)
    assert whole["seconds"] == pytest.approx(run.end, rel=1e-12)
    drawn, kinds = whole["drawn"], whole["kinds"]
    assert isinstance(drawn, dict) and isinstance(kinds, list)
    by_kind = result.critical_path.by_kind
    expected = {(str(row.state), str(row.kind)): row.seconds for row in by_kind.itertuples()}
    found = {(row["state"], row["kind"]): row["seconds"] for row in kinds}
    assert found == pytest.approx(expected, rel=1e-9)
    # There are more parts than can be drawn: the longest ones are included.
    assert len(drawn["start"]) <= 4000 < len(known)
    longest = known.iloc[int((known["end"] - known["start"]).to_numpy().argmax())]
    assert longest["start"] in drawn["start"]


def test_a_window_has_the_parts_in_it(replayed: tuple[tisim.Result, RunFile]) -> None:
    result, run = replayed
    known = result.critical_path.parts
    begin, end = 0.03, 0.0305
    shown = RunPath(run, Causes(run)).within(Window(run, begin, end, 0, 3))
    inside = known[(known["end"] > begin) & (known["start"] < end)]
    drawn, ranks = shown["drawn"], shown["ranks"]
    assert isinstance(drawn, dict) and isinstance(ranks, list)
    assert np.array_equal(drawn["start"], inside["start"])
    assert np.array_equal(drawn["source"], inside["rank"])
    assert np.array_equal(drawn["destination"], inside["destination"])
    assert shown["seconds"] == pytest.approx(end - begin, rel=1e-9)
    # The rank with one computation that is too long.
    assert ranks[0]["rank"] == 3


def test_a_file_that_lacks_what_it_needs_says_so(run_file: Path, tmp_path: Path) -> None:
    measured = tmp_path / "measured.tir"
    with zipfile.ZipFile(run_file) as source, zipfile.ZipFile(measured, "w") as target:
        for member in source.infolist():
            content = source.read(member)
            if member.filename == "run.json":
                content = json.dumps({**json.loads(content), "measured": True}).encode()
            target.writestr(member, content)
    run = RunFile(measured)
    answer = RunPath(run, Causes(run)).within(Window(run, 0.0, run.end, 0, 3))
    assert str(answer["unknown"]).startswith("This run was measured")


def test_a_run_without_messages(tmp_path: Path) -> None:
    (tmp_path / "t.0").write_text("0 init\n0 compute 1e9\n0 finalize\n")
    (tmp_path / "t.txt").write_text("t.0\n")
    shutil.copy(GRAPHENE, tmp_path / "p.xml")
    tisim.replay(tmp_path / "t.txt", platform=tmp_path / "p.xml", timeline=tmp_path / "run.tir")
    run = RunFile(tmp_path / "run.tir")
    shown = RunPath(run, Causes(run)).within(Window(run, 0.0, run.end, 0, 0))
    assert (shown["parts"], shown["seconds"]) == (1, pytest.approx(run.end))


RANKS, LATE = 32, 18
DELAY = 12.1e-3  # seconds
FLOPS = DELAY * 3.68e9  # on a node of graphene
# LU of class A on 32 ranks: 4 by 8 blocks of 16 by 8 columns, swept plane by plane.
ROWS, COLUMNS, PLANES, STEPS = 4, 8, 62, 3
SWEEP, RIGHT_HAND_SIDE = 1.3e5, 5e6  # flops of a block of a plane, and of all planes


def lu() -> dict[int, list[str]]:
    """Return the lines of each rank; computations vary by 5 %, like measured ones."""
    drawn = random.Random(1)
    lines: dict[int, list[str]] = {}
    for rank in range(RANKS):
        row, column = rank % ROWS, rank // ROWS
        south, north = rank + 1 if row < ROWS - 1 else -1, rank - 1 if row else -1
        east = rank + ROWS if column < COLUMNS - 1 else -1
        west = rank - ROWS if column else -1
        made = ["init"]

        def compute(flops: float, made: list[str] = made) -> None:
            made.append(f"compute {flops * drawn.uniform(0.95, 1.05):.0f}")

        def sweep(before: tuple[int, int], after: tuple[int, int], made: list[str] = made) -> None:
            for _ in range(PLANES):
                sizes = 320, 640
                made += [f"recv {r} 3 {n}" for r, n in zip(before, sizes, strict=True) if r >= 0]
                compute(SWEEP)
                made += [f"send {r} 3 {n}" for r, n in zip(after, sizes, strict=True) if r >= 0]

        for step in range(STEPS):
            sweep((north, west), (south, east))
            sweep((south, east), (north, west))
            for one, other, size in ((south, north, 39_680), (east, west, 79_360)):
                for source, target in ((one, other), (other, one)):
                    made += [f"irecv {source} 4 {size}"] if source >= 0 else []
                    made += [f"send {target} 4 {size}"] if target >= 0 else []
                    made += [f"wait {source} {rank} 4"] if source >= 0 else []
                    compute(RIGHT_HAND_SIDE / 4)
            if step == STEPS - 1:
                made.append("allreduce 40 5")
        lines[rank] = made
    return lines


def wavefront() -> dict[int, list[str]]:
    pattern = Wavefront(ranks=RANKS, iterations=STEPS, compute=1.6e7, planes=PLANES, noise=0.05)
    return {
        rank: [line.partition(" ")[2] for line in "".join(pattern.pieces(rank)).splitlines()]
        for rank in range(RANKS)
    }


@dataclass
class Late:
    folder: Path
    run: RunFile
    causes: Causes
    result: tisim.Result
    line: int


@pytest.fixture(scope="module", params=[lu, wavefront], ids=["lu", "wavefront"])
def late(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Late:
    """A program in which rank 18 computes 12.1 ms longer in the first sweep.

    The ranks before it wait for it in the sweep back, through the last rank, which has waited too.
    """
    make: Callable[[], dict[int, list[str]]] = request.param
    folder = tmp_path_factory.mktemp("late")
    (folder / "t").mkdir()
    programs = make()
    computes = [at for at, line in enumerate(programs[LATE]) if line.startswith("compute")]
    line = computes[PLANES - 12]
    volume = float(programs[LATE][line].split()[1])
    programs[LATE][line] = f"compute {volume + FLOPS}"
    for rank, lines in programs.items():
        (folder / "t" / f"r{rank}").write_text("".join(f"{rank} {one}\n" for one in lines))
    result = tisim.replay(
        folder / "t", platform=GRAPHENE, timeline=folder / "run.tir", event_log=True
    )
    run = RunFile(folder / "run.tir")
    return Late(folder, run, Causes(run), result, line + 1)


def test_the_origin_of_every_long_wait_is_the_late_rank(late: Late) -> None:
    states = late.result.states
    long = states[states["state"].isin(WAITS) & (states["end"] - states["start"] > 0.8 * DELAY)]
    assert len({*long["rank"]} - {LATE}) > 20
    for wait in long.itertuples():
        details = late.causes.details(int(wait.rank), (wait.start + wait.end) / 2)
        seconds = wait.end - wait.start
        causes, chain = details["causes"], details["chain"]
        assert (causes[0]["rank"], causes[0]["state"], causes[0]["origin"]) == (
            *(LATE, "compute"),
            True,
        )
        assert causes[0]["explains"] > 0.8 * min(DELAY, seconds)
        assert chain[-1]["line"] == late.line and chain[-1]["rank"] == LATE
        # Shares add up to the wait, and those of the steps to at most 1.
        assert sum(cause["explains"] for cause in causes) == pytest.approx(seconds, rel=1e-12)
        assert sum(cause["share"] for cause in causes) == pytest.approx(1.0, rel=1e-12)
        assert sum(step["share"] for step in chain) <= 1.0 + 1e-12


def test_all_others_wait_because_of_it(late: Late) -> None:
    (row,) = late.result.states.query(f"rank == {LATE} and line == {late.line}").itertuples()
    details = late.causes.details(LATE, (row.start + row.end) / 2)
    waiting = details["waiting"]
    assert sorted(state["rank"] for state in waiting) == [r for r in range(RANKS) if r != LATE]
    seconds, ranks = late.result.require_event_log().wait_causes.total_wait_caused(int(row.Index))
    assert ranks == RANKS - 1 and seconds > 0.8 * DELAY * ranks
    assert sum(state["seconds"] for state in waiting) == pytest.approx(seconds, rel=1e-12)


def test_viewer_report_and_breakdown_agree(
    late: Late, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = late.result.require_event_log()
    found = late.causes.waits_until(late.run.end)
    assert found is not None
    own = [(one.rank, one.state, one.seconds, one.waiting, one.parts) for one in found.all]
    columns = ["rank", "state", "seconds", "ranks", "parts"]
    assert own == [*log.causes[columns].itertuples(index=False, name=None)]
    assert own[0][:2] == (LATE, "compute")
    assert log.causes["seconds"].sum() == pytest.approx(log.waits["seconds"].sum(), rel=1e-9)

    write_report(late.result, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    text = html.unescape(re.sub(r"<[^>]*>", " ", page))
    text = " ".join(text.split())
    printed = CommandLine(late.folder, capsys)(
        "replay", "--platform", str(GRAPHENE), "--breakdown", str(late.folder / "t")
    ).out
    table = printed.partition("Causes of the waits, largest first\n")[2].splitlines()
    rank, state, *numbers = table[1].split()
    assert (rank, state) == (str(LATE), "compute")
    host = late.result.hosts[LATE]
    assert f"{LATE} {host} compute {' '.join(numbers)}" in text
    outlier = printed.partition("similar ones\n")[2].splitlines()[1].split()
    assert (outlier[0], outlier[5]) == (str(LATE), str(RANKS - 1))
    # The viewer shows the sentences of the report.
    sentences = RunFindings(late.run, RunNetwork(late.run), late.causes).all()["findings"]
    assert isinstance(sentences, list)
    due = next(
        str(sentence["text"]) for sentence in sentences if "largest cause" in str(sentence["text"])
    )
    assert f"**rank {LATE} in compute**" in due
    plain = " ".join(due.replace("**", " ").replace(" .", ".").split())
    assert plain.replace(" ", "") in text.replace(" ", "")
    assert np.isclose(log.causes["share"].sum(), 1.0)
