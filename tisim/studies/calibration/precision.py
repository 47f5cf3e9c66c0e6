"""How well the median of repeated times is known."""

from __future__ import annotations

import numpy as np

from tisim.studies.calibration.line import Floats

#: A median is known well if its 95 % interval reaches no farther than this part of it.
WELL_KNOWN = 0.03
#: Times that are known well are to be simulated within this part of them.
AGREEMENT = 0.05


def median_half_width(seconds: Floats) -> float:
    """Half-width of the 95 % confidence interval of the median, relative to the median.

    The interval lies between two order statistics, whatever the distribution of the times
    (Hahn & Meeker, Statistical Intervals, 1991): as many times are below the median as heads come
    up in as many throws.

    Parameters
    ----------
    seconds
        Repeated measurements of one time.

    Returns
    -------
    float
        The farther of both ends from the median; infinite for fewer than 6 times.
    """
    from scipy.stats import binom

    ordered = np.sort(seconds)
    rank = int(binom.ppf(0.025, len(ordered), 0.5))
    if rank < 1:
        return float("inf")
    middle = float(np.median(ordered))
    return max(middle - float(ordered[rank - 1]), float(ordered[-rank]) - middle) / middle
