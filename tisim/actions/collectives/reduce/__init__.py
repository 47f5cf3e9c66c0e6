"""Reduction algorithms: the ranks' data are combined on the root."""
