"""Run one case in SimGrid and in tisim and compare the results."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from tests.oracle.cases import Case, run_simgrid
from tests.oracle.simgrid_exec import OracleError

RELATIVE = 1e-6
ABSOLUTE = 1e-9

AGREES = "agrees"
CHAOTIC = "agrees within its sensitivity"
ROUNDING = "is decided by rounding in SimGrid"
ORACLE_FAILED = "SimGrid failed"
TISIM_FAILED = "tisim failed"
DISAGREES = "disagrees"
BAD = (TISIM_FAILED, DISAGREES)


@dataclass(frozen=True)
class Verdict:
    """The outcome of one case.

    Attributes
    ----------
    kind
        One of the constants above.
    worst
        The largest relative difference between the end times of a rank.
    cause
        Why a simulator failed, or which rank differs most.
    sensitivity
        The largest relative change of an end time in SimGrid if one compute volume changes by 1e-6
        instructions; measured only for disagreements.
    rounding
        The same if the latencies of the platform change in their 14th digit (flows of unequal
        weight on a fat pipe, docs/adr/0003-exact-shares.md) or the precision of dates in its 6th
        (events 1e-9 s apart, docs/adr/0012-one-instant.md): then the last bit of a comparison in
        SimGrid decides.
    """

    kind: str
    worst: float = 0.0
    cause: str = ""
    sensitivity: float = 0.0
    rounding: float = 0.0


def difference(ours: list[float], theirs: list[float]) -> tuple[float, int]:
    """Return the largest relative difference beyond `ABSOLUTE` seconds, and its rank."""
    worst, where = 0.0, 0
    for rank, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        gap = abs(a - b)
        relative = 0.0 if gap <= ABSOLUTE else gap / max(abs(b), ABSOLUTE)
        if relative > worst or relative != relative:
            worst, where = relative, rank
    return worst, where


def replay_here(case: Case, directory: Path) -> list[float]:
    """Return the time at which each rank ends in tisim; the case is already in `directory`."""
    import tisim

    result = tisim.replay(
        directory / "traces",
        platform=directory / "platform.xml",
        hosts=list(case.hosts),
        config=dict(case.config),
    )
    return [float(end) for end in result.finish]


def _answer(case: Case, directory: Path, out: Connection) -> None:
    """Send tisim's answer: the end times, or the text of its error."""
    try:
        out.send(replay_here(case, directory))
    except Exception as error:
        out.send(f"{type(error).__name__}: {error}")


def run_tisim(case: Case, directory: Path, *, timeout: float = 60.0) -> list[float] | str:
    """Return the time at which each rank ends in tisim, or why it failed.

    It runs in a separate process, so that crashes and endless simulations are handled.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(case, directory, sender))
    child.start()
    sender.close()
    try:
        if not receiver.poll(timeout):
            return f"no end after {timeout:g} s"
        answer: list[float] | str = receiver.recv()
        return answer
    except EOFError:
        child.join()
        return f"crashed, exit status {child.exitcode}"
    finally:
        child.kill()
        child.join()


def moves(variants: Iterable[Case], ends: list[float], directory: Path) -> float:
    """Return the largest relative change of SimGrid's own end times in variants of a case."""
    worst = 0.0
    for changed in variants:
        moved = run_simgrid(changed, directory)
        gaps = (abs(a - b) / max(abs(b), ABSOLUTE) for a, b in zip(moved, ends, strict=True))
        worst = max(worst, *gaps)
    return worst


def judge(case: Case) -> Verdict:
    """Run a case in both simulators and compare every rank."""
    with tempfile.TemporaryDirectory(prefix="tisim-case-") as name:
        directory = Path(name)
        try:
            theirs = run_simgrid(case, directory)
        except OracleError as error:
            return Verdict(ORACLE_FAILED, cause=str(error))
        ours = run_tisim(case, directory)
        if isinstance(ours, str):
            return Verdict(TISIM_FAILED, cause=ours)
        if len(ours) != len(theirs):
            return Verdict(DISAGREES, cause=f"{len(ours)} ranks instead of {len(theirs)}")
        worst, rank = difference(ours, theirs)
        if worst <= RELATIVE:
            return Verdict(AGREES, worst)
        cause = f"rank {rank}: SimGrid {theirs[rank]!r} s, tisim {ours[rank]!r} s"
        return explain(Verdict(DISAGREES, worst, cause), case, theirs, directory)


def explain(verdict: Verdict, case: Case, ends: list[float], directory: Path) -> Verdict:
    """Distinguish a disagreement from a case in which SimGrid disagrees with itself."""
    try:
        verdict = replace(verdict, sensitivity=moves(case.perturbed(), ends, directory))
        if verdict.worst <= 10 * verdict.sensitivity:
            return replace(verdict, kind=CHAOTIC)
        variants = [*(case.jittered(seed) for seed in range(4)), *case.at_precisions()]
        verdict = replace(verdict, rounding=moves(variants, ends, directory))
    except OracleError as error:
        return replace(verdict, cause=f"{verdict.cause}; a variant failed: {error}")
    return replace(verdict, kind=ROUNDING) if verdict.worst <= 10 * verdict.rounding else verdict
