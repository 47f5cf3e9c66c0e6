"""Calls of MPI with all of their arguments, as DUMPI and liballprof record them."""

from tisim.formats.importers.calls.call import Call, CallFile, TypeSizes
from tisim.formats.importers.calls.creations import CreationNumbers
from tisim.formats.importers.calls.datatypes import Datatypes
from tisim.formats.importers.calls.rank_reader import RankReader

__all__ = ["Call", "CallFile", "CreationNumbers", "Datatypes", "RankReader", "TypeSizes"]
