"""Parameters of the CPU model: computations that share the cores of a host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.models import typed

if TYPE_CHECKING:
    from tisim.config import Config


@dataclass(frozen=True, slots=True)
class CpuModel:
    """How computations progress on a host of c cores of s flop/s.

    Each runs at s at most; all together at c * s, max-min fairly (SimGrid 3.32,
    ``cpu_cas01.cpp``).

    Attributes
    ----------
    name
        Always Cas01.
    precision_timing
        Seconds below which two dates are one.
    precision_work
        Flop/s below which shares are equal (``maxmin/precision``).
    """

    name: str = "Cas01"
    precision_timing: float = 1e-9
    precision_work: float = 1e-5

    def __post_init__(self) -> None:
        if self.precision_timing <= 0:
            raise InputError("precision/timing must be above zero; SimGrid's default is 1e-9")

    @classmethod
    def from_config(cls, config: Config) -> CpuModel:
        """The CPU model of a configuration."""
        return cls(
            precision_timing=typed.number(config, "precision/timing"),
            precision_work=typed.number(config, "precision/work-amount"),
        )
