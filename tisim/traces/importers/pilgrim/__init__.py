"""Traces of Pilgrim."""

from tisim.traces.importers.pilgrim.importer import PilgrimImporter

__all__ = ["PilgrimImporter"]
