"""Algorithms of MPICH 4.0 whose messages differ from those of SimGrid's algorithms.

Each function names the function of MPICH that it follows. Elements and bytes are what the library
counts: pieces of a vector are whole elements.
"""
