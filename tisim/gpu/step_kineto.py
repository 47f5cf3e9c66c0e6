"""Recordings of PyTorch's profiler (Kineto): of one rank, which represents all, or of several.

Kernels keep their times. The host thread launches them at the recorded gaps between launches, and
waits for streams where it did. A kernel that began just after one of another stream had ended,
later than its own stream and its launch explain, is assumed to wait for that one. Collectives whose
sizes and groups are recorded become collectives; others keep their times.

Events are read one after the other, and only the required fields are kept.
"""

from __future__ import annotations

import codecs
import json
import math
import re
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.gpu.step_graph import MAX_RANKS
from tisim.gpu.step_ranks import Call, RecordedRank, joined
from tisim.gpu.step_recording import Launched, Program, Recording, check_ranks
from tisim.support.limits import unpacking_limit
from tisim.support.reading import open_input

# Collectives by their Kineto names. A group of NCCL calls is one kernel, whose elements are those
# of all calls; channels are divided by bytes, so that a group equals one call of the sum. An
# all-to-all is a group of messages.
_COLLECTIVES = {
    "allreduce": "all_reduce",
    "allreduce_coalesced": "all_reduce",
    "_allgather_base": "all_gather",
    "allgather": "all_gather",
    "allgather_into_tensor_coalesced": "all_gather",
    "_reduce_scatter_base": "reduce_scatter",
    "reduce_scatter": "reduce_scatter",
    "reduce_scatter_tensor_coalesced": "reduce_scatter",
    "broadcast": "broadcast",
    "all_to_all": "all_to_all",
    "all_to_allv": "all_to_all",
}
# Messages, and Kineto's name for the peer rank.
_MESSAGES = {"send": ("send", "Dst Rank"), "recv": ("receive", "Src Rank")}
_BYTES = {"Float": 4, "Half": 2, "BFloat16": 2, "Double": 8, "Int": 4, "Long": 8, "Byte": 1}
_ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
_CALLS = ("cuda_runtime", "cuda_driver")
# Host calls that wait: for all streams, or for one.
_WAITS = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize")
# The host's record of an NCCL call, with its sizes.
_PARAMETERS = "record_param_comms"
# An activity of a GPU: stream, begin, end, correlation, title, calls (those of a group).
_Found = tuple[str, float, float, object, str, tuple[Call, ...]]
_SUFFIXES = (".json", ".json.gz")
# Bytes read at once.
_PIECE = 1 << 20


def is_kineto(paths: Sequence[str | Path]) -> bool:
    """Return whether paths name recordings, or a directory that contains some."""
    return all(str(path).endswith(_SUFFIXES) or Path(path).is_dir() for path in paths)


def read_kineto(
    paths: str | Path | Sequence[str | Path], *, model: bool = True, messages: bool = False
) -> Recording:
    """Read recordings, JSON or JSON in gzip, as the graph of all ranks of their job.

    Parameters
    ----------
    paths
        A recording, several, or a directory of them: one file per rank.
    model
        Simulate recorded collectives and messages; otherwise they keep their recorded times.
    messages
        Simulate all messages that one rank has recorded, whatever their peers.

    Raises
    ------
    InputError
        If a file is not a recording, or the files are not of different ranks of one job.
    """
    given = [paths] if isinstance(paths, str | Path) else paths
    files = [file for path in given for file in _recordings_of(Path(path))]
    ranks = [read_rank(file, several=len(files) > 1) for file in files]
    return joined(ranks, given[0], model=model, messages=messages)


def _recordings_of(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.name.endswith(_SUFFIXES))
    if not found:
        raise InputError("this directory contains no recording (*.json, *.json.gz)", file=path)
    return found


def read_rank(path: str | Path, *, several: bool = False) -> RecordedRank:
    """Read the recording of a rank; if `several`, the file or its name gives the rank."""
    calls: dict[object, tuple[float, object]] = {}  # date and thread
    sent: dict[object, list[tuple[float, float, Call]]] = {}  # messages by thread: begin, end
    waits: list[tuple[float, float]] = []
    found: list[_Found] = []
    omissions: Counter[str] = Counter()
    groups: dict[str, tuple[int, ...]] = {}
    world = 0
    rank = None
    try:
        reader = _Reader(_pieces(path), path)
        for name, value in reader.members():
            if name == "distributedInfo" and isinstance(value, dict):
                world = int(value.get("world_size", 1))
                check_ranks(world, path)
                rank = None if value.get("rank") is None else int(value["rank"])
                groups = _groups_of(value.get("pg_config"))
            if name != "traceEvents" or not isinstance(value, dict) or value.get("ph") != "X":
                continue
            args = value.get("args")
            if not isinstance(args, dict):
                continue
            category, begin = value.get("cat"), float(value["ts"])
            length = float(value.get("dur", 0.0))
            if not (0.0 <= length < math.inf and -math.inf < begin < math.inf):
                raise InputError(
                    f"{str(value.get('name'))[:60]!r} has an impossible time: it begins at "
                    f"{begin:g} us and takes {length:g} us",
                    file=path,
                    line=reader.line,
                )
            if category not in _ON_GPU + _CALLS:
                omissions[f"events of category {category}"] += 1
            if category in _CALLS:
                calls[args.get("correlation")] = begin, value.get("tid")
                if value.get("name") in _WAITS:
                    waits.append((begin, length))
            elif value.get("name") == _PARAMETERS:
                if (message := _message_of(args)) is not None:
                    own = begin, begin + length, message
                    sent.setdefault(value.get("tid"), []).append(own)
            elif category in _ON_GPU:
                end = begin + length
                stream = sys.intern(f"s{args.get('stream')}")
                title = sys.intern(str(value.get("name")))
                own_calls: tuple[Call, ...] = ()
                if "nccl" in title.lower():
                    call = _message_of(args) or _call_of(args)
                    own_calls = (call,) if call.word else ()
                found.append((stream, begin, end, args.get("correlation"), title, own_calls))
        if not reader.has("traceEvents"):
            raise KeyError("traceEvents")
        if not found:
            raise ValueError("it has no kernels")
        _add_groups(found, calls, sent)
        kernels: list[Launched] = []
        of_kernel: dict[int, list[Call]] = {}
        for stream, begin, end, correlation, title, own_calls in found:
            launch = min(begin, calls[correlation][0]) if correlation in calls else begin
            omissions["kernels whose launch was not recorded"] += correlation not in calls
            if own_calls:
                of_kernel[len(kernels)] = [_with_members(call, groups) for call in own_calls]
            kernels.append(Launched(stream, begin, end, launch, "nccl" in title.lower()))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(
            f"this is not a recording of PyTorch's profiler: {type(error).__name__}: {error}",
            file=path,
        ) from None
    if several and rank is None:
        named = re.findall(r"rank[-_.]?(\d+)", Path(path).name)
        if not named:
            raise InputError(
                "lacks its rank: it has neither a distributedInfo nor a name such as rank3.json",
                file=path,
            )
        rank = int(named[-1])
    program = Program(kernels, waits)
    return RecordedRank(path, rank or 0, world, program, kernels, of_kernel, +omissions)


def _groups_of(config: object) -> dict[str, tuple[int, ...]]:
    """Return the ranks of process groups by name."""
    groups = {}
    for group in config if isinstance(config, list) else ():
        ranks = group.get("ranks") if isinstance(group, dict) else None
        if isinstance(ranks, list) and all(isinstance(rank, int) for rank in ranks):
            groups[str(group.get("pg_name"))] = tuple(sorted(ranks))
    return groups


def _with_members(call: Call, groups: dict[str, tuple[int, ...]]) -> Call:
    """Return a call with the members of its group, if the call has only their number."""
    if call.word not in _COLLECTIVES.values() or isinstance(call.members, tuple):
        return call
    members = groups.get(call.group, ())
    return call._replace(members=members) if len(members) == call.members else call


def _add_groups(
    found: list[_Found],
    calls: dict[object, tuple[float, object]],
    sent: dict[object, list[tuple[float, float, Call]]],
) -> None:
    """Give kernels of ``batch_isend_irecv``, which have no sizes, the messages of their group.

    PyTorch records each message when it is added to the group, and launches the kernel once all are
    added (pytorch/pytorch, issue 194693). A kernel is therefore given the messages that its thread
    has recorded since the previous launch, except one whose record contains that launch.
    """
    launches: dict[object, list[tuple[float, int]]] = {}
    for number, (_, _, _, correlation, title, _) in enumerate(found):
        if "nccl" in title.lower() and correlation in calls:
            date, thread = calls[correlation]
            launches.setdefault(thread, []).append((date, number))
    for thread, messages in sent.items():
        messages.sort(key=lambda message: message[0])
        at = 0
        for date, number in sorted(launches.get(thread, ())):
            group = []
            while at < len(messages) and messages[at][0] <= date:
                group += [messages[at][2]] if messages[at][1] <= date else []
                at += 1
            if group and not found[number][5] and "sendrecv" in found[number][4].lower():
                found[number] = (*found[number][:5], tuple(group))


def _call_of(args: dict[str, object]) -> Call:
    """Return the collective of a kernel; an empty word if it is unknown."""
    word = _COLLECTIVES.get(str(args.get("Collective name")), "")
    width = _BYTES.get(str(args.get("dtype")), 0)
    sizes = [args.get("In msg nelems"), args.get("Out msg nelems")]
    elements = max((size for size in sizes if isinstance(size, int)), default=0)
    size = args.get("Group size")
    listed = re.findall(r"\d+", str(args.get("Process Group Ranks", "")))
    # A long list is abbreviated with "..."
    known = tuple(map(int, listed)) if len(listed) == size else None
    start, stride = args.get("Global rank start"), args.get("Global rank stride")
    if (
        (known is None and isinstance(size, int) and 0 < size <= MAX_RANKS)
        and (isinstance(start, int) and start >= 0)
        and (isinstance(stride, int) and stride > 0)
    ):
        known = tuple(range(start, start + size * stride, stride))
    number = args.get("Seq")
    return Call(
        word if width else "",
        known or (size if isinstance(size, int) else 0),
        elements * width,
        _group_of(args),
        number if isinstance(number, int) and number >= 0 else -1,
    )


def _group_of(args: dict[str, object]) -> str:
    return sys.intern(str(args.get("Process Group Name", "")))


def _message_of(args: dict[str, object]) -> Call | None:
    """Return the message of a kernel, or None."""
    word, other = _MESSAGES.get(str(args.get("Collective name")), ("", ""))
    peer, width = args.get(other), _BYTES.get(str(args.get("dtype")), 0)
    elements = args.get("In msg nelems" if word == "send" else "Out msg nelems")
    if not isinstance(peer, int) or not isinstance(elements, int) or not width:
        return None
    return Call(word, peer, elements * width, _group_of(args))


def _pieces(path: str | Path) -> Iterator[bytes]:
    """Yield the content of a file, possibly in gzip, piece by piece."""
    limit = unpacking_limit()
    try:
        with open_input(path) as file:
            piece = file.read(_PIECE)
            if piece[:2] != b"\x1f\x8b":
                while piece:
                    yield piece
                    piece = file.read(_PIECE)
                return
            packed, total = zlib.decompressobj(wbits=31), 0
            while piece:
                unpacked = packed.decompress(piece, _PIECE)
                total += len(unpacked)
                if total > limit:
                    raise InputError(
                        "unpacks to more than --unpack-limit; raise the limit", file=path
                    )
                yield unpacked
                piece = packed.unconsumed_tail or file.read(_PIECE)
            if not packed.eof:
                raise InputError("this gzip file is truncated", file=path)
    except zlib.error as error:
        raise InputError(f"this is neither text nor gzip: {error}", file=path) from None
    except OSError as error:
        raise InputError(f"cannot read this recording: {error.strerror}", file=path) from None


class _Reader:
    """Read a JSON object member by member, and a list in it element by element."""

    def __init__(self, pieces: Iterator[bytes], path: str | Path) -> None:
        self._pieces, self._path = pieces, path
        self._text, self._at = "", 0
        self._characters = codecs.getincrementaldecoder("utf-8")()
        self._start, self._lines = 0, 0  # of the last value; lines discarded so far
        self._ended = False
        self._decoder = json.JSONDecoder()
        self._names: set[str] = set()

    @property
    def line(self) -> int:
        """Line in which the last value begins."""
        return self._lines + self._text.count("\n", 0, self._start) + 1

    def has(self, name: str) -> bool:
        """Return whether a member of this name was read."""
        return name in self._names

    def members(self) -> Iterator[tuple[str, object]]:
        """Yield names and values of members; a list yields each of its elements under its name."""
        if self._next() != "{":
            self._value()
            raise ValueError("it is not an object")
        self._at += 1
        while self._next() != "}":
            name = self._value()
            if not isinstance(name, str):
                raise ValueError("a name is not text")
            self._names.add(name)
            self._take(":")
            if self._next() == "[":
                self._at += 1
                while self._next() != "]":
                    yield name, self._value()
                    if self._next() != "]":
                        self._take(",")
                self._at += 1
            else:
                yield name, self._value()
            if self._next() != "}":
                self._take(",")

    def _fill(self) -> None:
        piece = next(self._pieces, b"")
        self._ended = not piece
        self._lines += self._text.count("\n", 0, self._at)
        try:
            self._text = self._text[self._at :] + self._characters.decode(piece, not piece)
        except UnicodeDecodeError as error:
            raise InputError(f"this is neither text nor gzip: {error}", file=self._path) from None
        self._at = self._start = 0

    def _next(self) -> str:
        """Return the next non-blank character; empty at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in " \t\r\n":
                    return self._text[self._at]
                self._at += 1
            if self._ended:
                return ""
            self._fill()

    def _take(self, wanted: str) -> None:
        if self._next() != wanted:
            raise InputError(f"this is not JSON: expected {wanted!r}", file=self._path)
        self._at += 1

    def _value(self) -> object:
        self._next()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._ended:
                    raise InputError(f"this is not JSON: {error.msg}", file=self._path) from None
            except RecursionError:
                raise InputError("this JSON is nested too deeply", file=self._path) from None
            else:
                if end < len(self._text) or self._ended:
                    self._start, self._at = self._at, end
                    return value
            self._fill()
