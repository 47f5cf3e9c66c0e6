"""Decisions of the measured MPI library: its collectives, and the order of its messages."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tisim.simulation.jitter import DEFAULT_SIZE, DEFAULT_START
from tisim.studies.calibration.factors import EMPTY

if TYPE_CHECKING:
    from tisim.studies.calibration.measurements import Measurements

# Prefix of the library's version string, and the selector that imitates the library.
_SELECTORS: Final = (
    (r"Open MPI v?4\.", "openmpi-4.1"),
    (r"Open MPI v?5\.", "openmpi-5.0"),
    (r"MPICH Version:\s*4\.", "mpich-4"),
    (r"MPICH Version:\s*3\.", "mpich"),
    (r"MVAPICH2 Version", "mvapich2"),
    (r"Intel\(R\) MPI", "impi"),
)
# Libraries that lock windows with messages (osc/pt2pt, ch4:ucx), and their `smpi/rma`.
_LOCKS_BY_MESSAGE: Final = {"openmpi-4.1": "openmpi", "mpich-4": "mpich"}
# Bytes of a rendezvous that a connection buffers (Linux sizes its buffer by the data in flight): in
# chains of Open MPI 95 to 250 kB, depending on previous messages (docs/validation.md).
_SEND_BUFFER: Final = 180_000
# Libraries whose receivers acknowledge the body of a rendezvous: MPICH over UCX and TCP. The
# version string in measurements does not name MPICH's device.
_ACKNOWLEDGING: Final = ("mpich-4",)
# Control messages of a rendezvous, by `smpi/rendezvous`.
_CONTROLS: Final = {"put": 2, "put-ack": 4}
# Round trips within which ranks notice the end of a barrier. A request takes a seventh of one: 93
# of 100 exchanges are half duplex, like 278 of 300 measured ones (docs/validation.md).
_SPREAD: Final = 4.0
# Messages that share the bandwidth all arrive at the same time. Of messages in order, the first
# arrives within this fraction of the total time.
_IN_ORDER: Final = 0.5


@dataclass(frozen=True)
class LibraryFacts:
    """Findings about the MPI library.

    Parameters
    ----------
    name
        Its version string; None if no measurement has it.
    first
        Arrival of the first of several messages to one receiver as a fraction of the time of all,
        minimum over the sizes; None if not measured.
    round_trip
        Round-trip time of a short message in seconds; 0 if not measured.
    """

    name: str | None
    first: float | None
    round_trip: float = 0.0

    @property
    def selector(self) -> str | None:
        """Collective selector that imitates the library; None if none is known."""
        names = (name for start, name in _SELECTORS if re.match(start, self.name or ""))
        return next(names, None)

    @property
    def ordering(self) -> str | None:
        """`fifo` if messages between two ranks are in order, else `fair`; None if not measured."""
        if self.first is None:
            return None
        return "fifo" if self.first < _IN_ORDER else "fair"

    @property
    def controls(self) -> int:
        """Number of control messages of a rendezvous that are replayed one after the other."""
        options = self.options()
        if options.get("network/ordering") != "fifo":
            return 0
        return _CONTROLS[options.get("smpi/rendezvous", "put")]

    def options(self) -> dict[str, str]:
        """Return tisim's own options that follow, by name; SimGrid has none of these values.

        If messages are in order, perfectly regular ranks take a course that real ones never take
        (ADR 27): starts, ends of barriers and sizes are given a jitter. Data do not yield to
        acknowledgements: a link carries these first.
        """
        facts = {"smpi/coll-selector": self.selector, "network/ordering": self.ordering}
        options = {name: value for name, value in facts.items() if value is not None}
        if self.ordering == "fifo":
            options["tisim/jitter-start"] = str(DEFAULT_START)
            options["tisim/jitter-size"] = str(DEFAULT_SIZE)
            if self.round_trip > 0:
                options["tisim/jitter-barrier"] = f"{_SPREAD * self.round_trip:.3g}"
            options["network/crosstraffic"] = "no"
            if self.selector in _ACKNOWLEDGING:
                options["smpi/rendezvous"] = "put-ack"
            else:
                options["network/send-buffer"] = str(_SEND_BUFFER)
            if (rma := _LOCKS_BY_MESSAGE.get(self.selector or "")) is not None:
                options["smpi/rma"] = rma
        return options

    def text(self) -> str:
        """Return the findings in sentences."""
        if self.name is None:
            first = "not named in the measurements ('tisim benchmark' names it)"
        else:
            first = self.name
        if self.selector is None:
            collectives = "Its collectives are unknown: smpi/coll-selector is not set."
        else:
            collectives = f"Its collectives: smpi/coll-selector is {self.selector}."
        if self.first is None:
            order = "The order of its messages was not measured."
        else:
            order = (
                f"The first of several messages arrives after {self.first:.0%} of the time of all: "
                f"network/ordering is {self.ordering}"
                + (
                    ", and starts, ends of barriers and sizes get jitter."
                    if self.ordering == "fifo"
                    else "."
                )
            )
        return f"MPI library: {first}.\n{collectives}\n{order}"


def library_facts(measured: Measurements) -> LibraryFacts:
    """Derive facts about the MPI library from measurements."""
    round_trip = _round_trip(measured)
    rows = measured.frame[measured.frame["operation"] == "arrival"]
    if rows.empty:
        return LibraryFacts(measured.library, None, round_trip)
    is_first = rows["messages"] == 1
    first, every = (
        part.groupby("bytes")["seconds"].median() for part in (rows[is_first], rows[~is_first])
    )
    least = (first / every).min()
    return LibraryFacts(measured.library, None if math.isnan(least) else float(least), round_trip)


def _round_trip(measured: Measurements) -> float:
    """Return the round-trip time of a short message in seconds."""
    frame = measured.frame
    short = frame[(frame["operation"] == "pingpong") & (frame["bytes"] <= EMPTY)]
    one_way = short["seconds"].median()
    return 0.0 if math.isnan(one_way) else 2 * float(one_way)
