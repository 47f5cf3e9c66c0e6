"""Deviation of measured training steps from predicted ones.

The factors are ratios of measured to predicted times of the steps listed in docs/ai_validation.md,
which ``python -m benchmarks.training_steps`` computes. They are tisim's own errors on A100.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.gpu.step_machine import StepMachine

#: Fraction of measured steps that the intervals contain.
LEVEL = 0.9


@dataclass(frozen=True)
class StepInterval:
    """Interval of measured times relative to predicted ones.

    Attributes
    ----------
    low, high
        Quantiles (1 - `LEVEL`) / 2 and (1 + `LEVEL`) / 2 of measured over predicted times.
    steps
        Number of measured steps behind the quantiles.
    where
        Machines they ran on.
    """

    low: float
    high: float
    steps: int
    where: str

    def seconds(self, predicted: float) -> tuple[float, float]:
        """Return the interval of a predicted step, seconds."""
        return self.low * predicted, self.high * predicted

    def to_dict(self, predicted: float) -> dict[str, object]:
        """Return the interval for JSON, with its provenance."""
        low, high = self.seconds(predicted)
        return {
            "low": low,
            "high": high,
            "level": LEVEL,
            "measured steps": self.steps,
            "measured on": self.where,
        }


ONE_NODE = StepInterval(0.840, 1.186, 1440, "a node of A100")
SEVERAL_NODES = StepInterval(0.923, 1.313, 109, "64 to 512 A100")


def step_interval(ranks: int, gpus: int) -> StepInterval:
    """Return the interval of a step on `ranks` ranks, in nodes of `gpus` GPUs."""
    return ONE_NODE if ranks <= gpus else SEVERAL_NODES


def has_values_of(machine: StepMachine, own: StepMachine) -> bool:
    """Return whether a machine has the efficiencies and delays of one of tisim's own."""
    return replace(machine, hardware=own.hardware) == own
