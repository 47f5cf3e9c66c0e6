"""Traces of Dimemas."""

from tisim.formats.importers.dimemas.importer import DimemasImporter

__all__ = ["DimemasImporter"]
