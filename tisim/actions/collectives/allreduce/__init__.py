"""Reduction algorithms whose result reaches every rank."""
