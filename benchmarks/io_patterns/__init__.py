"""Checkpoints on this machine's disk, compared with predictions (``make validate-io``)."""
