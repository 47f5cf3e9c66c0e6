"""Importing the output of darshan-dxt-parser and recorder2text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import platform_file, rank_lines
from tisim import replay
from tisim.errors import InputError
from tisim.traces import check, convert

HEAD = """# darshan log version: 3.41
# compression method: ZLIB
# exe: ./program
# nprocs: {ranks}
# run time: 3.0000

# ***************************************************
# DXT_POSIX module data
# ***************************************************
"""
COLUMNS = (
    "# Module    Rank  Wt/Rd  Segment          Offset          Length    Start(s)      End(s)"
    "   Pthread-ID\n"
)
#: Rank, path, and rows of module, operation, offset, length, start, end.
Table = tuple[int, str, list[tuple[str, str, int, int, float, float]]]


def dxt(*tables: Table, ranks: int = 2) -> str:
    """Return the output of darshan-dxt-parser."""
    text = HEAD.format(ranks=ranks)
    for rank, path, rows in tables:
        writes = sum(row[1] == "write" for row in rows)
        text += (
            f"\n# DXT, file_id: 123, file_name: {path}\n"
            f"# DXT, rank: {rank}, hostname: node-{rank}\n# DXT, number of threads: 1\n"
            f"# DXT, write_count: {writes}, read_count: {len(rows) - writes}\n"
            f"# DXT, mnt_pt: /scratch, fs_type: lustre\n{COLUMNS}"
        )
        for number, (module, way, offset, length, start, end) in enumerate(rows):
            text += (
                f" X_{module:5}{rank:8}{way:>7}{number:9}{offset:16}{length:16}{start:12.4f}"
                f"{end:12.4f}    [3] [4]  4711\n"
            )
    return text


TEXT = dxt(
    (0, "/scratch/out 1.00000", [("POSIX", "write", 0, 1000, 0.5, 0.6)]),
    (1, "/scratch/out 1.00001", [("POSIX", "write", 0, 1000, 0.5, 0.6)]),
    (
        1,
        "/scratch/in",
        [("POSIX", "read", 4096, 50, 0.25, 0.3), ("POSIX", "read", 0, 60, 1.0, 1.5)],
    ),
)


def imported(text: str, tmp_path: Path, **options: object) -> tuple[list[list[str]], list[str]]:
    """Return the lines of each rank, and the notes."""
    file = tmp_path / "dxt.txt"
    file.write_text(text)
    folder = tmp_path / "out"
    made = convert([file], folder, speed="1Gf", **options)  # type: ignore[arg-type]
    lines = [[line for line in own if not line.startswith("#")] for own in rank_lines(folder)]
    return lines, [note.text for note in made.notes]


def test_accesses_become_calls_at_offsets(tmp_path: Path) -> None:
    lines, notes = imported(TEXT, tmp_path)
    assert lines[0] == [
        "0 init",
        "0 compute 500000000",
        "0 open 0 /scratch/out_1.%05d w",
        "0 pwrite 0 1000 0",
        "0 close 0",
        "0 finalize",
    ]
    assert lines[1] == [
        "1 init",
        "1 compute 250000000",
        "1 open 0 /scratch/in r",
        "1 pread 0 50 4096",
        "1 compute 200000000",
        "1 open 1 /scratch/out_1.%05d w",
        "1 pwrite 1 1000 0",
        "1 close 1",
        "1 compute 400000000",
        "1 pread 0 60 0",
        "1 close 0",
        "1 finalize",
    ]
    assert notes == [
        "DXT contains only file reads and writes: everything between them, including messages, "
        "counts as computation"
    ]
    assert check(tmp_path / "out").sound


def test_the_import_takes_as_long_on_an_equal_machine(tmp_path: Path) -> None:
    """On a disk with the speed of the recorded accesses, the replay ends with the last access."""
    file = tmp_path / "dxt.txt"
    file.write_text(dxt((0, "/f", [("POSIX", "write", 0, 10**6, 1.0, 2.0)]), ranks=1))
    made = tmp_path / "t.tit"
    convert([file], made, speed="1Gf")
    platform = platform_file(
        tmp_path,
        '<zone id="z" routing="Full"><host id="a" speed="1Gf">'
        '<disk id="d" read_bw="1MBps" write_bw="1MBps"><prop id="mount" value="/"/></disk>'
        "</host></zone>",
    )
    result = replay(made, platform=platform, hosts=["a"])
    assert result.simulated_time == pytest.approx(2.0)


def test_times_of_accesses(tmp_path: Path) -> None:
    imported(TEXT, tmp_path, timeline=tmp_path / "times.csv")
    rows = (tmp_path / "times.csv").read_text().splitlines()
    assert rows[0] == "rank,kind,start,end,line"
    calls = [row.split(",")[:2] for row in rows[1:]]
    assert [call for call in calls if call[1] != "compute"] == [
        ["0", "pwrite"],
        ["1", "pread"],
        ["1", "pwrite"],
        ["1", "pread"],
    ]


def test_what_is_lost_is_told(tmp_path: Path) -> None:
    text = dxt(
        (0, "/f", [("POSIX", "write", 0, 10, 0.0, 0.5), ("POSIX", "write", 10, 10, 0.2, 0.6)]),
        (0, "/f", [("MPIIO", "write", 0, 20, 0.0, 0.7)]),
        ranks=1,
    ).replace("\n\n# DXT", "\n\n# *WARNING*: module ran out of memory\n\n# DXT", 1)
    lines, notes = imported(text, tmp_path)
    assert [line for line in lines[0] if "pwrite" in line] == [
        "0 pwrite 0 10 0",
        "0 pwrite 0 10 10",
    ]
    assert any("Darshan's memory was full" in note for note in notes)
    assert any("an MPI-IO access is left out" in note for note in notes)
    assert any("begins before the previous one ends is placed" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT[: TEXT.rindex("X_POSIX")], r"is truncated: 1 accesses of rank 1 to /scratch/in"),
        (TEXT[:-40], r"dxt.txt:\d+: is not a DXT access"),
        (TEXT.replace("# nprocs: 2", "# nprocs: 1"), "1 is not a rank: the trace has 1"),
        (TEXT.replace("# nprocs: 2", "#"), "0 is not a rank: the trace has 0"),
        (HEAD.format(ranks=2), "contains no accesses: was DXT enabled during"),
        (HEAD.format(ranks=2) + "something else\n", "is not a row of a DXT table"),
    ],
)
def test_other_texts_end_with_one_message(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported(text, tmp_path)


def test_logs_that_are_not_printed_are_named(tmp_path: Path) -> None:
    file = tmp_path / "x.darshan"
    file.write_bytes(b"\x01\xd8\x83\xff3.41")
    with pytest.raises(InputError, match=r"is not text: run darshan-dxt-parser LOG > dxt.txt"):
        convert([file], tmp_path / "out", speed="1Gf")


# Recorder writes names instead of descriptors; nested calls have level 1.
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
    """Return the directory of a trace with the text files of recorder2text."""
    inner = folder / "trace" / "_text"
    inner.mkdir(parents=True)
    for rank, text in enumerate(ranks):
        (inner / f"{rank}.txt").write_text(text)
    return inner.parent


def imported_ranks(named: Path, tmp_path: Path) -> tuple[list[list[str]], list[str]]:
    folder = tmp_path / "out"
    made = convert([named], folder, speed="1Gf")
    assert made.format == "recorder"
    lines = [[line for line in own if not line.startswith("#")] for own in rank_lines(folder)]
    return lines, [note.text for note in made.notes]


def test_calls_of_posix_and_standard_io(tmp_path: Path) -> None:
    trace = texts(tmp_path, RANK_0, RANK_1)
    lines, notes = imported_ranks(trace, tmp_path)
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
    for part in ("MPI_Send is left out", "is left out", "not opened", "rename is left out"):
        assert any(part in note for note in notes)
    assert check(tmp_path / "out").sound


def test_a_directory_or_a_text_may_be_named(tmp_path: Path) -> None:
    trace = texts(tmp_path, RANK_0, RANK_1)
    whole = imported_ranks(trace, tmp_path)
    for named in (trace / "_text", trace / "_text" / "0.txt"):
        assert imported_ranks(named, tmp_path / named.name)[0] == whole[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            RANK_1[:-10],
            r"1.txt:7: is not a call in the format of recorder2text; is the file truncated?",
        ),
        (RANK_1 + "0.1 0.2 read 0 0 ( /s/in )\n", "1.txt:8: read has unexpected arguments"),
        (RANK_1 + "0.1 0.2 fopen 0 0 ( /s/in q )\n", "1.txt:8: fopen has unexpected arguments"),
    ],
)
def test_other_records_end_with_one_message(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        imported_ranks(texts(tmp_path, RANK_0, text), tmp_path)


def test_traces_without_texts_or_with_gaps_are_refused(tmp_path: Path) -> None:
    binary = tmp_path / "binary"
    binary.mkdir()
    (binary / "recorder.mt").write_bytes(b"\0")
    with pytest.raises(
        InputError, match=r"contains no output of recorder2text; run: recorder2text"
    ):
        convert([binary], tmp_path / "out", speed="1Gf")
    trace = texts(tmp_path, RANK_0, RANK_0, RANK_0)
    (trace / "_text" / "1.txt").unlink()
    with pytest.raises(InputError, match="contains no text of rank 1, but one of rank 2"):
        convert([trace], tmp_path / "out", speed="1Gf")
