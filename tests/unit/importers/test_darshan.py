"""Importing what darshan-dxt-parser prints."""

from __future__ import annotations

from pathlib import Path

import pytest

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
#: Rank, path, and rows: module, way, offset, length, start, end.
Table = tuple[int, str, list[tuple[str, str, int, int, float, float]]]


def dxt(*tables: Table, ranks: int = 2) -> str:
    """What darshan-dxt-parser prints."""
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
    """The lines of each rank, and the notes."""
    file = tmp_path / "dxt.txt"
    file.write_text(text)
    folder = tmp_path / "out"
    made = convert([file], folder, speed="1Gf", **options)  # type: ignore[arg-type]
    texts = sorted(folder.glob("rank-*"), key=lambda path: int(path.stem.split("-")[1]))
    lines = [
        [line for line in text.read_text().splitlines() if not line.startswith("#")]
        for text in texts
    ]
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
        "DXT has reads and writes of files alone: what a rank did between them, messages too, "
        "counts as computing"
    ]
    assert check(tmp_path / "out").sound


def test_the_import_takes_as_long_on_an_equal_machine(tmp_path: Path) -> None:
    """On a disk that does what the accesses did, the replay ends when the last access did."""
    file = tmp_path / "dxt.txt"
    file.write_text(dxt((0, "/f", [("POSIX", "write", 0, 10**6, 1.0, 2.0)]), ranks=1))
    made = tmp_path / "t.tit"
    convert([file], made, speed="1Gf")
    platform = tmp_path / "p.xml"
    platform.write_text(
        '<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1Gf">'
        '<disk id="d" read_bw="1MBps" write_bw="1MBps"><prop id="mount" value="/"/></disk>'
        "</host></zone></platform>"
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
    assert any("an access of MPI-IO is left out" in note for note in notes)
    assert any("begins before the one before has ended" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT[: TEXT.rindex("X_POSIX")], r"is cut: 1 accesses of rank 1 to /scratch/in"),
        (TEXT[:-40], r"dxt.txt:\d+: is not an access as DXT lists them"),
        (TEXT.replace("# nprocs: 2", "# nprocs: 1"), "1 is not a rank: there are 1"),
        (TEXT.replace("# nprocs: 2", "#"), "0 is not a rank: there are 0"),
        (HEAD.format(ranks=2), "has no accesses: was DXT on"),
        (HEAD.format(ranks=2) + "something else\n", "is not a row of a table of DXT"),
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
