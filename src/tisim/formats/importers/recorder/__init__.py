"""Recorder's traces, as recorder2text writes them."""

from tisim.formats.importers.recorder.importer import RecorderImporter

__all__ = ["RecorderImporter"]
