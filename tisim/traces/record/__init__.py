"""Recording the time-independent trace of an MPI program while it runs."""
