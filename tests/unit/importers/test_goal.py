"""GOAL schedules: read, imported as sequences, and run."""

from __future__ import annotations

import os
import random
import re
import struct
import subprocess
from pathlib import Path

import pytest

from tests.support import platform_file, rank_calls
from tests.unit.command_line import CommandLine
from tisim.errors import InputError, SimulationError
from tisim.simulation.goal import GoalResult, check_goal, replay_goal
from tisim.traces import check
from tisim.traces.importers import Conversion, convert

#: Node of the binary form: kind, peer, size, tag, successors of its end, successors of its start.
Node = tuple[int, int, int, int, list[int], list[int]]
SEND, RECEIVE, COMPUTE = 1, 2, 3


def binary(*ranks: list[Node]) -> bytes:
    """Return a schedule in binary form."""
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
    """Return the lines of a rank without init and finalize."""
    file = directory / "schedule.goal"
    file.write_bytes(schedule if isinstance(schedule, bytes) else schedule.encode())
    made = convert(file, directory / "trace", speed=1e9)
    return rank_calls(directory / "trace")[rank], made


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
    assert "the schedule leaves open which of several messages ends first;" in note.text


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a: calc 1\nb: calc 1\na requires b\nb requires a", "operations of rank 0 require one"),
        (
            "calc 1 cpu 0\ncalc 1 cpu 1",
            "line 4: computes on the processors 0 and 1 at the same time",
        ),
        ("send 1b to 1", "goal:3: no rank 1"),
        ("send 1b to -1", "goal:3: a send without a destination rank"),
        ("send 1b to 0 tag 4000000000", "goal:3: the tag 4000000000 is above 2^31 - 1"),
        ("a requires b", "goal:3: no label a above"),
        ("a: calc 1\na: calc 2", "goal:4: the label a occurs twice"),
        ("recv 1b to 0", "goal:3: a recv needs 'from' and a rank"),
        ("put 1b to 0", "goal:3: 'put 1b to 0' is not a send, recv, calc, requires or irequires"),
        ("calc 1\n}\nrank 0 {", "goal:5: rank 0 occurs twice"),
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
    schedule[8 + 6 + 32 + 8 + 4 + 4] = 9  # kind of the first operation
    with pytest.raises(InputError, match="schedules of LogGOPSim 2"):
        imported(tmp_path, bytes(schedule))
    with pytest.raises(InputError, match=r":3: 'l0: put 1b to 1 ct 0 tag 10' .*LogGOPSim 2"):
        imported(tmp_path, "num_ranks 1\nrank 0 {\nl0: put 1b to 1 ct 0 tag 10\n}\n")


LATENCY = 1000  # ns
PLAIN = {
    "network/model": "LV08",
    "network/latency-factor": "1",
    "network/bandwidth-factor": "1",
    "network/TCP-gamma": "0",
    "network/weight-S": "0",
    "network/crosstraffic": "0",
    "precision/timing": "1e-12",
}


def platform(directory: Path, ranks: int, bandwidth: str = "1e27Bps") -> Path:
    """Write a platform whose hosts are connected pairwise by a link without contention."""
    hosts = "".join(f'<host id="h{i}" speed="1Gf"/>' for i in range(ranks))
    pairs = [(a, b) for a in range(ranks) for b in range(a, ranks)]
    routes = "".join(f'<route src="h{a}" dst="h{b}"><link_ctn id="l"/></route>' for a, b in pairs)
    link = f'bandwidth="{bandwidth}" latency="{LATENCY}ns" sharing_policy="FATPIPE"'
    inside = f'{hosts}<link id="l" {link}/>{routes}'
    return platform_file(directory, f'<zone id="z" routing="Full">{inside}</zone>', "p.xml")


def replayed(
    directory: Path,
    schedule: str | bytes,
    ranks: int,
    overhead: str = "0:0:0",
    eager: int = 1 << 20,
    bandwidth: str = "1e27Bps",
) -> GoalResult:
    path = directory / "s.goal"
    path.write_bytes(schedule if isinstance(schedule, bytes) else schedule.encode())
    config = PLAIN | {"smpi/os": overhead, "smpi/or": overhead}
    config["smpi/send-is-detached-thresh"] = str(eager)
    config["smpi/async-small-thresh"] = str(min(eager, 65536))
    return replay_goal(path, platform=platform(directory, ranks, bandwidth), config=config)


@pytest.mark.parametrize("schedule", [TEXT, binary(*NODES)])
def test_text_and_binary(tmp_path: Path, schedule: str | bytes) -> None:
    result = replayed(tmp_path, schedule, 2)
    # 500 ns, two messages, and 20 ns.
    assert list(result.ends * 1e9) == pytest.approx([2520, 1500], rel=1e-9)
    assert (result.operations, result.messages, result.unexpected) == (6, 2, 0)


def test_dependencies_are_not_in_a_sequence(tmp_path: Path) -> None:
    # Rank 0 receives two messages, the first one in the file late, and computes after each arrives.
    text = """num_ranks 2
rank 0 {
  a: recv 8b from 1 tag 1
  b: recv 8b from 1 tag 2
  x: calc 100
  y: calc 100
  x requires a
  y requires b
}
rank 1 {
  late: calc 5000
  s: send 8b to 0 tag 1
  s requires late
  send 8b to 0 tag 2
}
"""
    result = replayed(tmp_path, text, 2)
    assert list(result.ends * 1e9) == pytest.approx([6100, 5000], rel=1e-9)


def test_processors_of_a_rank_compute_beside_each_other(tmp_path: Path) -> None:
    text = """num_ranks 1
rank 0 {
  a: calc 100 cpu 0
  b: calc 300 cpu 1
  c: calc 50 cpu 0
  c requires b
  d: calc 7 cpu 1
  d irequires c
}
"""
    assert replayed(tmp_path, text, 1).simulated_time * 1e9 == pytest.approx(350, rel=1e-9)


def test_overheads_and_senders_that_wait(tmp_path: Path) -> None:
    text = """num_ranks 2
rank 0 { s: send 1000b to 1
 e: calc 10
 e requires s }
rank 1 { w: calc 9000
 r: recv 1000b from 0
 r requires w }
"""
    eager = replayed(tmp_path, text, 2, "0:2e-7:1e-10")
    # Overhead of the sender: 200 ns + 100 ns. The message arrives at 1,200 ns and waits.
    assert list(eager.ends * 1e9) == pytest.approx([310, 9300], rel=1e-9)
    waiting = replayed(tmp_path, text, 2, "0:2e-7:1e-10", eager=1000)
    assert list(waiting.ends * 1e9) == pytest.approx([9010, 9300], rel=1e-9)


def test_a_faster_host_computes_faster_and_links_are_shared(
    tmp_path: Path, tisim: CommandLine
) -> None:
    replayed(tmp_path, "num_ranks 1\nrank 0 {\ncalc 1000\n}\n", 1)
    files = (tmp_path / "s.goal", tmp_path / "p.xml")
    assert replay_goal(files[0], platform=files[1], speed="x2").simulated_time == pytest.approx(
        5e-7
    )
    outcome = tisim("replay", "--platform", str(files[1]), "--speed", "x2", str(files[0]))
    assert outcome.status == 0
    assert "simulated time   5e-07 s" in outcome.out
    assert (
        tisim("replay", "--platform", str(files[1]), "--gantt", "g.svg", str(files[0])).status == 2
    )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "a: calc 1\nb: calc 1\na requires b\nb requires a",
            "rank 0, line 3: waits for other operations",
        ),
        ("calc 1\nr: recv 8b from 0", "rank 0, line 4: has started and waits"),
    ],
)
def test_cycles_and_missing_messages(
    tmp_path: Path, rows: str, message: str, tisim: CommandLine
) -> None:
    with pytest.raises(SimulationError) as error:
        replayed(tmp_path, f"num_ranks 1\nrank 0 {{\n{rows}\n}}\n", 1)
    assert message in str(error.value)
    outcome = tisim("check", str(tmp_path / "s.goal"))
    assert outcome.status == 1
    assert message in outcome.out


def test_check_counts_what_nobody_receives(tmp_path: Path, tisim: CommandLine) -> None:
    path = tmp_path / "s.goal"
    path.write_text("num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\n}\n")
    schedule, unexpected = check_goal(path)
    assert (schedule.ranks, schedule.operations, unexpected) == (2, 1, 1)
    assert "1 message" in tisim("check", str(path)).out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num_ranks 1\n", "has no rank 0 of its 1 ranks"),
        ("num_ranks 1\nrank 0 {\nsend 1b to 3\n}", ":3: no rank 3"),
        ("num_ranks 1\nrank 0 {\na requires b\n}", ":3: no label a above"),
        ("num_ranks 1\nrank 0 {\na: calc 1\na: calc 1\n}", ":4: the label a occurs twice"),
        ("num_ranks 1\nrank 0 {\nput 1b to 0\n}", ":3: 'put 1b to 0' is not a send"),
        ("num_ranks 1\nrank 0 {\ncalc x\n}", ":3: 'x' is not a number"),
        ("num_ranks 1\nrank 0 {\ncalc 1 /* \n", "ends within rank 0"),
        ("num_ranks 2\nrank 5 {\n}", ":2: rank 5 is not below num_ranks"),
        ("num_ranks 2\nrank -1 {\n}", ":2: -1 is below 0"),
        ("num_ranks 1\nrank 0 {\ncalc 1 cpu -1\n}", ":3: -1 is below 0"),
        ("num_ranks 16777216\n", ":1: ends before its 16777216 ranks"),
        (b"num_ranks 1\nrank 0 {\ncalc \xff\xfe\n}", ":3: '??' is not a number"),
        (b"\x7f\x10\0\0\0\0\0\0\x09\0\0\0\0\0", "is truncated"),
        (binary(*NODES)[:-3], "is truncated: rank 1 is incomplete"),
        (binary([(SEND, 3, 1, 0, [], [])]), "rank 0, operation 0: no rank 3"),
        (binary([(SEND, 0, 1, 1 << 31, [], [])]), "operation 0: the tag 2147483648 is above"),
        (binary([(COMPUTE, 0, 1, 0, [7], [])]), "rank 0 is not in the format of LogGOPSim's"),
    ],
)
def test_what_is_no_schedule(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(InputError) as error:
        replayed(tmp_path, text, 1)
    assert message in str(error.value)


def drawn(seed: int) -> tuple[list[list[Node]], int]:
    """Return ranks whose operations depend on random earlier ones, and which all terminate."""
    rng = random.Random(seed)
    count = rng.randint(2, 8)
    ranks: list[list[Node]] = [[] for _ in range(count)]
    for number in range(rng.randint(5, 120)):
        source, target = rng.randrange(count), rng.randrange(count)
        rows = [(source, (COMPUTE, 0, rng.randint(1, 5000), 0, [], []))]
        if source != target and rng.random() < 0.7:
            # Messages with the same tag may overtake each other, so they are identical.
            tag = number + 1 if rng.random() < 0.5 else 0
            size = rng.choice([1, 8, 1000, 70000]) if tag else 8
            peer = 0xFFFFFFFF if tag and rng.random() < 0.2 else source
            rows = [
                (source, (SEND, target, size, tag, [], [])),
                (target, (RECEIVE, peer, size, tag, [], [])),
            ]
        for rank, node in rows:
            nodes = ranks[rank]
            for earlier in {rng.randrange(len(nodes)) for _ in range(rng.randint(0, 3)) if nodes}:
                nodes[earlier][4 if rng.random() < 0.8 else 5].append(len(nodes))
            nodes.append(node)
    return ranks, count


@pytest.mark.parametrize("seed", range(40))
def test_times_are_those_of_loggopsim(tmp_path: Path, seed: int) -> None:
    program = os.environ.get("TISIM_LOGGOPSIM")
    if not program:
        pytest.skip("TISIM_LOGGOPSIM names no LogGOPSim")
    ranks, count = drawn(seed)
    rng = random.Random(-seed - 1)
    overhead, slope = rng.choice([0, 300, 1500]), rng.choice([0, 1])
    # LogGOPSim charges the overhead per byte for all bytes but the first.
    longer = [[(k, p, s + (k != COMPUTE), t, e, b) for k, p, s, t, e, b in r] for r in ranks]
    file = tmp_path / "s.bin"
    file.write_bytes(binary(*longer))
    options = ("-L", LATENCY, "-o", overhead, "-O", slope, "-g", 0, "-G", 0, "-S", 65536)
    completed = subprocess.run(
        [program, "-f", file, *map(str, options)], capture_output=True, text=True, check=True
    )
    theirs = [int(end) for end in re.findall(r"^Host \d+: (\d+)", completed.stdout, re.MULTILINE)]
    assert len(theirs) == count, completed.stdout
    table = f"0:{overhead}e-9:{slope}e-9"
    ours = replayed(tmp_path, binary(*ranks), count, table, eager=65536)
    assert list(ours.ends * 1e9) == pytest.approx(theirs, rel=1e-9)


def test_bytes_through_a_link_are_those_of_loggopsim(tmp_path: Path) -> None:
    program = os.environ.get("TISIM_LOGGOPSIM")
    if not program:
        pytest.skip("TISIM_LOGGOPSIM names no LogGOPSim")
    # A ring: each rank forwards the message it has received.
    count, size = 8, 5000
    ranks: list[list[Node]] = [[(SEND, 1, size, 0, [], []), (RECEIVE, 7, size, 0, [], [])]]
    ranks += [
        [(RECEIVE, i - 1, size, 0, [1], []), (SEND, (i + 1) % count, size, 0, [], [])]
        for i in range(1, count)
    ]
    longer = [[(k, p, s + 1, t, e, b) for k, p, s, t, e, b in rank] for rank in ranks]
    (tmp_path / "s.bin").write_bytes(binary(*longer))
    options = ("-L", LATENCY, "-o", 400, "-g", 0, "-G", 2, "-S", 65536)
    completed = subprocess.run(
        [program, "-f", tmp_path / "s.bin", *map(str, options)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    theirs = [int(end) for end in re.findall(r"^Host \d+: (\d+)", completed.stdout, re.MULTILINE)]
    ours = replayed(tmp_path, binary(*ranks), count, "0:4e-7:0", bandwidth="500MBps")
    assert list(ours.ends * 1e9) == pytest.approx(theirs, rel=1e-9)
