"""ScalaTrace's text, written line by line after its samples."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import rank_lines
from tisim.errors import InputError
from tisim.traces import check, unpack
from tisim.traces.importers import Conversion, convert
from tisim.traces.importers.scalatrace.events import RankList, read_events
from tisim.traces.importers.scalatrace.importer import volume_bins

HISTOGRAM = "(4 20.00 0 10.00 1 40.00){0.00 0.00 0.00 0.00 5.00 0}{5.00 10.00 12.00 14.00 16.00 3}"
HISTOGRAM += "{16.00 40.00 40.00 40.00 80.00 1}"
ALL = "[ 1 -1 0 4 1 ]"
TRACE = f"""\
RANKS: 1 -1 0 4 1
EVENT0: 1084 aa
33 2
34 0

RANKS: 1 -1 0 2 2
EVENT1: 1090 bb
COMP 4c-0: aa {HISTOGRAM}
COMP 4b-0: aa {HISTOGRAM}
COMM 4b-0: aa {HISTOGRAM}
LOOP0: iter: ( 2 )[ 1 -1 0 2 2 ] mem: ( 3 )[ 1 -1 0 2 2 ]
10 2
12 5 6
14 16
1b 7
2b 2147483647

RANKS: 1 -1 0 4 1
EVENT2: 1113 cc
LOOP0: iter: ( 2 )[ 1 -1 1 2 2 ] mem: ( 1 )[ 1 -1 1 2 2 ]
10 2
12 5 6
14 16
1a ( 1 )[ 1 -1 0 2 2 ]
1a ( 3 )[ 1 -1 1 2 2 ]
1b 7

RANKS: 1 -1 0 2 2
EVENT3: 1148 dd
1c 9999

RANKS: 1 -1 1 2 2
EVENT4: 1102 ee
LOOP0: iter: ( 2 )[ 1 -1 1 2 2 ] mem: ( 1 )[ 1 -1 1 2 2 ]
10 2
12 5 6
14 16
1b 7
2b 3

RANKS: 1 -1 0 4 1
EVENT5: 1011 ff
10 2
12 3
14 14
19 1

RANKS: 1 -1 0 4 1
EVENT6: 1045 00
"""


def imported(
    directory: Path, text: str | bytes, **options: object
) -> tuple[list[list[str]], Conversion]:
    """Return the calls of each rank."""
    file = directory / "0"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    made = convert(file, directory / "trace.tit", **options)  # type: ignore[arg-type]
    unpack(directory / "trace.tit", directory / "text")
    lines = rank_lines(directory / "text")
    return [
        [line.split(" ", 1)[1] for line in own if " compute " not in line] for own in lines
    ], made


def test_loops_rank_lists_and_values_by_rank(tmp_path: Path) -> None:
    kept, made = imported(tmp_path, TRACE)
    even = ["init"]
    for size in (40, 48):
        even += [f"irecv -555 7 {size} request=0", f"send {{}} 7 {size}", "wait request=0"]
    assert kept[0] == [line.format(1) for line in even] + ["bcast 12 1", "finalize"]
    assert kept[2] == [line.format(3) for line in even] + ["bcast 12 1", "finalize"]
    assert kept[3] == [
        "init",
        "send 2 7 40",
        "send 2 7 48",
        "recv 2 7 40",
        "recv 2 7 48",
        "bcast 12 1",
        "finalize",
    ]
    assert "a computation without a histogram is left out" in {note.text for note in made.notes}
    assert check(tmp_path / "trace.tit").errors == 0


def test_loops_are_not_written_out(tmp_path: Path) -> None:
    """Sizes alternate in the loop, which has an odd number of iterations."""
    kept, made = imported(tmp_path, TRACE.replace("iter: ( 2 )", "iter: ( 1001 )"))
    sizes = [40, 48] * 500 + [40]
    assert kept[3][1:1002] == [f"send 2 7 {size}" for size in sizes]
    assert [line.split()[3] for line in kept[0] if "send" in line] == [*map(str, sizes)]
    assert kept[0][-3:] == ["wait request=0", "bcast 12 1", "finalize"]
    assert (tmp_path / "trace.tit").stat().st_size < 2000
    # The same count as if each iteration had been read.
    [left_out] = [note for note in made.notes if "without a histogram" in note.text]
    assert left_out.count == 2 * (3 * 1001 - 1 + 2) + 2 * (2 * 1001 + 2)
    assert check(tmp_path / "trace.tit").errors == 0


@pytest.mark.parametrize(("options", "factor"), [({}, 1000.0), ({"speed": 2e9}, 2000.0)])
def test_computations_are_drawn_from_their_histograms(
    tmp_path: Path, options: dict[str, float], factor: float
) -> None:
    imported(tmp_path, TRACE, **options)
    lines = (tmp_path / "text" / "rank-0.txt").read_text().splitlines()
    volume = float(lines[1].split()[2])
    assert lines[1].startswith("0 compute ")
    assert 10 * factor <= volume <= 40 * factor


def test_bins_keep_their_means(tmp_path: Path) -> None:
    (tmp_path / "0").write_text(TRACE)
    bins = list(read_events(tmp_path / "0"))[1].computations["4c", "aa"]
    made = volume_bins(bins, 1000.0)
    assert made == [(10e3, 14e3, 3), (40e3, 40e3, 1)]


def test_sizes_stand_for_tags_that_were_not_kept(tmp_path: Path) -> None:
    kept, made = imported(tmp_path, TRACE.replace("1b 7", "1b 0"))
    assert kept[0][1:3] == ["irecv -555 40 40 request=0", "send 1 40 40"]
    assert any("are separated by tags" in note.text for note in made.notes)


# Three ranks in a line exchange messages of one size with their neighbours, as in NAS LU.
EXCHANGE = """\
RANKS: 1 -1 0 1 1
EVENT0: 1113 aa
LOOP0: iter: ( 4 )[ 1 -1 0 1 1 ] mem: ( 4 )[ 1 -1 0 1 1 ]
12 5
14 16
1a 1

RANKS: 1 -1 1 2 1
EVENT1: 1090 bb
LOOP0: iter: ( 4 )[ 1 -1 1 2 1 ] mem: ( 7 )[ 1 -1 1 1 1 ]( 4 )[ 1 -1 2 1 1 ]
12 5
14 16
2b 2147483647

RANKS: 1 -1 1 1 1
EVENT2: 1113 cc
12 5
14 16
1a 1

RANKS: 1 -1 1 2 1
EVENT3: 1148 dd
1c 9999

RANKS: 1 -1 0 2 1
EVENT4: 1090 ee
12 5
14 16
2b 2147483647

RANKS: 1 -1 1 2 1
EVENT5: 1113 ff
12 5
14 16
1a 2

RANKS: 1 -1 0 2 1
EVENT6: 1148 ab
1c 9999

RANKS: 1 -1 0 3 1
EVENT7: 1004 ac
12 1
14 16
"""


def test_sources_of_receives_are_those_of_an_even_run(tmp_path: Path) -> None:
    kept, made = imported(tmp_path, EXCHANGE, speed=1e9)
    exchange = ["irecv 0 40 40 request=0", "send 2 40 40", "wait request=0"]
    exchange += ["irecv 2 40 40 request=0", "send 0 40 40", "wait request=0", "allreduce 8 0"]
    assert kept[1] == exchange * 4
    notes = {note.text.split(":")[0]: note for note in made.notes}
    tags = notes["tags were not recorded, and a receive is from any source"]
    assert (tags.count, tags.first) == (16, "EVENT1, rank 1")
    several = notes["a receive from any source matches messages of one size from several ranks"]
    assert (several.count, several.first) == (8, "EVENT1, rank 1")
    assert "if all ranks advance evenly" in several.text


def test_receives_stay_from_any_source_where_no_even_run_ends(tmp_path: Path) -> None:
    """Ranks 1 and 2 wait for rank 0 before they send to it, and rank 0 waits for them."""
    receive = "12 7\n14 16\n2b 2147483647\n"
    text = f"""\
RANKS: 1 -1 0 3 1
EVENT0: 1102 aa
{receive}LOOP0: iter: ( 2 )[ 1 -1 0 1 1 ] mem: ( 1 )[ 1 -1 0 1 1 ]

RANKS: 1 -1 0 3 1
EVENT1: 1113 bb
12 7
14 16
1a ( 1 2 )[ 1 -1 0 1 1 ]
1a ( 2 )[ 1 -1 1 1 1 ]
1a ( 1 )[ 1 -1 2 1 1 ]
LOOP0: iter: ( 4 )[ 1 -1 0 1 1 ] mem: ( 1 )[ 1 -1 0 1 1 ]

RANKS: 1 -1 1 2 1
EVENT2: 1102 aa
{receive}"""
    kept, made = imported(tmp_path, text, speed=1e9)
    assert kept[0][:2] == ["recv -555 56 56"] * 2
    [note] = [note for note in made.notes if "several ranks" in note.text]
    assert (note.count, note.first) == (2, "EVENT0, rank 0")
    assert "run, which can deadlock the replay" in note.text


@pytest.mark.parametrize(
    "text",
    [
        "ScalaTrace V4\n" + TRACE,
        "RANKS: 4\nPRSD1: iter 10\n" + TRACE,
        "EVENT0: 1084 aa\n",
        "RSD1: <5, MPI_Send, MPI_Recv>\n",
    ],
)
def test_other_versions_are_recognised_and_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(
        InputError,
        match="ScalaTrace-TI; ScalaTrace 4 and other versions are not supported, as their formats "
        "are not",
    ):
        imported(tmp_path, text)
    assert not (tmp_path / "trace.tit").exists()


def test_a_directory_has_no_histograms(tmp_path: Path) -> None:
    (tmp_path / "0").write_text(TRACE)
    with pytest.raises(InputError, match=r"give it a name that ends in \.tit"):
        convert(tmp_path / "0", tmp_path / "trace")


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("1 -1 0 4 1", {0, 1, 2, 3}),
        ("2 -1 0 2 1 -1 3 1 0", {0, 1, 3}),
        ("1 -2 5 2 4 2 1", {5, 6, 9, 10}),
    ],
)
def test_rank_lists(text: str, ranks: set[int]) -> None:
    listed = RankList(text)
    assert {rank for rank in range(20) if rank in listed} == ranks
    assert listed.largest() == max(ranks)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("EVENT6: 1045 00\n", "", "0:48: ends within an event"),
        ("14 14", "14 3", "EVENT5, rank 0: the size of the datatype 3 is not in the trace"),
        ("19 1", "7f 1", "EVENT5, rank 0: the parameter 7f is not known"),
        ("1011", "1006", "EVENT5, rank 0: the MPI call 1006 is not known"),
        ("10 2\n12 3", "10 3\n12 3", "rank 0: the communicator 3 is not the world"),
        ("mem: ( 3 )", "mem: ( 99 )", "EVENT1"),
        ("1c 9999", "what", "'what' is not a line of ScalaTrace 2"),
    ],
)
def test_bad_traces_end_with_one_message(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        imported(tmp_path, TRACE.replace(old, new, 1))
    assert message in str(error.value)
    assert not (tmp_path / "trace.tit").exists()
