"""Checkpoints on this machine's disk, beside their predictions (``make validate-io``)."""
