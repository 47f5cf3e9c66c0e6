"""Draws the pictures of docs/results.md: states of the ranks of NAS LU over time.

usage: results.py [DIRECTORY]
"""

from __future__ import annotations

import sys
from pathlib import Path

import tisim
from tisim.analysis.pictures import draw_gantt

ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    """Draw the whole run, and one and a half iterations of its solver."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    result = tisim.replay(
        ROOT / "traces" / "npb.S.tar.xz" / "lu.S.4",
        platform=ROOT / "platforms" / "graphene.xml",
        event_log=True,
    )
    draw_gantt(result, directory / "lu-gantt.svg")
    draw_gantt(result, directory / "lu-gantt-part.svg", begin=0.0385, end=0.0402)


if __name__ == "__main__":
    main()
