"""The models that a configuration makes, against numbers worked out from SimGrid's source."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tisim.config import Config
from tisim.errors import InputError
from tisim.models import CpuModel, NetworkModel, Overheads, OverheadTable, Protocol, StepTable
from tisim.platform import Platform


def test_the_default_models_are_the_default_configuration() -> None:
    assert NetworkModel.from_config(Config()) == NetworkModel()
    assert CpuModel.from_config(Config()) == CpuModel()
    protocol = Protocol.from_config(Config())
    zero = OverheadTable((0.0,), (0.0,), (0.0,))
    assert protocol == dataclasses.replace(Protocol(), overheads=Overheads(zero, zero, zero))


@pytest.mark.parametrize(
    ("size", "latency", "bandwidth"),
    [
        (0, 1.0, 1.0),
        (1, 2.01467, 0.812084),
        (257, 2.01467, 0.812084),
        (258, 1.95341, 0.338112),
        (65472, 3.48845, 0.697866),
        (1e9, 11.6436, 0.940694),
    ],
)
def test_smpi_factors(size: float, latency: float, bandwidth: float) -> None:
    network = NetworkModel()
    assert network.latency_factor.at(size) == latency
    assert network.bandwidth_factor.at(size) == bandwidth


def test_overheads_by_size() -> None:
    table = OverheadTable.parse("10:5:1;1:3:2")
    assert [table.at(size) for size in (0, 1, 2, 10, 11)] == [3.0, 5.0, 7.0, 23.0, 16.0]
    assert OverheadTable().at(5) == 0.0


def test_raw_is_plain() -> None:
    network = NetworkModel.from_config(Config({"network/model": "raw"}))
    assert (network.tcp_gamma, network.weight_s, network.crosstraffic) == (0.0, 0.0, False)
    assert network.bandwidth_factor.at(1) == 1.0


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: NetworkModel(bandwidth_factor=StepTable.constant(0)), "factor must be above zero"),
        (lambda: NetworkModel(loopback_bandwidth=0), "loopback-bw must be above zero"),
        (lambda: NetworkModel(weight_s=-1), "must not be negative"),
        (lambda: NetworkModel(precision_timing=0), "precision/timing must be above zero"),
        (lambda: Protocol(eager_threshold=2, detached_threshold=1), "must not be above"),
    ],
)
def test_impossible_models(make: object, says: str) -> None:
    with pytest.raises(InputError, match=says):
        make()  # type: ignore[operator]


def test_overheads_of_hosts(tmp_path: Path) -> None:
    path = tmp_path / "p.xml"
    path.write_text(
        '<platform version="4.1"><zone id="w" routing="Full">'
        '<cluster id="c" prefix="n" suffix="" radical="0-2" speed="1" bw="1" lat="0">'
        '<prop id="smpi/os" value="0:1:0"/></cluster><zone id="z" routing="Full">'
        '<host id="a" speed="1"/><host id="b" speed="1"><prop id="smpi/or" value="0:2:0"/></host>'
        "</zone></zone></platform>"
    )
    protocol = Protocol.from_config(Config({"smpi/ois": "0:3:0"}))
    kinds, numbers = protocol.by_host(Platform.load(path))
    assert numbers.tolist() == [1, 1, 1, 0, 2]
    assert [kind.send.at(0) for kind in kinds] == [0.0, 1.0, 0.0]
    assert [kind.receive.at(0) for kind in kinds] == [0.0, 0.0, 2.0]
    assert [kind.isend.at(0) for kind in kinds] == [3.0] * 3
    path.write_text(path.read_text().replace("0:2:0", "zero"))
    with pytest.raises(InputError, match="property smpi/or of a host"):
        protocol.by_host(Platform.load(path))


def test_adjustments_of_computations(tmp_path: Path) -> None:
    path = tmp_path / "speedups.csv"
    path.write_text('"start:stop","ratio"\n"a.f:30:a.f:130",1.25\n\n"b.f:1:b.f:2",0.5\n')
    protocol = Protocol.from_config(Config({"smpi/comp-adjustment-file": str(path)}))
    assert protocol.speedups == {"a.f:30:a.f:130": 1.25, "b.f:1:b.f:2": 0.5}
    path.write_text('"start:stop","ratio"\n"a.f:30:a.f:130",fast\n')
    with pytest.raises(InputError, match="a line is") as caught:
        Protocol.from_config(Config({"smpi/comp-adjustment-file": str(path)}))
    assert caught.value.line == 2
    with pytest.raises(InputError, match="cannot read this smpi/comp-adjustment-file"):
        Protocol.from_config(Config({"smpi/comp-adjustment-file": str(tmp_path / "nowhere")}))
