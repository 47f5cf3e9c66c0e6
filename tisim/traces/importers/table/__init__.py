"""Tables of calls, as CSV or Parquet: the way in for every tool that can print what happened."""

from tisim.traces.importers.table.importer import TableImporter

__all__ = ["TableImporter"]
