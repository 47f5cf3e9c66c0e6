"""Allgather: every rank collects a block from every rank.

Signature of every algorithm: ``(s, scount, ssize, rcount, rsize)``. Each rank contributes `scount`
elements of `ssize` bytes, which are `rcount` elements of `rsize` bytes for the others.
"""
