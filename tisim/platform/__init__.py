"""Platform descriptions: hosts, links and the routes between them."""

from tisim.platform.hosts import Host
from tisim.platform.links import Link
from tisim.platform.platform import Platform, Route

__all__ = ["Host", "Link", "Platform", "Route"]
