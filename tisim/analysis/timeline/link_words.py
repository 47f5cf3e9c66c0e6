"""Whose links are: of which host, and in which direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.models.settings import Settings

#: Routes are asked for between so many hosts at most, evenly spaced among those of the ranks.
MOST_HOSTS = 2000
_FEWEST_HOSTS = 4


def link_words(settings: Settings, hosts: Sequence[int]) -> dict[int, str]:
    """What links are to the hosts of a run, such as ``node-3, up``; inner links are left out.

    A link that all routes from a host cross, and no others, is that host's link up; one that all
    routes to it cross, its link down; one of which both is true its link both ways.

    Parameters
    ----------
    settings
        Platform and models of the run.
    hosts
        Index of the host of each rank.
    """
    used = list(dict.fromkeys(int(host) for host in hosts))
    used = used[:: -(-len(used) // MOST_HOSTS)]
    # With fewer hosts a link in the middle looks like one of theirs.
    if len(used) < _FEWEST_HOSTS:
        return {}
    routes: dict[int, int] = {}
    crossed: dict[int, tuple[dict[int, int], dict[int, int]]] = {}
    pairs = {
        (host, used[(place + step) % len(used)])
        for place, host in enumerate(used)
        for step in (1, -1, len(used) // 2)
    }
    for source, target in pairs:
        routes[source] = routes.get(source, 0) + 1
        routes[~target] = routes.get(~target, 0) + 1
        for link in {int(one) for one in settings.routes.route(source, target)[0]}:
            froms, tos = crossed.setdefault(link, ({}, {}))
            froms[source] = froms.get(source, 0) + 1
            tos[target] = tos.get(target, 0) + 1
    words: dict[int, str] = {}
    for link, (froms, tos) in crossed.items():
        ups = [host for host, count in froms.items() if count == routes[host]]
        downs = [host for host, count in tos.items() if count == routes[~host]]
        every = sum(froms.values())
        for host in (*ups, *downs):
            up = froms.get(host, 0) if host in ups else 0
            down = tos.get(host, 0) if host in downs else 0
            if up + down == every:
                way = "both ways" if up and down else "up" if up else "down"
                words[link] = f"{settings.host_name(host)}, {way}"
    return words
