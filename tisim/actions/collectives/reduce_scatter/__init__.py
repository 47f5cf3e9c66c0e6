"""Reduce-scatter: all ranks' vectors are combined, and every rank keeps one block of the result.

Signature of every algorithm: ``(s, rcounts, size)``: rank r keeps ``rcounts[r]`` elements of `size`
bytes. The operation is commutative; combining costs nothing here (a trace says it in flops).
"""
