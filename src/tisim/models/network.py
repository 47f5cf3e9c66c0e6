"""Parameters of the network model: flows that share links max-min fairly."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.models import typed
from tisim.models.factors import StepTable
from tisim.models.options import SMPI_BANDWIDTH_FACTOR, SMPI_LATENCY_FACTOR

if TYPE_CHECKING:
    from tisim.config import Config

#: Bytes that SMPI adds to a message before it looks factors up (``smpi_request.cpp``).
ENVELOPE = 16


@dataclass(frozen=True, slots=True)
class NetworkModel:
    """How a message of some size crosses a route.

    A message of s bytes first waits ``latency_factor(s) * latency``. Its bytes then move at
    ``bandwidth_factor(s)`` times its share of the links. Shares are max-min fair with the weight
    ``1 / (latency + sum of weight_s / bandwidth over the links)`` and at most
    ``min(least bandwidth, tcp_gamma / (2 * latency))`` (SimGrid 3.32, ``network_cm02.cpp``;
    Velho and Legrand, SimuTools 2009).

    Attributes
    ----------
    name
        SMPI, LV08, CM02 or raw.
    latency_factor, bandwidth_factor
        By the size of the message in bytes, envelope included.
    weight_s
        In bytes: what a link's 1/bandwidth counts against latencies in a flow's weight.
    tcp_gamma
        Largest TCP window in bytes; 0: no bound.
    crosstraffic
        Whether a flow loads the reverse route by 5 %.
    loopback_bandwidth, loopback_latency
        Of the loopback of zones that declare none, in bytes/s and seconds.
    precision_timing
        Seconds below which two dates are one.
    precision_maxmin
        Bytes/s (or flop/s) below which shares are equal (``maxmin/precision``).
    envelope
        Bytes added to each MPI message.

    Raises
    ------
    InputError
        If a number cannot be right.
    """

    name: str = "SMPI"
    latency_factor: StepTable = field(default_factory=lambda: StepTable.parse(SMPI_LATENCY_FACTOR))
    bandwidth_factor: StepTable = field(
        default_factory=lambda: StepTable.parse(SMPI_BANDWIDTH_FACTOR)
    )
    weight_s: float = 8775.0
    tcp_gamma: float = 4194304.0
    crosstraffic: bool = True
    loopback_bandwidth: float = 10e9
    loopback_latency: float = 0.0
    precision_timing: float = 1e-9
    precision_maxmin: float = 1e-5
    envelope: int = ENVELOPE

    def __post_init__(self) -> None:
        if min(self.bandwidth_factor.first, *self.bandwidth_factor.values, 1.0) <= 0:
            raise InputError("every bandwidth factor must be above zero")
        if self.loopback_bandwidth <= 0:
            raise InputError("network/loopback-bw must be above zero")
        for name in ("weight_s", "tcp_gamma", "loopback_latency", "precision_timing"):
            if getattr(self, name) < 0:
                raise InputError(f"{name} of the network model must not be negative")
        if self.precision_timing == 0:
            raise InputError("precision/timing must be above zero; SimGrid's default is 1e-9")

    @classmethod
    def from_config(cls, config: Config) -> NetworkModel:
        """The network model of a configuration."""
        latency = config.factor_option("network/latency-factor")
        bandwidth = config.factor_option("network/bandwidth-factor")
        return cls(
            name=config.network_model,
            latency_factor=typed.factors(config, latency),
            bandwidth_factor=typed.factors(config, bandwidth),
            weight_s=typed.number(config, "network/weight-S"),
            tcp_gamma=typed.number(config, "network/TCP-gamma"),
            crosstraffic=typed.flag(config, "network/crosstraffic"),
            loopback_bandwidth=typed.number(config, "network/loopback-bw"),
            loopback_latency=typed.number(config, "network/loopback-lat"),
            precision_timing=typed.number(config, "precision/timing"),
            precision_maxmin=typed.number(config, "precision/work-amount"),
        )
