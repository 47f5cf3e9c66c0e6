"""Reading a trace: operations, completed requests, neighbours."""

from __future__ import annotations

import itertools
import pickle
import re
import threading
from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.support import GRAPHENE, write_ranks
from tisim import InputError, SimulationError, _core
from tisim.traces import Trace, check, pack


def read(trace: Trace, rank: int = 0) -> np.ndarray:
    return np.concatenate([*trace.operations(rank)])


def kinds(rows: np.ndarray) -> list[str]:
    return [_core.Kind(int(kind)).name for kind in rows["kind"]]


def test_the_real_traces_are_read_whole(nas_traces: Path) -> None:
    trace = Trace.open(nas_traces / "lu.S.4")
    assert (trace.ranks, trace.dialect, len(trace)) == (4, "modern", 4)
    assert trace.nbytes == sum(p.stat().st_size for p in (nas_traces / "lu.S.4").iterdir())
    for rank, file in enumerate(trace.files):
        lines = Path(file).read_text().splitlines()
        rows = read(trace, rank)
        assert rows["line"].tolist() == list(range(1, len(lines) + 1))
        computed = [float(line.split()[2]) for line in lines if " compute " in line]
        assert rows["amount"][rows["kind"] == int(_core.Kind.COMPUTE)].tolist() == computed
        sent = [int(line.split()[4]) * 8 for line in lines if " send " in line]
        assert rows["bytes"][rows["kind"] == int(_core.Kind.SEND)].tolist() == sent


def test_the_fields_of_operations(tmp_path: Path) -> None:
    trace = Trace.open(
        write_ranks(tmp_path, "send 1 7 10 0; compute 1.5e3; bcast 5 comm=3", "init")
    )
    rows = read(trace)
    assert kinds(rows) == ["SEND", "COMPUTE", "COLLECTIVE"]
    assert (rows["peer"][0], rows["tag"][0], rows["bytes"][0]) == (1, 7, 80)
    assert rows["amount"][1] == 1500
    assert rows["comm"].tolist() == [0, 0, 3]
    assert rows["line"].tolist() == [1, 2, 3]


def test_calls_are_interned(tmp_path: Path) -> None:
    trace = Trace.open(
        write_ranks(tmp_path, "init 1; bcast 5 1 0; bcast 5 1 0; reducescatter 1 2 0.5", "init")
    )
    calls = _core.CallTable()
    rows = trace.core.open(0, calls).read(10).view(np.dtype(_core.OP_LAYOUT))
    assert len(calls) == 2
    assert rows["call"][1] == rows["call"][2]
    call = calls[int(rows["call"][3])]
    assert call.operation == _core.Operation.REDUCESCATTER
    assert call.arguments == [1, 2, 0.5]
    assert call.double_default
    with pytest.raises(IndexError):
        calls[2]


def test_every_operation_has_a_name(tmp_path: Path) -> None:
    message = (
        "send ssend bsend isend issend ibsend recv irecv send_init ssend_init bsend_init recv_init"
    )
    request = "wait test start"
    alone = (
        "waitall waitany waitsome testall testany testsome startall barrier ibarrier init "
        "comm_split:0:1:0:0 comm_dup:0:2 comm_free:2 compute:1 sleep:1 probe:1:0 iprobe:1:0 "
        "sendrecv:1:1:1:1 wait:-333:-333:0"
    )
    words = "; ".join(
        [f"{word} 1 0 1" for word in message.split()]
        + [f"{word} 1 0 0" for word in request.split()]
        + [word.replace(":", " ") for word in alone.split()]
    )
    names = kinds(read(Trace.open(write_ranks(tmp_path, words, "init"))))
    assert len(set(names)) == len(names) == 35
    assert "END" not in names


def test_custom_actions_and_the_mistaken_null(tmp_path: Path) -> None:
    trace = Trace.open(write_ranks(tmp_path, "checkpoint disk 5; recv -333 0 1", "init"))
    with pytest.raises(InputError, match=r"rank-0.txt:1: unknown action 'checkpoint'"):
        read(trace)
    core = trace.core_with(custom_actions=["checkpoint"], mistaken_null_is_any=False)
    assert core is trace.core_with(custom_actions=("checkpoint",), mistaken_null_is_any=False)
    calls = _core.CallTable()
    rows = core.open(0, calls).read(10).view(np.dtype(_core.OP_LAYOUT))
    assert calls[int(rows["call"][0])].words == ["checkpoint", "disk", "5"]
    assert rows["peer"][1] == _core.PROC_NULL
    with pytest.raises(InputError, match="already exists"):
        trace.core_with(custom_actions=["send"])


def test_an_error_names_file_and_line(tmp_path: Path) -> None:
    trace = Trace.open(write_ranks(tmp_path, "init; compute -5", "init"))
    with pytest.raises(InputError, match="flops '-5' is negative; must be at least 0") as caught:
        read(trace)
    assert caught.value.file == str(tmp_path / "rank-0.txt")
    assert caught.value.line == 2
    assert str(caught.value).startswith(f"{tmp_path}/rank-0.txt:2: ")


def test_a_trace_serves_many_threads(nas_traces: Path) -> None:
    trace = Trace.open(nas_traces / "cg.S.16")
    expected = read(trace, 3)
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(read(trace, 3))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(np.array_equal(rows.view("u1"), expected.view("u1")) for rows in found)


def test_a_trace_goes_to_another_process(nas_traces: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(nas_traces)
    trace = Trace.open("lu.S.4", ranks=4, dialect="modern")
    monkeypatch.chdir("/")
    again = pickle.loads(pickle.dumps(trace))
    assert again.ranks == 4
    assert np.array_equal(read(again)["line"], read(trace.open(nas_traces / "lu.S.4"))["line"])


def test_forced_and_recognised_dialects(tmp_path: Path) -> None:
    write_ranks(tmp_path, "Isend 1 1e3; wait", "Irecv 0 1e3; wait")
    trace = Trace.open(tmp_path)
    assert trace.dialect == "legacy"
    assert kinds(read(trace)) == ["ISEND", "WAIT_LAST"]
    with pytest.raises(InputError, match="if the trace has no tags, read it in the legacy dialect"):
        read(Trace.open(tmp_path, dialect="modern"))
    with pytest.raises(
        InputError, match="unknown dialect 'old' of traces; known are auto, modern, legacy"
    ):
        Trace.open(tmp_path, dialect="old")


def test_a_rank_that_is_not_there(tmp_path: Path) -> None:
    trace = Trace.open(write_ranks(tmp_path, "init", "init"))
    with pytest.raises(IndexError):
        read(trace, 2)
    with pytest.raises(IndexError):
        trace.core.file(-1)


def rows(root: Path, column: int = 0) -> dict[str, str]:
    """Return each action's arguments from the table of actions (column 1: its effect)."""
    text = (root / "docs" / "traces.md").read_text()
    table = text.partition("| action | arguments |")[2].partition("\n\n")[0]
    described = {}
    for line in table.splitlines()[2:]:
        names, *columns = line.split("|")[1:-1]
        for name in re.findall(r"`(\w+)`", names):
            described[name] = columns[column].strip()
    return described


def test_every_action_is_documented_with_its_arguments(root: Path) -> None:
    known = dict(_core.known_actions())
    described = {name: text.strip("`") for name, text in rows(root).items()}
    kinds = {kind.name.lower() for kind in _core.Kind}
    collectives = {name for name in known if name[0] == "i" and name[1:] in known} - kinds
    assert collectives == {f"i{name}" for name in known if f"i{name}" in collectives}
    for name, usage in known.items():
        if name in collectives:
            assert usage == known[name[1:]]
        elif usage:
            assert described[name] == usage, name
        else:
            assert described[name] == "anything"
    assert set(described) == set(known) - collectives


def test_every_action_is_documented_with_its_effect(root: Path) -> None:
    effects = _core.action_effects()
    for name, described in rows(root, 1).items():
        assert described == effects[name], name


def test_widths_of_types(root: Path) -> None:
    text = (root / "docs" / "traces.md").read_text()
    _, *types = next(line for line in text.splitlines() if line.startswith("| type |")).split("|")[
        1:-1
    ]
    _, *widths = next(line for line in text.splitlines() if line.startswith("| bytes |")).split(
        "|"
    )[1:-1]
    for cell, width in zip(types, widths, strict=True):
        first, *last = [int(number) for number in re.findall(r"\d+", cell)]
        ids = range(first, (last[0] if last else first) + 1)
        bytes_of = [int(number) for number in re.findall(r"\d+", width)]
        expected = bytes_of * (len(ids) // len(bytes_of))
        assert [_core.type_width(number) for number in ids] == expected
    assert _core.type_width(-1) == 0
    assert _core.type_width(60) is None


FREE = tisim.Config({"tisim/completions": "free"})

#: Rank 0 answers the sender of the completed receive; rank 1 sends only after rank 2's answer.
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

#: Rank 0 unpacks each message it receives; in the replay they arrive in another order.
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
    """Return the ranks' end times, which a packed trace and the Python kernel must reproduce."""
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
    # A call that decides the next action is never left open.
    assert replay(text, tmp_path, config=FREE) == replay(text, tmp_path)
    # Rank 2 is late: without the recorded completion, rank 0 would act on rank 1 instead.
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
    # The first computation overlaps with the wait for rank 1's message.
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
    assert not [
        finding
        for finding in check(tisim.Trace.open(trace)).findings
        if "decide" in finding.message
    ]


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
    assert any("rank 0 waits in waitsome" in finding.message for finding in findings)


def test_the_order_of_lists_does_not_matter(tmp_path: Path) -> None:
    """A later call may list the remaining requests in any order, as after compacting an array."""
    ends = set()
    for order in itertools.permutations("12"):
        last = f"waitsome requests={','.join(order)} completed=1,2"
        ends.add(tuple(replay(UNPACKED.replace("LAST", last), tmp_path, config=FREE)))
    assert len(ends) == 1


def test_ctrl_c_while_an_error_of_the_core_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupting the translation of an error is reported as Ctrl-C, not as an internal error."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "t.txt").write_text("x init\n")
    monkeypatch.setattr(InputError, "__init__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Trace.open(tmp_path / "t.txt")
