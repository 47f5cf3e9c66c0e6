"""Replay with many sets of parameters, and the file that stores these sets."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tisim.errors import InputError, TisimError
from tisim.platform.host_properties import speed_deviation
from tisim.platform.trust import SETS_SUFFIX, interval_text, other_platform
from tisim.studies.uncertainty.validated import (
    Shares,
    Validated,
    from_columns,
    likely_ratios,
    quantile,
    shipped_programs,
    to_columns,
)
from tisim.support.files import write_file
from tisim.support.reading import parse_json, read_text
from tisim.traces.spread import deviation_of

if TYPE_CHECKING:
    from tisim.config import Config
    from tisim.platform import Platform
    from tisim.platform.deployment import Deployment
    from tisim.traces import Trace

#: Fraction of the simulated times that an interval contains.
LEVEL = 0.9
# Minimum relative half-width, whatever the errors of validated programs: the time of computations
# is uncertain, too.
_MIN_ERROR = 0.01


@dataclass(frozen=True)
class Interval:
    """Simulated times with several sets of parameters, and an interval for the real time."""

    # low, high: in seconds; contain 90 % of the likely times
    low: float
    high: float
    times: tuple[float, ...]  # simulated times, in seconds
    seed: int  # of the choice among the sets
    cases: int = 0  # number of validated programs whose errors are included
    varied: str = "parameter sets"  # what varies between replays; empty: nothing
    elsewhere: int = 0  # number of these programs that were validated on other platforms

    @classmethod
    def of(
        cls,
        times: tuple[float, ...],
        seed: int,
        programs: Sequence[Validated] = (),
        shares: Shares | None = None,
        *,
        varied: str = "parameter sets",
        elsewhere: int = 0,
    ) -> Interval:
        """Return the interval of some times, including the errors of validated programs.

        The errors of programs that were not used for the calibration cover what the parameters do
        not (conformal prediction; Vovk, Gammerman and Shafer, Springer, 2005). Programs similar to
        the one at hand weigh more (Guan, Biometrika 110, 2023): `shares` are the fractions of its
        simulated time by kind (`validated.py`); None: unknown, and all programs weigh the same.
        """
        spread = np.array(times)
        tails = (1 - LEVEL) / 2, (1 + LEVEL) / 2
        if programs:
            ratios, weights = likely_ratios(programs, shares or {})
            spread = np.multiply.outer(spread, ratios).ravel()
            weights = np.tile(weights, len(times))
            low, high = (quantile(spread, weights, level) for level in tails)
            middle = float(np.median(times))
            low = min(low, (1 - _MIN_ERROR) * middle)
            high = max(high, (1 + _MIN_ERROR) * middle)
        else:
            low, high = map(float, np.quantile(spread, tails))
        return cls(low, high, times, seed, len(programs), varied, elsewhere)

    def holds(self, seconds: float) -> bool:
        """Return whether the interval contains a time."""
        return self.low <= seconds <= self.high

    def score(self, seconds: float) -> float:
        """Return the relative interval score of a real time (Gneiting and Raftery, JASA 102, 2007).

        It is the width, plus twenty times the distance of the time from the interval.
        """
        missed = max(self.low - seconds, seconds - self.high, 0.0)
        return (self.high - self.low + 2 / (1 - LEVEL) * missed) / seconds

    def text(self) -> str:
        """Return the interval in words, such as ``3.7 s to 4.1 s with 20 parameter sets``."""
        varied = [f"{len(self.times)} {self.varied}"] * bool(self.varied)
        own = self.cases - self.elsewhere
        counts = [f"{own} programs validated on it"] * bool(own)
        counts += [f"{self.elsewhere} programs validated on other platforms"] * bool(self.elsewhere)
        errors = [f"the errors of {' and '.join(counts)}"] * bool(self.cases)
        return f"{interval_text(self.low, self.high)} with {' and '.join([*varied, *errors])}"

    def to_dict(self) -> dict[str, object]:
        """Return the interval as plain numbers, for JSON."""
        return {
            "level": LEVEL,
            "low_s": self.low,
            "high_s": self.high,
            "times_s": list(self.times),
            "seed": self.seed,
            "validated_programs": self.cases,
            "validated_elsewhere": self.elsewhere,
            "varied": self.varied,
        }


def replay_with_sets(
    trace: Trace | str | os.PathLike[str],
    sets: ParameterSets | None,
    count: int,
    *,
    platform: Platform,
    deployment: Deployment | None = None,
    config: Config | Mapping[str, object] | None = None,
    ranks: int | None = None,
    shares: Shares | None = None,
    seed: int = 0,
    progress: bool = True,
    workers: int | None = None,
) -> Interval:
    """Replay a trace with some sets of parameters, on all cores.

    Fitted volumes of an extrapolated trace are also drawn anew for each replay, and those of a
    trace that was recorded several times, all alike, from a normal distribution with the same
    deviation. So is the speed of the hosts, all alike, if they have the property
    ``tisim/speed-deviation``. The errors of programs that were validated on the platform are
    included, as are those shipped with tisim (`shipped_programs`).

    Parameters
    ----------
    trace, platform, deployment, config, ranks
        As for `tisim.replay`. The options of a set override those of the platform, and `config`
        overrides both.
    sets
        From `ParameterSets.beside` or `tisim.studies.uncertainty.bootstrap.draw_sets`. None: the
        platform was not calibrated.
    count
        Number of replays, each with a different set; all sets if there are fewer.
    shares
        Fractions of the simulated time by kind (`CriticalPath.shares`), to weigh the errors of
        programs by their similarity.
    seed
        Random seed for the choice among the sets.
    progress
        Whether to show a progress bar.
    workers
        Number of processes; all cores by default.

    Raises
    ------
    InputError
        If `count` is less than 2, or an input is invalid for `tisim.replay`.
    TisimError
        If a replay fails.
    """
    from tisim.config import Config
    from tisim.studies.sweep import sweep
    from tisim.traces import Trace

    if count < 2:
        raise InputError(f"an interval needs at least 2 replays, not {count}")
    opened = trace if isinstance(trace, Trace) else Trace.open(trace)
    made = opened.extrapolated
    fitted = made is not None and bool(made.volumes)
    volumes, speeds = deviation_of(opened) or 0.0, speed_deviation(platform)
    deviation = math.hypot(volumes, speeds)
    draws = fitted or deviation > 0.0
    if sets is None and not draws:
        count = 1  # all would be equal
    all_sets: Sequence[Mapping[str, str]] = ({},) * count if sets is None else sets.sets
    if draws:  # each set equally often, so that the number of replays is `count`
        all_sets = [all_sets[number % len(all_sets)] for number in range(count)]
    random = np.random.default_rng(seed)
    chosen = random.permutation(len(all_sets))[:count]
    fixed = Config(config) if not isinstance(config, Config) else config
    # Options set by the user are not varied.
    points = []
    for number in sorted(chosen.tolist()):
        # The seed has an effect if the configuration has a jitter of starts or sizes.
        varied = {**all_sets[number], "tisim/jitter-seed": str(number + 1)}
        if fitted:
            varied["tisim/volume-seed"] = str(seed * count + number + 1)
        if deviation > 0.0:  # larger volumes are equivalent to slower hosts
            varied["speed"] = f"x{np.exp(deviation * random.standard_normal()):.9g}"
        points.append({key: value for key, value in varied.items() if key not in fixed})
    frame = sweep(
        opened,
        platform=platform,
        vary=points,
        deployment=deployment,
        config=fixed,
        ranks=ranks,
        progress=progress,
        workers=workers,
    )
    failed = frame["error"].dropna()
    if len(failed):
        raise TisimError(f"a replay with another parameter set failed: {failed.iloc[0]}")
    words = ["parameter sets"] * (sets is not None)
    words += ["draws of volumes"] * (fitted or volumes > 0.0)
    words += ["draws of the hosts' speed"] * (speeds > 0.0)
    times = tuple(float(t) for t in frame["simulated_time"])
    own = sets.validated if sets is not None else ()
    shipped = shipped_programs()
    return Interval.of(
        times,
        seed,
        (*own, *shipped),
        shares,
        varied=" and ".join(words),
        elsewhere=len(shipped),
    )


@dataclass(frozen=True)
class ParameterSets:
    """Complete sets of options, all equally likely."""

    seed: int  # of the random numbers that they were drawn with
    sets: tuple[Mapping[str, str], ...]  # options and their values
    # Errors that the parameters do not explain: those of predictions that `tisim validate` compared
    # on this platform.
    validated: tuple[Validated, ...] = ()
    measured: tuple[str, ...] = ()  # files of the calibration's measurements
    # Options of the calibrated platform.
    options: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def path_beside(platform: str | os.PathLike[str]) -> Path:
        """Return the path of the sets of a platform: ``x.sets.json`` for ``x.xml``."""
        return Path(platform).with_suffix(SETS_SUFFIX)

    def write(self, platform: str | os.PathLike[str]) -> Path:
        """Write the sets next to a platform file; return the path.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        path = self.path_beside(platform)
        content = {
            "seed": self.seed,
            "sets": [dict(draw) for draw in self.sets],
            **to_columns(self.validated),
            "measured": [*self.measured],
            "options": dict(self.options),
        }
        write_file(path, json.dumps(content, indent=1) + "\n")
        return path

    @classmethod
    def beside(cls, platform: str | os.PathLike[str]) -> ParameterSets:
        """Read the sets next to a platform file.

        Raises
        ------
        InputError
            If there are none, or the file has another format or belongs to another platform.
        """
        path = cls.path_beside(platform)
        if not path.exists():
            raise InputError(
                f"no parameter sets next to the platform {os.fspath(platform)}: 'tisim calibrate "
                "measured.csv -o calibrated.xml' writes a platform with such sets, and 'tisim "
                "platform new KIND --calibrated calibrated.xml' other platforms with them"
            )
        found = parse_json(read_text(path, "these parameter sets"), path)
        content: Mapping[str, object] = found if isinstance(found, dict) else {}
        sets = content.get("sets")
        seed = content.get("seed", 0)
        validated = from_columns(content)
        if (
            not isinstance(sets, list)
            or not sets
            or not all(isinstance(draw, dict) for draw in sets)
            or not all(
                isinstance(text, str) for draw in sets for item in draw.items() for text in item
            )
            or validated is None
            or not isinstance(seed, int)
        ):
            raise InputError(
                "not a file of parameter sets; calibrate again to write one", file=path
            )
        other = other_platform(Path(platform), content)
        if other is not None:
            raise InputError(other, file=path)
        measured = content.get("measured")
        options = content.get("options")
        return cls(
            seed,
            tuple(sets),
            validated,
            tuple(map(str, measured)) if isinstance(measured, list) else (),
            options if isinstance(options, dict) else {},
        )
