"""Barrier algorithms: no rank leaves before all have entered."""
