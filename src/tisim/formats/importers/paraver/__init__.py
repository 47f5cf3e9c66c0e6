"""Traces for Paraver, which Extrae writes."""

from tisim.formats.importers.paraver.importer import ParaverImporter

__all__ = ["ParaverImporter"]
