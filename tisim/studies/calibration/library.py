"""Decisions of the MPI library that measured: its collectives, and the order of its messages."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tisim.simulation.jitter import DEFAULT_SIZE, DEFAULT_START
from tisim.studies.calibration.factors import EMPTY

if TYPE_CHECKING:
    from tisim.studies.calibration.measurements import Measurements

# The beginning of a library's name for itself, and the selector that does as it does.
_SELECTORS: Final = (
    (r"Open MPI v?4\.", "openmpi-4.1"),
    (r"Open MPI v?5\.", "openmpi-5.0"),
    (r"MPICH Version:\s*4\.", "mpich-4"),
    (r"MPICH Version:\s*3\.", "mpich"),
    (r"MVAPICH2 Version", "mvapich2"),
    (r"Intel\(R\) MPI", "impi"),
)
# Libraries that lock windows by messages (osc/pt2pt, ch4:ucx), and `smpi/rma` for them.
_LOCKS_BY_MESSAGE: Final = {"openmpi-4.1": "openmpi", "mpich-4": "mpich"}
# Bytes that a connection takes over of a rendezvous (Linux sizes its buffer by what is under way):
# in chains of Open MPI 95 to 250 kB, by what went before (docs/validation.md).
_SEND_BUFFER: Final = 180_000
# Libraries whose receivers acknowledge the body of a rendezvous: MPICH over UCX and TCP. MPICH does
# not name its device in the line that measurements have.
_ACKNOWLEDGING: Final = ("mpich-4",)
# Control messages of a rendezvous, by `smpi/rendezvous`.
_CONTROLS: Final = {"put": 2, "put-ack": 4}
# Ranks notice within so many round trips that a barrier is over. A request takes a seventh of one:
# 93 of 100 exchanges are half duplex, as 278 of 300 were (docs/validation.md).
_SPREAD: Final = 4.0
# Messages that share the bandwidth are all there at the same time. Of those in order, the first is
# there within this part of the time of all.
_IN_ORDER: Final = 0.5


@dataclass(frozen=True)
class LibraryFacts:
    """Findings about the MPI library.

    Parameters
    ----------
    name
        What it says of itself; None if no measurement says.
    first
        Part of the time of some messages to one receiver after which the first is there, at the
        size where it is least; None if that was not measured.
    round_trip
        Seconds that a short message takes there and back; 0 if that was not measured.
    """

    name: str | None
    first: float | None
    round_trip: float = 0.0

    @property
    def selector(self) -> str | None:
        """The selector of collectives that does as the library does; None if no one is known."""
        names = (name for start, name in _SELECTORS if re.match(start, self.name or ""))
        return next(names, None)

    @property
    def ordering(self) -> str | None:
        """`fifo` if the messages of two ranks are in order, else `fair`; None if not measured."""
        if self.first is None:
            return None
        return "fifo" if self.first < _IN_ORDER else "fair"

    @property
    def controls(self) -> int:
        """How many control messages of a rendezvous are replayed one after the other."""
        options = self.options()
        if options.get("network/ordering") != "fifo":
            return 0
        return _CONTROLS[options.get("smpi/rendezvous", "put")]

    def options(self) -> dict[str, str]:
        """The options of tisim's that follow, by name; SimGrid has none of these values.

        Where messages are in order, ranks that never differ take a course that no real ones take
        (ADR 27): starts, ends of barriers and sizes get a jitter. And no message gives way to
        acknowledgements: a link carries them before data.
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
        """The findings, in sentences."""
        if self.name is None:
            first = "the measurements do not name it ('tisim benchmark' does)"
        else:
            first = self.name
        if self.selector is None:
            collectives = "Its collectives are not known: smpi/coll-selector is not set."
        else:
            collectives = f"Its collectives: smpi/coll-selector is {self.selector}."
        if self.first is None:
            order = "Whether its messages keep their order was not measured."
        else:
            order = (
                f"The first of some messages is there after {self.first:.0%} of the time of all: "
                f"network/ordering is {self.ordering}"
                + (
                    ", and starts, ends of barriers and sizes get a jitter."
                    if self.ordering == "fifo"
                    else "."
                )
            )
        return f"MPI library: {first}.\n{collectives}\n{order}"


def library_facts(measured: Measurements) -> LibraryFacts:
    """Measurements that tell about the MPI library."""
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
    """Seconds that a short message takes there and back."""
    frame = measured.frame
    short = frame[(frame["operation"] == "pingpong") & (frame["bytes"] <= EMPTY)]
    one_way = short["seconds"].median()
    return 0.0 if math.isnan(one_way) else 2 * float(one_way)
