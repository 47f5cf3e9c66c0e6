"""Recording of the time-independent trace of a running MPI program."""
