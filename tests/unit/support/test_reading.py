"""Reading whole files."""

from __future__ import annotations

import os
import threading
import tracemalloc
from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.support import reading
from tisim.support.reading import read_input


def test_a_short_file_takes_little_memory(tmp_path: Path) -> None:
    """A limit of memory (`ulimit -v`) is no obstacle for it."""
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
    monkeypatch.setattr(reading, "LONGEST", 100)
    path = tmp_path / "file"
    path.write_bytes(bytes(100))
    assert read_input(path) == bytes(100)
    path.write_bytes(bytes(101))
    with pytest.raises(InputError, match="no such file has"):
        read_input(path)
    assert len(read_input(path, any_length=True)) == 101
