"""What the readers of all ranks of a trace have in common."""

from __future__ import annotations

from dataclasses import dataclass

from tisim.formats.importers.communicators import Communicators
from tisim.formats.importers.importer import ImportOptions
from tisim.formats.importers.notes import Notes
from tisim.formats.importers.otf2.definitions import Definitions
from tisim.formats.importers.vectors import VectorSizes


@dataclass(frozen=True)
class OpenedTrace:
    """A trace whose definitions have been read."""

    definitions: Definitions
    communicators: Communicators
    #: Sizes of vector collectives.
    vectors: VectorSizes
    options: ImportOptions
    notes: Notes
