"""Traces of liballprof, the recorder of the LogGOPSim toolchain."""

from tisim.formats.importers.liballprof.importer import LiballprofImporter

__all__ = ["LiballprofImporter"]
