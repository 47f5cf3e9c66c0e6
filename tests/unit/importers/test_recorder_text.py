"""Importing what recorder2text writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.traces import check, convert

# Recorder has names in place of descriptors; nested calls have the level 1.
RANK_0 = """0.001000 0.002000 MPI_Init 0 2 ( 0x1 0x2 )
0.500000 0.510000 open 0 0 ( /s/out.0 577 438 )
0.510000 0.520000 write 0 0 ( /s/out.0 0x5 4096 )
0.520000 0.530000 lseek64 0 0 ( /s/out.0 100 0 )
0.530000 0.540000 fsync 0 0 ( /s/out.0 )
0.540000 0.550000 close 0 0 ( /s/out.0 )
1.550000 1.560000 MPI_Barrier 0 2 ( MPI_COMM_WORLD )
1.560000 1.570000 MPI_Send 0 2 ( 0x5 1 MPI_INT 1 0 MPI_COMM_WORLD )
1.570000 1.580000 __xstat 0 0 ( 1 /s/dir 0x4 )
1.580000 1.590000 mkdir 0 0 ( /s/dir 511 )
2.000000 2.500000 MPI_File_write_at 0 1 ( 1-0 0 0x5 10 MPI_BYTE [0_0] )
2.100000 2.200000 pwrite64 1 0 ( /s/all 0x5 10 20 )
"""
RANK_1 = """0.001000 0.002000 MPI_Init 0 2 ( 0x1 0x2 )
0.100000 0.200000 fopen 0 0 ( /s/in rb )
0.200000 0.300000 fread 0 0 ( 0x5 8 100 /s/in )
0.300000 0.310000 fseek 0 0 ( /s/in -8 1 )
1.550000 1.560000 MPI_Barrier 0 2 ( MPI_COMM_WORLD )
1.600000 1.700000 unlink 0 0 ( /s/old.1 )
1.700000 1.800000 rename 0 0 ( /s/a /s/b )
"""


def texts(folder: Path, *ranks: str) -> Path:
    """The directory of a trace with the texts that recorder2text makes there."""
    inner = folder / "trace" / "_text"
    inner.mkdir(parents=True)
    for rank, text in enumerate(ranks):
        (inner / f"{rank}.txt").write_text(text)
    return inner.parent


def imported(named: Path, tmp_path: Path) -> tuple[list[list[str]], list[str]]:
    folder = tmp_path / "out"
    made = convert([named], folder, speed="1Gf")
    assert made.format == "recorder"
    lines = [
        [line for line in file.read_text().splitlines() if not line.startswith("#")]
        for file in sorted(folder.glob("rank-*"))
    ]
    return lines, [note.text for note in made.notes]


def test_calls_of_posix_and_standard_io(tmp_path: Path) -> None:
    trace = texts(tmp_path, RANK_0, RANK_1)
    lines, notes = imported(trace, tmp_path)
    assert lines[0] == [
        "0 init",
        "0 compute 498000000",
        "0 open 0 /s/out.%d wct",
        "0 write 0 4096",
        "0 lseek 0 100 set",
        "0 fsync 0",
        "0 close 0",
        "0 compute 1000000000",
        "0 barrier",
        "0 stat /s/dir",
        "0 mkdir /s/dir",
        "0 compute 410000000",
        "0 finalize",
    ]
    assert lines[1] == [
        "1 init",
        "1 compute 98000000",
        "1 open 0 /s/in r",
        "1 read 0 800",
        "1 lseek 0 -8 cur",
        "1 compute 1240000000",
        "1 barrier",
        "1 compute 40000000",
        "1 unlink /s/old.%d",
        "1 close 0",
        "1 finalize",
    ]
    for part in ("MPI_Send is left out", "MPI-IO is left out", "not opened", "rename is left out"):
        assert any(part in note for note in notes)
    assert check(tmp_path / "out").sound


def test_a_directory_or_a_text_may_be_named(tmp_path: Path) -> None:
    trace = texts(tmp_path, RANK_0, RANK_1)
    whole = imported(trace, tmp_path)
    for named in (trace / "_text", trace / "_text" / "0.txt"):
        assert imported(named, tmp_path / named.name)[0] == whole[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RANK_1[:-10], r"1.txt:7: is not a call as recorder2text writes them; was the file cut\?"),
        (RANK_1 + "0.1 0.2 read 0 0 ( /s/in )\n", "1.txt:8: read has other arguments"),
        (RANK_1 + "0.1 0.2 fopen 0 0 ( /s/in q )\n", "1.txt:8: fopen has other arguments"),
    ],
)
def test_other_texts_end_with_one_message(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(texts(tmp_path, RANK_0, text), tmp_path)


def test_traces_without_texts_or_with_gaps_are_refused(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.mkdir()
    (binary / "recorder.mt").write_bytes(b"\0")
    with pytest.raises(InputError, match=r"has no texts of recorder2text; run: recorder2text"):
        convert([binary], tmp_path / "out", speed="1Gf")
    trace = texts(tmp_path, RANK_0, RANK_0, RANK_0)
    (trace / "_text" / "1.txt").unlink()
    with pytest.raises(InputError, match="has no text of rank 1, but one of rank 2"):
        convert([trace], tmp_path / "out", speed="1Gf")
