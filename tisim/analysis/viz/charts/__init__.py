"""Charts as SVG inside pages; colours follow the page, which is dark where the browser is."""

from tisim.analysis.viz.charts.bars import Bar, diverging_bars
from tisim.analysis.viz.charts.curves import Curve, curves, front
from tisim.analysis.viz.charts.heat_map import heat_map

__all__ = ["Bar", "Curve", "curves", "diverging_bars", "front", "heat_map"]
