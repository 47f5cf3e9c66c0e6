"""Packed traces: indices, merged files, and an independent reader of the documented format."""

from __future__ import annotations

import gzip
import json
import random
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support import NPB
from tests.tit_reader import DamagedError, TitTrace, alias_slots, crc32c, read_sections, volume_text
from tests.unit.command_line import CommandLine
from tisim import InputError, _core
from tisim.gpu.machines import MACHINES
from tisim.gpu.machines_platform import gpu_cluster
from tisim.gpu.step_graph import read_graph
from tisim.traces import Trace, pack, unpack
from tisim.traces.graph_files import read_graph_text, write_graph


def tree(directory: Path) -> dict[str, bytes]:
    """Return the contents of every file below a directory, by relative path."""
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
    pack(NPB / "ft.S.16", tmp_path / "ft.tit")
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
        InputError, match=r"x.tit: is damaged: it has \d+ bytes of \d+; download it again"
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
    with pytest.raises(InputError, match=r"directory: is a directory; give a packed trace"):
        unpack(tmp_path / "directory", tmp_path / "again")
    with pytest.raises(InputError, match=r"nowhere: no such file"):
        unpack(tmp_path / "nowhere", tmp_path / "again")
    with pytest.raises(InputError, match="already exists and is not empty; choose a new directory"):
        unpack(tmp_path / "x.tit", tmp_path)
    (tmp_path / "void").mkdir()
    unpack(tmp_path / "x.tit", tmp_path / "void")
    assert tree(tmp_path / "void") == {"t": b"0 init\n"}
    assert (tmp_path / "void").stat().st_mode == (tmp_path).stat().st_mode | 0o055
    with pytest.raises(InputError, match="unknown dialect 'x'"):
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


MODEL = ("--model", "gpt3-175b", "--tp", "8", "--pp", "8", "--recompute", "full")
GRAPH = """graph 1  # the first line
ranks 2
communicator all 2 1
block kernel
  seconds main 2e-3
end
block reduce
  all_reduce side all 1e9
  do kernel 3
end
block wait
  synchronize main
end
"""


def test_a_graph_of_512_gpus_and_1000_micro_batches_is_a_kilobyte(
    tisim: CommandLine, tmp_path: Path
) -> None:
    sizes = ("--dp", "8", "--global-batch", "8000")
    text, packed = str(tmp_path / "g.graph"), str(tmp_path / "g.tit")
    for output in (text, packed):
        assert tisim("generate", "llm", *MODEL, *sizes, "-o", output).status == 0
    assert Path(packed).stat().st_size < 1500
    shown = [json.loads(tisim("step", "--json", "-", file).out) for file in (text, packed)]
    assert shown[0] == shown[1]
    assert tisim("check", packed).out == f"{packed}: sound\n512 ranks, 6,865,058 operations\n"
    inspected = json.loads(tisim("inspect", "--json", "-", packed).out)
    counts = {row["node"]: row for row in inspected["nodes"]}
    messages = 2 * 7 * 64 * 1000  # forward and backward between 8 stages of 64 GPUs
    assert counts["send"]["times"] == counts["receive"]["times"] == messages
    assert counts["send"]["bytes"] == pytest.approx(messages * 2 * 2048 * 12288 / 8)
    assert "all_gather" in tisim("inspect", text).out


def test_text_comes_back_byte_by_byte(tisim: CommandLine, tmp_path: Path) -> None:
    graph = tisim.write("g.graph", GRAPH)
    packed, restored = str(tmp_path / "g.tit"), str(tmp_path / "restored")
    assert tisim("pack", graph, "-o", packed).status == 0
    assert tisim("unpack", packed, "-o", restored).status == 0
    assert Path(restored).read_text() == GRAPH
    (section,) = read_sections(Path(packed).read_bytes())
    assert (section.name, section.content()) == ("graph", GRAPH.encode())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pack", "--volumes", "1e-2", "g.graph", "-o", "x.tit"), "--volumes applies to traces"),
        (("pack", "g.graph", "-o", "x"), "must end in .tit"),
        (("pack", "wrong.graph", "-o", "x.tit"), "wrong.graph:2: "),
        (("replay", "--platform", "p.xml", "g.tit"), "is a graph of GPUs"),
        (("sweep", "g.tit"), ""),
        (("validate", "g.tit"), ""),
        (("extrapolate", "g.tit", "--to", "8", "-o", "x.tit"), "'tisim step' predicts its time"),
        (("step", "trace.tit"), "is a packed trace without a graph of GPUs"),
    ],
)
def test_what_is_no_trace_or_no_graph_is_refused(
    tisim: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    tisim.write("g.graph", GRAPH)
    tisim.write("wrong.graph", "graph 1\nranks none\n")
    write_graph(tmp_path / "g.tit", GRAPH)
    gpu_cluster(replace(MACHINES["a100"], nodes=1)).write(tmp_path / "p.xml")
    assert tisim("pack", tisim.write("t.trace", "0 compute 1\n"), "-o", "trace.tit").status == 0
    refused = tisim(*words)
    assert refused.status == 2
    assert message in refused.err


def test_damaged_files_end_with_one_message(tisim: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "g.tit"
    write_graph(file, GRAPH)
    whole = file.read_bytes()
    cut = [whole[:size] for size in range(len(whole))]
    flipped = [
        whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]
        for place in range(len(whole))
    ]
    for content in (*cut, *flipped, whole + b"x"):
        file.write_bytes(content)
        with pytest.raises(InputError):
            read_graph(file)
    for command in ("step", "check", "inspect"):
        shown = tisim(command, str(file))
        assert shown.status == 2
        assert shown.err.count("\n") == 1
        assert "is damaged: it has" in shown.err
    file.write_bytes(whole)
    assert read_graph_text(file) == GRAPH


def test_a_trace_carries_the_graph_that_its_ranks_launch(
    tisim: CommandLine, tmp_path: Path
) -> None:
    machine = replace(MACHINES["a100"], nodes=2, gpus=1, nics=1)
    gpu_cluster(machine).write(tmp_path / "p.xml")
    graph = tisim.write("g.graph", GRAPH)
    lines = [f"{rank} launch reduce\n{rank} launch wait\n" for rank in (0, 1)]
    trace = tisim.write("two.trace", "".join(lines))
    packed, again = str(tmp_path / "two.tit"), str(tmp_path / "again.tit")
    assert tisim("pack", trace, "--graph", graph, "-o", packed).status == 0
    assert tisim("pack", packed, "-o", again).status == 0
    words = ("--platform", str(tmp_path / "p.xml"), "--json", "-")
    expected = json.loads(tisim("replay", *words, "--graph", graph, trace).out)
    assert expected["simulated_time"] > 6e-3
    for file in (packed, again):
        shown = json.loads(tisim("replay", *words, file).out)
        assert shown["simulated_time"] == expected["simulated_time"]
    page = ("view", "--static", str(tmp_path / "page"), *words[:2], again)
    assert tisim(*page).status == 0
    assert tisim("check", again).status == 0
    assert "graph (optional)" in tisim("inspect", again).out
    assert tisim("unpack", again, "-o", str(tmp_path / "two")).status == 0
    assert (tmp_path / "two.graph").read_text() == GRAPH
    refused = tisim("pack", packed, "--graph", graph, "-o", again)
    assert (refused.status, "already contains a graph;" in refused.err) == (2, True)
    unsound = tisim.write("one.trace", lines[0] + "1 launch wait\n")
    assert tisim("pack", unsound, "--graph", graph, "-o", again).status == 0
    assert tisim("check", again).status == 1
    assert Trace.open(again).ranks == 2


def neighbours(ranks: int) -> list[str]:
    """A halo exchange with regular peers and volumes in every notation."""
    volumes = ["1000", "2.5e+06", "1e+07", "1234567", "0.125", "956140.000000", "3e-05", "1e999x"]
    texts = []
    for rank in range(ranks):
        lines = ["init", "comment # 5"]
        for step in range(40):
            lines += [
                f"irecv {(rank + 1) % ranks} 0 {100 * rank}",
                f"isend {rank ^ 1} 0 64 6",
                f"compute {volumes[(step * rank) % len(volumes)]}",
                "waitall",
            ]
        texts.append("".join(f"{rank} {line}\n" for line in [*lines, "finalize"]))
    return texts


def noisy(ranks: int) -> list[str]:
    """Random volumes and sizes, both stored in columns."""
    source = random.Random(1)
    texts = []
    for rank in range(ranks):
        lines = []
        for _ in range(300):
            lines.append(f"compute {source.randrange(10**9)}")
            if source.random() < 0.5:
                lines.append(f"compute {source.gauss(1e5, 1e3):g}")
            lines.append(f"bcast {source.randrange(2**62)} 0 {source.choice([6, 7])}")
        texts.append("".join(f"{rank} {line}\n" for line in lines) + f"{rank} compute 7")
    return texts


def proportional(ranks: int) -> list[str]:
    """Volumes scaled by a factor per rank, so that one vector is enough."""
    source = random.Random(2)
    sizes = [source.randrange(200_000, 300_000) for _ in range(3 * ranks)]
    return [
        "".join(
            f"{rank} compute {volume}\n{rank} barrier\n" * 20
            for volume in (size, 2 * size, size // 3, 7 * size // 12 + 57)
        )
        for rank, size in enumerate(sizes)
    ]


def odd(ranks: int) -> list[str]:
    """Unusual lines: control characters, blank lines, CRLF, no final newline."""
    return [
        f"# \x01\x07 {rank}\n\n  {rank}  init\r\n{rank} a=1,2 b\t-0 007\nend"
        for rank in range(ranks)
    ]


@pytest.mark.parametrize("make", [neighbours, noisy, proportional, odd])
def test_every_byte_comes_back(tmp_path: Path, make: Callable[[int], list[str]]) -> None:
    texts = {f"rank-{rank:02d}.txt": text.encode() for rank, text in enumerate(make(6))}
    (tmp_path / "text").mkdir()
    for name, text in texts.items():
        (tmp_path / "text" / name).write_bytes(text)
    pack(tmp_path / "text", tmp_path / "x.tit")
    assert dict(TitTrace(tmp_path / "x.tit").files()) == texts


@pytest.mark.parametrize("name", ["lu.S.4", "mg.S.16", "is.S.16", "lu.S.4.simgrid"])
def test_real_traces_come_back(nas_traces: Path, tmp_path: Path, name: str) -> None:
    pack(nas_traces / name, tmp_path / "x.tit")
    trace = TitTrace(tmp_path / "x.tit")
    directory = nas_traces / name
    texts = {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }
    assert dict(trace.files()) == texts
    assert trace.ranks == Trace.open(tmp_path / "x.tit").ranks


def test_one_file_of_all_ranks_comes_back(tmp_path: Path) -> None:
    text = b"# all\n0 init\n1 init\n\n1 send 0 0 5\n0 recv 1 0 5\r\n#end\n1 finalize"
    (tmp_path / "all.txt").write_bytes(text)
    pack(tmp_path / "all.txt", tmp_path / "x.tit")
    assert list(TitTrace(tmp_path / "x.tit").files()) == [("all.txt", text)]


def test_damage_is_found(nas_traces: Path, tmp_path: Path) -> None:
    packed = tmp_path / "x.tit"
    pack(nas_traces / "lu.S.4", packed)
    whole = packed.read_bytes()
    for place in range(0, len(whole), 97):
        packed.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DamagedError):
            list(TitTrace(packed).files())


def test_parts_have_the_numbers_of_the_description() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert [
        volume_text(code) for code in (999_999, 1_000_000, 1_000_001, (1 << 50) + 1_000_000)
    ] == [
        "999999",
        "1e+06",
        "1.00001e+06",
        "1000000",
    ]
    assert volume_text((3 << 50) + 5) == "0.05"
    assert volume_text((33 + 256 + 125 << 50) + 12) == "1.2e-03"
    slots = alias_slots([1024, 2048, 1024])
    assert sorted(slots) == [(0, n) for n in range(1024)] + [(1, n) for n in range(2048)] + [
        (2, n) for n in range(1024)
    ]
