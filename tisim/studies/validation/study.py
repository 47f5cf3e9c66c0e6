"""A study in TOML: its cases, their common settings, and thresholds of errors."""

from __future__ import annotations

import csv
import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import NoReturn

from tisim.analysis.timeline.run_file import RunFile
from tisim.errors import InputError
from tisim.support.reading import read_text, toml_errors


@dataclass(frozen=True)
class Case:
    """One program on one machine."""

    name: str  # unique in the study
    trace: Path  # as for `tisim.Trace.open`
    platform: Path  # platform of the prediction
    group: str = "all"  # cases whose errors are summarised together
    config: Mapping[str, str] = field(default_factory=dict)  # options of the simulation
    # Hosts of the ranks on the platform; if empty, in the platform's order.
    hosts: tuple[str, ...] = ()
    # Number of predictions with different seeds of the simulation's jitter; their median is the
    # prediction.
    seeds: int = 1
    # Number of parameter sets next to the platform that are also used for predictions, to form an
    # interval; 0: none.
    uncertainty: int = 0
    command: tuple[str, ...] = ("mpirun",)  # starts the ranks of an execution
    # compute, speed, repeat, warm_up, time_limit: as in `tisim.studies.execute.execute`
    compute: str = "sleep"
    speed: float = 1e9
    repeat: int = 5
    warm_up: int = 1
    time_limit: float | None = None
    compiler: str | None = None  # the compiler of the MPI library
    # Times of real runs in seconds, if known; then nothing is executed.
    real: tuple[float, ...] = ()
    # Run files of these runs, if their times are from run files.
    real_runs: tuple[Path, ...] = ()


@dataclass(frozen=True)
class RealRun:
    """A real run."""

    ends: tuple[float, ...]  # end of each rank, in seconds
    kinds: Mapping[str, float]  # seconds in calls of each kind, summed over the ranks

    @property
    def time(self) -> float:
        """End of the last rank, in seconds."""
        return max(self.ends)

    @classmethod
    def read(cls, path: Path, ranks: int | None = None) -> RealRun:
        """Read a run file of a real run."""
        import numpy as np

        run = RunFile(path)
        if not run.info["measured"]:
            raise InputError(
                "is the run file of a prediction; 'tisim execute', 'record' and 'import' write run "
                "files of real runs",
                file=path,
            )
        if ranks is not None and run.ranks != ranks:
            raise InputError(f"has {run.ranks} ranks, but the trace has {ranks}", file=path)
        ends = np.zeros(run.ranks)
        kinds = np.zeros(len(run.info["kinds"]))
        for block in range(run.actions.blocks):
            rows = run.actions.read(block)
            np.maximum.at(ends, rows.numbers("rank"), rows.reals("end"))
            seconds = rows.reals("end") - rows.reals("start")
            kinds += np.bincount(rows.numbers("kind"), seconds, len(kinds))
        sums: dict[str, float] = {}
        for name, seconds_of in zip(run.info["kinds"], kinds.tolist(), strict=True):
            if seconds_of > 0.0:
                sums[name] = sums.get(name, 0.0) + seconds_of
        return cls(tuple(ends.tolist()), sums)


# Keys of a case in TOML, the required type, and its name.
_KEYS: dict[str, tuple[type | tuple[type, ...], str]] = {
    **dict.fromkeys(("name", "group", "trace", "platform", "compute", "compiler"), (str, "a text")),
    **dict.fromkeys(("seeds", "uncertainty", "repeat", "warm_up"), (int, "a whole number")),
    **dict.fromkeys(("speed", "time_limit"), ((int, float), "a number")),
    "config": (dict, "a table"),
    "hosts": (list, "a list"),
    "command": (list, "a list of words"),
    "real": (list, "a list of seconds or of run files"),
}
_LISTS = ("hosts", "command", "real")


@dataclass(frozen=True)
class Thresholds:
    """Largest permitted errors, relative to the real time; None: any."""

    # median, mean, worst: of the absolute errors of the cases that count
    median: float | None = None
    mean: float | None = None
    worst: float | None = None


@dataclass(frozen=True)
class Study:
    """Cases, and thresholds of their errors."""

    cases: tuple[Case, ...]  # in the order of the table
    # Thresholds by name of the group; those of all cases are under ``""``.
    thresholds: Mapping[str, Thresholds] = field(default_factory=dict)
    # A case with a larger spread of real times does not count: interquartile range relative to the
    # median.
    noisy: float = 0.1
    large: float = 0.2  # a larger error is explained


def load_study(path: str | PathLike[str]) -> Study:
    """Read a study from a TOML file; its paths are relative to the file.

    Raises
    ------
    InputError
        If the file cannot be read or is not a study.
    """
    file = Path(path)
    text = read_text(file, "this study")
    with toml_errors(file, text):
        content = tomllib.loads(text)
    return _StudyReader(file, content).study()


class _StudyReader:
    """Convert the tables of a file into a study, with errors for invalid content."""

    def __init__(self, file: Path, content: Mapping[str, object]) -> None:
        self._file = file
        self._content = content

    def study(self) -> Study:
        known = {"case", "defaults", "thresholds", "noisy", "large", "real_times"}
        self._check_keys("the study", self._content, known)
        real = self._real_times()
        defaults = self._table("defaults")
        tables = self._content.get("case", [])
        if not isinstance(tables, list) or not tables:
            self._fail("contains no case; a case begins with [[case]]")
        cases = [self._case({**defaults, **table}, real) for table in tables]
        names = [case.name for case in cases]
        for name in names:
            if names.count(name) > 1:
                self._fail(f"has two cases called '{name}'")
        for name in real:
            if name not in names:
                self._fail(f"real_times contains times of '{name}', which is not a case")
        return Study(
            tuple(cases),
            self._thresholds({case.group for case in cases}),
            self._part("noisy", Study.noisy),
            self._part("large", Study.large),
        )

    def _case(self, table: Mapping[str, object], real: Mapping[str, tuple[float, ...]]) -> Case:
        name = str(table.get("name", "without a name"))
        self._check_keys(f"the case '{name}'", table, {*_KEYS})
        for key in ("name", "trace", "platform"):
            if key not in table:
                self._fail(f"the case '{name}' has no {key}")
        values: dict[str, object] = {}
        for key, value in table.items():
            kind, called = _KEYS[key]
            if not isinstance(value, kind) or isinstance(value, bool):
                self._fail(f"the case '{name}': {key} must be {called}, not {value!r}")
            values[key] = tuple(value) if key in _LISTS and isinstance(value, list) else value
        for key in ("trace", "platform"):
            values[key] = self._file.parent / str(values[key])
        if isinstance(config := values.get("config"), dict):
            values["config"] = {option: str(value) for option, value in config.items()}
        if name in real:
            values["real"] = real[name]
        elif "real" in table:
            values.update(self._real_runs(name, values["real"]))
        case = dataclasses.replace(Case(name, Path(), Path()), **values)  # type: ignore[arg-type]
        if not all(isinstance(time, int | float) and time > 0 for time in case.real):
            self._fail(f"the case '{name}': real times must be positive numbers of seconds")
        if case.seeds < 1:
            self._fail(f"the case '{name}': seeds must be at least 1")
        if case.uncertainty < 0 or case.uncertainty == 1:
            self._fail(f"the case '{name}': uncertainty must be 0, or at least 2")
        return case

    def _real_runs(self, name: str, real: object) -> Mapping[str, object]:
        """Return the real runs of a case: their times, or run files that contain them."""
        assert isinstance(real, tuple)
        if not real:
            self._fail(f"the case '{name}': real is empty; omit it to execute the case")
        files = [self._file.parent / file for file in real if isinstance(file, str)]
        if not files:
            return {}
        if len(files) != len(real):
            self._fail(f"the case '{name}': real must contain either seconds or run files")
        times = tuple(RealRun.read(file).time for file in files)
        return {"real": times, "real_runs": tuple(files)}

    def _real_times(self) -> dict[str, tuple[float, ...]]:
        """Return the times of a CSV file, by case."""
        name = self._content.get("real_times")
        if name is None:
            return {}
        path = self._file.parent / str(name)
        times: dict[str, list[float]] = {}
        rows = csv.DictReader(read_text(path, "these real times").splitlines())
        try:
            if not {"case", "seconds"} <= {*(rows.fieldnames or ())}:
                raise InputError("needs the columns case and seconds", file=path)
            for row in rows:
                times.setdefault(row["case"], []).append(float(row["seconds"]))
        except csv.Error as error:
            raise InputError(f"is not a table: {error}", file=path, line=rows.line_num) from None
        except (TypeError, ValueError):
            raise InputError("expected a time in seconds", file=path, line=rows.line_num) from None
        return {case: tuple(seconds) for case, seconds in times.items()}

    def _thresholds(self, groups: set[str]) -> dict[str, Thresholds]:
        table = self._table("thresholds")
        own = {key: value for key, value in table.items() if not isinstance(value, dict)}
        found = {"": self._threshold("thresholds", own)} if own else {}
        for group, value in table.items():
            if not isinstance(value, dict):
                continue
            if group not in groups:
                self._fail(f"has thresholds for '{group}', but no case is in that group")
            found[group] = self._threshold(f"thresholds.{group}", value)
        return found

    def _threshold(self, name: str, table: Mapping[str, object]) -> Thresholds:
        self._check_keys(name, table, {"median", "mean", "worst"})
        return Thresholds(**{key: self._number(f"{name}.{key}", table[key]) for key in table})

    def _table(self, name: str) -> Mapping[str, object]:
        table = self._content.get(name, {})
        if not isinstance(table, dict):
            self._fail(f"{name} must be a table")
        return table

    def _part(self, name: str, otherwise: float) -> float:
        return self._number(name, self._content.get(name, otherwise))

    def _number(self, name: str, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            self._fail(f"{name} must be a fraction such as 0.1, not {value!r}")
        return float(value)

    def _check_keys(self, what: str, table: Mapping[str, object], known: set[str]) -> None:
        from difflib import get_close_matches

        for key in table:
            if key not in known:
                near = get_close_matches(key, known, n=1)
                hint = f"; did you mean {near[0]}?" if near else ""
                self._fail(f"{what} has no key '{key}'{hint}")

    def _fail(self, message: str) -> NoReturn:
        raise InputError(message, file=self._file)
