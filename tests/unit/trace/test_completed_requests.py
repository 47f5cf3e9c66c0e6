"""Calls that say which of their requests were complete when the program was recorded."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

import tisim
from tests.support import GRAPHENE
from tisim import InputError, SimulationError
from tisim.traces import check, pack

FREE = tisim.Config({"tisim/completions": "free"})

#: Rank 0 sends to whom it has heard from; who is not asked does not answer.
STEERED = """\
0 irecv 1 0 8 request=0
0 irecv 2 0 8 request=1
0 CALL requests=0,1 completed=1
0 send 2 1 8
0 wait request=0
1 recv 2 2 8
1 send 0 0 8
2 send 0 0 8
2 recv 0 1 8
2 send 1 2 8
"""

#: Rank 0 unpacks what it receives, which comes in the other order here.
UNPACKED = """\
0 irecv 1 0 8 request=0
0 irecv 2 0 8 request=1
0 irecv 3 0 8 request=2
0 waitany requests=0,1,2 completed=0
0 compute 1e9
0 LAST
0 compute 1e9
1 compute 4e9
1 send 0 0 8
2 send 0 0 8
3 send 0 0 8
"""


def replay(text: str, where: Path, **options: object) -> list[float]:
    """When the ranks end; the same for a packed trace and on the readable kernel."""
    trace = where / "trace.txt"
    trace.write_text(text)
    platform = tisim.Platform.load(GRAPHENE)
    ends = tisim.replay(trace, platform=platform, **options).finish.tolist()  # type: ignore[arg-type]
    packed = where / "trace.tit"
    packed.unlink(missing_ok=True)
    pack(trace, packed)
    again = tisim.replay(packed, platform=platform, **options).finish.tolist()  # type: ignore[arg-type]
    assert again == ends
    if not options:
        python = tisim.replay(trace, platform=platform, kernel="simpy")
        assert python.finish.tolist() == pytest.approx(ends, rel=1e-12)
    return list(ends)


@pytest.mark.parametrize("call", ["waitany", "waitsome"])
def test_a_replay_completes_what_was_complete(call: str, tmp_path: Path) -> None:
    text = STEERED.replace("CALL", call)
    assert min(replay(text, tmp_path)) > 0
    # A call that decides is never left open.
    assert replay(text, tmp_path, config=FREE) == replay(text, tmp_path)
    # Rank 2 is late: without the record the rank goes on, or waits, for another one.
    late = text.replace("2 send 0 0 8", "2 compute 1e9\n2 send 0 0 8")
    assert replay(late, tmp_path)[0] > 0.1


@pytest.mark.parametrize(
    "last",
    [
        "waitany requests=1,2 completed=2\n0 waitany requests=1 completed=1",
        "waitsome requests=1,2 completed=2,1",
        "waitall requests=2,1",
    ],
)
def test_what_decides_nothing_may_be_left_open(last: str, tmp_path: Path) -> None:
    text = UNPACKED.replace("LAST", last)
    matched, free = replay(text, tmp_path), replay(text, tmp_path, config=FREE)
    second = 1e9 / tisim.Platform.load(GRAPHENE).hosts[0].speed
    # The first computation runs while the message of rank 1 is not there yet.
    assert matched[0] == pytest.approx(6 * second, rel=0.01)
    assert free[0] == pytest.approx(5 * second, rel=0.01)
    assert free[0] == max(free)


def test_groups_that_another_call_interrupts_stay_as_recorded(tmp_path: Path) -> None:
    last = "isend 3 9 8 request=3\n0 waitsome requests=1,2 completed=2,1\n0 wait request=3"
    text = UNPACKED.replace("LAST", last) + "3 recv 0 9 8\n"
    assert replay(text, tmp_path, config=FREE) == replay(text, tmp_path)


def test_the_check_says_which_calls_decide(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    trace.write_text(STEERED.replace("CALL", "waitsome"))
    (note,) = check(tisim.Trace.open(trace)).findings
    assert (note.severity, note.line, note.rank) == ("note", 3, 0)
    assert note.message.startswith("1 call of this rank decides what the rank does next")
    trace.write_text(UNPACKED.replace("LAST", "waitall requests=1,2"))
    assert not [one for one in check(tisim.Trace.open(trace)).findings if "decide" in one.message]


def test_calls_that_decide_are_counted_in_loops(tmp_path: Path) -> None:
    turn = "irecv 1 0 8 request=0;irecv 1 1 8 request=1;waitany requests=0,1 completed=1;"
    mine = (turn + "send 1 2 8;wait request=0;") * 1000
    theirs = "send 0 1 8;recv 0 2 8;send 0 0 8;" * 1000
    lines = [f"{rank} {one}" for rank, all_ in enumerate((mine, theirs)) for one in all_.split(";")]
    trace = tmp_path / "trace.txt"
    trace.write_text("\n".join(line for line in lines if len(line) > 2) + "\n")
    pack(trace, tmp_path / "trace.tit")
    (note,) = check(tisim.Trace.open(tmp_path / "trace.tit")).findings
    assert note.message.startswith("1000 calls of this rank decide")


def test_a_wrong_list_is_refused_with_its_line(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    trace.write_text("0 irecv 0 0 8 request=0\n0 waitany requests=0 completed=1\n")
    platform = tisim.Platform.load(GRAPHENE)
    with pytest.raises(InputError, match=re.escape("trace.txt:2: completed= names request 1")):
        tisim.replay(trace, platform=platform)


def test_what_never_completes_is_reported(tmp_path: Path) -> None:
    trace = tmp_path / "trace.txt"
    text = STEERED.replace("CALL", "waitsome").replace("completed=1", "completed=0")
    trace.write_text(text.replace("wait request=0", "wait request=1"))
    platform = tisim.Platform.load(GRAPHENE)
    with pytest.raises(SimulationError, match="waitsome"):
        tisim.replay(trace, platform=platform)
    findings = check(tisim.Trace.open(trace)).findings
    assert any("rank 0 waits in waitsome" in one.message for one in findings)


def test_the_order_of_lists_does_not_matter(tmp_path: Path) -> None:
    """A later call may list what is left in any order, as programs that compact their array do."""
    ends = set()
    for order in itertools.permutations("12"):
        last = f"waitsome requests={','.join(order)} completed=1,2"
        ends.add(tuple(replay(UNPACKED.replace("LAST", last), tmp_path, config=FREE)))
    assert len(ends) == 1
