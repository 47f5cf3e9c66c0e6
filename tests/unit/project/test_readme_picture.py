"""The picture of the README is what its script draws from the simulator."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_picture_is_drawn_again(root: Path, tmp_path: Path) -> None:
    script = root / "docs" / "pictures" / "what_if.py"
    output = tmp_path / "what-if.svg"
    subprocess.run([sys.executable, str(script), str(output)], check=True, timeout=300)
    assert output.read_text().startswith("<?xml")
    assert "docs/pictures/what-if.svg" in (root / "README.md").read_text()


def test_latency_helps_lu_most(root: Path) -> None:
    code = (
        "import what_if as w\n"
        "p = w.predictions()\n"
        "fastest = min(p, key=lambda name: p[name][-1])\n"
        "assert fastest == 'latencies x times as short', p\n"
        "assert all(a > b for times in p.values() for a, b in zip(times, times[1:])), p\n"
    )
    pictures = root / "docs" / "pictures"
    subprocess.run([sys.executable, "-c", code], cwd=pictures, check=True, timeout=300)
