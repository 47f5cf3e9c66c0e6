"""``tisim check``, ``pack`` and ``unpack``, and their Python functions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tisim
from tests.support import BACKBONE, write_ranks
from tests.unit.command_line import RING, ROOT, CommandLine
from tisim.actions.registry import ignoring_unsupported
from tisim.errors import InputError
from tisim.traces import Trace, check, pack, unpack

LU = str(ROOT / "traces" / "npb.S.tar.xz" / "lu.S.4")


# check


def test_a_sound_trace(tisim: CommandLine) -> None:
    outcome = tisim("check", RING)
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.splitlines() == [
        f"{RING}: sound: 0 errors, 0 warnings",
        "4 ranks, modern dialect, 20 actions, 4 messages of 4 MB from rank to rank, 4e+06 flops",
        "",
        "action                      number  messages      bytes       amount",
        "compute                          4                       4e+06 flops",
        "init, finalize and similar       8",
        "recv                             4",
        "send                             4         4  4,000,000",
    ]


def test_warnings_do_not_make_a_trace_unsound(tisim: CommandLine) -> None:
    outcome = tisim("check", LU)
    assert outcome.status == 0
    assert outcome.out.splitlines()[0].endswith(
        "rank-0.txt: warning: has receives from -333, interpreted as MPI_ANY_SOURCE; so have 3 "
        "more ranks"
    )
    assert outcome.out.splitlines()[1] == f"{LU}: sound: 0 errors, 1 warning"


def test_an_unsound_trace(tisim: CommandLine) -> None:
    trace = tisim.trace("send 1 0 5", "compute 1")
    outcome = tisim("check", trace)
    assert (outcome.status, outcome.err) == (1, "")
    assert outcome.out.splitlines()[:2] == [
        f"{trace}/r0.txt:1: error: sends a message from rank 0 to rank 1 with tag 0 that is never "
        "received: 1 are sent, 0 received",
        f"{trace}: not sound: 1 error, 0 warnings",
    ]


def test_of_many_problems_the_first_are_named(tisim: CommandLine) -> None:
    trace = tisim.trace("; ".join(f"send 0 {tag} 5" for tag in range(250)))
    outcome = tisim("check", trace)
    assert outcome.status == 1
    assert "and 50 more" in outcome.out.splitlines()
    assert f"{trace}/r0.txt: not sound: 250 errors, 0 warnings" in outcome.out


def test_the_report_as_json(tisim: CommandLine) -> None:
    trace = tisim.trace("send 1 0 5; isend 1 1 7", "recv 0 1 7")
    outcome = tisim("check", "--json", "-", trace)
    assert outcome.status == 1
    written = json.loads(outcome.out)
    assert (written["sound"], written["errors"], written["warnings"]) == (False, 1, 1)
    assert (written["ranks"], written["dialect"], written["actions"]) == (2, "modern", 3)
    places = [
        (finding["file"], finding["line"], finding["severity"]) for finding in written["findings"]
    ]
    assert sorted(places) == [(f"{trace}/r0.txt", 1, "error"), (f"{trace}/r0.txt", 2, "warning")]
    assert {count["name"]: count["bytes"] for count in written["counts"]} == {
        "send": 5,
        "isend": 7,
        "recv": 0,
    }
    target = tisim.directory / "report.json"
    outcome = tisim("check", "--json", str(target), trace)
    assert outcome.status == 1
    assert "not sound" in outcome.out
    assert json.loads(target.read_text()) == written


def test_actions_of_ones_own_and_the_dialect(tisim: CommandLine) -> None:
    trace = tisim.trace("checkpoint 5; compute 1")
    assert tisim("check", trace).status == 1
    assert tisim("check", "--action", "checkpoint", trace).status == 0
    ambiguous = tisim.trace("send 1 2 3", "recv 0 2 3", name="legacy")
    assert ", modern dialect, " in tisim("check", ambiguous).out
    assert ", legacy dialect, " in tisim("check", "--dialect", "legacy", ambiguous).out


def test_what_cannot_be_checked(tisim: CommandLine) -> None:
    outcome = tisim("check", str(tisim.directory / "nowhere"))
    assert outcome.status == 2
    assert outcome.err.count("\n") == 1
    assert tisim("check").status == 2


# pack and unpack


def test_packed_and_unpacked(tisim: CommandLine, nas_traces: Path) -> None:
    packed, text = tisim.directory / "lu.tit", tisim.directory / "lu"
    outcome = tisim("pack", LU, "-o", str(packed))
    assert (outcome.status, outcome.err) == (0, f"tisim: wrote {packed}\n")
    assert outcome.out.startswith(f"{packed}: 4 ranks, 16,234 actions, ")
    assert outcome.out.endswith("% of the text)\n")
    outcome = tisim("unpack", str(packed), "-o", str(text))
    assert (outcome.status, outcome.err) == (0, f"tisim: wrote {text}\n")
    assert outcome.out == f"{text}: 4 files, 256.3 kB\n"
    for file in (nas_traces / "lu.S.4").iterdir():
        assert (text / file.name).read_bytes() == file.read_bytes()
    assert sorted(path.name for path in tisim.directory.iterdir()) == ["lu", "lu.tit"]


def test_whatever_takes_traces_takes_packed_ones(tisim: CommandLine) -> None:
    packed = str(tisim.directory / "ring.tit")
    assert tisim("pack", RING, "-o", packed).status == 0
    times = [tisim.replay("--json", "-", trace).out for trace in (RING, packed)]
    ranks = [json.loads(text)["ranks"] for text in times]
    assert ranks[0] == ranks[1]
    assert tisim("check", packed).status == 0
    study = tisim.write(
        "study.toml",
        f'trace = "{packed}"\nplatform = "{BACKBONE}"\n[vary]\nbandwidth = ["x1", "x2"]\n',
    )
    rows = str(tisim.directory / "rows.csv")
    assert tisim("sweep", study, "--workers", "1", "--output", rows).status == 0
    assert len(Path(rows).read_text().splitlines()) == 3


def test_what_cannot_be_packed_or_unpacked(tisim: CommandLine) -> None:
    outcome = tisim("pack", RING, "-o", str(tisim.directory))
    assert (outcome.status, outcome.out) == (2, "")
    assert "is a directory; give the name of a file to write" in outcome.err
    outcome = tisim("unpack", tisim.write("no.tit", "0 init\n"), "-o", str(tisim.directory / "x"))
    assert outcome.status == 2
    assert "no.tit" in outcome.err
    assert not (tisim.directory / "x").exists()


# Long work


@pytest.fixture(scope="module")
def long_trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace of two ranks that takes longer than a tenth of a second to read."""
    directory = tmp_path_factory.mktemp("long")
    for rank in range(2):
        (directory / str(rank)).write_text(f"{rank} comm_size 2 # {rank}\n" * 2_000_000)
    return directory


def test_progress_is_told(long_trace: Path, tmp_path: Path) -> None:
    told: list[float] = []
    for work in (
        lambda: pack(long_trace, tmp_path / "x.tit", progress=told.append),
        lambda: unpack(tmp_path / "x.tit", tmp_path / "x", progress=told.append),
        lambda: check(long_trace, progress=told.append),
    ):
        told.clear()
        work()
        assert told
        assert told == sorted(told)
        assert all(0 <= fraction <= 1 for fraction in told)


@pytest.mark.parametrize("command", ["check", "pack"])
def test_ctrl_c_leaves_nothing_behind(long_trace: Path, tmp_path: Path, command: str) -> None:
    """The signal arrives when the core first checks for one, in the middle of its work."""
    code = (
        "import os, signal, sys\nfrom tisim.support.progress import ProgressBar\n"
        "from tisim.commands.cli import main\n"
        "ProgressBar.show = lambda *_: os.kill(os.getpid(), signal.SIGINT)\n"
        "main(sys.argv[1:])"
    )
    output = ["-o", str(tmp_path / "x.tit")] if command == "pack" else []
    arguments = [sys.executable, "-c", code, command, *output, str(long_trace)]
    run = subprocess.run(arguments, capture_output=True, text=True)
    assert (run.returncode, run.stderr.strip()) == (130, "tisim: stopped by Ctrl-C")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["lu.S.4", "cg.S.16", "mg.S.16", "is.S.16", "ft.S.16", "ep.S.16", "dt.S.BH"]
)
def test_real_traces_are_sound(nas_traces: Path, name: str) -> None:
    report = check(nas_traces / name)
    assert report.sound
    assert report.actions == sum(
        file.read_text().count("\n") for file in (nas_traces / name).iterdir()
    )
    assert report.actions == sum(count.actions for count in report.counts)
    # Only LU receives from any rank, which SimGrid's tracer writes as -333.
    said = [finding.message for finding in report.findings if finding.severity != "note"]
    assert said == (
        ["has receives from -333, interpreted as MPI_ANY_SOURCE; so have 3 more ranks"]
        if name == "lu.S.4"
        else []
    )


def test_counts(tmp_path: Path) -> None:
    report = check(
        write_ranks(
            tmp_path, "init; send 1 0 10 0; compute 5; sleep 2", "recv 0 0 10 0; compute 1e3"
        )
    )
    assert (report.ranks, report.dialect, report.name) == (2, "modern", str(tmp_path))
    assert (report.messages, report.bytes, report.flops) == (1, 80, 1005)
    by_name = {count.name: count for count in report.counts}
    assert (by_name["compute"].actions, by_name["compute"].amount) == (2, 1005)
    assert (by_name["sleep"].actions, by_name["sleep"].amount) == (1, 2)


def test_findings_have_file_and_line(tmp_path: Path) -> None:
    report = check(
        Trace.open(write_ranks(tmp_path, "send 1 0 5; isend 1 1 5", "barrier; recv 0 1 5"))
    )
    assert not report.sound
    assert (report.errors, report.warnings) == (2, 1)
    assert sorted(map(str, report.findings)) == [
        f"{tmp_path}/rank-0.txt: error: calls no collective where rank 1 "
        f"({tmp_path}/rank-1.txt:1) calls barrier",
        f"{tmp_path}/rank-0.txt:1: error: sends a message from rank 0 to rank 1 with tag 0 that is "
        "never received: 1 are sent, 0 received",
        f"{tmp_path}/rank-0.txt:2: warning: posts a request that is never waited for",
    ]


def test_packed_traces_are_checked_too(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    pack(write_ranks(tmp_path / "in", "init; send 1 0 5", "init"), tmp_path / "x.tit")
    (finding,) = check(tmp_path / "x.tit").findings
    assert (finding.file, finding.line, finding.rank) == (f"{tmp_path}/x.tit/rank-0.txt", 2, 0)


def test_custom_actions(tmp_path: Path) -> None:
    directory = write_ranks(tmp_path, "checkpoint 5", "init")
    (finding,) = check(directory).findings
    assert finding.message.startswith("unknown action 'checkpoint'")
    report = check(directory, custom_actions=["checkpoint"])
    assert report.sound
    assert {count.name: count.actions for count in report.counts}["custom"] == 1


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file or directory"):
        check(tmp_path / "nowhere")
    directory = write_ranks(tmp_path, "init", "init")
    trace = Trace.open(directory)
    (directory / "rank-1.txt").unlink()
    with pytest.raises(InputError, match=r"rank-1.txt: cannot be opened: No such file"):
        check(trace)


def test_a_ring_that_receives_before_it_sends_is_a_deadlock(tmp_path: Path) -> None:
    report = check(write_ranks(tmp_path, "recv 1 0 8; send 1 0 8", "recv 0 0 8; send 0 0 8"))
    (finding,) = report.findings
    assert not report.sound
    assert (finding.severity, finding.rank, finding.line) == ("error", 0, 1)
    assert "deadlock" in finding.message and "sendrecv" in finding.message


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    file = tmp_path / "trace.txt"
    file.write_text("0 unsupported MPI_Put 12\n0 init\n0 compute 1e9\n0 finalize\n")
    return file


def test_it_is_refused(trace: Path) -> None:
    with pytest.raises(tisim.InputError, match=r"called MPI_Put 12 times.*--ignore-unsupported"):
        tisim.replay(trace, platform=BACKBONE)


def test_it_is_replayed_on_request(trace: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("0 init\n0 compute 1e9\n0 finalize\n")
    expected = tisim.replay(plain, platform=BACKBONE).simulated_time
    registry = tisim.Registry()
    result = tisim.replay(trace, platform=BACKBONE, registry=ignoring_unsupported(registry))
    assert result.simulated_time == expected
    assert "unsupported" not in registry.actions
