"""Inclusive prefix reductions."""
