"""The kinds of zones: how each routes between the hosts, routers and zones in it."""
