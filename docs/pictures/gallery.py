"""Pictures of docs/gallery.md that are not in another document: a platform, a calibration.

usage: gallery.py [DIRECTORY]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


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
    measured = ROOT / "examples" / "calibration"
    files = [measured / "synthetic.csv", "--platform", measured / "nominal.xml"]
    subprocess.run(
        [*tisim, "calibrate", *files, "--plot", directory / "calibration.svg"],
        check=True,
        stdout=subprocess.DEVNULL,
    )


if __name__ == "__main__":
    main()
