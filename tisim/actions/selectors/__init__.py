"""Selectors: choice of algorithms by MPI libraries, by size, number of ranks and placement."""
