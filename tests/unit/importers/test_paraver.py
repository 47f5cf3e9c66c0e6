"""Paraver's .prv and Dimemas's .dim: exports of replays, and records written by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import tisim
from tests.support import rank_calls
from tisim.errors import InputError
from tisim.studies.validation.differences import sum_by_kind
from tisim.traces import check
from tisim.traces.importers import Conversion, convert

ROOT = Path(__file__).resolve().parents[3]
GRAPHENE = ROOT / "platforms/graphene.xml"
HEADER = "#Paraver (01/01/2026 at 10:00):1000_ns:1(4):1:2(1:1,1:1),1\n"
P2P, COLLECTIVE, OTHER = 50000001, 50000002, 50000003


def imported(
    directory: Path, records: list[str], **options: object
) -> tuple[list[list[str]], Conversion]:
    """Return the lines of both ranks without init and finalize."""
    file = directory / "run.prv"
    file.write_text(HEADER + "c:1:1:2:1:2\n" + "".join(f"{record}\n" for record in records))
    made = convert(file, directory / "trace", **({"speed": 1e9} | options))  # type: ignore[arg-type]
    return rank_calls(directory / "trace"), made


def call(rank: int, begin: int, end: int, type_: int, value: int, more: str = "") -> list[str]:
    place = f"2:{rank + 1}:1:{rank + 1}:1"
    return [f"{place}:{begin}:{type_}:{value}{more}", f"{place}:{end}:{type_}:0"]


def message(sent: int, received: int, arrived: int, nbytes: int, tag: int) -> str:
    return f"3:1:1:1:1:{sent}:{sent}:2:1:2:1:{received}:{arrived}:{nbytes}:{tag}"


EXCHANGE = [
    *call(0, 10, 20, OTHER, 31),
    *call(1, 10, 20, OTHER, 31),
    message(120, 70, 140, 8, 3),
    *call(0, 120, 130, P2P, 1),
    *call(1, 70, 80, P2P, 4),
    *call(1, 100, 150, P2P, 5),
    *call(0, 200, 210, COLLECTIVE, 7, ":50100001:40:50100002:0:50100004:1:50100003:1"),
    *call(1, 200, 210, COLLECTIVE, 7, ":50100001:0:50100002:40:50100004:1"),
    *call(0, 220, 240, COLLECTIVE, 156, ":50100001:0:50100002:0:50100004:1"),
    *call(1, 220, 240, COLLECTIVE, 156, ":50100001:0:50100002:0:50100004:1"),
    *call(0, 250, 260, P2P, 6),
    *call(1, 250, 260, P2P, 6),
    *call(0, 270, 280, OTHER, 32),
    *call(1, 270, 280, OTHER, 32),
]


def test_calls_messages_and_collectives(tmp_path: Path) -> None:
    kept, made = imported(tmp_path, EXCHANGE)
    assert kept[0] == [
        "compute 100",
        "send 1 3 8",
        "compute 70",
        "bcast 40 0",
        "compute 10",
        "ibarrier request=0",
        "compute 10",
        "wait request=0",
        "compute 10",
    ]
    assert kept[1][:5] == [
        "compute 50",
        "irecv 0 3 8 request=0",
        "compute 20",
        "wait request=0",
        "compute 50",
    ]
    assert not made.notes
    assert check(tmp_path / "trace").errors == 0


def test_hardware_counters_are_volumes(tmp_path: Path) -> None:
    (tmp_path / "run.pcf").write_text(
        "EVENT_TYPE\n7  42000050 PAPI_TOT_INS (PAPI_TOT_INS) [Instr completed]\n"
    )
    counted = ":42000050:{}"
    records = [
        *call(0, 10, 20, COLLECTIVE, 8, counted.format(700) + ":50100004:1"),
        "2:1:1:1:1:20:42000050:9",
        *call(1, 10, 20, COLLECTIVE, 8, counted.format(300) + ":50100004:1"),
    ]
    # Counts up to the end of a call are not computation.
    records[1] += ":42000050:50"
    del records[2]
    kept, _ = imported(tmp_path, records, speed=None, counter="PAPI_TOT_INS")
    assert kept == [["compute 700", "barrier"], ["compute 300", "barrier"]]
    with pytest.raises(InputError, match=r"no hardware counter PAPI_FP_OPS .* it has PAPI_TOT_INS"):
        imported(tmp_path, records, speed=None, counter="PAPI_FP_OPS")


def test_sizes_of_vector_collectives_come_from_all_ranks(tmp_path: Path) -> None:
    records = []
    for rank in range(2):
        sent = 10 * (rank + 1)
        sizes = f":50100001:{sent}:50100002:{30 if rank else 0}:50100004:1"
        records += call(rank, 10, 20, COLLECTIVE, 14, sizes + (":50100003:1" if rank else ""))
        sizes = f":50100001:{sent}:50100002:{sent}:50100004:1"
        records += call(rank, 20, 30, COLLECTIVE, 80, sizes)
    kept, _ = imported(tmp_path, records)
    assert kept[0][1:] == ["gatherv 10 10 20 1", "reducescatter 10 20 0"]
    assert kept[1][1:] == ["gatherv 20 10 20 1", "reducescatter 10 20 0"]


def test_old_traces_lack_their_collectives(tmp_path: Path) -> None:
    """Their headers list no processors, and their global communication records have kind 4."""
    (tmp_path / "run.prv").write_text(
        "#Paraver (26/01/04 at 16:35):1000:2:1:2(1:1,1:2)\nc:1:1:2:1:2\nc:1:2:1:-1\n"
        + "".join(f"{record}\n" for record in EXCHANGE[:5])
        + "4:1:1:1:1:90:1:32:0:8:0\n"
        + "".join(f"{record}\n" for record in EXCHANGE[5:11])
    )
    made = convert(tmp_path / "run.prv", tmp_path / "trace", speed=1e9)
    assert "0 send 1 3 8" in (tmp_path / "trace" / "rank-0.txt").read_text().splitlines()
    note, *others = made.notes
    assert [other.text for other in others] == ["a rank without MPI_Finalize; the call is added"]
    assert "global communications (in old traces) are left out" in note.text
    assert (note.count, note.first) == (1, "line 9")


def test_what_is_lost_is_noted(tmp_path: Path) -> None:
    records = [*call(0, 10, 20, P2P, 1), *call(0, 30, 40, 50000004, 65)]
    kept, made = imported(tmp_path, records)
    assert all("compute" in line for line in kept[0])
    assert [note.text for note in made.notes] == [
        "MPI_Send without a message (to no rank, or never matched) is left out",
        "MPI_Put is left out",
    ]


PROGRAM = {
    0: """0 init
0 compute 1000000
0 isend 1 7 1000 request=0
0 irecv 1 8 500 request=1
0 compute 2000000
0 waitall requests=0,1
0 ssend 1 9 300000
0 bcast 4000 1
0 iallreduce 64 0 request=0
0 compute 500000
0 wait request=0
0 gatherv 100 100 200 0
0 finalize
""",
    1: """1 init
1 compute 3000000
1 irecv 0 7 1000 request=0
1 isend 0 8 500 request=1
1 compute 1000000
1 waitall requests=0,1
1 recv 0 9 300000
1 bcast 4000 1
1 iallreduce 64 0 request=0
1 compute 700000
1 wait request=0
1 gatherv 200 100 200 0
1 finalize
""",
}


def calls_of(lines: str) -> list[str]:
    return [line for line in lines.splitlines() if " compute " not in line]


def test_the_import_of_an_export_has_the_same_calls(tmp_path: Path) -> None:
    trace = tmp_path / "program"
    trace.mkdir()
    for rank, lines in PROGRAM.items():
        (trace / f"rank-{rank}.txt").write_text(lines)
    first = tisim.replay(trace, platform=GRAPHENE, timeline=tmp_path / "run.prv")
    convert(tmp_path / "run.prv", tmp_path / "again", speed="3.68Gf")
    for rank, lines in PROGRAM.items():
        again = (tmp_path / "again" / f"rank-{rank}.txt").read_text()
        assert calls_of(again) == calls_of(lines)
    second = tisim.replay(tmp_path / "again", platform=GRAPHENE)
    assert second.simulated_time == pytest.approx(first.simulated_time, rel=1e-6)


def test_the_times_of_calls_are_those_of_the_prediction(tmp_path: Path, nas_traces: Path) -> None:
    """`tisim validate` gets the same sums per kind of call from either tool's timeline."""
    trace = nas_traces / "lu.S.4"
    files = [tmp_path / name for name in ("run.prv", "run.csv")]
    tisim.replay(trace, platform=GRAPHENE, timeline=files)
    convert(files[0], tmp_path / "again.tit", speed=1, timeline=tmp_path / "imported.csv")
    sums = []
    for file in (files[1], tmp_path / "imported.csv"):
        with file.open(newline="") as stream:
            rows = list(csv.DictReader(stream))
        spent = [(row["kind"], float(row["end"]) - float(row["start"])) for row in rows]
        # Computation before a rank's first call and after its last one belongs to no call.
        left_out = ("nop", "compute")
        sums.append({k: time for k, time in sum_by_kind(spent).items() if k not in left_out})
    assert sums[0].keys() == sums[1].keys()
    for kind, time in sums[0].items():
        assert sums[1][kind] == pytest.approx(time, rel=1e-3, abs=1e-5), kind


@pytest.mark.parametrize("name", ["lu.S.4", "cg.S.16"])
def test_the_export_of_a_nas_benchmark(name: str, nas_traces: Path, tmp_path: Path) -> None:
    first = tisim.replay(nas_traces / name, platform=GRAPHENE, timeline=tmp_path / "run.prv")
    made = convert(tmp_path / "run.prv", tmp_path / "again.tit", speed="3.68Gf")
    second = tisim.replay(tmp_path / "again.tit", platform=GRAPHENE)
    # The export is rounded to nanoseconds.
    assert second.simulated_time == pytest.approx(first.simulated_time, rel=5e-5)
    assert not made.notes
    assert check(tmp_path / "again.tit").errors == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#Paraver (now)\n", "run.prv:1: lacks the header of a Paraver trace"),
        (HEADER.replace(":1:2(", ":2:2("), "run.prv:1: has 2 applications"),
        (HEADER.replace(":1:2(", ":1:3("), "lists a different number of tasks than it declares"),
        (HEADER + "4:1\n", "run.prv:2: '4:1' is not a Paraver record"),
        (
            HEADER + "2:1:1:3:1:5:50000001:1\n",
            "run.prv:2: '2:1:1:3:1:5:50000001:1' is not a Paraver record",
        ),
        (HEADER + "2:1:1:1:1:5:5000", "run.prv:2: is truncated here"),
        (HEADER + "c:1:1:2:1:3\n", "run.prv:2: 'c:1:1:2:1:3' is not a Paraver record"),
    ],
)
def test_bad_traces_end_with_one_message(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "run.prv").write_text(text)
    with pytest.raises(InputError) as error:
        convert(tmp_path / "run.prv", tmp_path / "trace", speed=1)
    assert message in str(error.value)
    assert not (tmp_path / "trace").exists()


DIM = """\
#DIMEMAS:"run.dim":1,000000000000000123:2(1,1),1
d:1:1:2:0:1
1:0:0:0.000001
2:0:0:1:8:3:1:0
2:0:0:1:16:4:1:2
20:0:0:50100001:4
10:0:0:1:1:1:0:0:4
10:0:0:3:1:0:0:10:30
10:0:0:0:1:0:0:0:0
1:1:0:0.0000025
3:1:0:0:16:4:1:1
3:1:0:0:8:3:1:0
3:1:0:0:16:4:1:2
10:1:0:1:1:1:0:4:0
10:1:0:3:1:0:0:20:0
10:1:0:0:1:0:0:0:0
s:0:50
"""


def imported_dim(directory: Path, text: str | bytes) -> tuple[list[list[str]], Conversion]:
    """Return the lines of both ranks without init and finalize."""
    file = directory / "run.dim"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    made = convert(file, directory / "trace", speed=1e9)
    return rank_calls(directory / "trace"), made


# The newer form includes the thread of the peer.
@pytest.mark.parametrize("thread", ["", ":0"])
def test_records_become_calls(tmp_path: Path, thread: str) -> None:
    text = DIM
    for peer in (":0:0:1:", ":1:0:0:"):
        for kind in "23":
            text = text.replace(f"\n{kind}{peer}", f"\n{kind}{peer[:-1]}{thread}:")
    kept, made = imported_dim(tmp_path, text)
    assert kept[0] == [
        "compute 1000",
        "send 1 3 8",
        "isend 1 4 16 request=0",
        "bcast 4 1",
        "gatherv 10 10 20 0",
        "barrier",
        "wait request=0",
    ]
    assert kept[1] == [
        "compute 2500",
        "irecv 0 4 16 request=0",
        "recv 0 3 8",
        "wait request=0",
        "bcast 4 1",
        "gatherv 20 10 20 0",
        "barrier",
    ]
    [note] = made.notes
    assert "immediate send, for which the format has no wait" in note.text
    assert (note.count, note.first) == (1, "task 0, line 5")
    assert check(tmp_path / "trace").errors == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2(1,1),1", "3(1,1),1", "run.dim:1: lacks the header of a Dimemas trace"),
        ("d:1:1:2:0:1", "d:1:1:2:0:2", "run.dim:2: 'd:1:1:2:0:2' is not a Dimemas record"),
        ("1:0:0:0.000001", "1:7:0:0.000001", "run.dim:3: '1:7:0:0.000001' is not a Dimemas record"),
        ("2:0:0:1:8:3:1:0", "2:0:0:1:8", "run.dim:4: a record of kind 2 has unexpected fields"),
        ("10:0:0:1:1:", "10:0:0:99:1:", "run.dim:7: '10:0:0:99:1:1:0:0:4' is not a Dimemas record"),
        ("10:0:0:1:1:", "10:0:0:1:5:", "run.dim:7: the communicator 5 is not defined"),
    ],
)
def test_bad_dim_files_end_with_one_message(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(InputError) as error:
        imported_dim(tmp_path, DIM.replace(old, new, 1))
    assert message in str(error.value)
    assert not (tmp_path / "trace").exists()
