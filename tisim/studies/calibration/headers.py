"""Headers: what messages have on the wire beside their bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tisim.config.table import NetworkModel
from tisim.studies.calibration.line import Floats

_USUAL = NetworkModel()


@dataclass(frozen=True)
class Headers:
    """Bytes of headers; by default those that a simulation has where nothing was measured."""

    message: int = _USUAL.envelope  # of each message: the MPI library's
    packet: int = _USUAL.packet_header  # of each packet: Ethernet's, IP's and TCP's
    payload: int = _USUAL.packet_payload  # what a full packet carries behind them

    def moved(self, nbytes: Floats) -> Floats:
        """Bytes that messages move that are alone on their connection (``network/packet-header``).

        The bandwidth is that of full packets.
        """
        whole = nbytes + self.message
        packets = np.maximum(np.ceil(whole / self.payload), 1.0)
        return np.asarray(
            (whole + packets * self.packet) * self.payload / (self.payload + self.packet)
        )

    def of_packets(self, nbytes: Floats) -> Floats:
        """The part of that which those lack that are joined to others."""
        return np.asarray(self.moved(nbytes) - (nbytes + self.message))
