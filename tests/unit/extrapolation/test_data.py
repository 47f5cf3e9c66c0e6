"""Calls with lists of numbers and MPI-IO calls: exact, rejected, or replaced by means."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.unit.command_line import CommandLine
from tests.unit.extrapolation.test_programs import Program, written
from tisim import Trace
from tisim.errors import InputError
from tisim.traces.extrapolation import extrapolate
from tisim.traces.extrapolation.checking import check
from tisim.traces.generate import Ring
from tisim.traces.packed_program import PackedTrace

SIZES = (4, 8, 16)
KEYS = 1 << 14


def gathered(rank: int, ranks: int) -> list[str]:
    """All ranks gather parts of equal size."""
    part = KEYS // ranks
    return ["barrier", " ".join(["allgatherv", str(part), *[str(part)] * ranks, "1 1"])]


def sorted_keys(rank: int, ranks: int) -> list[str]:
    """IS: message sizes and peers depend on the data."""
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
    extrapolated = extrapolate(traces, 32, made, approximate=["alltoallv:means"])
    assert extrapolated.approximate == {"alltoallv": "means"}
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
    """Parts of different sizes, which all ranks know."""
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
    # Drawn numbers differ from the recorded ones; long lines are shown from the first difference.
    found = check(tmp_path / "made.tit", recorded)
    assert found.first is not None
    mine, theirs = found.first.shown()
    assert mine != theirs
    for line in (mine, theirs):
        assert line.startswith("0 alltoallv ")
        assert len(line.split()) < 20
    # A different number of calls is a difference.
    other = written(lambda rank, ranks: [*sorted_keys(rank, ranks), "barrier"], 32, tmp_path)
    more = tisim(*command, str(other))
    assert more.status == 1
    assert "32 ranks make different calls" in more.out


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


FIELD = 1 << 24


def checkpoints(rank: int, ranks: int) -> list[str]:
    """All ranks share a field; each writes a record of its own; rank 0 keeps a log."""
    part = FIELD // ranks
    lines = [
        "file_open 0 field.dat wc",
        f"file_set_size 0 {FIELD + 64 * ranks}",
        *[f"file_write_at_all 0 {part} {rank * part}", "file_sync 0"] * 3,
        f"file_write_at 0 64 {FIELD + 64 * (ranks - 1 - rank)}",
        "file_write_ordered 0 512",
        "file_close 0",
    ]
    if rank == 0:
        lines += ["open 1 log.txt wc", f"write 1 {80 * ranks}", "close 1"]
    return lines


def strides(rank: int, ranks: int) -> list[str]:
    """Blocks distributed cyclically; the first and the last rank also write a header."""
    lines = ["file_open 0 blocks.dat rwc"]
    lines += [f"file_write_at 0 4096 {4096 * (ranks * block + rank)}" for block in range(4)]
    if rank in (0, ranks - 1):
        lines += [f"file_seek 0 {4096 * 4 * ranks} set", "file_write 0 128"]
    return [*lines, "file_seek_shared 0 0 set", "file_read_shared 0 1024", "file_close 0"]


def views(rank: int, ranks: int) -> list[str]:
    """Blocks distributed cyclically through a view, and the rows of each rank's tile."""
    part = FIELD // ranks
    return [
        "file_open 0 blocks.dat rwc",
        f"file_set_view 0 {4096 * rank} 4096 {4096 * ranks}",
        *["file_write_all 0 16384", f"file_write_at_all_begin 0 {part} 65536"] * 2,
        "file_write_at_all_end 0",
        f"file_set_view 0 {64 * rank} 64 {ranks} {64 * ranks} {64 * ranks * ranks}",
        "file_read_all 0 512",
        "file_close 0",
    ]


def groups(rank: int, ranks: int) -> list[str]:
    """A file per four ranks, a file per quarter of the ranks, and a file for each of two steps."""
    names = [f"of-{rank // 4:03d}.dat", f"{4 * rank // ranks}.dat", "chk-001.h5", "chk-002.h5"]
    return [line for name in names for line in (f"open 3 {name} wc", "write 3 512", "close 3")]


def shares(rank: int, ranks: int) -> list[str]:
    """4,096 blocks of a field, distributed cyclically, so that the number of writes depends on the
    number of ranks; they are read in reverse order.
    """
    count = 4096 // ranks
    lines = ["file_open 0 field.dat rwc", "open 1 log.txt wc"]
    lines += [f"file_write_at 0 64 {64 * (ranks * i + rank)} layer=mpi" for i in range(count)]
    for i in reversed(range(count)):
        lines += [f"file_read_at 0 64 {64 * (ranks * i + rank)}", f"pwrite 1 8 {8 * (count - i)}"]
    return [*lines, "close 1", "file_close 0"]


def steps(rank: int, ranks: int) -> list[str]:
    """Files numbered by step and by rank and step, and files that only rank s writes in step s."""
    lines = []
    for step in range(3):
        names = [f"chk-{step:03d}.h5", f"own-{rank:03d}-{step:03d}.h5"]
        names += [f"turn-{step:03d}.h5"] if rank == step else []
        lines += [line for name in names for line in (f"open 3 {name} wc", "write 3 8", "close 3")]
        lines += ["barrier"]
    return lines


@pytest.mark.parametrize("program", [checkpoints, strides, views, groups, shares, steps])
def test_calls_on_files_are_exact_at_many_times_the_ranks(program: Program, tmp_path: Path) -> None:
    traces = [written(program, ranks, tmp_path) for ranks in (4, 8, 16)]
    made = tmp_path / "made.tit"
    extrapolate(traces, 1024, made)
    expected = PackedTrace(written(program, 1024, tmp_path))
    found = PackedTrace(made)
    for rank in range(1024):
        assert list(found.lines(rank)) == list(expected.lines(rank)), rank


def gathered_files(rank: int, ranks: int) -> list[str]:
    """Each even rank writes 100 kB per rank in pieces of at most 1 MB; every rank reads an amount
    proportional to the number of ranks.
    """
    lines = ["open 1 field.dat rwc", "open 2 index.dat rc", "read 2 64"]
    if rank % 2 == 0:
        size = 100_000 * ranks
        start = rank // 2 * size
        for done in range(0, size, 1_000_000):
            piece = min(1_000_000, size - done)
            lines += [f"pwrite 1 {piece} {start + done} layer=posix"]
    rest = 700 * ranks
    lines += [f"read 2 {min(8192, rest - done)}" for done in range(0, rest, 8192)]
    return [*lines, "close 2", "close 1"]


def test_accesses_are_split_where_a_trace_shows_it(tmp_path: Path) -> None:
    traces = [written(gathered_files, ranks, tmp_path) for ranks in (4, 8, 16)]
    made = tmp_path / "made.tit"
    done = extrapolate(traces, 256, made)
    assert done.largest_accesses == {"read": 8192, "pwrite": 1_000_000}
    expected, found = PackedTrace(written(gathered_files, 256, tmp_path)), PackedTrace(made)
    for rank in range(256):
        assert list(found.lines(rank)) == list(expected.lines(rank)), rank


def shared_log(rank: int, ranks: int) -> list[str]:
    """Consecutive offsets and a growing size, with computations between the accesses."""
    lines = ["compute 100", "open 1 log.dat rwc"]
    for step in range(4096 // ranks):
        lines += ["compute 7", f"pwrite 1 64 {64 * (ranks * step + rank)}"]
    return [*lines, "compute 30", f"write 1 {1000 * ranks}", "compute 5", "close 1"]


def test_accesses_are_split_at_a_size_that_is_asked_for(tisim: CommandLine, tmp_path: Path) -> None:
    traces = [str(written(shared_log, ranks, tmp_path)) for ranks in (4, 8, 16)]
    made = str(tmp_path / "made.tit")
    asked = ("--max-access", "30kB", "--to", "64", "-o", made)
    outcome = tisim("extrapolate", *traces, *asked)
    assert outcome.status == 0
    assert "larger accesses to files are split into pieces of 30,000 bytes\n" in outcome.out
    lines = [line.decode() for line in PackedTrace(Path(made)).lines(5)]
    expected = [f"5 {line}" for line in shared_log(5, 64)]
    at = expected.index("5 write 1 64000")
    expected[at : at + 1] = ["5 write 1 30000", "5 write 1 30000", "5 write 1 4000"]
    assert lines == expected


def test_pieces_with_computations_between_them_are_one_access(tmp_path: Path) -> None:
    def program(rank: int, ranks: int) -> list[str]:
        size = 300 * ranks
        pieces = [f"write 1 {min(1000, size - done)}" for done in range(0, size, 1000)]
        between = [line for piece in pieces for line in (piece, "compute 5")]
        return ["open 1 log.dat wc", "compute 100", *between[:-1], "compute 9", "close 1"]

    traces = [written(program, ranks, tmp_path) for ranks in (4, 8, 16)]
    made = tmp_path / "made.tit"
    with pytest.raises(InputError, match="must be at least one byte, not 0"):
        extrapolate(traces, 64, made, max_access=0)
    extrapolate(traces, 64, made)
    lines = [line.decode() for line in PackedTrace(made).lines(3)]
    assert [line for line in lines if "compute" not in line] == [
        f"3 {line}" for line in program(3, 64) if "compute" not in line
    ]


def test_traces_without_files_have_nothing_to_split(tisim: CommandLine, tmp_path: Path) -> None:
    paths = [str(tmp_path / f"{ranks}.tit") for ranks in (4, 8, 16)]
    for ranks, path in zip((4, 8, 16), paths, strict=True):
        Ring(ranks=ranks).write(path)
    asked = ("--max-access", "4MiB", "--to", "64", "-o", str(tmp_path / "made.tit"))
    outcome = tisim("extrapolate", *paths, *asked)
    assert outcome.status == 2
    assert "no file accesses that could be split" in outcome.err
