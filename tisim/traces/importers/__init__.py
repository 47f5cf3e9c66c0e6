"""Importers of other tools' traces: OTF2, tables of calls, and formats of installed packages."""

from tisim.traces.importers.conversion import Conversion, convert
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions, Note, Notes
from tisim.traces.importers.rank_calls import RankCalls

__all__ = [
    "Conversion",
    "ForeignTrace",
    "ImportOptions",
    "Importer",
    "Note",
    "Notes",
    "RankCalls",
    "convert",
]
