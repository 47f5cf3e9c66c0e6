"""The calls of one location, collected by the core while OTF2's library reads.

The callbacks are functions of the core, so that no event passes through Python: the package's own
callbacks take 2 us an event. Python drives the library, as it does without them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path

import _otf2
from _otf2.Config import conf

from tisim import _core
from tisim.errors import InputError
from tisim.traces.importers.collectives import VECTORS
from tisim.traces.importers.communicators import Communicators
from tisim.traces.importers.otf2.definitions import Definitions
from tisim.traces.importers.otf2.opened import opened_events
from tisim.traces.importers.words import COLLECTIVES

# Events are read in batches of this size: a Ctrl-C is seen between two.
_BATCH = 1 << 20


def collect_calls(
    anchor: Path,
    rank: int,
    known: Definitions,
    communicators: Communicators,
    keeps_times: bool,
) -> _core.Otf2Calls:
    """Read the events of a rank.

    Parameters
    ----------
    anchor
        The trace's anchor file.
    rank
        The rank.
    known, communicators
        The definitions of the trace.
    keeps_times
        Whether somebody asks when calls began and ended.

    Raises
    ------
    InputError
        If the events cannot be read.
    """
    actions = {number: COLLECTIVES.get(name.lower()) for number, name in known.operations.items()}
    metric, place = known.counter or (-1, 0)
    calls = _core.Otf2Calls(
        calls=[*known.calls],
        exchanges=_named(known.calls, "MPI_Sendrecv"),
        ends=_named(known.calls, "MPI_Finalize"),
        communicators=[name for name in known.communicators if communicators.has(name, rank)],
        collectives=[number for number, action in actions.items() if action is not None],
        vectors=[number for number, action in actions.items() if action in VECTORS],
        metric=metric,
        metric_place=place,
        keeps_times=keeps_times,
    )
    with opened_events(anchor, known.locations[rank]) as reader:
        _register(reader, calls)
        while _otf2.GlobalEvtReader_ReadEvents(reader, _BATCH) == _BATCH:
            pass
    calls.finish()
    if calls.failed:
        raise InputError(f"the events of rank {rank} take more memory than there is", file=anchor)
    return calls


def _register(reader: object, calls: _core.Otf2Calls) -> None:
    callbacks = _otf2.GlobalEvtReaderCallbacks_New()
    for name, address in _core.otf2_callbacks():
        setter = f"OTF2_GlobalEvtReaderCallbacks_Set{name}Callback"
        try:
            register = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
                (setter, conf.lib)
            )
        except AttributeError:
            continue  # an older library lacks the newest events
        register(callbacks, address)
    set_callbacks = ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
    )(("OTF2_GlobalEvtReader_SetCallbacks", conf.lib))
    set_callbacks(reader, callbacks, calls.address)
    _otf2.GlobalEvtReaderCallbacks_Delete(callbacks)


def _named(calls: Mapping[int, str], beginning: str) -> list[int]:
    return [region for region, name in calls.items() if name.startswith(beginning)]
