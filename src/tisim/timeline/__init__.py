"""The event log of a replay, what is derived from it, and files of timelines."""
