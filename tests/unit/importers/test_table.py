"""Tables of calls, as CSV and Parquet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.formats import check
from tisim.formats.importers import Conversion, convert

TABLE = """\
rank,call,start,end,peer,bytes,tag,root,request
0,MPI_Init,0,0.1,,,,,
0,MPI_Isend,0.2,0.21,1,1000,5,,a
0,MPI_Irecv,0.21,0.22,1,2000,6,,b
0,MPI_Waitall,0.3,0.31,,,,,a;b
0,MPI_Bcast,0.4,0.5,,8,,1,
0,MPI_Finalize,0.6,0.7,,,,,
1,MPI_Init,0,0.1,,,,,
1,MPI_Recv,0.2,0.25,0,1000,5,,
1,MPI_Ssend,0.25,0.3,0,2000,6,,
1,MPI_Bcast,0.4,0.5,,8,,1,
1,MPI_Finalize,0.6,0.7,,,,,
"""
LINES = [
    [
        "0 init",
        "0 compute 100",
        "0 isend 1 5 1000 request=0",
        "0 irecv 1 6 2000 request=1",
        "0 compute 80",
        "0 waitall requests=0,1",
        "0 compute 90",
        "0 bcast 8 1",
        "0 compute 100",
        "0 finalize",
    ],
    [
        "1 init",
        "1 compute 100",
        "1 recv 0 5 1000",
        "1 ssend 0 6 2000",
        "1 compute 100",
        "1 bcast 8 1",
        "1 compute 100",
        "1 finalize",
    ],
]


def imported(directory: Path, text: str, **options: object) -> Conversion:
    table = directory / "calls.csv"
    table.write_text(text)
    return convert(table, directory / "trace", **options)  # type: ignore[arg-type]


def lines_of(directory: Path, rank: int) -> list[str]:
    return (directory / "trace" / f"rank-{rank}.txt").read_text().splitlines()


def test_a_table_becomes_a_trace(tmp_path: Path) -> None:
    made = imported(tmp_path, TABLE, speed=1000)
    assert [lines_of(tmp_path, rank) for rank in range(2)] == LINES
    assert check(tmp_path / "trace").errors == 0
    assert (made.format, made.ranks, made.lines, made.notes) == ("table", 2, 18, ())


def test_rows_of_ranks_may_be_mixed(tmp_path: Path) -> None:
    header, *rows = TABLE.splitlines()
    imported(
        tmp_path, "\n".join([header, *sorted(rows, key=lambda row: row.split(",")[2])]), speed=1000
    )
    assert [lines_of(tmp_path, rank) for rank in range(2)] == LINES


def test_parquet_is_the_same(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    csv = pytest.importorskip("pyarrow.csv")
    (tmp_path / "calls.csv").write_text(TABLE)
    parquet.write_table(csv.read_csv(tmp_path / "calls.csv"), tmp_path / "calls.parquet")
    convert(tmp_path / "calls.parquet", tmp_path / "trace", speed=1000)
    assert [lines_of(tmp_path, rank) for rank in range(2)] == LINES


def test_columns_of_other_names_and_other_separators(tmp_path: Path) -> None:
    text = TABLE.replace("rank,call", "Who,What").replace(",", "\t")
    imported(tmp_path, text, format="table", speed=1000, columns={"rank": "Who", "call": "What"})
    assert lines_of(tmp_path, 0) == LINES[0]


def test_volumes_need_no_speed(tmp_path: Path) -> None:
    imported(tmp_path, "rank,call,bytes,flops\n0,compute,,500\n0,MPI_Allreduce,8,25\n")
    assert lines_of(tmp_path, 0) == [
        "0 init",
        "0 compute 525",
        "0 allreduce 8 0",
        "0 finalize",
    ]


def test_waits_without_requests_are_for_all(tmp_path: Path) -> None:
    rows = "0,Isend,0,1,8\n0,Irecv,0,1,8\n0,Waitall,,,\n0,MPI_Finalize,,,\n"
    made = imported(tmp_path, f"rank,call,peer,tag,bytes\n{rows}")
    assert lines_of(tmp_path, 0)[1:-1] == [
        "0 isend 0 1 8 request=0",
        "0 irecv 0 1 8 request=1",
        "0 waitall requests=0,1",
    ]
    assert not made.notes


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    rows = "0,MPI_Put\n0,MPI_Put\n0,MPI_Finalize\n"
    made = imported(tmp_path, f"rank,call\n{rows}")
    (note,) = made.notes
    assert (note.text, note.count, note.first) == ("MPI_Put is left out", 2, "line 2")
    assert str(note) == "MPI_Put is left out (2 times, first at line 2)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rank,call\n", "has no rows"),
        ("rank,call\n0,MPI_Init\n2,MPI_Init\n", "has no row of rank 1, but some of rank 2"),
        ("rank,call\nx,MPI_Init\n", r"calls.csv:2: 'x' is no rank"),
        ("rank,call\n-1,MPI_Init\n", r"calls.csv:2: -1 is no rank"),
        ("rank,call,peer\n0,MPI_Send,1\n", r"calls.csv:2: the MPI_Send has no bytes"),
        ("rank,call,peer,bytes\n0,MPI_Send,a,1\n", r"calls.csv:2: the peer 'a' is no number"),
        ("rank,call,request\n0,MPI_Wait,a\n", "waits for the request 'a', which is not pending"),
        ("rank,call,start,end\n0,MPI_Barrier,2,1\n", "ends .1 s. before it starts .2 s."),
        (
            "rank,call,start,end\n0,MPI_Barrier,2,3\n0,MPI_Barrier,1,4\n",
            r"calls.csv:3: starts at 1 s, before the call above it ends at 3 s",
        ),
        ("rank,call,comm\n0,MPI_Barrier,row\n", "the communicator 'row' is not the world's"),
        ("rank,call\n0,compute\n", "a compute needs a volume, or a start and an end"),
    ],
)
def test_bad_tables_end_with_one_message(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        imported(tmp_path, text)
    import re

    assert re.search(message, str(error.value)), error.value
    assert not (tmp_path / "trace").exists()


def test_unknown_columns(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no column 'who'; it has rank, call"):
        imported(tmp_path, "rank,call\n0,MPI_Init\n", columns={"rank": "who"})
    with pytest.raises(InputError, match="there is no quantity 'ranks'"):
        imported(tmp_path, "rank,call\n0,MPI_Init\n", columns={"ranks": "rank"})
