"""Recorder's traces, as recorder2text writes them."""

from tisim.traces.importers.recorder.importer import RecorderImporter

__all__ = ["RecorderImporter"]
