"""More ranks than were recorded: extrapolating traces of one program at several sizes.

>>> from tisim.extrapolation import extrapolate
>>> extrapolate(["a.16.tit", "b.32.tit", "c.64.tit"], 1024, "big.tit")  # doctest: +SKIP
"""

from tisim.extrapolation.extrapolation import Extrapolation, extrapolate
from tisim.extrapolation.families import family

__all__ = ["Extrapolation", "extrapolate", "family"]
