"""Traces of DUMPI, which SST, CODES and TraceR replay."""

from tisim.traces.importers.dumpi.importer import DumpiImporter

__all__ = ["DumpiImporter"]
