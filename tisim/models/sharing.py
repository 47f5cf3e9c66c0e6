r"""Max-min fair shares by progressive filling.

Variable :math:`i` represents :math:`n_i` flows of equal share :math:`\rho_i`, penalty :math:`p_i`
and bound :math:`b_i` (infinite: none); it loads link :math:`l` with the weight :math:`w_{il}`.
Shares are feasible if

.. math::

   \sum_i w_{il} n_i \rho_i \le C_l \text{ (shared link)}, \quad
   w_{il} \rho_i \le C_l \text{ (fat pipe, each } i), \quad \rho_i \le b_i .

The max-min fair shares maximise the smallest level :math:`p_i \rho_i`, then the second smallest,
and so on (Bertsekas and Gallager, *Data Networks*, 1992, section 6.5). Progressive filling raises
one level for all open variables until a link is full, at

.. math::

   \ell_l = \frac{C_l - \sum_{i\ \mathrm{fixed}} w_{il} n_i \rho_i}
                 {\sum_{i\ \mathrm{open}} w_{il} n_i / p_i},

or a variable reaches its bound, at :math:`p_i b_i`; it fixes the variables limited there and
continues. The weights and the thresholds are those of SimGrid 3.32 (Velho et al., ACM TOMACS 23(4),
2013; ``kernel/lmm/maxmin.cpp``); ADR 3 explains why rounding decides on fat pipes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]

# Links are full together if their levels differ by less than a thousand roundings.
_SAME_LEVEL = 1e-13


@dataclass(slots=True)
class Sharing:
    """One system of inequations.

    Attributes
    ----------
    capacity, fatpipe
        Capacity of each link in bytes/s, and whether it is a fat pipe; shape (links,).
    count, penalty, bound
        Values of each variable; shape (variables,).
    variable, link, weight
        Elements of the weight matrix; shape (elements,).
    """

    capacity: Floats
    fatpipe: NDArray[np.bool_]
    count: Floats
    penalty: Floats
    bound: Floats
    variable: Indices
    link: Indices
    weight: Floats

    def shares(self, precision: float) -> Floats:
        """Return the max-min fair share of each flow of a variable, in bytes/s.

        Parameters
        ----------
        precision
            Fraction of its capacity that a full link may have left (``maxmin/precision``).
        """
        limit = self._limits()
        share = np.zeros_like(limit)
        is_open = np.ones(len(limit), bool)
        links_open = np.ones(len(self.capacity), bool)
        while True:
            levels = self._levels(share, is_open, links_open, precision)
            level = levels.min(initial=np.inf)
            if level == np.inf:
                share[is_open] = limit[is_open]
                return share
            reached_at = np.where(is_open, limit * self.penalty, np.inf)
            lowest = reached_at.min()
            if lowest < level:  # bounds come before links
                fixed = reached_at < level - precision
                if not fixed.any():  # within the precision counts as equal, as in SimGrid
                    fixed = reached_at < lowest + precision
                share[fixed] = limit[fixed]
            else:
                full = levels <= level * (1 + _SAME_LEVEL)
                fixed = np.zeros_like(is_open)
                fixed[self.variable[full[self.link]]] = True
                fixed &= is_open
                share[fixed] = level * (1 / self.penalty[fixed])
            is_open &= ~fixed

    def _levels(
        self,
        share: Floats,
        is_open: NDArray[np.bool_],
        links_open: NDArray[np.bool_],
        precision: float,
    ) -> Floats:
        """Return the level at which each link is full; infinite if it limits no variable."""
        links = len(self.capacity)
        used = np.bincount(self.link, self.weight * (share * self.count)[self.variable], links)
        room = np.where(self.fatpipe, self.capacity, self.capacity - used)
        priority = np.where(is_open, 1 / self.penalty, 0.0)
        demand = self.weight * (priority * self.count)[self.variable]
        usage = np.bincount(self.link, demand, links)
        if self.fatpipe.any():
            most = np.zeros(links)
            np.maximum.at(most, self.link, self.weight * priority[self.variable])
            usage = np.where(self.fatpipe, most, usage)
        links_open &= (usage > precision) & (room > self.capacity * precision)
        levels = np.full(links, np.inf)
        np.divide(room, usage, out=levels, where=links_open)
        return levels

    def _limits(self) -> Floats:
        """Return the share of each variable when alone, limited by its bound and its links.

        A flow whose own bound exceeds the share of a fat pipe, or that has none, must not reach a
        bound before the pipe is full (ADR 3): the pipe's is a thousand roundings above its level.
        """
        alone = self.capacity[self.link] / self.weight
        pipes = self.fatpipe[self.link]
        bound, joint = self.bound.copy(), np.full(len(self.bound), np.inf)
        alone[pipes & (alone < self.bound[self.variable])] *= 1 + _SAME_LEVEL
        np.minimum.at(bound, self.variable[pipes], alone[pipes])
        np.minimum.at(joint, self.variable[~pipes], alone[~pipes])
        together = (bound != self.bound) & (joint <= bound) & (bound <= joint * (1 + _SAME_LEVEL))
        joint[together] = bound[together]
        return np.where(self.count * bound <= joint, bound, joint / self.count)
