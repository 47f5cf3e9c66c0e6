"""Vector collectives: exact where their numbers are equal, else refused or taken as means."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.command_line import CommandLine
from tests.unit.extrapolation.test_solvers import written
from tisim import Trace
from tisim.errors import InputError
from tisim.traces.extrapolation import extrapolate
from tisim.traces.extrapolation.checking import check
from tisim.traces.packed_program import PackedTrace

SIZES = (4, 8, 16)
KEYS = 1 << 14


def gathered(rank: int, ranks: int) -> list[str]:
    """All ranks gather equal parts."""
    part = KEYS // ranks
    return ["barrier", " ".join(["allgatherv", str(part), *[str(part)] * ranks, "1 1"])]


def sorted_keys(rank: int, ranks: int) -> list[str]:
    """IS: who sends how much to whom is data."""
    lines = ["barrier"]
    part = KEYS // ranks // ranks
    for iteration in range(3):
        noise = [(rank + 3 * other + iteration) % 5 - 2 for other in range(ranks)]
        counts = [str(part + of) for of in noise]
        lines.append(" ".join(["alltoallv", str(KEYS), *counts, str(KEYS), *counts, "1 1"]))
    return lines


def test_equal_parts_are_exact(tmp_path: Path) -> None:
    traces = [written(gathered, ranks, tmp_path) for ranks in SIZES]
    extrapolate(traces, 128, tmp_path / "made.tit")
    assert check(tmp_path / "made.tit", written(gathered, 128, tmp_path)).first is None


def test_data_are_refused_or_approximated(tmp_path: Path) -> None:
    traces = [written(sorted_keys, ranks, tmp_path) for ranks in SIZES]
    made = tmp_path / "made.tit"
    with pytest.raises(InputError, match="--approximate alltoallv draws"):
        extrapolate(traces, 32, made)
    assert not made.exists()
    found = extrapolate(traces, 32, made, approximate=["alltoallv:means"])
    assert found.approximate == {"alltoallv": "means"}
    lines = [line.decode().split() for line in PackedTrace(made).lines(31)]
    assert lines[0] == ["#", "approximate:", "alltoallv,", "means"]
    calls = [line for line in lines if line[1] == "alltoallv"]
    assert len(calls) == 3
    assert len(calls[0]) == 2 + 2 * 33 + 2
    assert (calls[0][2], calls[0][-1]) == (str(KEYS), "1")
    assert int(calls[0][3]) == pytest.approx(KEYS / 32 / 32, abs=2)
    with pytest.raises(InputError, match="no gatherv"):
        extrapolate(traces, 32, made, approximate=["alltoallv", "gatherv"])
    with pytest.raises(InputError, match="ACTION:means"):
        extrapolate(traces, 32, made, approximate=["alltoallv:guesses"])


def test_data_are_drawn_from_a_distribution(tmp_path: Path) -> None:
    traces = [written(sorted_keys, ranks, tmp_path) for ranks in SIZES]
    made = tmp_path / "made.tit"
    extrapolate(traces, 32, made, approximate=["alltoallv"])
    calls = []
    for rank in range(32):
        lines = [line.decode().split() for line in PackedTrace(made).lines(rank)]
        calls += [[int(word) for word in line[2:]] for line in lines if line[1] == "alltoallv"][:1]
    table = np.array(calls)
    sent, received = table[:, 1:33], table[:, 34:66]
    # Each count sent equals the count received.
    assert (sent == received.T).all()
    # The recorded numbers are -2 to 2 around the mean.
    assert len(np.unique(sent)) > 1
    assert abs(sent - KEYS / 32 / 32).max() <= 3
    assert Trace.open(made).actions
    with pytest.raises(InputError, match="alltoallv:means"):
        extrapolate(traces, 1 << 13, made, approximate=["alltoallv"])


def shared_out(rank: int, ranks: int) -> list[str]:
    """Parts of other sizes for each rank, which all ranks know."""
    parts = [100 + (7 * other) % 5 for other in range(ranks)]
    return ["barrier", " ".join(map(str, ["allgatherv", parts[rank], *parts, 1, 1]))]


def test_drawn_parts_are_those_of_their_ranks(tmp_path: Path) -> None:
    traces = [written(shared_out, ranks, tmp_path) for ranks in SIZES]
    made = tmp_path / "made.tit"
    extrapolate(traces, 32, made, approximate=["allgatherv"])
    lines = [list(PackedTrace(made).lines(rank))[-1].split() for rank in range(32)]
    assert {line[1] for line in lines} == {b"allgatherv"}
    assert len({tuple(line[3:35]) for line in lines}) == 1
    assert [line[2] for line in lines] == lines[0][3:35]


def test_other_numbers_are_compared_one_by_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces = [str(written(sorted_keys, ranks, tmp_path)) for ranks in SIZES]
    recorded = written(sorted_keys, 32, tmp_path)
    command = (
        *("extrapolate", *traces, "--to", "32", "--approximate", "alltoallv"),
        *("-o", str(tmp_path / "made.tit"), "--check"),
    )
    tisim = CommandLine(tmp_path, capsys)
    same = tisim(*command, str(recorded))
    assert same.status == 0, same.err
    assert "all 128 calls are equal, with all their numbers but those of alltoallv" in same.out
    assert "the numbers of alltoallv add up to " in same.out
    # Drawn numbers are not the recorded ones; long lines are shown from where they differ.
    found = check(tmp_path / "made.tit", recorded)
    assert found.first is not None
    mine, theirs = found.first.shown()
    assert mine != theirs
    for line in (mine, theirs):
        assert line.startswith("0 alltoallv ")
        assert len(line.split()) < 20
    # Another number of calls is a difference.
    other = written(lambda rank, ranks: [*sorted_keys(rank, ranks), "barrier"], 32, tmp_path)
    more = tisim(*command, str(other))
    assert more.status == 1
    assert "32 ranks make other calls" in more.out


def test_the_summary_names_what_is_approximate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    traces = [str(written(sorted_keys, ranks, tmp_path)) for ranks in SIZES]
    outcome = CommandLine(tmp_path, capsys)(
        *("extrapolate", *traces, "--to", "32", "--approximate", "alltoallv"),
        *("-o", str(tmp_path / "made.tit")),
    )
    assert outcome.status == 0
    assert "data are approximate: alltoallv (distributions)" in outcome.out
