"""Gather: the root collects a block from every rank.

Signature of every algorithm: ``(s, scount, ssize, rcount, rsize, root)``. On the root `rcount`
elements of `rsize` bytes come from each rank; on the others `scount` of `ssize` bytes leave.
"""
