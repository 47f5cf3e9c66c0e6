"""TAU's .trc and .edf, written record by record as its headers define them."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support import rank_calls
from tests.unit.importers.foreign import mutations
from tisim.errors import InputError
from tisim.traces import check
from tisim.traces.importers import Conversion, convert

SEND, RECEIVE, FLUSH, INIT = 60007, 60008, 60001, 60000
SIZES = {
    "bcast": "broadcast",
    "gather": "gather",
    "allgatherv": "all-gather",
    "alltoall": "all-to-all",
    "sent": "sent to all nodes",
    "received": "received from all nodes",
}
CALLS = (
    *("Init", "Finalize", "Send", "Isend", "Irecv", "Recv", "Waitall", "Wait", "Start", "Bcast"),
    *("Gather", "Allgatherv", "Alltoall", "Barrier", "Comm_rank", "Comm_split", "Test"),
)
NUMBERS = {name: 2 + place for place, name in enumerate((*CALLS, *SIZES))}
RECORD, PADDED = "iHHqQ", "qHHIqQ"


def edf() -> str:
    lines = ['# FunctionId Group Tag "Name Type" Parameters']
    lines += ['1 TAU_USER 0 "main [{a.c} {1,0}] " EntryExit']
    lines += [f'{NUMBERS[name]} MPI 0 "MPI_{name}()  " EntryExit' for name in CALLS]
    lines += [
        f'{NUMBERS[name]} TAUEVENT 0 "Message size {title}" TriggerValue'
        if title.endswith("nodes")
        else f'{NUMBERS[name]} TAUEVENT 0 "Message size for {title}" TriggerValue'
        for name, title in SIZES.items()
    ]
    lines += [f'{INIT} TRACER 0 "EV_INIT" none', f'{FLUSH} TRACER 0 "FLUSH" EntryExit']
    lines += [f'{SEND} TAU_MESSAGE -7 "MESSAGE_SEND" par']
    lines += [f'{RECEIVE} TAU_MESSAGE -8 "MESSAGE_RECV" par']
    return f"{len(lines)} dynamic_trace_events\n" + "".join(f"{line}\n" for line in lines)


def message(peer: int, tag: int, nbytes: int) -> int:
    """Return the parameter of a message record as TAU packs it: signed."""
    bits = (nbytes >> 16 & 0x3FF) << 32 | (tag >> 8) << 48 | (peer >> 8) << 56
    bits |= nbytes & 0xFFFF | (tag & 0xFF) << 16 | (peer & 0xFF) << 24
    return bits - (1 << 64) if bits >> 63 else bits


class Recorded:
    """Records of one rank, a microsecond apart."""

    def __init__(self, rank: int, form: str = "<" + RECORD) -> None:
        self.rank = rank
        self.time = 1_000
        self.form = form
        self.data = b""
        self.add(INIT, 3)

    def add(self, event: int, parameter: int, thread: int = 0) -> None:
        padding = (0,) if PADDED in self.form else ()
        self.time += 1
        fields = (event, self.rank, thread, *padding, parameter, self.time)
        self.data += struct.pack(self.form, *fields)

    def size(self, name: str, value: int) -> None:
        for parameter in (0, value, 0):
            self.add(NUMBERS[name], parameter)

    def message(self, is_send: bool, peer: int, tag: int, nbytes: int) -> None:
        self.size("sent" if is_send else "received", nbytes)
        self.add(SEND if is_send else RECEIVE, message(peer, tag, nbytes))

    def call(self, name: str, *messages: tuple[bool, int, int, int], size: int = -1) -> None:
        """Add an MPI call, after 10 us of computation."""
        self.time += 9
        self.add(NUMBERS[name], 1)
        for one in messages:
            self.message(*one)
        if size >= 0:
            self.size(name.lower(), size)
        self.add(NUMBERS[name], -1)


def sample(rank: int, form: str = "<" + RECORD) -> Recorded:
    recorded, peer = Recorded(rank, form), 1 - rank
    recorded.add(1, 1)
    recorded.call("Init")
    recorded.call("Comm_rank")
    recorded.call("Irecv")
    recorded.call("Isend", (True, peer, 300, 70_000_000))
    recorded.add(FLUSH, 1)
    recorded.time += 500
    recorded.add(FLUSH, -1)
    recorded.call("Test")
    recorded.call("Waitall", (False, peer, 300, 70_000_000))
    if rank == 0:
        recorded.call("Send", (True, 1, 7, 70_000))
    else:
        recorded.call("Recv", (False, 0, 7, 70_000))
    recorded.call("Start", (True, peer, 8, 16))
    recorded.call("Waitall", (False, peer, 8, 16))
    recorded.call("Bcast", size=48)
    recorded.call("Gather", size=24 if rank else -1)  # only the root
    recorded.call("Allgatherv", size=64)
    recorded.call("Alltoall", size=96)
    recorded.call("Barrier")
    recorded.call("Finalize")
    recorded.add(1, -1)
    return recorded


def write(directory: Path, *ranks: Recorded) -> Path:
    for rank in ranks:
        (directory / f"tautrace.{rank.rank}.0.0.trc").write_bytes(rank.data)
        (directory / f"events.{rank.rank}.edf").write_text(edf())
    return directory


def imported(files: Path, target: Path) -> tuple[list[list[str]], Conversion]:
    """Return the lines of all ranks without init and finalize."""
    made = convert(files, target, speed=1e9)
    return rank_calls(target), made


@pytest.mark.parametrize("form", ["<" + RECORD, ">" + RECORD, "<" + PADDED, ">" + PADDED])
def test_records_become_calls(form: str, tmp_path: Path) -> None:
    (tmp_path / "tau").mkdir()
    kept, made = imported(
        write(tmp_path / "tau", sample(0, form), sample(1, form)), tmp_path / "trace"
    )
    calls = [line for line in kept[0] if not line.startswith("compute")]
    assert calls == [
        "irecv 1 300 70000000 request=0",
        "isend 1 300 70000000 request=1",
        "waitall requests=0,1",
        "send 1 7 70000",
        "isend 1 8 16 request=0",
        "irecv 1 8 16 request=1",
        "waitall requests=1,0",
        "bcast 48 0",
        "gather 24 24 1",
        "allgatherv 32 32 32",
        "alltoall 48 48",
        "barrier",
    ]
    # 10 us before each call. Calls without a line do not end a computation, and the time that TAU
    # takes to write its records does not count.
    volumes = [int(line.split()[1]) for line in kept[0] if line.startswith("compute")]
    assert volumes[:3] == [20_000, 10_000, 21_000]
    assert made.format == "tau"
    assert check(tmp_path / "trace").errors == 0
    texts = sorted(note.text for note in made.notes)
    assert [text.split(":")[0] for text in texts] == [
        "MPI_Bcast is assumed to have root 0, which is not in the trace",
        "a receive started by MPI_Start is posted at its wait",
        "the requests that a call completed are inferred from their order",
        "the sizes of MPI_Allgatherv are spread evenly",
    ]


def test_a_merged_trace_is_the_same(tmp_path: Path) -> None:
    ranks = [sample(0), sample(1)]
    (tmp_path / "tau").mkdir()
    apart, _ = imported(write(tmp_path / "tau", *ranks), tmp_path / "apart")
    records = [rank.data[at : at + 24] for rank in ranks for at in range(0, len(rank.data), 24)]
    records.sort(key=lambda record: struct.unpack("<" + RECORD, record)[4])
    merged = tmp_path / "tau.trc"
    merged.write_bytes(b"".join(records))
    merged.with_suffix(".edf").write_text(edf())
    assert imported(merged, tmp_path / "merged")[0] == apart


def refused(directory: Path) -> str:
    with pytest.raises(InputError) as error:
        convert(directory, directory.parent / "t.tit", speed=1e9)
    return str(error.value)


def test_what_is_refused(tmp_path: Path) -> None:
    directory = tmp_path / "tau"
    directory.mkdir()
    write(directory, sample(0), sample(1))
    first = directory / "tautrace.0.0.0.trc"
    first.write_bytes(sample(0).data[:-5])
    assert "is truncated in record" in refused(directory)
    first.unlink()
    assert "the records of rank 0 are missing" in refused(directory)
    other = Recorded(0)
    other.call("Init")
    other.call("Barrier")
    write(directory, other)
    assert (
        "the collective 1 of rank 1 is MPI_Bcast" in (text := refused(directory))
        and "TAU_TRACE_FORMAT=otf2" in text
    )
    (directory / "events.1.edf").unlink()
    assert "cannot read TAU's event names:" in refused(directory)


def test_what_is_left_out(tmp_path: Path) -> None:
    directory = tmp_path / "tau"
    directory.mkdir()
    recorded = Recorded(0)
    recorded.call("Init")
    recorded.call("Comm_split")
    recorded.call("Irecv")
    recorded.call("Send")
    recorded.message(True, 0, 1, 8)  # outside a call
    recorded.call("Isend", (True, 0, 2, 8))
    recorded.add(NUMBERS["Barrier"], 1, thread=1)
    kept, made = imported(write(directory, recorded), tmp_path / "trace")
    calls = [line for line in kept[0] if not line.startswith("compute")]
    assert calls == ["isend 0 2 8 request=1", "wait request=1"]
    texts = " ".join(note.text for note in made.notes)
    for part in (
        *("additional threads", "TAU_THROTTLE=0", "MPI_Comm_split is left out", "without MPI_Fin"),
        *("MPI_Send without a message", "without a message", "waited for at the end"),
    ):
        assert part in texts, part


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(trc=mutations(sample(0).data), table=st.none() | mutations(edf().encode()))
def test_damage_ends_with_one_message(
    trc: bytes, table: bytes | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = write(tmp_path_factory.mktemp("tau"), sample(1))
    (directory / "tautrace.0.0.0.trc").write_bytes(trc)
    (directory / "events.0.edf").write_bytes(edf().encode() if table is None else table)
    try:
        convert(directory, directory / "t.tit", format="tau", speed=1e9)
    except InputError as error:
        assert len(str(error).splitlines()) == 1
