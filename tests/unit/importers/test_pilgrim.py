"""Pilgrim's files, written byte by byte from the description of the format."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings

from tests.support import rank_lines
from tests.unit.importers.foreign import mutations
from tisim.errors import InputError
from tisim.traces import check
from tisim.traces.importers import Conversion, convert
from tisim.traces.packed import unpack

# Function numbers.
SEND, RECV, ISEND, IRECV, WAITALL, WAITANY, SENDRECV = 71, 293, 341, 301, 175, 352, 327
BCAST, BARRIER, COMM_DUP, COMM_SPLIT = 332, 179, 310, 186
TYPE_VECTOR, GATHERV, IBCAST, FREE, COMM_RANK = 277, 307, 151, 383, 86
CART_CREATE, GRAPH, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV = 326, 251, 237, 135
WIN_CREATE, WIN_FENCE, WIN_LOCK, WIN_UNLOCK = 2, 214, 65, 349
WIN_POST, WIN_FREE, PUT, FETCH_AND_OP = 88, 270, 139, 258
COMM_GROUP, GROUP_INCL = 101, 321
WORLD, INT, DOUBLE, ANY = -9988, -6, -12, -99999
POINTER = struct.pack("<iiqqbb6x", 0, 0, 0, 0, 0, -1)

Pairs = Sequence[tuple[int, int]]


def ints(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}i", *numbers)


def key(function: int, fields: bytes) -> bytes:
    return struct.pack("<hi", function, 0) + fields


def send(distance: int, count: int, tag: int = 0, comm: int = WORLD) -> bytes:
    return key(SEND, POINTER + ints(count, DOUBLE, distance, tag, comm))


def recv(distance: int, count: int, tag: int = 0, comm: int = WORLD) -> bytes:
    return key(RECV, POINTER + ints(count, DOUBLE, distance, tag, comm, 0, 0))


def post(function: int, distance: int, request: int) -> bytes:
    return key(function, POINTER + ints(4, INT, distance, 7, WORLD, request))


def wait_for(*requests: int) -> bytes:
    return key(WAITALL, ints(len(requests), *requests, *(2 * len(requests) * [0])))


def write(
    directory: Path,
    signatures: Sequence[bytes],
    grammars: Sequence[dict[int, Pairs]],
    of_rank: Sequence[int],
    calls: Sequence[int],
    mode: bytes = b"LOSSLESS",
) -> Path:
    """Write a trace whose calls take 1 us and begin 3 us apart."""
    directory.mkdir(exist_ok=True)
    ranks = len(of_rank)
    (directory / "pilgrim.mt").write_bytes(struct.pack("<di20sq", 1e-6, ranks, mode, 0))
    table = struct.pack("<i", len(signatures))
    for number, signature in enumerate(signatures):
        table += struct.pack("<iiiI", number, 0, len(signature), 1) + signature
    (directory / "funcs.dat").write_bytes(table)
    serialized: list[tuple[int, int]] = []
    for grammar in grammars:
        serialized.append((len(grammar), 1))
        for rule, body in grammar.items():
            serialized += [(rule, 1), (len(body), 1), *body]
    # A grammar of the grammars; its first rule begins with a reference to a second rule.
    start = min(number for number, _ in serialized) - 1
    half = len(serialized) // 2
    rules = {start: [(start - 1, 1), *serialized[half:]], start - 1: serialized[:half]}
    data = ints(*of_rank, len(grammars), start) + struct.pack("<Q", 2 * len(serialized))
    data += ints(len(rules))
    for rule, body in rules.items():
        data += ints(rule, len(body), *(number for pair in body for number in pair))
    (directory / "grammars.dat").write_bytes(data)
    starts = [3e-6 * (1 + i) for count in calls for i in range(count)]
    (directory / "intervals.dat").write_bytes(struct.pack(f"<{len(starts)}d", *starts))
    ends = [time + 1e-6 for time in starts]
    (directory / "durations.dat").write_bytes(struct.pack(f"<{len(ends)}d", *ends))
    return directory


def exchange(directory: Path, times: int = 3) -> Path:
    """Rank 0 sends to rank 1 in a loop, surrounded by other calls."""
    signatures = [
        key(BARRIER, ints(WORLD)),
        send(-1, 10),
        recv(1, 10),
        key(BCAST, POINTER + ints(5, INT, 1, WORLD)),
        key(COMM_RANK, ints(WORLD, 0)),
    ]
    grammars: list[dict[int, Pairs]] = [
        {-1: [(4, 1), (0, 1), (-2, times), (0, 2)], -2: [(1, 2), (3, 1)]},
        {-1: [(0, 1), (-2, times), (0, 2)], -2: [(2, 2), (3, 1)]},
    ]
    return write(directory, signatures, grammars, [0, 1], [4 + 3 * times, 3 + 3 * times])


def imported(directory: Path, **options: object) -> tuple[list[list[str]], Conversion]:
    """Return the lines of each rank without their computations."""
    target = directory.parent / f"{directory.name}-text"
    made = convert(directory, target, **(options or {"speed": 1e9}))  # type: ignore[arg-type]
    return [[line for line in own if "compute" not in line] for own in rank_lines(target)], made


def unpacked(packed: Path, rank: int) -> list[str]:
    target = packed.parent / f"{packed.name}-{rank}"
    unpack(packed, target)
    return (target / f"rank-{rank}.txt").read_text().splitlines()


def test_loops_and_calls_become_lines_of_their_ranks(tmp_path: Path) -> None:
    lines, made = imported(exchange(tmp_path / "logs"))
    assert made.format == "pilgrim"
    loop = ["0 send 1 0 80", "0 send 1 0 80", "0 bcast 20 1"]
    assert lines[0] == ["0 init", "0 barrier", *loop * 3, *["0 barrier"] * 2, "0 finalize"]
    loop = ["1 recv 0 0 80", "1 recv 0 0 80", "1 bcast 20 1"]
    assert lines[1] == ["1 init", "1 barrier", *loop * 3, *["1 barrier"] * 2, "1 finalize"]


def test_the_time_between_calls_is_computed_and_that_of_silent_calls_is_not(tmp_path: Path) -> None:
    directory = exchange(tmp_path / "logs", times=1)
    convert(directory, tmp_path / "t", speed=1e9)
    computed = [
        line.split()[2]
        for line in (tmp_path / "t" / "rank-0.txt").read_text().splitlines()
        if "compute" in line
    ]
    # Before the first call and between calls, with the time around MPI_Comm_rank merged.
    assert computed == ["5000", *["2000"] * 5]


def test_the_packed_trace_is_the_same_and_does_not_grow_with_its_loops(tmp_path: Path) -> None:
    directory = exchange(tmp_path / "logs", times=5)
    made = convert(directory, tmp_path / "t.tit", speed=1e9)
    convert(directory, tmp_path / "t", speed=1e9)
    ranks = [unpacked(tmp_path / "t.tit", rank) for rank in range(2)]
    for rank in range(2):
        assert ranks[rank] == (tmp_path / "t" / f"rank-{rank}.txt").read_text().splitlines()
    assert made.lines == sum(map(len, ranks))
    many = convert(exchange(tmp_path / "many", times=200_000), tmp_path / "many.tit", speed=1e9)
    assert many.lines > 1_000_000
    assert (tmp_path / "many.tit").stat().st_size < 2000
    assert check(tmp_path / "many.tit").sound


def test_requests_keep_pilgrims_numbers_and_exchanges_get_others(tmp_path: Path) -> None:
    both = key(
        SENDRECV, POINTER + ints(1, DOUBLE, 0, 3) + POINTER + ints(1, DOUBLE, 0, 3, WORLD, 0, 0)
    )
    signatures = [post(ISEND, 0, 5), post(IRECV, 0, 2), wait_for(5, 2, -1), both]
    directory = write(
        tmp_path / "logs", signatures, [{-1: [(1, 1), (0, 1), (2, 1), (3, 2)]}], [0], [5]
    )
    lines, _ = imported(directory)
    exchanged = [
        "0 isend 0 3 8 request=6",
        "0 irecv 0 3 8 request=7",
        "0 waitall requests=6,7",
    ]
    assert lines[0] == [
        "0 init",
        "0 irecv 0 7 16 request=2",
        "0 isend 0 7 16 request=5",
        "0 waitall requests=5,2",
        *exchanged * 2,
        "0 finalize",
    ]
    convert(directory, tmp_path / "t.tit", speed=1e9)
    packed = unpacked(tmp_path / "t.tit", 0)
    assert [line for line in packed if "compute" not in line] == lines[0]


def test_an_outcome_that_the_order_of_requests_hides_is_left_to_the_replay(tmp_path: Path) -> None:
    some = key(WAITANY, ints(2, 1, 0, 1, 0, 0))
    none = key(WAITANY, ints(2, -1, -1, -32766))
    signatures = [post(ISEND, 0, 0), post(IRECV, 0, 1), some, none]
    grammar: dict[int, Pairs] = {-1: [(1, 1), (0, 1), (2, 2), (3, 1)]}
    lines, made = imported(write(tmp_path / "logs", signatures, [grammar], [0], [5]))
    assert lines[0][3:-1] == ["0 waitany requests=1,0"] * 2
    assert [(note.count, note.first) for note in made.notes] == [(2, "rank 0, signature 2")]


def test_communicators_datatypes_and_vectors(tmp_path: Path) -> None:
    signatures = [
        key(COMM_DUP, ints(WORLD, 0)),
        key(TYPE_VECTOR, ints(3, 2, 9, DOUBLE, 4)),
        key(SEND, POINTER + ints(2, 4, -1, 1, 0)),
        key(RECV, POINTER + ints(2, 4, ANY, -99998, 0, 0, 0)),
        key(
            GATHERV,
            ints(2) + POINTER + ints(3, INT) + POINTER + ints(3, 4, 0, 3, INT, 0, WORLD),
        ),
        key(FREE, POINTER),
    ]
    grammars: list[dict[int, Pairs]] = [
        {-1: [(0, 1), (1, 1), (2, 1), (5, 1), (4, 1)]},
        {-1: [(0, 1), (1, 1), (3, 1), (4, 1)]},
    ]
    lines, made = imported(write(tmp_path / "logs", signatures, grammars, [0, 1], [5, 4]))
    assert lines[0][1:-1] == [
        "0 comm_dup 0 1",
        "0 send 1 1 96 comm=1",
        "0 gatherv 12 12 16 0",
    ]
    assert lines[1][1:-1] == [
        "1 comm_dup 0 1",
        "1 recv -555 -444 96 comm=1",
        "1 gatherv 12 0 0 0",
    ]
    assert made.notes == ()


def test_times_are_kept_for_the_viewer(tmp_path: Path) -> None:
    directory = exchange(tmp_path / "logs", times=1)
    convert(directory, tmp_path / "t", speed=1e9, timeline=tmp_path / "run.csv")
    rows = (tmp_path / "run.csv").read_text().splitlines()
    lines = (tmp_path / "t" / "rank-0.txt").read_text().splitlines()
    sends = [row.split(",") for row in rows if ",send," in row]
    assert len(sends) == 2
    assert lines[int(sends[0][4]) - 1] == "0 send 1 0 80"
    assert float(sends[0][3]) - float(sends[0][2]) == pytest.approx(1e-6)
    parquet = pytest.importorskip("pyarrow.parquet")
    convert(directory, tmp_path / "t.tit", speed=1e9, timeline=tmp_path / "run.parquet")
    table = parquet.read_table(tmp_path / "run.parquet").to_pylist()
    assert [",".join(table[0]), *(f"{row['rank']},{row['kind']}" for row in table)] == [
        rows[0],
        *(",".join(row.split(",")[:2]) for row in rows[1:]),
    ]
    with pytest.raises(InputError, match=r"must be \.csv or \.parquet"):
        convert(directory, tmp_path / "t.tit", speed=1e9, timeline=tmp_path / "run.json")


def test_neighbourhood_collectives_name_their_neighbours(tmp_path: Path) -> None:
    """On a 2 x 1 grid with a periodic first dimension, on a copy of it, and on a graph."""
    both = POINTER + ints(3, INT) + POINTER + ints(3, INT)
    counts = ints(1, 2, 0, 0) + ints(*4 * [0]) + ints(INT)
    signatures = [
        key(CART_CREATE, ints(WORLD, 2, 2, 1, 1, 0, 0, 0)),
        key(COMM_DUP, ints(0, 1)),
        key(NEIGHBOR_ALLTOALL, both + ints(1)),
        key(GRAPH, ints(WORLD, 2, 1, 1, 0, 2, 1, -1, 0, 0, 0, 2)),
        key(GRAPH, ints(WORLD, 1, 0, 0, 2, 0, 0, 0, 0, 0, 2)),
        key(NEIGHBOR_ALLTOALLV, ints(4) + POINTER + counts + POINTER + counts + ints(2)),
    ]
    grammars: list[dict[int, Pairs]] = [
        {-1: [(0, 1), (1, 1), (2, 2), (3, 1), (5, 1)]},
        {-1: [(0, 1), (1, 1), (2, 2), (4, 1), (5, 1)]},
    ]
    directory = write(tmp_path / "logs", signatures, grammars, [0, 1], [6, 6])
    lines, _ = imported(directory)
    grid = "0 neighbor_alltoall 4 1 1 -666 -666 4 1 1 -666 -666 12 12 comm=2"
    graph = "0 neighbor_alltoallv 2 1 -666 2 1 1 4 8 4 8 comm=3"
    assert [line for line in lines[0] if "neighbor" in line] == [grid, grid, graph]
    assert lines[1][-2] == "1 neighbor_alltoallv 2 0 0 1 0 4 8 4 comm=3"
    for signature, message in (
        (key(NEIGHBOR_ALLTOALL, both + ints(WORLD)), "neighbours of its communicator"),
        (key(CART_CREATE, ints(WORLD, 1, 2, 0, 0, 0)), "one with other neighbours"),
        (key(CART_CREATE, ints(WORLD, 1, 0, 0, 0, 0)), "no grid has the dimensions"),
    ):
        grammar: dict[int, Pairs] = {-1: [(0, 1), (1, 1)]}
        directory = write(tmp_path / "logs", [signatures[0], signature], [grammar], [0, 0], [2, 2])
        with pytest.raises(InputError, match=message):
            convert(directory, tmp_path / "t.tit", speed=1e9)


def test_one_sided_calls_are_imported(tmp_path: Path) -> None:
    to = struct.pack("<iq", 1, 0)
    signatures = [
        key(WIN_CREATE, POINTER + struct.pack("<q", 4096) + ints(1, 0, WORLD, 7)),
        key(WIN_FENCE, ints(8192, 7)),
        key(PUT, POINTER + ints(2, INT) + to + ints(3, DOUBLE, 7)),
        key(WIN_FENCE, ints(16384, 7)),
        key(WIN_LOCK, ints(235, 1, 0, 7)),
        key(FETCH_AND_OP, POINTER + POINTER + ints(INT) + to + ints(0, 7)),
        key(WIN_UNLOCK, ints(1, 7)),
        key(COMM_GROUP, ints(WORLD, 0)),
        key(GROUP_INCL, ints(0, 1, 1, 1)),
        key(WIN_POST, ints(1, 0, 7)),
        key(WIN_FREE, ints(7)),
    ]
    grammar: dict[int, Pairs] = {-1: [(number, 1) for number in range(len(signatures))]}
    directory = write(tmp_path / "logs", signatures, [grammar], [0, 0], [11, 11])
    lines, made = imported(directory)
    assert made.notes == ()
    assert [line[2:] for line in lines[0][1:-1]] == [
        *("win_create 7 4096", "win_fence 7 noprecede", "put 7 1 24 6", "win_fence 7 nosucceed"),
        *("win_lock 7 1 shared", "fetch_and_op 7 1 4 6", "win_unlock 7 1", "win_post 7 1"),
        "win_free 7",
    ]


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        (key(WIN_FENCE, ints(0, 3)), "no call in the trace created this window"),
        (key(BCAST, POINTER + ints(1, INT, 0, 3)), "no call in the trace created"),
        (key(IBCAST, POINTER + ints(1, INT, 0, WORLD)), "record which request that is"),
        (send(7, 1), "no rank -7"),
    ],
)
def test_what_pilgrim_does_not_keep_is_refused(
    tmp_path: Path, signature: bytes, message: str
) -> None:
    directory = write(tmp_path / "logs", [signature], [{-1: [(0, 1)]}], [0], [1])
    with pytest.raises(InputError, match=message):
        convert(directory, tmp_path / "t.tit", speed=1e9)
    assert not (tmp_path / "t.tit").exists()


def test_split_communicators_are_refused_only_where_they_are_used(tmp_path: Path) -> None:
    signatures = [
        key(COMM_SPLIT, ints(WORLD, -99993, -99992, 0)),
        key(BARRIER, ints(0)),
        key(BARRIER, ints(WORLD)),
    ]
    directory = write(tmp_path / "a", signatures, [{-1: [(0, 1), (2, 1)]}], [0], [2])
    lines, made = imported(directory)
    assert lines[0][1:-1] == ["0 barrier"]
    assert "MPI_Comm_split is left out" in made.notes[0].text
    directory = write(tmp_path / "b", signatures, [{-1: [(0, 1), (1, 1)]}], [0], [2])
    with pytest.raises(InputError, match="MPI_Barrier: on a communicator that MPI_Comm_split"):
        imported(directory)


def test_a_datatype_number_that_means_two_sizes_is_refused(tmp_path: Path) -> None:
    signatures = [
        key(TYPE_VECTOR, ints(3, 2, 9, DOUBLE, 4)),
        key(TYPE_VECTOR, ints(5, 2, 9, DOUBLE, 4)),
    ]
    directory = write(tmp_path / "logs", signatures, [{-1: [(0, 1), (1, 1)]}], [0], [2])
    with pytest.raises(InputError, match="datatypes of 48 and later of 80 bytes"):
        imported(directory)


@pytest.mark.parametrize("mode", [b"AGGREGATED", b"ZSTD", b"CFG"])
def test_other_times_than_lossless_ones_are_refused(tmp_path: Path, mode: bytes) -> None:
    directory = write(tmp_path / "logs", [send(0, 1)], [{-1: [(0, 1)]}], [0], [1], mode)
    with pytest.raises(InputError, match=f"mode {mode.decode()}; only LOSSLESS is supported"):
        imported(directory)


def test_times_that_stand_still_or_do_not_fit_are_refused(tmp_path: Path) -> None:
    directory = exchange(tmp_path / "logs")
    whole = (directory / "intervals.dat").read_bytes()
    for name in ("intervals.dat", "durations.dat"):
        (directory / name).write_bytes(bytes(len(whole)))
    with pytest.raises(InputError, match="same time for all calls of rank 0"):
        imported(directory)
    for seconds, message in ((1e300, "not numbers of seconds"), (1e15, "implausibly far apart")):
        (directory / "intervals.dat").write_bytes(whole[:-8] + struct.pack("<d", seconds))
        with pytest.raises(InputError, match=f"times of rank . that are {message}"):
            imported(directory)
    (directory / "intervals.dat").write_bytes(whole[:-8])
    with pytest.raises(InputError, match="lacks the times of 25 calls"):
        imported(directory)


def test_a_speed_is_needed_and_counters_are_not_there(tmp_path: Path) -> None:
    directory = exchange(tmp_path / "logs")
    with pytest.raises(InputError, match="--speed"):
        convert(directory, tmp_path / "t.tit")
    with pytest.raises(InputError, match="no hardware counters"):
        convert(directory, tmp_path / "t.tit", speed=1e9, counter="PAPI_TOT_INS")


@pytest.mark.parametrize("name", ["pilgrim.mt", "funcs.dat", "grammars.dat"])
@given(data=mutations(b"\0" * 400))
@settings(max_examples=150, deadline=None)
def test_damage_ends_with_one_message(
    tmp_path_factory: pytest.TempPathFactory, name: str, data: bytes
) -> None:
    directory = exchange(tmp_path_factory.mktemp("damage") / "logs")
    whole = (directory / name).read_bytes()
    # The drawn bytes are a mask that is XORed with the file.
    damaged = bytes(
        a ^ b for a, b in zip(whole, data[: len(whole)].ljust(len(whole), b"\0"), strict=True)
    )[: len(data)]
    (directory / name).write_bytes(damaged)
    try:
        convert(directory, directory.parent / "t.tit", format="pilgrim", speed=1e9)
    except InputError as error:
        assert str(error).count("\n") == 0
    for left in directory.parent.glob("*.tit.*"):
        raise AssertionError(left)
