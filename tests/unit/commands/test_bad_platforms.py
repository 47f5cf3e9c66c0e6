"""Bad platforms and deployments: one clear message."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.command_line import BACKBONE, RING, CommandLine, refused

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
        (
            "0 compute 1\n",
            "DIR/p.xml:1: this is not XML, .* it begins with '0 compute 1'; a list .*",
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
        tisim, outcome, "DIR/platform.xml: the trace has 4 ranks, the deployment only 2: add an .*"
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


def test_host_files(tisim: CommandLine) -> None:
    empty, wrong = tisim.write("empty", "# nothing\n"), tisim.write("wrong", "c-0.me\nnode:1:2\n")
    refused(tisim, tisim.replay("--hosts", empty, RING), "DIR/empty: the host file names no .*")
    refused(
        tisim,
        tisim.replay("--hosts", wrong, RING),
        "DIR/wrong:2: a line of a host file is 'host' or 'host:ranks', not 'node:1:2'",
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
        r"DIR/hosts:1: this is not XML, .* 'c-0.me'; a list of hosts is a host file \(--hosts\)",
    )
    refused(
        tisim,
        tisim.replay("--hosts", deployed, RING),
        "DIR/platform.xml: this is XML, and a host file has a host a line; a deployment goes .*",
    )
    refused(
        tisim,
        tisim.replay("--deployment", BACKBONE, RING),
        ".*backbone.xml: the deployment has no <actor .* element; it is a platform",
    )
