"""Traces of Dimemas."""

from tisim.traces.importers.dimemas.importer import DimemasImporter

__all__ = ["DimemasImporter"]
