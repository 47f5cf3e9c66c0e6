"""What the readers of all ranks of a trace have in common."""

from __future__ import annotations

from dataclasses import dataclass

from tisim.traces.importers.communicators import Communicators
from tisim.traces.importers.importer import ImportOptions
from tisim.traces.importers.notes import Notes
from tisim.traces.importers.otf2.definitions import Definitions
from tisim.traces.importers.vectors import VectorSizes


@dataclass(frozen=True)
class OpenedTrace:
    """A trace whose definitions have been read."""

    definitions: Definitions
    communicators: Communicators
    #: Sizes of vector collectives.
    vectors: VectorSizes
    options: ImportOptions
    notes: Notes
