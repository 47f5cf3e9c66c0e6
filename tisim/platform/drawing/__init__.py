"""Platform drawings: fat trees by level, tori as grids, dragonflies as groups, and zones."""

from tisim.platform.drawing.colouring import RunLoad as RunLoad
from tisim.platform.drawing.picture import check_drawing as check_drawing
from tisim.platform.drawing.picture import draw as draw
