"""Importer of Pilgrim traces."""

from tisim.traces.importers.pilgrim.importer import PilgrimImporter as PilgrimImporter
