"""A replay on the SimPy kernel (`tisim.models`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tisim.analysis.result import Result
from tisim.errors import InputError
from tisim.models.kernel import columns_of, simulate
from tisim.models.network import NetworkModel
from tisim.models.processors import HostModel
from tisim.models.program import TextTrace

if TYPE_CHECKING:
    from tisim.models.settings import Settings
    from tisim.platform.deployment import Deployment
    from tisim.traces import Trace

_Path = str | os.PathLike[str]


def text_of(trace: Trace | TextTrace | _Path | Sequence[_Path], settings: Settings) -> TextTrace:
    """The text of a trace, to be read as the configuration says."""
    if isinstance(trace, TextTrace):
        return trace
    null_is_any = settings.protocol.null_source == "any"
    if isinstance(trace, str | os.PathLike | Sequence):
        return TextTrace(trace, null_is_any=null_is_any)
    if trace.noise[0] != 0:
        raise InputError("the SimPy kernel has no noise; use --kernel core")
    return TextTrace(trace.source, trace.dialect, null_is_any=null_is_any)


def replay_on_simpy(
    trace: TextTrace,
    settings: Settings,
    placements: Deployment,
    network: NetworkModel | None,
    processors: HostModel | None,
) -> Result:
    """Replay a trace in Python; models that are not given are those of the configuration.

    Raises `InputError` if a model is not an instance of its class.
    """
    for name, model, kind in (
        ("network_model", network, NetworkModel),
        ("host_model", processors, HostModel),
    ):
        if model is not None and not isinstance(model, kind):
            raise InputError(
                f"{name} must be an instance of tisim.models.{kind.__name__}, not {model!r}"
            )
    ranks = simulate(trace, settings, placements, network, processors)
    return Result(
        columns_of(ranks),
        placements.hosts,
        trace=trace.name,
        platform=str(settings.platform.file),
        config=settings.config.as_dict(),
        warnings=settings.warnings,
    )
