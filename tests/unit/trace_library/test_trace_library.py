"""libtisim_trace as used by a recorder in C11: calls, call paths, attributes."""

from __future__ import annotations

import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import tisim
from tests.support import BACKBONE
from tests.unit.command_line import CommandLine
from tests.unit.trace_library.recorded import MEASURED, NUMBER, RANK, TEXT, Program, Rank
from tisim import _core
from tisim.errors import InputError
from tisim.traces import Trace, check, inspect, pack, unpack

LIBRARY = Path(_core.__file__).parent / "trace_library"
SOURCE = Path(__file__).parent / "recording_program.c"


def require(tool: str) -> str:
    executable = shutil.which(tool)
    if executable is None:
        pytest.skip(f"{tool} is not installed")
    return executable


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("library") / "program"
    options = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1", f"-I{LIBRARY}"]
    link = [f"-L{LIBRARY}", "-ltisim_trace", f"-Wl,-rpath,{LIBRARY}"]
    command = [require("gcc"), *options, str(SOURCE), "-o", str(program), *link]
    subprocess.run(command, check=True)
    return program


def run(program: Path, *arguments: object) -> str:
    command = [str(program), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def test_the_library_shows_its_own_functions_only() -> None:
    command = [require("nm"), "-D", "--defined-only", str(LIBRARY / "libtisim_trace.so")]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    names = {line.split()[-1] for line in lines}
    assert "tt_rank_open" in names
    assert {name for name in names if not name.startswith("tt_")} == set()


def test_the_library_needs_no_run_time_library_of_cxx() -> None:
    command = [require("readelf"), "-d", str(LIBRARY / "libtisim_trace.so")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    needed = [line for line in text.splitlines() if "NEEDED" in line]
    assert needed
    assert not [line for line in needed if "libstdc++" in line or "libgcc" in line]


def test_ranks_and_iterations_hardly_count(program: Path, tmp_path: Path) -> None:
    parts, traces = {}, {}
    for ranks, iterations in [(4, 10), (4, 10_000), (256, 10)]:
        size, memory = map(int, run(program, "ring", tmp_path, ranks, iterations).split())
        parts[ranks, iterations] = size
        traces[ranks, iterations] = (tmp_path / "ring.tit").stat().st_size
        assert memory <= 8 << 10
    assert parts[4, 10_000] <= parts[4, 10] + 16
    assert parts[256, 10] <= 256 / 4 * (parts[4, 10] + 16)
    unpack(tmp_path / "ring.tit", tmp_path / "text")
    text = "# recorded by a test\n" + "".join(
        f"7 compute {1_000_000 + i % 3}\n7 send 8 0 4096\n7 recv 6 0 4096 # source=6\n"
        for i in range(10)
    )
    assert (tmp_path / "text" / "rank-7.txt").read_text() == text
    assert traces[256, 10] <= traces[4, 10] + 16


def test_a_random_program_stays_in_its_memory(program: Path, tmp_path: Path) -> None:
    grown = int(run(program, "random", tmp_path / "part", 1_000_000))
    assert 0 <= grown <= 2048
    assert int(run(program, "part", tmp_path / "part")) > 1_000_000


def test_a_killed_program_leaves_what_it_had_flushed(program: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    killed = subprocess.run([str(program), "killed", str(part)], check=False)
    assert killed.returncode == -signal.SIGKILL
    run(program, "part", part, tmp_path / "killed.tit")
    unpack(tmp_path / "killed.tit", tmp_path / "text")
    lines = (tmp_path / "text" / "rank-0.txt").read_text().splitlines()
    assert lines[0] == "# incomplete: ranks 0, 1"
    assert len(lines) == 1 + 3 * 100
    assert (tmp_path / "text" / "rank-1.txt").read_text() == ""


def test_mistakes_are_refused(program: Path) -> None:
    error = run(program, "mistakes").strip()
    assert error == "/dev/full cannot be written: No space left on device"


HALO = "main (lu.c:12) > exchange (lu.c:99)"
END = "main (lu.c:12) > finish (lu.c:120)"


def recorded(path: Path) -> Path:
    """Record two ranks that exchange messages at two places; one message is never received."""
    program = Program(2)
    for number, rank in enumerate(program.ranks):
        site = rank.attribute("call_site", TEXT)
        halo, end = rank.text(HALO), rank.text(END)
        peer = 1 - number
        rank.call("init")
        for i in range(11):
            at = {site: halo if i < 10 else end}
            rank.compute(1000 if i < 10 else 50)
            rank.call("isend {} 0 {}", peer, 8, ranks=1, attributes=at)
            if i < 10 or number == 0:
                rank.call("recv {} 0 {}", peer, 8, ranks=1, attributes=at)
        rank.call("waitall")
        rank.call("finalize")
    return program.write(path / "sites.tit")


def test_statistics_are_by_call_path(tmp_path: Path) -> None:
    inspection = inspect(recorded(tmp_path), statistics=True)
    sends = {site.path: site for site in inspection.sites if site.text.startswith("isend")}
    assert set(sends) == {HALO, END}
    assert (sends[HALO].calls, sends[END].calls) == (20, 2)
    assert (sends[HALO].volumes.sum, sends[END].volumes.sum) == (20_000, 100)
    assert [site.path for site in inspection.sites if site.text.startswith("waitall")] == [None]


def test_commands_name_call_paths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tisim = CommandLine(tmp_path, capsys)
    path = str(recorded(tmp_path))
    assert f"at {HALO}" in tisim("inspect", "--statistics", path).out
    assert f"; called at {END}" in tisim("check", path).out


def test_findings_have_call_sites(tmp_path: Path) -> None:
    report = check(recorded(tmp_path))
    assert {finding.call_path for finding in report.findings if finding.line} == {END}


def farm(tmp_path: Path, *, tasks: int = 5, sources: tuple[int, int] = (1, 2)) -> Path:
    """Record a rank 0 that receives from any source, alternately matching `sources`."""
    program = Program(3)
    for number, rank in enumerate(program.ranks):
        site = rank.attribute("call_site", TEXT)
        matched = rank.attribute("matched", RANK)
        rank.call("init", attributes={site: rank.text("main (farm.c:7)")})
        receive = rank.text("main (farm.c:9) > work (farm.c:21)")
        send = rank.text("main (farm.c:9) > work (farm.c:33)")
        for _ in range(tasks):
            if number == 0:
                for source in sources:
                    attributes = {site: receive, matched: source}
                    rank.call("recv {} 0 {}", -555, 1000, ranks=1, attributes=attributes)
            else:
                rank.compute(2_000_000_000 // number)
                rank.call("send {} 0 {}", 0, 1000, ranks=1, attributes={site: send})
        rank.call("finalize")
    return program.write(tmp_path / "farm.tit")


def test_calls_have_attributes_and_lines_stay_as_they_are(tmp_path: Path) -> None:
    trace = Trace.open(farm(tmp_path, tasks=2))
    assert trace.attributes == ("call_site", "matched")
    receive = "main (farm.c:9) > work (farm.c:21)"
    assert list(trace.attributes_of(0)) == [
        (1, {"call_site": "main (farm.c:7)"}),
        (2, {"call_site": receive, "matched": 1}),
        (3, {"call_site": receive, "matched": 2}),
        (4, {"call_site": receive, "matched": 1}),
        (5, {"call_site": receive, "matched": 2}),
    ]
    send = {"call_site": "main (farm.c:9) > work (farm.c:33)"}
    assert list(trace.attributes_of(2))[1:] == [(3, send), (5, send)]
    with pytest.raises(InputError, match="has no rank 3"):
        list(trace.attributes_of(3))


def test_structure_hides_attributes_that_repeat(tmp_path: Path) -> None:
    few, many = (farm(tmp_path, tasks=n, sources=(2, 2)).stat().st_size for n in (10, 10_000))
    assert many <= few + 24


def measured(tmp_path: Path) -> Path:
    """Record attributes of every kind, of calls and computations, set at once and later."""
    program = Program(3)
    for number, rank in enumerate(program.ranks):
        threads = rank.attribute("threads", NUMBER)
        misses = rank.attribute("counter:cache-misses", MEASURED)
        matched = rank.attribute("matched", RANK)
        site = rank.attribute("call_site", TEXT)
        tickets = []
        for i in range(40):
            attributes = {threads: 1 + i % 2, misses: i * i * 7 % 1009 - 3 * number}
            rank.compute(1000 + i * i % 17, attributes=attributes if i % 5 else None)
            tickets.append((rank.later(matched), (number + i) % 3))
            attributes = {site: rank.text(f"f{number if i == 3 else i % 4}")}
            rank.call("irecv {} 0 {} request={}", -555, 8, i % 2, ranks=1, attributes=attributes)
            if i % 2:
                for ticket, source in reversed(tickets):
                    if source != 1:
                        rank.known(ticket, source)
                tickets.clear()
                rank.call("waitall requests={},{}", 0, 1, attributes={misses: 1 << 61})
        rank.compute(77, attributes={misses: -(1 << 61)})
    return program.write(tmp_path / "measured.tit")


def test_every_kind_comes_back(tmp_path: Path) -> None:
    trace = Trace.open(measured(tmp_path))
    assert set(trace.attributes) == {"threads", "counter:cache-misses", "matched", "call_site"}
    for rank in range(3):
        lines = dict(trace.attributes_of(rank))
        expected: dict[int, dict[str, int | str]] = {}
        line = 0
        for i in range(40):
            line += 1
            if i % 5:
                misses = i * i * 7 % 1009 - 3 * rank
                expected[line] = {"threads": 1 + i % 2, "counter:cache-misses": misses}
            line += 1
            expected[line] = {"call_site": f"f{rank if i == 3 else i % 4}"}
            if (rank + i) % 3 != 1:
                expected[line]["matched"] = (rank + i) % 3
            if i % 2:
                line += 1
                expected[line] = {"counter:cache-misses": 1 << 61}
        expected[line + 1] = {"counter:cache-misses": -(1 << 61)}
        assert lines == expected


def test_unpacked_text_has_them_as_comments(tmp_path: Path) -> None:
    unpack(farm(tmp_path, tasks=1), tmp_path / "text")
    lines = (tmp_path / "text" / "rank-0.txt").read_text().splitlines()
    assert lines[:3] == [
        "# @ 0 main (farm.c:7)",
        "# @ 1 main (farm.c:9) > work (farm.c:21)",
        "# @ 2 main (farm.c:9) > work (farm.c:33)",
    ]
    assert lines[3:8] == [
        "# @ call_site=0",
        "0 init",
        "# @ call_site=1 matched=1",
        "0 recv -555 0 1000",
        "# @ call_site=1 matched=2",
    ]
    pack(tmp_path / "text", tmp_path / "again.tit")
    again = Trace.open(tmp_path / "again.tit")
    assert again.attributes == ()
    assert again.actions == Trace.open(tmp_path / "farm.tit").actions


def times(path: Path, sources: str) -> float:
    result = tisim.replay(path, platform=BACKBONE, config={"tisim/sources": sources})
    return result.simulated_time


def test_replays_with_matched_sources_wait_for_them(tmp_path: Path) -> None:
    program = Program(3)
    for number, rank in enumerate(program.ranks):
        matched = rank.attribute("matched", RANK)
        if number == 0:
            for source in (2, 1):
                ticket = rank.later(matched)
                rank.call("irecv {} 0 {} request={}", -555, 8, 0, ranks=1)
                rank.known(ticket, source)
                rank.call("wait request={}", 0)
                rank.compute(1_000_000_000)
        else:
            rank.compute(5_000_000_000 * (number - 1))
            rank.call("send {} 0 {}", 0, 8, ranks=1)
    path = program.write(tmp_path / "late.tit")
    assert times(path, "matched") > 1.1 * times(path, "any")


def test_traces_without_matched_sources_are_refused() -> None:
    with pytest.raises(InputError, match=r"lacks the matched senders .*; leave tisim/sources"):
        times(BACKBONE.parents[1] / "traces" / "ring.4", "matched")


def unknown(rank: Rank, calls: int) -> None:
    matched = rank.attribute("matched", RANK)
    rank.later(matched)
    for i in range(calls):
        rank.call("recv {} 0 {}", -555, 8, ranks=1, attributes={matched: 0} if i else None)


def test_a_value_that_stays_unknown_holds_back_a_bounded_number(tmp_path: Path) -> None:
    program = Program(1)
    unknown(program.ranks[0], 70_000)
    before = program.library.tt_memory
    before.restype, before.argtypes = before.restype, None
    lines = list(Trace.open(program.write(tmp_path / "u.tit")).attributes_of(0))
    assert lines[0] == (2, {"matched": 0})
    assert len(lines) == 70_000 - 1


def test_what_cannot_be_an_attribute_is_refused() -> None:
    rank = Program(1).ranks[0]
    invalid = -1
    assert rank.attribute("Site", TEXT) == invalid
    assert rank.attribute("x", 4) == invalid
    site = rank.attribute("x", TEXT)
    assert rank.attribute("x", TEXT) == site
    assert rank.attribute("x", NUMBER) == invalid
    assert rank.text("a\nb") == invalid
    library = rank.library
    assert library.tt_attribute(rank.rank, site, 0) == invalid  # no text exists yet
    assert library.tt_attribute(rank.rank, site + 1, 0) == invalid
    assert library.tt_attribute_later(rank.rank, site) == invalid
    assert library.tt_attribute_known(rank.rank, 12345, 0) == invalid
    number = rank.attribute("n", NUMBER)
    assert library.tt_attribute(rank.rank, number, 1 << 62) == invalid


@pytest.mark.parametrize("alternates", [False, True])
def test_matched_sources_that_repeat_let_iterations_be_skipped(
    tmp_path: Path, *, alternates: bool
) -> None:
    program = Program(3)
    for number, rank in enumerate(program.ranks):
        matched = rank.attribute("matched", RANK)
        rank.call("init")
        for task in range(400):
            if number == 0:
                first = 1 + task % 2 if alternates else 1
                rank.call("recv {} 0 {}", -555, 1000, ranks=1, attributes={matched: first})
                rank.call("recv {} 0 {}", -555, 2000, ranks=1, attributes={matched: 3 - first})
                rank.call("send {} 0 {}", 1, 7, ranks=1)
                rank.call("send {} 0 {}", 2, 7, ranks=1)
            else:
                rank.compute(1_000_000)
                size = 1000 * (3 - number if alternates and task % 2 else number)
                rank.call("send {} 0 {}", 0, size, ranks=1)
                rank.call("recv {} 0 {}", 0, 7, ranks=1)
        rank.call("finalize")
    trace = program.write(tmp_path / "any.tit")
    off = tisim.replay(trace, platform=BACKBONE, skip_steady=1e-6).steady
    assert off is not None
    assert off["skipped"] == 0
    assert "receives from any source" in str(off["off"])
    assert "--sources matched" in str(off["off"])
    config = {"tisim/sources": "matched"}
    whole = tisim.replay(trace, platform=BACKBONE, config=config)
    result = tisim.replay(trace, platform=BACKBONE, config=config, skip_steady=1e-6)
    assert result.steady is not None
    assert result.simulated_time == pytest.approx(whole.simulated_time, rel=1e-6)
    # Steady phases can only be skipped if the matches of receives are known.
    assert (result.steady["skipped"] > 300) == (not alternates)
