"""What a trace may contain: the vocabulary of actions, and the schedules of collectives."""
