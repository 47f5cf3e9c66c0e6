"""The actions of traces: their vocabulary, and the schedules of collectives."""
