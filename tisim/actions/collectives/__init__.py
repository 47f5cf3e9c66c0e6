"""Collective algorithms: pure functions that write one rank's schedule of messages."""
