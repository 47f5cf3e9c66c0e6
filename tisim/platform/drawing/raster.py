"""A drawing as PNG, by matplotlib."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING

from tisim.platform.drawing.canvas import HALO, Area, Canvas, Disc, Shape, Stroke, Words

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# Pixels a point, and at most so many pixels on a side and in all.
_SCALE = 2.0
_LONGEST_SIDE = 8000
_MOST_PIXELS = 12_000_000
_POINTS_AN_INCH = 72.0
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def png(canvas: Canvas) -> bytes:
    """The drawing as a PNG, with two pixels a point; fewer where it would be too large."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width, height = canvas.size()
    scale = pixels_a_point(width, height)
    figure = Figure(figsize=(width / _POINTS_AN_INCH, height / _POINTS_AN_INCH))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    for place, shape in enumerate(canvas.shapes):
        artist = _artist(axes, shape)
        artist.set_zorder(place)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_POINTS_AN_INCH * scale)
    return buffer.getvalue()


def pixels_a_point(width: float, height: float) -> float:
    """Pixels a point of a drawing of so many points, which is bounded in length and area."""
    longest = _LONGEST_SIDE / max(width, height)
    return min(_SCALE, longest, math.sqrt(_MOST_PIXELS / (width * height)))


def _artist(axes: Axes, shape: Shape) -> Artist:
    """The shape on the axes. Widths of lines and sizes of text are points there too."""
    from matplotlib.patches import Circle, PathPatch, Rectangle
    from matplotlib.path import Path
    from matplotlib.patheffects import withStroke

    match shape:
        case Stroke(points=points):
            codes = [Path.MOVETO] + [Path.CURVE3 if shape.curved else Path.LINETO] * (
                len(points) - 1
            )
            path = Path(list(points), codes)
            return axes.add_patch(PathPatch(path, fill=False, ec=shape.colour, lw=shape.width))
        case Disc():
            place = (shape.x, shape.y)
            return axes.add_patch(Circle(place, shape.radius, fc=shape.fill, ec=shape.edge))
        case Area():
            sides = (shape.width, shape.height)
            box = Rectangle((shape.x, shape.y), *sides, fc=shape.fill, ec=shape.edge)
            box.set_linewidth(shape.edge_width)
            return axes.add_patch(box)
        case Words():
            text = axes.text(
                shape.x,
                shape.y,
                shape.text,
                fontsize=shape.size,
                ha=_ANCHORS[shape.anchor],
                va="baseline",
                color=shape.colour,
                fontweight="bold" if shape.bold else "normal",
                parse_math=False,
            )
            if shape.halo:
                text.set_path_effects([withStroke(linewidth=HALO, foreground=shape.halo)])
            return text
