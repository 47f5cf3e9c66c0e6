"""The run whose events are logged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tisim import _core

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tisim.analysis.timeline.links import Links
    from tisim.models.settings import Settings


@dataclass
class Run:
    """The run whose events are logged, as far as outputs need to know it.

    Attributes
    ----------
    title
        Title for pictures and files, such as ``lu.A.8 on graphene.xml``.
    settings
        Platform, models and algorithms.
    hosts
        Index of the host of each rank.
    trace
        Where the trace is; None: there is none.
    states
        Derives the states of ranks from the events (`tisim._core.States`); None unless an output
        asked for them with `send_states_to`.
    wants_links
        Whether an output needs `links`.
    end
        Simulated seconds, known once the simulation is over.
    links
        What the links carried, known then too; None unless `wants_links`.
    part
        The seconds from and up to which timelines show what happens, in formats that can; None:
        all of it.
    warnings
        What outputs have noticed and may matter.
    """

    title: str
    settings: Settings
    hosts: Sequence[int]
    trace: str | None = None
    states: _core.States | None = None
    wants_links: bool = False
    end: float = 0.0
    links: Links | None = None
    part: tuple[float, float] | None = None
    warnings: list[str] = field(default_factory=list)

    def send_states_to(self, sink: _core.StateSink) -> None:
        """Send the states of all ranks to a sink (`tisim._core.StateSink`)."""
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
