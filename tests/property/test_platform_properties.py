"""Invariants of all platforms: routes, lookups, scaled copies, builders."""

from __future__ import annotations

import pickle
import random
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracle.platforms.families import draw_hard_platform
from tests.support import campaign
from tisim import InputError, Platform, PlatformBuilder
from tisim.platform.hosts import Radical
from tisim.platform.routing import total_latency


def load(seed: int) -> Platform:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "platform.xml"
        path.write_text(draw_hard_platform(seed))
        return Platform.load(path)


@given(st.integers(0, 10**6))
@settings(max_examples=150, deadline=None)
def test_the_core_computes_the_routes_that_the_zones_say(seed: int) -> None:
    """Link by link, and latencies to the last bit."""
    platform = load(seed)
    latency_of = platform.resources.floats("link_latency")
    zones = platform.compiled.zones
    rng = random.Random(seed)
    for _ in range(60):
        src, dst = (rng.randrange(len(platform.hosts)) for _ in range(2))
        route = zones.route(src, dst, latency_of)
        try:
            links, terms = platform.find_links(src, dst)
        except InputError:
            assert route is None
            continue
        said = links, total_latency(terms, latency_of)
        assert route == (None if said == ([], 0.0) else said)


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_names_find_what_they_name(seed: int) -> None:
    platform = load(seed)
    for host in platform.hosts:
        assert platform.host_index(host.name) == host.index
    for link in platform.links:
        assert platform.link(link.name).name == link.name
    assert platform.topology.hosts.find("no-such-host") is None


def check_routes(platform: Platform, other: Platform, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(10):
        src, dst = (rng.randrange(len(platform.hosts)) for _ in range(2))
        try:
            expected = platform.route_links(src, dst)
        except InputError:
            continue
        # The other platform has looked up other pairs before: the order of lookups is irrelevant.
        other.find_links(dst, src)
        assert other.route_links(src, dst) == expected


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_reading_twice_gives_the_same(seed: int) -> None:
    check_routes(load(seed), load(seed), seed)


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_a_platform_crosses_processes(seed: int) -> None:
    here = load(seed)
    there = pickle.loads(pickle.dumps(here))
    assert [link.name for link in there.links] == [link.name for link in here.links]
    check_routes(here, there, seed)


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_a_platform_is_read_as_it_was_written(seed: int) -> None:
    here = load(seed)
    with TemporaryDirectory() as directory:
        path = Path(directory) / "p.xml"
        here.write(path)
        there = Platform.load(path)
    assert there.compiled.columns == here.compiled.columns
    assert there.profiles == here.profiles
    assert [link.name for link in there.links] == [link.name for link in here.links]
    check_routes(here, there, seed)


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 20)), min_size=1, max_size=12))
def test_radicals_count_and_find(pieces: list[tuple[int, int]]) -> None:
    numbers = [n for first, more in pieces for n in range(first, first + more + 1)]
    text = ",".join(f"{first}-{first + more}" if more else str(first) for first, more in pieces)
    if len(set(numbers)) < len(numbers):
        try:
            Radical(text)
        except ValueError as error:
            assert "occurs twice" in str(error)
            return
        raise AssertionError("a number that occurs twice was accepted")
    radical = Radical(text)
    assert list(radical) == numbers
    assert [radical.find(number) for number in numbers] == list(range(len(numbers)))
    assert [radical[position] for position in range(len(radical))] == numbers


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
    """Build the platform without the elements that are rejected."""
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
