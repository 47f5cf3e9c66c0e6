"""Traces of Pilgrim."""

from tisim.formats.importers.pilgrim.importer import PilgrimImporter

__all__ = ["PilgrimImporter"]
