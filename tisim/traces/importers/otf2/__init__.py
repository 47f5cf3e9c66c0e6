"""Importer of OTF2 traces, which Score-P, EZTrace and TAU write."""

from tisim.traces.importers.otf2.importer import Otf2Importer as Otf2Importer
