"""What becomes of the lines of a trace, seen from Python and from docs/traces.md."""

from __future__ import annotations

import pickle
import re
import threading
from pathlib import Path

import numpy as np
import pytest

from tisim import _core
from tisim.errors import InputError
from tisim.traces import Trace


def write(directory: Path, *ranks: str) -> Path:
    """One file a rank; the lines come without their rank."""
    for rank, text in enumerate(ranks):
        lines = [f"{rank} {line}\n" for line in text.split("; ")]
        (directory / f"rank-{rank}.txt").write_text("".join(lines))
    return directory


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
    trace = Trace.open(write(tmp_path, "send 1 7 10 0; compute 1.5e3; bcast 5 comm=3", "init"))
    rows = read(trace)
    assert kinds(rows) == ["SEND", "COMPUTE", "COLLECTIVE"]
    assert (rows["peer"][0], rows["tag"][0], rows["bytes"][0]) == (1, 7, 80)
    assert rows["amount"][1] == 1500
    assert rows["comm"].tolist() == [0, 0, 3]
    assert rows["line"].tolist() == [1, 2, 3]


def test_calls_are_interned(tmp_path: Path) -> None:
    trace = Trace.open(
        write(tmp_path, "init 1; bcast 5 1 0; bcast 5 1 0; reducescatter 1 2 0.5", "init")
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
    names = kinds(read(Trace.open(write(tmp_path, words, "init"))))
    assert len(set(names)) == len(names) == 35
    assert "END" not in names


def test_custom_actions_and_the_mistaken_null(tmp_path: Path) -> None:
    trace = Trace.open(write(tmp_path, "checkpoint disk 5; recv -333 0 1", "init"))
    with pytest.raises(InputError, match=r"rank-0.txt:1: there is no action 'checkpoint'"):
        read(trace)
    core = trace.core_with(custom_actions=["checkpoint"], mistaken_null_is_any=False)
    assert core is trace.core_with(custom_actions=("checkpoint",), mistaken_null_is_any=False)
    calls = _core.CallTable()
    rows = core.open(0, calls).read(10).view(np.dtype(_core.OP_LAYOUT))
    assert calls[int(rows["call"][0])].words == ["checkpoint", "disk", "5"]
    assert rows["peer"][1] == _core.PROC_NULL
    with pytest.raises(InputError, match="already there"):
        trace.core_with(custom_actions=["send"])


def test_an_error_names_file_and_line(tmp_path: Path) -> None:
    trace = Trace.open(write(tmp_path, "init; compute -5", "init"))
    with pytest.raises(InputError, match="flops '-5' is negative; it is 0 or more") as caught:
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
    write(tmp_path, "Isend 1 1e3; wait", "Irecv 0 1e3; wait")
    trace = Trace.open(tmp_path)
    assert trace.dialect == "legacy"
    assert kinds(read(trace)) == ["ISEND", "WAIT_LAST"]
    with pytest.raises(InputError, match="if the trace has no tags, read it in the legacy dialect"):
        read(Trace.open(tmp_path, dialect="modern"))
    with pytest.raises(
        InputError, match="no dialect 'old' of traces; there are auto, modern, legacy"
    ):
        Trace.open(tmp_path, dialect="old")


def test_a_rank_that_is_not_there(tmp_path: Path) -> None:
    trace = Trace.open(write(tmp_path, "init", "init"))
    with pytest.raises(IndexError):
        read(trace, 2)
    with pytest.raises(IndexError):
        trace.core.file(-1)


def rows(root: Path, column: int = 0) -> dict[str, str]:
    """Action -> what the table of actions says about its arguments (column 1: what it does)."""
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
