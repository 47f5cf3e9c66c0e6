"""How far measured training steps lie from predicted ones.

The factors are measured over predicted times of the steps that docs/ai_validation.md lists, which
``python -m benchmarks.training_steps`` computes. They are tisim's own errors on A100.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.gpu.step_machine import StepMachine

#: The share of measured steps that the intervals hold.
LEVEL = 0.9


@dataclass(frozen=True)
class StepInterval:
    """Where measured times lie beside predicted ones.

    Attributes
    ----------
    low, high
        Of measured over predicted times, the quantiles (1 - `LEVEL`) / 2 and (1 + `LEVEL`) / 2.
    steps
        Measured steps that these are quantiles of.
    where
        What they ran on.
    """

    low: float
    high: float
    steps: int
    where: str

    def seconds(self, predicted: float) -> tuple[float, float]:
        """The interval of a predicted step, seconds."""
        return self.low * predicted, self.high * predicted

    def to_dict(self, predicted: float) -> dict[str, object]:
        """The same for JSON, with what it is derived from."""
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
    """The interval of a step on so many ranks, in nodes of so many GPUs."""
    return ONE_NODE if ranks <= gpus else SEVERAL_NODES


def has_values_of(machine: StepMachine, own: StepMachine) -> bool:
    """True if a machine has the efficiencies and delays of one of tisim's own."""
    return replace(machine, hardware=own.hardware) == own
