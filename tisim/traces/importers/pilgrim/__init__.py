"""Traces of Pilgrim."""

from tisim.traces.importers.pilgrim.importer import PilgrimImporter as PilgrimImporter
