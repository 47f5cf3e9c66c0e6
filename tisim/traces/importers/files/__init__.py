"""The calls of one rank on files, for formats that record them."""

from tisim.traces.importers.files.file_calls import FileCalls
from tisim.traces.importers.files.names import trace_name

__all__ = ["FileCalls", "trace_name"]
