"""Accepted forms of traces, and the errors for all others."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import tempfile
import threading
from pathlib import Path

import pytest

from tests.support import NPB
from tisim.errors import InputError
from tisim.traces import Trace
from tisim.traces.sources import natural_key

RANKS = ("0 init\n0 send 1 0 5\n0 finalize\n", "1 init\n1 recv 0 0 5\n1 finalize\n")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """Return a trace of two ranks in a directory."""
    directory = tmp_path / "plain"
    directory.mkdir()
    for rank, text in enumerate(RANKS):
        (directory / f"rank-{rank}.txt").write_text(text)
    return directory


def actions(trace: Trace) -> list[int]:
    return [sum(len(rows) for rows in trace.operations(rank)) for rank in range(trace.ranks)]


def tar(path: Path, mode: str, members: dict[str, str | bytes]) -> Path:
    with tarfile.open(path, mode) as archive:
        for name, text in members.items():
            data = text.encode() if isinstance(text, str) else text
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return path


def test_a_directory_without_hidden_files_and_directories(plain: Path) -> None:
    (plain / ".hidden").write_text("rubbish")
    (plain / "more").mkdir()
    (plain / "more" / "rank-9.txt").write_text("9 init\n")
    trace = Trace.open(plain)
    assert trace.files == (str(plain / "rank-0.txt"), str(plain / "rank-1.txt"))
    assert actions(trace) == [3, 3]
    assert trace.name == str(plain)


def test_numbers_in_names_are_sorted_as_numbers() -> None:
    ordered = ["1", "02", "2-a", "10", "a", "a1", "a1b2", "a1b10", "a9", "a010", "a10-b", "a-"]
    assert sorted(sorted(ordered), key=natural_key) == ordered


def test_a_list_of_files(plain: Path) -> None:
    trace = Trace.open([plain / "rank-1.txt", str(plain / "rank-0.txt")])
    assert trace.files == (str(plain / "rank-0.txt"), str(plain / "rank-1.txt"))


def test_one_file_of_all_ranks(tmp_path: Path) -> None:
    merged = tmp_path / "all.txt"
    merged.write_text(RANKS[0] + RANKS[1])
    for source in (merged, [merged], str(merged)):
        trace = Trace.open(source)
        assert actions(trace) == [3, 3]
        assert trace.files == (str(merged),) * 2


def test_one_file_of_one_rank(plain: Path) -> None:
    assert Trace.open(plain / "rank-0.txt").ranks == 1


@pytest.mark.parametrize("relative_to_index", [True, False])
def test_an_index(plain: Path, monkeypatch: pytest.MonkeyPatch, relative_to_index: bool) -> None:
    if relative_to_index:
        index = plain.parent / "index"
        monkeypatch.chdir("/")
    else:
        (plain.parent / "elsewhere").mkdir()
        index = plain.parent / "elsewhere" / "index"
        monkeypatch.chdir(plain.parent)
    index.write_text("# two ranks\nplain/rank-0.txt\n\n  plain/rank-1.txt  \n")
    assert actions(Trace.open(index)) == [3, 3]


def test_what_simgrid_writes(nas_traces: Path) -> None:
    plain = Trace.open(nas_traces / "lu.S.4")
    for source in (nas_traces / "lu.S.4.simgrid", nas_traces / "lu.S.4.simgrid" / "lu.S.4"):
        trace = Trace.open(source)
        assert actions(trace) == actions(plain)
        assert [Path(file).name[-10:] for file in trace.files] == [
            f"rank-{r}.txt" for r in (1, 2, 3, 4)
        ]


def test_an_index_of_what_is_not_there(plain: Path) -> None:
    index = plain.parent / "index"
    index.write_text("plain/rank-0.txt\nplain/rank-7.txt\n")
    with pytest.raises(
        InputError, match=r"index:2: lists the file 'plain/rank-7.txt', which is neither"
    ):
        Trace.open(index)


COMPRESSORS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_compressed_files(plain: Path, suffix: str) -> None:
    file = plain / "rank-1.txt"
    (plain / f"rank-1.txt.{suffix}").write_bytes(COMPRESSORS[suffix](file.read_bytes()))
    file.unlink()
    trace = Trace.open(plain)
    assert actions(trace) == [3, 3]
    assert trace.files[1] == str(plain / f"rank-1.txt.{suffix}")


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_a_compressed_file_of_all_ranks_or_index(plain: Path, suffix: str) -> None:
    compress = COMPRESSORS[suffix]
    merged = plain.parent / f"all.{suffix}"
    merged.write_bytes(compress("".join(RANKS).encode()))
    assert actions(Trace.open(merged)) == [3, 3]
    index = plain.parent / f"index.{suffix}"
    index.write_bytes(compress(b"plain/rank-0.txt\nplain/rank-1.txt\n"))
    assert actions(Trace.open(index)) == [3, 3]


def test_zstd(plain: Path) -> None:
    zstandard = pytest.importorskip("zstandard", reason="the package zstandard is not installed")
    merged = plain.parent / "all.zst"
    merged.write_bytes(zstandard.compress("".join(RANKS).encode()))
    assert actions(Trace.open(merged)) == [3, 3]
    archive = tar(plain.parent / "t.tar", "w", {"t/0": RANKS[0], "t/1": RANKS[1]})
    compressed = plain.parent / "t.tar.zst"
    compressed.write_bytes(zstandard.compress(archive.read_bytes()))
    assert actions(Trace.open(compressed)) == [3, 3]
    compressed.write_bytes(compressed.read_bytes()[:-9])
    with pytest.raises(InputError, match="damaged or incomplete"):
        Trace.open(compressed)


def test_zstd_without_its_package(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    merged = plain.parent / "all.zst"
    merged.write_bytes(b"\x28\xb5\x2f\xfd rest")
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    needed = r'all.zst: is compressed with zstd.* pip install "tisim\[zstd\]"'
    with pytest.raises(InputError, match=needed):
        Trace.open(merged)


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_archives(tmp_path: Path, mode: str) -> None:
    members = {"run/rank-0.txt": RANKS[0], "run/rank-1.txt": RANKS[1], "run/.hidden": "x"}
    archive = tar(tmp_path / "t.tar", mode, members)
    trace = Trace.open(archive)
    assert actions(trace) == [3, 3]
    assert trace.files[1] == f"{archive}/run/rank-1.txt"
    assert trace.name == str(archive)
    assert actions(Trace.open(archive / "run")) == [3, 3]
    assert Trace.open(archive / "run" / "rank-0.txt").ranks == 1


def test_an_archive_of_compressed_files(tmp_path: Path) -> None:
    archive = tar(
        tmp_path / "t.tar", "w", {"0.gz": gzip.compress(RANKS[0].encode()), "1": RANKS[1]}
    )
    assert actions(Trace.open(archive)) == [3, 3]


def test_an_archive_of_several_traces(root: Path) -> None:
    archive = NPB
    with pytest.raises(InputError, match=rf"traces; choose one of them: {archive}/cg.S.16, "):
        Trace.open(archive)
    assert Trace.open(archive / "ft.S.16").ranks == 16
    assert Trace.open(f"{archive}::ft.S.16").ranks == 16
    simgrid = Trace.open(archive / "lu.S.4.simgrid")
    assert actions(simgrid) == actions(Trace.open(archive / "lu.S.4"))
    with pytest.raises(InputError, match=r"contains nothing named lu.X; it contains .*/cg.S.16"):
        Trace.open(archive / "lu.X")


def test_archives_that_cannot_be(tmp_path: Path, plain: Path, root: Path) -> None:
    empty = tar(tmp_path / "empty.tar", "w", {".hidden": "0 init\n"})
    with pytest.raises(InputError, match=r"empty.tar: contains no files"):
        Trace.open(empty)
    whole = NPB.read_bytes()
    cut = tmp_path / "cut.tar.xz"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cut.tar.xz: is damaged or incomplete"):
        Trace.open(cut)
    with pytest.raises(
        InputError, match="is an archive, which contains a whole trace; give it alone"
    ):
        Trace.open([NPB, plain / "rank-0.txt"])
    index = tar(tmp_path / "index.tar", "w", {"index": "a/0\n", "a/1": RANKS[0]})
    with pytest.raises(
        InputError, match=r"index:1: lists the file 'a/0', which is not in the archive"
    ):
        Trace.open(index)


def test_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text("".join(RANKS)))
    writer.start()
    trace = Trace.open(pipe)
    writer.join()
    assert actions(trace) == [3, 3]


def test_what_is_not_there(tmp_path: Path, plain: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: no such file or directory"):
        Trace.open(tmp_path / "nowhere")
    with pytest.raises(InputError, match="no such file or directory"):
        Trace.open(plain / "rank-0.txt" / "x")
    with pytest.raises(InputError, match=r"rank-5.txt: cannot be read: No such file"):
        Trace.open([plain / "rank-0.txt", plain / "rank-5.txt"])
    with pytest.raises(InputError, match="no trace given; give"):
        Trace.open([])
    (tmp_path / "void").mkdir()
    with pytest.raises(InputError, match=r"void: contains no files"):
        Trace.open(tmp_path / "void")
    with pytest.raises(InputError, match=r"only directories; choose one of them: plain, void"):
        Trace.open(tmp_path)
    with pytest.raises(
        InputError, match="is a directory; give files when there are several traces"
    ):
        Trace.open([plain, plain / "rank-0.txt"])


def test_numbers_of_ranks(plain: Path) -> None:
    assert Trace.open(plain, ranks=2).ranks == 2
    with pytest.raises(InputError, match=r"plain: has 2 ranks, not 16"):
        Trace.open(plain, ranks=16)
    (plain / "rank-3.txt").write_text("3 init\n")
    with pytest.raises(InputError, match=r"plain: rank 2 of 0 to 3 has no file"):
        Trace.open(plain)
    (plain / "rank-2.txt").write_text("3 init\n")
    with pytest.raises(InputError, match=r"rank-3.txt: is of rank 3, and so is .*rank-2.txt"):
        Trace.open(plain)


def test_what_is_no_trace(tmp_path: Path, root: Path) -> None:
    for name, text, said in (
        ("binary", b"\x7fELF\x01\0\0", r"binary:1: is not text: the byte 0x7f at column 1"),
        ("prose", b"Once upon a time\n", r"prose:1: a line must start with the number of its rank"),
        ("void", b"", r"void: contains no action"),
        ("gone.txt", b"gone/rank-0.txt\n", r"gone.txt:1: lists the file 'gone/rank-0.txt'"),
        (
            "cut.gz",
            gzip.compress(RANKS[0].encode() * 99)[:-20],
            r"cut.gz: is damaged or incomplete",
        ),
        (
            "cut.xz",
            lzma.compress(RANKS[0].encode() * 99)[:-20],
            r"cut.xz: is damaged or incomplete",
        ),
    ):
        path = tmp_path / name
        path.write_bytes(text)
        with pytest.raises(InputError, match=said):
            Trace.open(path)


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"tr\xe9s.txt")
    path.write_text("0 init\n0 sen 1\n")
    trace = Trace.open(path)
    assert trace.files == (str(path),)
    with pytest.raises(InputError) as caught:
        actions(trace)
    assert caught.value.file == str(path)


def test_nothing_is_left_behind(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    trace = Trace.open(NPB / "is.S.16")
    assert len(list(tmp_path.iterdir())) == 0
    assert sum(actions(trace)) > 0
