"""One element of a description: its name, attributes, children and place."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from tisim.errors import InputError
from tisim.support.quantities import (
    parse_bandwidth,
    parse_size,
    parse_speed,
    parse_time,
)
from tisim.support.similar import similar

if TYPE_CHECKING:
    from tisim.platform.profiles import Profile


class WrittenNumber(float):
    """A number with the text that it was written as, such as ``10us``."""

    text: str

    def __new__(cls, value: float, text: str) -> WrittenNumber:
        number = super().__new__(cls, value)
        number.text = text
        return number

    def __reduce__(self) -> tuple[object, ...]:
        return WrittenNumber, (float(self), self.text)


#: An attribute: text, a number in SI units, or coordinates given in Python.
Value = str | float | tuple[float, ...]


def text_of(value: Value) -> str:
    """Return an attribute in the form that files use."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return " ".join(map(repr, value))
    return value.text if isinstance(value, WrittenNumber) else repr(value)


class Attribute(NamedTuple):
    """One attribute of an element: its default, and the allowed values if they are listed."""

    default: str | None
    choices: tuple[str, ...] = ()


class Element(NamedTuple):
    """The attributes and children that an element may have.

    `required` and `defaults`: the attributes without and with a default. `numbers`: the numeric
    attributes.
    """

    attributes: dict[str, Attribute]
    children: frozenset[str]
    required: frozenset[str]
    defaults: dict[str, Value]
    numbers: tuple[str, ...]


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

#: Elements that do not affect a replay; those that SimGrid removed cause a warning.
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


#: Property of a link or cluster: burst of its links, in bytes. SimGrid ignores unknown properties.
BURST: Final = "tisim/burst"

#: Mark, in a comment, of the command that wrote a platform file; that command may replace it.
WRITTEN_BY_NEW: Final = "written by tisim platform new"
WRITTEN_BY_CALIBRATE: Final = "written by tisim calibrate"

#: Properties of the outermost zone with this prefix are options that SimGrid lacks: SimGrid stops
#: at an unknown option in ``<config>``.
OPTION: Final = "tisim/config/"

# The core stores the number of cores of a host in 32 bits.
_MAX_CORES: Final = 2**31
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(slots=True)
class Node:
    """One element, in the vocabulary of version 4.1.

    Attributes
    ----------
    attributes
        All attributes with a value or a default. Quantities are numbers in SI units, whether
        they come from a file or from Python.
    file, line
        Place in the file, ignored in comparisons; None if created in Python.
    children, text
        Its content.
    profile
        Profile of a ``<trace>`` created in Python.
    """

    tag: str
    attributes: dict[str, Value]
    file: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)
    children: list[Node] = field(default_factory=list)
    text: str = ""
    profile: Profile | None = None

    def __getitem__(self, attribute: str) -> str:
        value = self.attributes[attribute]
        return value if isinstance(value, str) else text_of(value)

    def number(self, attribute: str) -> float:
        """Return a numeric attribute in SI units; 0 if it is optional and absent."""
        value = self.attributes[attribute]
        assert isinstance(value, float | int), attribute
        return float(value)

    def error(self, message: str) -> InputError:
        """Return an error about this element, with its file and line."""
        return InputError(message, file=self.file, line=self.line)

    def warning(self, message: str) -> str:
        """Return a warning about this element, with its file and line."""
        return message if self.file is None else f"{self.file}:{self.line}: {message}"

    def properties(self) -> dict[str, str]:
        """Return the ``<prop>`` children by name; the first of a name counts, as in SimGrid."""
        found: dict[str, str] = {}
        for child in self.children:
            if child.tag == "prop":
                found.setdefault(child["id"], child["value"])
        return found


def make_node(
    tag: str, attributes: Mapping[str, Value], properties: Mapping[str, str] | None = None
) -> Node:
    """Return an element created in Python."""
    for name, value in attributes.items():
        if not isinstance(value, str):
            if name not in _READERS and name != "coordinates":
                raise InputError(f"{name} of <{tag}> must be text, not {value!r}")
        elif _NOT_XML.search(value):
            raise InputError(
                f"{name} of <{tag}> contains a character that cannot be written to a file: "
                f"{value!r}"
            )
    node = Node(tag, checked_attributes(attributes, tag, ELEMENTS[tag], None, None))
    for key, value in (properties or {}).items():
        node.children.append(make_node("prop", {"id": key, "value": str(value)}))
    return node


def checked_attributes(
    written: Mapping[str, Value], tag: str, schema: Element, file: str | None, line: int | None
) -> dict[str, Value]:
    """Return the attributes of an element in the vocabulary of version 4.1, with defaults."""
    values = dict(schema.defaults)
    for key, value in written.items():
        attribute = schema.attributes.get(key)
        if attribute is None:
            key = ATTRIBUTE_SYNONYMS.get(key, key)
            attribute = schema.attributes.get(key)
        if attribute is None:
            known = schema.attributes
            refuse_unknown(f"<{tag}> has no attribute {key}", key, known, file, line)
        if attribute.choices:
            value = VALUE_SYNONYMS.get((key, text_of(value)), value)
            if value not in attribute.choices:
                raise InputError(
                    f"{key}={value!r} of <{tag}> must be one of {', '.join(attribute.choices)}",
                    file=file,
                    line=line,
                )
        values[key] = value
    missing = schema.required - values.keys()
    if missing:
        names = " and ".join(sorted(missing))
        raise InputError(f"<{tag}> needs the attribute {names}", file=file, line=line)
    for name in schema.numbers:
        if not isinstance(values[name], WrittenNumber):
            values[name] = _number(values, name, tag, file, line)
    return values


def refuse_unknown(
    message: str, word: str, known: Iterable[str], file: str | None, line: int | None
) -> NoReturn:
    """Raise an error for an unknown word and suggest the most similar known one."""
    close = similar(word, known)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise InputError(message + hint, file=file, line=line)


def read_burst(node: Node) -> float:
    """Return the burst of an element's links, in bytes, from its properties; 0 if absent."""
    text = node.properties().get(BURST)
    return 0.0 if text is None else parse_size(text, BURST, file=node.file, line=node.line)


def _number(
    values: Mapping[str, Value], name: str, tag: str, file: str | None, line: int | None
) -> float:
    """Return the value of a numeric attribute, together with its text if it was given as text."""
    given = values[name]
    what = f"{name} of {tag} {text_of(values.get('id', ''))}".rstrip()
    try:
        if name == "speed" and isinstance(given, str):
            number = _speed(given, what, values)
        elif isinstance(given, str):
            number = 0.0 if given == "" and name in _OPTIONAL else _READERS[name](given, what)
        else:
            number = _of_python(given, name, what)
        if number <= 0 and name in _POSITIVE and given != "":
            raise InputError(f"{what} must be above zero, not {given!r}")
    except InputError as error:
        raise InputError(error.message, file=file, line=line) from None
    return WrittenNumber(number, given) if isinstance(given, str) else number


def _of_python(given: object, name: str, what: str) -> float:
    """Return a number given in Python."""
    if name == "core":
        return _cores(given, what)
    try:
        number = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"a quantity must be a number in SI units or text such as '10us', not {given!r}"
        ) from None
    if not math.isfinite(number) or (number < 0 and name != "periodicity"):
        raise InputError(f"{what} must be finite and not negative, not {given!r}")
    return number


# Two speeds, the first below 1,000 flop/s and without a unit: probably a decimal comma.
_DECIMAL_COMMA = re.compile(r"\s*(\d{1,3}),(\d+\s*[A-Za-z]+)\s*")


def _speed(text: str, what: str, values: Mapping[str, Value]) -> float:
    """Return the speed of the ``pstate`` (default: the first) times the ``availability``."""
    if (decimal := _DECIMAL_COMMA.fullmatch(text)) is not None:
        raise InputError(
            f"{what}: {text!r} would be a list of the speeds {decimal[1]}f and {decimal[2]}; use a "
            f"decimal point: {text.strip().replace(',', '.')}"
        )
    speeds = [parse_speed(part, what) for part in text.split(",")]
    state = int(_plain(text_of(values.get("pstate", "0")), "pstate"))
    if not 0 <= state < len(speeds):
        raise InputError(f"pstate {state} is out of range: the host has {len(speeds)} speeds")
    return speeds[state] * _plain(text_of(values.get("availability", "1")), "availability")


def _plain(text: str, what: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InputError(f"{what} must be a number, not {text!r}")
    return number


def _cores(given: object, what: str) -> int:
    try:
        cores = int(given) if isinstance(given, str) else operator.index(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        cores = 0
    if not 1 <= cores < _MAX_CORES or isinstance(given, bool):
        raise InputError(f"{what} must be a whole number above zero, not {given!r}")
    return cores


_READERS: Final[Mapping[str, Callable[[str, str], float]]] = {
    "speed": parse_speed,
    "core": _cores,
    "periodicity": _plain,
    **dict.fromkeys(
        ("bw", "bandwidth", "bw_in", "bw_out", "read_bw", "write_bw", "limiter_link"),
        parse_bandwidth,
    ),
    **dict.fromkeys(("bb_bw", "loopback_bw"), parse_bandwidth),
    **dict.fromkeys(("lat", "latency", "bb_lat", "loopback_lat"), parse_time),
}
_OPTIONAL: Final = frozenset({"bb_bw", "bb_lat", "loopback_bw", "loopback_lat", "limiter_link"})
# A backbone or loopback with zero bandwidth is absent.
_POSITIVE: Final = frozenset(
    {"speed", "bw", "bandwidth", "bw_in", "bw_out", "read_bw", "write_bw", "limiter_link"}
)


def _element(tag: str) -> Element:
    attributes = dict(_attribute(text) for text in _ATTRIBUTES[tag].split())
    numbers = tuple(name for name in attributes if name in _READERS)
    defaults: dict[str, Value] = {
        name: default for name, (default, _) in attributes.items() if default is not None
    }
    for name in numbers:
        if name in defaults:
            defaults[name] = _number(defaults, name, tag, None, None)
    required = frozenset(name for name, (default, _) in attributes.items() if default is None)
    return Element(
        attributes, frozenset(_CHILDREN.get(tag, "").split()), required, defaults, numbers
    )


ELEMENTS: Final = {tag: _element(tag) for tag in _ATTRIBUTES}
