"""Traces of DUMPI, which SST, CODES and TraceR replay."""

from tisim.formats.importers.dumpi.importer import DumpiImporter

__all__ = ["DumpiImporter"]
