"""The sizes of vector collectives in the records of all ranks."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from tisim.traces.importers.collectives import VECTORS
from tisim.traces.importers.otf2.definitions import Definitions
from tisim.traces.importers.otf2.events import LocationEvents
from tisim.traces.importers.vectors import Records
from tisim.traces.importers.words import COLLECTIVES


def read_records(anchor: Path, definitions: Definitions) -> Records:
    """What each rank sends and receives in each vector collective, by communicator."""
    found: Records = defaultdict(list)
    names = definitions.operations
    for rank, location in enumerate(definitions.locations):
        for _, _, numbers in LocationEvents(anchor, location, ("collective", "icollective")):
            operation, comm, _, sent, received = numbers[:5]
            if COLLECTIVES.get(names.get(operation, "").lower()) in VECTORS:
                found[rank, comm].append((sent, received))
    return found
