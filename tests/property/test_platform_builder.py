"""Whatever a program says to a `tisim.PlatformBuilder`, it is a platform or an `InputError`."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.campaign import campaign
from tisim import InputError, Platform, PlatformBuilder

NAMES = st.sampled_from(["a", "b", "c", "l", "m", "z", "c-router", "a-0", "", "\x01", 3, None])
QUANTITIES = st.one_of(
    st.sampled_from(["1Gf", "10us", "1GBps", "", "nan", "-1", "1e400", None, True, [], "1 1"]),
    st.floats(),
    st.integers(-(10**30), 10**30),
)
HOPS = st.one_of(NAMES, st.tuples(NAMES, st.sampled_from(["UP", "DOWN", "SIDE", 1])))
LISTS = st.one_of(st.lists(HOPS, max_size=3), NAMES)
PAIRS = st.one_of(st.tuples(NAMES, NAMES), NAMES)
COUNTS = st.one_of(st.integers(-2, 20), st.sampled_from([None, "4", 2.5, True]))
SHAPES = st.one_of(
    st.sampled_from(["", "2,2", "1;2;1;1", (2, 2), ((2, 2), (1, 2), (1, 1)), 7, [None]]),
    st.lists(st.one_of(st.integers(-1, 4), st.lists(st.integers(0, 3), max_size=3)), max_size=4),
)
NETWORK = {"name": NAMES, "bandwidth": QUANTITIES, "latency": QUANTITIES}
EQUAL_HOSTS = {**NETWORK, "speed": QUANTITIES}
ENDS = {"src": NAMES, "dst": NAMES, "links": LISTS}
METHODS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "host": {"name": NAMES, "speed": QUANTITIES, "cores": COUNTS},
    "router": {"name": NAMES, "coordinates": LISTS},
    "link": {**NETWORK, "sharing": st.sampled_from(["SHARED", "SPLITDUPLEX", "FAT"])},
    "backbone": NETWORK,
    "host_link": {"host": NAMES, "up": NAMES, "down": NAMES},
    "route": ENDS,
    "zone_route": {**ENDS, "gateways": PAIRS},
    "bypass_route": ENDS,
    "bypass_zone_route": {**ENDS, "gateways": PAIRS},
    "cluster": {
        **EQUAL_HOSTS,
        "nodes": COUNTS,
        "topology": st.sampled_from(["flat", "torus", "fat_tree", "dragonfly", "ring"]),
        "parameters": SHAPES,
        "backbone": st.one_of(st.none(), PAIRS),
    },
    "cabinet": {**EQUAL_HOSTS, "radical": st.sampled_from(["0-3", "3-1", ""])},
    "peer": {
        "name": NAMES,
        "speed": QUANTITIES,
        "bandwidth_in": QUANTITIES,
        "bandwidth_out": QUANTITIES,
        "coordinates": st.one_of(LISTS, st.lists(QUANTITIES, max_size=3)),
    },
    "profile": {
        "kind": st.sampled_from(["host", "link"]),
        "name": NAMES,
        "quantity": st.sampled_from(["speed", "bandwidth", "latency", "state"]),
        "changes": st.dictionaries(st.floats(), st.floats(), max_size=3),
        "period": QUANTITIES,
    },
}
CALLS = st.one_of(
    st.tuples(st.just(name), st.fixed_dictionaries(arguments))
    for name, arguments in METHODS.items()
)
ROUTINGS = st.sampled_from(["Full", "Floyd", "Dijkstra", "Cluster", "Vivaldi", "None"])


@given(st.lists(st.tuples(ROUTINGS, st.lists(CALLS, max_size=8)), max_size=3), st.randoms())
@settings(max_examples=campaign(100, 300), deadline=None)
def test_a_platform_or_an_input_error(zones: list[tuple[str, list[Any]]], random: Any) -> None:
    try:
        platform = built(zones)
    except InputError as error:
        assert error.file is None
        return
    assert platform.to_xml().startswith("<?xml")
    for _ in range(5):
        try:
            platform.route(random.choice(platform.hosts), random.choice(platform.hosts))
        except InputError as error:
            assert "route" in error.message


def built(zones: list[tuple[str, list[Any]]]) -> Platform:
    """The platform, if no element has been refused."""
    p = PlatformBuilder()
    with p.zone("world"):
        for number, (routing, calls) in enumerate(zones):
            with p.zone(f"zone-{number}", routing=routing):
                for name, arguments in calls:
                    with suppress(InputError):
                        getattr(p, name)(**arguments)
    platform = p.build()
    _ = platform.compiled
    return platform
