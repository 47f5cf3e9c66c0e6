"""Traces are read as they were written; generated traces of any size are valid."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tisim
from tests.support import GRAPHENE
from tisim import _core
from tisim.platform import new
from tisim.traces import Trace, check
from tisim.traces.generate import PATTERNS
from tisim.traces.generate.patterns import ACCESSES

RANKS = 5
KIND = {name: int(kind) for name, kind in _core.Kind.__members__.items()}

ranks = st.integers(0, RANKS - 1)
tags = st.integers(0, 2**31 - 1)
counts = st.integers(0, 2**53)
types = st.sampled_from([0, 1, 2, 3, 4, 5, 6, 14, 43, 59, None])
volumes = st.floats(0, 1e300, allow_subnormal=False)


@dataclass(frozen=True)
class Action:
    """A line without its rank, and its expected row."""

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


sizes = st.integers(0, 300_000)
# Parameters of the patterns other than the common ones.
OWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "ring": {"nbytes": sizes},
    "halo2d": {"nbytes": sizes | st.tuples(sizes, sizes), "periodic": st.booleans()},
    "halo3d": {"nbytes": sizes | st.tuples(sizes, sizes, sizes), "periodic": st.booleans()},
    "wavefront": {"nbytes": sizes, "planes": st.integers(1, 4)},
    "transpose": {"nbytes": sizes},
    "ring-allreduce": {"nbytes": sizes, "buckets": st.integers(1, 3)},
    "tree-allreduce": {"nbytes": sizes, "buckets": st.integers(1, 3)},
    "sparse": {
        "nbytes": sizes | st.tuples(st.integers(0, 100), sizes.map(lambda size: size + 100)),
        "degree": st.integers(0, 5),
    },
    "ocean": {
        "blocks": st.integers(1, 5),
        "land": st.floats(0, 0.9),
        "nbytes": sizes,
        "fewest": st.integers(1, 2),
        "most": st.integers(2, 3),
    },
    "refined": {
        "refined": st.floats(0, 1),
        "nbytes": sizes,
        "block_bytes": sizes,
        "variables": st.integers(0, 3),
        "checkpoint_every": st.integers(0, 2),
    },
    "io": {
        "access": st.sampled_from(ACCESSES),
        "written": st.integers(0, 4).map(lambda blocks: 4096 * blocks),
        "block": st.just(4096),
        "file": st.just("data"),
        "read_back": st.booleans(),
        "fsync": st.booleans(),
    },
}


@st.composite
def grids(draw: st.DrawFn, dimensions: int) -> tuple[int, ...]:
    return tuple(draw(st.lists(st.integers(1, 4), min_size=dimensions, max_size=dimensions)))


@st.composite
def patterns(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Draw the parameters of a pattern."""
    drawn: dict[str, Any] = {
        "ranks": draw(st.integers(1, 12)),
        "iterations": draw(st.integers(0, 3)),
        "compute": draw(st.sampled_from([0.0, 1.0, 1e6])),
        "imbalance": draw(st.sampled_from([0.0, 0.3, 1.0])),
        "noise": draw(st.sampled_from([0.0, 0.3, 1.0])),
        "allreduce": draw(st.sampled_from([0, 8, 70_000])),
        "allreduce_every": draw(st.integers(1, 2)),
        "seed": draw(st.integers(0, 2**40)),
        "requests": draw(st.booleans()),
    }
    dimensions = {"halo2d": 2, "halo3d": 3, "wavefront": 2}.get(name)
    if dimensions and draw(st.booleans()):
        drawn["grid"] = grid = draw(grids(dimensions))
        drawn["ranks"] = 1
        for side in grid:
            drawn["ranks"] *= side
    return drawn | {key: draw(strategy) for key, strategy in OWN[name].items()}


def platform_for(name: str) -> Path | tisim.Platform:
    """Return a platform, with disks on its hosts if the pattern has files."""
    if name not in ("io", "refined"):
        return GRAPHENE
    return new.cluster(
        12, bandwidth="1Gbps", latency="1us", speed="1Gf", disk="read=2GBps,write=1GBps"
    )


def test_every_pattern_is_drawn_with_all_its_parameters() -> None:
    assert set(OWN) == set(PATTERNS)
    common = {"iterations", "compute", "imbalance", "noise", "seed", "requests"}
    for name, pattern in PATTERNS.items():
        known = {field.name for field in fields(pattern)}
        known -= {"ranks", "allreduce", "allreduce_every", "grid"}
        assert known == common | set(OWN[name]), name


@pytest.mark.parametrize("name", PATTERNS)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_sound_and_replayed_to_the_end(name: str, data: st.DataObject) -> None:
    parameters = data.draw(patterns(name))
    with tempfile.TemporaryDirectory() as directory:
        trace, again = Path(directory) / "trace.tit", Path(directory) / "again.tit"
        PATTERNS[name](**parameters).write(trace)
        PATTERNS[name](**parameters).write(again)
        assert trace.read_bytes() == again.read_bytes()
        report = check(trace)
        assert (report.errors, report.warnings) == (0, 0), report.findings
        assert report.ranks == parameters["ranks"]
        result = tisim.replay(trace, platform=platform_for(name))
    assert result.actions == report.actions
    assert len(result.finish) == report.ranks
