"""How far to trust a prediction: the same replay with many sets of parameters.

`bootstrap` draws sets of parameters that the measurements behind a calibration allow, `sets` keeps
them beside the platform, and `replays` replays a trace with each of them.
"""

from tisim.studies.uncertainty.replays import Interval, ParameterSets, replay_with_sets

__all__ = ["Interval", "ParameterSets", "replay_with_sets"]
