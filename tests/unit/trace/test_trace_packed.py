"""Packing and unpacking traces of every form."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

import numpy as np
import pytest

from tisim import _core
from tisim.errors import InputError
from tisim.traces import Trace, pack, unpack


def tree(directory: Path) -> dict[str, bytes]:
    """Every file under a directory."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def same_operations(a: Trace, b: Trace) -> bool:
    return a.ranks == b.ranks and all(
        np.array_equal(
            np.concatenate([*a.operations(rank)]).view("u1"),
            np.concatenate([*b.operations(rank)]).view("u1"),
        )
        for rank in range(a.ranks)
    )


@pytest.mark.parametrize("name", ["lu.S.4", "cg.S.16", "mg.S.16", "is.S.16", "ft.S.16", "ep.S.16"])
def test_real_traces(nas_traces: Path, tmp_path: Path, name: str) -> None:
    packed = tmp_path / "x.tit"
    pack(nas_traces / name, packed)
    text = tree(nas_traces / name)
    assert packed.stat().st_size <= sum(map(len, text.values())) / 4
    unpack(packed, tmp_path / "again")
    assert tree(tmp_path / "again") == text
    trace = Trace.open(packed)
    assert same_operations(trace, Trace.open(nas_traces / name))
    assert trace.actions == sum(content.count(b"\n") for content in text.values())
    assert Trace.open(nas_traces / name).actions is None
    assert trace.files[1] == f"{packed}/rank-1.txt"
    assert trace.nbytes > 0


def test_an_index_comes_back_with_its_files(nas_traces: Path, tmp_path: Path) -> None:
    pack(nas_traces / "lu.S.4.simgrid", tmp_path / "x.tit")
    unpack(tmp_path / "x.tit", tmp_path / "again")
    assert tree(tmp_path / "again") == tree(nas_traces / "lu.S.4.simgrid")
    assert same_operations(Trace.open(tmp_path / "again"), Trace.open(nas_traces / "lu.S.4"))


def test_one_file_of_all_ranks(tmp_path: Path) -> None:
    text = b"# all\n0 init\n1 init\n\n1 send 0 0 5\n0 recv 1 0 5\r\n#end\n1 finalize"
    merged = tmp_path / "merged.txt"
    merged.write_bytes(text)
    pack(merged, tmp_path / "x.tit")
    unpack(tmp_path / "x.tit", tmp_path / "again")
    assert tree(tmp_path / "again") == {"merged.txt": text}
    assert same_operations(Trace.open(tmp_path / "x.tit"), Trace.open(merged))


def test_compressed_files_and_archives_come_back_as_text(tmp_path: Path, root: Path) -> None:
    directory = tmp_path / "in"
    directory.mkdir()
    (directory / "0.txt.gz").write_bytes(gzip.compress(b"0 init\n"))
    (directory / "1.txt").write_bytes(b"1 init\n")
    pack(directory, tmp_path / "x.tit")
    unpack(tmp_path / "x.tit", tmp_path / "again")
    assert tree(tmp_path / "again") == {"0.txt": b"0 init\n", "1.txt": b"1 init\n"}
    pack(root / "traces" / "npb.S.tar.xz" / "ft.S.16", tmp_path / "ft.tit")
    unpack(tmp_path / "ft.tit", tmp_path / "ft")
    assert sorted(tree(tmp_path / "ft")) == sorted(f"rank-{rank}.txt" for rank in range(16))


def test_files_of_one_name_from_many_directories(tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / str(rank)).mkdir()
        (tmp_path / str(rank) / "trace").write_text(f"{rank} init\n")
    pack([tmp_path / "1" / "trace", tmp_path / "0" / "trace"], tmp_path / "x.tit")
    unpack(tmp_path / "x.tit", tmp_path / "again")
    assert tree(tmp_path / "again") == {"0/trace": b"0 init\n", "1/trace": b"1 init\n"}
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "index").write_text("../0/trace\n../1/trace\n")
    pack(tmp_path / "a" / "index", tmp_path / "y.tit")
    unpack(tmp_path / "y.tit", tmp_path / "y")
    assert tree(tmp_path / "y") == {"0-trace": b"0 init\n", "1-trace": b"1 init\n"}


def test_an_opened_trace_is_packed_with_its_dialect(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("0 send 1 2 3\n1 init\n")
    pack(Trace.open(tmp_path / "t", dialect="legacy"), tmp_path / "x.tit")
    assert Trace.open(tmp_path / "x.tit").dialect == "legacy"
    assert Trace.open(tmp_path / "x.tit", dialect="modern").dialect == "modern"


def test_a_packed_trace_in_an_archive(nas_traces: Path, tmp_path: Path) -> None:
    pack(nas_traces / "lu.S.4", tmp_path / "x.tit")
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "x.tit", "x.tit")
    assert same_operations(Trace.open(tmp_path / "x.tar.gz"), Trace.open(nas_traces / "lu.S.4"))


def test_an_error_names_the_line_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("0 init\n# comment\n0 compute -5\n")
    pack(tmp_path / "t", tmp_path / "x.tit")
    with pytest.raises(InputError, match=r"x.tit/t:3: flops '-5' is negative"):
        list(Trace.open(tmp_path / "x.tit").operations(0))


def test_nothing_is_left_of_what_fails(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0").write_text("0 init\n")
    (tmp_path / "in" / "2").write_text("2 init\n")
    with pytest.raises(InputError, match="in: rank 1 of 0 to 2 has no file"):
        pack(tmp_path / "in", tmp_path / "x.tit")
    pack(tmp_path / "in" / "0", tmp_path / "x.tit")
    whole = (tmp_path / "x.tit").read_bytes()
    with pytest.raises(InputError, match="rank 1 of 0 to 2 has no file"):
        pack(tmp_path / "in", tmp_path / "x.tit")
    assert (tmp_path / "x.tit").read_bytes() == whole
    (tmp_path / "x.tit").write_bytes(whole[:-1])
    with pytest.raises(
        InputError, match=r"x.tit: is damaged: it has \d+ bytes of \d+; get it again"
    ):
        unpack(tmp_path / "x.tit", tmp_path / "again")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "x.tit"]


def test_what_cannot_be_packed_or_unpacked(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("0 init\n")
    pack(tmp_path / "t", tmp_path / "x.tit")
    with pytest.raises(InputError, match=r"y.tit: cannot be written: No such file or directory"):
        pack(tmp_path / "t", tmp_path / "no" / "y.tit")
    with pytest.raises(InputError, match=r"t: is not a packed trace"):
        unpack(tmp_path / "t", tmp_path / "again")
    (tmp_path / "directory").mkdir()
    with pytest.raises(InputError, match=r"directory: is a directory; name a packed trace"):
        unpack(tmp_path / "directory", tmp_path / "again")
    with pytest.raises(InputError, match=r"nowhere: there is no such file"):
        unpack(tmp_path / "nowhere", tmp_path / "again")
    with pytest.raises(InputError, match="is there already and not empty; name a new directory"):
        unpack(tmp_path / "x.tit", tmp_path)
    (tmp_path / "void").mkdir()
    unpack(tmp_path / "x.tit", tmp_path / "void")
    assert tree(tmp_path / "void") == {"t": b"0 init\n"}
    assert (tmp_path / "void").stat().st_mode == (tmp_path).stat().st_mode | 0o055
    with pytest.raises(InputError, match="no dialect 'x'"):
        pack(tmp_path / "t", tmp_path / "y.tit", dialect="x")


def test_packed_files_are_written_directly(tmp_path: Path) -> None:
    writer = _core.PackedWriter(3)
    writer.begin_rank(b"rank-0")
    writer.write(b"0 send 1 0 5\n0 send 1 0 5\n")
    writer.end_rank()
    writer.begin_rank(b"rank-1")
    writer.write(b"1 recv 0 0 5\n")
    writer.write(b"1 recv 0 0 5\n")
    writer.end_rank()
    writer.add_rank(b"rank-2", [(b"2 init\n", 1), (b"2 barrier\n2 compute 5\n", 3)])
    writer.finish(bytes(tmp_path / "x.tit"))
    unpack(tmp_path / "x.tit", tmp_path / "again")
    assert tree(tmp_path / "again") == {
        "rank-0": b"0 send 1 0 5\n0 send 1 0 5\n",
        "rank-1": b"1 recv 0 0 5\n1 recv 0 0 5\n",
        "rank-2": b"2 init\n" + b"2 barrier\n2 compute 5\n" * 3,
    }


def test_a_packed_file_is_not_written_out_of_order(tmp_path: Path) -> None:
    writer = _core.PackedWriter(2)
    with pytest.raises(RuntimeError, match="no rank has begun"):
        writer.write(b"0 init\n")
    writer.add_rank(b"rank-0", [(b"0 init\n", 1)])
    with pytest.raises(RuntimeError, match="not all ranks have been written"):
        writer.finish(bytes(tmp_path / "x.tit"))
