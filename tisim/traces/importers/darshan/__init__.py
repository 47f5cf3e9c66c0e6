"""Darshan's extended traces (DXT), as darshan-dxt-parser prints them."""

from tisim.traces.importers.darshan.importer import DarshanImporter

__all__ = ["DarshanImporter"]
