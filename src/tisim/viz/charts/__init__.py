"""Charts as SVG inside pages; colours follow the page, which is dark where the browser is."""

from tisim.viz.charts.bars import Bar, diverging_bars
from tisim.viz.charts.curves import Curve, curves, front
from tisim.viz.charts.heat_map import heat_map

__all__ = ["Bar", "Curve", "curves", "diverging_bars", "front", "heat_map"]
