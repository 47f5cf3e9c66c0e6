"""Draws the picture of the README: which changes make NAS LU faster on the graphene cluster?

usage: what_if.py [OUTPUT.svg]
"""

from __future__ import annotations

import sys
from pathlib import Path

import tisim

ROOT = Path(__file__).resolve().parents[2]
FACTORS = (0.5, 1, 2, 4, 8)


def predictions() -> dict[str, list[float]]:
    """Return the simulated seconds of lu.S.4 for each change and factor."""
    trace = tisim.Trace.open(f"{ROOT}/traces/npb.S.tar.xz/lu.S.4")
    platform = tisim.Platform.load(ROOT / "platforms" / "graphene.xml")

    def seconds(change: str, factor: float) -> float:
        scaled = platform.scaled(**{change: f"x{factor}"})
        return tisim.replay(trace, platform=scaled).simulated_time

    return {
        "processors x times as fast": [seconds("speed", f) for f in FACTORS],
        "latencies x times as short": [seconds("latency", 1 / f) for f in FACTORS],
        "bandwidths x times as high": [seconds("bandwidth", f) for f in FACTORS],
    }


def main() -> None:
    """Draw the predictions."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "tisim"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    styles = (("#d55e00", "o", "-"), ("#0072b2", "s", "--"), ("#222222", "^", ":"))
    for (name, times), (colour, marker, line) in zip(predictions().items(), styles, strict=True):
        axes.plot(FACTORS, [1e3 * t for t in times], line, color=colour, marker=marker, label=name)
    axes.set_xscale("log", base=2)
    axes.set_xticks(FACTORS, [f"{f:g}" for f in FACTORS])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("x")
    axes.set_ylabel("predicted time, ms")
    axes.set_title("NAS LU class S on 4 nodes of graphene, if ...")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures" / "what-if.svg"
    figure.savefig(output, metadata={"Date": None})


if __name__ == "__main__":
    main()
