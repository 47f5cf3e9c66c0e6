"""Which elements and attributes a platform or deployment file may have.

The words are those of version 4.1 of ``simgrid.dtd``; the words of versions 3 and 4.0 are
synonyms of them. An attribute is written ``name*`` (required), ``name=default`` or
``name=A|B|C`` (one of these; the first one is the default).
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Attribute(NamedTuple):
    """What a file may say about one attribute: its default, and the words that it may be."""

    default: str | None
    choices: tuple[str, ...] = ()


class Element(NamedTuple):
    """The attributes and the children that an element may have.

    `required` and `defaults` are the attributes without and with a default.
    """

    attributes: dict[str, Attribute]
    children: frozenset[str]
    required: frozenset[str]
    defaults: dict[str, str]


TAG_SYNONYMS: Final = {
    "AS": "zone",
    "ASroute": "zoneRoute",
    "bypassASroute": "bypassZoneRoute",
    "process": "actor",
}

ATTRIBUTE_SYNONYMS: Final = {"power": "speed", "availability_file": "speed_file"}

VALUE_SYNONYMS: Final = {
    ("sharing_policy", "FULLDUPLEX"): "SPLITDUPLEX",
    ("kind", "POWER"): "SPEED",
    ("symmetrical", "yes"): "YES",
    ("symmetrical", "no"): "NO",
}

#: Elements that describe nothing a replay uses; those that SimGrid removed come with a warning.
IGNORED: Final = frozenset({"random", "model_prop", "gpu"})
REMOVED: Final = frozenset({"storage", "storage_type", "mount", "mstorage"})

_ROUTE = "src* dst* symmetrical=YES|NO"
_GATEWAYS = "src* dst* gw_src* gw_dst*"

_ATTRIBUTES: Final = {
    "platform": "version=0.0",
    "include": "file*",
    "config": "id=",
    "prop": "id* value*",
    "trace": "id* file= periodicity*",
    "trace_connect": "kind=HOST_AVAIL|SPEED|LINK_AVAIL|BANDWIDTH|LATENCY trace* element*",
    "zone": "id* routing*",
    "host": "id* speed* core=1 speed_file= state_file= coordinates= pstate=0"
    " availability=1 state=ON|OFF",
    "disk": "id=/ read_bw* write_bw*",
    "host_link": "id* up* down*",
    "cluster": "id* prefix* suffix* radical* speed* core=1 bw* lat*"
    " sharing_policy=SPLITDUPLEX|SHARED|FATPIPE topology=FLAT|TORUS|FAT_TREE|DRAGONFLY"
    " topo_parameters= bb_bw= bb_lat= bb_sharing_policy=SHARED|FATPIPE router_id="
    " limiter_link= loopback_bw= loopback_lat= speed_file= state_file=",
    "cabinet": "id* prefix* suffix* radical* speed* bw* lat*",
    "peer": "id* speed* bw_in* bw_out* lat=0 coordinates= speed_file= state_file=",
    "router": "id* coordinates=",
    "backbone": "id* bandwidth* latency*",
    "link": "id* bandwidth* bandwidth_file= latency=0 latency_file= state_file="
    " sharing_policy=SHARED|SPLITDUPLEX|FATPIPE|WIFI state=ON|OFF",
    "link_ctn": "id* direction=NONE|UP|DOWN",
    "route": _ROUTE,
    "zoneRoute": f"{_GATEWAYS} symmetrical=YES|NO",
    "bypassRoute": "src* dst*",
    "bypassZoneRoute": _GATEWAYS,
    "actor": "host* function* start_time=-1 kill_time=-1 on_failure=DIE|RESTART",
    "argument": "value*",
}

_IN_PLATFORM: Final = "config include cluster cabinet peer zone trace trace_connect actor"
_IN_ZONE: Final = (
    "prop zone include link backbone cluster cabinet peer host router host_link"
    " route zoneRoute bypassRoute bypassZoneRoute trace trace_connect"
)
_CHILDREN: Final = {
    "platform": _IN_PLATFORM,
    "zone": _IN_ZONE,
    "include": f"platform {_IN_PLATFORM} {_IN_ZONE}",
    "config": "prop",
    "host": "disk prop",
    "disk": "prop",
    "cluster": "prop",
    "link": "prop",
    "route": "link_ctn",
    "zoneRoute": "link_ctn",
    "bypassRoute": "link_ctn",
    "bypassZoneRoute": "link_ctn",
    "actor": "argument prop",
}


def _attribute(text: str) -> tuple[str, Attribute]:
    if text.endswith("*"):
        return text[:-1], Attribute(None)
    name, value = text.split("=")
    choices = tuple(value.split("|")) if "|" in value else ()
    return name, Attribute(value.split("|")[0], choices)


def _element(tag: str) -> Element:
    attributes = dict(_attribute(text) for text in _ATTRIBUTES[tag].split())
    return Element(
        attributes,
        frozenset(_CHILDREN.get(tag, "").split()),
        frozenset(name for name, (default, _) in attributes.items() if default is None),
        {name: default for name, (default, _) in attributes.items() if default is not None},
    )


ELEMENTS: Final = {tag: _element(tag) for tag in _ATTRIBUTES}
