"""Allgatherv: every rank collects a block of its own size from every rank.

Signature of every algorithm: ``(s, scount, ssize, rcounts, rsize)``. This rank contributes `scount`
elements of `ssize` bytes; ``rcounts[r]`` elements of `rsize` bytes come from rank r.
"""
