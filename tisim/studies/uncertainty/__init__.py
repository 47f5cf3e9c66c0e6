"""How far to trust a prediction: the same replay with many sets of parameters.

`bootstrap` draws sets of parameters that are consistent with the measurements of a calibration;
`replays` stores them next to the platform, and replays a trace with each of them.
"""

from tisim.studies.uncertainty.replays import Interval, ParameterSets, replay_with_sets

__all__ = ["Interval", "ParameterSets", "replay_with_sets"]
