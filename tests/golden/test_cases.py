"""Small cases that test single details: every rank ends at SimGrid's time (README.md)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

import tisim


@dataclass(frozen=True)
class SmallCase:
    """A case; `origin` and `simulator` are the sources of the case and of its times."""

    name: str
    origin: str
    simulator: str
    hosts: list[str]
    ends: list[float]
    config: dict[str, str]
    platform: str
    trace: str

    def write(self, directory: Path) -> tuple[Path, Path]:
        """Write the trace and the platform into a directory, and return their paths."""
        trace, platform = directory / "trace.txt", directory / "platform.xml"
        trace.write_text(self.trace)
        platform.write_text(self.platform)
        return trace, platform


CASES = [
    SmallCase(name=name, **table)
    for name, table in tomllib.loads(
        (Path(__file__).resolve().parent / "cases.toml").read_text()
    ).items()
]


RELATIVE = 1e-6
ABSOLUTE = 1e-9  # seconds


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_rank_ends_when_simgrid_says(case: SmallCase, tmp_path: Path) -> None:
    trace, platform = case.write(tmp_path)
    result = tisim.replay(trace, platform=platform, hosts=case.hosts, config=case.config)
    assert result.finish.tolist() == pytest.approx(case.ends, rel=RELATIVE, abs=ABSOLUTE)
