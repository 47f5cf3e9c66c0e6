"""What a run shows on a platform: how much its links were used, and where its ranks were."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tisim.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tisim.platform.platform import Platform


class LoadClass(NamedTuple):
    """Links whose utilisation is below `bound`, and how they are drawn."""

    bound: float
    colour: str
    width: float


#: From idle to busy. The colours are darker from class to class, in grey too.
CLASSES = (
    LoadClass(0.0, "#BEBEBE", 0.7),
    LoadClass(0.01, "#A9C6E3", 1.0),
    LoadClass(0.05, "#6FA3D0", 1.3),
    LoadClass(0.20, "#C98A1B", 1.7),
    LoadClass(0.50, "#C4551A", 2.2),
    LoadClass(0.80, "#9B1B1E", 2.8),
    LoadClass(np.inf, "#4A0418", 3.4),
)


def class_of(utilisation: float) -> LoadClass:
    """The class of a link that is used so much."""
    if utilisation <= 0:
        return CLASSES[0]
    return next(one for one in CLASSES[1:] if utilisation < one.bound)


class RunLoad:
    """The utilisation of each link in a run, and the ranks on each host.

    Parameters
    ----------
    platform
        The platform of the run.
    links
        Name and mean utilisation (1: all of the bandwidth all the time) of each used link.
    hosts
        Name of the host of each rank.
    source
        The file that this comes from, for messages.
    span
        Of what the load is the mean, for the legend.

    Attributes
    ----------
    utilisation
        Of each link of the platform; shape (links,).
    ranks
        The ranks on each host that has any, by index of the host.

    Raises
    ------
    InputError
        If the platform lacks one of the links or hosts.
    """

    def __init__(
        self,
        platform: Platform,
        links: Iterable[tuple[str, float]],
        hosts: Sequence[str],
        source: str | os.PathLike[str] | None = None,
        span: str = "run",
    ) -> None:
        self.span = span
        self.utilisation: NDArray[np.float64] = np.zeros(len(platform.links))
        self.ranks: dict[int, list[int]] = {}
        table = platform.topology
        for name, mean in links:
            link = table.links.find(name)
            if link is None:
                raise _other_platform(platform, f"link {name!r}", source)
            self.utilisation[link] = mean
        for rank, name in enumerate(hosts):
            host = table.hosts.find(name)
            if host is None:
                raise _other_platform(platform, f"host {name!r}", source)
            self.ranks.setdefault(host, []).append(rank)


def _other_platform(
    platform: Platform, what: str, source: str | os.PathLike[str] | None
) -> InputError:
    return InputError(
        f"the run used the {what}, which {platform.file} lacks: draw the platform of that run",
        file=source,
    )
