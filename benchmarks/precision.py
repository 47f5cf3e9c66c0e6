"""The table of docs/tit.md: size and accuracy of the precision levels of packed traces.

``python -m benchmarks.precision`` packs the traces of ``traces/`` at every level, replays them on
two platforms, and writes the table.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tisim import Platform, replay
from tisim.traces import pack
from tisim.traces.packed import PRECISIONS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tit.md"
BEGIN = "<!-- written by `python -m benchmarks.precision` -->\n"
END = "<!-- end -->\n"
PLATFORMS = ("backbone", "graphene")
TRACES = {
    "lu.S.4": "npb.S.tar.xz/lu.S.4",
    "cg.S.16": "npb.S.tar.xz/cg.S.16",
    "mg.S.16": "npb.S.tar.xz/mg.S.16",
    "is.S.16": "npb.S.tar.xz/is.S.16",
    "lu.A.8": "lu.A.8.tar.xz",
    "cg.A.64": "cg.A.64.tar.xz",
    "mg.A.64": "mg.A.64.tar.xz",
    "is.A.32": "is.A.32.tar.xz",
}


def row_of(name: str, level: str, platforms: dict[str, Platform], times: dict[str, float]) -> str:
    """Return a row of the table; `times` contains the exact trace's times, or receives them."""
    with tempfile.TemporaryDirectory() as directory:
        packed = Path(directory) / "trace.tit"
        pack(ROOT / "traces" / TRACES[name], packed, volumes=level)
        cells = [name, level, f"{packed.stat().st_size:,}"]
        for key, platform in platforms.items():
            time = replay(packed, platform=platform).simulated_time
            exact = times.setdefault(key, time)
            cells.append(
                f"{abs(time - exact) / exact:.1e}" if level != "exact" else f"{time:.6g} s"
            )
    return f"| {' | '.join(cells)} |\n"


def table(names: Iterable[str]) -> str:
    platforms = {key: Platform.load(ROOT / "platforms" / f"{key}.xml") for key in PLATFORMS}
    text = "| trace | volumes | bytes | backbone | graphene |\n|---|---|--:|--:|--:|\n"
    for name in names:
        times: dict[str, float] = {}
        for level in PRECISIONS:
            text += row_of(name, level, platforms, times)
            print(text.splitlines()[-1], file=sys.stderr)
    return text


def main() -> None:
    before, _, rest = PAGE.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(before + BEGIN + "\n" + table(TRACES) + "\n" + END + after)


if __name__ == "__main__":
    main()
