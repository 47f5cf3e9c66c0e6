"""Bad traces: one clear message, with file and line."""

from __future__ import annotations

import pytest

from tests.unit.command_line import BACKBONE, RING, ROOT, CommandLine, refused

TWO = ("compute 1", "compute 1")


@pytest.mark.parametrize("option", ["--platform", "--deployment", "--hosts", "TRACE"])
def test_missing_files(tisim: CommandLine, option: str) -> None:
    gone = str(tisim.directory / "gone")
    arguments = ["replay"] + ([] if option == "--platform" else ["--platform", BACKBONE])
    arguments += [gone] if option == "TRACE" else [option, gone, RING]
    refused(tisim, tisim(*arguments), "DIR/gone: .*[Nn]o such file.*")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"t/.hidden": ""}, "DIR/t: has no file in it"),
        ({"t/sub/r0": "0 compute 1\n"}, "DIR/t: has no file in it, only directories; name .*: sub"),
        ({"t/r0": ""}, "DIR/t/r0: has no action in it"),
        (
            {"t/r0": "0 compute 1\n", "t/r2": "2 compute 1\n"},
            "DIR/t: rank 1 of 0 to 2 has no file; ranks are numbered from 0 without a gap",
        ),
        (
            {"t/a": "0 compute 1\n", "t/b": "0 compute 1\n"},
            "DIR/t/b: is of rank 0, and so is DIR/t/a; a rank has one file",
        ),
        ({"t/r": bytes(range(256))}, "DIR/t/r:1: is not text: the byte 0x00 at column 1; .*"),
        ({"t/r": b"0 compute 1\n0 \xff\x00\n"}, "DIR/t/r:2: is not text: the byte 0x.. at col.*"),
        (
            {"t/r0": "0 compute 1\n0 send 1 0 10\n0 sen", "t/r1": "1 recv 0 0 10\n"},
            "DIR/t/r0:3: .*the file ends inside this line, it looks cut: copy or trace it again",
        ),
        (
            {"t/r0": "0 send 1 0 10 6\n0 send 1", "t/r1": "1 recv 0 0 10 6\n"},
            "DIR/t/r0:2: .*the file ends inside this line, it looks cut: copy or trace it again",
        ),
    ],
)
def test_files_that_are_no_trace(
    tisim: CommandLine, files: dict[str, str | bytes], message: str
) -> None:
    for name, content in files.items():
        tisim.write(name, content)
    refused(tisim, tisim.replay(str(tisim.directory / "t")), message)


def test_an_archive_that_is_not_whole(tisim: CommandLine) -> None:
    content = (ROOT / "traces" / "npb.S.tar.xz").read_bytes()[:50000]
    refused(
        tisim,
        tisim.replay(tisim.write("cut.tar.xz", content)),
        r"DIR/cut.tar.xz.*: is damaged or not whole \(.*\); get it again",
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("send 7 0 10", "destination 7 does not exist: the ranks of this trace are 0 to 1; .*"),
        ("recv 7 0 10", "source 7 does not exist: the ranks of this trace are 0 to 1; .*"),
        ("bcast 10 7", "root 7 does not exist: .*"),
        ("send 1 0 ten", "count 'ten' is not a number"),
        ("send 1 0 -10", "count '-10' is negative; it is 0 or more"),
        ("compute -1", "flops '-1' is negative; it is 0 or more"),
        ("compute nan", "flops 'nan' is not a number"),
        ("sleep -1", "seconds '-1' is negative; it is 0 or more"),
        ("send 1 0 1e300", "count '1e300' does not fit into 64 bits"),
        ("send 1 0 10 99", "there is no type 99; types are 0 to 59, and -1"),
        ("send 1", "send needs .*got 1.*"),
        ("comput 1", "there is no action 'comput', but compute; .*"),
        ("checkpoint 1", "there is no action 'checkpoint'; an action of your own has to be reg.*"),
        ("alltoallv 1 1 1 1", "alltoallv needs .*"),
    ],
)
def test_lines(tisim: CommandLine, line: str, message: str) -> None:
    trace = tisim.trace(f"compute 1; {line}", "compute 1; recv 0 0 10")
    refused(tisim, tisim.replay(trace), f"DIR/trace/r0.txt:2: {message}")


def test_the_number_of_ranks(tisim: CommandLine) -> None:
    refused(
        tisim,
        tisim.replay("--ranks", "8", tisim.trace(*TWO)),
        "DIR/trace: is a trace of 2 ranks, not of 8 as asked for; .*",
    )
