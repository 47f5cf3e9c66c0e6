"""Selectors: which algorithm an MPI library takes, by size, number of ranks and placement."""
