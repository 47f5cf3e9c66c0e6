"""What outputs know of the simulation that is recorded."""

from __future__ import annotations

from dataclasses import dataclass
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
        Names the states of ranks (`tisim._core.States`), if someone is told them (`tell_states`).
    wants_links
        Whether someone needs `links`.
    end
        Seconds that were simulated, once the simulation is over.
    links
        What the links carried, likewise; None if nobody wants it.
    """

    title: str
    settings: Settings
    hosts: Sequence[int]
    states: Any = None
    wants_links: bool = False
    end: float = 0.0
    links: Links | None = None

    def tell_states(self, sink: Any) -> None:
        """Have someone told the states of all ranks (`tisim._core.StateSink`)."""
        if self.states is None:
            self.states = _core.States()
        self.states.add(sink)

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.hosts)

    def host_name(self, rank: int) -> str:
        """Name of the host of a rank."""
        return self.settings.host_name(self.hosts[rank])
