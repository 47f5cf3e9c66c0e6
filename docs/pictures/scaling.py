"""Draws the pictures of docs/howto/extrapolate.md: time by call site, strong and weak scaling.

usage: scaling.py [DIRECTORY]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tisim import Platform
from tisim.traces.extrapolation.recordings import Recordings
from tisim.traces.extrapolation.scaling import scaling_curves
from tisim.traces.extrapolation.scaling import draw_scaling
from tisim.traces.generate import Halo2D

ROOT = Path(__file__).resolve().parents[2]
SIZES, TARGET = (9, 16, 25), 144
# Flops per iteration: of all ranks together, or of each.
WORK = 4e9


def main() -> None:
    """Extrapolate a halo exchange with noise and draw its times."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    platform = Platform.load(ROOT / "platforms" / "graphene.xml")
    for scaling, shared in (("strong", True), ("weak", False)):
        with tempfile.TemporaryDirectory() as room:
            traces = []
            for ranks in SIZES:
                traces.append(Path(room) / f"{ranks}.tit")
                work = WORK / ranks if shared else WORK / SIZES[0]
                halo = Halo2D(ranks=ranks, compute=work, noise=0.05, allreduce=8, iterations=20)
                halo.write(traces[-1])
            curves = scaling_curves(
                Recordings.read(traces, scaling=scaling), TARGET, platform=platform
            )
        draw_scaling(curves, directory / f"scaling-{scaling}.svg")


if __name__ == "__main__":
    main()
