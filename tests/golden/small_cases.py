"""The traces of cases.toml, each with its platform, and when SimGrid says that its ranks end."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class SmallCase:
    """One of them; `origin` and `simulator` say where it and its times come from."""

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
