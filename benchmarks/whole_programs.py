"""Whole programs including computation: predicted from another input or number of ranks, and run.

usage: python -m benchmarks.whole_programs FOLDER [NAME...] [--rounds N] [--again]

FOLDER has the sources of programs as for benchmarks.applications; their `cases` in
applications.toml are two inputs or more. Each program is built twice, as its users build it and
counting its instructions, in copies below FOLDER. For each case, the counting program is recorded
once, which gives volumes without times. In each of N rounds (5) every case is then run unmodified,
and recorded with the counter `time`, in turn. A case is predicted from its own volumes, and the
rates of the regions of the other cases (`calibrate regions`): no time of a run of the case is used.
Cases whose data fit into the last-level cache are predicted from other such cases if there are any,
the others from others; for these, each round also records the first of them with the counter
`cold`. The network within this node is measured once (`benchmark`, `calibrate`).

Results are kept in FOLDER/whole: when started again, the campaign resumes; --again repeats the
measurements. FOLDER/whole/table.md contains all programs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Any, NamedTuple

from benchmarks.applications import programs
from benchmarks.process import ROOT, TISIM, ProgramError, run
from tisim.studies.validation.comparison import quartile_distance
from tisim.traces import Kind, Trace

_CLOCK = Path(__file__).with_name("applications_clock.c")
_PLAIN = {"tisim-cc": "mpicc", "tisim-c++": "mpicxx", "tisim-fc": "mpif90"}
# Ranks are placed on cores round-robin, as in the replay; if there are more ranks than cores,
# waiting ranks yield.
_LAUNCH = ("mpirun", "--oversubscribe", "--bind-to", "core:overload-allowed")
# Minimum fraction of their cores that the ranks of a valid case had: other programs used the rest.
_MIN_SHARE = 0.95
# Maximum interquartile range, relative to the median, of the real times of a valid case and of
# those it is predicted from, as in `tisim validate`.
_NOISY = 0.1
# Cases with larger relative errors are explained.
_LARGE = 0.1
_HEAD = (
    "| program | case | ranks | memory | from | real | smallest | largest | predicted | error "
    "| computing | of its own times | counting | had | noise |",
    "|---|---|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
)


@dataclass(frozen=True)
class Prediction:
    """A case with its prediction and measurements. Times are in seconds.

    Attributes
    ----------
    memory
        Bytes used by all ranks together.
    origins
        Cases whose rates it is predicted from.
    cold
        True if the slowdown of the first origin by cold caches was measured.
    real
        Time from MPI_Init to MPI_Finalize in each round.
    noise
        Maximum interquartile range of these times, and of those of the origins, relative to the
        median.
    had
        Fraction of this time in which the ranks had the cores that they were bound to, in each
        round. Waiting ranks also use them.
    computing
        Processor time between calls, averaged over the ranks: predicted, and the median of the
        recordings with the counter `time`.
    own
        Prediction with these times, those of the case itself.
    bias
        Ratio of the computing time of the counting program.
    """

    program: str
    case: str
    ranks: int
    memory: float
    origins: list[str]
    cold: bool
    real: list[float]
    noise: float
    had: list[float]
    predicted: float
    computing: tuple[float, float]
    own: float
    bias: float

    @property
    def error(self) -> float:
        """The relative error of the predicted time."""
        return self.predicted / median(self.real) - 1

    @property
    def is_counted(self) -> bool:
        """True if the node was idle otherwise, and did not change its speed."""
        return median(self.had) >= _MIN_SHARE and self.noise <= _NOISY

    def row(self) -> str:
        """Return the row of the table, with errors that do not count in parentheses."""
        real = median(self.real)
        times = (f"{seconds:.3f} s" for seconds in (real, min(self.real), max(self.real)))
        computing = self.computing[0] / self.computing[1] - 1
        first, *others = self.origins
        origins = [f"{first} and cold" if self.cold else first, *others]
        memory = f"{self.memory / 1e6:.0f} MB"
        cells = [self.program, self.case, str(self.ranks), memory, ", ".join(origins), *times]
        error = f"{self.error:+.1%}" if self.is_counted else f"({self.error:+.1%})"
        cells += [f"{self.predicted:.3f} s", error, f"{computing:+.1%}"]
        cells += [f"{self.own / real - 1:+.1%}", f"x{self.bias:.2f}" if self.bias else "-"]
        cells += [f"{median(self.had):.0%}", f"{self.noise:.0%}"]
        return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str]) -> int:
    """Run the campaign; return 1 if a program fails."""
    parser = argparse.ArgumentParser(usage=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args(arguments)
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # If the campaign runs in a container.
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    folder = options.folder.resolve()
    results = folder / "whole"
    results.mkdir(exist_ok=True)
    failed = False
    for name, of in programs(folder, options.names):
        kept = results / f"{name}.cases.json"
        if "cases" not in of or (kept.exists() and not options.again):
            continue
        try:
            found = _Campaign(name, of, folder, results).predictions(options.rounds)
            kept.write_text(json.dumps([asdict(one) for one in found], indent=1))
            print(*(one.row() for one in found), sep="\n", flush=True)
        except ProgramError as error:
            failed = True
            print(f"{name}: {error}", flush=True)
    _write_table(results)
    return failed


def _write_table(results: Path) -> None:
    found = [
        Prediction(**one)
        for kept in sorted(results.glob("*.cases.json"))
        for one in json.loads(kept.read_text())
    ]
    if not found:
        return
    counting = [prediction for prediction in found if prediction.is_counted]
    summary = f"{len(found)} cases of {len({one.program for one in found})} programs, "
    summary += _errors(found)
    if 0 < len(counting) < len(found):
        summary += f"; the {len(counting)} that nothing disturbed: {_errors(counting)}"
    table = "\n".join([*_HEAD, *(one.row() for one in found), "", summary])
    (results / "table.md").write_text(f"{table}\n")
    print(summary)


def _errors(predictions: Sequence[Prediction]) -> str:
    errors = [abs(prediction.error) for prediction in predictions]
    return f"median error {median(errors):.1%}, mean {mean(errors):.1%}, worst {max(errors):.1%}"


class _Run(NamedTuple):
    """A run of the unmodified program: from MPI_Init to MPI_Finalize.

    `share` is the fraction of the cores that its ranks had, `memory` is in bytes, over all ranks.
    """

    seconds: float
    share: float
    memory: float


def _last_cache() -> float:
    """Return the bytes of the last-level cache shared by all cores; 0 if unknown."""
    caches = Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")
    return max(
        (float(file.read_text().strip().removesuffix("K")) for file in caches), default=0
    ) * (1 << 10)


class _Campaign:
    """The cases of one program."""

    def __init__(self, name: str, of: Mapping[str, Any], folder: Path, results: Path) -> None:
        self.name, self.of = name, of
        self.folder, self.results = folder, results
        self.cases: dict[str, dict[str, Any]] = of["cases"]
        self.clock = results / "clock.so"
        if not self.clock.exists():
            run(["mpicc", "-shared", "-fPIC", "-O2", "-o", self.clock, _CLOCK, "-lmpi_mpifh"])

    def predictions(self, rounds: int) -> list[Prediction]:
        """Build, record, run and predict all cases."""
        plain = self._built("plain", _PLAIN)
        counted = plain
        counters = ["--counter", "qemu"]
        if "build" in self.of:
            counted = self._built("counted", {})
            counters = ["--counter", "register,time"]
        for case in self.cases:
            self._record(counted, case, self._trace(case, "counted"), *counters, "--call-sites")
        real: dict[str, list[_Run]] = {case: [] for case in self.cases}
        origins: dict[str, list[str]] = {}
        cold: set[str] = set()
        for number in range(rounds):
            for case in self.cases:
                real[case].append(self._real(plain, case))
                trace = self._trace(case, str(number))
                self._record(plain, case, trace, "--counter", "time", "--call-sites")
            if not origins:
                fits = {case: runs[0].memory <= _last_cache() for case, runs in real.items()}
                origins = {case: self._origins(case, fits) for case in self.cases}
                cold = {case for case in origins if not fits[case]}
            for origin in {origins[case][0] for case in cold}:
                trace = self._trace(origin, f"cold.{number}")
                self._record(plain, origin, trace, "--counter", "cold", "--call-sites")
        return [
            self._predicted(case, origins[case], real, rounds, cold=case in cold)
            for case in self.cases
        ]

    def _origins(self, case: str, fits: Mapping[str, bool]) -> list[str]:
        """Return the cases that a case is predicted from, the nearest number of ranks first.

        If there are any, they are cases on the same side of the last-level cache.
        """
        others = self.cases[case].get("from") or [of for of in self.cases if of != case]
        ranks = {of: math.log(self.cases[of]["ranks"]) for of in self.cases}
        chosen = [of for of in others if fits[of] == fits[case]] or others
        return sorted(chosen, key=lambda of: abs(ranks[of] - ranks[case]))

    def _trace(self, case: str, what: str) -> Path:
        return self.results / f"{self.name}.{case}.{what}.tit"

    def _built(self, variant: str, compilers: Mapping[str, str]) -> Path:
        """Return the folder in which a variant of the program runs; it is built once."""
        sources = str(self.of.get("sources", self.name))
        place: Path = self.folder / variant / sources
        inside = place / str(self.of.get("within", ""))
        build = str(self.of.get("build", ""))
        for counting, usual in compilers.items():
            build = build.replace(counting, usual)
        done = self.results / f"{self.name}.{variant}.built"
        if not done.exists() or done.read_text() != build:
            if build and not place.exists():
                shutil.copytree(self.folder / sources, place)
            inside.mkdir(parents=True, exist_ok=True)
            if build:
                run(["sh", "-e", "-c", 'cd "$0" && eval "$1"', inside, build], timeout=1800)
            done.write_text(build)
        return inside

    def _started(self, place: Path, case: str, command: Sequence[str]) -> list[str | Path]:
        """Return the command that starts a case in a folder, after `command`."""
        of = self.cases[case]
        for file, text in of.get("files", {}).items():
            (place / file).write_text(text.removeprefix("\n"))
        words = [*_LAUNCH, "-n", str(of["ranks"])]
        line = " ".join([*command, *words])
        return ["sh", "-e", "-c", 'cd "$0" && eval "$1"', place, f"{line} {of['run']}"]

    def _record(self, place: Path, case: str, trace: Path, *options: str) -> None:
        path = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
        command = [*TISIM, "record", *options, "-o", str(trace), "--"]
        run(self._started(place, case, command), environment=path)

    def _real(self, place: Path, case: str) -> _Run:
        """Run the unmodified program."""
        times = self.results / "clock.txt"
        times.unlink(missing_ok=True)
        loaded = {"LD_PRELOAD": str(self.clock), "TISIM_CLOCK": str(times)}
        # Open MPI forwards the environment; the launcher also loads the library, and calls nothing.
        run(self._started(place, case, []), environment=loaded)
        rows = [[float(word) for word in line.split()] for line in times.read_text().splitlines()]
        if len(rows) != self.cases[case]["ranks"]:
            raise ProgramError(f"{case}: {len(rows)} ranks called MPI_Finalize")
        seconds = max(row[1] for row in rows) - min(row[0] for row in rows)
        cores = min(len(rows), os.cpu_count() or 1)
        share = sum(row[2] for row in rows) / (cores * seconds)
        return _Run(seconds, share, sum(row[3] for row in rows))

    def _predicted(
        self,
        case: str,
        origins: list[str],
        measured: Mapping[str, Sequence[_Run]],
        rounds: int,
        *,
        cold: bool,
    ) -> Prediction:
        real = measured[case]
        runs = {of: [self._trace(of, str(n)) for n in range(rounds)] for of in self.cases}
        first, *further = origins
        times: list[str | Path] = [word for timed in runs[first] for word in ("--times", timed)]
        for of in further:
            counted = self._trace(of, "counted")
            times += [word for timed in runs[of] for word in ("--also", counted, timed)]
        memory = median(run.memory for run in real)
        if cold:
            for number in range(rounds):
                times += ["--cold", self._trace(first, f"cold.{number}")]
            times += ["--cached", f"{_last_cache() / memory:.3f}"]
        output, rates = self._trace(case, "predicted"), self.results / "rates.json"
        volumes: list[str | Path] = [
            "--apply",
            self._trace(case, "counted"),
            "-o",
            output,
            "--json",
            rates,
        ]
        run([*TISIM, "calibrate", "regions", self._trace(first, "counted"), *times, *volumes])
        ranks = int(self.cases[case]["ranks"])
        middle = sorted(runs[case], key=_computing)[rounds // 2]
        found = Prediction(
            self.name,
            case,
            ranks,
            memory,
            origins,
            cold,
            [run.seconds for run in real],
            max(
                quartile_distance([run.seconds for run in measured[of]]) for of in (case, *origins)
            ),
            [run.share for run in real],
            self._replayed(output),
            (_computing(output) / ranks, _computing(middle) / ranks),
            self._replayed(middle),
            json.loads(rates.read_text())["bias"] or 0.0,
        )
        if abs(found.error) > _LARGE:
            self._explain(case)
        return found

    def _replayed(self, trace: Path) -> float:
        result = self.results / "replayed.json"
        run([*TISIM, "replay", *self._platform(), "--json", result, trace])
        return float(json.loads(result.read_text())["simulated_time"])

    def _explain(self, case: str) -> None:
        """Write where another real run differs from its prediction with its own computing."""
        again, timeline = self._trace(case, "again"), self.results / f"{self.name}.{case}.tir"
        plain = self._built("plain", _PLAIN)
        self._record(
            plain, case, again, "--counter", "time", "--times", "--timeline", str(timeline)
        )
        text = run([*TISIM, "explain", *self._platform(), again, timeline]).output
        (self.results / f"{self.name}.{case}.explained.txt").write_text(text)

    def _platform(self) -> list[str | Path]:
        """Return a platform with the cores of this node, measured once, and round-robin ranks."""
        platform, measured = self.results / "here.xml", self.results / "measured.csv"
        cores = str(os.cpu_count() or 1)
        if not platform.exists():
            launch = ["--", "mpirun", "--bind-to", "core", "-n", "2"]
            sizes = ["--largest", "64MiB", "--seconds", "60"]
            run([*TISIM, "benchmark", "--run", *sizes, "-o", measured, *launch])
            node = ["--nodes", "1", "--cores", cores, "--speed", "1Gf", "--sets", "0"]
            run([*TISIM, "calibrate", measured, *node, "-o", platform])
        return ["--platform", platform]


def _computing(trace: Path) -> float:
    """Return the seconds that all ranks of a trace of times compute."""
    opened = Trace.open(trace)
    nanoseconds = 0.0
    for rank in range(opened.ranks):
        for rows in opened.operations(rank, custom_actions=["unsupported"]):
            own = (rows["kind"] == Kind.COMPUTE) & (rows["flags"] == 0)
            nanoseconds += float(rows["amount"][own].sum())
    return nanoseconds * 1e-9


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
