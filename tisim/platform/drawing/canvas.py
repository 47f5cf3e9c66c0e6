"""Vector shapes, written as SVG, or as PNG by matplotlib."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

FONT = "Helvetica, Arial, sans-serif"
#: Width of the outline around letters, half of which is outside of them, in points.
HALO = 3.0


@dataclass(frozen=True, slots=True)
class Stroke:
    """A polyline; a `curved` one has three points and bends towards the middle one."""

    points: tuple[tuple[float, float], ...]
    colour: str
    width: float
    title: str = ""
    curved: bool = False


@dataclass(frozen=True, slots=True)
class Disc:
    """A circle."""

    x: float
    y: float
    radius: float
    fill: str
    edge: str = "none"
    title: str = ""


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle; (`x`, `y`) is its upper left corner."""

    x: float
    y: float
    width: float
    height: float
    fill: str
    edge: str = "none"
    edge_width: float = 1.0
    title: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text; `anchor` is the part of it that is at `x`: start, middle or end.

    A `halo` is the colour of an outline around its letters that separates them from lines below.
    """

    x: float
    y: float
    text: str
    size: float = 11.0
    anchor: str = "start"
    bold: bool = False
    colour: str = "#222222"
    halo: str = ""


Shape = Stroke | Disc | Area | Text


@dataclass(slots=True)
class Canvas:
    """Drawing area: lengths are in points, y points down, and later shapes cover earlier ones."""

    shapes: list[Shape] = field(default_factory=list)

    def add(self, *shapes: Shape) -> None:
        """Add shapes on top."""
        self.shapes.extend(shapes)

    def size(self) -> tuple[float, float]:
        """Return the width and height of the shapes, from the origin, plus a margin."""
        _, _, right, bottom = bounds(self.shapes)
        return right + 12, bottom + 12

    def svg(self) -> str:
        """Return the drawing as an SVG document."""
        width, height = self.size()
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family={quoteattr(FONT)}>'
        )
        paper = '<rect width="100%" height="100%" fill="#FFFFFF"/>'
        return "\n".join([head, paper, *map(_element, self.shapes), "</svg>\n"])


def text_width(text: str, size: float = 11.0, *, bold: bool = False) -> float:
    """Estimate the width of a line of text in points."""
    return len(text) * size * (0.6 if bold else 0.54)


def bounds(shapes: Iterable[Shape]) -> tuple[float, float, float, float]:
    """Return the bounding box of shapes: left, top, right, bottom."""
    corners = [_corners(shape) for shape in shapes] or [(0.0, 0.0, 0.0, 0.0)]
    lefts, tops, rights, bottoms = zip(*corners, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _corners(shape: Shape) -> tuple[float, float, float, float]:
    match shape:
        case Stroke(points=points):
            xs, ys = zip(*points, strict=True)
            return min(xs), min(ys), max(xs), max(ys)
        case Disc(x=x, y=y, radius=radius):
            return x - radius, y - radius, x + radius, y + radius
        case Area(x=x, y=y, width=width, height=height):
            return x, y, x + width, y + height
        case Text(x=x, y=y, size=size):
            width = text_width(shape.text, size, bold=shape.bold)
            left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[shape.anchor] * width
            return left, y - size, left + width, y + 0.3 * size


def _element(shape: Shape) -> str:
    match shape:
        case Stroke(points=points, curved=curved):
            if curved:
                (x1, y1), (x2, y2), (x3, y3) = points
                way = f"M{x1:.1f} {y1:.1f}Q{x2:.1f} {y2:.1f} {x3:.1f} {y3:.1f}"
            else:
                way = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            look = f'stroke="{shape.colour}" stroke-width="{shape.width:g}"'
            return _titled("path", f'd="{way}" {look} fill="none"', shape.title)
        case Disc():
            place = f'cx="{shape.x:.1f}" cy="{shape.y:.1f}" r="{shape.radius:g}"'
            return _titled("circle", f'{place} fill="{shape.fill}"{_edge(shape.edge)}', shape.title)
        case Area():
            place = (
                f'x="{shape.x:.1f}" y="{shape.y:.1f}" width="{shape.width:.1f}" '
                f'height="{shape.height:.1f}" rx="2"'
            )
            edge = _edge(shape.edge, shape.edge_width)
            return _titled("rect", f'{place} fill="{shape.fill}"{edge}', shape.title)
        case Text():
            look = f'font-size="{shape.size:g}" text-anchor="{shape.anchor}"'
            weight = ' font-weight="bold"' if shape.bold else ""
            place = f'x="{shape.x:.1f}" y="{shape.y:.1f}"'
            halo = ""
            if shape.halo:
                halo = f' paint-order="stroke" stroke="{shape.halo}" stroke-width="{HALO:g}"'
            fill = f'{halo} fill="{shape.colour}"'
            return f"<text {place} {look}{weight}{fill}>{escape(shape.text)}</text>"


def _edge(colour: str, width: float = 1.0) -> str:
    return "" if colour == "none" else f' stroke="{colour}" stroke-width="{width:g}"'


def _titled(tag: str, attributes: str, title: str) -> str:
    if not title:
        return f"<{tag} {attributes}/>"
    return f"<{tag} {attributes}><title>{escape(title)}</title></{tag}>"


def translate(shapes: list[Shape], dx: float, dy: float) -> Iterator[Shape]:
    """Yield the shapes translated by (`dx`, `dy`)."""
    for shape in shapes:
        if isinstance(shape, Stroke):
            yield replace(shape, points=tuple((x + dx, y + dy) for x, y in shape.points))
        else:
            yield replace(shape, x=shape.x + dx, y=shape.y + dy)


# Pixels per point, and maximum number of pixels per side and in total.
_SCALE = 2.0
_MAX_SIDE = 8000
_MAX_PIXELS = 12_000_000
_POINTS_PER_INCH = 72.0
_ANCHORS = {"start": "left", "middle": "center", "end": "right"}


def png(canvas: Canvas) -> bytes:
    """Return the drawing as a PNG with two pixels per point, fewer if it would be too large."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    width, height = canvas.size()
    scale = pixels_per_point(width, height)
    figure = Figure(figsize=(width / _POINTS_PER_INCH, height / _POINTS_PER_INCH))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    for place, shape in enumerate(canvas.shapes):
        artist = _artist(axes, shape)
        artist.set_zorder(place)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=_POINTS_PER_INCH * scale)
    return buffer.getvalue()


def pixels_per_point(width: float, height: float) -> float:
    """Return the pixels per point of a drawing in points, bounded in side length and area."""
    longest = _MAX_SIDE / max(width, height)
    return min(_SCALE, longest, math.sqrt(_MAX_PIXELS / (width * height)))


def _artist(axes: Axes, shape: Shape) -> Artist:
    """Return the shape as an artist of the axes; line widths and text sizes are in points."""
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
        case Text():
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
