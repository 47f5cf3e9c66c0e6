"""Recordings of some ranks of a job, combined into one graph of all its ranks.

A rank that was not recorded does the same as the next lower recorded one, in its own groups. Calls
of a communicator match where all its members recorded them: by their number in the process group,
or else in order. Messages match between ranks that recorded each other, and between the ranks that
they represent. Calls without a match keep their recorded time, so that nothing waits for a message
that is never sent.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import NamedTuple

from tisim.errors import InputError
from tisim.gpu.step_recording import (
    Launched,
    Program,
    Recording,
    check_ranks,
    graph_text,
    ranges,
    shape_of,
)

_NOT_MET = "calls whose counterparts other ranks did not record; they keep their times"
_COPIED = "ranks without a recording, which repeat the nearest recorded rank below them"


class Call(NamedTuple):
    """An NCCL call.

    Attributes
    ----------
    word
        A collective, ``send`` or ``receive``.
    members
        Ranks of its group, or their number; the other rank of a message.
    group, number
        Name of the process group, and number of the call in it; -1: not recorded.
    """

    word: str
    members: tuple[int, ...] | int
    nbytes: int
    group: str = ""
    number: int = -1


@dataclass(frozen=True, slots=True)
class RecordedRank:
    """Recording of a rank; `calls` lists the calls of each kernel that has any."""

    file: str | Path
    rank: int
    world: int
    program: Program
    kernels: Sequence[Launched]
    calls: Mapping[int, Sequence[Call]]  # by number of the kernel
    omissions: Counter[str]


# Name of a communicator; or word, offset and tag of a message.
_Key = str | tuple[str, int, int]
# Place of a call: its number, or -1, and the count of previous calls with that number.
_Place = tuple[int, int]
# Members of a call: its communicator and the recorded ranks that represent them, or the two ends of
# a message and its tag. None: no other members.
_Peers = tuple[str, frozenset[int]] | tuple[int, int, int] | None
_Context = tuple[tuple[_Key, _Peers], ...]


def joined(
    ranks: Sequence[RecordedRank], file: str | Path, *, model: bool, messages: bool = False
) -> Recording:
    """Return the graph of all ranks; `file` is its name in messages.

    Parameters
    ----------
    model
        Simulate recorded collectives and messages; otherwise they keep their recorded times.
    messages
        Simulate all messages that one rank has recorded, whatever their peers.

    Raises
    ------
    InputError
        If the recordings are not of different ranks of one job.
    """
    world, by_number = _job(ranks)
    job = _Job(by_number, world)
    if messages:
        contexts: list[_Context] = [tuple((key, None) for key in job.keys[ranks[0].rank])] * world
    else:
        job.match_calls()
        contexts = job.contexts
    starts = job.starts()
    kept = 0
    omissions = sum((rank.omissions for rank in ranks), Counter())
    bodies: dict[str, int] = {}
    body_of: dict[object, int] = {}
    for number, context in enumerate(contexts):
        own = job.recorded[number]
        if (own, context) not in body_of or number == own:
            found = _set_lines(by_number[own], job, dict(context), model=model, free=messages)
            if number == own:
                kept += found[0]
                omissions[_NOT_MET] += found[1] if model else 0
            body = "\n".join(by_number[own].program.lines(starts[own]))
            body_of[own, context] = bodies.setdefault(body, len(bodies))
    runs = list(ranges([body_of[what] for what in zip(job.recorded, contexts, strict=True)]))
    often = Counter(number for _, _, number in runs)
    texts = list(bodies)
    blocks = ((f"b{number}", [texts[number]]) for number, times in often.items() if times > 1)
    programs = (
        (f"{first}-{last}", [f"do b{number}" if often[number] > 1 else texts[number]])
        for first, last, number in runs
    )
    omissions[_COPIED] += world - len(ranks) if len(ranks) > 1 else 0
    return Recording(
        file,
        graph_text(world, programs, job.shapes, blocks=blocks),
        max(starts[rank.rank] + rank.program.seconds for rank in ranks),
        sum(len(rank.kernels) for rank in ranks),
        sum(kernel.communicates for rank in ranks for kernel in rank.kernels),
        kept,
        +omissions,
    )


def _job(ranks: Sequence[RecordedRank]) -> tuple[int, dict[int, RecordedRank]]:
    """Return the number of ranks of a job, and the recorded ones."""
    found: dict[int, RecordedRank] = {}
    last = max(ranks, key=lambda rank: rank.rank)
    world = max(rank.world for rank in ranks) or last.rank + 1
    check_ranks(world, last.file)
    for rank in sorted(ranks, key=lambda rank: rank.rank):
        if rank.world not in (0, world):
            raise InputError(
                f"is of a job with {rank.world} ranks, but others are of one with {world}",
                file=rank.file,
            )
        if not 0 <= rank.rank < world:
            raise InputError(f"is of rank {rank.rank} of {world}", file=rank.file)
        if rank.rank in found:
            raise InputError(
                f"is of rank {rank.rank}, as {found[rank.rank].file} is; give one recording per "
                "rank",
                file=rank.file,
            )
        found[rank.rank] = rank
    return world, found


class _Job:
    """Determines which calls of the ranks match."""

    def __init__(self, ranks: Mapping[int, RecordedRank], world: int) -> None:
        self.ranks, self.world = ranks, world
        numbers = list(ranks)
        # By rank: the recorded rank that represents it.
        self.recorded = [numbers[max(bisect_right(numbers, r) - 1, 0)] for r in range(world)]
        self.shapes: dict[str, tuple[int, int]] = {}
        every = [call for rank in ranks.values() for calls in rank.calls.values() for call in calls]
        # Several process groups of the same ranks are separate communicators.
        self._groups: dict[tuple[int, ...] | int, list[str]] = {}
        self._tags = sorted({call.group for call in every if call.word in ("send", "receive")})
        for call in sorted(set(every), key=lambda call: call.group):
            if call.group not in (known := self._groups.setdefault(call.members, [])):
                known.append(call.group)
        # Key and place of each call of each kernel of a rank; None: it keeps its recorded time.
        self.places: dict[int, dict[int, list[tuple[_Key, _Place] | None]]] = {}
        self.keys: dict[int, dict[_Key, dict[_Place, Call]]] = {}
        for number, rank in ranks.items():
            self._find_places(number, rank)
        self._agreed: dict[_Peers, dict[_Place, int]] = {}  # bytes
        self.contexts: list[_Context] = []

    def _find_places(self, number: int, rank: RecordedRank) -> None:
        counts: Counter[tuple[_Key, int]] = Counter()
        own = self.places.setdefault(number, {})
        keys = self.keys.setdefault(number, {})
        for kernel, calls in rank.calls.items():
            own[kernel] = []
            for call in calls:
                key = self._key(number, call)
                if key is None:
                    own[kernel].append(None)
                    continue
                # Numbers of messages are local to one end.
                which = call.number if isinstance(key, str) else -1
                place = which, counts[key, which]
                counts[key, which] += 1
                own[kernel].append((key, place))
                keys.setdefault(key, {})[place] = call

    def _key(self, rank: int, call: Call) -> _Key | None:
        members = call.members
        if call.word in ("send", "receive"):
            assert isinstance(members, int)
            return call.word, members - rank, self._tags.index(call.group)
        known = self._groups[members].index(call.group)
        if members == self.world:
            members = tuple(range(self.world))
        shape = shape_of(members, self.world) if isinstance(members, tuple) else None
        if shape is None:
            return None
        name = f"g{shape[0]}x{shape[1]}" + (f".{known}" if known else "")
        self.shapes[name] = shape
        return name

    def match_calls(self) -> None:
        """Find the matching calls of each rank."""
        groups: dict[tuple[str, int], _Peers] = {}
        for rank, own in enumerate(self.recorded):
            found: list[tuple[_Key, _Peers]] = []
            for key in self.keys[own]:
                if isinstance(key, str):
                    size, step = self.shapes[key]
                    first = rank - rank // step % size * step
                    if (key, first) not in groups:
                        members = range(first, min(first + size * step, self.world), step)
                        groups[key, first] = key, frozenset(self.recorded[m] for m in members)
                    found.append((key, groups[key, first]))
                else:
                    found.append((key, self._message(rank, key)))
            self.contexts.append(tuple(found))
        distinct = dict.fromkeys(zip(self.recorded, self.contexts, strict=True))
        for _, context in distinct:
            for key, peers in context:
                if peers is not None and peers not in self._agreed:
                    self._agreed[peers] = self._agreement(key, peers)
        # A kernel of several calls matches completely or not at all.
        changed = True
        while changed:
            changed = False
            for rank, context in distinct:
                peers_of = dict(context)
                for places in self.places[rank].values():
                    if not self.is_matched(places, peers_of):
                        for place in places:
                            own_peers = peers_of[place[0]] if place else None
                            known = self._agreed.get(own_peers, {})
                            changed |= place is not None and known.pop(place[1], None) is not None

    def _message(self, rank: int, key: tuple[str, int, int]) -> _Peers:
        word, offset, tag = key
        peer, own = rank + offset, self.recorded[rank]
        if not 0 <= peer < self.world or self.recorded[peer] != own + offset:
            return None
        ends = (own, own + offset) if word == "send" else (own + offset, own)
        return *ends, tag

    def _agreement(self, key: _Key, peers: _Peers) -> dict[_Place, int]:
        """Return the calls that all peers have, and their bytes."""
        assert peers is not None
        if len(peers) == 3:
            source, goal, tag = peers
            sides = [
                self.keys[source].get(("send", goal - source, tag), {}),
                self.keys[goal].get(("receive", source - goal, tag), {}),
            ]
        else:
            sides = [self.keys[rank].get(key, {}) for rank in sorted(peers[1])]
        agreed: dict[_Place, int] = {}
        for place in sides[0]:
            calls = [side[place] for side in sides if place in side]
            sizes = {call.nbytes for call in calls}
            # Parts of an all-to-all may differ between ranks; the largest takes longest.
            same = len(sizes) == 1 or calls[0].word == "all_to_all"
            words = {call.word for call in calls} - {"send", "receive"}
            if len(calls) == len(sides) and len(words) <= 1 and same:
                agreed[place] = max(sizes)
            elif place[0] < 0:
                break  # later calls do not match either
        return agreed

    def is_matched(
        self, places: Sequence[tuple[_Key, _Place] | None], peers_of: Mapping[_Key, _Peers]
    ) -> bool:
        """Return whether all calls of a kernel match."""
        return all(
            place is not None and place[1] in self._agreed.get(peers_of[place[0]], ())
            for place in places
        )

    def bytes_of(self, peers: _Peers, place: _Place) -> int:
        """Return the bytes of a matched call."""
        return self._agreed[peers][place]

    def starts(self) -> dict[int, float]:
        """Return the start of each recorded rank in seconds, if matched calls end together.

        Clocks of nodes differ by more than a call takes, and recordings begin at arbitrary times.
        """
        ends: dict[int, dict[tuple[_Peers, _Place], float]] = {}
        for number, rank in self.ranks.items():
            peers_of = dict(self.contexts[number]) if self.contexts else {}
            own = ends.setdefault(number, {})
            for kernel, places in self.places[number].items():
                for place in places:
                    peers = peers_of.get(place[0]) if place else None
                    if place and peers and place[1] in self._agreed[peers]:
                        date = (rank.kernels[kernel].end - rank.program.begin) * 1e-6
                        own[peers, place[1]] = date
        starts: dict[int, float] = {}
        for number in self.ranks:
            starts.setdefault(number, 0.0)
            reached = [number]
            for base in reached:
                for other in self.ranks:
                    common = () if other in starts else ends[base].keys() & ends[other].keys()
                    if common:
                        later = median(ends[base][call] - ends[other][call] for call in common)
                        starts[other] = starts[base] + later
                        reached.append(other)
        first = min(starts.values())
        return {number: start - first for number, start in starts.items()}


def _set_lines(
    rank: RecordedRank,
    job: _Job,
    peers_of: Mapping[_Key, _Peers],
    *,
    model: bool,
    free: bool,
) -> tuple[int, int]:
    """Set the lines of the kernels of a rank that match.

    Returns how many keep their times, and how many of these because other ranks lack the call.
    """
    kept = not_met = 0
    for number, kernel in enumerate(rank.kernels):
        if not kernel.communicates:
            continue
        kernel.line = None
        places = job.places[rank.rank].get(number, [None])
        known = None not in places
        if model and known and (free or job.is_matched(places, peers_of)):
            parts = []
            for place, call in zip(places, rank.calls[number], strict=True):
                assert place is not None
                key, at = place
                nbytes = call.nbytes if free else job.bytes_of(peers_of[key], at)
                name = key if isinstance(key, str) else f"{key[1]}"
                tag = f" {key[2]}" if not isinstance(key, str) and key[2] else ""
                parts.append(f"{call.word} {{stream}} {name} {nbytes}{tag}")
            # Messages stay in order, whatever their groups.
            if rank.calls[number][0].word in ("send", "receive"):
                parts = ["group {stream}", *parts, "end"]
            kernel.line = "\n".join(parts)
        else:
            kept += 1
            not_met += known
    return kept, not_met
