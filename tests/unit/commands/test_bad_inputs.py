"""Bad platforms, traces and options: one clear message, and no files left behind."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import click
import pytest

from tests.unit.command_line import BACKBONE, RING, ROOT, CommandLine, refused
from tisim.commands import parameter_help
from tisim.commands.replay import replay_command
from tisim.simulation.replay import replay

HOSTS = '<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>'


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
            r"DIR/platform.xml:4: no link 'l2'; did you mean l1\?",
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
            ['<zone id="z" routing="Full"><host id="a" speed="1,5Gf"/></zone>'],
            r"DIR/platform.xml:3: speed of host a: '1,5Gf' would be a list of the speeds 1f and "
            r"5Gf; use a decimal point: 1.5Gf",
        ),
        (
            [f'<zone id="z" routing="Full">{HOSTS}</zone>'],
            r"DIR/platform.xml: no route from host 'a' to host 'b': .*",
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
        (BOMB, "DIR/p.xml:1: the file declares an XML entity; entities are not expanded.*"),
        (EXTERNAL, "DIR/p.xml:1: the file declares an XML entity; entities are not expanded.*"),
        ("", "DIR/p.xml: the file is empty"),
        ("<html/>", "DIR/p.xml:1: the file's outermost element is <html>; a platform .*"),
        (
            "0 compute 1\n",
            "DIR/p.xml:1: this is not XML .* it begins with '0 compute 1'; use .*",
        ),
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
    outcome = tisim.replay("--deployment", deployment(tisim, "c-0.me", "c-1.me"), RING)
    refused(
        tisim,
        outcome,
        "DIR/platform.xml: the trace has 4 ranks, but the deployment only 2: add an .*",
    )


def test_a_deployment_on_an_unknown_host(tisim: CommandLine) -> None:
    outcome = tisim.replay("--deployment", deployment(tisim, *["c-0.me"] * 3, "c-256.me"), RING)
    refused(
        tisim, outcome, r"DIR/platform.xml:6: the platform .* has no host 'c-256.me'; did you .*"
    )


def test_a_deployment_with_a_gap(tisim: CommandLine) -> None:
    lines = [f'<actor host="c-0.me" function="{rank}"/>' for rank in (0, 1, 3)]
    outcome = tisim.replay("--deployment", tisim.platform(*lines), RING)
    refused(tisim, outcome, "DIR/platform.xml: rank 2 is missing: .*")


def test_one_host_is_named_with_a_comma(tisim: CommandLine) -> None:
    said = "c-1.me: no such hosts file; to name a single host, append a comma: c-1.me,"
    refused(tisim, tisim.replay("--hosts", "c-1.me", RING), said)
    assert "rank 0 on c-1.me" in tisim.replay("--hosts", "c-1.me,", RING).out


def test_texts_of_windows_begin_with_a_mark(tisim: CommandLine) -> None:
    hosts = tisim.write("hosts", b"\xef\xbb\xbfc-1.me\r\n")
    assert "rank 0 on c-1.me" in tisim.replay("--hosts", hosts, RING).out
    text = f'trace = "{RING}"\nplatform = "{BACKBONE}"\nvary = []\n'
    study = tisim.write("study.toml", b"\xef\xbb\xbf" + text.encode())
    refused(tisim, tisim("sweep", study), "the list of points is empty; .*")


def test_host_files(tisim: CommandLine) -> None:
    empty, wrong = tisim.write("empty", "# nothing\n"), tisim.write("wrong", "c-0.me\nnode:1:2\n")
    refused(tisim, tisim.replay("--hosts", empty, RING), "DIR/empty: the host file names no .*")
    refused(
        tisim,
        tisim.replay("--hosts", wrong, RING),
        "DIR/wrong:2: a line of a host file must be 'host' or 'host:ranks', not 'node:1:2'",
    )
    refused(
        tisim,
        tisim.replay("--hosts", empty, "--deployment", wrong, RING),
        "give --deployment or --hosts, not both",
    )


def test_one_kind_of_file_for_another(tisim: CommandLine) -> None:
    hosts = tisim.write("hosts", "c-0.me\nc-1.me\n")
    deployed = deployment(tisim, "c-0.me")
    refused(
        tisim,
        tisim.replay("--deployment", hosts, RING),
        "DIR/hosts:1: this is not XML .* begins with 'c-0.me'; use --hosts for a list of hosts",
    )
    refused(
        tisim,
        tisim.replay("--hosts", deployed, RING),
        "DIR/platform.xml: this is XML, but a host file .*; use --deployment for a deployment",
    )
    refused(
        tisim,
        tisim.replay("--deployment", BACKBONE, RING),
        ".*backbone.xml: the deployment has no <actor .* element; it is a platform",
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "smpi/coll-selectr=ompi",
            r"unknown option 'smpi/coll-selectr'; did you mean smpi/coll-s.*",
        ),
        (
            "smpi/coll-selector",
            "an option must be KEY=VALUE or KEY:VALUE, not 'smpi/coll-selector'",
        ),
        ("smpi/coll-selector=foo", "option smpi/coll-selector: must be one of default, .*'foo'"),
        ("smpi/bcast=foo", "option smpi/bcast: bcast has no algorithm 'foo'; known names: .*"),
        ("network/crosstraffic=maybe", r"option network/crosstraffic: must be yes or no .*'maybe'"),
        ("network/crosstraffic:maybe", r"option network/crosstraffic: must be yes or no .*'maybe'"),
        (
            "smpi/os=0:1",
            "option smpi/os: a row of the table must be boundary:seconds:seconds per byte.*",
        ),
        ("tisim/null-source=x", "option tisim/null-source: must be one of any, proc-null, not 'x'"),
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
        (
            ["replay", "--ranks", "0", RING],
            "Invalid value for '--np' / '--ranks': 0 is not in the range x>=1.",
        ),
        (["repaly"], "No such command 'repaly'. Did you mean 'replay'?"),
    ],
)
def test_the_command_line_itself(tisim: CommandLine, arguments: list[str], message: str) -> None:
    outcome = tisim(*arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    assert outcome.err.splitlines()[-1] == f"Error: {message}"
    assert outcome.err.splitlines()[1].startswith("Try 'tisim")


# Outputs of failed runs


def test_options_without_effect(tisim: CommandLine) -> None:
    refused(tisim, tisim.replay("--seed", "3", RING), "--seed needs --uncertainty")
    part = ("--gantt", str(tisim.directory / "x.svg"), "--begin", "3s", "--end", "2s")
    refused(tisim, tisim.replay(*part, RING), "--begin must be before --end, not 3 s and 2 s")


@pytest.mark.parametrize(
    ("option", "name"), [("--gantt", "x.svg"), ("--timeline", "x.perfetto-trace")]
)
def test_a_picture_that_cannot_be_drawn_costs_no_numbers(
    tisim: CommandLine, option: str, name: str
) -> None:
    """Only after the run is it known that the part starts beyond its end."""
    picture, result = tisim.directory / name, tisim.directory / "x.json"
    late = (option, str(picture), "--begin", "3s", "--json", str(result))
    outcome = tisim.replay(*late, RING)
    assert outcome.status == 2
    assert outcome.out.startswith("simulated time")
    assert outcome.err.splitlines()[-1].startswith("tisim: the simulation lasts from 0 to 0.06")
    assert json.loads(result.read_text())["actions"] == 20
    assert not picture.exists()


def test_nothing_is_left_behind(tisim: CommandLine) -> None:
    """After a bad input; if a replay is stuck, JSON contains the reason."""
    trace = tisim.trace("send 7 0 1", "compute 1")
    (tisim.directory / "out").mkdir()
    outcome = tisim.replay("--json", str(tisim.directory / "out" / "x.json"), trace)
    refused(tisim, outcome, ".*", status=2)


def test_a_result_that_cannot_be_written(tisim: CommandLine) -> None:
    refused(
        tisim,
        tisim.replay("--json", str(tisim.directory / "no" / "x.json"), RING),
        "DIR/no/x.json: cannot be written: No such file or directory",
    )
    refused(
        tisim,
        tisim.replay("--json", str(tisim.directory), RING),
        "DIR: is a directory; give the name of a file to write",
    )


def test_a_result_is_checked_for_before_the_simulation(tisim: CommandLine) -> None:
    refused(
        tisim,
        tisim.replay("--json", str(tisim.directory / "no" / "x"), tisim.trace("recv 0 0 1")),
        "DIR/no/x: cannot be written: No such file or directory",
    )


PYTHON_ONLY = {
    "trace", "progress", "event_log", "timeline_part", "registry", "network_model",
    "host_model", "gpus",
}  # fmt: skip


def test_every_parameter_of_replay_is_an_option() -> None:
    """Texts, types and defaults are those of `tisim.replay`; other parameters have no option."""
    helps = {option.help for option in replay_command.params if isinstance(option, click.Option)}
    for name in inspect.signature(replay).parameters:
        text = parameter_help(replay, name)
        assert (text in helps or f"{text} Repeatable." in helps) == (name not in PYTHON_ONLY), name


@pytest.mark.parametrize("command", ["record", "execute", "benchmark"])
def test_commands_that_start_others_refuse_options_of_nobody(
    tisim: CommandLine, command: str
) -> None:
    said = tisim(command, "--foo", RING, "--", "no-such-program")
    assert (said.status, said.out) == (2, "")
    assert said.err.endswith("No such option '--foo'.\n")


def test_units_a_second_have_a_prefix(tisim: CommandLine) -> None:
    """The command itself is checked only after the speed."""
    for command, rest in (("record", ("-o", "x")), ("execute", (RING,))):
        start = (command, "--speed", "2.5Gf", *rest, "--", "no-such-program")
        refused(tisim, tisim(*start), "no such command: no-such-program.*")
        start = (command, "--speed", "0", *rest, "--", "no-such-program")
        refused(tisim, tisim(*start), "--speed must be above zero")


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
        ({"t/.hidden": ""}, "DIR/t: contains no files"),
        (
            {"t/sub/r0": "0 compute 1\n"},
            "DIR/t: contains no files, only directories; .*: sub",
        ),
        ({"t/r0": ""}, "DIR/t/r0: contains no action"),
        (
            {"t/r0": "0 compute 1\n", "t/r2": "2 compute 1\n"},
            "DIR/t: rank 1 of 0 to 2 has no file; ranks are numbered from 0 without a gap",
        ),
        (
            {"t/a": "0 compute 1\n", "t/b": "0 compute 1\n"},
            "DIR/t/b: is of rank 0, and so is DIR/t/a; a rank must have only one file",
        ),
        ({"t/r": bytes(range(256))}, "DIR/t/r:1: is not text: the byte 0x00 at column 1; .*"),
        ({"t/r": b"0 compute 1\n0 \xff\x00\n"}, "DIR/t/r:2: is not text: the byte 0x.. at col.*"),
        (
            {"t/r0": "0 compute 1\n0 send 1 0 10\n0 sen", "t/r1": "1 recv 0 0 10\n"},
            "DIR/t/r0:3: .*the file ends within this line and looks truncated: .*",
        ),
        (
            {"t/r0": "0 send 1 0 10 6\n0 send 1", "t/r1": "1 recv 0 0 10 6\n"},
            "DIR/t/r0:2: .*the file ends within this line and looks truncated: .*",
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
        r"DIR/cut.tar.xz.*: is damaged or incomplete \(.*\); download it again",
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("send 7 0 10", "destination 7 does not exist: the ranks of this trace are 0 to 1; .*"),
        ("recv 7 0 10", "source 7 does not exist: the ranks of this trace are 0 to 1; .*"),
        ("bcast 10 7", "root 7 does not exist: .*"),
        ("send 1 0 ten", "count 'ten' is not a number"),
        ("send 1 0 -10", "count '-10' is negative; must be at least 0"),
        ("compute -1", "flops '-1' is negative; must be at least 0"),
        ("compute nan", "flops 'nan' is not a number"),
        ("sleep -1", "seconds '-1' is negative; must be at least 0"),
        ("send 1 0 1e300", "count '1e300' does not fit into 64 bits"),
        ("send 1 0 10 99", "no type 99; types are 0 to 59, and -1"),
        ("send 1", "send needs .*got 1.*"),
        ("comput 1", "unknown action 'comput', but compute; .*"),
        ("checkpoint 1", "unknown action 'checkpoint'; a custom action must be reg.*"),
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
        "DIR/trace: is a trace of 2 ranks, not of the requested 8; .*",
    )
