"""Scatter: the root deals a block to every rank.

Signature of every algorithm: ``(s, scount, ssize, rcount, rsize, root)``. The root sends `scount`
elements of `ssize` bytes to each rank; the others receive `rcount` of `rsize` bytes.
"""
