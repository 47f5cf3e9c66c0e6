"""Bad input, as a new user would meet it: one clear message, and nothing left behind."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.command_line import BACKBONE, RING, ROOT, CommandLine, Outcome

Case = Callable[[CommandLine], Outcome]

HOSTS = '<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>'
TWO = ("compute 1", "compute 1")


@pytest.fixture
def tisim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(tmp_path, capsys)


def refused(tisim: CommandLine, outcome: Outcome, message: str, *, status: int = 2) -> None:
    """The command printed this message only; ``DIR`` stands for the test's directory."""
    said = outcome.err.replace(str(tisim.directory), "DIR")
    assert outcome.out == ""
    assert "Traceback" not in said
    assert said.startswith("tisim: "), said
    assert re.fullmatch(message, said.removeprefix("tisim: ").rstrip("\n"), re.DOTALL), said
    assert outcome.status == status
    assert not (tisim.directory / "out").exists() or not list((tisim.directory / "out").iterdir())


# Platforms


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            [
                '<zone id="z" routing="Full"><host id="a" speed="1Gf"/>',
                '<host id="a" speed="1Gf"/></zone>',
            ],
            r"DIR/platform.xml:4: 'a' is declared twice.*",
        ),
        (
            [
                f'<zone id="z" routing="Full">{HOSTS}<link id="l1" bandwidth="1Bps" latency="0s"/>',
                '<route src="a" dst="b"><link_ctn id="l2"/></route></zone>',
            ],
            r"DIR/platform.xml:4: there is no link 'l2'; did you mean l1\?",
        ),
        (
            [
                '<zone id="z" routing="Full">',
                '<link id="l" bandwidth="-1Bps" latency="0s"/></zone>',
            ],
            r"DIR/platform.xml:4: bandwidth of link l must be finite and not negative, not '-1Bps'",
        ),
        (
            [
                '<zone id="z" routing="Full">',
                '<link id="l" bandwidth="1XBps" latency="0s"/></zone>',
            ],
            r"DIR/platform.xml:4: unknown unit 'XBps' in the bandwidth of link l '1XBps': did .*",
        ),
        (['<zone id="z" routing="Full"/>'], r"DIR/platform.xml:2: the platform has no host"),
        (
            [f'<zone id="z" routing="Full">{HOSTS}</zone>'],
            r"DIR/platform.xml: there is no route from host 'a' to host 'b': .*",
        ),
        (
            ['<zone id="z" routing="Full"><host id="a" speed="1Gf"/></zon'],
            r"DIR/platform.xml:\d: this is not complete XML: .*",
        ),
    ],
)
def test_platforms(tisim: CommandLine, lines: list[str], message: str) -> None:
    trace = tisim.trace("send 1 0 10", "recv 0 0 10")
    refused(tisim, tisim.replay(trace, platform=tisim.platform(*lines)), message)


BOMB = """<!DOCTYPE platform [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>
<platform version="4.1"><zone id="&c;" routing="Full"/></platform>"""
EXTERNAL = """<!DOCTYPE platform [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<platform version="4.1"><zone id="&x;" routing="Full"/></platform>"""


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (BOMB, "DIR/p.xml:1: the file declares an XML entity; entities are not expanded here.*"),
        (EXTERNAL, "DIR/p.xml:1: the file declares an XML entity; entities are not expanded.*"),
        ("", "DIR/p.xml: the file is empty"),
        ("<html/>", "DIR/p.xml:1: the file's outermost element is <html>; a platform .*"),
        ("0 compute 1\n", "DIR/p.xml:1: this is not complete XML: .*"),
    ],
)
def test_files_that_are_no_platform(tisim: CommandLine, content: str, message: str) -> None:
    refused(tisim, tisim.replay(RING, platform=tisim.write("p.xml", content)), message)


def test_a_platform_cut_in_half(tisim: CommandLine) -> None:
    half = Path(BACKBONE).read_text()[:400]
    refused(
        tisim,
        tisim.replay(RING, platform=tisim.write("p.xml", half)),
        r"DIR/p.xml:\d+: this is not complete XML: .*",
    )


# Deployments


def deployment(tisim: CommandLine, *hosts: str) -> str:
    lines = [f'<actor host="{host}" function="{rank}"/>' for rank, host in enumerate(hosts)]
    return tisim.platform(*lines)


def test_more_ranks_than_the_deployment_names(tisim: CommandLine) -> None:
    outcome = tisim.replay("--deploy", deployment(tisim, "c-0.me", "c-1.me"), RING)
    refused(
        tisim, outcome, "DIR/platform.xml: the trace has 4 ranks, the deployment only 2: add an .*"
    )


def test_a_deployment_on_an_unknown_host(tisim: CommandLine) -> None:
    outcome = tisim.replay("--deploy", deployment(tisim, *["c-0.me"] * 3, "c-256.me"), RING)
    refused(
        tisim, outcome, r"DIR/platform.xml:6: the platform .* has no host 'c-256.me'; did you .*"
    )


def test_a_deployment_with_a_gap(tisim: CommandLine) -> None:
    lines = [f'<actor host="c-0.me" function="{rank}"/>' for rank in (0, 1, 3)]
    outcome = tisim.replay("--deploy", tisim.platform(*lines), RING)
    refused(tisim, outcome, "DIR/platform.xml: rank 2 is missing: .*")


def test_host_files(tisim: CommandLine) -> None:
    empty, wrong = tisim.write("empty", "# nothing\n"), tisim.write("wrong", "c-0.me\nnode:1:2\n")
    refused(tisim, tisim.replay("--hostfile", empty, RING), "DIR/empty: the host file names no .*")
    refused(
        tisim,
        tisim.replay("--hostfile", wrong, RING),
        "DIR/wrong:2: a line of a host file is 'host' or 'host:ranks', not 'node:1:2'",
    )
    refused(
        tisim,
        tisim.replay("--hostfile", empty, "--deploy", wrong, RING),
        "give --deploy or --hostfile, not both",
    )


# Traces


@pytest.mark.parametrize("option", ["--platform", "--deploy", "--hostfile", "TRACE"])
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
        ({"t/r": bytes(range(256))}, "DIR/t/r:1: is no text: the byte 0x00 at column 1; .*"),
        ({"t/r": b"0 compute 1\n0 \xff\x00\n"}, "DIR/t/r:2: is no text: the byte 0x.. at col.*"),
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
        tisim.replay("--np", "8", tisim.trace(*TWO)),
        "DIR/trace: is a trace of 2 ranks, not of 8 as asked for; .*",
    )


# Simulations that cannot proceed


def stuck(tisim: CommandLine, outcome: Outcome, *lines: str) -> None:
    refused(tisim, outcome, "\n  ".join(map(re.escape, lines)), status=1)


def test_two_ranks_that_receive_first(tisim: CommandLine) -> None:
    trace = tisim.trace("compute 1e9; recv 1 7 10; send 1 0 10", "init; recv 0 0 10; send 0 7 10")
    stuck(
        tisim,
        tisim.replay(trace),
        "deadlock at 1 s: 2 ranks wait for what will never happen",
        "DIR/trace/r0.txt:2: rank 0: recv waits for a message from rank 1 with tag 7",
        "DIR/trace/r1.txt:2: rank 1: recv waits for a message from rank 0 with tag 0",
    )


def test_two_ranks_that_send_too_much_first(tisim: CommandLine) -> None:
    trace = tisim.trace(
        "isend 1 3 10; send 1 0 1e6; recv 1 0 1e6", "irecv 0 5 1; isend 0 0 1e6; wait 1 0 0"
    )
    stuck(
        tisim,
        tisim.replay(trace),
        "deadlock at 0 s: 2 ranks wait for what will never happen",
        "DIR/trace/r0.txt:2: rank 0: send waits for rank 1 to receive 1000000 bytes with tag 0",
        "DIR/trace/r1.txt:3: rank 1: wait waits for rank 0 to receive 1000000 bytes with tag 0",
    )


def test_requests_that_never_end(tisim: CommandLine) -> None:
    trace = tisim.trace("irecv 1 1 10; irecv 1 2 10; waitall", "send 0 2 10; irecv -555 9 10")
    stuck(
        tisim,
        tisim.replay(trace),
        "deadlock at 0.00120905813 s: 2 ranks wait for what will never happen",
        "DIR/trace/r0.txt:3: rank 0: waitall waits for a message from rank 1 with tag 1",
        "DIR/trace/r1.txt: rank 1: the end of its trace waits for a message from any rank "
        "with tag 9",
    )


def test_a_collective_that_one_rank_never_enters(tisim: CommandLine) -> None:
    trace = tisim.trace("allreduce 8 1", "compute 1; allreduce 8 1", "compute 1")
    outcome = tisim.replay(trace)
    assert outcome.status == 1
    for line in (
        "DIR/trace/r0.txt:1: rank 0: allreduce waits for the other ranks; rank 2 never calls it",
        "DIR/trace/r1.txt:2: rank 1: allreduce waits for the other ranks; rank 2 never calls it",
    ):
        assert line in outcome.err.replace(str(tisim.directory), "DIR")


def test_a_collective_that_nobody_waits_in(tisim: CommandLine) -> None:
    """The root of a small broadcast goes on at once; the others must still call it."""
    stuck(
        tisim,
        tisim.replay(tisim.trace("init; bcast 10", "init; finalize")),
        "a collective is missing: rank 1 never calls bcast, as all ranks of a communicator must",
        "DIR/trace/r0.txt:2: rank 0 calls it",
    )


def test_different_collectives_at_the_same_point(tisim: CommandLine) -> None:
    stuck(
        tisim,
        tisim.replay(tisim.trace("compute 1e9; barrier", "bcast 10")),
        "the ranks call different collectives at the same point, at 1 s:",
        "DIR/trace/r1.txt:1: rank 1 calls bcast",
        "DIR/trace/r0.txt:2: rank 0 calls barrier",
        "all ranks of a communicator must make the same collective calls in the same order",
    )


def test_the_report_names_every_blocked_rank(tisim: CommandLine) -> None:
    outcome = tisim.replay(tisim.trace(*[f"recv {(r + 1) % 100} 0 1" for r in range(100)]))
    assert outcome.status == 1
    assert len(outcome.err.splitlines()) == 101
    for rank in range(100):
        assert f"r{rank}.txt:1: rank {rank}: recv waits for a message" in outcome.err


def test_the_mistaken_null_is_told_of(tisim: CommandLine) -> None:
    trace = tisim.trace("recv -333 0 10; compute 1e9", "send -333 0 10; compute 2e9")
    outcome = tisim.replay(trace)
    stuck(
        tisim,
        outcome,
        "deadlock at 2 s: 1 rank waits for what will never happen",
        "DIR/trace/r0.txt:1: rank 0: recv waits for a message from any rank with tag 0",
        "(a receive from -333 was taken for one from MPI_ANY_SOURCE; SimGrid's tracer writes -333 "
        "for MPI_PROC_NULL too: --config tisim/null-source=proc-null reads it so)",
    )
    outcome = tisim.replay("--config", "tisim/null-source=proc-null", trace)
    assert (outcome.status, outcome.err) == (0, "")


# Options


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "smpi/coll-selectr=ompi",
            r"unknown option 'smpi/coll-selectr'; did you mean smpi/coll-s.*",
        ),
        ("smpi/coll-selector", "an option is KEY=VALUE or KEY:VALUE, not 'smpi/coll-selector'"),
        ("smpi/coll-selector=foo", "option smpi/coll-selector: it is one of default, .*'foo'"),
        ("smpi/bcast=foo", "option smpi/bcast: bcast has no algorithm 'foo'; known names: .*"),
        ("network/crosstraffic=maybe", r"option network/crosstraffic: it is yes or no .*'maybe'"),
        ("network/crosstraffic:maybe", r"option network/crosstraffic: it is yes or no .*'maybe'"),
        ("smpi/os=0:1", "option smpi/os: a row of the table is boundary:seconds:seconds a byte.*"),
        ("tisim/null-source=x", "option tisim/null-source: it is one of any, proc-null, not 'x'"),
        ("precision/timing=-1", "option precision/timing: .*"),
    ],
)
def test_options(tisim: CommandLine, option: str, message: str) -> None:
    refused(tisim, tisim.replay("--config", option, RING), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replay", "--platfrm", "x"], "No such option '--platfrm'. Did you mean '--platform'?"),
        (["replay", RING], "Missing option '--platform'."),
        (["replay", "--platform", BACKBONE], "Missing argument 'TRACES...'."),
        (["replay", "--np", "0", RING], "Invalid value for '--np': 0 is not in the range x>=1."),
        (["repaly"], "No such command 'repaly'. Did you mean 'replay'?"),
    ],
)
def test_the_command_line_itself(tisim: CommandLine, arguments: list[str], message: str) -> None:
    outcome = tisim(*arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    assert outcome.err.splitlines()[-1] == f"Error: {message}"
    assert outcome.err.splitlines()[1].startswith("Try 'tisim")


# What would be written


@pytest.mark.parametrize("bad", ["send 7 0 1", "recv 0 0 1"])
def test_nothing_is_left_behind(tisim: CommandLine, bad: str) -> None:
    trace = tisim.trace(bad, "compute 1")
    (tisim.directory / "out").mkdir()
    outcome = tisim.replay("--json", str(tisim.directory / "out" / "x.json"), trace)
    refused(tisim, outcome, ".*", status=1 if bad.startswith("recv") else 2)


def test_a_result_that_cannot_be_written(tisim: CommandLine) -> None:
    refused(
        tisim,
        tisim.replay("--json", str(tisim.directory / "no" / "x.json"), RING),
        "DIR/no/x.json: cannot be written: No such file or directory",
    )
    refused(
        tisim,
        tisim.replay("--json", str(tisim.directory), RING),
        "DIR: is a directory; name a file to write",
    )


def test_a_result_is_checked_for_before_the_simulation(tisim: CommandLine) -> None:
    refused(
        tisim,
        tisim.replay("--json", str(tisim.directory / "no" / "x"), tisim.trace("recv 0 0 1")),
        "DIR/no/x: cannot be written: No such file or directory",
    )
