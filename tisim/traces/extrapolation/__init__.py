"""Extrapolation of a program's traces at several sizes to more ranks than were recorded.

>>> from tisim.traces.extrapolation import extrapolate
>>> extrapolate(["a.16.tit", "b.32.tit", "c.64.tit"], 1024, "big.tit")  # doctest: +SKIP
"""

from tisim.traces.extrapolation.families import extrapolation
from tisim.traces.extrapolation.prediction import Extrapolation, extrapolate

__all__ = ["Extrapolation", "extrapolate", "extrapolation"]
