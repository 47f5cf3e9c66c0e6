"""Broadcast algorithms: the root's data reach every rank."""
