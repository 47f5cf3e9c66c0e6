"""The kinds of zones, each with its routing between the hosts, routers and zones in it."""
