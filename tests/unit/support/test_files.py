"""Files are read completely and written atomically, whatever their path refers to."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.support import files, reading
from tisim.support.files import OutputFile, check_writable, new_directory, replacing, write_file
from tisim.support.reading import read_input


def by_write_file(path: Path, text: str) -> None:
    write_file(path, text)


def by_pieces(path: Path, text: str) -> None:
    write_file(path, iter([text[:1], text[1:]]))


def by_random_access(path: Path, text: str) -> None:
    with OutputFile(path, random_access=True) as file:
        file.write("?" + text[1:])
        file.overwrite(0, text[:1].encode())


def by_name(path: Path, text: str) -> None:
    with replacing(path) as temporary:
        assert temporary.suffix == path.suffix
        temporary.write_text(text)


Write = Callable[[Path, str], None]
WAYS = [by_write_file, by_pieces, by_random_access, by_name]


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.fixture(autouse=True)
def the_umask_is_not_touched(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(mask: int) -> int:
        raise AssertionError("other threads may create files now")

    before = os.umask(0o027)
    with monkeypatch.context() as patch:
        patch.setattr(os, "umask", refuse)
        yield
    os.umask(before)


@pytest.mark.parametrize("write", WAYS)
def test_a_new_file_has_the_permissions_of_the_umask(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "new.txt"
    write(path, "text")
    assert path.read_text() == "text"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(tmp_path) == ["new.txt"]


@pytest.mark.parametrize("write", WAYS)
def test_an_existing_file_keeps_its_permissions(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "old.txt"
    path.write_text("before, and longer")
    path.chmod(0o604)
    write(path, "text")
    assert path.read_text() == "text"
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@pytest.mark.parametrize("write", WAYS)
@pytest.mark.parametrize("exists", [True, False])
def test_links_are_followed(write: Write, exists: bool, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "file.txt"
    if exists:
        target.write_text("before")
    (tmp_path / "second").symlink_to("elsewhere/file.txt")
    link = tmp_path / "first"
    link.symlink_to("second")
    write(link, "text")
    assert target.read_text() == "text"
    assert link.is_symlink()
    assert (tmp_path / "second").is_symlink()
    assert names(tmp_path) == ["elsewhere", "first", "second"]
    assert names(tmp_path / "elsewhere") == ["file.txt"]


@pytest.mark.parametrize("write", WAYS)
def test_a_pipe_is_written_to(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(path.read_text()))
    reader.start()
    write(path, "text")
    reader.join()
    assert read == ["text"]
    assert stat.S_ISFIFO(path.stat().st_mode)
    assert names(tmp_path) == ["pipe"]


@pytest.mark.parametrize("write", WAYS)
def test_a_device_is_written_to(write: Write) -> None:
    write(Path("/dev/null"), "text")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("way", ["write_file('{}', 'text\\n')", "by_name"])
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "LINK"])
def test_standard_output_is_not_replaced(way: str, name: str, tmp_path: Path) -> None:
    """Even if it is a file: output printed before and after keeps its order."""
    (tmp_path / "link").symlink_to("/dev/stdout")
    name = name.replace("LINK", str(tmp_path / "link"))
    body = way.format(name)
    if way == "by_name":
        body = f"with replacing('{name}') as path:\n    path.write_text('text\\n')"
    code = f"from tisim.support.files import *\nprint('before')\n{body}\nprint('after')"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "before\ntext\nafter\n"
    assert names(tmp_path) == ["link", "out"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_after_an_error_or_ctrl_c_nothing_is_left(
    error: type[BaseException], tmp_path: Path
) -> None:
    path = tmp_path / "file.txt"
    path.write_text("before")

    def pieces() -> Iterator[str]:
        yield "half"
        raise error

    with pytest.raises(error):
        write_file(path, pieces())
    with pytest.raises(error), replacing(path) as temporary:
        temporary.write_text("half")
        raise error
    with pytest.raises(error), new_directory(tmp_path / "directory") as temporary:
        (temporary / "file").write_text("half")
        raise error
    assert path.read_text() == "before"
    assert names(tmp_path) == ["file.txt"]


def test_a_full_disk_is_an_error_of_that_file() -> None:
    with pytest.raises(InputError, match=r"/dev/full: cannot be written: No space left"):
        write_file("/dev/full", "text" * 10_000)
    with pytest.raises(InputError, match=r"/dev/full: cannot be written: No space left"):
        by_random_access(Path("/dev/full"), "text" * 10_000)


@pytest.mark.parametrize("write", [*WAYS, lambda path, _: check_writable(path)])
def test_places_where_nothing_can_be_written(write: Write, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no/x: cannot be written: No such file or directory"):
        write(tmp_path / "no" / "x", "text")
    with pytest.raises(InputError, match="is a directory; give the name of a file to write"):
        write(tmp_path, "text")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/x: cannot be written: Not a directory"):
        write(tmp_path / "file" / "x", "text")
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(InputError, match="cannot be written: Too many levels"):
        write(loop, "text")


def test_checking_leaves_no_trace(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("before")
    for name in ("old", "new"):
        check_writable(tmp_path / name)
    check_writable("/dev/stdout")
    assert names(tmp_path) == ["old"]
    assert (tmp_path / "old").read_text() == "before"


def test_long_names(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 251 + ".txt")
    write_file(path, "text")
    assert path.read_text() == "text"


def test_a_directory_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b"
    with new_directory(path) as temporary:
        (temporary / "file").write_text("text")
        assert not path.exists()
    assert (path / "file").read_text() == "text"
    with pytest.raises(InputError, match="not empty"), new_directory(path):
        pass


def test_only_what_is_durable_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(files.os, "fsync", calls.append)
    write_file(tmp_path / "a", "text")
    assert calls == []
    with replacing(tmp_path / "a", durable=True) as temporary:
        temporary.write_text("text")
    assert len(calls) == 2  # the file and its directory


def test_a_short_file_takes_little_memory(tmp_path: Path) -> None:
    """A memory limit (`ulimit -v`) does not prevent reading it."""
    path = tmp_path / "short"
    path.write_bytes(b"abc")
    tracemalloc.start()
    try:
        assert read_input(path) == b"abc"
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 22


@pytest.mark.parametrize("size", [0, 1, (1 << 20) - 1, 1 << 20, (1 << 21) + 3])
def test_pipes_and_files_are_read_to_their_end(size: int, tmp_path: Path) -> None:
    content = os.urandom(size)
    path, pipe = tmp_path / "file", tmp_path / "pipe"
    path.write_bytes(content)
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(content,))
    writer.start()
    assert read_input(pipe) == content
    writer.join()
    assert read_input(path) == content


def test_what_is_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_FILE_BYTES", 100)
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    assert read_input(path) == bytes(100)
    path.write_bytes(bytes(101))
    with pytest.raises(InputError, match="GiB"):
        read_input(path)
    assert len(read_input(path, any_length=True)) == 101
