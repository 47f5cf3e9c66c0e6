"""GOAL schedules, which LogGOPSim simulates."""

from tisim.traces.importers.goal.importer import GoalImporter

__all__ = ["GoalImporter"]
