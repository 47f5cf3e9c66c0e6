"""GOAL schedules, which LogGOPSim simulates."""

from tisim.formats.importers.goal.importer import GoalImporter

__all__ = ["GoalImporter"]
