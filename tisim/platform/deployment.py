"""Deployments: the host of each rank."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import eq
from typing import TYPE_CHECKING, overload

from tisim.errors import InputError
from tisim.support.reading import read_text

if TYPE_CHECKING:
    from tisim.platform.description.node import Node
    from tisim.platform.platform import Platform

_RANK = re.compile(r"p?(\d+)")
# host, host:4, or Open MPI's host slots=4
_HOST = re.compile(r"(?P<host>[^:]+?)\s*(:\s*(?P<colon>\d+)|\s+slots=(?P<slots>\d+)(\s.*)?)?")

# Upper bound on the ranks per host, which a host file expands into a list of that length.
_MAX_RANKS_PER_HOST = 1 << 20


@dataclass(frozen=True, slots=True)
class Placement:
    """Host of one rank.

    Attributes
    ----------
    trace
        Its trace file as written in the deployment, if given there.
    start_time
        Seconds after which the rank starts.
    kill_time
        Seconds after which it is killed; None: never.
    line
        Line of the deployment, for messages.
    """

    host: str
    trace: str | None = None
    start_time: float = 0.0
    kill_time: float | None = None
    line: int | None = None


class _HostPlacements(Sequence[Placement]):
    """Placements with a host only, created on access: there may be a million.

    `hosts`: in rank order. `lines`: their line numbers, if they come from a file.
    """

    def __init__(self, hosts: Iterable[str], lines: Iterable[int] | None = None) -> None:
        self.hosts = tuple(hosts)
        self._lines = None if lines is None else array("q", lines)

    def __len__(self) -> int:
        return len(self.hosts)

    @overload
    def __getitem__(self, rank: int) -> Placement: ...
    @overload
    def __getitem__(self, rank: slice) -> tuple[Placement, ...]: ...
    def __getitem__(self, rank: int | slice) -> Placement | tuple[Placement, ...]:
        if isinstance(rank, slice):
            return tuple(self[index] for index in range(len(self))[rank])
        return Placement(self.hosts[rank], line=None if self._lines is None else self._lines[rank])

    def __iter__(self) -> Iterator[Placement]:
        return map(self.__getitem__, range(len(self)))

    def round(self, ranks: int) -> _HostPlacements:
        """Return placements for that many ranks, assigned to the hosts round-robin."""
        places = [rank % len(self) for rank in range(ranks)]
        lines = self._lines
        return _HostPlacements(
            map(self.hosts.__getitem__, places),
            None if lines is None else map(lines.__getitem__, places),
        )


class Deployment(Sequence[Placement]):
    """The placements of ranks 0, 1, 2, ...

    A deployment is immutable. Make one with `load` (XML), `from_hostfile` or `cyclic`.

    Parameters
    ----------
    placements
        In rank order.
    file
        Source file, for messages.
    repeat
        Whether further ranks are assigned to the same hosts round-robin.
    rule
        The ``--mapping`` rule that placed the ranks; None if no rule did.
    """

    def __init__(
        self,
        placements: Iterable[Placement],
        *,
        file: str | None = None,
        repeat: bool = False,
        rule: str | None = None,
    ) -> None:
        self._placements: _HostPlacements | tuple[Placement, ...] = (
            placements if isinstance(placements, _HostPlacements) else tuple(placements)
        )
        self.file = file
        self._repeat = repeat
        self.rule = rule
        if not self._placements:
            raise InputError("the deployment names no host for any rank", file=file)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Deployment:
        """Read a deployment: one ``<actor host= function= >`` element per rank.

        The rank is the property ``rank`` or the function, a number optionally preceded by ``p``
        (``function="p3"``); a first ``<argument>`` that is not a rank number is its trace.

        Raises
        ------
        InputError
            If the file cannot be read, or a rank is duplicated, missing or not a number.
        """
        from tisim.platform.description.xml import read_document

        document = read_document(path)
        file = os.fspath(path)
        actors = [node for node in document.root.children if node.tag == "actor"]
        if not actors:
            is_platform = any(node.tag in ("zone", "cluster") for node in document.root.children)
            hint = "; it is a platform" if is_platform else ""
            raise InputError(
                f'the deployment has no <actor host="..." function="RANK"/> element{hint}',
                file=file,
            )
        placements: dict[int, Placement] = {}
        for node in actors:
            rank = _rank_of(node)
            if rank in placements:
                earlier = placements[rank].line
                raise node.error(f"rank {rank} is deployed twice, first on line {earlier}")
            placements[rank] = _placement(node)
        for rank in range(len(placements)):
            if rank not in placements:
                raise InputError(
                    f"rank {rank} is missing: the deployment has {len(placements)} ranks, the "
                    f"highest is {max(placements)}",
                    file=file,
                )
        return cls((placements[rank] for rank in range(len(placements))), file=file)

    @classmethod
    def from_hostfile(cls, path: str | os.PathLike[str], ranks: int | None = None) -> Deployment:
        """Read a host file: one host per line; ``host:4`` takes four ranks; ``#`` starts a comment.

        Parameters
        ----------
        path
            The file.
        ranks
            Number of ranks, assigned to the hosts round-robin; None: one for each place in the
            file, more when `for_ranks` asks for them.

        Raises
        ------
        InputError
            If the file cannot be read or names no host.
        """
        file = os.fspath(path)
        text = read_text(file, "this host file")
        if text.lstrip().startswith("<"):
            raise InputError(
                "this is XML, but a host file has one host per line; use --deployment for a "
                "deployment",
                file=file,
            )
        hosts: list[str] = []
        lines = array("q")
        for number, line in enumerate(text.splitlines(), 1):
            for host in _host_line(line, file, number):
                hosts.append(host)
                lines.append(number)
        if not hosts:
            raise InputError(
                "the host file names no host; write one per line, such as node-1:4", file=file
            )
        deployment = cls(_HostPlacements(hosts, lines), file=file, repeat=True)
        return deployment if ranks is None else deployment.for_ranks(ranks)

    @classmethod
    def cyclic(
        cls, hosts: Platform | Iterable[str], ranks: int, *, rule: str | None = None
    ) -> Deployment:
        """Place ranks round-robin on the hosts of a platform, or on the named hosts."""
        if not isinstance(hosts, Iterable):
            hosts = islice(hosts.host_names(), max(ranks, 1))
        return cls(_HostPlacements(hosts), repeat=True, rule=rule).for_ranks(ranks)

    @classmethod
    def of_hosts(cls, hosts: str | os.PathLike[str] | Sequence[str]) -> Deployment:
        """Return the user's hosts, from a host file or by name; ranks are placed round-robin."""
        if isinstance(hosts, str | os.PathLike):
            return cls.from_hostfile(hosts)
        return cls(_HostPlacements(hosts), repeat=True)

    def __len__(self) -> int:
        return len(self._placements)

    @overload
    def __getitem__(self, rank: int) -> Placement: ...
    @overload
    def __getitem__(self, rank: slice) -> tuple[Placement, ...]: ...
    def __getitem__(self, rank: int | slice) -> Placement | tuple[Placement, ...]:
        return self._placements[rank]

    def __iter__(self) -> Iterator[Placement]:
        return iter(self._placements)

    def __repr__(self) -> str:
        return f"<Deployment of {len(self)} ranks from {self.file or 'Python'}>"

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the hosts, in rank order."""
        if isinstance(self._placements, _HostPlacements):
            return self._placements.hosts
        return tuple(placement.host for placement in self._placements)

    def for_ranks(self, ranks: int) -> Deployment:
        """Return the deployment for exactly that many ranks.

        Raises
        ------
        InputError
            If the deployment has fewer and does not repeat its hosts, or if `ranks` < 1.
        """
        if ranks < 1:
            raise InputError(f"the number of ranks must be at least 1, not {ranks}")
        count = len(self._placements)
        if ranks == count:
            return self
        if ranks > count and not self._repeat:
            raise InputError(
                f"the trace has {ranks} ranks, but the deployment only {count}: add an <actor> for "
                f"each of the ranks {count} to {ranks - 1}",
                file=self.file,
            )
        wanted: Iterable[Placement]
        if isinstance(self._placements, _HostPlacements):
            wanted = self._placements.round(ranks)
        else:
            wanted = (self._placements[rank % count] for rank in range(ranks))
        return Deployment(wanted, file=self.file, repeat=self._repeat, rule=self.rule)

    def changes(self, platform: Platform) -> dict[str, str]:
        """Return the changes to a platform and to its mapping: name and description."""
        return {**platform.changes, **({} if self.rule is None else {"mapping": self.rule})}

    def host_indices(self, platform: Platform) -> Sequence[int]:
        """Return the index of each rank's host in the platform.

        Raises
        ------
        InputError
            If the platform lacks a host; with the file and line of the deployment.
        """
        names = self.hosts
        # Fast path: most deployments use the hosts in their order.
        if len(names) <= len(platform.hosts) and all(map(eq, names, platform.host_names())):
            return range(len(names))
        known: dict[str, int] = {}
        for placement in self._placements:
            if placement.host not in known:
                try:
                    known[placement.host] = platform.host_index(placement.host)
                except InputError as error:
                    raise InputError(error.message, file=self.file, line=placement.line) from None
        return [known[name] for name in names]


def _rank_of(node: Node) -> int:
    written = node.properties().get("rank", node["function"])
    match = _RANK.fullmatch(written.strip())
    if match is None:
        raise node.error(
            f'function={node["function"]!r} is not a rank; write function="3", function="p3" or '
            'a <prop id="rank" value="3"/>'
        )
    return int(match.group(1))


def _placement(node: Node) -> Placement:
    arguments = [child["value"] for child in node.children if child.tag == "argument"]
    trace = next((word for word in arguments if not word.isdigit()), None)
    start, kill = (_seconds(node, attribute) for attribute in ("start_time", "kill_time"))
    return Placement(
        host=node["host"],
        trace=trace,
        start_time=max(start, 0.0),
        kill_time=kill if kill >= 0 else None,
        line=node.line,
    )


def _seconds(node: Node, attribute: str) -> float:
    try:
        return float(node[attribute])
    except ValueError:
        raise node.error(f"{attribute} must be a number, not {node[attribute]!r}") from None


def _host_line(line: str, file: str, number: int) -> Sequence[str]:
    """Return the hosts of the ranks that one line of a host file places."""
    text = line.split("#", 1)[0].strip()
    words = text.split()
    if not words or (len(words) == 1 and ":" not in text):
        return words
    match = _HOST.fullmatch(text)
    if match is None:
        raise InputError(
            f"a line of a host file must be 'host' or 'host:ranks', not {text!r}",
            file=file,
            line=number,
        )
    count = match["colon"] or match["slots"] or "1"
    if len(count) > len(str(_MAX_RANKS_PER_HOST)) or int(count) > _MAX_RANKS_PER_HOST:
        raise InputError(
            f"a host may have at most {_MAX_RANKS_PER_HOST:,} ranks, not {count}",
            file=file,
            line=number,
        )
    return [match["host"]] * int(count)
