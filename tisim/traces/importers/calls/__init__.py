"""Calls of MPI with all of their arguments, as DUMPI and liballprof record them."""

from tisim.traces.importers.calls.call import Call, CallFile, TypeSizes
from tisim.traces.importers.calls.creations import CreationNumbers
from tisim.traces.importers.calls.datatypes import Datatypes
from tisim.traces.importers.calls.rank_reader import RankReader

__all__ = ["Call", "CallFile", "CreationNumbers", "Datatypes", "RankReader", "TypeSizes"]
