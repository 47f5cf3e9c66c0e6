"""The parameters of the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tisim.config.kinds import BYTES, BYTES_PER_SECOND, CHOICE, FACTORS, FLAG, NUMBER, SECONDS
from tisim.config.parameter import Record, row
from tisim.config.tables import StepTable

_SECTION: Final = "Network"


@dataclass(frozen=True, slots=True)
class NetworkModel(Record):
    """How a message of some size crosses a route.

    A message of s bytes first waits ``latency_factor(s) * latency``. Its bytes then move at
    ``bandwidth_factor(s)`` times its share of the links. Shares are max-min fair with the weight
    ``1 / (latency + sum of weight_s / bandwidth over the links)`` and at most
    ``min(least bandwidth, tcp_gamma / (2 * latency))`` (SimGrid 3.32, ``network_cm02.cpp``;
    Velho and Legrand, SimuTools 2009). The defaults of the models are those of SimGrid 3.32 and
    4.1. SMPI: Clauss et al., IPDPS 2011, factors measured on Stampede; LV08: Velho and Legrand,
    SimuTools 2009; CM02: Casanova and Marchal, INRIA 2002; raw: size / bandwidth + latency.
    """

    name: str = row(
        "network/model",
        CHOICE,
        "SMPI",
        choices=("SMPI", "LV08", "CM02", "raw"),
        section=_SECTION,
        core=False,
        doc="`SMPI`, `LV08`, `CM02` or `raw` (SimGrid 4's name for no corrections at all); each "
        "sets defaults for the next options. SimGrid's `IB`, `Constant` and `ns-3` are errors",
    )
    latency_factor: StepTable = row(
        "network/latency-factor",
        FACTORS,
        "65472:11.6436;15424:3.48845;9376:2.59299;5776:2.18796;3484:1.88101;1426:1.61075;"
        "732:1.9503;257:1.95341;0:2.01467",
        by_model={"LV08": "13.01", "CM02": "1", "raw": "1"},
        smpi_key="smpi/lat-factor",
        section=_SECTION,
        doc="`boundary:factor;...`, boundaries in bytes, or one number: multiplies the latency of "
        "a route. A factor holds above its boundary; up to the first boundary it is 1. As in "
        "SimGrid 3.32 the `smpi/` names count in the SMPI model only",
    )
    bandwidth_factor: StepTable = row(
        "network/bandwidth-factor",
        FACTORS,
        "65472:0.940694;15424:0.697866;9376:0.58729;5776:1.08739;3484:0.77493;1426:0.608902;"
        "732:0.341987;257:0.338112;0:0.812084",
        by_model={"LV08": "0.97", "CM02": "1", "raw": "1"},
        smpi_key="smpi/bw-factor",
        above_zero=True,
        section=_SECTION,
        doc="the same for the bandwidth that a message gets",
    )
    weight_s: float = row(
        "network/weight-S",
        NUMBER,
        "8775",
        by_model={"LV08": "20537", "CM02": "0", "raw": "0"},
        unit="B",
        spellings=("network/weight-S-parameter",),
        section=_SECTION,
        doc="the weight of a slow link relative to latency, where flows share a link",
    )
    tcp_gamma: float = row(
        "network/TCP-gamma",
        NUMBER,
        "4194304",
        by_model={"raw": "0"},
        unit="B",
        section=_SECTION,
        doc="the largest TCP window; 0: no bound",
    )
    crosstraffic: bool = row(
        "network/crosstraffic",
        FLAG,
        "yes",
        by_model={"raw": "no"},
        section=_SECTION,
        doc="a flow loads the reverse route by 5 %",
    )
    loopback_bandwidth: float = row(
        "network/loopback-bw",
        BYTES_PER_SECOND,
        "10e9",
        above_zero=True,
        section=_SECTION,
        core=False,
        doc="of messages inside a host, where the platform declares no loopback",
    )
    loopback_latency: float = row(
        "network/loopback-lat",
        SECONDS,
        "0",
        section=_SECTION,
        core=False,
        doc="of messages inside a host, where the platform declares no loopback",
    )
    envelope: int = row(
        "tisim/envelope",
        BYTES,
        "16",
        section=_SECTION,
        doc="added to the size of every message before its factors are looked up, as SMPI does",
    )
    ordering: str = row(
        "network/ordering",
        CHOICE,
        "fair",
        choices=("fair", "fifo"),
        section=_SECTION,
        doc="of the messages from one rank to another: with `fair` they share the links, as in "
        "SimGrid; with `fifo` they go one after the other, control messages too, as over TCP "
        "connections ([ADR 27](adr/0027-messages-in-order.md))",
    )
    send_buffer: int = row(
        "network/send-buffer",
        BYTES,
        "524288",
        section=_SECTION,
        doc="with `network/ordering:fifo`: the bytes that a connection takes over from its sender, "
        "which goes on when so many of a rendezvous are left, as a TCP socket does. 0: it goes on "
        "when the message has arrived, as with an InfiniBand queue pair",
    )
    precision_timing: float = row(
        "precision/timing",
        SECONDS,
        "1e-9",
        above_zero=True,
        spellings=("surf/precision",),
        section=_SECTION,
        doc="dates closer than this are one instant",
    )
    precision_maxmin: float = row(
        "precision/work-amount",
        NUMBER,
        "1e-5",
        spellings=("maxmin/precision",),
        section=_SECTION,
        doc="shares closer than this are equal (`maxmin/precision`)",
    )
