"""Importer of traces of ScalaTrace 2 and ScalaTrace-TI."""

from tisim.traces.importers.scalatrace.importer import ScalaTraceImporter as ScalaTraceImporter
