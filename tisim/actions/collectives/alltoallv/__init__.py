"""Alltoallv: every rank sends a block of its own size to every rank.

Signature of every algorithm: ``(s, scounts, ssize, rcounts, rsize)``: ``scounts[r]`` elements of
`ssize` bytes for rank r, ``rcounts[r]`` elements of `rsize` bytes from it.
"""
