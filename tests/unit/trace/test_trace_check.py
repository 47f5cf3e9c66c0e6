"""What `check` says about traces, seen from Python."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.support import BACKBONE
from tisim.actions.registry import ignoring_unsupported
from tisim.errors import InputError
from tisim.traces import Trace, check, pack


def write(directory: Path, *ranks: str) -> Path:
    """One file a rank; the lines come without their rank."""
    for rank, text in enumerate(ranks):
        lines = [f"{rank} {line}\n" for line in text.split("; ")]
        (directory / f"rank-{rank}.txt").write_text("".join(lines))
    return directory


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
        ["has receives from -333, which is taken for MPI_ANY_SOURCE; so have 3 more ranks"]
        if name == "lu.S.4"
        else []
    )


def test_counts(tmp_path: Path) -> None:
    report = check(
        write(tmp_path, "init; send 1 0 10 0; compute 5; sleep 2", "recv 0 0 10 0; compute 1e3")
    )
    assert (report.ranks, report.dialect, report.name) == (2, "modern", str(tmp_path))
    assert (report.messages, report.bytes, report.flops) == (1, 80, 1005)
    by_name = {count.name: count for count in report.counts}
    assert (by_name["compute"].actions, by_name["compute"].amount) == (2, 1005)
    assert (by_name["sleep"].actions, by_name["sleep"].amount) == (1, 2)


def test_findings_have_file_and_line(tmp_path: Path) -> None:
    report = check(Trace.open(write(tmp_path, "send 1 0 5; isend 1 1 5", "barrier; recv 0 1 5")))
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
    pack(write(tmp_path / "in", "init; send 1 0 5", "init"), tmp_path / "x.tit")
    (finding,) = check(tmp_path / "x.tit").findings
    assert (finding.file, finding.line, finding.rank) == (f"{tmp_path}/x.tit/rank-0.txt", 2, 0)


def test_custom_actions(tmp_path: Path) -> None:
    directory = write(tmp_path, "checkpoint 5", "init")
    (finding,) = check(directory).findings
    assert finding.message.startswith("there is no action 'checkpoint'")
    report = check(directory, custom_actions=["checkpoint"])
    assert report.sound
    assert {count.name: count.actions for count in report.counts}["custom"] == 1


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file or directory"):
        check(tmp_path / "nowhere")
    directory = write(tmp_path, "init", "init")
    trace = Trace.open(directory)
    (directory / "rank-1.txt").unlink()
    with pytest.raises(InputError, match=r"rank-1.txt: cannot be opened: No such file"):
        check(trace)


def test_a_ring_that_receives_before_it_sends_is_a_deadlock(tmp_path: Path) -> None:
    report = check(write(tmp_path, "recv 1 0 8; send 1 0 8", "recv 0 0 8; send 0 0 8"))
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
