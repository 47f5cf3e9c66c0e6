"""Pictures of docs/gallery.md that are not in another document: platforms, a calibration.

usage: gallery.py [DIRECTORY]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


TREE = ["fat-tree", "--nodes", "64", "--radix", "16"]
DRAGONFLY = ["dragonfly", "--nodes", "256", "--groups", "4", "--chassis", "4"]
DRAGONFLY += ["--blades", "4", "--hosts", "4", "--cables", "1,1,1"]
HARDWARE = ["--bandwidth", "10Gbps", "--latency", "1us", "--speed", "1Gf"]
HALO = ["halo3d", "--ranks", "192", "--iterations", "3"]
TRANSPOSE = ["transpose", "--ranks", "64", "--iterations", "2"]


def draw_loads(tisim: list[str], directory: Path) -> None:
    """Draw a fat tree and a dragonfly with the load of a run each."""
    for name, machine, program in (
        ("fat-tree-load.svg", TREE, TRANSPOSE),
        ("dragonfly-load.svg", DRAGONFLY, HALO),
    ):
        with tempfile.TemporaryDirectory() as folder:
            for arguments in (
                ["platform", "new", *machine, *HARDWARE, "-o", "p.xml"],
                ["generate", *program, "-o", "t.tit"],
                ["replay", "--platform", "p.xml", "--breakdown", "--json", "r.json", "t.tit"],
                ["platform", "p.xml", "--draw", directory / name, "--load", "r.json"],
            ):
                subprocess.run(
                    [*tisim, *arguments], check=True, cwd=folder, stdout=subprocess.DEVNULL
                )


def main() -> None:
    """Draw them as the command line does."""
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "pictures").resolve()
    tisim = [sys.executable, "-m", "tisim"]
    graphene = ROOT / "platforms" / "graphene.xml"
    subprocess.run(
        [*tisim, "platform", graphene, "--draw", directory / "graphene.svg"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    draw_loads(tisim, directory)
    measured = ROOT / "examples" / "calibration"
    files = [measured / "synthetic.csv", "--platform", measured / "nominal.xml"]
    subprocess.run(
        [*tisim, "calibrate", *files, "--plot", directory / "calibration.svg"],
        check=True,
        stdout=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    main()
