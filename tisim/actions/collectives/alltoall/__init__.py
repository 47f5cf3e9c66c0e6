"""Alltoall: every rank sends a block of its own to every rank.

Signature of every algorithm: ``(s, scount, ssize, rcount, rsize)``: `scount` elements of `ssize`
bytes for each rank, `rcount` elements of `rsize` bytes from each rank.
"""
