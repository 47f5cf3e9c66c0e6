"""Numbers of calls that are data, and calls that have a number for each rank."""
