"""GOAL schedules, as text and as LogGOPSim's txt2bin writes them byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.traces import check
from tisim.traces.importers import Conversion, convert

#: A node of the binary form: kind, peer, size, tag, who waits for its end, who for its beginning.
Node = tuple[int, int, int, int, list[int], list[int]]
SEND, RECEIVE, COMPUTE = 1, 2, 3


def binary(*ranks: list[Node]) -> bytes:
    """A schedule as bytes."""
    head = struct.pack("<IBB", len(ranks), 0, 0)
    place = len(head) + 16 * len(ranks)
    table, bodies = b"", b""
    for nodes in ranks:
        waited = [sum(n in ends + starts for *_, ends, starts in nodes) for n in range(len(nodes))]
        roots = [n for n, count in enumerate(waited) if not count]
        body = struct.pack(f"<II{len(roots)}I", len(nodes), len(roots), *roots)
        listed: list[int] = []
        for number, (kind, peer, size, tag, ends, starts) in enumerate(nodes):
            at = len(listed)
            spans = (len(ends), at, len(starts), at + len(ends))
            body += struct.pack("<IbIQIBB4I", waited[number], kind, peer, size, tag, 0, 0, *spans)
            listed += ends + starts
        body += struct.pack(f"<{len(listed)}I", *listed)
        table += struct.pack("<QQ", place, place + len(body))
        place += len(body)
        bodies += body
    return struct.pack("<Q", 4223) + head + table + bodies


def imported(directory: Path, schedule: str | bytes, rank: int = 0) -> tuple[list[str], Conversion]:
    """The lines of a rank without init and finalize."""
    file = directory / "schedule.goal"
    file.write_bytes(schedule if isinstance(schedule, bytes) else schedule.encode())
    made = convert(file, directory / "trace", speed=1e9)
    lines = (directory / "trace" / f"rank-{rank}.txt").read_text().splitlines()
    return [line.split(" ", 1)[1] for line in lines[1:-1]], made


TEXT = """\
// a computation, an exchange, and what follows it
num_ranks 2
rank 1 {
l1: recv 8b from -1 tag -1 cpu 0 nic 1
l2: send 16b to 0 tag 4
l2 requires l1 /* in order */
}
rank 0 {
w: calc 500
s: send 8b to 1 tag 3
r: recv 16b from 1 tag 4
s requires w
r irequires s
end: calc 20
end requires r
end requires s
}
"""
NODES: tuple[list[Node], list[Node]] = (
    [
        (COMPUTE, 0, 500, 0, [1], []),
        (SEND, 1, 8, 3, [3], [2]),
        (RECEIVE, 1, 16, 4, [3], []),
        (COMPUTE, 0, 20, 0, [], []),
    ],
    [(RECEIVE, 0xFFFFFFFF, 8, 0xFFFFFFFF, [1], []), (SEND, 0, 16, 4, [], [])],
)


@pytest.mark.parametrize("schedule", [TEXT, binary(*NODES)])
def test_dependencies_become_waits(tmp_path: Path, schedule: str | bytes) -> None:
    lines, made = imported(tmp_path, schedule)
    assert lines == [
        "compute 500",
        "isend 1 3 8 request=0",
        "irecv 1 4 16 request=1",
        "waitall requests=0,1",
        "compute 20",
    ]
    other = (tmp_path / "trace" / "rank-1.txt").read_text().splitlines()
    assert other[1:4] == [
        "1 irecv -555 -444 8 request=0",
        "1 wait request=0",
        "1 isend 0 4 16 request=0",
    ]
    assert not made.notes
    assert check(tmp_path / "trace").errors == 0


def test_messages_overlap_with_computations(tmp_path: Path) -> None:
    lines, _ = imported(
        tmp_path,
        "num_ranks 1\nrank 0 {\na: calc 5\nb: send 1b to 0\nb irequires a\nc: recv 1b from 0\n}\n",
    )
    assert lines == [
        "irecv 0 0 1 request=0",
        "isend 0 0 1 request=1",
        "compute 5",
        "waitall requests=1,0",
    ]


def test_an_open_order_of_waits_is_noted(tmp_path: Path) -> None:
    rows = "".join(
        f"r{i}: recv 1b from 0 tag {i}\ns{i}: send 1b to 0 tag {i}\ns{i} requires r{i}\n"
        for i in range(2)
    )
    lines, made = imported(tmp_path, f"num_ranks 1\nrank 0 {{\n{rows}}}\n")
    assert lines[2:6] == [
        "wait request=0",
        "isend 0 0 1 request=0",
        "wait request=1",
        "isend 0 1 1 request=1",
    ]
    (note,) = made.notes
    assert (note.count, note.first) == (1, "rank 0, line 4")
    assert "which of several messages ends first is open" in note.text


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a: calc 1\nb: calc 1\na requires b\nb requires a", "operations of rank 0 require one"),
        ("calc 1 cpu 0\ncalc 1 cpu 1", "line 4: computes on the processors 0 and 1 at once"),
        ("send 1b to 1", "goal:3: there is no rank 1"),
        ("send 1b to -1", "goal:3: a send to no rank"),
        ("send 1b to 0 tag 4000000000", "goal:3: the tag 4000000000 is above 2^31 - 1"),
        ("a requires b", "goal:3: there is no label a above"),
        ("a: calc 1\na: calc 2", "goal:4: the label a is there twice"),
        ("recv 1b to 0", "goal:3: a recv is from a rank"),
        ("put 1b to 0", "goal:3: 'put 1b to 0' is not a send, recv, calc, requires or irequires"),
        ("calc 1\n}\nrank 0 {", "goal:5: rank 0 is there twice"),
        ("calc 1\n}\nrank 1 {", "goal:5: rank 1 is not below num_ranks"),
    ],
)
def test_what_no_sequence_can_say_is_refused(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        imported(tmp_path, f"num_ranks 1\nrank 0 {{\n{rows}\n}}\n")
    assert message in str(error.value)
    assert not (tmp_path / "trace").exists()


def test_schedules_of_its_successor_are_refused(tmp_path: Path) -> None:
    schedule = bytearray(binary(*NODES))
    schedule[8 + 6 + 32 + 8 + 4 + 4] = 9  # the kind of the first operation
    with pytest.raises(InputError, match="schedules of LogGOPSim 2"):
        imported(tmp_path, bytes(schedule))
    with pytest.raises(InputError, match=r":3: 'l0: put 1b to 1 ct 0 tag 10' .*LogGOPSim 2"):
        imported(tmp_path, "num_ranks 1\nrank 0 {\nl0: put 1b to 1 ct 0 tag 10\n}\n")
