"""GPU platforms, and the table of nccl-tests for them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.unit.command_line import RING, CommandLine
from tisim.errors import InputError
from tisim.gpu import MACHINES, Machine, collective, machine
from tisim.gpu.machines_platform import gpu_cluster, machine_of
from tisim.gpu.nccl_tests import predict
from tisim.platform import Platform, PlatformBuilder


@pytest.mark.parametrize("name", MACHINES)
def test_a_platform_has_the_figures_of_its_machine(name: str) -> None:
    made = machine(name, 2)
    platform = gpu_cluster(made)
    assert machine_of(platform) == made
    assert platform.hosts[-1].name == f"node-1-gpu-{made.gpus - 1}"

    figures = platform.hosts[0].properties["tisim/gpu"]
    assert f"memory={made.gpu.memory:g}," in figures
    assert f"fp16={made.gpu.peak('fp16'):g}" in figures
    faster = machine_of(platform.scaled(bandwidth="x2"))
    assert faster.nic_rate == 2 * made.nic_rate
    assert faster.gpu.nvlink_achieved_rate == pytest.approx(2 * made.gpu.nvlink_achieved_rate)


def links(platform: Platform, src: int, dst: int) -> list[str]:
    return [link.name for link in platform.route(*(platform.hosts[i] for i in (src, dst))).links]


def test_routes_follow_nvlinks_interfaces_and_switches() -> None:
    rails = gpu_cluster(machine("h100", 33))
    assert links(rails, 0, 3) == [
        *("node-0-nvlink-0_UP", "node-0-channel", "node-0-nvlink-3_DOWN"),
    ]
    assert links(rails, 0, 8 * 31 + 2) == [
        "node-0-nic-0_UP",
        "ports",
        "ports",
        "node-31-nic-2_DOWN",
    ]
    assert links(rails, 0, 8 * 32)[2:4] == ["leaf-0-up_UP", "leaf-1-up_DOWN"]
    fat = gpu_cluster(replace(machine("h100", 33), fabric="fat-tree"))
    assert links(fat, 0, 8 * 3)[1:3] == ["ports", "ports"]
    assert links(fat, 0, 8 * 4)[2:4] == ["leaf-0-up_UP", "leaf-1-up_DOWN"]
    cabled = gpu_cluster(machine("v100"))
    assert links(cabled, 4, 0) == ["node-0-nvlink-0-4_DOWN"]
    assert cabled.link("node-0-nvlink-0-4_UP").bandwidth == 50e9
    buses = gpu_cluster(machine("l40s", 2))
    assert links(buses, 3, 4) == [
        *("node-0-pcie-3_UP", "node-0-channel", "node-0-bridge-0_UP", "node-0-sockets_UP"),
        *("node-0-bridge-1_DOWN", "node-0-pcie-4_DOWN"),
    ]
    assert links(buses, 2, 8)[:2] == ["node-0-pcie-2_UP", "node-0-nic-1_UP"]
    assert links(cabled, 0, 7) == ["node-0-pcie-0_UP", "node-0-pcie-7_DOWN"]


def test_the_command_writes_a_platform_on_which_mpi_programs_replay(tisim: CommandLine) -> None:
    file = tisim.directory / "g.xml"
    made = tisim(
        *("platform", "new", "gpu-cluster", "--nodes", "2", "--gpu", "a100", "--rails", "4"),
        *("--nic", "100Gbps", "--nvlink", "50GBps", "--sharp", "-o", str(file)),
    )
    assert made.status == 0, made.err
    found = machine_of(Platform.load(file))
    assert found.sharp
    assert (found.nics, found.nic_rate, found.gpu.nvlink_rate) == (4, 12.5e9, 50e9)
    assert tisim.replay(RING, platform=str(file)).status == 0
    words = ("platform", "new", "gpu-cluster", "--nodes", "2", "--force", "-o", str(file))
    assert tisim(*words, "--gpu", "a100", "--no-gpudirect").status == 0
    # Two GPUs send and two interfaces receive over the 24 GB/s to the CPU.
    assert machine_of(Platform.load(file)).nic_rate == 6e9
    assert replace(machine("a100"), nics=1).without_gpudirect().nic_rate == 12e9
    assert machine("gb200").without_gpudirect() == machine("gb200")
    assert "a l40s has no NVLinks" in tisim(*words, "--gpu", "l40s", "--nvlink", "1GBps").err
    refused = tisim(
        *("platform", "new", "gpu-cluster", "--nodes", "2", "--gpu", "a100", "--rails", "3"),
        *("-o", str(file)),
    )
    assert refused.status == 2
    assert "8 GPUs of a node cannot share 3 interfaces evenly" in refused.err


def test_nccl_tests_prints_the_table_of_nccl_tests(tisim: CommandLine) -> None:
    file = tisim.directory / "g.xml"
    gpu_cluster(machine("h100", 2)).write(file)
    words = ("nccl-tests", "--platform", str(file), "--gpus", "8", "all_reduce")
    sizes = ("-b", "1M", "-e", "1G", "-f", "32")
    outcome = tisim(*words, *sizes)
    assert outcome.status == 0, outcome.err
    rows = [line.split() for line in outcome.out.splitlines() if not line.startswith("#")]
    assert [row[:5] for row in rows] == [
        ["1048576", "262144", "float", "sum", "-1"],
        ["33554432", "8388608", "float", "sum", "-1"],
        ["1073741824", "268435456", "float", "sum", "-1"],
    ]
    call = collective(machine("h100"), 8, "all_reduce", 1 << 30)
    assert float(rows[-1][5]) == pytest.approx(call.time * 1e6, abs=0.01)
    assert float(rows[-1][7]) == pytest.approx(call.size / call.time * 1.75 / 1e9, abs=0.01)
    data = json.loads(tisim(*words, *sizes, "--json", "-").out)
    assert data["gpus"] == 8
    assert data["rows"][-1]["time"] == call.time
    for wrong, message in (
        (("-b", "3x"), "--minbytes must be bytes such as 8, 64K, 32M or 1G, not '3x'"),
        (
            ("-b", "2M", "-e", "1M"),
            "sizes must increase from at least one byte, not go from 2097152",
        ),
        (("--gpus", "17"), "GPUs 0 to 15, not 0 to 16"),
    ):
        refused = tisim(*words, *wrong)
        assert (refused.status, message in refused.err) == (2, True), refused.err


@pytest.mark.parametrize(
    ("operation", "parts"), [("all_gather", 16), ("alltoall", 16), ("scatter", 16)]
)
def test_counts_are_those_of_a_rank_where_each_has_a_part(operation: str, parts: int) -> None:
    table = predict(gpu_cluster(machine("a100", 2)), operation, first=1 << 20, last=1 << 20)
    (row,) = table.rows
    assert row.count == (1 << 20) / 4 / parts
    assert row.bus_rate == pytest.approx(row.algorithm_rate * 15 / 16)


def share(made: Machine, operation: str, oversubscription: float) -> float:
    platform = gpu_cluster(replace(made, oversubscription=oversubscription))
    return predict(platform, operation, first=1 << 30, last=1 << 30).network


def test_oversubscribed_switches_slow_those_operations_that_cross_them() -> None:
    made = replace(machine("h100", 8), fabric="fat-tree")
    # 4 nodes per switch: in a ring one of them sends over the cables; in an all-to-all all send 4
    # of 7 parts.
    assert share(made, "all_reduce", 4) == 1
    assert share(made, "all_reduce", 8) == pytest.approx(0.5)
    assert share(made, "alltoall", 1) == 1
    assert share(made, "alltoall", 4) == pytest.approx(7 / 4 / 4)
    narrow = gpu_cluster(replace(made, oversubscription=4))
    table = predict(narrow, "alltoall", first=1 << 30, last=1 << 30)
    nonblocking = predict(gpu_cluster(made), "alltoall", first=1 << 30, last=1 << 30)
    slowed = table.rows[0].call.size / table.rows[0].call.rate
    assert slowed == pytest.approx(
        nonblocking.rows[0].call.size / nonblocking.rows[0].call.rate * 16 / 7
    )


def test_platforms_that_are_not_of_equal_gpus_are_refused(root: str) -> None:
    with pytest.raises(
        InputError, match="lacks the property tisim/gpu; 'tisim platform new gpu-cl"
    ):
        machine_of(Platform.load(f"{root}/platforms/graphene.xml"))
    for first, second, message in (
        ("model=b300,gpus=2,nics=1", "model=b300,gpus=2,nics=1", "unknown model 'b300'"),
        ("model=a100,gpus=2", "model=a100,gpus=2", "nics must be a whole number, not ''"),
        ("model=a100,gpus=2,nics=2", "model=a100,gpus=2,nics=1", "are not equal"),
        ("model=a100,gpus=3,nics=1", "model=a100,gpus=3,nics=1", "have 3 GPUs"),
    ):
        builder = PlatformBuilder()
        with builder.zone("node"):
            for name, text in (("a", first), ("b", second)):
                builder.host(name, 1e12, properties={"tisim/gpu": text})
        with pytest.raises(InputError, match=message):
            machine_of(builder.build())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fabric": "ring"}, "a fabric must be rail or fat-tree, not 'ring'"),
        ({"nic_rate": 0.0}, "bandwidth of an interface must be above 0"),
    ],
)
def test_machines_that_make_no_platform_are_refused(
    change: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        gpu_cluster(replace(machine("a100"), **change))  # type: ignore[arg-type]
