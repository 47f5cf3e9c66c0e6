"""Tables of calls, as CSV and Parquet."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.importers.foreign import mutations
from tisim.errors import InputError
from tisim.traces import check
from tisim.traces.importers import Conversion, convert

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


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_damaged_parquet_ends_with_one_message(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    csv = pytest.importorskip("pyarrow.csv")
    folder = tmp_path_factory.mktemp("mutated")
    (folder / "calls.csv").write_text(TABLE)
    file = folder / "calls.parquet"
    parquet.write_table(csv.read_csv(folder / "calls.csv"), file)
    file.write_bytes(b"PAR1" + data.draw(mutations(file.read_bytes()[4:])))
    try:
        convert(file, folder / "trace", format="table", speed=1000)
    except InputError as error:
        assert str(error).isprintable()


@pytest.mark.parametrize(
    ("before", "after"),
    [(b"MPI_Isend", b"MPI_I\x80end"), (b"rank", b"\x80ank"), (b"rank", b"\x00ank")],
)
def test_parquet_with_text_that_is_none_ends_with_one_message(
    before: bytes, after: bytes, tmp_path: Path
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    csv = pytest.importorskip("pyarrow.csv")
    (tmp_path / "calls.csv").write_text(TABLE)
    file = tmp_path / "calls.parquet"
    parquet.write_table(
        csv.read_csv(tmp_path / "calls.csv"),
        file,
        compression="none",
        use_dictionary=False,
        store_schema=False,
    )
    written = file.read_bytes()
    assert before in written
    file.write_bytes(written.replace(before, after))
    with pytest.raises(InputError) as caught:
        convert(file, tmp_path / "trace", format="table", speed=1000)
    assert str(caught.value).isprintable()


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
        ("rank,call\n0,MPI_Init\n2,MPI_Init\n", "contains no row of rank 1, but rows of rank 2"),
        ("rank,call\nx,MPI_Init\n", r"calls.csv:2: 'x' is not a rank"),
        ("rank,call\n-1,MPI_Init\n", r"calls.csv:2: -1 is not a rank"),
        ("rank,call,peer\n0,MPI_Send,1\n", r"calls.csv:2: the MPI_Send has no bytes"),
        ("rank,call,peer,bytes\n0,MPI_Send,a,1\n", r"calls.csv:2: the peer 'a' is not a number"),
        ("rank,call,request\n0,MPI_Wait,a\n", "waits for the request 'a', which is not pending"),
        ("rank,call,start,end\n0,MPI_Barrier,2,1\n", "ends .1 s. before it starts .2 s."),
        (
            "rank,call,start,end\n0,MPI_Barrier,2,3\n0,MPI_Barrier,1,4\n",
            r"calls.csv:3: starts at 1 s, before the call above it ends at 3 s",
        ),
        (
            "rank,call,comm,comm_rank\n0,Barrier,row,1\n1,Barrier,row,1\n",
            "the communicator 'row' has 2 ranks, but their communicator_rank are not 0 to 1",
        ),
        (
            "rank,call,comm,comm_rank\n0,Barrier,row,0\n0,Barrier,row,1\n",
            "calls.csv:3: the communicator_rank '1' of rank 0 is not a number, or differs from an "
            "earlier row",
        ),
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
    with pytest.raises(InputError, match="has no column 'who'; its columns are rank, call"):
        imported(tmp_path, "rank,call\n0,MPI_Init\n", columns={"rank": "who"})
    with pytest.raises(InputError, match="unknown quantity 'ranks'"):
        imported(tmp_path, "rank,call\n0,MPI_Init\n", columns={"ranks": "rank"})


def test_communicators_are_of_the_ranks_that_name_them(tmp_path: Path) -> None:
    rows = [
        "0,Barrier,,,world,",
        "0,Send,1,8,odd,0",
        "0,Bcast,,4,all,",
        "1,Barrier,,,world,",
        "1,Bcast,,4,all,",
        "2,Barrier,,,world,",
        "2,Recv,0,8,odd,1",
        "2,Bcast,,4,all,",
    ]
    made = imported(tmp_path, "rank,call,peer,bytes,comm,comm_rank\n" + "\n".join(rows) + "\n")
    assert lines_of(tmp_path, 0)[1:-1] == [
        "0 comm_split 0 1 0 0",
        "0 barrier",
        "0 send 1 0 8 comm=1",
        "0 bcast 4 0",
    ]
    assert lines_of(tmp_path, 1)[1] == "1 comm_split 0 1 -1 0"
    assert lines_of(tmp_path, 2)[1] == "2 comm_split 0 1 0 1"
    # A communicator of all ranks in their order is the world.
    assert any("in the world's order (first at communicator all)" in str(n) for n in made.notes)
    assert check(tmp_path / "trace").errors == 0


def test_the_times_of_calls_are_those_of_the_table(tmp_path: Path) -> None:
    imported(tmp_path, TABLE, speed=1000, timeline=tmp_path / "run.csv")
    rows = (tmp_path / "run.csv").read_text().splitlines()
    assert rows[:5] == [
        "rank,kind,start,end,line",
        "0,nop,0.000000000,0.100000000,1",
        "0,compute,0.100000000,0.200000000,2",
        "0,isend,0.200000000,0.210000000,3",
        "0,irecv,0.210000000,0.220000000,4",
    ]
    assert rows[-2] == "1,compute,0.500000000,0.600000000,7"
    # The line number in each row is that in the trace.
    lines = [lines_of(tmp_path, rank) for rank in range(2)]
    for row in rows[1:]:
        rank, kind, *_, line = row.split(",")
        word = lines[int(rank)][int(line) - 1].split()[1]
        assert word == kind or kind == "nop"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("run.json", "must be .csv or .parquet"),
        ("run.csv", "the format goal lacks the times of calls; omit"),
    ],
)
def test_timelines_that_cannot_be(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "ring.goal").write_text("num_ranks 1\nrank 0 {\n}\n")
    with pytest.raises(InputError, match=message):
        convert(tmp_path / "ring.goal", tmp_path / "trace", timeline=tmp_path / name)
    assert not (tmp_path / name).exists()
