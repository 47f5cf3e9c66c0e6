"""Exclusive prefix reductions."""
