"""Which calls of several classes of ranks are the same ones."""
