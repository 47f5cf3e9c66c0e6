"""The I/O records of OTF2: handles, operations, positions."""

from __future__ import annotations

from pathlib import Path

import otf2
import pytest
from otf2.enums import (
    IoAccessMode,
    IoCreationFlag,
    IoHandleFlag,
    IoOperationFlag,
    IoOperationMode,
    IoParadigmClass,
    IoParadigmFlag,
    IoSeekOption,
    IoStatusFlag,
)

from tests.unit.importers.otf2_archive import Archive, RankEvents, begin, end, lines_of
from tisim.traces.importers import convert

READ, WRITE, FLUSH = IoOperationMode.READ, IoOperationMode.WRITE, IoOperationMode.FLUSH
UNKNOWN = 2**64 - 1


class Files:
    """Definitions of an archive's files and handles."""

    def __init__(self, archive: Archive) -> None:
        self._known = archive.known
        self._node = next(iter(self._known.system_tree_nodes))
        self.posix = self._known.io_paradigm(
            "POSIX", "POSIX I/O", IoParadigmClass.SERIAL, IoParadigmFlag.OS
        )

    def file(self, name: str) -> object:
        return self._known.io_regular_file(name, self._node)

    def handle(self, file: object, *, parent: object = None, standard: bool = False) -> object:
        flags = IoHandleFlag.PRE_CREATED if standard else IoHandleFlag.NONE
        return self._known.io_handle("", file, self.posix, flags, None, parent)


def opened(rank: RankEvents, handle: object, mode: IoAccessMode, *flags: object) -> None:
    creation = flags[0] if flags else IoCreationFlag.NONE
    status = flags[1] if flags[1:] else IoStatusFlag.NONE
    rank.event("IoCreateHandle", handle, mode, creation, status)


def access(
    rank: RankEvents, handle: object, mode: IoOperationMode, asked: int, got: int, **more: object
) -> None:
    flags = more.get("flags", IoOperationFlag.NONE)
    rank.event("IoOperationBegin", handle, mode, flags, asked, 0)
    rank.event("IoOperationComplete", handle, got, 0)


def test_files_of_posix(tmp_path: Path) -> None:
    def program(archive: Archive) -> None:
        files = Files(archive)
        for number in range(2):
            out = files.handle(files.file(f"/s/out.{number}"))
            old = files.file("/s/old")
            rank = archive.rank(number)
            begin(rank)
            rank.compute(1000)
            opened(rank, out, IoAccessMode.READ_WRITE, IoCreationFlag.CREATE)
            access(rank, out, WRITE, 4096, 4096)
            access(rank, out, WRITE, 100, UNKNOWN)
            rank.compute(500)
            rank.event("IoSeek", out, -50, IoSeekOption.FROM_CURRENT, 4146)
            access(rank, out, READ, 4096, 50)
            access(rank, out, FLUSH, 0, 0)
            rank.event("IoDestroyHandle", out)
            rank.event("IoDeleteFile", files.posix, old)
            end(rank)

    lines, made = lines_of(tmp_path, 2, program)
    for text in lines:
        assert text == [
            "compute 1000",
            "open 0 /s/out.%d rwc",
            "compute 10",
            "write 0 4096",
            "compute 10",
            "write 0 100",
            "compute 500",
            "lseek 0 4146 set",
            "compute 10",
            "read 0 50",
            "compute 10",
            "fsync 0",
            "compute 10",
            "close 0",
            "compute 10",
            "unlink /s/old",
            "compute 10",
        ]
    assert [note.text for note in made.notes] == [
        "OTF2 has no file offsets: accesses are at the positions of their handles"
    ]


def test_one_level_of_nested_operations(tmp_path: Path) -> None:
    """POSIX operations nested in an MPI-IO call are not written twice."""

    def program(archive: Archive) -> None:
        files = Files(archive)
        data = files.file("/s/data")
        outer = files.handle(data)
        inner = files.handle(data, parent=outer)
        rank = archive.rank(0)
        begin(rank)
        with rank.call("MPI_File_open"):
            opened(rank, outer, IoAccessMode.WRITE_ONLY, IoCreationFlag.CREATE)
            opened(rank, inner, IoAccessMode.WRITE_ONLY, IoCreationFlag.CREATE)
        with rank.call("MPI_File_write_all"):
            rank.event("IoOperationBegin", outer, WRITE, IoOperationFlag.COLLECTIVE, 1000, 1)
            access(rank, inner, WRITE, 4000, 4000)
            rank.event("IoOperationComplete", outer, 1000, 1)
        with rank.call("MPI_File_close"):
            rank.event("IoDestroyHandle", inner)
            rank.event("IoDestroyHandle", outer)
        end(rank)

    lines, made = lines_of(tmp_path, 1, program)
    assert [line for line in lines[0] if not line.startswith("compute")] == [
        "open 0 /s/data wc",
        "write 0 1000",
        "close 0",
    ]
    assert any("the ranks" in note.text for note in made.notes)


def test_standard_output_and_unopened_files_are_left_out(tmp_path: Path) -> None:
    def program(archive: Archive) -> None:
        files = Files(archive)
        standard = files.handle(files.file("stdout"), standard=True)
        before = files.handle(files.file("/s/before"))
        rank = archive.rank(0)
        begin(rank)
        access(rank, standard, WRITE, 10, 10)
        access(rank, before, WRITE, 10, 10)
        end(rank)

    lines, made = lines_of(tmp_path, 1, program)
    assert not [line for line in lines[0] if not line.startswith("compute")]
    assert [note.text for note in made.notes] == [
        "an access to a file that is not opened in the trace is left out"
    ]


def test_times_of_accesses(tmp_path: Path) -> None:
    source = tmp_path / "scorep"
    with otf2.writer.open(str(source), timer_resolution=10**9) as writer:
        archive = Archive(writer, 1, None)
        files = Files(archive)
        handle = files.handle(files.file("/s/f"))
        rank = archive.rank(0)
        begin(rank)
        opened(rank, handle, IoAccessMode.WRITE_ONLY, IoCreationFlag.CREATE)
        access(rank, handle, WRITE, 10, 10)
        end(rank)
    table = tmp_path / "times.csv"
    convert(source / "traces.otf2", tmp_path / "t.tit", speed=1e9, timeline=table)
    kinds = [row.split(",")[1] for row in table.read_text().splitlines()[1:]]
    assert "write" in kinds


def test_a_cut_trace_ends_with_one_message(tmp_path: Path) -> None:
    from tisim.errors import InputError

    def program(archive: Archive) -> None:
        files = Files(archive)
        handle = files.handle(files.file("/s/f"))
        rank = archive.rank(0)
        begin(rank)
        opened(rank, handle, IoAccessMode.WRITE_ONLY, IoCreationFlag.CREATE)
        for _ in range(200):
            access(rank, handle, WRITE, 10, 10)
        end(rank)

    lines_of(tmp_path, 1, program)
    events = next((tmp_path / "scorep").rglob("*.evt"))
    whole = events.read_bytes()
    events.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError):
        convert(tmp_path / "scorep" / "traces.otf2", tmp_path / "cut", speed=1e9)
