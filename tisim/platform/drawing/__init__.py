"""Pictures of platforms: fat trees by level, tori as grids, dragonflies as groups, and zones."""

from tisim.platform.drawing.colouring import RunLoad
from tisim.platform.drawing.picture import check_drawing, draw

__all__ = ["RunLoad", "check_drawing", "draw"]
