"""Traces of other tools: OTF2, tables of calls, and what installed packages add."""

from tisim.formats.importers.conversion import Conversion, convert
from tisim.formats.importers.importer import ForeignTrace, Importer, ImportOptions
from tisim.formats.importers.notes import Note, Notes
from tisim.formats.importers.rank_calls import RankCalls

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
