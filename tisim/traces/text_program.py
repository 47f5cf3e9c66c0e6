"""A reader of text traces without the compiled core: lines become actions of ranks.

docs/traces.md describes the two dialects. Calls on files and windows, and user-defined actions,
are refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from tisim.errors import InputError
from tisim.traces.sources import Part, find_source
from tisim.traces.spool import Spool

_T = TypeVar("_T")

ANY_SOURCE: Final = -555
ANY_TAG: Final = -444
PROC_NULL: Final = -666
_NULL: Final = -333  # SimGrid's tracer writes it for both (ADR 4)

# Bytes of types 0 to 59, and of type -1, whose size the tracer lost.
_WIDTHS: Final = (
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8,
    8, 16, 16, 8, 8, 8, 16, 16, 4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, 0, 0, 1,
    8, 8, 0,
)  # fmt: skip

#: The arguments of collectives, and the tag that SimGrid writes in waits for non-blocking ones.
#: ``s*`` and ``r*`` are a count per rank, or per neighbour after ``to`` and ``from``: the number
#: of neighbours and their ranks; ``-`` is unused; types and the root may be absent.
COLLECTIVES: Final[dict[str, tuple[str, int]]] = {
    "barrier": ("", -779),
    "bcast": ("s root type", -3335),
    "reduce": ("s flops root type", -113),
    "allreduce": ("s flops type", -4446),
    "alltoall": ("s r type type", -1113),
    "alltoallv": ("- s* - r* type type", -1001),
    "gather": ("s r root type type", -446),
    "gatherv": ("s r* root type type", -2224),
    "scatter": ("s r root type type", -224),
    "scatterv": ("s* r root type type", -335),
    "allgather": ("s r type type", -557),
    "allgatherv": ("s r* type type", -668),
    "reducescatter": ("r* flops type", -890),
    "scan": ("s flops type", -889),
    "exscan": ("s flops type", -889),
    "neighbor_allgather": ("to from s r type type", -1002),
    "neighbor_allgatherv": ("to from s r* type type", -1002),
    "neighbor_alltoall": ("to from s r type type", -1002),
    "neighbor_alltoallv": ("to from s* r* type type", -1002),
}
_NAMED: Final = ("comm=", "request=", "requests=", "completed=", "layer=")
#: The modes of sends and of persistent sends.
SENDS: Final = {
    **{"send": "standard", "ssend": "synchronous", "bsend": "buffered"},
    **{"isend": "standard", "issend": "synchronous", "ibsend": "buffered"},
}
SEND_INITS: Final = {
    "send_init": "standard", "ssend_init": "synchronous", "bsend_init": "buffered",
}  # fmt: skip
_LISTS: Final = {"waitall", "waitany", "waitsome", "testall", "testany", "testsome", "startall"}
_LEGACY_NAMES: Final = {
    "Isend", "Irecv", "waitAll", "allReduce", "allToAll", "allToAllV", "allToAllv", "allGather",
    "allGatherV", "reduceScatter", "gatherV", "allGatherv",
}  # fmt: skip


@dataclass(slots=True)
class Action:
    """One action of a rank.

    Attributes
    ----------
    name
        As in traces, in lower case.
    peer, tag, nbytes
        Of a message; `nbytes` is -1 for a receive of unknown size. For a wait, test, start,
        cancel or request_free without `numbers`: source, tag and destination of the request.
    amount
        Flops or seconds; the flops of a reduction.
    comm
        The communicator's number in the trace.
    numbers
        Numbers of requests (``request=``, ``requests=``); None without these. For a
        ``waitany_recorded`` or ``waitsome_recorded``, the completed requests (``completed=``).
    words
        Arguments of a collective or of the creation of a communicator.
    double
        Whether the default type is double rather than byte.
    receive
        The receiving half of a sendrecv.
    threads, total
        Number of threads of a computation and, in `total`, the sum of their flops.
    source_lost
        Whether this starts a persistent receive whose source the tracer did not write.
    line
        Line in the rank's file, from 1.
    """

    name: str
    peer: int = 0
    tag: int = 0
    nbytes: int = 0
    amount: float = 0.0
    comm: int = 0
    numbers: tuple[int, ...] | None = None
    words: tuple[str, ...] = ()
    double: bool = False
    receive: Action | None = None
    threads: int = 1
    total: float = 0.0
    source_lost: bool = False
    line: int = 0


@dataclass(slots=True)
class CollectiveCall:
    """A collective with its arguments by meaning (see `tisim.actions.vocabulary`)."""

    operation: str
    blocking: bool
    size: int
    root: int = 0
    send_count: int = 0
    receive_count: int = 0
    send_counts: list[int] = field(default_factory=list)
    receive_counts: list[int] = field(default_factory=list)
    destinations: list[int] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    send_width: int = 1
    receive_width: int = 1
    flops: float = 0.0


def collective_call(action: Action, size: int) -> tuple[CollectiveCall, float]:
    """Return the call of a collective on `size` ranks, and the flops that follow its messages.

    The flops of a reduce-scatter belong to its schedule.
    """
    operation = action.name if action.name in COLLECTIVES else action.name[1:]
    call = CollectiveCall(operation, action.name == operation, size)
    roles = COLLECTIVES[operation][0].split()
    # Displacements after the types of an allgatherv are unused.
    has_displacements = operation == "allgatherv" and len(action.words) > size + 3
    words = iter(action.words[:-size] if has_displacements else action.words)
    usual = 8 if action.double else 1
    lengths = {"s*": size, "r*": size}
    widths: list[int] = []
    flops = 0.0
    for role in roles:
        if role == "flops":
            flops = float(next(words))
            continue
        if role in ("to", "from"):
            ranks = [_whole(word) for word in islice(words, _whole(next(words)))]
            lengths["s*" if role == "to" else "r*"] = len(ranks)
            if role == "to":
                call.destinations = ranks
            else:
                call.sources = ranks
            continue
        counts = [_whole(word) for word in islice(words, lengths.get(role, 1))]
        if role == "s":
            call.send_count = counts[0]
        elif role == "r":
            call.receive_count = counts[0]
        elif role == "s*":
            call.send_counts = counts
        elif role == "r*":
            call.receive_counts = counts
        elif role == "root" and counts:
            call.root = counts[0]
        elif role == "type" and counts:
            widths.append(_width(counts[0]))
    call.send_width = widths[0] if widths else usual
    call.receive_width = call.send_width
    if roles.count("type") == 2:
        call.receive_width = widths[1] if len(widths) > 1 else usual
    if operation == "reducescatter":
        call.flops, flops = flops, 0.0
    return call, flops


class TextTrace:
    """A trace in text: one file per rank, or one for all.

    `source` is as in `tisim.Trace.open`; `dialect` is ``"modern"``, ``"legacy"``, or ``"auto"``.
    `null_is_any` says whether -333 in a receive means MPI_ANY_SOURCE rather than MPI_PROC_NULL.
    Raises an `InputError` when the files cannot be read.
    """

    def __init__(
        self,
        source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        dialect: str = "auto",
        *,
        null_is_any: bool = True,
    ) -> None:
        with Spool() as spool:
            found = find_source(source, spool)
            files = [(part.name, _text(part).splitlines()) for part in found.parts]
        self.name = found.name
        self._null_is_any = null_is_any
        self._lines: dict[int, list[tuple[int, str]]] = {}
        self._files: dict[int, str] = {}
        for name, lines in files:
            for number, line in enumerate(lines, 1):
                words = line.partition("#")[0].split(None, 1)
                if words:
                    rank = self._read(partial(_whole, words[0]), name, number)
                    self._files.setdefault(rank, name)
                    self._lines.setdefault(rank, []).append((number, "".join(words[1:])))
        self.ranks = len(self._lines)
        if sorted(self._lines) != list(range(self.ranks)):
            raise InputError("lacks the lines of a rank below the highest one", file=self.name)
        if dialect == "auto":
            dialect = "legacy" if _is_legacy([lines for _, lines in files]) else "modern"
        self._tagged = dialect == "modern"

    @staticmethod
    def _read(read: Callable[[], _T], file: str, line: int) -> _T:
        """Return the result of `read`; add file and line to its errors."""
        try:
            return read()
        except InputError as error:
            raise InputError(error.message, file=file, line=line) from None
        except (ValueError, IndexError, StopIteration):
            raise InputError(
                "these arguments do not match the action", file=file, line=line
            ) from None

    def place(self, rank: int, line: int) -> tuple[str, int]:
        """Return the file and line of an action, for messages."""
        return self._files[rank], line

    def actions(self, rank: int) -> Iterator[Action]:
        """Yield the actions of a rank."""
        double = False
        for number, text in self._lines[rank]:
            action = self._read(partial(self._parse, text, rank, double), self._files[rank], number)
            action.line = number
            if action.name == "init":
                double = bool(action.words)
            yield action

    def _parse(self, text: str, rank: int, double: bool) -> Action:
        words = text.split()
        action = Action(words[0].lower(), double=double)
        name = action.name
        request = completed = None
        is_making = name.startswith("comm_")
        while len(words) > 1 and "=" in words[-1] and name != "compute" and not is_making:
            key, _, value = words.pop().partition("=")
            if key == "comm":
                action.comm = _whole(value)
            elif key == "request":
                request = (_whole(value),)
            elif key == "requests":
                action.numbers = numbers = _numbers(value)
                twice = next((n for n in numbers if numbers.count(n) > 1), None)
                if twice is not None:
                    raise InputError(f"request {twice} occurs twice in requests=")
            elif key == "completed" and name in ("waitany", "waitsome"):
                completed = _numbers(value)
            else:
                raise InputError(f"{name} does not support {key}= on the SimPy kernel")
        action.numbers = action.numbers if request is None else request
        if completed is not None:
            action.name, action.numbers = f"{name}_recorded", completed
        arguments = words[1:]
        if name in COLLECTIVES or (name[0] == "i" and name[1:] in COLLECTIVES):
            action.words = tuple(arguments)
        elif name == "compute":
            self._compute(action, arguments)
        elif name == "sleep":
            (action.amount,) = map(float, arguments)
        elif name in SENDS or name in SEND_INITS:
            self._message(action, arguments, self._destination(arguments[0]))
        elif name in ("recv", "irecv", "recv_init"):
            self._message(action, arguments, self._source(arguments[0]))
        elif name in ("probe", "iprobe"):
            action.peer, action.nbytes = self._source(arguments[0]), -1
            action.tag = _whole(arguments[1]) if self._tagged else 0
        elif name == "sendrecv":
            self._sendrecv(action, arguments)
        elif name in ("wait", "test", "start", "cancel", "request_free"):
            self._request(action, arguments, rank)
        elif name in _LISTS or name in ("comm_size", "location", "finalize", "nop"):
            pass
        elif name in ("init", "comm_split", "comm_dup", "comm_idup", "comm_group", "comm_free"):
            action.words = tuple(arguments)
        else:
            raise InputError(
                f"the SimPy kernel does not support the action {words[0]!r}; calls on files and "
                "windows, and custom actions, need --kernel core"
            )
        return action

    @staticmethod
    def _compute(action: Action, words: Sequence[str]) -> None:
        action.amount = float(words[0])
        if words[1:]:
            named = dict(word.split("=") for word in words[1:])
            action.threads, action.total = int(named["threads"]), float(named["sum"])

    def _message(self, action: Action, words: Sequence[str], peer: int) -> None:
        """Parse ``peer [tag] count [type]``; a legacy receive may give only its source."""
        at = 2 if self._tagged else 1
        action.peer = peer
        action.tag = _whole(words[1]) if self._tagged else 0
        count = _whole(words[at]) if len(words) > at else -1
        action.nbytes = count * self._width(words[at + 1 :], action.double) if count >= 0 else -1

    def _sendrecv(self, action: Action, words: Sequence[str]) -> None:
        """Parse ``scount dst rcount src [stype rtype]``."""
        action.peer = self._destination(words[1])
        action.nbytes = _whole(words[0]) * self._width(words[4:], action.double)
        received = _whole(words[2]) * self._width(words[5:], action.double)
        source = self._source(words[3])
        action.receive = Action("recv", source, 0, received, comm=action.comm)

    def _request(self, action: Action, words: Sequence[str], rank: int) -> None:
        """Parse the key ``source destination tag``, or SimGrid's form of a start."""
        if action.name == "start" and len(words) >= 4:
            destination = _whole(words[0])
            action.tag, action.nbytes = _whole(words[1]), _whole(words[2])
            action.source_lost = destination == rank and action.comm == 0
            action.name = "irecv" if action.source_lost else "isend"
            action.peer = ANY_SOURCE if action.source_lost else self._destination(words[0])
        elif action.numbers is None and words:
            ends = _whole(words[0]), _whole(words[1])
            is_collective = ends == (_NULL, _NULL)
            action.peer = ANY_SOURCE if is_collective else self._source(words[0])
            action.nbytes = ANY_SOURCE if is_collective else self._destination(words[1])
            action.tag = _whole(words[2])
        elif action.numbers is None:
            action.name += "_last"

    def _width(self, words: Sequence[str], double: bool) -> int:
        return _width(_whole(words[0])) if words else 8 if double else 1

    def _destination(self, word: str) -> int:
        rank = _whole(word)
        return PROC_NULL if rank == _NULL else self._existing(rank, (PROC_NULL,))

    def _source(self, word: str) -> int:
        rank = _whole(word)
        if rank == _NULL:
            return ANY_SOURCE if self._null_is_any else PROC_NULL
        return self._existing(rank, (PROC_NULL, ANY_SOURCE))

    def _existing(self, rank: int, others: Sequence[int]) -> int:
        if rank not in others and not 0 <= rank < self.ranks:
            raise InputError(f"rank {rank} does not exist: the ranks are 0 to {self.ranks - 1}")
        return rank


def _whole(word: str) -> int:
    """Parse a whole number, which may be written as ``1e6``."""
    try:
        return int(word)
    except ValueError:
        value = float(word)
        if not value.is_integer():
            raise
        return int(value)


def _numbers(listed: str) -> tuple[int, ...]:
    return tuple(_whole(number) for number in listed.split(",") if number)


def _width(number: int) -> int:
    if not -1 <= number <= 59:
        raise InputError(f"no type {number}; types are 0 to 59, and -1")
    return _WIDTHS[number]


def _text(part: Part) -> str:
    if part.path is not None:
        data = Path(part.path).read_bytes()
    else:
        size = os.fstat(part.descriptor).st_size if part.length is None else part.length
        data = os.pread(part.descriptor, size, part.offset)
    if b"\0" in data:
        raise InputError(
            "is not text; the SimPy kernel does not read packed traces: run 'tisim unpack' first",
            file=part.name,
        )
    return data.decode(errors="replace")


def _is_legacy(files: Sequence[Sequence[str]]) -> bool:
    """Return whether the lines are from SimGrid before 3.20, whose messages have no tags."""
    named = False
    for lines in files:
        for line in lines:
            if line.startswith("#") and line.lstrip("# \t").startswith("version:"):
                return False
            words = line.partition("#")[0].split()[1:]
            if not words:
                continue
            if words[1:] and words[-1].startswith(_NAMED):
                return False
            name, arguments = words[0].lower(), words[1:]
            named |= words[0] in _LEGACY_NAMES
            is_receive = name in ("recv", "irecv", "recv_init")
            if is_receive or name in SENDS or name in SEND_INITS:
                if len(arguments) == 2 or (len(arguments) == 1 and is_receive):
                    return True
                if len(arguments) == 4 or (len(arguments) == 3 and not _may_be_type(arguments[2])):
                    return False
            elif name in ("wait", "test", "cancel", "request_free") and len(arguments) in (0, 3):
                return not arguments
    return named


def _may_be_type(word: str) -> bool:
    try:
        return -1 <= _whole(word) <= 59
    except ValueError:
        return False
