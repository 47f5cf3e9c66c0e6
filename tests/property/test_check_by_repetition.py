"""`check` finds the same by repetition as line by line, and nothing in correct traces."""

from __future__ import annotations

import random
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.golden.test_cases import CASES, SmallCase
from tests.oracle.cases import Case
from tests.oracle.programs.call_programs import NumberedAuthor, draw_calls
from tests.support import RING, ROOT, campaign, write_ranks
from tisim import _core
from tisim.traces import Trace, check, pack
from tisim.traces.generate import PATTERNS


def compare(trace: Path) -> bool:
    """True if the findings contain errors or warnings."""
    core = Trace.open(trace).core
    by_repetition = _core.check(core)
    assert by_repetition == _core.check(core, by_action=True)
    return by_repetition["errors"] + by_repetition["warnings"] > 0


@pytest.mark.parametrize("first", range(0, campaign(150, 400), 50))
def test_the_same_is_found(first: int, tmp_path: Path) -> None:
    wrong = 0
    for seed in range(first, first + 50):
        packed = tmp_path / f"{seed}.tit"
        pack(write_ranks(tmp_path / str(seed), *looping_program(seed)), packed)
        wrong += compare(packed)
    assert 10 < wrong < 45


@pytest.mark.parametrize("name", PATTERNS)
def test_generated_traces(name: str, tmp_path: Path) -> None:
    PATTERNS[name](ranks=8, iterations=40, allreduce=8).write(tmp_path / "trace.tit")
    assert not compare(tmp_path / "trace.tit")


@pytest.mark.parametrize("name", ["cg.S.16", "mg.S.16", "lu.S.4", "is.S.16"])
def test_real_traces(name: str, nas_traces: Path, tmp_path: Path) -> None:
    pack(nas_traces / name, tmp_path / "trace.tit")
    compare(tmp_path / "trace.tit")


Lines = list[list[str]]  # lines of each rank, without its number

REPETITIONS = (3, 25, 40, 300)


def ring(ranks: int, draw: random.Random) -> Lines:
    tag, size = draw.randrange(3), draw.randrange(1, 2000)
    return [
        [
            f"irecv {(me - 1) % ranks} {tag} {size}",
            f"isend {(me + 1) % ranks} {tag} {size}",
            draw.choice(["waitall", "waitall", "waitall 2"]),
        ]
        for me in range(ranks)
    ]


def waits_by_key(ranks: int, draw: random.Random) -> Lines:
    size = draw.randrange(1, 2000)
    return [
        [
            f"isend {(me + 1) % ranks} 4 {size}",
            f"irecv {(me - 1) % ranks} 4 {size}",
            f"wait {(me - 1) % ranks} {me} 4",
            f"wait {me} {(me + 1) % ranks} 4",
        ]
        for me in range(ranks)
    ]


def numbered(ranks: int, draw: random.Random) -> Lines:
    size, number = draw.randrange(1, 2000), draw.randrange(3)
    return [
        [
            f"irecv {(me - 1) % ranks} 5 {size} request={number}",
            f"isend {(me + 1) % ranks} 5 {size} request={number + 1}",
            draw.choice([f"waitall requests={number},{number + 1}", f"wait request={number}"]),
            f"wait request={number + 1}",
        ]
        for me in range(ranks)
    ]


def chain(ranks: int, draw: random.Random) -> Lines:
    """The first rank sends to the next, and so on."""
    size = draw.randrange(1, 2000)
    return [
        [f"recv {me - 1} 6 {size}"] * (me > 0) + [f"send {me + 1} 6 {size}"] * (me < ranks - 1)
        for me in range(ranks)
    ]


def collectives(ranks: int, draw: random.Random) -> Lines:
    counts = " ".join(str(draw.randrange(4)) for _ in range(ranks))
    line = draw.choice(
        ["barrier", "allreduce 8 1", f"bcast 16 {draw.randrange(ranks)}", f"allgatherv 0 {counts}"]
    )
    if line.startswith("allgatherv"):
        return [[f"allgatherv {counts.split()[me]} {counts}"] for me in range(ranks)]
    if draw.random() < 0.2:
        return [[f"alltoallv 9 {'3 ' * ranks}9 {'3 ' * ranks}".strip()] for _ in range(ranks)]
    if draw.random() < 0.2:
        return [[f"i{line}", "waitall"] for _ in range(ranks)]
    return [[line] for _ in range(ranks)]


def computations(ranks: int, draw: random.Random) -> Lines:
    return [[f"compute {draw.choice([1000, 2500])}"] for _ in range(ranks)]


def from_anywhere(ranks: int, draw: random.Random) -> Lines:
    return [[f"recv -555 7 {8 * ranks}"] * (ranks - 1)] + [["send 0 7 8"]] * (ranks - 1)


def communicators(ranks: int, draw: random.Random) -> Lines:
    use = draw.choice(["barrier comm=3", "allreduce 8 0 comm=3"])
    return [[f"comm_split 0 3 {me % 2} {me}", use, "comm_free 3"] for me in range(ranks)]


STEPS: tuple[Callable[[int, random.Random], Lines], ...] = (
    ring,
    ring,
    waits_by_key,
    numbered,
    chain,
    collectives,
    collectives,
    computations,
    from_anywhere,
    communicators,
)


def joined(*parts: Lines) -> Lines:
    return [[line for part in of_rank for line in part] for of_rank in zip(*parts, strict=True)]


def persistent_loop(ranks: int, draw: random.Random, repetitions: int) -> Lines:
    start = draw.choice(["startall", "startall 2"])
    return [
        [f"recv_init {(me - 1) % ranks} 8 100", f"send_init {(me + 1) % ranks} 8 100"]
        + [start, "waitall"] * repetitions
        for me in range(ranks)
    ]


def prefetching_loop(ranks: int, draw: random.Random, repetitions: int) -> Lines:
    """Each repetition posts the receive of the next one."""
    receive = [f"irecv {(me - 1) % ranks} 9 64" for me in range(ranks)]
    return [
        [receive[me]]
        + [f"send {(me + 1) % ranks} 9 64", f"wait {(me - 1) % ranks} {me} 9", receive[me]]
        * repetitions
        + [f"send {(me + 1) % ranks} 9 64"] * draw.randrange(2)
        + [f"wait {(me - 1) % ranks} {me} 9"]
        for me in range(ranks)
    ]


def damage(lines: list[str], draw: random.Random) -> None:
    """Change the lines in a way that may be a mistake."""
    at = draw.randrange(len(lines)) if lines else 0
    match draw.randrange(5):
        case 0 if lines:
            del lines[at]
        case 1:
            lines.insert(at, draw.choice(["isend 0 1 10", "irecv 0 1 10", "barrier", "waitany 1"]))
        case 2 if lines:
            lines.insert(at, lines[at])
        case 3 if lines and lines[at][-1].isdigit() and "bcast" not in lines[at]:
            lines[at] += "0"
        case _:
            lines.insert(at, draw.choice(["test 0 1 1", "testall", "waitall", "send 0 2 10"]))


def looping_program(seed: int) -> Lines:
    """Return the lines of each rank; about two of three programs have a defect."""
    draw = random.Random(seed)
    ranks = draw.randrange(2, 6)

    def steps(most: int) -> Lines:
        return joined(*(draw.choice(STEPS)(ranks, draw) for _ in range(draw.randrange(1, most))))

    def loop(depth: int) -> Lines:
        repetitions = draw.choice(REPETITIONS)
        special = draw.random()
        if special < 0.1:
            return persistent_loop(ranks, draw, repetitions)
        if special < 0.2:
            return prefetching_loop(ranks, draw, repetitions)
        body = steps(5)
        if depth > 0 and draw.random() < 0.3:
            repetitions = min(repetitions, 25)
            body = joined(body, loop(depth - 1), steps(2))
        if draw.random() < 0.2:
            damage(draw.choice(body), draw)
        return [of_rank * repetitions for of_rank in body]

    program = joined(steps(2), loop(1), steps(2))
    if draw.random() < 0.4:
        program = joined(program, loop(1), steps(2))
    if draw.random() < 0.4:
        damage(draw.choice(program), draw)
    return [["init", *of_rank, "finalize"] for of_rank in program]


SHARED = ROOT.parent / "shared" / "traces"
GRIDS = ("halo2d", "halo3d")


def errors_of(trace: str | Path) -> list[str]:
    return [str(finding) for finding in check(trace).findings if finding.severity == "error"]


def traces_in(archive: Path) -> list[str]:
    """Return one name for each directory with files in an archive."""
    with tarfile.open(archive) as opened:
        parents = {Path(member.name).parent for member in opened if member.isfile()}
    return [f"{archive}::{parent}" for parent in sorted(parents)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden_cases(case: SmallCase, tmp_path: Path) -> None:
    trace, _ = case.write(tmp_path)
    assert errors_of(trace) == []


@pytest.mark.parametrize("folder", [ROOT / "traces", SHARED], ids=["traces", "shared"])
def test_traces_of_real_programs(folder: Path) -> None:
    archives = sorted(folder.glob("*.tar.xz"))
    if not archives:
        pytest.skip(f"there are no traces in {folder}")
    for trace in (name for archive in archives for name in traces_in(archive)):
        assert errors_of(trace) == [], trace


def test_the_ring() -> None:
    assert errors_of(RING) == []


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8, 12, 27])
@pytest.mark.parametrize("name", PATTERNS)
def test_generated_traces_raise_no_alarm(name: str, ranks: int, tmp_path: Path) -> None:
    variants: list[dict[str, Any]] = [{}]
    if name in GRIDS:
        variants = [{"periodic": False}, {"periodic": True}]
    for number, variant in enumerate(variants):
        trace = tmp_path / f"{number}.tit"
        PATTERNS[name](ranks=ranks, iterations=2, allreduce=8, **variant).write(trace)
        assert errors_of(trace) == [], variant


def draw_numbered(seed: int) -> Case:
    return Case.draw(seed, author=NumberedAuthor)


@pytest.mark.parametrize(
    "draw", [Case.draw, draw_numbered, draw_calls], ids=["messages", "numbers", "calls"]
)
def test_random_programs_that_replay_to_the_end(draw: Any) -> None:
    first = random.SystemRandom().randrange(10**9)
    for seed in [*range(40), *range(first, first + 40)]:
        case = draw(seed)
        with tempfile.TemporaryDirectory() as directory:
            case.write(Path(directory))
            assert errors_of(Path(directory) / "traces") == [], case.label
            if seed % 4 == 0:
                tisim.replay(
                    Path(directory) / "traces",
                    platform=Path(directory) / "platform.xml",
                    hosts=case.hosts,
                    config=case.config,
                )
