"""Compare tisim with SimGrid on many random cases: ``make verify CASES=2000 SEED=1``.

Each case is drawn from its own seed. A case that disagrees is shrunk and written, with both
answers, to ``build/verify/<number>/``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path

from tests.oracle import simgrid_exec
from tests.oracle.cases import Case
from tests.oracle.compare import AGREES, BAD, ORACLE_FAILED, Verdict, judge
from tests.oracle.platforms.families import FAMILIES
from tests.oracle.programs.call_programs import CallAuthor, GivingUpAuthor, draw_calls
from tests.oracle.programs.configs import SELECTORS
from tests.oracle.wide import draw_wide

#: Distance between the first cases of consecutive seeds.
STRIDE = 1_000_000


@dataclass(frozen=True)
class Plan:
    """The cases that a campaign draws."""

    families: tuple[str, ...]
    selectors: tuple[str, ...]
    out: Path
    wide: bool = False

    def case(self, number: int) -> Case:
        """Return the case of a number: one in four uses calls that SimGrid's traces lack.

        Half of these cancel or free requests. With `wide`, all cases are of rarer forms.
        """
        if self.wide:
            return draw_wide(number, selectors=self.selectors)
        if number % 4 < 3:
            return Case.draw(number, families=self.families, selectors=self.selectors)
        author = GivingUpAuthor if number % 8 == 7 else CallAuthor
        return draw_calls(number, families=self.families, selectors=self.selectors, author=author)


def examine(plan: Plan, number: int) -> tuple[int, str, Verdict]:
    """Judge one case; shrink and record it if the simulators disagree."""
    case = plan.case(number)
    verdict = judge(case)
    if verdict.kind in BAD:
        small = Shrinker(lambda other: judge(other).kind == verdict.kind).shrink(case)
        record(small, judge(small), plan.out / str(number))
    return number, case.label, verdict


def record(case: Case, verdict: Verdict, directory: Path) -> None:
    """Write a shrunk case, and how to run it, to a directory."""
    case.write(directory)
    options = " ".join(f"{key}:{value}" for key, value in case.config.items())
    (directory / "README").write_text(
        f"Shrunk from {case.label}.\n"
        f"{verdict.kind}: {verdict.cause}\n"
        f"relative difference {verdict.worst:.3g}, sensitivity {verdict.sensitivity:.3g}, "
        f"rounding {verdict.rounding:.3g}\n\n"
        f"python -m tests.oracle.simgrid_exec {directory}/platform.xml {directory}/hosts "
        f"{directory}/traces {options}\n"
    )


def summary(outcomes: Sequence[tuple[int, str, Verdict]], out: Path) -> str:
    """Return a summary of the outcomes in a few lines."""
    verdicts = [verdict for _, _, verdict in outcomes]
    kinds = Counter(verdict.kind for verdict in verdicts)
    causes = Counter(verdict.cause for verdict in verdicts if verdict.kind == ORACLE_FAILED)
    lines = [f"{count:6d}  {kind}" for kind, count in kinds.most_common()]
    lines += [f"{count:6d}    because: {cause}" for cause, count in causes.most_common()]
    lines += [
        f"{verdict.kind}: {label}: {verdict.cause} -> {out / str(number)}"
        for number, label, verdict in outcomes
        if verdict.kind in BAD
    ]
    worst = max((v.worst for v in verdicts if v.kind == AGREES), default=0.0)
    return "\n".join(
        [*lines, f"largest relative difference, beyond 1e-9 s, of those that agree: {worst:.2g}"]
    )


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="campaign", description=__doc__)
    parser.add_argument("--cases", type=int, default=200, help="how many cases")
    parser.add_argument("--seed", type=int, default=1, help="which cases")
    parser.add_argument("--families", default=",".join(FAMILIES), help="kinds of platform")
    parser.add_argument("--selectors", default=",".join(SELECTORS), help="collective selectors")
    parser.add_argument("--wide", action="store_true", help="rarer forms, of all families")
    parser.add_argument("--out", type=Path, default=Path("build/verify"), help="directory")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Run a campaign; return exit status 1 if a case disagrees."""
    chosen = arguments(words)
    if reason := simgrid_exec.missing():
        print(f"campaign: {reason}", file=sys.stderr)
        return 2
    families, selectors = chosen.families.split(","), chosen.selectors.split(",")
    plan = Plan(tuple(families), tuple(selectors), chosen.out, chosen.wide)
    plan.out.mkdir(parents=True, exist_ok=True)
    simgrid_exec.program()
    numbers = range(chosen.seed * STRIDE, chosen.seed * STRIDE + chosen.cases)
    outcomes = []
    with ProcessPoolExecutor(chosen.jobs) as pool:
        futures = [pool.submit(examine, plan, number) for number in numbers]
        for done, future in enumerate(as_completed(futures), 1):
            outcomes.append(future.result())
            if done % 100 == 0:
                print(f"{done} of {len(numbers)}", flush=True)
    print(summary(outcomes, plan.out))
    return any(verdict.kind in BAD for _, _, verdict in outcomes)


if __name__ == "__main__":
    sys.exit(main())


#: Options that SimGrid uses only with a model other than SMPI's, and tisim with any model: without
#: the model, the simulators would disagree for a different reason than the one examined.
WITH_MODEL = {"network/model": ("network/latency-factor", "network/bandwidth-factor")}


class Shrinker:
    """Drops parts of a case as long as `holds` stays true.

    Parameters
    ----------
    holds
        The property to keep, such as "the two simulators disagree".
    budget
        Maximum number of evaluations.
    """

    def __init__(self, holds: Callable[[Case], bool], budget: int = 300) -> None:
        self.holds = holds
        self.budget = budget

    def accepts(self, case: Case) -> bool:
        if self.budget <= 0:
            return False
        self.budget -= 1
        return self.holds(case)

    def shrink(self, case: Case) -> Case:
        """Return the smallest case found, from which no further part can be dropped."""
        while self.budget > 0:
            smaller = self.drop_config(self.drop_ranks(self.drop_events(case)))
            if smaller == case:
                break
            case = smaller
        return case

    def drop_events(self, case: Case) -> Case:
        """Drop sequences of events, long ones first."""
        events = case.program.events()
        length = max(1, len(events) // 2)
        while length >= 1:
            start = 0
            while start < len(events):
                kept = events[:start] + events[start + length :]
                smaller = replace(case, program=case.program.keep(kept))
                if self.accepts(smaller):
                    case, events = smaller, kept
                else:
                    start += length
            length //= 2
        return case

    def drop_ranks(self, case: Case) -> Case:
        for rank in reversed(range(case.program.ranks)):
            if case.program.ranks > 1:
                smaller = case.without_rank(rank)
                if self.accepts(smaller):
                    case = smaller
        return case

    def drop_config(self, case: Case) -> Case:
        for key in list(case.config):
            dropped = (key, *WITH_MODEL.get(key, ()))
            config = {other: value for other, value in case.config.items() if other not in dropped}
            smaller = replace(case, config=config)
            if self.accepts(smaller):
                case = smaller
        return case
