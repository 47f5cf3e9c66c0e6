"""Draws the pictures that only docs/gallery.md shows: platforms, a calibration.

usage: gallery.py [DIRECTORY]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tisim.commands.cli import main as command_line

ROOT = Path(__file__).resolve().parents[2]


TREE = ["fat-tree", "--nodes", "64", "--radix", "16"]
DRAGONFLY = ["dragonfly", "--nodes", "256", "--groups", "4", "--chassis", "4"]
DRAGONFLY += ["--blades", "4", "--hosts", "4", "--cables", "1,1,1"]
HARDWARE = ["--bandwidth", "10Gbps", "--latency", "1us", "--speed", "1Gf"]
HALO = ["halo3d", "--ranks", "192", "--iterations", "3"]
TRANSPOSE = ["transpose", "--ranks", "64", "--iterations", "2"]


def tisim(*arguments: str | Path) -> None:
    """Run a tisim command in this process."""
    try:
        command_line([str(argument) for argument in arguments])
    except SystemExit as ended:
        if ended.code:
            raise


def draw_loads(directory: Path) -> None:
    """Draw a fat tree and a dragonfly, each with the load of a run."""
    for name, machine, program in (
        ("fat-tree-load.svg", TREE, TRANSPOSE),
        ("dragonfly-load.svg", DRAGONFLY, HALO),
    ):
        with tempfile.TemporaryDirectory() as folder:
            platform, trace, result = (Path(folder) / file for file in ("p.xml", "t.tit", "r.json"))
            tisim("platform", "new", *machine, *HARDWARE, "-o", platform)
            tisim("generate", *program, "-o", trace)
            tisim("replay", "--platform", platform, "--breakdown", "--json", result, trace)
            tisim("platform", platform, "--draw", directory / name, "--load", result)


def main(directory: Path) -> None:
    """Draw the pictures with the command line."""
    tisim("platform", ROOT / "platforms" / "graphene.xml", "--draw", directory / "graphene.svg")
    draw_loads(directory)
    measured = ROOT / "examples" / "calibration"
    files = [measured / "synthetic.csv", "--platform", measured / "nominal.xml"]
    tisim("calibrate", *files, "--plot", directory / "calibration.svg")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "pictures").resolve())
