"""Random variability: hosts and links that are not all as fast as promised, and computations
that do not always take the same (the trace draws these itself, from a seed made here).

A speed is multiplied by a factor that has a log-normal distribution with mean 1 and a coefficient
of variation v: ``exp(s z - s**2 / 2)`` with ``s**2 = log(1 + v**2)`` and z from the standard normal
distribution. Each host and link has a z of its own, which a seed decides and v does not, so that
scenarios with one seed differ by what is varied and not by chance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tisim.errors import InputError
from tisim.platform import Platform
from tisim.platform.profiles import BANDWIDTH

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tisim.platform.profiles import ResourceProfile

_SPEED_STREAM, _BANDWIDTH_STREAM, _COMPUTE_STREAM = 0, 1, 2


def compute_seed(seed: Sequence[int]) -> int:
    """The seed of the noise on compute volumes (`tisim.Trace.with_noise`), of 64 bits."""
    sequence = np.random.SeedSequence([*seed, _COMPUTE_STREAM])
    return int(sequence.generate_state(1, np.uint64)[0])


def with_noise(
    platform: Platform, quantity: str, pattern: str, variation: object, seed: Sequence[int]
) -> Platform:
    """A copy of a platform whose speeds vary at random.

    Parameters
    ----------
    platform
        Stays as it is.
    quantity
        ``"speed"`` of hosts or ``"bandwidth"`` of links.
    pattern
        Which of them; as for `Platform.scaled`.
    variation
        The coefficient of variation: standard deviation by mean.
    seed
        Decides about all factors.

    Raises
    ------
    InputError
        If the variation is negative or no number, or nothing matches the pattern.
    """
    if isinstance(variation, bool) or not isinstance(variation, int | float):
        raise InputError(f"{quantity}_noise is a coefficient of variation, not {variation!r}")
    if not 0 <= variation < float("inf"):
        raise InputError(f"{quantity}_noise must not be negative, {variation!r} is")
    numbers = platform.resources
    if quantity == "speed":
        doubled = platform.scaled(hosts=pattern, speed=2).resources.host_speed
        factors = _factors(numbers.host_speed != doubled, variation, [*seed, _SPEED_STREAM])
        changed = numbers.replaced(host_speed=numbers.host_speed * factors)
        events = platform.profiles  # fractions of a host's speed
    else:
        doubled = platform.scaled(links=pattern, bandwidth=2).resources.link_bandwidth
        factors = _factors(numbers.link_bandwidth != doubled, variation, [*seed, _BANDWIDTH_STREAM])
        changed = numbers.replaced(link_bandwidth=numbers.link_bandwidth * factors)
        events = tuple(_changed_profile(entry, factors) for entry in platform.profiles)
    return platform.with_numbers(changed, events)


def _factors(
    chosen: NDArray[np.bool_], variation: float, entropy: Sequence[int]
) -> NDArray[np.float64]:
    """A factor for each host or link: 1 for those that are not chosen; shape as `chosen`."""
    spread = np.sqrt(np.log1p(variation**2))
    normal = np.random.default_rng(list(entropy)).standard_normal(len(chosen))
    factors: NDArray[np.float64] = np.where(chosen, np.exp(spread * normal - spread**2 / 2), 1.0)
    return factors


def _changed_profile(entry: ResourceProfile, factors: NDArray[np.float64]) -> ResourceProfile:
    if not (entry.is_link and entry.what == BANDWIDTH):
        return entry
    factor = float(factors[entry.index])
    values = tuple(value * factor for value in entry.profile.values)
    return dataclasses.replace(entry, profile=dataclasses.replace(entry.profile, values=values))
