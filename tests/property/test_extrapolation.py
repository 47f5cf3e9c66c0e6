"""No perturbation of a trace is ignored: it is rejected, or extrapolated as perturbed."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support import campaign
from tisim.errors import InputError
from tisim.traces.extrapolation import extrapolate
from tisim.traces.generate import PATTERNS
from tisim.traces.packed_program import PackedTrace
from tisim.traces.writer import write_trace

PROGRAMS: tuple[tuple[str, tuple[int, ...], int, dict[str, Any]], ...] = (
    ("ring", (4, 8, 16), 64, {"allreduce": 8}),
    ("transpose", (3, 5, 8), 32, {}),
    ("ring-allreduce", (4, 8, 16), 32, {}),
    ("tree-allreduce", (4, 8, 16), 32, {}),
    ("halo2d", (16, 24, 36), 64, {"periodic": True}),
    ("wavefront", (9, 16, 25), 36, {"planes": 2}),
)
# Programs on a line take a fraction of a second each.
QUICK = 3

Lines = list[list[str]]  # lines of each rank, without its number


@dataclass(frozen=True)
class Case:
    """Three traces, one of them perturbed, and the expected trace without perturbation."""

    traces: dict[int, Lines]
    target: int
    expected: Lines


def lines_of(name: str, ranks: int, **parameters: Any) -> Lines:
    pattern = PATTERNS[name](ranks=ranks, iterations=3, **parameters)
    return [
        "".join(pattern.pieces(rank))
        .replace(f"{rank} ", "", 1)
        .replace(f"\n{rank} ", "\n")
        .split("\n")[:-1]
        for rank in range(ranks)
    ]


def perturb(lines: list[str], draw: random.Random, ranks: int) -> None:
    """Perturb a parameter of a call, in one iteration or all, or a call, or an iteration."""
    place = draw.randrange(1, len(lines) - 1)
    what = draw.choice(["number", "numbers", "delete", "repeat", "iteration"])
    if what == "iteration":
        body = lines[1:-1]
        size = len(body) // 3
        lines[1:-1] = body[: 2 * size] if draw.random() < 0.5 else body + body[-size:]
        return
    words = lines[place].split()
    if what == "delete":
        del lines[place]
    elif what == "repeat" or len(words) == 1:
        lines.insert(place, lines[place])
    else:
        at = draw.randrange(1, len(words))
        words[at] = str((int(words[at]) + draw.choice([1, 2, 7])) % max(ranks, 4))
        old, new = lines[place], " ".join(words)
        for other in range(len(lines)):
            if other == place or (what == "numbers" and lines[other] == old):
                lines[other] = new


def case_of(seed: int, programs: int) -> Case:
    draw = random.Random(seed)
    name, sizes, target, parameters = PROGRAMS[seed % programs]
    traces = {ranks: lines_of(name, ranks, **parameters) for ranks in sizes}
    ranks = draw.choice(sizes)
    perturb(traces[ranks][draw.randrange(ranks)], draw, ranks)
    return Case(traces, target, lines_of(name, target, **parameters))


def written(lines: Lines, path: Path) -> Path:
    with write_trace(path, len(lines)) as trace:
        for rank, own in enumerate(lines):
            trace.write_rank(rank, [f"{rank} {line}\n" for line in own])
    return path


def read(path: Path) -> Lines:
    trace = PackedTrace(path)
    return [
        [line.decode().partition(" ")[2] for line in trace.lines(rank)]
        for rank in range(trace.ranks)
    ]


def outcome_of(case: Case, directory: Path) -> str:
    """Return the outcome of a case; an assertion fails if the perturbation is ignored."""
    paths = [written(lines, directory / f"{ranks}.tit") for ranks, lines in case.traces.items()]
    made = directory / "made.tit"
    try:
        result = extrapolate(paths, case.target, made)
    except InputError:
        return "refused"
    if result.volumes:  # means, as stated in the summary
        return "fitted"
    for ranks, lines in case.traces.items():
        extrapolate(paths, ranks, made)
        assert read(made) == lines, f"{ranks} ranks were extrapolated otherwise than recorded"
    extrapolate(paths, case.target, made)
    assert read(made) != case.expected, "the perturbation is ignored"
    return "as perturbed"


@pytest.mark.parametrize("seed", range(campaign(9, 300)))
def test_perturbations_are_not_ignored(seed: int, tmp_path: Path) -> None:
    outcome_of(case_of(seed, campaign(QUICK, len(PROGRAMS))), tmp_path)


# floor(8/P) explains a number that one of eight ranks has but none of sixteen.
@pytest.mark.parametrize("seed", [117, 60, 156][: campaign(1, 3)])
def test_perturbations_that_were_once_ignored(seed: int, tmp_path: Path) -> None:
    assert outcome_of(case_of(seed, len(PROGRAMS)), tmp_path) == "refused"


def test_volumes_do_not_fall_below_zero(tmp_path: Path) -> None:
    # One rank of eight computes less; a function of P would be negative for that rank of 32.
    assert outcome_of(case_of(241, len(PROGRAMS)), tmp_path) in ("refused", "fitted")


def test_a_perturbation_that_is_a_function_is_predicted(tmp_path: Path) -> None:
    def lines(ranks: int, count: int) -> Lines:
        own: Lines = [["init", "finalize"] for _ in range(ranks)]
        own[0].insert(1, f"send 1 0 {count}")
        own[1].insert(1, "recv 0 0 8")
        return own

    # 4 (log2 P - 1) is 4, 8 and 12; replacing 12 by 16 turns it into P, in one call of one rank.
    traces = {ranks: lines(ranks, count) for ranks, count in ((4, 4), (8, 8), (16, 16))}
    assert outcome_of(Case(traces, 64, lines(64, 20)), tmp_path) == "as perturbed"
    assert read(tmp_path / "made.tit") == lines(64, 64)
