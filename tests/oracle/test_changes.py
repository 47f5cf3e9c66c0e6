"""Speeds, bandwidths and latencies that change: tisim and SimGrid, live, every rank."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tests.campaign import campaign
from tests.oracle.cases import LATENCY, Case, run_simgrid
from tests.oracle.compare import RELATIVE, difference, replay_here
from tests.oracle.simgrid_exec import OracleError
from tisim.support.quantities import parse_bandwidth

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("seed", range(campaign(6, 40)))
@pytest.mark.parametrize(
    "kinds", [("speed",), ("bandwidth",), ("latency",), ("speed", "bandwidth", "latency")], ids=len
)
def test_changes_under_way(kinds: tuple[str, ...], seed: int, tmp_path: Path) -> None:
    """Any program, on platforms of all kinds that have hosts and links of their own."""
    case = Case.draw(
        seed, families=("full", "floyd", "zones", "nested"), selectors=("default", "ompi")
    )
    case.write(tmp_path)
    plain = replay_here(case, tmp_path)
    changing, profiles = with_profiles(case, seed, kinds, max(plain))
    for name, text in profiles.items():
        (tmp_path / name).write_text(text)
    try:
        theirs = run_simgrid(changing, tmp_path)
    except OracleError as error:  # a weight that rounding makes negative stops it
        pytest.skip(f"SimGrid cannot run it: {error}")
    worst, rank = difference(replay_here(changing, tmp_path), theirs)
    assert worst <= RELATIVE, f"rank {rank} of {changing.label}"


HEADER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="w" routing="Full">
"""
#: How far each may go from the platform's own.
RANGES = {"speed": (0.2, 1.5), "bandwidth": (0.2, 2), "latency": (0.1, 5)}


@dataclass
class _Author:
    """Writes profiles of the quantities in `kinds`, whose dates are up to `end`."""

    rng: random.Random
    kinds: tuple[str, ...]
    end: float
    profiles: dict[str, str] = field(default_factory=dict)

    def files(self, bases: dict[str, float]) -> str:
        """Attributes that name profiles of quantities around these."""
        return "".join(self._file(kind, base) for kind, base in bases.items())

    def _file(self, kind: str, base: float) -> str:
        """An attribute that names a profile, most often."""
        rng = self.rng
        if kind not in self.kinds or rng.random() < 0.3:
            return ""
        low, high = RANGES[kind]
        dates = sorted(rng.uniform(0, self.end) for _ in range(rng.randint(1, 4)))
        lines = [f"{date!r} {base * rng.uniform(low, high)!r}\n" for date in dates]
        if rng.random() < 0.25:
            lines.insert(0, f"PERIODICITY {dates[-1] + rng.uniform(self.end / 50, self.end)!r}\n")
        elif rng.random() < 0.33:
            lines.append(f"LOOPAFTER {rng.uniform(self.end / 50, self.end)!r}\n")
        name = f"profile-{len(self.profiles)}"
        self.profiles[name] = "".join(lines)
        return f' {kind}_file="{name}"'


def with_profiles(
    case: Case, seed: int, kinds: tuple[str, ...], end: float
) -> tuple[Case, dict[str, str]]:
    """A case of the campaign with short latencies, whose platform names profiles; and these files.

    `kinds` among speed, bandwidth and latency change, up to the date `end` in seconds.
    """
    rng = random.Random(seed)
    author = _Author(rng, kinds, end)
    platform = LATENCY.sub(
        lambda match: f'{match[1]}="{rng.uniform(0.5, 1.5) * 1e-8!r}s"', case.platform
    )

    def add(bases: Callable[[str], dict[str, float]]) -> Callable[[re.Match[str]], str]:
        return lambda match: match[1] + author.files(bases(match[1])) + match[2]

    def of_link(text: str) -> dict[str, float]:
        bandwidth = re.search(r'bandwidth="([^"]+)"', text)
        return {
            "bandwidth": parse_bandwidth(bandwidth[1], "it") if bandwidth else 1,
            "latency": 1e-8,
        }

    platform = re.sub(r"(<host [^>]*?)(/?>)", add(lambda _: {"speed": 1.0}), platform)
    platform = re.sub(r"(<link [^>]*?)(/?>)", add(of_link), platform)
    return replace(case, platform=platform), author.profiles
