"""Whatever is printed as a trace is read back as what it was."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tisim import _core
from tisim.traces import Trace

RANKS = 5
KIND = {name: int(kind) for name, kind in _core.Kind.__members__.items()}

ranks = st.integers(0, RANKS - 1)
tags = st.integers(0, 2**31 - 1)
counts = st.integers(0, 2**53)
types = st.sampled_from([0, 1, 2, 3, 4, 5, 6, 14, 43, 59, None])
volumes = st.floats(0, 1e300, allow_subnormal=False)


@dataclass(frozen=True)
class Action:
    """A line without its rank, and the row that it must become."""

    text: str
    kind: str
    peer: int = 0
    tag: int = 0
    value: float = 0  # bytes or amount
    comm: int = 0


def width(type_id: int | None) -> int:
    return 1 if type_id is None else int(_core.type_width(type_id))


@st.composite
def messages(draw: st.DrawFn) -> Action:
    words = [
        "send",
        "isend",
        "ssend",
        "issend",
        "bsend",
        "ibsend",
        "recv",
        "irecv",
        "send_init",
        "recv_init",
    ]
    word = draw(st.sampled_from(words))
    peer, tag, count, type_id = draw(ranks), draw(tags), draw(counts), draw(types)
    suffix = "" if type_id is None else f" {type_id}"
    value = count * width(type_id)
    return Action(f"{word} {peer} {tag} {count}{suffix}", word.upper(), peer, tag, value)


@st.composite
def requests(draw: st.DrawFn) -> Action:
    word = draw(st.sampled_from(["wait", "test", "start"]))
    source, destination, tag = draw(ranks), draw(ranks), draw(tags)
    return Action(f"{word} {source} {destination} {tag}", word.upper(), source, tag, destination)


@st.composite
def computes(draw: st.DrawFn) -> Action:
    value = draw(volumes)
    form = draw(st.sampled_from(["{!r}", "{:.17g}", "{:.6g}", "{:.0f}", "+{!r}", "{:e}"]))
    text = form.format(value)
    word = draw(st.sampled_from(["compute", "sleep", "Compute"]))
    return Action(f"{word} {text}", word.upper(), value=float(text))


plain = st.sampled_from(
    [
        Action("waitall", "WAITALL"),
        Action("init", "NOP"),
        Action("location a.c 7", "NOP"),
        Action("barrier", "COLLECTIVE"),
    ]
)


@st.composite
def communicating(draw: st.DrawFn) -> Action:
    action, comm = draw(messages() | requests()), draw(st.integers(0, 65535))
    return replace(action, text=f"{action.text} comm={comm}", comm=comm)


actions = st.lists(messages() | requests() | computes() | plain | communicating(), min_size=1)
spacings = st.sampled_from([" ", "  ", "\t"])
endings = st.sampled_from(["\n", "\r\n", " \n", "\n\n", "\n# said\n", " # said\n"])


@settings(deadline=None, max_examples=60)
@given(st.lists(actions, min_size=1, max_size=RANKS), st.data())
def test_what_is_printed_is_read(ranks_of_actions: list[list[Action]], data: st.DataObject) -> None:
    ranks_of_actions += [[Action("init", "NOP")]] * (RANKS - len(ranks_of_actions))
    with tempfile.TemporaryDirectory() as directory:
        lines_of_ranks = []
        for rank, of_rank in enumerate(ranks_of_actions):
            text = ""
            lines = []
            for action in of_rank:
                lines.append(text.count("\n") + 1)
                blank = data.draw(spacings)
                text += f"{rank} {action.text}".replace(" ", blank) + data.draw(endings)
            (Path(directory) / str(rank)).write_text(text, newline="")
            lines_of_ranks.append(lines)
        trace = Trace.open(directory, dialect="modern")
        for rank, of_rank in enumerate(ranks_of_actions):
            rows = np.concatenate([*trace.operations(rank, batch=data.draw(st.integers(1, 9)))])
            assert rows["line"].tolist() == lines_of_ranks[rank]
            for row, action in zip(rows, of_rank, strict=True):
                assert row["kind"] == KIND[action.kind]
                assert (row["peer"], row["tag"], row["comm"]) == (
                    action.peer,
                    action.tag,
                    action.comm,
                )
                if action.kind in ("COMPUTE", "SLEEP"):
                    assert row["amount"] == action.value
                elif action.kind != "COLLECTIVE":
                    assert row["bytes"] == action.value


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(ranks, computes()), min_size=1), st.randoms())
def test_one_file_of_all_ranks_is_read_as_one_file_a_rank(lines: list, random) -> None:  # type: ignore[no-untyped-def]
    lines += [(rank, Action("init", "NOP")) for rank in range(RANKS)]
    random.shuffle(lines)
    with tempfile.TemporaryDirectory() as directory:
        merged = Path(directory) / "merged"
        merged.write_text("".join(f"{rank} {action.text}\n" for rank, action in lines))
        together = Trace.open(merged)
        for rank in range(RANKS):
            rows = np.concatenate([*together.operations(rank)])
            own = [(number, action) for number, (r, action) in enumerate(lines, 1) if r == rank]
            assert rows["line"].tolist() == [number for number, _ in own]
            assert rows["amount"].tolist() == [action.value for _, action in own]
