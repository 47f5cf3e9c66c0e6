"""Traces for Paraver, which Extrae writes."""

from tisim.traces.importers.paraver.importer import ParaverImporter

__all__ = ["ParaverImporter"]
