"""What outputs know of the simulation that is recorded."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tisim import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tisim.models.settings import Settings
    from tisim.recording.links import Links


@dataclass
class Scene:
    """What outputs know of the simulation that is recorded.

    Attributes
    ----------
    title
        What is simulated, in words.
    settings
        Platform, models and algorithms.
    hosts
        Index of the host of each rank.
    states
        Names the states of ranks; what wants to be told them joins it.
    end
        Seconds that were simulated, once the simulation is over.
    links
        What the links carried, likewise.
    """

    title: str
    settings: Settings
    hosts: Sequence[int]
    states: Any = field(default_factory=_core.States)
    end: float = 0.0
    links: Links | None = None

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.hosts)

    def host_name(self, rank: int) -> str:
        """Name of the host of a rank."""
        return self.settings.host_name(self.hosts[rank])
