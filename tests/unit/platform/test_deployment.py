"""Placement of ranks on hosts: deployments, host files, round-robin."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.platform import Deployment, Platform
from tisim.platform.deployment import Placement

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write_text(text: str) -> Path:
        path = tmp_path / "deployment"
        path.write_text(text)
        return path

    return write_text


def xml(*actors: str) -> str:
    return '<platform version="4.1">\n' + "\n".join(actors) + "\n</platform>"


def test_ranks_in_every_way_of_writing_them(write: Write) -> None:
    deployment = Deployment.load(
        write(
            xml(
                '<actor host="d" function="3" start_time="1.5" kill_time="9"/>',
                '<process host="b" function="p1"><argument value="1"/>'
                '<argument value="rank-1.txt"/></process>',
                '<actor host="a" function="replay"><prop id="rank" value="0"/></actor>',
                '<actor host="c" function="2"><argument value="t/2"/></actor>',
            )
        )
    )
    assert deployment.hosts == ("a", "b", "c", "d")
    assert [place.trace for place in deployment] == [None, "rank-1.txt", "t/2", None]
    assert (deployment[3].start_time, deployment[3].kill_time) == (1.5, 9.0)
    assert (deployment[0].start_time, deployment[0].kill_time) == (0.0, None)
    assert len(deployment) == 4


@pytest.mark.parametrize(
    ("actors", "says", "line"),
    [
        ([], "has no <actor", None),
        (['<actor host="a" function="0"/>', '<actor host="b" function="p0"/>'], "twice.*line 2", 3),
        (
            ['<actor host="a" function="0"/>', '<actor host="b" function="2"/>'],
            "1 is missing",
            None,
        ),
        (['<actor host="a" function="main"/>'], "'main' is not a rank", 2),
        (['<actor host="a"/>'], "needs the attribute function", 2),
        (['<actor host="a" function="0" start_time="soon"/>'], "start_time must be a number", 2),
    ],
)
def test_bad_deployments(write: Write, actors: list[str], says: str, line: int | None) -> None:
    with pytest.raises(InputError, match=says) as caught:
        Deployment.load(write(xml(*actors)))
    assert caught.value.line == line


def test_more_ranks_than_the_deployment_has(write: Write) -> None:
    deployment = Deployment.load(write(xml('<actor host="a" function="0"/>')))
    assert deployment.for_ranks(1) is deployment
    with pytest.raises(InputError, match="the trace has 3 ranks, but the deployment only 1"):
        deployment.for_ranks(3)
    with pytest.raises(InputError, match="at least 1, not 0"):
        deployment.for_ranks(0)


def test_host_files(write: Write) -> None:
    path = write("# nodes\na:2\n\nb   # the second\nc slots=2 max_slots=4\nCpu D\n")
    deployment = Deployment.from_hostfile(path)
    assert deployment.hosts == ("a", "a", "b", "c", "c", "Cpu D")
    assert Deployment.from_hostfile(path, 8).hosts == (*deployment.hosts, "a", "a")
    assert Deployment.from_hostfile(path, 3).hosts == ("a", "a", "b")
    assert deployment.for_ranks(13).hosts[12] == "a"
    assert [place.line for place in deployment.for_ranks(8)] == [2, 2, 4, 5, 5, 6, 2, 2]


@pytest.mark.parametrize(
    ("text", "says", "line"),
    [
        ("", "names no host", None),
        ("# only this\n", "names no host", None),
        ("a\nb:many\n", "'host' or 'host:ranks', not 'b:many'", 2),
        (":4\n", "'host' or 'host:ranks', not ':4'", 1),
    ],
)
def test_bad_host_files(write: Write, text: str, says: str, line: int | None) -> None:
    with pytest.raises(InputError, match=says) as caught:
        Deployment.from_hostfile(write(text))
    assert caught.value.line == line


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read this host file"):
        Deployment.from_hostfile(tmp_path / "nowhere")
    with pytest.raises(InputError, match="cannot read this file"):
        Deployment.load(tmp_path / "nowhere")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not text"):
        Deployment.from_hostfile(tmp_path / "binary")


def test_cyclic(root: Path) -> None:
    platform = Platform.load(root / "platforms/graphene.xml")
    deployment = Deployment.cyclic(platform, 146)
    assert deployment.host_indices(platform)[142:] == [142, 143, 0, 1]
    assert list(Deployment.cyclic(platform, 3).host_indices(platform)) == [0, 1, 2]
    named = Deployment.cyclic(["x", "y"], 3)
    assert named.hosts == ("x", "y", "x")
    assert [*named] == [Placement("x"), Placement("y"), Placement("x")]
    assert named[2] == named[-1] == Placement("x")
    assert named[1:] == (Placement("y"), Placement("x"))
    with pytest.raises(InputError, match="names no host"):
        Deployment.cyclic([], 3)


def test_hosts_that_the_platform_lacks(root: Path, write: Write) -> None:
    platform = Platform.load(root / "platforms/graphene.xml")
    deployment = Deployment.from_hostfile(write("graphene-0.nancy.grid5000.fr\ngraphene-0.nancy\n"))
    with pytest.raises(InputError, match=r"no host 'graphene-0.nancy'; did you mean") as caught:
        deployment.host_indices(platform)
    assert caught.value.line == 2
