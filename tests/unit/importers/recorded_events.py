"""Runs recorded by `event_recorder.c`, written as OTF2 and as Paraver's .prv."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

RECORDER = Path(__file__).with_name("event_recorder.c")

# Types and values of calls in Paraver, as numbered by Extrae.
_P2P, _COLLECTIVE, _OTHER = 50000001, 50000002, 50000003
_CALLS = {
    "MPI_Send": (_P2P, 1),
    "MPI_Recv": (_P2P, 2),
    "MPI_Isend": (_P2P, 3),
    "MPI_Irecv": (_P2P, 4),
    "MPI_Wait": (_P2P, 5),
    "MPI_Waitall": (_P2P, 6),
    "MPI_Ssend": (_P2P, 34),
    "MPI_Test": (_P2P, 39),
    "MPI_Sendrecv": (_P2P, 41),
    "MPI_Bcast": (_COLLECTIVE, 7),
    "MPI_Barrier": (_COLLECTIVE, 8),
    "MPI_Reduce": (_COLLECTIVE, 9),
    "MPI_Allreduce": (_COLLECTIVE, 10),
    "MPI_Alltoall": (_COLLECTIVE, 11),
    "MPI_Gather": (_COLLECTIVE, 13),
    "MPI_Init": (_OTHER, 31),
    "MPI_Finalize": (_OTHER, 32),
}


@dataclass
class Call:
    """A call: its begin and end, in nanoseconds, and its events."""

    name: str
    begin: int
    end: int = 0
    events: list[tuple[str, list[str]]] = field(default_factory=list)


@dataclass
class Recorded:
    """Calls of each rank, and ranks of each communicator by its number."""

    ranks: list[list[Call]]
    comms: dict[int, list[int]]


def read_events(directory: Path, ranks: int) -> Recorded:
    found = Recorded([], {})
    for rank in range(ranks):
        calls: list[Call] = []
        for line in (directory / f"events-{rank}.txt").read_text().splitlines():
            kind, *words = line.split()
            if kind == "enter":
                calls.append(Call(words[0], int(words[1])))
            elif kind == "leave":
                calls[-1].end = int(words[0])
            elif kind == "comm":
                found.comms[int(words[0])] = [int(word) for word in words[1:]]
            else:
                calls[-1].events.append((kind, words))
        found.ranks.append(calls)
    return found


def write_otf2(recorded: Recorded, directory: Path) -> None:
    """Write OTF2 as Score-P does: one event per recorded event."""
    import otf2
    from otf2.enums import CollectiveOp

    from tests.unit.importers.otf2_archive import TICKS, Archive

    kinds = {
        "send": "MpiSend",
        "recv": "MpiRecv",
        "isend": "MpiIsend",
        "irecv": "MpiIrecv",
        "posted": "MpiIrecvRequest",
        "sent": "MpiIsendComplete",
    }
    start = min(calls[0].begin for calls in recorded.ranks)
    with otf2.writer.open(str(directory), timer_resolution=TICKS) as writer:
        archive = Archive(writer, len(recorded.ranks), None)
        comms = [
            archive.communicator(f"comm {number}", tuple(ranks)) if number else archive.world
            for number, ranks in sorted(recorded.comms.items())
        ]
        for number, calls in enumerate(recorded.ranks):
            rank = archive.rank(number)
            for call in calls:
                rank.at(call.begin - start, "Enter", archive.region(call.name))
                for kind, words in call.events:
                    time = call.end - start
                    if kind == "collective":
                        operation = getattr(CollectiveOp, words[0])
                        _, comm, *numbers = map(int, ["0", *words[1:]])
                        rank.at(time, "MpiCollectiveEnd", operation, comms[comm], *numbers)
                    elif kind in ("posted", "sent"):
                        rank.at(time, kinds[kind], int(words[0]))
                    else:
                        peer, comm, *numbers = map(int, words)
                        rank.at(time, kinds[kind], peer, comms[comm], *numbers)
                rank.at(call.end - start, "Leave", archive.region(call.name))


def write_prv(recorded: Recorded, file: Path) -> None:
    """Write .prv as Extrae's merger does: paired messages, world ranks, sizes of collectives."""
    start = min(calls[0].begin for calls in recorded.ranks)
    end = max(calls[-1].end for calls in recorded.ranks) - start
    count = len(recorded.ranks)
    records = sorted(_prv_records(recorded, start))
    tasks = ",".join(["1:1"] * count)
    lines = [f"#Paraver (01/01/2026 at 10:00):{end}_ns:1({count}):1:{count}({tasks}),1"]
    for number, ranks in sorted(recorded.comms.items()):
        members = ":".join(str(rank + 1) for rank in ranks)
        lines.append(f"c:1:{number + 1}:{len(ranks)}:{members}")
    lines += [record for _, record in records]
    file.write_text("".join(f"{line}\n" for line in lines))


def _prv_records(recorded: Recorded, start: int) -> Iterator[tuple[int, str]]:
    for rank, calls in enumerate(recorded.ranks):
        place = f"2:{rank + 1}:1:{rank + 1}:1"
        for call in calls:
            type_, value = _CALLS[call.name]
            sizes = "".join(
                _prv_sizes(recorded, rank, words)
                for kind, words in call.events
                if kind == "collective"
            )
            yield call.begin - start, f"{place}:{call.begin - start}:{type_}:{value}{sizes}"
            yield call.end - start, f"{place}:{call.end - start}:{type_}:0"
    yield from _prv_messages(recorded, start)


def _prv_sizes(recorded: Recorded, rank: int, words: list[str]) -> str:
    name, (comm, root, sent, received) = words[0], map(int, words[1:])
    ranks = recorded.comms[comm]
    is_root = ranks[root] == rank
    part = len(ranks)
    if name == "BCAST":
        sent, received = (sent // part, 0) if is_root else (0, received)
    elif name in ("ALLREDUCE", "ALLTOALL"):
        sent, received = sent // part, received // part
    rooted = int(is_root and name in ("BCAST", "REDUCE", "GATHER"))
    if name == "REDUCE":
        received //= part
    return f":50100001:{sent}:50100002:{received}:50100003:{rooted}:50100004:{comm + 1}"


def _prv_messages(recorded: Recorded, start: int) -> Iterator[tuple[int, str]]:
    """Yield a record for each send and its matching receive, in the order of both."""
    sent: dict[tuple[int, ...], deque[int]] = defaultdict(deque)
    received: dict[tuple[int, ...], list[tuple[int, int, int]]] = defaultdict(list)
    for rank, calls in enumerate(recorded.ranks):
        posted: dict[int, int] = {}
        for call in calls:
            for kind, words in call.events:
                numbers = [int(word) for word in words] if kind != "collective" else []
                if kind == "posted":
                    posted[numbers[0]] = call.begin
                elif kind in ("send", "isend", "recv", "irecv"):
                    peer, comm, tag, size = numbers[:4]
                    other = recorded.comms[comm][peer]
                    if kind in ("send", "isend"):
                        sent[rank, other, comm, tag].append(call.begin)
                    else:
                        began = posted[numbers[4]] if kind == "irecv" else call.begin
                        received[other, rank, comm, tag].append((began, call.end, size))
    for key, receives in received.items():
        sender, receiver, _, tag = key
        for posted_at, ended, size in sorted(receives):
            begun = sent[key].popleft() - start
            left, right = (f"{rank + 1}:1:{rank + 1}:1" for rank in (sender, receiver))
            arrived = f"{posted_at - start}:{ended - start}"
            yield (
                begun,
                f"3:{left}:{begun}:{begun}:{right}:{arrived}:{size}:{tag}",
            )
