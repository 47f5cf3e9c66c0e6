"""Traces of liballprof, the recorder of the LogGOPSim toolchain."""

from tisim.traces.importers.liballprof.importer import LiballprofImporter

__all__ = ["LiballprofImporter"]
